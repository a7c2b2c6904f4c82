// The schedule alone says where reads are kept.
// RUN: norma-opt %s --verify-diagnostics --norm-cache-inputs

// expected-error @+1 {{expected a kernel with a schedule, got none}}
norm.kernel @no_schedule() space(%m = 1) {
}
