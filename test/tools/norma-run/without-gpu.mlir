// A bundle carries the program that norma-run computes the reference by; without a GPU norma-run reads the bundle, says
// what is missing and exits with 3, and with 2 where the bundle or the command line is at fault. A device that no machine
// has stands for a machine without a GPU where there is one.
// REQUIRES: ptxas
// RUN: rm -rf %t && normac %examples/rms_norm.mlir --target=sm_90a -o %t/one && normac %examples/rms_norm.mlir --target=sm_80,sm_90a -o %t/two
// RUN: FileCheck %s --check-prefix=REFERENCE --input-file=%t/one/manifest.json
// RUN: bash -c 'norma-run %t/one --size m=4 --device 4096; test $? = 3' 2>&1 | FileCheck %s --check-prefix=NO-GPU
// RUN: bash -c 'norma-run %t/two --size m=4 --time --device 4096; test $? = 3' 2>&1 | FileCheck %s --check-prefix=NO-GPU
// RUN: bash -c 'norma-run %t/one --device 4096; test $? = 2' 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: bash -c 'norma-run %t/none --size m=4 --device 4096; test $? = 2' 2>&1 | FileCheck %s --check-prefix=BUNDLE

// NO-GPU: norma-run: error: no {{.+}}
// SIZE:   norma-run: error: 'rms_norm' leaves size 'm' open: pass --size m=N
// BUNDLE: norma-run: error: {{.*}}none

// REFERENCE:      "reference": {
// REFERENCE-NEXT:   "space": [
// REFERENCE-NEXT:     "m",
// REFERENCE-NEXT:     4096
// REFERENCE:          "kind": "read",
// REFERENCE-NEXT:     "tensor": "x",
// REFERENCE-NEXT:     "access": [
// REFERENCE-NEXT:       "d0",
// REFERENCE-NEXT:       "d1"
// REFERENCE:          "kind": "reduce",
// REFERENCE-NEXT:     "combiner": "add",
// REFERENCE:          "name": "math.rsqrt"
// REFERENCE:          "tensor": "w",
// REFERENCE-NEXT:     "access": [
// REFERENCE-NEXT:       "d1"
// REFERENCE:          "kind": "write",
