// A kernel without a schedule gets the user's or the cost model's; the model considers only the kernel's structure.
// RUN: norma-opt %s --split-input-file --norm-select-schedule | FileCheck %s
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{schedule={spread = [[grid, warp(2)], [register(128), lane(32)]]}})' | FileCheck %s --check-prefix=GIVEN
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{schedule={#norm.schedule<spread = [[grid, warp(2)], [register(128), lane(32)]]>}})' | FileCheck %s --check-prefix=GIVEN
// RUN: norma-opt %s --split-input-file --norm-select-schedule=splits=false | FileCheck %s --check-prefix=WHOLE
// RUN: norma-opt %s --split-input-file --norm-select-schedule=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{explain=true schedule={spread = [[grid, warp(2)], [register(128), lane(32)]]}})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHAT

// CHECK: norm.kernel @max(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid{{.*}}], [loop, {{.*}}, vector(8)]]>) attributes {norm.choice = #norm.choice<schedule = <spread = {{.*}}>, ctas_per_sm = {{[0-9]+}}, registers = {{[0-9]+}}>}
// GIVEN: norm.kernel @max(
// GIVEN-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid, warp(2)], [register(128), lane(32)]]>)
// WHY: remark: on an H200 SXM, {{\[\[}}grid], [loop, {{.*}}warp(4), lane(32), vector(8)]]: {{[0-9]+}} CTAs per SM at {{[0-9]+}} registers and 0 bytes of shared memory for tiles,
// WHY-SAME: expected to take {{[0-9.]+}} us, {{[0-9]+}}% of a copy's speed: {{[0-9.]+}} for the bytes, loads in flight
// WHY-SAME: its warps ask for 268435456 bytes of sectors to read and {{[0-9]+}} to write
// WHY-NEXT: next of {{[0-9]+}} of another kind, {{.*}} loses by {{.*}} us more
// WHY-NEXT: then of
// WHY-NEXT: then of
// WHAT: remark: given, on an H200 SXM, {{\[\[}}grid, warp(2)], [register(128), lane(32)]]: {{[0-9]+}} CTAs per SM at
// WHAT-SAME: expected to take {{[0-9.]+}} us, {{[0-9]+}}% of a copy's speed: {{[0-9.]+}} for the bytes,
norm.kernel @max(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// The input whose row is held decides the vector, not the wider weight, which is the same for all rows.
// CHECK: norm.kernel @weighted(
// CHECK-SAME: vector(8)
norm.kernel @weighted(%x: memref<?x1024xbf16>, %w: memref<1024xf32>, %y: memref<?x1024xbf16>)
    space(%m = dim(%x, 0), %n = 1024) align(16, 16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x1024xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%n) : f32
  %3 = norm.read %w[%n] : memref<1024xf32>
  %4 = arith.mulf %1, %3 : f32
  %5 = arith.subf %4, %2 : f32
  %6 = arith.truncf %5 : f32 to bf16
  norm.write %6, %y[%m, %n] : memref<?x1024xbf16>
}

// -----

// If a kernel promises nothing, only natural alignment is known. Early reads do not pay for narrow accesses.
// CHECK: norm.kernel @unaligned(
// CHECK-SAME: schedule(
// CHECK-NOT: {{vector|early_reads}}
// CHECK-SAME: lane(32)]]>)
norm.kernel @unaligned(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// A dynamic stride is a multiple of the alignment. Rows of a static stride begin where vectors do, or tiles begin before them.
// CHECK: norm.kernel @strided(
// CHECK-SAME: vector(4)
// CHECK: norm.kernel @narrow(
// CHECK-SAME: vector(8)]], aligned_dim = 1>
norm.kernel @strided(%x: memref<?x4096xbf16, strided<[?, 1]>>, %y: memref<?xbf16>)
    space(%m = dim(%x, 0), %n = 4096) align(8, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16, strided<[?, 1]>>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}
norm.kernel @narrow(%x: memref<?x4096xbf16, strided<[4097, 1]>>, %y: memref<?xbf16>)
    space(%m = dim(%x, 0), %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16, strided<[4097, 1]>>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// A row that no CTA has registers for passes in a loop, and is kept in a cache until it passes again.
// CHECK: norm.kernel @long(
// CHECK-SAME: spread = {{\[\[}}grid{{.*}}], [loop, {{.*}}, vector(4)]], keep = [{{l1|l2}}]>
norm.kernel @long(%x: memref<?x16384xf32>, %y: memref<?x16384xf32>) space(%m = dim(%x, 0), %n = 16384) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x16384xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x16384xf32>
}

// -----

// A row that no cache of an SM holds is shared by the CTAs of a cluster.
// CHECK: norm.kernel @longer(
// CHECK-SAME: spread = {{\[\[}}grid], [{{.*}}cluster({{[248]}}), {{.*}}, vector(4)]]
norm.kernel @longer(%x: memref<?x131072xf32>, %y: memref<?x131072xf32>) space(%m = dim(%x, 0), %n = 131072) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x131072xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x131072xf32>
}

// -----

// So is a row of dynamic length.
// CHECK: norm.kernel @dynamic(
// CHECK-SAME: spread = {{\[\[}}grid{{.*}}], [loop
norm.kernel @dynamic(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// Vectors and lanes lie along the dim whose points are neighbours in memory, whether a reduction keeps it or not.
// CHECK: norm.kernel @columns(
// CHECK-SAME: spread = {{\[\[}}loop{{.*}}], [grid{{.*}}lane({{[0-9]+}}), vector(8)]]
norm.kernel @columns(%x: memref<32768x4096xbf16>, %y: memref<4096xf32>) space(%m = 32768, %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<32768x4096xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%m) : f32
  norm.write %2, %y[%n] : memref<4096xf32>
}

// -----

// A kernel without a reduction has a schedule too, and so has a reduction over a dim that no access uses.
// CHECK: norm.kernel @elementwise(
// CHECK-SAME: spread = {{\[\[}}grid,
// CHECK: norm.kernel @unused(
// CHECK-SAME: spread = {{\[\[}}grid,
norm.kernel @elementwise(%x: memref<?xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0)) align(16, 16) {
  %0 = norm.read %x[%m] : memref<?xbf16>
  norm.write %0, %y[%m] : memref<?xbf16>
}
norm.kernel @unused(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m] : memref<?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A kernel that has a schedule keeps it.
// CHECK: norm.kernel @scheduled(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid, warp(4)], [lane(32), vector(2)]]>)
// GIVEN: norm.kernel @scheduled(
// GIVEN-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid, warp(4)], [lane(32), vector(2)]]>)
norm.kernel @scheduled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid, warp(4)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A schedule that names a kernel is that kernel's; one without a name is for the others.
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{absent schedule={columns = #norm.schedule<spread = [[loop, register(64)], [grid, lane(32)]]>; spread = [[grid], [loop, lane(32)]]}})' | FileCheck %s --check-prefix=NAMED
// NAMED: norm.kernel @max(
// NAMED-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [loop, lane(32)]]>)
// NAMED: norm.kernel @columns(
// NAMED-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop, register(64)], [grid, lane(32)]]>)
norm.kernel @columns(%x: memref<?x64xf32>, %y: memref<64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<64xf32>
}

// -----

// A schedule for some sizes is an alternative; for the others the model chooses. A size that nothing else names is added to the kernel.
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{absent schedule={sizes if 2*size_0_0 <= size_1_0 + 3 = #norm.schedule<spread = [[grid, lane(32)], [lane(1)]]>}})' | FileCheck %s --check-prefix=SOME
// SOME: norm.kernel @sizes(
// SOME-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid, lane(32)], [lane(1)]]> if dim(%x, 0) * 2 < dim(%w, 0) + 4, #norm.schedule<spread
norm.kernel @sizes(%x: memref<?x64xf32>, %w: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// With few rows, each is read at once by as many threads as possible; with many rows, each by a few warps in a loop. Two
// schedules are chosen only if by-size asks for it.
// RUN: norma-opt %s --split-input-file --norm-select-schedule=by-size | FileCheck %s --check-prefix=FEW
// FEW: norm.kernel @rows(
// FEW-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [register(2), warp(8), {{[^>]*}}> if dim(%x, 0) < {{[0-9]+}}, #norm.schedule<spread = {{\[\[}}grid], [loop,
// With as many rows as SMs, a long row gets an SM; with fewer rows, it gets the SMs of a cluster.
// FEW: norm.kernel @long_rows(
// FEW-SAME: {{\[\[}}grid], [{{.*}}cluster({{.*}}> if dim(%x, 0) < {{[0-9]+}}, #norm.schedule<spread = {{\[\[}}grid], [loop, warp(32)
// A bounded row is taken to have its largest length, and needs no loop; if the number of rows is known, there is one schedule.
// FEW: norm.kernel @known(
// FEW-NOT: {{ if }}
// FEW-SAME: attributes
// CHECK: norm.kernel @rows(
// CHECK-NOT: {{ if }}
// CHECK: norm.kernel @known(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [{{(register\([0-9]+\), )?}}warp({{[0-9]+}}), lane(32), vector(8)]]
norm.kernel @rows(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}
norm.kernel @long_rows(%x: memref<?x32768xbf16>, %y: memref<?x32768xbf16>) space(%m = dim(%x, 0), %n = 32768) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x32768xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = arith.mulf %1, %1 : f32
  %3 = norm.reduce add %2 over(%n) : f32
  %4 = arith.mulf %1, %3 : f32
  %5 = arith.truncf %4 : f32 to bf16
  norm.write %5, %y[%m, %n] : memref<?x32768xbf16>
}
norm.kernel @known(%x: memref<132x?xbf16>, %y: memref<132x?xbf16>) space(%m = 132, %n = dim(%x, 1)) align(16, 16)
    multiples(dim(%x, 1) = 8, dim(%y, 1) = 8) bounds(dim(%x, 1) <= 4096) {
  %0 = norm.read %x[%m, %n] : memref<132x?xbf16>
  %1 = norm.reduce max %0 over(%n) : bf16
  %2 = arith.subf %0, %1 : bf16
  norm.write %2, %y[%m, %n] : memref<132x?xbf16>
}

// -----

// Sums of many rows to few results are split over CTAs, unless no pass would split the kernel.
// CHECK: norm.kernel @column_sum(
// CHECK-SAME: split(
// WHOLE: norm.kernel @column_sum(
// WHOLE-NOT: split(
norm.kernel @column_sum(%x: memref<65536x64xf32>, %y: memref<64xf32>) space(%m = 65536, %n = 64) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<65536x64xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<64xf32>
}

// -----

// The points of an elementwise kernel are elements, presumed to fill memory: CTAs of one warp would be launched too slowly.
// CHECK: norm.kernel @elementwise(
// CHECK-SAME: warp({{4|8}})
norm.kernel @elementwise(%x: memref<?xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0)) align(16, 16) {
  %0 = norm.read %x[%m] : memref<?xbf16>
  %1 = arith.addf %0, %0 : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// Rows of 8 MB are presumed to be few, as all of them have to fit a GPU: several CTAs share each.
// CHECK: norm.kernel @few_large_rows(
// CHECK-SAME: {{split|cluster}}
norm.kernel @few_large_rows(%x: memref<?x4194304xbf16>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 4194304) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4194304xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%n) : f32
  norm.write %2, %y[%m] : memref<?xf32>
}

// -----

// A tensor of dynamic size that is reduced as a whole is presumed to be large: CTAs share it, with fewer warps where it is small.
// CHECK: norm.kernel @scaled_by_all(
// CHECK-SAME: split({{[0-9]+}})
// FEW: norm.kernel @scaled_by_all(
// FEW-SAME: schedule(#norm.schedule<{{[^>]*}}> if dim(%x, 0) < {{[0-9]+}}, #norm.schedule<spread = {{[^>]*}}split({{[0-9]+}}),
norm.kernel @scaled_by_all(%x: memref<?x4096xbf16>, %y: memref<?x4096xbf16>) space(%p = dim(%x, 0) * 4096) align(16, 16) {
  %0 = norm.read %x[%p floordiv 4096, %p mod 4096] : memref<?x4096xbf16>
  %1 = norm.reduce max %0 over(%p) : bf16
  %2 = arith.divf %0, %1 : bf16
  norm.write %2, %y[%p floordiv 4096, %p mod 4096] : memref<?x4096xbf16>
}

// -----

// Where both extents are dynamic, rows are presumed to be long, and CTAs share the walk over them or the rows themselves.
// CHECK: norm.kernel @gradient(
// CHECK-SAME: spread = {{\[\[}}{{[^=]*}}split({{[0-9]+}}){{[^=]*}}lane(32)]]
norm.kernel @gradient(%x: memref<?x?xbf16>, %dy: memref<?x?xbf16>, %dx: memref<?x?xbf16>, %dw: memref<?xf32>)
    space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n] : memref<?x?xbf16>
  %1 = norm.read %dy[%m, %n] : memref<?x?xbf16>
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  %5 = norm.reduce add %4 over(%n) : f32
  %6 = norm.reduce add %4 over(%m) : f32
  %7 = arith.subf %3, %5 : f32
  %8 = arith.truncf %7 : f32 to bf16
  norm.write %8, %dx[%m, %n] : memref<?x?xbf16>
  norm.write %6, %dw[%n] : memref<?xf32>
}

