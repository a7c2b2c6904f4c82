// A schedule with clusters, from the user's module to PTX: the kernel requires clusters, and its CTAs exchange sums by
// st.async. Targets without clusters are refused, with a message where the schedule's kernel was written.
// RUN: normac %s --target=sm_90a --emit=ptx --schedule '#norm.schedule<spread = [[grid], [cluster(4), warp(2), lane(32), vector(4)]]>' | FileCheck %s
// RUN: not normac %s --target=sm_80 --emit=ptx --schedule '#norm.schedule<spread = [[grid], [cluster(4), warp(2), lane(32), vector(4)]]>' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: normac %s --target=sm_90a -o %t --schedule '#norm.schedule<spread = [[grid], [cluster(4), warp(2), lane(32), vector(4)]]>'
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/manifest.json

// CHECK: .visible .entry sums_0(
// CHECK: .reqntid 64
// CHECK: .explicitcluster
// CHECK: .reqnctapercluster 4
// CHECK: fence.mbarrier_init.release.cluster
// CHECK: barrier.cluster.arrive.relaxed.aligned
// CHECK: barrier.cluster.wait{{.*}}.aligned
// CHECK: st.async.shared::cluster.mbarrier::complete_tx::bytes.b32
// CHECK: mbarrier.try_wait.parity
// CHECK-NOT: barrier.cluster

// NONE: clusters.mlir:{{.*}}error: unsupported: clusters of 4 CTAs on sm_80; supported: clusters on sm_90a
// NONE-NOT: error:

// MANIFEST: "cluster": [
// MANIFEST-NEXT: 4,
func.func @sums(%x: tensor<?x1024xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x1024xf32>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0), %n = 1024) {
    %0 = norm.read %in[%m, %n] : tensor<?x1024xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
