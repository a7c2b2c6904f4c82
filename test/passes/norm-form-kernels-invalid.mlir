// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-form-kernels

// expected-error @below {{unsupported: a function without a body}}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @below {{expected a function that computes something, got one without an op that becomes a kernel}}
func.func @empty() {
  return
}

// -----

// Sizes and numbers are left only because something else takes them.
func.func @padded(%x: tensor<4xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{unsupported: 'tensor.pad' outside of a kernel}}
  %y = tensor.pad %x low[0] high[4] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @arith_outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{unsupported: 'arith.addf' outside of a kernel; supported: norm.compute, and what becomes one: named ops}}
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

// expected-error @below {{unsupported: f16 as argument 1; supported: ranked tensors without encoding, and f32, f64, i32, i64, index}}
func.func @half_scalar(%x: tensor<4xf32>, %s: f16) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.default, what f32 is where a launch sets none, for argument 1}}
func.func @scalar_without_default(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.default to be a number of type f32, got 1 : i32 for argument 1}}
func.func @default_of_another_type(%x: tensor<4xf32>, %s: f32 {norm.default = 1 : i32}) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected norm.name or norm.default, got norm.align for argument 1}}
func.func @aligned_scalar(%x: tensor<4xf32>, %s: f32 {norm.align = 16 : i64}) -> tensor<4xf32> {
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

// expected-error @below {{expected norm.name, norm.buffer, norm.align, norm.multiples, norm.min, norm.max, norm.sizes or norm.dims, got norm.output for argument 0}}
func.func @attribute_of_a_kernel_s_buffer(%x: tensor<4xf32> {norm.output}) -> tensor<4xf32> {
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

// expected-error @below {{expected norm.align to be at most 2^31, got 4294967296 : i64 for argument 0}}
func.func @over_aligned(%x: tensor<4x8xf32> {norm.align = 4294967296 : i64}) -> (tensor<4x8xf32>) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected a function that returns what it computes, got one without results}}
func.func @returns_nothing(%x: tensor<4xf32>) {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
  }
  return
}

// -----

func.func @uneven_scratch(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @below {{unsupported: result 0 is not returned, and its writes differ in what they reach along axis 0}}
  %t = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    norm.write %0, %o[%n * 2] : tensor<?xf32>
    norm.write %0, %o[%n * 2 + 1] : tensor<?xf32>
  }
  %y = norm.compute(%a = %t : tensor<?xf32>) -> (%o : tensor<f32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[] : tensor<f32>
  }
  return %y : tensor<f32>
}

// -----

// expected-error @below {{expected 1 numbers in norm.multiples, got 2 for argument 0}}
func.func @multiples_of_another_rank(%x: tensor<12xf32> {norm.multiples = array<i64: 1, 8>}) -> tensor<12xf32> {
  %y = norm.compute(%a = %x : tensor<12xf32>) -> (%o : tensor<12xf32>) space(%n = 12) {
    %0 = norm.read %a[%n] : tensor<12xf32>
    norm.write %0, %o[%n] : tensor<12xf32>
  }
  return %y : tensor<12xf32>
}

// -----

// expected-error @below {{expected norm.sizes to hold a string for each axis of tensor<?x12xf32>, names of sizes for those that are dynamic, and empty for others, got ["m", "n"] for argument 0}}
func.func @name_of_a_static_size(%x: tensor<?x12xf32> {norm.sizes = ["m", "n"]}) -> tensor<?x12xf32> {
  %y = norm.compute(%a = %x : tensor<?x12xf32>) -> (%o : tensor<?x12xf32>) space(%m = dim(%a, 0), %n = 12) {
    %0 = norm.read %a[%m, %n] : tensor<?x12xf32>
    norm.write %0, %o[%m, %n] : tensor<?x12xf32>
  }
  return %y : tensor<?x12xf32>
}

// -----

