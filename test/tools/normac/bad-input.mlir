// Bad input is an error with a place in the source, exit status 1, and nothing written.
// RUN: rm -rf %t && split-file %s %t && cd %t

// RUN: bash -c 'normac unknown-op.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=UNKNOWN-OP
// UNKNOWN-OP:      unknown-op.mlir:2:8: error: custom op 'norm.rms_nrom' is unknown; there is an op 'norm.rms_norm'
// UNKNOWN-OP-NEXT:   %y = norm.rms_nrom %x
// UNKNOWN-OP-NEXT:        ^

// RUN: bash -c 'normac wrong-rank.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=WRONG-RANK
// WRONG-RANK: wrong-rank.mlir:2:8: error: 'norm.rms_norm' op expected weight to have the shape of the normalized axes

// RUN: bash -c 'normac integers.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=INTEGERS
// INTEGERS: integers.mlir:2:8: error: 'norm.rms_norm' op operand #0 must be ranked tensor of bf16, f16, f32 or f64, but got 'tensor<4x64xi32>'

// A number of MLIR's without a type is an f64.
// RUN: bash -c 'normac untyped.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=UNTYPED
// UNTYPED: untyped.mlir:2:25: error: {{.*}} attribute 'eps' failed to satisfy constraint: a number of type f32, such as 1.0e-5 : f32

// RUN: bash -c 'normac wrong-axis.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=WRONG-AXIS
// WRONG-AXIS: wrong-axis.mlir:2:8: error: 'norm.rms_norm' op expected axes between -2 and 1, got 2

// RUN: bash -c 'normac truncated.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// TRUNCATED: truncated.mlir:2:{{[0-9]+}}: error: expected

// RUN: bash -c 'normac no-kernel.mlir --from=nvvm -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-KERNEL
// NO-KERNEL: error: 'no-kernel.mlir' has no kernel: expected a function on tensors

// RUN: bash -c 'normac feature.mlir --from=nvvm --target=sm_80 --emit=ptx; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FEATURE
// FEATURE:      feature.mlir:3:5: error: 'nvvm.griddepcontrol' needs programmatic dependent launch, which sm_80 lacks
// FEATURE-SAME: supported on sm_90a, sm_100a, sm_103a, sm_120a
// RUN: normac feature.mlir --from=nvvm --target=sm_90a --emit=ptx | FileCheck %s --check-prefix=HAS-FEATURE
// HAS-FEATURE: griddepcontrol.wait

// RUN: bash -c 'normac library.mlir --from=nvvm --emit=ptx; test $? = 1' 2>&1 | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: library.mlir:3:10: error: 'llvm.intr.exp' cannot be generated: there is no device library

// RUN: bash -c 'normac feature.mlir --emit=kernel; test $? = 1' 2>&1 | FileCheck %s --check-prefix=WRONG-LEVEL
// WRONG-LEVEL: feature.mlir:1:1: error: 'gpu.module' op is not of level 'tensor', which has {{.*}}; 'gpu' is of gl, gl-lowered, nvvm
// RUN: bash -c 'normac named.mlir --from=gl --emit=nvvm; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NAMED
// NAMED: named.mlir:2:8: error: 'norm.rms_norm' op is not of level 'gl', but of level 'tensor'
// RUN: normac named.mlir --emit=scheduled > scheduled.mlir
// RUN: bash -c 'normac scheduled.mlir --from=tiled --emit=gl; test $? = 1' 2>&1 | FileCheck %s --check-prefix=UNTILED
// UNTILED: scheduled.mlir:{{.*}}: error: 'norm.kernel' op is not of level 'tiled', but of level 'scheduled'
// RUN: normac named.mlir --emit=tiled > tiled.mlir
// RUN: normac tiled.mlir --from=kernel --explain 2>&1 | FileCheck %s --check-prefix=TILED
// TILED: kernel      f_0 of f
// RUN: bash -c 'normac feature.mlir --from=nvvm --emit=gl; test $? = 1' 2>&1 | FileCheck %s --check-prefix=BELOW
// BELOW: error: the input is of level 'nvvm', which is below 'gl'

// RUN: bash -c 'normac nonsense.ptx --from=ptx --emit=cubin; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NONSENSE
// NONSENSE: error: the PTX of 'nonsense.ptx' does not assemble for sm_90a
// NONSENSE: note: {{.*}}Missing .version directive

// RUN: bash -c 'normac no-such-file.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: error: cannot read 'no-such-file.mlir': No such file or directory

// RUN: bash -c 'normac nested.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: nested.mlir:2:3: error: unsupported: a module in a module; supported: functions of one module

// RUN: bash -c 'normac deep.mlir -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: deep.mlir:2:{{[0-9]+}}: error: expected brackets and operators nested at most 256 deep, got more

// RUN: bash -c 'normac name.mlir --from=nvvm -o out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: name.mlir:1:1: error: expected a name of letters, digits, '_' and '$' for PTX, got '../m'

// RUN: not ls out

//--- unknown-op.mlir
func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = norm.rms_nrom %x : tensor<4x64xf32> -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
//--- wrong-rank.mlir
func.func @f(%x: tensor<4x64xf32>, %w: tensor<2x64xf32>) -> tensor<4x64xf32> {
  %y = norm.rms_norm %x weight(%w : tensor<2x64xf32>) : tensor<4x64xf32> -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
//--- named.mlir
func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = norm.rms_norm %x : tensor<4x64xf32> -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
//--- integers.mlir
func.func @f(%x: tensor<4x64xi32>) -> tensor<4x64xi32> {
  %y = norm.rms_norm %x : tensor<4x64xi32> -> tensor<4x64xi32>
  return %y : tensor<4x64xi32>
}
//--- untyped.mlir
func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = norm.rms_norm %x {eps = 1.0e-5} : tensor<4x64xf32> -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
//--- wrong-axis.mlir
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = norm.rms_norm %x {axes = array<i64: 2>} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- truncated.mlir
func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = norm.rms_norm %x : tensor<4x64xf32> ->
//--- no-kernel.mlir
module {}
//--- nested.mlir
module {
  module {}
}
//--- name.mlir
gpu.module @"../m" {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
//--- deep.mlir
module attributes {test.deep =
  [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[} {}
//--- feature.mlir
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.griddepcontrol wait
    llvm.return
  }
}
//--- library.mlir
gpu.module @m {
  llvm.func @k(%x: !llvm.ptr<1>, %f: f32) attributes {gpu.kernel, nvvm.kernel} {
    %r = llvm.intr.exp(%f) : (f32) -> f32
    llvm.store %r, %x : f32, !llvm.ptr<1>
    llvm.return
  }
}
//--- nonsense.ptx
This is no PTX.
