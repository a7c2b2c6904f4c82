// Bounds of sizes: a launcher checks them, a tile that covers the largest size needs no loop, and guards that they settle fold.
// RUN: normac %s --emit=scheduled | FileCheck %s --check-prefix=SCHEDULED
// SCHEDULED: norm.kernel @bounded_0(%[[X:.*]]: memref<?x?xbf16>, {{.*}} bounds(1 <= dim(%[[X]], 0), 512 <= dim(%[[X]], 1) <= 1024)
// SCHEDULED-SAME: schedule(#norm.schedule<spread = {{\[\[grid[^l]*\], \[(register\([24]\), )?(warp\([24]\), )?}}lane(32), vector(8)]]

// The first 512 columns exist whatever the size: only the accesses after them are guarded.
// RUN: normac %s --emit=nvvm --schedule '#norm.schedule<spread = [[grid], [register(2), warp(2), lane(32), vector(8)]]>' | FileCheck %s --check-prefix=FOLDED
// FOLDED-LABEL: llvm.func @bounded_0
// FOLDED: policy, 1.0; ld.global
// FOLDED: policy, 1.0; mov.b32 $0, 0; {{.*}}@$5 ld.global

// RUN: norma-sim %s --size m=3 --size n=512 | FileCheck %s
// RUN: norma-sim %s --size m=3 --size n=1016 | FileCheck %s
// RUN: norma-sim %s --size m=1 --size n=1024 --schedule '#norm.schedule<spread = [[grid], [register(2), warp(2), lane(32), vector(8)]]>' | FileCheck %s
// RUN: norma-sim %s --size m=2 --size n=520 --schedule '#norm.schedule<spread = [[grid], [register(2), warp(2), lane(32), vector(8)]]>' | FileCheck %s
// CHECK: nothing found
// CHECK: verify  right

// RUN: bash -c 'norma-sim %s --size m=3 --size n=504; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: expected dim(x, 1) >= 512, got 504
// RUN: bash -c 'norma-sim %s --size m=3 --size n=1032; test $? = 1' 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: error: expected dim(x, 1) <= 1024, got 1032
// RUN: bash -c 'norma-sim %s --size m=0 --size n=1024; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: expected dim(x, 0) >= 1, got 0
// RUN: not normac %s --emit=tiled --schedule '#norm.schedule<spread = [[grid], [warp(2), lane(32), vector(8)]]>' 2>&1 | FileCheck %s --check-prefix=TOO-FEW
// TOO-FEW: error: expected factors of dim 1 that hold its 1024 points, got 512

// RUN: normac %s -o %t && FileCheck %s --check-prefix=MANIFEST < %t/manifest.json
// MANIFEST: "conditions": [
// MANIFEST: "text": "dim(x, 0) >= 1"
// MANIFEST: "text": "dim(x, 1) >= 512"
// MANIFEST: "left": 1024,
// MANIFEST-NEXT: "relation": ">=",
// MANIFEST-NEXT: "right": "n",
// MANIFEST-NEXT: "text": "dim(x, 1) <= 1024"
// MANIFEST-NOT: "text"
func.func @bounded(%x: tensor<?x?xbf16> {norm.name = "x", norm.multiples = array<i64: 1, 8>, norm.min = array<i64: 1, 512>, norm.max = array<i64: -1, 1024>})
    -> (tensor<?x?xbf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x?xbf16>) -> (%out : tensor<?x?xbf16>) space(%m = dim(%in, 0), %n = dim(%in, 1)) {
    %0 = norm.read %in[%m, %n] : tensor<?x?xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce max %1 over(%n) : f32
    %3 = arith.subf %1, %2 : f32
    %4 = arith.truncf %3 : f32 to bf16
    norm.write %4, %out[%m, %n] : tensor<?x?xbf16>
  }
  return %y : tensor<?x?xbf16>
}
