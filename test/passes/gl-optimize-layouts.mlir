// Conversions that cost nothing to remove are removed; the others stay.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --gl-optimize-layouts | FileCheck %s

// CHECK-LABEL: gpu.func @example
// CHECK-SAME: (%[[A:.*]]: tensor<64xf32, #[[WIDE:.*]]>)
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[A]], %[[A]] fastmath<contract> : tensor<64xf32, #[[WIDE]]>
// CHECK-NEXT: "test.use"(%[[R]])
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @example(%a: tensor<64xf32, #wide>) {
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %1 = arith.mulf %0, %0 fastmath<contract> : tensor<64xf32, #narrow>
    %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
    "test.use"(%2) : (tensor<64xf32, #wide>) -> ()
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @identities_chains_and_splats
// CHECK-SAME: (%[[A:.*]]: tensor<64xf32, #[[WIDE:.*]]>, %[[S:.*]]: f32)
// CHECK-DAG: %[[C:.*]] = arith.constant dense<2.0{{.*}}> : tensor<64xf32, #[[NARROW:.*]]>
// CHECK-DAG: %[[SPLAT:.*]] = tensor.splat %[[S]] : tensor<64xf32, #[[NARROW]]>
// CHECK-DAG: %[[T:.*]] = gl.convert_layout %[[A]] : tensor<64xf32, #[[WIDE]]> -> tensor<64xf32, #[[THIRD:.*]]>
// CHECK-NOT: gl.convert_layout
// CHECK: "test.use"(%[[A]], %[[T]], %[[C]], %[[SPLAT]])
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#third = #gl.linear<register = [[1]], lane = [[4], [2], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @identities_chains_and_splats(%a: tensor<64xf32, #wide>, %s: f32) {
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #wide>
    %1 = gl.convert_layout %0 : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #third>
    %c = arith.constant dense<2.0> : tensor<64xf32, #wide>
    %3 = gl.convert_layout %c : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %d = tensor.splat %s : tensor<64xf32, #wide>
    %4 = gl.convert_layout %d : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    "test.use"(%0, %2, %3, %4) : (tensor<64xf32, #wide>, tensor<64xf32, #third>, tensor<64xf32, #narrow>, tensor<64xf32, #narrow>) -> ()
    gpu.return
  }
}

// -----

// Through a cast and a constant, whose elements differ from the result's.
// CHECK-LABEL: gpu.func @cast
// CHECK-SAME: (%[[A:.*]]: tensor<64xbf16, #[[WIDE:.*]]>)
// CHECK: %[[E:.*]] = arith.extf %[[A]] : tensor<64xbf16, #[[WIDE]]> to tensor<64xf32, #[[WIDE]]>
// CHECK: arith.addf %[[E]], %{{.*}} : tensor<64xf32, #[[WIDE]]>
// CHECK-NOT: gl.convert_layout
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @cast(%a: tensor<64xbf16, #wide>) {
    %c = arith.constant dense<2.0> : tensor<64xf32, #narrow>
    %0 = gl.convert_layout %a : tensor<64xbf16, #wide> -> tensor<64xbf16, #narrow>
    %1 = arith.extf %0 : tensor<64xbf16, #narrow> to tensor<64xf32, #narrow>
    %2 = arith.addf %1, %c : tensor<64xf32, #narrow>
    %3 = gl.convert_layout %2 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
    "test.use"(%3) : (tensor<64xf32, #wide>) -> ()
    gpu.return
  }
}

// -----

// Two operands would need a conversion each; a result with another use stays; so does a conversion of registers alone.
// CHECK-LABEL: gpu.func @kept
// CHECK: arith.addf
// CHECK-NEXT: gl.convert_layout
// CHECK-NEXT: arith.negf
// CHECK-NEXT: gl.convert_layout
// CHECK-NEXT: "test.use"
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @kept(%a: tensor<64xf32, #wide>, %b: tensor<64xf32, #wide>) {
    %0 = arith.addf %a, %b : tensor<64xf32, #wide>
    %1 = gl.convert_layout %0 : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %2 = arith.negf %a : tensor<64xf32, #wide>
    %3 = gl.convert_layout %2 : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    "test.use"(%1, %2, %3) : (tensor<64xf32, #narrow>, tensor<64xf32, #wide>, tensor<64xf32, #narrow>) -> ()
    gpu.return
  }
}

// -----

// An op that moves with a conversion stays where it was: outside of the loop.
// CHECK-LABEL: gpu.func @loop
// CHECK-SAME: (%[[A:.*]]: tensor<64xf32, #[[WIDE:[a-z0-9]+]]>
// CHECK: %[[R:.*]] = math.exp %[[A]] : tensor<64xf32, #[[WIDE]]>
// CHECK: scf.for
// CHECK-NEXT: "test.use"(%[[R]])
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @loop(%a: tensor<64xf32, #wide>, %lo: index, %hi: index, %step: index) {
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %1 = math.exp %0 : tensor<64xf32, #narrow>
    scf.for %i = %lo to %hi step %step {
      %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
      "test.use"(%2) : (tensor<64xf32, #wide>) -> ()
    }
    gpu.return
  }
}
