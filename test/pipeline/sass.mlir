// The machine code of ptxas for it, for each of the three element types: 128-bit accesses, one barrier, nothing in local memory, at
// most 64 registers a thread (a quarter of a multiprocessor's for 256 threads).
// REQUIRES: ptxas, nvdisasm
// DEFINE: %{bf16} = --schedule='bf16_0=#norm.schedule<spread = [[grid], [register(2), warp(8), lane(32), vector(8)]], early_reads = true, min_ctas_per_sm = 6>'
// RUN: rm -rf %t && normac %s %{bf16} --target=sm_90a -o %t
// RUN: nvdisasm %t/bf16_0.sm_90a.*.cubin > %t/bf16.sass && nvdisasm %t/f16_0.sm_90a.*.cubin > %t/f16.sass && nvdisasm %t/f32_0.sm_90a.*.cubin > %t/f32.sass
// RUN: FileCheck %s --input-file=%t/bf16.sass
// RUN: FileCheck %s --input-file=%t/f16.sass
// RUN: FileCheck %s --input-file=%t/f32.sass
// RUN: FileCheck %s --input-file=%t/bf16.sass --check-prefix=NOWHERE
// RUN: FileCheck %s --input-file=%t/f16.sass --check-prefix=NOWHERE
// RUN: FileCheck %s --input-file=%t/f32.sass --check-prefix=NOWHERE
// RUN: FileCheck %s --input-file=%t/manifest.json --check-prefix=MANIFEST
// RUN: FileCheck %s --input-file=%t/manifest.json --check-prefix=SPILLS

// CHECK:     LDG.E{{[A-Z0-9.]*}}.128
// CHECK:     BAR.SYNC
// CHECK-NOT: BAR.SYNC
// CHECK:     STG.E{{[A-Z0-9.]*}}.128
// CHECK:     EXIT

// NOWHERE-NOT: {{(LDL|STL)}}
// NOWHERE-NOT: {{(LDG|STG)\.E(\.CONSTANT)?[ ;]}}
// NOWHERE-NOT: {{(LDG|STG)\.E[A-Z0-9.]*\.(U16|64)}}
// NOWHERE-NOT: {{ (DADD|DMUL|DFMA) }}

// MANIFEST-COUNT-3: "registers": {{([1-9]|[1-5][0-9]|6[0-4])}},
// SPILLS-NOT:       "spill_bytes": {{[1-9]}}

// The number of instructions is within a third of what it was: 285, 429 and 253.
// RUN: grep -c "^ *\/\*[0-9a-f]*\*\/ " %t/bf16.sass | FileCheck %s --check-prefix=BF16
// RUN: grep -c "^ *\/\*[0-9a-f]*\*\/ " %t/f16.sass | FileCheck %s --check-prefix=F16
// RUN: grep -c "^ *\/\*[0-9a-f]*\*\/ " %t/f32.sass | FileCheck %s --check-prefix=F32
// BF16: {{^(19[0-9]|2[0-9][0-9]|3[0-7][0-9])$}}
// F16: {{^(29[0-9]|[34][0-9][0-9]|5[0-6][0-9])$}}
// F32: {{^(1[789][0-9]|2[0-9][0-9]|3[0-3][0-9])$}}

func.func @bf16(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x weight(%w : tensor<4096xbf16>) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

func.func @f16(%x: tensor<?x8192xf16>, %w: tensor<8192xf16>) -> tensor<?x8192xf16> {
  %y = norm.rms_norm %x weight(%w : tensor<8192xf16>) : tensor<?x8192xf16> -> tensor<?x8192xf16>
  return %y : tensor<?x8192xf16>
}

func.func @f32(%x: tensor<?x4096xf32>, %w: tensor<4096xf32>) -> tensor<?x4096xf32> {
  %y = norm.rms_norm %x weight(%w : tensor<4096xf32>) : tensor<?x4096xf32> -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
