// A function with a kernel for few rows and one for many: the manifest says which one is launched, and launchers obey it.
// DEFINE: %{few} = --schedule 'sums_0 if m < 10 = #norm.schedule<spread = [[grid], [loop, split(2), warp(2), lane(32)]]>'
// DEFINE: %{many} = --schedule 'sums_0=#norm.schedule<spread = [[grid, warp(4)], [loop, lane(32)]]>'
// RUN: normac %s --emit=scheduled %{few} %{many} > %t.scheduled && FileCheck %s --check-prefix=SCHEDULED < %t.scheduled
// SCHEDULED: #[[SET:.*]] = affine_set<()[s0] : (-s0 + 9 >= 0)>
// SCHEDULED: affine.if #[[SET]]()
// SCHEDULED: %[[PARTIAL:.*]] = memref.alloc
// SCHEDULED-NEXT: norm.launch @sums_0_0(%arg0, %[[PARTIAL]])
// SCHEDULED-NEXT: norm.launch @sums_0_0_finish(
// SCHEDULED-NEXT: } else {
// SCHEDULED-NEXT: norm.launch @sums_0(%arg0, %arg1)

// RUN: norma-sim %s --size m=0 %{few} %{many} | FileCheck %s
// RUN: norma-sim %s --size m=9 %{few} %{many} | FileCheck %s --check-prefixes=CHECK,RIGHT
// RUN: norma-sim %s --size m=10 %{few} %{many} | FileCheck %s --check-prefixes=CHECK,RIGHT
// RUN: norma-sim %t.scheduled --oracle %s --size m=9 | FileCheck %s --check-prefixes=CHECK,RIGHT
// CHECK: nothing found
// RIGHT: verify  right

// One kernel is inspected with few rows, the other with many.
// RUN: norma-sim %s --size m=9 %{few} %{many} --traffic | FileCheck %s --check-prefix=FEW --implicit-check-not='sums_0:'
// FEW: sums_0_0
// RUN: norma-sim %s --size m=10 %{few} %{many} --traffic | FileCheck %s --check-prefix=MANY --implicit-check-not=sums_0_
// MANY: sums_0

// RUN: normac %s -o %t.bundle %{few} %{many} --explain | FileCheck %s --check-prefix=EXPLAINED
// EXPLAINED: kernel sums_0_0 of sums
// EXPLAINED: when dim(x, 0) <= 9
// EXPLAINED: kernel sums_0 of sums
// EXPLAINED: when dim(x, 0) >= 10
// RUN: FileCheck %s --check-prefix=MANIFEST < %t.bundle/manifest.json
// MANIFEST: "manifest_version": 2
// MANIFEST: "symbol": "sums_0_0"
// MANIFEST: "when": [
// MANIFEST-NEXT: {
// MANIFEST-NEXT: "left": 9,
// MANIFEST-NEXT: "relation": ">=",
// MANIFEST-NEXT: "right": "m",
// MANIFEST: "symbol": "sums_0_0_finish"
// MANIFEST: "when": [
// MANIFEST: "right": "m",
// MANIFEST: "symbol": "sums_0"
// MANIFEST: "when": [
// MANIFEST-NEXT: {
// MANIFEST-NEXT: "left": "m",
// MANIFEST-NEXT: "relation": ">=",
// MANIFEST-NEXT: "right": 10,

// A condition without a kernel is one for all of them, and the schedule without one is for their other sizes.
// RUN: normac %s --emit=scheduled --schedule 'if 10 > m = #norm.schedule<spread = [[grid], [loop, warp(2), lane(32)]]>' --schedule '#norm.schedule<spread = [[grid, warp(4)], [loop, lane(32)]]>' | FileCheck %s --check-prefix=ALL
// ALL: norm.kernel @sums_0_0({{.*}} bounds(dim(%{{.*}}, 0) <= 9) schedule(#norm.schedule<spread = {{\[\[}}grid], [loop, warp(2), lane(32)]]>)
// ALL: norm.kernel @sums_0({{.*}} bounds(10 <= dim(%{{.*}}, 0)) schedule(#norm.schedule<spread = {{\[\[}}grid, warp(4)], [loop, lane(32)]]>)

// RUN: not normac %s --emit=scheduled --schedule 'sums_0 if k < 9 = #norm.schedule<spread = [[grid], [loop]]>' 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: expected a condition on kernel 'sums_0' to name sizes m, got 'k'
// RUN: not normac %s --emit=scheduled --schedule 'sums_0_finish if m < 9 = #norm.schedule<spread = [[grid], [loop]]>' 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: error: expected a condition on sizes for one of sums_0, got one for 'sums_0_finish'
// RUN: not normac %s --emit=scheduled --schedule 'sums_0 if m = 9 = #norm.schedule<spread = [[grid], [loop]]>' 2>&1 | FileCheck %s --check-prefix=COMPARISON
// COMPARISON: error: expected a comparison by <, <=, > or >=, got 'm = 9'

// The compiler's own choice for few rows.
// RUN: norma-sim %s --size m=3 --batch-invariant | FileCheck %s --check-prefixes=CHECK,RIGHT
// RUN: norma-sim %s --size m=3 --by-size | FileCheck %s --check-prefixes=CHECK,RIGHT
// RUN: normac %s --emit=scheduled --by-size | FileCheck %s --check-prefix=CHOSEN
// CHOSEN: affine.if
// CHOSEN: norm.launch @sums_0_0(
// CHOSEN: norm.launch @sums_0(
func.func @sums(%x: tensor<?x4096xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "s"}) {
  %y = norm.compute(%in = %x : tensor<?x4096xf32>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n] : tensor<?x4096xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
