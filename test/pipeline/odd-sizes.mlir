// Rows of any size: the width of an access is the largest power of two that divides the row, up to 16 bytes, and what a
// tile has beyond the row is masked, in the last access alone.
// RUN: normac %s --emit=gl-lowered | FileCheck %s --check-prefix=GL
// RUN: normac %s --emit=ptx | FileCheck %s --check-prefix=PTX

// 4095 is odd: tiles begin where 16 bytes do, and the weight is read as the words of 16 bytes around each vector. The ends of rows are
// read with their neighbours, and written element by element.
// GL-LABEL: gpu.func @odd_0
// GL-DAG:   gl.load %{{.*}} where {{.*}} vector 8 alignment 16 :
// GL-DAG:   gl.load %{{.*}} where {{.*}} vector 8 alignment 2 :
// GL:       gl.store %{{.*}} where {{.*}} vector 8 :
// PTX-LABEL: .visible .entry odd_0(
// PTX:       ld.global{{[^ ]*}}.v4.b32
// PTX:       @%p{{[0-9]+}} ld.global{{(\.nc)?}}.b16
// PTX:       @%p{{[0-9]+}} st.global.b16
func.func @odd(%x: tensor<?x4095xbf16>, %w: tensor<4095xbf16>) -> tensor<?x4095xbf16> {
  %y = norm.rms_norm %x weight(%w : tensor<4095xbf16>) : tensor<?x4095xbf16> -> tensor<?x4095xbf16>
  return %y : tensor<?x4095xbf16>
}

// 4100 = 4 * 1025: four elements of two bytes.
// GL-LABEL: gpu.func @four_0
// GL:       gl.load %{{.*}} where {{.*}} vector 4 :
// PTX-LABEL: .visible .entry four_0(
// PTX:       ld.global.nc.v2.b32
// PTX-NOT:   ld.global{{.*}}v4
// PTX:       @%p{{[0-9]+}} ld.global{{(\.nc)?}}.v2.b32
// PTX:       @%p{{[0-9]+}} st.global.v2.b32
func.func @four(%x: tensor<?x4100xbf16>, %w: tensor<4100xbf16>) -> tensor<?x4100xbf16> {
  %y = norm.rms_norm %x weight(%w : tensor<4100xbf16>) : tensor<?x4100xbf16> -> tensor<?x4100xbf16>
  return %y : tensor<?x4100xbf16>
}

// 4104 = 8 * 513: eight elements, 16 bytes, and a tail all the same.
// GL-LABEL: gpu.func @eight_0
// GL:       gl.load %{{.*}} where {{.*}} vector 8 :
// PTX-LABEL: .visible .entry eight_0(
// PTX:       @%p{{[0-9]+}} ld.global{{[^ ]*}}.v4.b32
// PTX:       @%p{{[0-9]+}} st.global{{[^ ]*}}.v4.b32
func.func @eight(%x: tensor<?x4104xbf16>, %w: tensor<4104xbf16>) -> tensor<?x4104xbf16> {
  %y = norm.rms_norm %x weight(%w : tensor<4104xbf16>) : tensor<?x4104xbf16> -> tensor<?x4104xbf16>
  return %y : tensor<?x4104xbf16>
}

// A row of one element.
// GL-LABEL: gpu.func @one_0
// PTX-LABEL: .visible .entry one_0(
func.func @one(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %y = norm.rms_norm %x : tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
