// A right kernel, from its source or from a bundle: nothing is found under any seed, and the results are the definition's.
// RUN: norma-sim %examples/rms_norm.mlir --size m=3 --seeds 3 | FileCheck %s
// RUN: rm -rf %t && normac %examples/rms_norm.mlir --keep-nvvm -o %t && norma-sim %t --size m=3 --seeds 3 | FileCheck %s
// CHECK:      rms_norm (sm_90a), m=3: nothing found under 3 seeds from 0
// CHECK-NEXT: verify right
// CHECK:      y 12288 0

// --traffic prints the traffic of each access; without rows there is no launch.
// RUN: norma-sim %examples/rms_norm.mlir --size m=1 --seeds 1 --traffic | FileCheck %s --check-prefix=TRAFFIC
// TRAFFIC:      traffic of rms_norm_0
// TRAFFIC-NEXT:   {{.*}}rms_norm.mlir:8:8: {{.*}}: global, {{[0-9]+}} warp accesses, {{[0-9]+}} lines, {{[0-9]+}} sectors of 32 bytes
// TRAFFIC:        shared, 8 warp accesses, 8 wavefronts where 8 would do
// TRAFFIC:        in all: {{[0-9]+}} sectors read, 512 of them distinct, and 256 written, 256 of them distinct
// RUN: norma-sim %examples/rms_norm.mlir --size m=0 | FileCheck %s --check-prefix=NOTHING
// NOTHING: rms_norm (sm_90a), m=0: nothing found

// --json is one object.
// RUN: norma-sim %examples/rms_norm.mlir --size m=1 --seed 5 --seeds 1 --json | FileCheck %s --check-prefix=JSON
// JSON:      "function": "rms_norm"
// JSON:      "passed": true
// JSON-NEXT: "seeds": 1
// JSON-NEXT: "findings": []
// JSON:      "part_of_tolerance"
