// Functions on buffers, which launch kernels that were written by hand.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-form-kernels

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  // expected-note @below {{it is written here}}
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.output for argument 1, which kernel 'copy' writes}}
func.func @written_input(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.name = "y"}) {
  // expected-note @below {{the kernel is launched here}}
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected a launch of a kernel that writes argument 2, which has norm.output, got none}}
func.func @unwritten_output(%x: memref<?x64xf32>, %y: memref<?x64xf32> {norm.output}, %z: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{argument 1 cannot be the same memory as 'nothing': no argument is a tensor of that name}}
func.func @alias_of_nothing(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.output, norm.may_alias = "nothing"}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{argument 1 cannot be the same memory as 'e': no argument is a tensor of that name}}
func.func @alias_of_a_number(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.output, norm.may_alias = "e"},
                             %e: f32 {norm.name = "e", norm.default = 1.0 : f32}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{argument 2 cannot be the same memory as 'y': it is an output too}}
func.func @alias_of_an_output(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.name = "y", norm.output},
                              %z: memref<?x64xf32> {norm.output, norm.may_alias = "y"}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  norm.launch @copy(%x, %z) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m]
}
// expected-error @below {{argument 1 cannot be the same memory as 'x': it is memref<?xf32>, the other memref<?x64xf32>}}
func.func @alias_of_another_type(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.output, norm.may_alias = "x"}) {
  norm.launch @sum(%x, %y) : memref<?x64xf32>, memref<?xf32>
  return
}

// -----

norm.kernel @two(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    aliases(%y = %x, %z = %x) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
  norm.write %0, %z[%m, %n]
}
// expected-error @below {{argument 2 cannot be the same memory as 'x': another output may be that already}}
func.func @alias_twice(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.output, norm.may_alias = "x"},
                       %z: memref<?x64xf32> {norm.output, norm.may_alias = "x"}) {
  norm.launch @two(%x, %y, %z) : memref<?x64xf32>, memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

// expected-note @below {{the kernel is here}}
norm.kernel @reversed(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, 63 - %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{argument 1 cannot be the same memory as 'x': kernel 'reversed' gets both, and its aliases do not say so}}
func.func @alias_that_the_kernel_does_not_allow(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.output, norm.may_alias = "x"}) {
  // expected-note @below {{the kernel is launched here}}
  norm.launch @reversed(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

// One of the two inputs that are the same memory is not among the aliases.
// expected-note @below {{the kernel is here}}
norm.kernel @add(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%a, 0), %n = 64) aliases(%y = %a) {
  %0 = norm.read %a[%m, %n]
  %1 = norm.read %b[%m, 63 - %n]
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%m, %n]
}
// expected-error @below {{argument 1 cannot be the same memory as 'x': kernel 'add' gets both, and its aliases do not say so}}
func.func @alias_of_one_of_two(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.output, norm.may_alias = "x"}) {
  // expected-note @below {{the kernel is launched here}}
  norm.launch @add(%x, %x, %y) : memref<?x64xf32>, memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @double(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) aliases(%y = %x) {
  %0 = norm.read %x[%m, %n]
  %1 = arith.addf %0, %0 : f32
  norm.write %1, %y[%m, %n]
}
norm.kernel @sum(%x: memref<?xf32>, %y: memref<f32>) space(%m = dim(%x, 0)) {
  %0 = norm.read %x[%m]
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[]
}
// expected-error @below {{argument 1 cannot be the same memory as 'x': a later launch reads the argument}}
func.func @alias_of_what_is_read_later(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.output, norm.may_alias = "x"},
                                       %z: memref<f32> {norm.output}) {
  // expected-note @below {{it is overwritten here}}
  norm.launch @double(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  %view = memref.collapse_shape %x [[0, 1]] : memref<?x64xf32> into memref<?xf32>
  // expected-note @below {{it is read here}}
  norm.launch @sum(%view, %z) : memref<?xf32>, memref<f32>
  return
}

// -----

// The kernel that writes the output does not get the input.
norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{argument 2 cannot be the same memory as 'w': a later launch reads the argument}}
func.func @alias_of_an_argument_of_another_launch(%x: memref<?x64xf32> {norm.name = "x"}, %w: memref<?x64xf32> {norm.name = "w"},
                                                  %y: memref<?x64xf32> {norm.output, norm.may_alias = "w"}, %z: memref<?x64xf32> {norm.output}) {
  // expected-note @below {{it is overwritten here}}
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  // expected-note @below {{it is read here}}
  norm.launch @copy(%w, %z) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

// Each view has one row for each of other parts of the memory.
// expected-note @below {{the kernel is here}}
norm.kernel @double(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1)) aliases(%y = %x) {
  %0 = norm.read %x[%m, %n]
  %1 = arith.addf %0, %0 : f32
  norm.write %1, %y[%m, %n]
}
// expected-error @below {{argument 1 cannot be the same memory as 'x': kernel 'double' gets both with different axes joined}}
func.func @alias_in_other_views(%x: memref<?x?x?xf32> {norm.name = "x"}, %y: memref<?x?x?xf32> {norm.output, norm.may_alias = "x"}) {
  %0 = memref.collapse_shape %x [[0, 1], [2]] : memref<?x?x?xf32> into memref<?x?xf32>
  %1 = memref.collapse_shape %y [[0], [1, 2]] : memref<?x?x?xf32> into memref<?x?xf32>
  // expected-note @below {{the kernel is launched here}}
  norm.launch @double(%0, %1) : memref<?x?xf32>, memref<?x?xf32>
  return
}

// -----

