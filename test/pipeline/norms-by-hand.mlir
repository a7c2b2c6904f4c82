// Norms as other compilers write them, each step an op on whole tensors, become the kernels of the named ops: one kernel with
// the same schedule. A program that is almost a norm is computed as written.
// RUN: normac %s --emit=scheduled --target sm_90a | FileCheck %s
// RUN: norma-sim %s --function by_hand --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function by_generic --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function softmax_of_linalg --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function over_rows --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function without_root --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function of_two_uses --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function of_any_width --size m=3 --size n=70 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function scaled_by_element --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right

// CHECK-LABEL: norm.kernel @named_0(
// CHECK-SAME: schedule([[RMS:#norm.schedule<.*>]]) attributes
func.func @named(%x: tensor<?x1024xf32> {norm.name = "x"}, %w: tensor<1024xf32> {norm.name = "w"}) -> (tensor<?x1024xf32> {norm.name = "y"}) {
  %y = norm.rms_norm %x weight(%w : tensor<1024xf32>) {eps = 1.0e-5 : f32} : tensor<?x1024xf32> -> tensor<?x1024xf32>
  return %y : tensor<?x1024xf32>
}

// CHECK-LABEL: norm.kernel @by_hand_0(
// CHECK-SAME: schedule([[RMS]]) attributes
// CHECK-NOT: @by_hand_1
func.func @by_hand(%x: tensor<?x1024xf32> {norm.name = "x"}, %w: tensor<1024xf32> {norm.name = "w"}) -> (tensor<?x1024xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1024xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m) : tensor<?x1024xf32>
  %squares = arith.mulf %x, %x : tensor<?x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce {arith.addf} ins(%squares : tensor<?x1024xf32>) outs(%init : tensor<?xf32>) dimensions = [1]
  %n = arith.constant 1024.0 : f32
  %ns = tensor.splat %n[%m] : tensor<?xf32>
  %mean = arith.divf %sum, %ns : tensor<?xf32>
  %eps = arith.constant 1.0e-5 : f32
  %epss = tensor.splat %eps[%m] : tensor<?xf32>
  %shifted = arith.addf %mean, %epss : tensor<?xf32>
  %rstd = math.rsqrt %shifted : tensor<?xf32>
  %rstds = linalg.broadcast ins(%rstd : tensor<?xf32>) outs(%whole : tensor<?x1024xf32>) dimensions = [1]
  %h = arith.mulf %x, %rstds : tensor<?x1024xf32>
  %ws = linalg.broadcast ins(%w : tensor<1024xf32>) outs(%whole : tensor<?x1024xf32>) dimensions = [0]
  %y = arith.mulf %h, %ws : tensor<?x1024xf32>
  return %y : tensor<?x1024xf32>
}

// CHECK-LABEL: norm.kernel @by_generic_0(
// CHECK-SAME: schedule([[RMS]]) attributes
// CHECK-NOT: @by_generic_1
func.func @by_generic(%x: tensor<?x1024xf32> {norm.name = "x"}, %w: tensor<1024xf32> {norm.name = "w"}) -> (tensor<?x1024xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1024xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m) : tensor<?x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                             iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x1024xf32>) outs(%whole : tensor<?x1024xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.mulf %v, %v : f32
    linalg.yield %0 : f32
  } -> tensor<?x1024xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<?x1024xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%v: f32, %s: f32):
    %0 = arith.addf %s, %v : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum, %w : tensor<?x1024xf32>, tensor<?xf32>, tensor<1024xf32>) outs(%whole : tensor<?x1024xf32>) {
  ^bb0(%v: f32, %s: f32, %g: f32, %o: f32):
    %n = arith.constant 9.765625e-4 : f32
    %eps = arith.constant 1.0e-5 : f32
    %0 = arith.mulf %s, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %2, %g : f32
    %4 = arith.mulf %v, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x1024xf32>
  return %y : tensor<?x1024xf32>
}