// expected-error @below {{norm.sizes: expected a size's name other than the reserved num_sms, ctas_per_sm, d0, d1, ..., *_stride* and intermediate*, got 'num_sms' for argument 0}}
func.func @size_of_a_device_s_name(%x: tensor<?xf32> {norm.sizes = ["num_sms"]}) -> tensor<?xf32> {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    norm.write %0, %o[%n] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{expected positive norm.multiples that divide tensor<12xf32>, got array<i64: 8> for argument 0}}
func.func @multiple_of_a_static_axis(%x: tensor<12xf32> {norm.multiples = array<i64: 8>}) -> tensor<12xf32> {
  %y = norm.compute(%a = %x : tensor<12xf32>) -> (%o : tensor<12xf32>) space(%n = 12) {
    %0 = norm.read %a[%n] : tensor<12xf32>
    norm.write %0, %o[%n] : tensor<12xf32>
  }
  return %y : tensor<12xf32>
}

// -----

// expected-error @below {{result 0 cannot be the same memory as 'z': no argument is a tensor of that name}}
func.func @alias_of_nothing(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.may_alias = "z"}) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%y_ : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %y_[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{result 0 cannot be the same memory as 'x': it is memref<4x8xf32, strided<[16, 1]>>, the other memref<4x8xf32>}}
func.func @alias_of_another_type(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.may_alias = "x", norm.buffer = memref<4x8xf32, strided<[16, 1]>>}) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%y_ : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %y_[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{result 0 cannot be the same memory as 'x': it is not read at the coordinates at which it is written}}
func.func @alias_elsewhere(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.may_alias = "x"}) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%y_ : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, 0] : tensor<4x8xf32>
    norm.write %0, %y_[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// Another CTA may have another point of %k, and read what the first CTA has written.
// expected-error @below {{result 0 cannot be the same memory as 'x': what is read is needed at points of dims that it is not indexed by}}
func.func @alias_for_other_points(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.may_alias = "x"}, tensor<4x8x2xf32>) {
  %y, %z = norm.compute(%a = %x : tensor<4x8xf32>) -> (%y_ : tensor<4x8xf32>, %z_ : tensor<4x8x2xf32>) space(%m = 4, %n = 8, %k = 2) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    %1 = arith.negf %0 : f32
    norm.write %1, %y_[%m, %n] : tensor<4x8xf32>
    %2 = arith.index_cast %k : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.addf %0, %3 : f32
    norm.write %4, %z_[%m, %n, %k] : tensor<4x8x2xf32>
  }
  return %y, %z : tensor<4x8xf32>, tensor<4x8x2xf32>
}

// -----

// expected-error @below {{result 0 cannot be the same memory as 'x': a later norm.compute reads the argument}}
func.func @alias_of_what_is_read_later(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.may_alias = "x"}, tensor<4x8xf32>) {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%y_ : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %y_[%m, %n] : tensor<4x8xf32>
  }
  %z = norm.compute(%a = %x : tensor<4x8xf32>) -> (%z_ : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %z_[%m, %n] : tensor<4x8xf32>
  }
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Another CTA may have another point of %m, and read what the first CTA has written.
// expected-error @below {{buffer 1 cannot be the same memory as buffer 0: what is read is written at points of dims that it is not indexed by}}
norm.kernel @alias_of_what_other_rows_read(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<128x64xf32>)
    space(%m = 128, %n = 64) aliases(%y = %x) {
  %0 = norm.read %x[%n] : memref<64xf32>
  %1 = arith.negf %0 : f32
  norm.write %1, %y[%n] : memref<64xf32>
  norm.write %0, %z[%m, %n] : memref<128x64xf32>
}

// -----

