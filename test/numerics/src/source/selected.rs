//! Kernels that access elements at places which they read from memory: rows at ids, and segments of packed batches.
//!
//! As for [`Graph`]s of tensors, every dynamic extent is the number of rows of a run, so that ids and offsets lie within the tensors or
//! beyond them as the inputs' numbers do.

use super::graphs::Graph;

/// The row of a table at each id, and its RMSNorm; the length of a row is static.
pub const EMBEDDING: Graph = Graph {
    name: "embedding, rms_norm",
    kernels: 1,
    text: r#"
func.func @f(%ids: memref<?xi32> {norm.name = "ids"}, %x: memref<?x$Nx$X> {norm.name = "x"},
             %y: memref<?x$Nx$Y> {norm.name = "y", norm.output}) {
  norm.launch @f_0(%ids, %x, %y) : memref<?xi32>, memref<?x$Nx$X>, memref<?x$Nx$Y>
  return
}
norm.kernel @f_0(%ids: memref<?xi32>, %x: memref<?x$Nx$X>, %y: memref<?x$Nx$Y>) space(%m = dim(%ids, 0), %n = $N) align(16, 16, 16) {
  %eps = arith.constant 1.0e-5 : f32
  %zero = arith.constant 0.0 : f32
  %id = norm.read %ids[%m]
  %row = arith.index_cast %id : i32 to index
  %e, %is_known = norm.gather %x[%row, %n]
  %wide = $WIDEN %e : $X to f32
  %square = arith.mulf %wide, %wide : f32
  %mean = norm.reduce mean %square over(%n) : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %scaled = arith.mulf %wide, %rstd : f32
  %known = arith.select %is_known, %scaled, %zero : f32
  %rounded = $NARROW %known : f32 to $Y
  norm.write %rounded, %y[%m, %n]
}
"#,
};

/// The same by a loop over the row that passes twice, with ids of 64 bits.
pub const EMBEDDING_IN_STEPS: Graph = Graph {
    name: "embedding, rms_norm in steps",
    kernels: 1,
    text: r#"
func.func @f(%ids: memref<?xi64> {norm.name = "ids"}, %x: memref<?x$Nx$X> {norm.name = "x"},
             %y: memref<?x$Nx$Y> {norm.name = "y", norm.output}) {
  norm.launch @f_0(%ids, %x, %y) : memref<?xi64>, memref<?x$Nx$X>, memref<?x$Nx$Y>
  return
}
norm.kernel @f_0(%ids: memref<?xi64>, %x: memref<?x$Nx$X>, %y: memref<?x$Nx$Y>) space(%m = dim(%ids, 0), %n = $N) align(16, 16, 16)
    schedule(#norm.schedule<spread = [[grid, warp(2)], [loop, lane(32), vector(2)]], keep = [l1]>) {
  %eps = arith.constant 1.0e-5 : f32
  %id = norm.read %ids[%m]
  %row = arith.index_cast %id : i64 to index
  %e, %is_known = norm.gather %x[%row, %n]
  %wide = $WIDEN %e : $X to f32
  %square = arith.mulf %wide, %wide : f32
  %mean = norm.reduce mean %square over(%n) : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %scaled = arith.mulf %wide, %rstd : f32
  %rounded = $NARROW %scaled : f32 to $Y
  norm.write %rounded, %y[%m, %n]
}
"#,
};

/// Softmax over segments of at most `$N` elements.
pub const PACKED_SOFTMAX: Graph = Graph {
    name: "packed softmax",
    kernels: 1,
    text: r#"
func.func @f(%x: memref<?x$X> {norm.name = "x"}, %o: memref<?xi32> {norm.name = "offsets"}, %y: memref<?x$Y> {norm.name = "y", norm.output}) {
  norm.launch @f_0(%x, %o, %y) : memref<?x$X>, memref<?xi32>, memref<?x$Y>
  return
}
norm.kernel @f_0(%x: memref<?x$X>, %o: memref<?xi32>, %y: memref<?x$Y>) space(%s = dim(%o, 0) - 1, %i = $N) align(16, 16, 16) {
  %none = arith.constant 0xFF800000 : f32
  %begin = norm.read %o[%s]
  %end = norm.read %o[%s + 1]
  %first = arith.index_cast %begin : i32 to index
  %behind = arith.index_cast %end : i32 to index
  %length = arith.subi %behind, %first : index
  %is_in_segment = arith.cmpi slt, %i, %length : index
  %e, %is_there = norm.gather %x[%first + %i] if %is_in_segment
  %wide = $WIDEN %e : $X to f32
  %score = arith.select %is_there, %wide, %none : f32
  %max = norm.reduce max %score over(%i) : f32
  %distance = arith.subf %score, %max : f32
  %exponential = math.exp %distance : f32
  %sum = norm.reduce add %exponential over(%i) : f32
  %share = arith.divf %exponential, %sum : f32
  %rounded = $NARROW %share : f32 to $Y
  norm.scatter %rounded, %y[%first + %i] if %is_there
}
"#,
};

/// Softmax over the tokens of a segment, for each of 16 heads: neighbours in memory are heads, and move together.
pub const PACKED_HEADS: Graph = Graph {
    name: "packed softmax of heads",
    kernels: 1,
    text: r#"
func.func @f(%x: memref<?x16x$X> {norm.name = "x"}, %o: memref<?xi64> {norm.name = "offsets"},
             %y: memref<?x16x$Y> {norm.name = "y", norm.output}) {
  norm.launch @f_0(%x, %o, %y) : memref<?x16x$X>, memref<?xi64>, memref<?x16x$Y>
  return
}
norm.kernel @f_0(%x: memref<?x16x$X>, %o: memref<?xi64>, %y: memref<?x16x$Y>) space(%s = dim(%o, 0) - 1, %i = $N, %h = 16) align(16, 16, 16) {
  %none = arith.constant 0xFF800000 : f32
  %begin = norm.read %o[%s]
  %end = norm.read %o[%s + 1]
  %first = arith.index_cast %begin : i64 to index
  %behind = arith.index_cast %end : i64 to index
  %length = arith.subi %behind, %first : index
  %is_in_segment = arith.cmpi slt, %i, %length : index
  %e, %is_there = norm.gather %x[%first + %i, %h] if %is_in_segment
  %wide = $WIDEN %e : $X to f32
  %score = arith.select %is_there, %wide, %none : f32
  %max = norm.reduce max %score over(%i) : f32
  %distance = arith.subf %score, %max : f32
  %exponential = math.exp %distance : f32
  %sum = norm.reduce add %exponential over(%i) : f32
  %share = arith.divf %exponential, %sum : f32
  %rounded = $NARROW %share : f32 to $Y
  norm.scatter %rounded, %y[%first + %i, %h] if %is_there
}
"#,
};
