func.func @f(%x: memref<?x64xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x64xf32>
  %s = memref.alloc(%m) {norm.scratch} : memref<?xf32>
  norm.launch @k(%x, %s, %y) : memref<?x64xf32>, memref<?xf32>, memref<?xf32>
  return
}
norm.kernel @k(%x: memref<?x64xf32>, %s: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = norm.read %s[%m] : memref<?xf32>
  %3 = arith.addf %1, %2 : f32
  norm.write %3, %y[%m] : memref<?xf32>
}
