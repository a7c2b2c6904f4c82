// Properties of RMSNorm's PTX that matter for speed: every access to global memory moves 16 bytes, the weight's reads are in
// flight before the reduction, squares are summed by fma, there is one barrier, arithmetic is f32 throughout, and no local memory is used. And every
// operation says how it rounds, so that ptxas is left no choice.
// DEFINE: %{schedule} = --schedule='rms_norm_0=#norm.schedule<spread = [[grid], [register(2), warp(8), lane(32), vector(8)]], early_reads = true, min_ctas_per_sm = 6>'
// RUN: normac %examples/rms_norm.mlir %{schedule} --emit=ptx > %t
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --input-file=%t --check-prefix=BARRIERS
// RUN: FileCheck %s --input-file=%t --check-prefix=NOWHERE

// CHECK:         .target sm_90a
// CHECK:         .visible .entry rms_norm_0(
// CHECK:         .reqntid 256
// CHECK-COUNT-2: ld.global.L1::no_allocate.L2::cache_hint.v4.b32
// CHECK-COUNT-2: ld.global.L1::evict_last.L2::cache_hint.v4.b32
// CHECK-COUNT-4: mul.rn.f32
// CHECK-COUNT-6: fma.rn.f32
// CHECK-COUNT-6: fma.rn.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK:         bar.sync
// CHECK:         rsqrt.approx.ftz.f32
// CHECK-NOT:     ld.global
// CHECK:         cvt.rn.bf16x2.f32
// CHECK-COUNT-2: st.global.L1::no_allocate.L2::cache_hint.v4.b32
// CHECK:         ret;

// BARRIERS-COUNT-1: bar.sync
// BARRIERS-NOT:     bar.sync

// NOWHERE-NOT: .local
// NOWHERE-NOT: f64
// NOWHERE-NOT: {{(add|sub|mul|fma)\.f}}
// NOWHERE-NOT: {{((ld|st)\.global(\.nc)?|cache_hint)\.(b|v2)}}
// NOWHERE-NOT: ld.global.v4
