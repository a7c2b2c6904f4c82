// A variance depends on the mean. If both are merged, the CTAs of a cluster exchange once, and warps synchronize once. All
// partial results are of equally many elements, so that no counts are exchanged.
// RUN: normac %s --emit=gl-lowered --schedule '#norm.schedule<spread = [[grid], [register(2), cluster(4), warp(4), lane(32), vector(8)]]>' | FileCheck %s --check-prefix=TURNS
// RUN: normac %s --emit=gl-lowered --schedule '#norm.schedule<spread = [[grid], [register(2), cluster(4), warp(4), lane(32), vector(8)]], merge_reductions = [cluster]>' | FileCheck %s --check-prefix=CLUSTER
// RUN: normac %s --emit=gl-lowered --schedule '#norm.schedule<spread = [[grid], [register(2), cluster(4), warp(4), lane(32), vector(8)]], merge_reductions = [cluster, warp, lane]>' | FileCheck %s --check-prefix=ALL
// RUN: not normac %s --emit=ptx --schedule '#norm.schedule<spread = [[grid], [register(2), cluster(4), warp(4), lane(32), vector(8)]], merge_reductions = [cluster, warp]>' 2>&1 | FileCheck %s --check-prefix=WARPS

// TURNS-COUNT-2: gl.mbarrier_expect
// TURNS-NOT: gl.mbarrier_expect

// CLUSTER: gl.mbarrier_expect
// CLUSTER-COUNT-2: gl.remote_store
// CLUSTER-NOT: gl.remote_store
// CLUSTER-NOT: gl.mbarrier_expect

// ALL-COUNT-1: gl.barrier
// ALL: gl.mbarrier_expect
// ALL-COUNT-2: gl.remote_store
// ALL-NOT: gl.barrier
// ALL-NOT: gl.mbarrier_expect

// WARPS: error: unsupported: merge_reductions at warp without lane; supported: at both or at none
func.func @layer_norm(%x: tensor<?x8192xbf16> {norm.name = "x"}) -> (tensor<?x8192xbf16> {norm.name = "y"}) {
  %y = norm.layer_norm %x {eps = 1.0e-5 : f32} : tensor<?x8192xbf16> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
