// RUN: norma-opt %s --split-input-file --verify-diagnostics --gl-draw-tiles
//
// Draws that are not of the next step's tile.

gpu.module @kernels {
  gpu.func @outside(%counter: memref<1xi64>, %tiles: index, %ctas: index) kernel attributes {gl.num_warps = 4 : i64} {
    // expected-error @+1 {{unsupported: a draw outside of a loop over tiles}}
    %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @not_carried(%counter: memref<1xi64>, %tiles: index, %ctas: index) kernel attributes {gl.num_warps = 4 : i64} {
    scf.while (%i = %ctas) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      // expected-error @+1 {{unsupported: a draw that is not of the next step's tile}}
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      %other = arith.addi %next, %i : index
      scf.yield %other : index
    }
    gpu.return
  }
}
