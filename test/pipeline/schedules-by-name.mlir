// Each kernel may be given a schedule by its name, including kernels that the pipeline creates.
// RUN: normac %s --emit=scheduled --schedule 'sums_0=#norm.schedule<spread = [[loop, split(4), register(2)], [grid, lane(32)]]>' --schedule 'sums_0_finish=#norm.schedule<spread = [[register(4)], [grid, warp(2), lane(32)]]>' | FileCheck %s
// RUN: norma-sim %s --size m=37 --schedule 'sums_0=#norm.schedule<spread = [[loop, split(4), register(2)], [grid, lane(32)]]>' --schedule 'sums_0_finish=#norm.schedule<spread = [[register(4)], [grid, warp(2), lane(32)]]>' | FileCheck %s --check-prefix=RIGHT
// RUN: not normac %s --emit=scheduled --schedule 'sums_1=#norm.schedule<spread = [[loop, split(4), register(2)], [grid, lane(32)]]>' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: norm.kernel @sums_0(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop], [grid], [register(2)], [grid, lane(32)]]>)
// CHECK: norm.kernel @sums_0_finish(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}register(4)], [grid, warp(2), lane(32)]]>)
// RIGHT: nothing found
// RIGHT: verify  right
// UNKNOWN: error: expected a schedule for one of sums_0, sums_0_finish, got one for 'sums_1'
func.func @sums(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<64xf32> {norm.name = "s"}) {
  %y = norm.compute(%in = %x : tensor<?x64xf32>) -> (%out : tensor<64xf32>) space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%m) : f32
    norm.write %1, %out[%n] : tensor<64xf32>
  }
  return %y : tensor<64xf32>
}
