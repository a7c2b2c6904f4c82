// A sharded function is judged as a whole: all devices run, with the exchange of their states in between.
// RUN: norma-sim %s --size m=3 --seeds 2 | FileCheck %s
// CHECK:      softmax (sm_90a) on 2 devices, m=3: nothing found under 2 seeds from 0
// CHECK-NEXT: verify right
// CHECK:      y 192 0

// From a bundle, and as JSON.
// RUN: rm -rf %t && normac %s --keep-nvvm -o %t && norma-sim %t --function softmax --size m=1 --seeds 1 --json | FileCheck %s --check-prefix=JSON
// JSON:      "function": "softmax"
// JSON-NEXT: "devices": 2
// JSON:      "passed": true

// One device's run is a function of its own.
// RUN: norma-sim %s --function softmax_partial --size m=3 --seeds 1 | FileCheck %s --check-prefix=ONE
// RUN: not norma-sim %s --function softmin 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// ONE: softmax_partial (sm_90a), m=3: nothing found under seed 0
// UNKNOWN: error: there is no function 'softmin', only softmax_partial, softmax_rest, softmax

// Before anything is allocated, the tensors of all devices must fit, although those of each would.
// RUN: not norma-sim %s --size m=3 --seeds 1 --max-bytes 1200 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: 'y' takes 768 bytes of simulated memory, and 432 are left

func.func @softmax(%x: tensor<?x64xf32> {norm.name = "x", norm.devices = array<i64: 1, 2>}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
