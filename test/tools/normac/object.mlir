// An object holds a function for each of the input's, with its cubins for all targets, and headers for C and C++ beside it.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t/again
// RUN: normac %s --target sm_80,sm_90a --emit=object -o %t/kernels.o
// RUN: llvm-nm --defined-only %t/kernels.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: llvm-readelf --symbols %t/kernels.o | FileCheck %s --check-prefix=HIDDEN
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
//
// A folder that is missing is told before anything is compiled.
// RUN: not normac %s --ptxas=/nowhere/ptxas --emit=object -o %t/none/kernels.o 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
//
// RUN: not env CC=%t/none normac %s --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=NO-CC
// RUN: not env CC=false normac %s --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=BAD-CC
// RUN: env CC="env LC_ALL=C cc" normac %s --target sm_80,sm_90a --emit=object -o %t/again/kernels.o && cmp %t/kernels.o %t/again/kernels.o
//
// A shared object that exports its functions asks for that.
// RUN: normac %s --emit=object --visibility default -o %t/again/kernels.o
// RUN: llvm-readelf --symbols %t/again/kernels.o | FileCheck %s --check-prefix=VISIBLE
// RUN: bash -c 'normac %s --visibility default -o %t/bundle; test $? = 2' 2>&1 | FileCheck %s --check-prefix=VISIBILITY-OF-BUNDLE
// RUN: bash -c 'normac %s --emit=object --visibility protected -o %t/kernels.o; test $? = 2' 2>&1 | FileCheck %s --check-prefix=NO-VISIBILITY
//
// The compiler's path may contain blanks, or be relative, and arguments may follow.
// RUN: mkdir "%t/my tools" && ln -s /usr/bin/cc "%t/my tools/my cc"
// RUN: env "CC=%t/my tools/my cc" normac %s --target sm_80,sm_90a --emit=object -o %t/again/kernels.o && cmp %t/kernels.o %t/again/kernels.o
// RUN: cd %t && env "CC=my tools/my cc -O2" normac %s --target sm_80,sm_90a --emit=object -o %t/again/kernels.o && cmp %t/kernels.o %t/again/kernels.o
//
// Nothing that someone wrote is replaced: neither the input, by whatever path, nor a header.
// RUN: cp %s %t/source.mlir && ln -s source.mlir %t/link.o && cd %t
// RUN: not normac source.mlir --emit=object -o source.mlir 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not normac source.mlir --emit=ptx -o ./source.mlir 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not normac source.mlir --emit=object -o link.o 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not normac - --emit=ptx -o source.mlir < source.mlir 2>&1 | FileCheck %s --check-prefix=STDIN
// RUN: echo "int mine;" > %t/mine.h && not normac %s --emit=object -o %t/mine.o 2>&1 | FileCheck %s --check-prefix=MINE
// RUN: cmp %s %t/source.mlir && grep mine %t/mine.h && not ls %t/mine.o
//
// RUN: sed 's/@scale/@TVMFFIEnvGetStream/' %s | not normac - --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=TVM-FFI
// RUN: sed 's/@scale/@"scale-it"/' %s | not normac - --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/@scale/@exp/' %s | not normac - --emit=object -o %t/kernels.o 2>&1 | FileCheck %s --check-prefix=EXP

// SYMBOLS-DAG: T scale
// SYMBOLS-DAG: T scale_load
// SYMBOLS-DAG: T rows
// SYMBOLS-DAG: T rows_load
// SYMBOLS-DAG: T __tvm_ffi_scale
// HIDDEN-DAG: FUNC GLOBAL HIDDEN {{.*}} scale{{$}}
// HIDDEN-DAG: FUNC GLOBAL HIDDEN {{.*}} scale_load
// HIDDEN-DAG: FUNC GLOBAL DEFAULT {{.*}} __tvm_ffi_scale
// VISIBLE-DAG: FUNC GLOBAL DEFAULT {{.*}} scale{{$}}
// VISIBLE-DAG: FUNC GLOBAL DEFAULT {{.*}} scale_load
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
// VISIBILITY-OF-BUNDLE: error: --visibility is for --emit=object
// NO-VISIBILITY: expected 'hidden' or 'default', got 'protected'
// INPUT: error: expected an output other than the input 'source.mlir'
// STDIN: error: expected an output other than the input '-'
// MINE: error: expected a generated header or none at '{{.*}}/mine.h', got one that does not begin with 'Generated by normac'
// TVM-FFI: error: function 'TVMFFIEnvGetStream' has no name that C takes: names that begin with 'TVMFFI' are reserved for TVM-FFI
// NAME: error: function 'scale-it' has no name that C takes: expected letters, digits and '_', and no digit first
// EXP: error: function 'exp' has a name that math.h declares
// NO-FOLDER: error: expected the name of an object in a folder that exists, got '{{.*}}/none/kernels.o', and '{{.*}}/none' is none
// FOLDER: error: expected the name of an object, such as '{{.*}}/folder/kernels.o', got the folder '{{.*}}/folder'

func.func @scale(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.l2_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func @rows(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
