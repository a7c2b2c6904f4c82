// A named gradient gets the schedule of its kernel form: one walk over the rows, which come through a ring in shared memory
// where their reductions need them again, and a finish that combines the CTAs' partial sums for the weights.
// RUN: normac %s --emit=scheduled --target sm_90a | FileCheck %s

// CHECK-LABEL: norm.kernel @rms_0(
// CHECK-SAME: schedule([[SCHEDULE:#norm.schedule<spread = .*keep = .shared, shared, none.*bring = bulk.*>]])
// CHECK: norm.kernel @rms_0_finish(
// CHECK-NOT: norm.kernel
func.func @rms(%x: tensor<?x4096xbf16> {norm.name = "x"}, %dy: tensor<?x4096xbf16> {norm.name = "dy"},
    %w: tensor<4096xbf16> {norm.name = "w"}, %rstd: tensor<?xf32> {norm.name = "rstd"})
    -> (tensor<?x4096xbf16> {norm.name = "dx"}, tensor<4096xbf16> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x4096xbf16>) weight(%w : tensor<4096xbf16>) rstd(%rstd : tensor<?xf32>)
             : tensor<?x4096xbf16> -> tensor<?x4096xbf16> dweight(tensor<4096xbf16>)
  return %dx, %dw : tensor<?x4096xbf16>, tensor<4096xbf16>
}

// CHECK-LABEL: norm.kernel @written_out_0(
// CHECK-SAME: schedule([[SCHEDULE]])
// CHECK: norm.kernel @written_out_0_finish(
func.func @written_out(%x: tensor<?x4096xbf16> {norm.name = "x"}, %dy: tensor<?x4096xbf16> {norm.name = "dy"},
    %w: tensor<4096xbf16> {norm.name = "w"}, %rstd: tensor<?xf32> {norm.name = "rstd"})
    -> (tensor<?x4096xbf16> {norm.name = "dx"}, tensor<4096xbf16> {norm.name = "dw"}) {
  %dx, %dw = norm.compute(%in = %x : tensor<?x4096xbf16>, %g = %dy : tensor<?x4096xbf16>, %weight = %w : tensor<4096xbf16>, %r = %rstd : tensor<?xf32>)
      -> (%o : tensor<?x4096xbf16>, %p : tensor<4096xbf16>) space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n] : tensor<?x4096xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.read %g[%m, %n] : tensor<?x4096xbf16>
    %3 = arith.extf %2 : bf16 to f32
    %4 = norm.read %weight[%n] : tensor<4096xbf16>
    %5 = arith.extf %4 : bf16 to f32
    %6 = norm.read %r[%m] : tensor<?xf32>
    %7 = arith.mulf %3, %5 : f32
    %8 = arith.mulf %1, %7 : f32
    %9 = norm.reduce add %8 over(%n) : f32
    %c = arith.constant 2.44140625e-4 : f32
    %10 = arith.mulf %9, %c : f32
    %11 = arith.mulf %10, %6 : f32
    %12 = arith.mulf %1, %6 : f32
    %13 = arith.mulf %11, %12 : f32
    %14 = arith.subf %7, %13 : f32
    %15 = arith.mulf %14, %6 : f32
    %16 = arith.truncf %15 : f32 to bf16
    norm.write %16, %o[%m, %n] : tensor<?x4096xbf16>
    %17 = arith.mulf %3, %12 : f32
    %18 = norm.reduce add %17 over(%m) : f32
    %19 = arith.truncf %18 : f32 to bf16
    norm.write %19, %p[%n] : tensor<4096xbf16>
  }
  return %dx, %dw : tensor<?x4096xbf16>, tensor<4096xbf16>
}
