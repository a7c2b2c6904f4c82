// Accesses that are right for all sizes, or for some: none of these is refused.
// RUN: norma-opt %s | FileCheck %s --check-prefix=NONE --allow-empty
// NONE-NOT: error

// Two interleaved writes cover the output together.
norm.kernel @interleaved(%x: memref<?xf32>, %y: memref<?x2xf32>) space(%m = dim(%x, 0)) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m, 0] : memref<?x2xf32>
  norm.write %0, %y[%m, 1] : memref<?x2xf32>
}

// Mixed-radix digits: each combination of them gives a distinct coordinate.
norm.kernel @mixed_radix(%x: memref<3x4x5xf32>, %y: memref<60xf32>) space(%a = 3, %b = 4, %c = 5) {
  %0 = norm.read %x[%a, %b, %c] : memref<3x4x5xf32>
  norm.write %0, %y[%a + %b * 15 + %c * 3] : memref<60xf32>
}

// The digits of a number, by floordiv and mod, are distinct too.
norm.kernel @digits(%x: memref<60xf32>, %y: memref<12x5xf32>) space(%n = 60) {
  %0 = norm.read %x[%n] : memref<60xf32>
  norm.write %0, %y[%n floordiv 5, %n mod 5] : memref<12x5xf32>
}

// Tiles of 8, the last of which may have padding: the output ends where the write does.
norm.kernel @padding(%x: memref<?xf32>, %y: memref<?x8xf32>) space(%n = dim(%x, 0)) {
  %0 = norm.read %x[%n] : memref<?xf32>
  norm.write %0, %y[%n floordiv 8, %n mod 8] {partial} : memref<?x8xf32>
}

// An output written backwards, and an input that uses one dim twice.
norm.kernel @backwards(%x: memref<15xf32>, %y: memref<8xf32>) space(%n = 8) {
  %0 = norm.read %x[%n * 3 - %n] : memref<15xf32>
  norm.write %0, %y[7 - %n] : memref<8xf32>
}

// A dim without points accesses nothing, and an output without elements needs no write.
norm.kernel @empty(%x: memref<?x0xf32>, %y: memref<?x0xf32>) space(%m = dim(%x, 0), %n = 0) {
  %0 = norm.read %x[%m, %n] : memref<?x0xf32>
  norm.write %0, %y[%m, %n] : memref<?x0xf32>
}

// One element.
norm.kernel @scalar(%x: memref<f32>, %y: memref<1xf32>) space() {
  %0 = norm.read %x[] : memref<f32>
  norm.write %0, %y[0] : memref<1xf32>
}

// The input must be at least as long as the output, which the launch checks.
norm.kernel @prefix(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%y, 0)) {
  %0 = norm.read %x[%m + 5] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}

// A part whose offset is an argument of the launch, along axes of static and of dynamic size.
norm.kernel @from_a_number(%x: memref<?x64xf32>, %y: memref<?x16xf32>, %first: index, %part: index)
    space(%m = dim(%y, 0), %n = 16) {
  %0 = norm.read %x[%m + %first, %n + %part * 16] : memref<?x64xf32>
  norm.write %0, %y[%m, %n] : memref<?x16xf32>
}

// Blocks of 128, the last of which has 64: a guard keeps accesses within the buffers, and all elements are written.
norm.kernel @blocks(%x: memref<?x576xf32>, %y: memref<?x576xf32>, %z: memref<?x5xf32>)
    space(%m = dim(%x, 0), %b = 5, %i = 128) where(%b * 128 + %i < 576) {
  %0 = norm.read %x[%m, %b * 128 + %i] : memref<?x576xf32>
  %1 = norm.reduce max %0 over(%i) : f32
  norm.write %0, %y[%m, %b * 128 + %i] : memref<?x576xf32>
  norm.write %1, %z[%m, %b] : memref<?x5xf32>
}

// As many blocks as the size asks for.
func.func @dynamic_blocks(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0:2 = norm.compute(%a = %x : tensor<?x?xf32>) -> (%y : tensor<?x?xf32>, %z : tensor<?x?xf32>)
      space(%b = dim(%a, 0) ceildiv 128, %i = 128, %c = dim(%a, 1) ceildiv 32, %j = 32)
      where(%b * 128 + %i < dim(%a, 0), %c * 32 + %j < dim(%a, 1)) {
    %1 = norm.read %a[%b * 128 + %i, %c * 32 + %j] : tensor<?x?xf32>
    %2 = norm.reduce max %1 over(%i, %j) : f32
    norm.write %1, %y[%b * 128 + %i, %c * 32 + %j] : tensor<?x?xf32>
    norm.write %2, %z[%b, %c] : tensor<?x?xf32>
  }
  return %0#0, %0#1 : tensor<?x?xf32>, tensor<?x?xf32>
}

// Pairs of numbers in blocks of 8 pairs, the last of which has 2: the guard counts pairs.
norm.kernel @pairs(%x: memref<20xf32>, %y: memref<20xf32>, %z: memref<10xf32>)
    space(%b = 2, %p = 8, %h = 2) where(%b * 8 + %p < 10) {
  %0 = norm.read %x[%b * 16 + %p * 2 + %h] : memref<20xf32>
  %1 = norm.reduce add %0 over(%h) : f32
  norm.write %0, %y[%b * 16 + %p * 2 + %h] : memref<20xf32>
  norm.write %1, %z[%b * 8 + %p] : memref<10xf32>
}

// What is below the diagonal of a square, and the sums of its rows.
norm.kernel @triangle(%x: memref<16x16xf32>, %y: memref<16xf32>) space(%m = 16, %n = 16) where(%n < %m + 1) {
  %0 = norm.read %x[%m, %m - %n] : memref<16x16xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<16xf32>
}
