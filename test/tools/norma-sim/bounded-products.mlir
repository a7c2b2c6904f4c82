// Of two sizes that become one, a bound of one says nothing of their product: no launch is refused for a tensor without elements.
// RUN: norma-sim %s --function outer --size m=7 --size m1=0 | FileCheck %s
// RUN: norma-sim %s --function outer --size m=5 --size m1=3 | FileCheck %s --check-prefixes=CHECK,RIGHT
// RUN: norma-sim %s --function inner --size m=0 --size m1=7 | FileCheck %s
// RUN: norma-sim %s --function inner --size m=3 --size m1=5 | FileCheck %s --check-prefixes=CHECK,RIGHT
// CHECK: nothing found
// RIGHT: verify  right

// RUN: bash -c 'norma-sim %s --function outer --size m=4 --size m1=7; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: expected dim(x, 0) >= 5, got 4
func.func @outer(%x: tensor<?x?xf32> {norm.name = "x", norm.min = array<i64: 5, 0>}) -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = arith.addf %x, %x : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @inner(%x: tensor<?x?xf32> {norm.name = "x", norm.min = array<i64: 0, 5>}) -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = arith.addf %x, %x : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
