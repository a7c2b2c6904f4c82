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
