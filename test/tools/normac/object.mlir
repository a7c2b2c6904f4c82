// An object holds a function for each of the input's, with its cubins for all targets, and headers for C and C++ beside it.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t/again
// RUN: normac %s --target sm_80,sm_90a --emit=object -o %t/kernels.o
// RUN: llvm-nm --defined-only %t/kernels.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: llvm-nm --undefined-only %t/kernels.o | FileCheck %s --check-prefix=NEEDS
// RUN: FileCheck %s --check-prefix=HEADER --input-file=%t/kernels.h
// RUN: FileCheck %s --check-prefix=CPP --input-file=%t/kernels.hpp
// RUN: cc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c -I%S/../../../runtime/include %t/kernels.h
// RUN: c++ -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ -I%S/../../../runtime/include %t/kernels.hpp
//
// The same input gives the same bytes.
// RUN: normac %s --target sm_80,sm_90a --emit=object -o %t/again/kernels.o && cmp %t/kernels.o %t/again/kernels.o
//
// With PTX there are functions that allow its use.
// RUN: normac %s --target sm_80,sm_90a --ptx-fallback --emit=object -o %t/again/kernels.o
// RUN: llvm-nm %t/again/kernels.o | FileCheck %s --check-prefix=PTX
// RUN: not normac %s --target sm_80 --ptx-fallback --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX-OF-LEVEL
//
// RUN: not normac %s --emit=object 2>&1 | FileCheck %s --check-prefix=NO-OUTPUT
// RUN: not normac %s %s --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=TWO-INPUTS
// RUN: not normac %s --emit=object -o %t/kernels.h 2>&1 | FileCheck %s --check-prefix=NO-OBJECT
// RUN: mkdir %t/folder && not normac %s --emit=object -o %t/folder 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not ls %t/folder.h
// RUN: not env CC=%t/none normac %s --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=NO-CC
// RUN: not env CC=false normac %s --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=BAD-CC
// RUN: env CC="env LC_ALL=C cc" normac %s --target sm_80,sm_90a --emit=object -o %t/again/kernels.o && cmp %t/kernels.o %t/again/kernels.o
// RUN: sed 's/@scale/@"scale-it"/' %s | not normac - --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/@scale/@exp/' %s | not normac - --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=EXP

// SYMBOLS-DAG: T scale
// SYMBOLS-DAG: T scale_load
// SYMBOLS-DAG: T rows
// SYMBOLS-DAG: T rows_load
// SYMBOLS-DAG: T __tvm_ffi_scale
// NEEDS-DAG: U norma_embedded_launch
// NEEDS-DAG: U norma_embedded_load
// NEEDS-DAG: w TVMFFIEnvGetStream
// NEEDS-DAG: w TVMFFIErrorSetRaisedFromCStr
// HEADER: x: f32 [{{.*}}, 64], read
// HEADER-NEXT: y: f32 [{{.*}}, 64], written
// HEADER-NEXT: */
// HEADER-NEXT: norma_status scale(const norma_tensor *x, const norma_tensor *y, void *stream);
// CPP: inline void scale(const norma_tensor &x, const norma_tensor &y, void *stream = nullptr) {
// CPP: inline void load_scale(std::int32_t device) {
// PTX-DAG: U norma_embedded_allow_ptx
// PTX-DAG: T scale_allow_ptx
// PTX-OF-LEVEL: --ptx-fallback is for bundles and for --emit=object
// NO-OUTPUT: --emit=object writes files: give the object's by --output
// TWO-INPUTS: --emit=object writes one object: expected one input, got 2
// NO-OBJECT: error: expected the name of an object, such as '{{.*}}kernels.o', got '{{.*}}kernels.h'
// NO-CC: error: cannot run the C compiler '{{.*}}none', which CC may name: No such file
// BAD-CC: error: the C compiler 'false' failed
// NAME: error: function 'scale-it' has no name that C takes: expected letters, digits and '_', and no digit first
// EXP: error: function 'exp' has a name that math.h declares
// FOLDER: error: expected the name of an object, such as '{{.*}}/folder/kernels.o', got the folder '{{.*}}/folder'

func.func @scale(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.l2_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func @rows(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
