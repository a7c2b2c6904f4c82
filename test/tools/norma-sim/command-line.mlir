// What cannot be run is refused with a reason: status 1 where the input is at fault, 2 where the command line is.
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: 'rms_norm' leaves size 'm' open: pass --size m=N
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --function softmax; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: error: there is no function 'softmax', only rms_norm
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --from=ptx; test $? = 2' 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: level 'ptx' has no ops to simulate; the last that has is 'nvvm'
// RUN: rm -rf %t && normac %examples/rms_norm.mlir -o %t
// RUN: bash -c 'norma-sim %t --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=KEEP
// KEEP: error: the bundle has no module for kernel 'rms_norm_0': write it by normac --keep-nvvm
// RUN: bash -c 'normac %examples/rms_norm.mlir --emit=nvvm | norma-sim - --size m=1 --size m1=1 --verify; test $? = 1' 2>&1 | FileCheck %s --check-prefix=VERIFY
// RUN: bash -c 'normac %examples/rms_norm.mlir --emit=nvvm | norma-sim - --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: error: 'rms_norm' leaves size 'm1' open: pass --size m1=N, or the source that the module comes from with --oracle
// VERIFY: error: 'rms_norm' has no definition to compare with: give the source that it comes from with --oracle
// RUN: bash -c 'norma-sim %s; test $? = 1' 2>&1 | FileCheck %s --check-prefix=DIAGNOSTIC
// DIAGNOSTIC: command-line.mlir:[[#@LINE+2]]:6: error:

%y = nonsense.op
