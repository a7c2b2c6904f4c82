// Examples that no other test compiles give right results, and several ops of one example become one kernel.
// RUN: norma-sim %examples/cross_entropy.mlir --size m=2 --fill large --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/add_rms_norm.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/quantize_rows.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/qk_norm_rotary.mlir --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/router.mlir --size m=5 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/gated_norm.mlir --function gated_norm --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/gated_norm.mlir --function gated_norm_grad --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-opt %examples/add_rms_norm.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/quantize_rows.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/qk_norm_rotary.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/router.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// CHECK: nothing found under seed 0
// CHECK: verify {{ *}}right
// ONE-COUNT-1: norm.kernel
// ONE-NOT: norm.kernel
