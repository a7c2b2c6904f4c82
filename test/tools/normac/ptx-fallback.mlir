// --ptx-fallback keeps the PTX of targets that later devices run, beside their cubins.
// RUN: rm -rf %t && normac %s --target sm_80,sm_90a --ptx-fallback -o %t
// RUN: FileCheck %s --input-file=%t/sm_80/manifest.json --check-prefix=PORTABLE
// RUN: FileCheck %s --input-file=%t/sm_90a/manifest.json --check-prefix=SUFFIXED
// RUN: cat %t/sm_80/scale_0.sm_80.*.ptx | FileCheck %s --check-prefix=PTX

// A second bundle in the folder, without it, leaves none behind.
// RUN: normac %s --target sm_80,sm_90a -o %t && not ls %t/sm_80/scale_0.sm_80.*.ptx

// RUN: not normac %s --ptx-fallback -o %t 2>&1 | FileCheck %s --check-prefix=NONE

// PORTABLE:      "cubin": "scale_0.sm_80.{{[0-9a-f]+}}.cubin"
// PORTABLE-NEXT: "ptx": "scale_0.sm_80.{{[0-9a-f]+}}.ptx"
// SUFFIXED:      "cubin": "scale_0.sm_90a.{{[0-9a-f]+}}.cubin"
// SUFFIXED-NOT:  "ptx"
// PTX: .target sm_80
// PTX: .visible .entry scale_0(
// NONE: --ptx-fallback keeps PTX that later devices run: expected a target without a suffix, such as sm_80, got sm_90a

func.func @scale(%x: tensor<?x4096xf32> {norm.name = "x"}) -> (tensor<?x4096xf32> {norm.name = "y"}) {
  %y = arith.addf %x, %x : tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
