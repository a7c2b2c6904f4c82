// The places are the schedule's to say.
// RUN: norma-opt %s --verify-diagnostics --norm-cache-inputs

// expected-error @+1 {{expected a kernel with a schedule, got none}}
norm.kernel @no_schedule() space(%m = 1) {
}
