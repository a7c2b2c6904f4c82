// Each example gives right results under the simulator, and those that are said to be one kernel are.
// RUN: norma-sim %examples/ada_layer_norm.mlir --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/add_rms_norm.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/batch_stats.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/biased_router.mlir --size token=5 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/cross_entropy.mlir --size m=2 --fill large --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/cross_entropy_in_place.mlir --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/cumsum.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/distillation.mlir --function distillation --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/distillation.mlir --function distillation_grad --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/embedding_rms_norm.mlir --size token=3 --size vocabulary=40 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/eps_at_run_time.mlir --size m=3 --scalar eps=1e-3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/gated_norm.mlir --function gated_norm --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/gated_norm.mlir --function gated_norm_grad --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/gated_residual.mlir --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/group_norm_silu.mlir --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/l2_norm.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/layer_norm.mlir --function layer_norm --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/layer_norm.mlir --function layer_norm_grad --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/log_sum_exp.mlir --size m=3 --fill large --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/masked_softmax.mlir --size m=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/packed_softmax.mlir --size token=100 --size ends=7 --fill ascending --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/qk_norm_rotary.mlir --size token=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/qkv_norm.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/quantize_both_ways.mlir --size m=50 --size blocks=2 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/quantize_rows.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/rms_norm.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/rms_norm_nvfp4.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/router.mlir --size token=5 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/standardize.mlir --size row=3 --size column=77 --seeds 1 | FileCheck %s
// RUN: norma-sim %examples/swiglu_fp8.mlir --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-opt %examples/add_rms_norm.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/gated_residual.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/group_norm_silu.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/qk_norm_rotary.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/quantize_both_ways.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/quantize_rows.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/rms_norm_nvfp4.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/router.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// RUN: norma-opt %examples/swiglu_fp8.mlir --norma-to-kernel | FileCheck %s --check-prefix=ONE
// CHECK: nothing found under seed 0
// CHECK: verify {{ *}}right
// ONE-COUNT-1: norm.kernel
// ONE-NOT: norm.kernel
