// The embedding of each token and its RMSNorm, in one kernel: the kernel reads an id, and then the row of the table at that id. An id
// outside of the table reads nothing, and gives the row of a vector of zeros.

func.func @embedding_rms_norm(%ids: memref<?xi32> {norm.name = "ids", norm.sizes = ["token"]},
                              %table: memref<?x4096xbf16> {norm.name = "table", norm.sizes = ["vocabulary", ""]},
                              %gain: memref<4096xbf16> {norm.name = "gain"},
                              %y: memref<?x4096xbf16> {norm.name = "y", norm.sizes = ["token", ""], norm.output}) {
  norm.launch @embedding_rms_norm_0(%ids, %table, %gain, %y) : memref<?xi32>, memref<?x4096xbf16>, memref<4096xbf16>, memref<?x4096xbf16>
  return
}

norm.kernel @embedding_rms_norm_0(%ids: memref<?xi32>, %table: memref<?x4096xbf16>, %gain: memref<4096xbf16>, %y: memref<?x4096xbf16>)
    space(%token = dim(%ids, 0), %n = 4096) align(16, 16, 16, 16) {
  %eps = arith.constant 1.0e-6 : f32
  %id = norm.read %ids[%token]
  %row = arith.index_cast %id : i32 to index
  %e, %is_known = norm.gather %table[%row, %n]
  %x = arith.extf %e : bf16 to f32
  %square = arith.mulf %x, %x : f32
  %mean = norm.reduce mean %square over(%n) : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %normalized = arith.mulf %x, %rstd : f32
  %g = norm.read %gain[%n]
  %weight = arith.extf %g : bf16 to f32
  %weighted = arith.mulf %normalized, %weight : f32
  %rounded = arith.truncf %weighted : f32 to bf16
  norm.write %rounded, %y[%token, %n]
}
