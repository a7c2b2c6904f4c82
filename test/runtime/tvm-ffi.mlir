// An object also exports a function by TVM-FFI's convention. A stand-in takes TVM-FFI's place.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t && cp %driver %t/libcuda.so.1
// RUN: normac %s --emit=object -o %t/scale.o
// RUN: cc -Wall -Wextra -Werror -Wno-int-to-pointer-cast -I%S/../../runtime/include %S/Inputs/tvm_ffi.c %t/scale.o %tools/libnorma_runtime.so -o %t/scale
// RUN: env LD_LIBRARY_PATH=%t:%tools NORMA_STUB_LOG=%t/launches %t/scale | FileCheck %s
// RUN: FileCheck %s --check-prefix=LAUNCH --input-file=%t/launches
//
// A program without TVM-FFI links, and its calls by that convention fail.
// RUN: cc -Wall -Wextra -Werror -Wno-int-to-pointer-cast -DWITHOUT_TVM_FFI -I%S/../../runtime/include %S/Inputs/tvm_ffi.c %t/scale.o %tools/libnorma_runtime.so -o %t/without
// RUN: env LD_LIBRARY_PATH=%t:%tools %t/without 2>&1 | FileCheck %s --check-prefix=WITHOUT

// CHECK: stream of device 0 of kind 2
// CHECK-NEXT: returned 0
// CHECK-NEXT: TypeError: expected scale(x, y)
// CHECK-NEXT: returned -1
// CHECK-NEXT: stream of device 0 of kind 2
// CHECK-NEXT: ValueError: cannot launch 'scale': expected output 'y' not to overlap 'x', got 0x10000 and 0x10000
// CHECK-NEXT: returned -1
// CHECK-NEXT: TypeError: expected scale(x, y)
// LAUNCH: scale_0 on device 0 stream 0: {{.*}}, parameters 0000000000010000 0000000000020000
// LAUNCH-NOT: scale_0
// WITHOUT-COUNT-4: error: cannot call 'scale' by the convention of TVM-FFI, which is not in this process
// WITHOUT-COUNT-4: returned -1

func.func @scale(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.l2_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
