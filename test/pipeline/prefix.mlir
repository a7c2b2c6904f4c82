// A pipeline's name in norma-opt and a level in normac are the same passes, and a level can be resumed.
// RUN: normac %examples/rms_norm.mlir --emit=kernel > %t.normac
// RUN: norma-opt %examples/rms_norm.mlir --norma-to-kernel > %t.opt
// RUN: diff %t.normac %t.opt
// RUN: normac %t.normac --from=kernel --emit=kernel | diff %t.normac -
// RUN: norma-opt %s --norma-to-kernel --dump-pass-pipeline -o %t 2>&1 | FileCheck %s

// CHECK: norm-decompose
// CHECK: norm-form-kernels
// CHECK: norm-normalize-space
