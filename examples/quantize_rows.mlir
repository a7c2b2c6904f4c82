// RMSNorm whose result is quantized to 8-bit floats, each row with its own scale: one kernel, which holds a row from the
// first read to the last write.
//
// The scale maps the largest magnitude of a row to 448, the largest finite value of f8E4M3FN.

func.func @quantize_rows(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"})
    -> (tensor<?x4096xf8E4M3FN> {norm.name = "q"}, tensor<?xf32> {norm.name = "scale"}) {
  %normalized = norm.rms_norm %x weight(%w : tensor<4096xbf16>) {eps = 1.0e-5 : f32}
       : tensor<?x4096xbf16> -> tensor<?x4096xf32>

  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %row = tensor.empty(%rows) : tensor<?xf32>
  %whole = tensor.empty(%rows) : tensor<?x4096xf32>

  // The largest magnitude, bounded below by a number that is safe to divide by.
  %magnitude = math.absf %normalized : tensor<?x4096xf32>
  %tiny = arith.constant 1.0e-12 : f32
  %least = linalg.fill ins(%tiny : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %largest = linalg.reduce {arith.maximumf} ins(%magnitude : tensor<?x4096xf32>) outs(%least : tensor<?xf32>) dimensions = [1]

  %limit = arith.constant 448.0 : f32
  %limits = tensor.splat %limit[%rows] : tensor<?xf32>
  %scale = arith.divf %largest, %limits : tensor<?xf32>
  %scales = linalg.broadcast ins(%scale : tensor<?xf32>) outs(%whole : tensor<?x4096xf32>) dimensions = [1]
  %scaled = arith.divf %normalized, %scales : tensor<?x4096xf32>
  %q = arith.truncf %scaled : tensor<?x4096xf32> to tensor<?x4096xf8E4M3FN>
  return %q, %scale : tensor<?x4096xf8E4M3FN>, tensor<?xf32>
}
