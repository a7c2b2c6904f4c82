// Without a GPU norma-run reads the bundle, says what is missing and exits with 3, and with 2 if the bundle or the
// command line is at fault. On a machine with a GPU, the number of a device that no machine has stands for the missing
// one.
// REQUIRES: ptxas
// RUN: rm -rf %t && normac %examples/rms_norm.mlir --target=sm_90a -o %t/one && normac %examples/rms_norm.mlir --target=sm_80,sm_90a -o %t/two
// RUN: bash -c 'norma-run %t/one --size m=4 --device 4096; test $? = 3' 2>&1 | FileCheck %s --check-prefix=NO-GPU
// RUN: bash -c 'norma-run %t/two --size m=4 --time --device 4096; test $? = 3' 2>&1 | FileCheck %s --check-prefix=NO-GPU
// RUN: bash -c 'norma-run %t/one --device 4096; test $? = 2' 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: bash -c 'norma-run %t/none --size m=4 --device 4096; test $? = 2' 2>&1 | FileCheck %s --check-prefix=BUNDLE

// NO-GPU: error: no {{.+}}
// SIZE:   error: 'rms_norm' leaves size 'm' open: pass --size m=N
// BUNDLE: error: {{.*}}none
