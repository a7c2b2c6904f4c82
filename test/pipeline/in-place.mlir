// A result over the memory of an argument has the strides of that argument, also where only a launch knows them.
// RUN: norma-sim %s --size m=3 --stride q_stride0=776 | FileCheck %s
// CHECK: verify {{ *}}right

func.func @heads_in_place(%q: tensor<?x4x64xbf16> {norm.name = "q", norm.buffer = memref<?x4x64xbf16, strided<[?, 64, 1]>>})
    -> (tensor<?x4x64xbf16> {norm.name = "y", norm.may_alias = "q", norm.buffer = memref<?x4x64xbf16, strided<[?, 64, 1]>>}) {
  %n = norm.rms_norm %q : tensor<?x4x64xbf16> -> tensor<?x4x64xbf16>
  return %n : tensor<?x4x64xbf16>
}
