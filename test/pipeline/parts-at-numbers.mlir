// Parts whose offset the call sets: it is an argument of the kernel, and a condition says that the part lies within its tensor.
// RUN: normac %s --emit=kernel | FileCheck %s
// RUN: normac %s -o %t --schedule 'part_0=#norm.schedule<spread = [[grid], [warp(4), lane(32), register(4)]]>' && FileCheck %s --check-prefix=MANIFEST < %t/manifest.json
// RUN: normac %s --emit=gl-lowered | FileCheck %s --check-prefix=VECTOR

// RUN: norma-sim %s --function part --size m=3 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function part --size m=3 --scalar from=0 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function part --size m=3 --scalar from=1023 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function part --size m=3 --scalar from=1024 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function head --size m=3 --scalar head=2 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function cache --size m=7 --size n=3 --scalar at=4 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function every_other --size m=3 --scalar first=825 | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right

// Boxes of a tensor map begin at any element, bulk copies at multiples of 16 bytes.
// RUN: norma-sim %s --function part --size m=30 --scalar from=3 --schedule 'part_0=#norm.schedule<spread = [[loop, grid(8)], [warp(2), lane(32), vector(8)]], keep = [shared, register, register], bring = tensor, stages = 3>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function head --size m=30 --scalar head=2 --schedule 'head_0=#norm.schedule<spread = [[loop, grid(8)], [warp(2), lane(32), vector(8)]], keep = [shared, register, register], bring = bulk, stages = 3>' | FileCheck %s --check-prefix=RIGHT
// RUN: not normac %s -o %t --schedule 'part_0=#norm.schedule<spread = [[loop, grid(8)], [warp(2), lane(32), vector(8)]], keep = [shared, register, register], bring = bulk, stages = 3>' 2>&1 | FileCheck %s --check-prefix=BULK
// BULK: unsupported: bulk copies of runs whose addresses are multiples of 2 bytes; supported: of 16

// RUN: not norma-sim %s --function part --size m=3 --scalar from=1025 2>&1 | FileCheck %s --check-prefix=BEHIND
// BEHIND: expected 1536 >= from + 512, got 1537
// RUN: not norma-sim %s --function part --size m=3 --scalar from=-1 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: expected from >= 0, got -1
// RUN: not norma-sim %s --function part --size m=3 --scalar from=0.5 2>&1 | FileCheck %s --check-prefix=FRACTION
// FRACTION: expected scalar 'from' to be an integer between -2^53 and 2^53, both exclusive, got 0.5
// RUN: not norma-sim %s --function head --size m=3 --scalar head=3 2>&1 | FileCheck %s --check-prefix=PAST
// PAST: expected 1536 >= head*512 + 512, got 2048
// RUN: not norma-sim %s --function cache --size m=7 --size n=3 --scalar at=5 2>&1 | FileCheck %s --check-prefix=CACHE
// CACHE: expected dim(cache, 0) >= at + dim(new, 0), got 7 and 8
// RUN: not norma-sim %s --function every_other --size m=3 --scalar first=826 2>&1 | FileCheck %s --check-prefix=EVERY
// EVERY: expected 1024 >= first + 199, got 1025

