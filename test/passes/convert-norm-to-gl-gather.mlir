// What lies at computed places is gathered and scattered under masks over the axes that decide on them.
// RUN: norma-opt %s --split-input-file --mlir-print-local-scope --convert-norm-to-gl | FileCheck %s

// A row for each warp: the mask is computed once for each row, and the id is a tile of rows that is broadcast along them.
// CHECK-LABEL: gpu.func @embedding
// CHECK-SAME: traffic = affine_map<()[s0] -> (s0 * 132, s0 * 128)>
// CHECK-DAG: %[[SIZE:.*]] = memref.dim %[[TABLE:.*]], %{{.*}} : memref<?x64xbf16>
// CHECK-DAG: %[[ID:.*]] = arith.index_cast %{{.*}} : tensor<4xi32, {{.*}}> to tensor<4xindex, {{.*}}>
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ID]], %{{.*}} : tensor<4xindex, {{.*}}>
// CHECK-DAG: %[[ALONG:.*]] = gl.broadcast %[[ID]] axis 1
// CHECK-DAG: %[[PLACES:.*]] = gl.broadcast %[[ALONG]] axis 2
// CHECK-DAG: gl.broadcast %[[INSIDE]] axis 1
// CHECK: gl.gather %[[TABLE]] at affine_map<(d0, d1, d2, d3, d4) -> (d1, d3 * 2 + d4)>(%{{[^)]*}})[%[[PLACES]]] if
// CHECK-SAME: where affine_map<(d0, d1, d2, d3, d4)[s0] -> (d0 * 4 + d2, s0)>
norm.kernel @embedding(%ids: memref<?xi32>, %table: memref<?x64xbf16>, %y: memref<?x64xbf16>)
    space(%b = dim(%ids, 0) ceildiv 4 : grid, %w = 4 : thread, %t = 32 : thread, %v = 2 : register)
    where(%b * 4 + %w < dim(%ids, 0))
    schedule(#norm.schedule<spread = [[grid, warp(4)], [lane(32), vector(2)]]>) {
  %0 = norm.read %ids[%b * 4 + %w] : memref<?xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %table[%1, %t * 2 + %v] : memref<?x64xbf16>
  norm.write %2, %y[%b * 4 + %w, %t * 2 + %v] : memref<?x64xbf16>
}

// -----

// A run that begins at a computed place: where it ends is decided for each of its elements. Its condition masks it as well.
// CHECK-LABEL: gpu.func @runs
// CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<32xindex, {{.*}}>
// CHECK: %[[WITHIN:.*]] = arith.cmpi ult, %[[PLACE]], %{{.*}} : tensor<32xindex, {{.*}}>
// CHECK: %[[MASK:.*]] = arith.andi %{{.*}}, %[[WITHIN]] : tensor<32xi1, {{.*}}>
// CHECK: gl.scatter %{{.*}}, %{{.*}} at affine_map<(d0, d1) -> (d0 + d1)>(%{{[^)]*}})[] if %[[MASK]]
norm.kernel @runs(%x: memref<?x32xf32>, %l: memref<?xi64>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %t = 32 : thread) schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x32xf32>
  %1 = norm.read %l[%b] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %zero = arith.constant 0 : i64
  %is_run = arith.cmpi ne, %1, %zero : i64
  norm.scatter %0, %y[%2 + %t] if %is_run : memref<?xf32>
}
