// A size is called as norm.sizes says, or else as the first dim of a program that is of that size.
// RUN: normac %s --target sm_90a -o %t
// RUN: FileCheck %s < %t/manifest.json
// RUN: normac %s --emit=kernel | norma-opt | FileCheck %s --check-prefix=KERNEL
// KERNEL-LABEL: func.func @dims(
// KERNEL-SAME: norm.dims = ["token", "column"]

// CHECK: "name": "dims"
// CHECK: "name": "token"
// CHECK: "name": "column"
func.func @dims(%x: tensor<?x?xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?xf32>) space(%token = dim(%a, 0), %column = dim(%a, 1)) {
    %0 = norm.read %a[%token, %column]
    %1 = norm.reduce add %0 over(%column) : f32
    norm.write %1, %o[%token]
  }
  return %y : tensor<?xf32>
}

// CHECK: "name": "sizes_come_first"
// CHECK: "name": "rows"
// CHECK: "name": "column"
func.func @sizes_come_first(%x: tensor<?x?xf32> {norm.name = "x", norm.sizes = ["rows", ""]}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?xf32>) space(%token = dim(%a, 0), %column = dim(%a, 1)) {
    %0 = norm.read %a[%token, %column]
    %1 = norm.reduce add %0 over(%column) : f32
    norm.write %1, %o[%token]
  }
  return %y : tensor<?xf32>
}

// Two sizes are never called the same: the second one gets a name of the compiler's.
// CHECK: "name": "one_name_for_two"
// CHECK: "name": "row"
// CHECK: "name": "m"
func.func @one_name_for_two(%x: tensor<?xf32> {norm.name = "x"}, %w: tensor<?xf32> {norm.name = "w"})
    -> (tensor<?xf32> {norm.name = "y"}, tensor<?xf32> {norm.name = "z"}) {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%row = dim(%a, 0)) {
    %0 = norm.read %a[%row]
    norm.write %0, %o[%row]
  }
  %z = norm.compute(%a = %w : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%row = dim(%a, 0)) {
    %0 = norm.read %a[%row]
    norm.write %0, %o[%row]
  }
  return %y, %z : tensor<?xf32>, tensor<?xf32>
}
