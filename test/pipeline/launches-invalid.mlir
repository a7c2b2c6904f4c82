// Functions that launch kernels are checked at whatever level they enter.
// RUN: rm -rf %t && split-file %s %t
// RUN: bash -c 'normac %t/alias.mlir -o %t/out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=ALIAS --implicit-check-not=internal
// RUN: bash -c 'normac %t/alias.mlir --from=kernel -o %t/out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=ALIAS --implicit-check-not=internal
// RUN: bash -c 'normac %t/alias.mlir --from=scheduled --emit=tiled; test $? = 1' 2>&1 | FileCheck %s --check-prefix=ALIAS --implicit-check-not=internal
// ALIAS: alias.mlir:1:1: error: argument 1 cannot be the same memory as 'h': kernel 'reversed' gets both, and its aliases do not say so
// ALIAS: alias.mlir:5:1: note: the kernel is here
// RUN: bash -c 'normac %t/size.mlir -o %t/out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SIZE --implicit-check-not=internal
// RUN: bash -c 'normac %t/size.mlir --from=gl -o %t/out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SIZE --implicit-check-not=internal
// SIZE: size.mlir:1:1: error: norm.sizes: expected a size's name other than the reserved {{.*}}, got 'num_sms' for argument 0
// RUN: bash -c 'normac %t/crossing.mlir --from=kernel -o %t/out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=CROSSING --implicit-check-not=internal
// CROSSING: crossing.mlir:5:1: error: buffer 1 cannot be the same memory as buffer 0: what is read is written at points of dims that it is not indexed by

// What the compiler makes of a function whose result may be an argument is accepted at each level.
// RUN: normac %t/in-place.mlir --emit=kernel -o %t/k.mlir && normac %t/k.mlir --from=kernel --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: normac %t/in-place.mlir --emit=scheduled --schedule '#norm.schedule<spread = [[grid], [loop, split(4), lane(32)]], keep = [l2]>' -o %t/s.mlir
// RUN: FileCheck %s --check-prefix=SPLIT < %t/s.mlir && normac %t/s.mlir --from=scheduled --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: normac %t/in-place.mlir --emit=tiled -o %t/t.mlir && normac %t/t.mlir --from=tiled --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: normac %t/in-place.mlir --emit=nvvm -o %t/n.mlir && normac %t/n.mlir --from=nvvm --emit=ptx | FileCheck %s --check-prefix=PTX
// SPLIT-COUNT-3: norm.launch
// PTX: .entry

//--- alias.mlir
func.func @f(%h: memref<?x64xf32> {norm.name = "h"}, %y: memref<?x64xf32> {norm.name = "y", norm.output, norm.may_alias = "h"}) {
  norm.launch @reversed(%h, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}
norm.kernel @reversed(%h: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%h, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %h[%m, 63 - %n]
  norm.write %0, %y[%m, %n]
}
//--- size.mlir
func.func @f(%x: memref<?x64xf32> {norm.sizes = ["num_sms", ""]}, %y: memref<?x64xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x64xf32>, memref<?x64xf32>
  return
}
//--- crossing.mlir
func.func @f(%x: memref<64xf32> {norm.name = "x"}, %y: memref<64xf32> {norm.output, norm.may_alias = "x"}, %z: memref<128x64xf32> {norm.output}) {
  norm.launch @crossing(%x, %y, %z) : memref<64xf32>, memref<64xf32>, memref<128x64xf32>
  return
}
norm.kernel @crossing(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<128x64xf32>) space(%m = 128, %n = 64) aliases(%y = %x) {
  %0 = norm.read %x[%n]
  %1 = arith.negf %0 : f32
  norm.write %1, %y[%n]
  norm.write %0, %z[%m, %n]
}
//--- in-place.mlir
func.func @f(%x: tensor<?x4096xf32> {norm.name = "x"}) -> (tensor<?x4096xf32> {norm.name = "y", norm.may_alias = "x"}) {
  %y = norm.rms_norm %x : tensor<?x4096xf32> -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
