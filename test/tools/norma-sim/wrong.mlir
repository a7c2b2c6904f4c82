// A fault in a kernel is reported at its place. The kernels are the compiler's, with one change each.

// Without the barrier, warps read what others have not written yet.
// RUN: normac %examples/rms_norm.mlir --emit=nvvm | sed '/nvvm.barrier/d' > %t.race.mlir
// RUN: not norma-sim %t.race.mlir --size m=1 --oracle %examples/rms_norm.mlir | FileCheck %s --check-prefix=RACE
// RACE-NOT: uninitialized read
// RACE:     race.mlir:[[LOAD:[0-9]+:[0-9]+]]: error: data race: 'llvm.load' accesses memory that nothing orders with another access
// RACE-NEXT:  note: by thread ({{[0-9]+}}, 0, 0) of CTA (0, 0, 0), 16 bytes at shared memory 'rms_norm_0_shared'
// RACE-NEXT:  {{.*}}race.mlir:{{[0-9]+:[0-9]+}}: note: 'st.shared.b32' wrote it, by thread
// RACE:     rms_norm (sm_90a), m=1: {{[0-9]+}} errors under 4 seeds from 0

// In a bundle the report leads to the source, and to the op in the module.
// RUN: rm -rf %t && normac %examples/rms_norm.mlir --keep-nvvm -o %t && sed -i '/nvvm.barrier/d' %t/rms_norm_0.sm_90a.*.nvvm.mlir
// RUN: not norma-sim %t --size m=1 | FileCheck %s --check-prefix=BUNDLE
// BUNDLE: {{.*}}rms_norm.mlir:8:8: error: data race: 'llvm.load' (rms_norm_0.sm_90a.{{[0-9a-f]+}}.nvvm.mlir:{{[0-9]+}}:12) accesses

// Another epsilon races with nobody and is wrong.
// RUN: normac %examples/rms_norm.mlir --emit=nvvm | sed 's/9.99999997E-7/1.0/' > %t.eps.mlir
// RUN: not norma-sim %t.eps.mlir --size m=1 --oracle %examples/rms_norm.mlir | FileCheck %s --check-prefix=EPS
// EPS:      m=1: nothing found under 4 seeds
// EPS-NEXT: verify WRONG
// EPS:      y 4096 {{[1-9][0-9]*}} {{.*}}% of the tolerance) at [0, {{[0-9]+}}]: expected

// A store to a row too far leaves the buffer.
// RUN: normac %examples/rms_norm.mlir --emit=nvvm | sed 's/getelementptr %arg2\[%[0-9]*\] : (!llvm.ptr<1>, i64)/getelementptr %arg2[4096] : (!llvm.ptr<1>)/' > %t.out.mlir
// RUN: not norma-sim %t.out.mlir --size m=1 --oracle %examples/rms_norm.mlir | FileCheck %s --check-prefix=OUT
// OUT: error: out-of-bounds access: 'st.global{{.*}}
// OUT-NEXT: bytes at {{.*}}y