// expected-note @below {{the kernel is here}}
norm.kernel @reversed(%x: memref<64xf32>, %y: memref<64xf32>) space(%n = 64) {
  %0 = norm.read %x[63 - %n]
  norm.write %0, %y[%n]
}
func.func @same_buffer(%y: memref<64xf32> {norm.output}) {
  // expected-error @below {{buffer 1 cannot be the same memory as buffer 0: kernel 'reversed' gets both, and its aliases do not say so}}
  norm.launch @reversed(%y, %y) : memref<64xf32>, memref<64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.may_alias on an argument with norm.output alone, got it without for argument 0}}
func.func @alias_of_an_input(%x: memref<?x64xf32> {norm.name = "x", norm.may_alias = "y"}, %y: memref<?x64xf32> {norm.name = "y", norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.name, norm.align, norm.multiples, norm.min, norm.max, norm.sizes, norm.dims, norm.output or norm.may_alias, got norm.buffer for argument 0}}
func.func @attribute_of_a_tensor(%x: memref<?x64xf32> {norm.buffer = memref<?x64xf32>}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.output to be a unit, got "yes" for argument 1}}
func.func @output_with_a_value(%x: memref<?x64xf32>, %y: memref<?x64xf32> {norm.output = "yes"}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.name to be an identifier, got "x-y" for argument 0}}
func.func @no_identifier(%x: memref<?x64xf32> {norm.name = "x-y"}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.name to be an identifier, got 3 : i64 for argument 0}}
func.func @no_string(%x: memref<?x64xf32> {norm.name = 3}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected names that differ, got 'x' for argument 1 too}}
func.func @same_name(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?x64xf32> {norm.name = "x", norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.sizes to hold a string for each axis of memref<?x64xf32>, names of sizes for those that are dynamic, and empty for others, got ["rows"] for argument 0}}
func.func @sizes_of_another_rank(%x: memref<?x64xf32> {norm.sizes = ["rows"]}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.sizes to hold a string for each axis of memref<?x64xf32>, names of sizes for those that are dynamic, and empty for others, got ["a b", ""] for argument 0}}
func.func @size_without_a_name(%x: memref<?x64xf32> {norm.sizes = ["a b", ""]}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected a size's name other than the reserved num_sms, ctas_per_sm, d0, d1, ..., *_stride* and intermediate*, got 'd0' for argument 0}}
func.func @reserved_size(%x: memref<?x64xf32> {norm.sizes = ["d0", ""]}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.align to be a power of two, got 3 : i64 for argument 0}}
func.func @uneven(%x: memref<?x64xf32> {norm.align = 3}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected positive norm.multiples that divide memref<?x64xf32>, got array<i64: 0, 0> for argument 0}}
func.func @multiples_of_zero(%x: memref<?x64xf32> {norm.multiples = array<i64: 0, 0>}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected 2 numbers in norm.min, got 1 for argument 0}}
func.func @minimum_of_another_rank(%x: memref<?x64xf32> {norm.min = array<i64: 5>}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  norm.write %0, %y[%m, %n]
}
// expected-error @below {{expected norm.min of at least 0, norm.max of at least that, or -1 for none, that hold for memref<?x64xf32>, got 0 and 3 for axis 1 for argument 0}}
func.func @maximum_of_a_static_axis(%x: memref<?x64xf32> {norm.max = array<i64: 2, 3>}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<4xf32>, %y: memref<4xf32, strided<[0]>>) space(%n = 4) {
  %0 = norm.read %x[%n]
  norm.write %0, %y[%n]
}
// expected-error @below {{expected an output's strides to differ from 0, got memref<4xf32, strided<[0]>> for argument 1}}
func.func @broadcast_output(%x: memref<4xf32>, %y: memref<4xf32, strided<[0]>> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<4xf32>, memref<4xf32, strided<[0]>>
  return
}

// -----

norm.kernel @copy(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n]
  norm.write %0, %y[%n]
}
// expected-error @below {{unsupported: tensor<4xf32> as argument 2; supported: memrefs, and f32, f64, i32, i64, index}}
func.func @tensor(%x: memref<4xf32>, %y: memref<4xf32> {norm.output}, %z: tensor<4xf32>) {
  norm.launch @copy(%x, %y) : memref<4xf32>, memref<4xf32>
  return
}

// -----

norm.kernel @copy(%x: memref<4xf32>, %y: memref<4xf32>, %e: f32) space(%n = 4) {
  %0 = norm.read %x[%n]
  %1 = arith.addf %0, %e : f32
  norm.write %1, %y[%n]
}
// expected-error @below {{expected norm.default, what f32 is where a launch sets none, for argument 2}}
func.func @number_without_default(%x: memref<4xf32>, %y: memref<4xf32> {norm.output}, %e: f32) {
  norm.launch @copy(%x, %y, %e) : memref<4xf32>, memref<4xf32>, f32
  return
}

// -----

// Launches in branches count as others do.
norm.kernel @copy_one(%x: memref<?xf32>, %y: memref<?xf32>) space(%n = dim(%x, 0)) {
  %0 = norm.read %x[%n]
  // expected-note @below {{it is written here}}
  norm.write %0, %y[%n]
}
#is_long = affine_set<()[s0] : (s0 - 1000 >= 0)>
// expected-error @below {{expected norm.output for argument 0, which kernel 'copy_one' writes}}
func.func @written_in_a_branch(%x: memref<?xf32>, %y: memref<?xf32> {norm.output}) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  affine.if #is_long()[%n] {
    norm.launch @copy_one(%x, %y) : memref<?xf32>, memref<?xf32>
  } else {
    // expected-note @below {{the kernel is launched here}}
    norm.launch @copy_one(%y, %x) : memref<?xf32>, memref<?xf32>
  }
  return
}
