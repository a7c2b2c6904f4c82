//===- GlDialect.td - the gl dialect ---------------------------------------===//
//
// The dialect itself. Why this level exists is told in README.md beside this file.
//
//===----------------------------------------------------------------------===//

#ifndef GL_DIALECT_TD
#define GL_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Gl_Dialect : Dialect {
  let name = "gl";
  let cppNamespace = "::mlir::gl";
  let summary = "One CTA's program: tiles with layouts, shared memory, async copies, barriers";
  let description = [{
    A tile is a ranked tensor whose encoding is a layout: it says which register of which lane, warp and CTA of the
    cluster holds each element. Elementwise work is `arith` and `math` on tiles. Shared memory is `!gl.memdesc`; copies,
    mbarriers, fences and the exchange within a cluster are ops, so that every decision is visible in the IR.

    A kernel is a `gpu.func` with `gl.num_warps` and `gl.launch`. `gl.num_warps` is from 1 to 32, and the layout of every
    tile in the kernel has as many warps; within a partition of `gl.warp_specialize`, as many as the partition.

    A tile has at most 2^30 elements, and at most 1024 for each thread: registers hold no more.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // GL_DIALECT_TD