// expected-error @below {{result 1 cannot be the same memory as 'x': another result may be that already}}
func.func @alias_twice(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.may_alias = "x"}, tensor<4x8xf32> {norm.may_alias = "x"}) {
  %y, %z = norm.compute(%a = %x : tensor<4x8xf32>) -> (%y_ : tensor<4x8xf32>, %z_ : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    norm.write %0, %y_[%m, %n] : tensor<4x8xf32>
    norm.write %0, %z_[%m, %n] : tensor<4x8xf32>
  }
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

func.func @unknown_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    // expected-error-re @below {{unsupported: 'math.cbrt' in a kernel; supported: arith.constant, arith.addf, {{.*}}math.erf{{.*}}math.powf}}
    %1 = math.cbrt %0 : f32
    norm.write %1, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @other_type(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = norm.compute(%a = %x : tensor<4xf64>) -> (%o : tensor<4xf64>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf64>
    // expected-error @below {{unsupported: 'math.erf' from f64 to f64 in a kernel; supported: operands of f16, bf16, f32}}
    %1 = math.erf %0 : f64
    norm.write %1, %o[%n] : tensor<4xf64>
  }
  return %y : tensor<4xf64>
}

// -----

norm.kernel @in_a_combiner(%x: memref<4xf32>, %y: memref<f32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  %1 = norm.reduce %0 over(%n) identity [0.0 : f32] : f32 combine {
  ^bb0(%a: f32, %b: f32):
    // expected-error @below {{unsupported: 'arith.remf' in a kernel}}
    %2 = arith.remf %a, %b : f32
    norm.yield %2 : f32
  }
  norm.write %1, %y[] : memref<f32>
}

// -----

// expected-error @below {{expected norm.min of at least 0, norm.max of at least that, or -1 for none, that hold for tensor<12xf32>, got 13 and 9223372036854775807 for axis 0 for argument 0}}
func.func @minimum_of_a_static_axis(%x: tensor<12xf32> {norm.min = array<i64: 13>}) -> tensor<12xf32> {
  %y = norm.compute(%a = %x : tensor<12xf32>) -> (%o : tensor<12xf32>) space(%n = 12) {
    %0 = norm.read %a[%n] : tensor<12xf32>
    norm.write %0, %o[%n] : tensor<12xf32>
  }
  return %y : tensor<12xf32>
}

// -----

// expected-error @below {{expected norm.min of at least 0, norm.max of at least that, or -1 for none, that hold for tensor<?xf32>, got 8 and 4 for axis 0 for argument 0}}
func.func @minimum_beyond_the_maximum(%x: tensor<?xf32> {norm.min = array<i64: 8>, norm.max = array<i64: 4>}) -> tensor<?xf32> {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    norm.write %0, %o[%n] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @rounds_down(%x: tensor<4xf32> {norm.name = "x"}) -> (tensor<4xf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<4xf32>) -> (%out : tensor<4xf16>) space(%n = 4) {
    %0 = norm.read %in[%n] : tensor<4xf32>
    // expected-error @below {{unsupported: 'arith.truncf' with a rounding mode; supported: to_nearest_even}}
    %1 = arith.truncf %0 downward : f32 to f16
    norm.write %1, %out[%n] : tensor<4xf16>
  }
  return %y : tensor<4xf16>
}

// -----

func.func @constant_power_of_two(%x: tensor<4xf8E8M0FNU>) -> tensor<4xf8E8M0FNU> {
  %y = norm.compute(%a = %x : tensor<4xf8E8M0FNU>) -> (%o : tensor<4xf8E8M0FNU>) space(%i = 4) {
    // expected-error @below {{unsupported: a constant of f8E8M0FNU in a kernel; supported: its bits, an i8, by arith.bitcast}}
    %0 = arith.constant 1.0 : f8E8M0FNU
    norm.write %0, %o[%i] : tensor<4xf8E8M0FNU>
  }
  return %y : tensor<4xf8E8M0FNU>
}

// -----

// expected-error @below {{result 0 cannot be the same memory as 'x': what is read is written at points of dims that it is not indexed by}}
func.func @alias_of_what_is_written_elsewhere(%x: tensor<64xf32> {norm.name = "x"}) -> (tensor<64xf32> {norm.may_alias = "x"}, tensor<128x64xf32>) {
  %y, %z = norm.compute(%a = %x : tensor<64xf32>) -> (%y_ : tensor<64xf32>, %z_ : tensor<128x64xf32>) space(%m = 128, %n = 64) {
    %0 = norm.read %a[%n] : tensor<64xf32>
    %1 = arith.negf %0 : f32
    norm.write %1, %y_[%n] : tensor<64xf32>
    norm.write %1, %z_[%m, %n] : tensor<128x64xf32>
  }
  return %y, %z : tensor<64xf32>, tensor<128x64xf32>
}

// -----

func.func @narrow_result(%x: tensor<4xi32>) -> tensor<4xi16> {
  %y = norm.compute(%a = %x : tensor<4xi32>) -> (%o : tensor<4xi16>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xi32>
    // expected-error @below {{unsupported: 'arith.trunci' from i32 to i16 in a kernel; supported: results of i1, i8}}
    %1 = arith.trunci %0 : i32 to i16
    norm.write %1, %o[%n] : tensor<4xi16>
  }
  return %y : tensor<4xi16>
}
