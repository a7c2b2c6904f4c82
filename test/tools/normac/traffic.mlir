// The manifest says how much each kernel must read and write at least: each buffer's length once, whatever its type.
// RUN: rm -rf %t && normac %s --keep-nvvm -o %t && FileCheck %s < %t/manifest.json

// A weight is read once, whatever the number of rows, and the results differ in length and type from the inputs.
// CHECK: "bytes_read": "m*4000 + 2000"
// CHECK: "bytes_written": "m*2004"
func.func @unequal(%x: tensor<?x1000xf32> {norm.name = "x"}, %w: tensor<1000xbf16> {norm.name = "w"})
    -> (tensor<?x1000xbf16> {norm.name = "y"}, tensor<?xf32> {norm.name = "rstd"}) {
  %y, %rstd = norm.rms_norm %x weight(%w : tensor<1000xbf16>) {eps = 1.0e-5 : f32} : tensor<?x1000xf32> -> tensor<?x1000xbf16>, tensor<?xf32>
  return %y, %rstd : tensor<?x1000xbf16>, tensor<?xf32>
}
