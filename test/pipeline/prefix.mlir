// A pipeline of norma-opt and the level of that name in normac run the same passes, and every level can be resumed: from any
// level, the next level has the same bytes, and so has the PTX at the end.
// RUN: normac %examples/rms_norm.mlir --emit=kernel > %t.kernel && norma-opt %examples/rms_norm.mlir --norma-to-kernel | diff %t.kernel -
// RUN: normac %examples/rms_norm.mlir --emit=scheduled > %t.scheduled && norma-opt %examples/rms_norm.mlir --norma-to-scheduled | diff %t.scheduled -
// RUN: normac %examples/rms_norm.mlir --emit=tiled > %t.tiled && norma-opt %examples/rms_norm.mlir --norma-to-tiled | diff %t.tiled -
// RUN: normac %examples/rms_norm.mlir --emit=gl > %t.gl && norma-opt %examples/rms_norm.mlir --norma-to-gl | diff %t.gl -
// RUN: normac %examples/rms_norm.mlir --emit=gl-lowered > %t.gl-lowered && norma-opt %examples/rms_norm.mlir --norma-to-gl-lowered | diff %t.gl-lowered -
// RUN: normac %examples/rms_norm.mlir --emit=nvvm > %t.nvvm && norma-opt %examples/rms_norm.mlir --norma-to-nvvm | diff %t.nvvm -
// RUN: normac %examples/rms_norm.mlir --emit=ptx > %t.ptx

// RUN: normac %t.kernel --from=kernel --emit=kernel | diff %t.kernel -
// RUN: normac %t.kernel --from=kernel --emit=scheduled | diff %t.scheduled -
// RUN: normac %t.scheduled --from=scheduled --emit=tiled | diff %t.tiled -
// RUN: normac %t.tiled --from=tiled --emit=gl | diff %t.gl -
// RUN: normac %t.gl --from=gl --emit=gl-lowered | diff %t.gl-lowered -
// RUN: normac %t.gl-lowered --from=gl-lowered --emit=nvvm | diff %t.nvvm -

// RUN: normac %t.kernel --from=kernel --emit=ptx | diff %t.ptx -
// RUN: normac %t.scheduled --from=scheduled --emit=ptx | diff %t.ptx -
// RUN: normac %t.tiled --from=tiled --emit=ptx | diff %t.ptx -
// RUN: normac %t.gl --from=gl --emit=ptx | diff %t.ptx -
// RUN: normac %t.gl-lowered --from=gl-lowered --emit=ptx | diff %t.ptx -
// RUN: normac %t.nvvm --from=nvvm --emit=ptx | diff %t.ptx -
