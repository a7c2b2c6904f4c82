// Argmax and argmin as other compilers write them, a nest of two results, find the first extremum: as torch-mlir does, which keeps what came
// first, and as StableHLO does, which compares places. Of integers and of a transformed element, too.
// RUN: norma-sim %s --function of_torch --size m=3 --fill exact --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function of_torch --size m=3 --fill special --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function of_stablehlo --size m=3 --fill exact --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function of_stablehlo --size m=3 --fill special --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function of_unsigned_places --size m=3 --fill exact --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function smallest_magnitude --size m=3 --fill exact --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function of_integers --size m=3 --seeds 2 | FileCheck %s
// RUN: norma-opt %s --norma-to-kernel | FileCheck %s --check-prefix=ONE
// CHECK: verify {{ *}}right
// ONE-COUNT-5: norm.kernel @
// ONE-NOT: norm.kernel @

#rows = affine_map<(i, j) -> (i, j)>
#of_row = affine_map<(i, j) -> (i)>

func.func @of_torch(%x: tensor<?x70xbf16> {norm.name = "x"}) -> (tensor<?xbf16> {norm.name = "max"}, tensor<?xi64> {norm.name = "place"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x70xbf16>
  %least = arith.constant 0xFF80 : bf16
  %zero = arith.constant 0 : i64
  %row = tensor.empty(%m) : tensor<?xbf16>
  %places = tensor.empty(%m) : tensor<?xi64>
  %none = linalg.fill ins(%least : bf16) outs(%row : tensor<?xbf16>) -> tensor<?xbf16>
  %first = linalg.fill ins(%zero : i64) outs(%places : tensor<?xi64>) -> tensor<?xi64>
  %max, %place = linalg.generic {indexing_maps = [#rows, #of_row, #of_row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x70xbf16>) outs(%none, %first : tensor<?xbf16>, tensor<?xi64>) {
  ^bb0(%in: bf16, %out: bf16, %out_place: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %0 = arith.maximumf %in, %out : bf16
    %1 = arith.cmpf ogt, %in, %out : bf16
    %2 = arith.select %1, %here, %out_place : i64
    linalg.yield %0, %2 : bf16, i64
  } -> (tensor<?xbf16>, tensor<?xi64>)
  return %max, %place : tensor<?xbf16>, tensor<?xi64>
}

func.func @of_stablehlo(%x: tensor<?x70xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "max"}, tensor<?xi32> {norm.name = "place"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x70xf32>
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %row = tensor.empty(%m) : tensor<?xf32>
  %places = tensor.empty(%m) : tensor<?xi32>
  %whole = tensor.empty(%m) : tensor<?x70xi32>
  %none = linalg.fill ins(%least : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %first = linalg.fill ins(%zero : i32) outs(%places : tensor<?xi32>) -> tensor<?xi32>
  %iota = linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%whole : tensor<?x70xi32>) {
  ^bb0(%o: i32):
    %j = linalg.index 1 : index
    %0 = arith.index_cast %j : index to i32
    linalg.yield %0 : i32
  } -> tensor<?x70xi32>
  %max, %place = linalg.generic {indexing_maps = [#rows, #rows, #of_row, #of_row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %iota : tensor<?x70xf32>, tensor<?x70xi32>) outs(%none, %first : tensor<?xf32>, tensor<?xi32>) {
  ^bb0(%in: f32, %here: i32, %out: f32, %out_place: i32):
    %more = arith.cmpf ogt, %out, %in : f32
    %nan = arith.cmpf une, %out, %out : f32
    %kept = arith.ori %more, %nan : i1
    %same = arith.cmpf oeq, %out, %in : f32
    %before = arith.cmpi slt, %out_place, %here : i32
    %tied = arith.andi %same, %before : i1
    %kept_place = arith.ori %kept, %tied : i1
    %0 = arith.select %kept, %out, %in : f32
    %1 = arith.select %kept_place, %out_place, %here : i32
    linalg.yield %0, %1 : f32, i32
  } -> (tensor<?xf32>, tensor<?xi32>)
  return %max, %place : tensor<?xf32>, tensor<?xi32>
}

// The place is the first result; the reduction is over the first axis.

// The places 35 below the element's: as unsigned numbers those of the first 35 elements come last.
func.func @of_unsigned_places(%x: tensor<?x70xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "max"}, tensor<?xi32> {norm.name = "place"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x70xf32>
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant -1 : i32
  %middle = arith.constant 35 : i32
  %row = tensor.empty(%m) : tensor<?xf32>
  %places = tensor.empty(%m) : tensor<?xi32>
  %whole = tensor.empty(%m) : tensor<?x70xi32>
  %none = linalg.fill ins(%least : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %first = linalg.fill ins(%zero : i32) outs(%places : tensor<?xi32>) -> tensor<?xi32>
  %iota = linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%whole : tensor<?x70xi32>) {
  ^bb0(%o: i32):
    %j = linalg.index 1 : index
    %0 = arith.index_cast %j : index to i32
    %1 = arith.subi %0, %middle : i32
    linalg.yield %1 : i32
  } -> tensor<?x70xi32>
  %max, %place = linalg.generic {indexing_maps = [#rows, #rows, #of_row, #of_row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %iota : tensor<?x70xf32>, tensor<?x70xi32>) outs(%none, %first : tensor<?xf32>, tensor<?xi32>) {
  ^bb0(%in: f32, %here: i32, %out: f32, %out_place: i32):
    %more = arith.cmpf ogt, %out, %in : f32
    %nan = arith.cmpf une, %out, %out : f32
    %kept = arith.ori %more, %nan : i1
    %same = arith.cmpf oeq, %out, %in : f32
    %before = arith.cmpi ult, %out_place, %here : i32
    %tied = arith.andi %same, %before : i1
    %kept_place = arith.ori %kept, %tied : i1
    %0 = arith.select %kept, %out, %in : f32
    %1 = arith.select %kept_place, %out_place, %here : i32
    linalg.yield %0, %1 : f32, i32
  } -> (tensor<?xf32>, tensor<?xi32>)
  return %max, %place : tensor<?xf32>, tensor<?xi32>
}

// The place is the first result; the reduction is over the first axis.

func.func @smallest_magnitude(%x: tensor<?x70xf32> {norm.name = "x"}) -> (tensor<70xi32> {norm.name = "place"}, tensor<70xf32> {norm.name = "min"}) {
  %most = arith.constant 0x7F800000 : f32
  %zero = arith.constant 0 : i32
  %row = tensor.empty() : tensor<70xf32>
  %places = tensor.empty() : tensor<70xi32>
  %none = linalg.fill ins(%most : f32) outs(%row : tensor<70xf32>) -> tensor<70xf32>
  %first = linalg.fill ins(%zero : i32) outs(%places : tensor<70xi32>) -> tensor<70xi32>
  %place, %min = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, #of_row, #of_row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x70xf32>) outs(%first, %none : tensor<70xi32>, tensor<70xf32>) {
  ^bb0(%in: f32, %out_place: i32, %out: f32):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i32
    %size = math.absf %in : f32
    %0 = arith.cmpf ole, %out, %size : f32
    %1 = arith.minimumf %size, %out : f32
    %2 = arith.select %0, %out_place, %here : i32
    linalg.yield %2, %1 : i32, f32
  } -> (tensor<70xi32>, tensor<70xf32>)
  return %place, %min : tensor<70xi32>, tensor<70xf32>
}

func.func @of_integers(%x: tensor<?x70xi8> {norm.name = "x"}) -> (tensor<?xi8> {norm.name = "max"}, tensor<?xi64> {norm.name = "place"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x70xi8>
  %least = arith.constant -128 : i8
  %zero = arith.constant 0 : i64
  %row = tensor.empty(%m) : tensor<?xi8>
  %places = tensor.empty(%m) : tensor<?xi64>
  %none = linalg.fill ins(%least : i8) outs(%row : tensor<?xi8>) -> tensor<?xi8>
  %first = linalg.fill ins(%zero : i64) outs(%places : tensor<?xi64>) -> tensor<?xi64>
  %max, %place = linalg.generic {indexing_maps = [#rows, #of_row, #of_row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x70xi8>) outs(%none, %first : tensor<?xi8>, tensor<?xi64>) {
  ^bb0(%in: i8, %out: i8, %out_place: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %0 = arith.cmpi sgt, %in, %out : i8
    %1 = arith.select %0, %in, %out : i8
    %2 = arith.select %0, %here, %out_place : i64
    linalg.yield %1, %2 : i8, i64
  } -> (tensor<?xi8>, tensor<?xi64>)
  return %max, %place : tensor<?xi8>, tensor<?xi64>
}
