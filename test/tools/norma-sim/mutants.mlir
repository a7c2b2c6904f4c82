// Mistakes put into a right kernel, one at a time: each is reported with how it was caught.
// RUN: norma-sim %examples/rms_norm.mlir --size m=2 --mutants=sync | FileCheck %s --check-prefix=SYNC
// SYNC:      rms_norm.mlir:8:8: 'nvvm.barrier' ({{.*}}rms_norm_0.sm_90a.nvvm.mlir:{{[0-9:]+}}) drop the barrier data race: 'llvm.load' ({{.*}}) at {{.*}}rms_norm.mlir:8:8
// SYNC-NEXT: rms_norm.mlir:8:8: 'nvvm.barrier' ({{.*}}rms_norm_0.sm_90a.nvvm.mlir:{{[0-9:]+}}) wait for a warp less data race:
// SYNC-NEXT: rms_norm (sm_90a), m=2: 2 of 2 mutants caught

// A mutant that nothing catches fails the run: any lane may write a value that all lanes hold.
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --size m=2 --mutants=control; test $? = 1' | FileCheck %s --check-prefix=CONTROL
// CONTROL: 'llvm.icmp' {{.*}} one more than the bound NOT CAUGHT, same results
// CONTROL: 'st.shared.b32' {{.*}} drop the guard data race:

// RUN: norma-sim %examples/rms_norm.mlir --size m=2 --mutants=sync,exchange --json | FileCheck %s --check-prefix=JSON
// JSON:      "passed": true,
// JSON-NEXT: "caught": [[COUNT:[0-9]+]],
// JSON:      "concern": "exchange",
// JSON-NEXT: "what": "leave the last lane out of the mask",
// JSON-NEXT: "verdict": {
// JSON-NEXT:   "caught": true,
// JSON-NEXT:   "seed": 0,
// JSON-NEXT:   "finding": {
// JSON-NEXT:     "kind": "partial barrier",

// A kernel that is wrong as it is has no mutants to judge.
// RUN: normac %examples/rms_norm.mlir --emit=nvvm | sed '/nvvm.barrier/d' > %t.mlir
// RUN: bash -c 'norma-sim %t.mlir --oracle %examples/rms_norm.mlir --size m=2 --mutants; test $? = 1' 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: 'rms_norm' is wrong as it is: run it without --mutants
