// Registers are the one place that is supported.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-cache-inputs

// expected-error @+1 {{unsupported: cache = shared, expected cache = register or cache = none}}
norm.kernel @shared() space(%m = 1) schedule(#norm.schedule<cache = shared>) {
}

// -----

// expected-error @+1 {{unsupported: cache = l1, expected cache = register or cache = none}}
norm.kernel @l1() space(%m = 1) schedule(#norm.schedule<cache = l1>) {
}

// -----

// expected-error @+1 {{expected a kernel with a schedule, got none}}
norm.kernel @no_schedule() space(%m = 1) {
}