// -----

// A kernel without dims is one point, which one warp computes.
// CHECK: norm.kernel @point(
// CHECK-SAME: schedule(#norm.schedule<spread = []{{.*}}>)
norm.kernel @point(%x: memref<f32>, %y: memref<f32>) space() align(16, 16) {
  %0 = norm.read %x[] : memref<f32>
  %1 = arith.addf %0, %0 : f32
  norm.write %1, %y[] : memref<f32>
}

// -----

// Sums over rows of what is centred and scaled by statistics of the row, of any length: one kernel leaves the row's sums in scratch, and
// another sums over rows.
// CHECK: func.func @crossing(
// CHECK: %[[S:.*]] = memref.alloc(
// CHECK: norm.launch @crossing_0({{.*}}, %[[S]])
// CHECK: norm.launch @crossing_0_apply({{.*}}, %[[S]])
// CHECK: norm.kernel @crossing_0(
// CHECK-SAME: schedule(
// CHECK-COUNT-1: norm.reduce
// CHECK: norm.kernel @crossing_0_apply(
// CHECK-SAME: schedule(
func.func @crossing(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?xf32>) {
  norm.launch @crossing_0(%x, %y, %z) : memref<?x?xf32>, memref<?x?xf32>, memref<?xf32>
  return
}
norm.kernel @crossing_0(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    align(16, 16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x?xf32>
  %3 = norm.reduce add %2 over(%m) : f32
  norm.write %3, %z[%n] : memref<?xf32>
}

// -----

// Along a scan across memory a thread takes rows that follow each other, so that a warp leaves one partial sum for each column.
// CHECK: norm.kernel @running_sums(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop, warp({{[0-9]+}}), register({{[0-9]+}})], [grid, lane(32), vector(4)]]
norm.kernel @running_sums(%x: memref<4096x16384xf32>, %y: memref<4096x16384xf32>) space(%m = 4096, %n = 16384) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<4096x16384xf32>
  %1 = norm.scan add %0 along(%m) : f32
  norm.write %1, %y[%m, %n] : memref<4096x16384xf32>
}

// -----

// Of two dims of unknown extents, the one along which elements are neighbours is assumed to be long: lanes lie along it.
// CHECK: norm.kernel @both_sums(
// CHECK-SAME: lane({{16|32}})]]
norm.kernel @both_sums(%x: memref<?x?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<?xf32>
  %2 = norm.reduce add %0 over(%n) : f32
  norm.write %2, %z[%m] : memref<?xf32>
}
