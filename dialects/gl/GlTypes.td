//===- GlTypes.td - types of the gl dialect ---------------------------------===//

#ifndef GL_TYPES_TD
#define GL_TYPES_TD

include "gl/GlDialect.td"
include "gl/GlAttrs.td"
include "mlir/IR/AttrTypeBase.td"

class Gl_Type<string name, string typeMnemonic> : TypeDef<Gl_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Gl_MemDescType : Gl_Type<"MemDesc", "memdesc"> {
  let summary = "A tile in shared memory";
  let description = [{
    Constraints:
    - C1: the layout is a shared-memory layout of as many axes as the shape.
    - C2: extents are powers of two, but for the first axis if it is the slowest of several: the stages of a ring.
    - C3: the layout's order names each axis once, an interval has at least one element with its padding, and the parameters of a swizzle are powers of two whose
      `vec` times `max_phase` is at most the extent of the fastest axis.

    Example: `!gl.memdesc<4x1024xbf16, #gl.plain<order = [1, 0]>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element_type, "::mlir::Attribute":$layout);
  let assemblyFormat = "`<` custom<ShapeAndType>($shape, $element_type) `,` $layout `>`";
  let genVerifyDecl = 1;
}

def Gl_MBarrierType : Gl_Type<"MBarrier", "mbarrier"> {
  let summary = "An array of mbarriers in shared memory";
  let description = "Example: `!gl.mbarrier<3>`, one per stage of a ring.";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}

def Gl_TensorMapType : Gl_Type<"TensorMap", "tensor_map"> {
  let summary = "A TMA descriptor, passed to the kernel by value";
  let description = [{
    `box` is what one copy moves, in elements, slowest axis first. With a `swizzle` of 32, 64 or 128 bytes the engine moves chunks of
    16 bytes of shared memory within lines of 128: it changes the lowest 1, 2 or 3 bits of a chunk's number in its line by exclusive or
    with the line's number, as its address gives it. Without, a box lies there row by row.

    Example: `!gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>`, `!gl.tensor_map<memref<?x64xf32>, box = [32, 32], swizzle = 128>`
  }];
  let parameters = (ins "::mlir::MemRefType":$buffer, ArrayRefParameter<"int64_t">:$box,
                        DefaultValuedParameter<"int64_t", "0">:$swizzle);
  let assemblyFormat = "`<` $buffer `,` `box` `=` `[` $box `]` (`,` `swizzle` `=` $swizzle^)? `>`";
}

#endif // GL_TYPES_TD
