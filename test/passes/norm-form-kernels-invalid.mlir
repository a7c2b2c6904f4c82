// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-form-kernels

// expected-error @below {{unsupported: a function without a body}}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @below {{expected a function that computes something, got one without norm.compute}}
func.func @empty() {
  return
}

// -----

func.func @arith_outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{unsupported: 'arith.addf' outside of norm.compute; supported: norm.compute and what norm-decompose makes one of}}
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  // expected-error @below {{unsupported: control flow between blocks}}
  return %x : tensor<4xf32>
}

// -----

func.func @returns_argument(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  // expected-error @below {{unsupported: result 1 is an argument; supported: results of norm.compute}}
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @returns_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  // expected-error @below {{unsupported: result 1 is result 0 again; supported: distinct results}}
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @intermediate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note @below {{computed here}}
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  // expected-error @below {{unsupported: input 0 is computed in this function and would need a workspace}}
  %z = norm.compute(%a = %y : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @unreturned(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{unsupported: result 1 is not returned and would need a workspace}}
  %y, %s = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>, %t : tensor<f32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %t[] : tensor<f32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{unsupported: f32 as argument 1; supported: ranked tensors without encoding}}
func.func @scalar_argument(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected names that differ, got 'x' for result 0 too}}
func.func @same_name(%x: tensor<4xf32> {norm.name = "x"}) -> (tensor<4xf32> {norm.name = "x"}) {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.name to be an identifier, got "4x" for argument 0}}
func.func @no_identifier(%x: tensor<4xf32> {norm.name = "4x"}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.name, norm.buffer or norm.align, got norm.alignment for argument 0}}
func.func @unknown_attribute(%x: tensor<4xf32> {norm.alignment = 16 : i64}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.buffer to be a memref, got tensor<4xf32> for argument 0}}
func.func @no_buffer(%x: tensor<4xf32> {norm.buffer = tensor<4xf32>}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.buffer to hold tensor<4xf32>, got memref<8xf32> for argument 0}}
func.func @other_shape(%x: tensor<4xf32> {norm.buffer = memref<8xf32>}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.buffer to hold tensor<4xf32>, got memref<4xf16> for result 0}}
func.func @other_element(%x: tensor<4xf32>) -> (tensor<4xf32> {norm.buffer = memref<4xf16>}) {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{unsupported: memref<4xf32, strided<[1], offset: 4>> for argument 0; supported: buffers that begin at their base address}}
func.func @offset(%x: tensor<4xf32> {norm.buffer = memref<4xf32, strided<[1], offset: 4>>}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected strides that are not negative, got memref<4xf32, strided<[-1]>> for argument 0}}
func.func @backwards(%x: tensor<4xf32> {norm.buffer = memref<4xf32, strided<[-1]>>}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{unsupported: memref<4xf32, 3> for argument 0; supported: buffers in the default memory space}}
func.func @memory_space(%x: tensor<4xf32> {norm.buffer = memref<4xf32, 3>}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected a result's strides to differ from 0, got memref<4xf32, strided<[0]>> for result 0}}
func.func @broadcast_result(%x: tensor<4xf32>) -> (tensor<4xf32> {norm.buffer = memref<4xf32, strided<[0]>>}) {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.align to be a power of two, got 12 : i64 for argument 0}}
func.func @uneven(%x: tensor<4xf32> {norm.align = 12 : i64}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.align to be at least the size of f32, got 2 bytes for argument 0}}
func.func @below_element(%x: tensor<4xf32> {norm.align = 2 : i64}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected a result whose elements lie apart, got memref<4x8xf32, strided<[4, 1]>> for result 0}}
func.func @overlapping(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {norm.buffer = memref<4x8xf32, strided<[4, 1]>>}) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected a buffer of less than 2^63 bytes, got memref<4x8xf32, strided<[4611686018427387904, 1]>> for argument 0}}
func.func @endless(%x: tensor<4x8xf32> {norm.buffer = memref<4x8xf32, strided<[4611686018427387904, 1]>>}) -> (tensor<4x8xf32>) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected norm.align to be at most 2^32, got 8589934592 : i64 for argument 0}}
func.func @over_aligned(%x: tensor<4x8xf32> {norm.align = 8589934592 : i64}) -> (tensor<4x8xf32>) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}