// Keys of a row that holds queries, keys and values: no divisor of the offset is known, so elements are read one by one.
// CHECK-LABEL: func.func @part(
// CHECK: norm.launch @part_0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : memref<?x1536xbf16>, memref<512xbf16>, memref<?x512xbf16>, index
// CHECK-NOT: norm.launch
// CHECK: norm.kernel @part_0(%[[X:[^ ]*]]: memref<?x1536xbf16>, %{{.*}}: memref<512xbf16>, %{{.*}}: memref<?x512xbf16>, %[[FROM:.*]]: index)
// CHECK: norm.read %[[X]][%[[M:.*]], %[[N:.*]] + %[[FROM]]]
// VECTOR-LABEL: gpu.func @part_0
// VECTOR: gl.load {{.*}} vector 1 : memref<?x1536xbf16>
// MANIFEST: "conditions": [
// MANIFEST: "text": "1536 >= from + 512"
// MANIFEST: "text": "from >= 0"
func.func @part(%qkv: tensor<?x1536xbf16> {norm.name = "qkv"}, %w: tensor<512xbf16> {norm.name = "w"},
                %from: index {norm.name = "from", norm.default = 512 : index}) -> (tensor<?x512xbf16> {norm.name = "k"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %qkv, %c0 : tensor<?x1536xbf16>
  %part = tensor.extract_slice %qkv[0, %from] [%m, 512] [1, 1] : tensor<?x1536xbf16> to tensor<?x512xbf16>
  %k = norm.rms_norm %part weight(%w : tensor<512xbf16>) : tensor<?x512xbf16> -> tensor<?x512xbf16>
  return %k : tensor<?x512xbf16>
}

// The same by the number of the part: its offset has known divisors, as a constant has.
// CHECK-LABEL: func.func @head(
// CHECK: norm.kernel @head_0(%[[X:[^ ]*]]: memref<?x1536xbf16>, {{.*}}, %[[HEAD:.*]]: index)
// CHECK: norm.read %[[X]][%[[M:.*]], %[[N:.*]] + %[[HEAD]] * 512]
// VECTOR-LABEL: gpu.func @head_0
// VECTOR: gl.load {{.*}} vector 8 : memref<?x1536xbf16>
func.func @head(%qkv: tensor<?x1536xbf16> {norm.name = "qkv"}, %w: tensor<512xbf16> {norm.name = "w"},
                %head: index {norm.name = "head", norm.default = 1 : index}) -> (tensor<?x512xbf16> {norm.name = "k"}) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %m = tensor.dim %qkv, %c0 : tensor<?x1536xbf16>
  %from = arith.muli %head, %c512 : index
  %part = tensor.extract_slice %qkv[0, %from] [%m, 512] [1, 1] : tensor<?x1536xbf16> to tensor<?x512xbf16>
  %k = norm.rms_norm %part weight(%w : tensor<512xbf16>) : tensor<?x512xbf16> -> tensor<?x512xbf16>
  return %k : tensor<?x512xbf16>
}

// Rows of a cache from an offset that only the call knows, as many as another tensor has.
// CHECK-LABEL: func.func @cache(
// CHECK: norm.kernel @cache_0
// CHECK: norm.read %{{.*}}[%[[M:.*]] + %[[AT:.*]], %{{.*}}, %{{.*}}]
// VECTOR-LABEL: gpu.func @cache_0
// VECTOR: gl.load {{.*}} vector 8 : memref<?x8x128xbf16>
func.func @cache(%cache: tensor<?x8x128xbf16> {norm.name = "cache", norm.sizes = ["m", "", ""]},
                 %new: tensor<?x8x128xbf16> {norm.name = "new", norm.sizes = ["n", "", ""]},
                 %at: index {norm.name = "at", norm.default = 0 : index}) -> (tensor<?x8x128xbf16> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %new, %c0 : tensor<?x8x128xbf16>
  %old = tensor.extract_slice %cache[%at, 0, 0] [%n, 8, 128] [1, 1, 1] : tensor<?x8x128xbf16> to tensor<?x8x128xbf16>
  %sum = arith.addf %old, %new : tensor<?x8x128xbf16>
  %y = norm.rms_norm %sum : tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %y : tensor<?x8x128xbf16>
}

// Kernel form expresses it as an index.
func.func @every_other(%x: tensor<?x1024xf16> {norm.name = "x"}, %first: index {norm.name = "first", norm.default = 5 : index})
    -> (tensor<?x100xf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x1024xf16>, %at = %first : index) -> (%out : tensor<?x100xf16>)
      space(%m = dim(%in, 0), %n = 100) {
    %0 = norm.read %in[%m, %n * 2 + %at] : tensor<?x1024xf16>
    %1 = arith.extf %0 : f16 to f32
    %2 = arith.mulf %1, %1 : f32
    %3 = norm.reduce add %2 over(%n) : f32
    %4 = math.rsqrt %3 : f32
    %5 = arith.mulf %1, %4 : f32
    %6 = arith.truncf %5 : f32 to f16
    norm.write %6, %out[%m, %n] : tensor<?x100xf16>
  }
  return %y : tensor<?x100xf16>
}
