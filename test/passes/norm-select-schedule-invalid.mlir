// Rows that no candidate holds, and options that say nothing, are refused.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-select-schedule
// RUN: not norma-opt %s --norm-select-schedule=target=sm_90 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not norma-opt %s --norm-select-schedule=schedule=wide 2>&1 | FileCheck %s --check-prefix=SCHEDULE

// TARGET: error: unknown target 'sm_90', expected one of sm_80
// TARGET: note: 'sm_90' lacks the architecture's own instructions; ask for 'sm_90a'
// SCHEDULE: error: expected a schedule like 'rows_per_cta = 1, threads_per_row = 256', got 'wide'

// expected-error-re @+1 {{unsupported: a row of 131072 elements in accesses of 4 bytes, expected one that the registers of a CTA hold: at most {{[0-9]+}} elements}}
norm.kernel @long(%x: memref<?x131072xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 131072) {
  %0 = norm.read %x[%m, %n] : memref<?x131072xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: a reduced dim whose extent only the run knows, expected a static one}}
norm.kernel @dynamic(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: a reduction over a dim that no access uses, expected a read or a write along it}}
norm.kernel @unused(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m] : memref<?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
