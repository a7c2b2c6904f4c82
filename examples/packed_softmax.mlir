// Softmax over each segment of a packed batch: segment s is the elements from offsets[s] up to offsets[s + 1], at most 1024 of them.
// Nothing outside of x and y is accessed, whatever the offsets are.

func.func @packed_softmax(%x: memref<?xbf16> {norm.name = "x", norm.sizes = ["token"]},
                          %offsets: memref<?xi32> {norm.name = "offsets", norm.sizes = ["ends"]},
                          %y: memref<?xbf16> {norm.name = "y", norm.sizes = ["token"], norm.output}) {
  norm.launch @packed_softmax_0(%x, %offsets, %y) : memref<?xbf16>, memref<?xi32>, memref<?xbf16>
  return
}

norm.kernel @packed_softmax_0(%x: memref<?xbf16>, %offsets: memref<?xi32>, %y: memref<?xbf16>)
    space(%segment = dim(%offsets, 0) - 1, %i = 1024) align(16, 16, 16) bounds(1 <= dim(%offsets, 0)) {
  %none = arith.constant 0xFF800000 : f32
  %begin = norm.read %offsets[%segment]
  %end = norm.read %offsets[%segment + 1]
  %first = arith.index_cast %begin : i32 to index
  %behind = arith.index_cast %end : i32 to index
  %length = arith.subi %behind, %first : index
  %is_in_segment = arith.cmpi slt, %i, %length : index
  %e, %is_there = norm.gather %x[%first + %i] if %is_in_segment
  %wide = arith.extf %e : bf16 to f32
  %score = arith.select %is_there, %wide, %none : f32
  %max = norm.reduce max %score over(%i) : f32
  %distance = arith.subf %score, %max : f32
  %exponential = math.exp %distance : f32
  %sum = norm.reduce add %exponential over(%i) : f32
  %share = arith.divf %exponential, %sum : f32
  %rounded = arith.truncf %share : f32 to bf16
  norm.scatter %rounded, %y[%first + %i] if %is_there
}
