// RMSNorm at every level: the decisions that each has made, and those it has not. The schedule is given, and determines the levels below.
// DEFINE: %{schedule} = --schedule='rms_norm_0=#norm.schedule<spread = [[grid], [register(2), warp(8), lane(32), vector(8)]], early_reads = true, min_ctas_per_sm = 6>'
// RUN: normac %examples/rms_norm.mlir --emit=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: normac %examples/rms_norm.mlir --emit=scheduled %{schedule} | FileCheck %s --check-prefix=SCHEDULED
// RUN: normac %examples/rms_norm.mlir --emit=tiled %{schedule} | FileCheck %s --check-prefix=TILED
// RUN: normac %examples/rms_norm.mlir --emit=gl %{schedule} | FileCheck %s --check-prefix=GL
// RUN: normac %examples/rms_norm.mlir --emit=gl-lowered %{schedule} | FileCheck %s --check-prefix=GL-LOWERED
// RUN: normac %examples/rms_norm.mlir --emit=nvvm %{schedule} | FileCheck %s --check-prefix=NVVM

// A space of rows and columns and a scalar program over it, without the named op and without a schedule.
// KERNEL-NOT:  norm.rms_norm
// KERNEL:      func.func @rms_norm({{.*}} {norm.name = "y", norm.output})
// KERNEL:      norm.launch @rms_norm_0
// KERNEL:      norm.kernel @rms_norm_0({{.*}}) space(%[[M:.*]] = dim(%[[X:.*]], 0), %[[N:.*]] = 4096)
// KERNEL-NOT:  schedule
// KERNEL:      norm.read %[[X]][%[[M]], %[[N]]] : memref<?x4096xbf16>
// KERNEL:      norm.reduce add %{{.*}} over(%[[N]]) : f32
// KERNEL:      math.rsqrt
// KERNEL:      norm.write %{{.*}}[%[[M]], %[[N]]] : memref<?x4096xbf16>

// The same with a schedule: the row is resident, and an access moves 16 bytes.
// SCHEDULED:     norm.kernel @rms_norm_0({{.*}}) space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = 4096)
// SCHEDULED-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [register(2), warp(8), lane(32), vector(8)]], early_reads = true,

// Dims are spread over the grid, threads and registers; x is kept as bf16 and widened again after the reduction.
// TILED:      space(%[[B:.*]] = dim(%[[X:.*]], 0) : grid, %[[R:.*]] = 2 : register, %[[T:.*]] = 256 : thread, %[[V:.*]] = 8 : register)
// TILED-NOT:  where
// TILED:      %[[READ:.*]] = norm.read %[[X]][%[[B]], %[[R]] * 2048 + %[[T]] * 8 + %[[V]]]
// TILED:      %[[KEPT:.*]] = norm.cache %[[READ]] in register : bf16
// TILED:      arith.extf %[[READ]] : bf16 to f32
// TILED:      norm.reduce add %{{.*}} over(%[[R]], %[[T]], %[[V]])
// TILED:      arith.extf %[[KEPT]] : bf16 to f32

// Tiles with layouts; the reduction is one op for each axis, those within a thread first.
// GL:         gpu.func @rms_norm_0({{.*}}) kernel attributes {gl.launch = #gl.launch<{{.*}}>, gl.min_ctas_per_sm = 6 : i64, gl.num_warps = 8 : i64
// GL:         gpu.block_id
// GL:         gl.load %{{.*}} : memref<?x4096xbf16> -> tensor<2x256x8xbf16, #[[LAYOUT:.*]]>
// GL:         gl.optimization_barrier %{{.*}} : tensor<2x256x8xbf16, #[[LAYOUT]]>
// GL:         gl.reduce %{{.*}} axis 2
// GL:         gl.reduce %{{.*}} axis 0
// GL:         gl.reduce %{{.*}} axis 0
// GL-NOT:     gl.reduce
// GL-NOT:     gl.local_alloc
// GL:         gl.store

// Access width, shared memory and barrier are settled; the reduction is within warps, and then over the warps' partial results.
// GL-LOWERED:      gl.shared_bytes = 32 : i64
// GL-LOWERED:      gl.load %{{.*}} vector 8 :
// GL-LOWERED:      gl.warp_reduce {{.*}} -> tensor<8xf32
// GL-LOWERED:      gl.local_alloc {offset = 0 : i64}
// GL-LOWERED-NEXT: gl.local_store
// GL-LOWERED-NEXT: gl.barrier
// GL-LOWERED-NEXT: gl.local_load
// GL-LOWERED-NEXT: gl.reduce
// GL-LOWERED-NOT:  gl.barrier
// GL-LOWERED:      gl.store %{{.*}} vector 8 :

// One thread's program: an access of 16 bytes, five shuffles, one barrier, and nothing left of gl, arith or f64.
// NVVM:          llvm.func @rms_norm_0({{.*}}) attributes {{.*}}gl.params = [#gl.param<pointer 0>, #gl.param<pointer 1>, #gl.param<pointer 2>]
// NVVM-SAME:     nvvm.reqntid = array<i32: 256
// NVVM-NOT:      arith.
// NVVM-NOT:      f64
// NVVM:          llvm.inline_asm has_side_effects "{{.*}}ld.global.L1::no_allocate.L2::cache_hint.v4.b32
// NVVM-COUNT-5:  nvvm.shfl.sync
// NVVM-NOT:      nvvm.shfl.sync
// NVVM:          nvvm.barrier
// NVVM-NOT:      nvvm.barrier
// NVVM:          llvm.inline_asm has_side_effects "{{.*}}st.global.L1::no_allocate.L2::cache_hint.v4.b32
