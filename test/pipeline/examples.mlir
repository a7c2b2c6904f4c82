// Examples that no other test compiles do what they say.
// RUN: norma-sim %examples/cross_entropy.mlir --size m=2 --fill large --seeds 1 | FileCheck %s
// CHECK: nothing found under seed 0
// CHECK: verify {{ *}}right
