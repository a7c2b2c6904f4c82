// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-shard

// expected-error @below {{expected norm.devices of 'x' to hold a number for each of 2 axes, more than 1 for the one that is sharded and 1 for the others, got array<i64: 2>}}
func.func @rank(%x: tensor<?x64xf32> {norm.name = "x", norm.devices = array<i64: 2>}) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error @below {{expected norm.devices of 'arg0' to hold a number for each of 2 axes, more than 1 for the one that is sharded and 1 for the others, got array<i64: 2, 2>}}
func.func @two_axes(%x: tensor<?x64xf32> {norm.devices = array<i64: 2, 2>}) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error @below {{expected at most 72 devices, got 128 for 'arg0'}}
func.func @too_many(%x: tensor<?x256xf32> {norm.devices = array<i64: 1, 128>}) -> tensor<?x256xf32> {
  %y = norm.softmax %x : tensor<?x256xf32> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}

// -----

// expected-error @below {{expected one number of devices in a function, got 2 and, for 'w', 4}}
func.func @differ(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}, %w: tensor<64xf32> {norm.name = "w", norm.devices = array<i64: 4>})
    -> tensor<?x64xf32> {
  %y = norm.rms_norm %x weight(%w : tensor<64xf32>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error @below {{expected norm.devices on arguments, got it on result 0; the axes of results follow from those of the arguments}}
func.func @result(%x: tensor<?x64xf32>) -> (tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @odd(%x: tensor<?x63xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<?x63xf32> {
  // expected-error @below {{expected an extent that 2 devices share equally, got 63}}
  %y = norm.softmax %x : tensor<?x63xf32> -> tensor<?x63xf32>
  return %y : tensor<?x63xf32>
}

// -----

// Rows are independent: each device has all it needs.
// expected-error @below {{expected a reduction over an axis with norm.devices, got a function in which no device needs what others have}}
func.func @rows(%x: tensor<64x64xf32> {norm.devices = array<i64: 2, 1>}) -> tensor<64x64xf32> {
  %y = norm.softmax %x : tensor<64x64xf32> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @halves(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<?xf32> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 32) {
    // expected-error @below {{unsupported: an access of a sharded axis that is not at one dim alone, but at d1 + 32; supported: each axis that devices share at a dim of its own}}
    %0 = norm.read %a[%m, %n + 32] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// -----

func.func @part(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<?xf32> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 32) {
    // expected-error @below {{unsupported: devices share n, which passes over a part of a sharded axis; supported: the whole axis}}
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// -----

func.func @part_of_a_dynamic_axis(%x: tensor<?x?xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<?xf32> {
  %s = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 32) {
    // expected-error @below {{unsupported: devices share n, which passes over a part of a sharded axis; supported: the whole axis}}
    %0 = norm.read %a[%m, %n] : tensor<?x?xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// -----

func.func @square(%x: tensor<64x64xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<64xf32> {
  %s = norm.compute(%a = %x : tensor<64x64xf32>) -> (%o : tensor<64xf32>) space(%m = 64, %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<64x64xf32>
    // expected-error @below {{unsupported: an access of a sharded axis that is not at one dim alone}}
    %1 = norm.read %a[%n, 0] : tensor<64x64xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = norm.reduce add %2 over(%n) : f32
    norm.write %3, %o[%m] : tensor<64xf32>
  }
  return %s : tensor<64xf32>
}

// -----

func.func @bits(%x: tensor<?x64xi32> {norm.devices = array<i64: 1, 2>}) -> tensor<?xi32> {
  %s = norm.compute(%a = %x : tensor<?x64xi32>) -> (%o : tensor<?xi32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xi32>
    %1 = arith.trunci %0 : i32 to i12
    // expected-error @below {{unsupported: a reduction of i12 over what devices share; supported: floats, indices, truths and integers of whole bytes}}
    %2 = norm.reduce or %1 over(%n) : i12
    %3 = arith.extui %2 : i12 to i32
    norm.write %3, %o[%m] : tensor<?xi32>
  }
  return %s : tensor<?xi32>
}

// -----

// expected-error @below {{expected no 'states0' among the arguments and results of a sharded function}}
func.func @name(%x: tensor<?x64xf32> {norm.name = "states0", norm.devices = array<i64: 1, 2>}) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// expected-error @below {{expected no other 'f_rest', which is the name of a run of this function on one device}}
func.func @f(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// expected-note @below {{it is here}}
func.func @f_rest(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @scanned(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> (tensor<?x64xf32>, tensor<?xf32>) {
  // expected-error @below {{unsupported: a scan in a function whose tensors are sharded; supported: reductions}}
  %y = norm.cumsum %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %s = norm.reduce_axes sum %x : tensor<?x64xf32> -> tensor<?xf32>
  return %y, %s : tensor<?x64xf32>, tensor<?xf32>
}

// -----

func.func @largest(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> (tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xf32>) {
  // expected-error @below {{unsupported: a reduction with several results in a function whose tensors are sharded; supported: reductions without nth}}
  %v, %i = norm.top_k %x {k = 2} : tensor<?x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %s = norm.reduce_axes sum %x : tensor<?x64xf32> -> tensor<?xf32>
  return %v, %i, %s : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xf32>
}

// -----

func.func @number(%x: tensor<8x64xf32> {norm.devices = array<i64: 2, 1>}, %o: index {norm.default = 0 : index}) -> tensor<8x16xf32> {
  %y = norm.compute(%a = %x : tensor<8x64xf32>, %p = %o : index) -> (%r : tensor<8x16xf32>) space(%m = 8, %n = 16) {
    // expected-error @below {{unsupported: an access at a number that a launch passes or the program computes, in a function that devices share; supported: accesses at dims}}
    %0 = norm.read %a[%m, %n + %p] : tensor<8x64xf32>
    norm.write %0, %r[%m, %n] : tensor<8x16xf32>
  }
  return %y : tensor<8x16xf32>
}

// -----

func.func @guards(%x: tensor<?x576xf32> {norm.name = "x", norm.devices = array<i64: 2, 1>}) -> (tensor<?x576xi8>, tensor<?x5xf32>) {
  // expected-error @below {{unsupported: a program with guards in a function that devices share; supported: programs over all points of their dims}}
  %q, %s = norm.quantize %x {block = array<i64: 1, 128>} : tensor<?x576xf32> -> tensor<?x576xi8> scale(tensor<?x5xf32>)
  return %q, %s : tensor<?x576xi8>, tensor<?x5xf32>
}