// CHECK-LABEL: norm.kernel @softmax_0(
// CHECK-SAME: schedule([[SOFTMAX:#norm.schedule<.*>]]) attributes
func.func @softmax(%x: tensor<?x1024xbf16> {norm.name = "x"}) -> (tensor<?x1024xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x1024xbf16> -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

// CHECK-LABEL: norm.kernel @softmax_of_linalg_0(
// CHECK-SAME: schedule([[SOFTMAX]]) attributes
func.func @softmax_of_linalg(%x: tensor<?x1024xbf16> {norm.name = "x"}) -> (tensor<?x1024xbf16> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %to = tensor.empty(%m) : tensor<?x1024xbf16>
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x1024xbf16>) outs(%to : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

// Squares are summed over rows, and every row waits for that sum.
// CHECK-LABEL: norm.kernel @over_rows_0(
// CHECK: norm.kernel @over_rows_0_finish(
// CHECK: norm.kernel @over_rows_0_apply(
func.func @over_rows(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %whole = tensor.empty(%m) : tensor<?x64xf32>
  %squares = arith.mulf %x, %x : tensor<?x64xf32>
  %init = arith.constant dense<1.0e-5> : tensor<64xf32>
  %sum = linalg.reduce {arith.addf} ins(%squares : tensor<?x64xf32>) outs(%init : tensor<64xf32>) dimensions = [0]
  %rstd = math.rsqrt %sum : tensor<64xf32>
  %rstds = linalg.broadcast ins(%rstd : tensor<64xf32>) outs(%whole : tensor<?x64xf32>) dimensions = [0]
  %y = arith.mulf %x, %rstds : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: norm.kernel @without_root_0(
// CHECK-NOT: math.rsqrt
// CHECK-LABEL: norm.kernel @of_two_uses_0(
func.func @without_root(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %row = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m) : tensor<?x64xf32>
  %squares = arith.mulf %x, %x : tensor<?x64xf32>
  %eps = arith.constant 1.0e-5 : f32
  %init = linalg.fill ins(%eps : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce {arith.addf} ins(%squares : tensor<?x64xf32>) outs(%init : tensor<?xf32>) dimensions = [1]
  %sums = linalg.broadcast ins(%sum : tensor<?xf32>) outs(%whole : tensor<?x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %sums : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// The sum is a result too, of the same kernel.
// CHECK-NOT: @of_two_uses_1
func.func @of_two_uses(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}, tensor<?xf32> {norm.name = "s"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %row = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m) : tensor<?x64xf32>
  %squares = arith.mulf %x, %x : tensor<?x64xf32>
  %eps = arith.constant 1.0e-5 : f32
  %init = linalg.fill ins(%eps : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce {arith.addf} ins(%squares : tensor<?x64xf32>) outs(%init : tensor<?xf32>) dimensions = [1]
  %rstd = math.rsqrt %sum : tensor<?xf32>
  %rstds = linalg.broadcast ins(%rstd : tensor<?xf32>) outs(%whole : tensor<?x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rstds : tensor<?x64xf32>
  return %y, %sum : tensor<?x64xf32>, tensor<?xf32>
}

// The mean of rows whose width only a run knows is divided by that size. Each CTA counts the points of its own rows, so that nothing waits.
// CHECK-LABEL: norm.kernel @of_any_width_0(
// CHECK-NOT: @of_any_width_1
func.func @of_any_width(%x: tensor<?x?xf32> {norm.name = "x", norm.sizes = ["m", "n"]}) -> (tensor<?x?xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m, %n) : tensor<?x?xf32>
  %squares = arith.mulf %x, %x : tensor<?x?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce {arith.addf} ins(%squares : tensor<?x?xf32>) outs(%init : tensor<?xf32>) dimensions = [1]
  %integer = arith.index_cast %n : index to i64
  %columns = arith.sitofp %integer : i64 to f32
  %rstd = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum : tensor<?xf32>) outs(%row : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %eps = arith.constant 1.0e-6 : f32
    %mean = arith.divf %in, %columns : f32
    %shifted = arith.addf %mean, %eps : f32
    %r = math.rsqrt %shifted : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %rstds = linalg.broadcast ins(%rstd : tensor<?xf32>) outs(%whole : tensor<?x?xf32>) dimensions = [1]
  %y = arith.mulf %x, %rstds : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// A factor that a tensor without axes holds is read where it is used.
// CHECK-LABEL: norm.kernel @scaled_by_element_0(
// CHECK-NOT: @scaled_by_element_1
func.func @scaled_by_element(%x: tensor<?x64xf32> {norm.name = "x"}, %s: tensor<f32> {norm.name = "s"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %n = norm.rms_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %e = tensor.extract %s[] : tensor<f32>
  %es = tensor.splat %e[%m] : tensor<?x64xf32>
  %y = arith.mulf %n, %es : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
