//===- GlAttrs.td - layouts and launch attributes of the gl dialect --------===//

#ifndef GL_ATTRS_TD
#define GL_ATTRS_TD

include "gl/GlDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Gl_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Gl_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Distributed layouts: encodings of tiles
//===----------------------------------------------------------------------===//

def Gl_BlockedAttr : Gl_Attr<"Blocked", "blocked", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Blocks of registers, lanes, warps and CTAs along each axis";
  let description = [{
    Along `order` (fastest axis first), elements are assigned to registers first, then to lanes, to warps and to the
    CTAs of the cluster. A tile larger than one such block repeats it in further registers; a smaller tile is
    replicated.

    Constraints:
    - C1: every parameter has one entry per axis, each a power of two; `order` is a permutation of the axes.
    - C2: the lanes are 32 in all.

    Example, eight neighbouring columns per thread and 8 warps along them:
    `#gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>`
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$size_per_thread,
    ArrayRefParameter<"int64_t">:$threads_per_warp,
    ArrayRefParameter<"int64_t">:$warps_per_cta,
    ArrayRefParameter<"int64_t">:$order,
    OptionalArrayRefParameter<"int64_t">:$ctas_per_cluster
  );
  let assemblyFormat = [{
    `<` `size_per_thread` `=` `[` $size_per_thread `]` `,` `threads_per_warp` `=` `[` $threads_per_warp `]` `,`
    `warps_per_cta` `=` `[` $warps_per_cta `]` `,` `order` `=` `[` $order `]`
    (`,` `ctas_per_cluster` `=` `[` $ctas_per_cluster^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

def Gl_SliceAttr : Gl_Attr<"Slice", "slice", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A layout with one axis projected away";
  let description = [{
    The layout of the result of a reduction over `axis` of a tile in `parent`: threads that differed only along that
    axis hold the same element.

    Constraints:
    - C1: `parent` is a distributed layout.

    Example: `#gl.slice<axis = 1, parent = #gl.blocked<...>>`
  }];
  let parameters = (ins "int64_t":$axis, "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Gl_LinearAttr : Gl_Attr<"Linear", "linear", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A layout given by its bases over GF(2)";
  let description = [{
    Bit i of the register, lane, warp or CTA index contributes basis i, a coordinate; contributions are combined by
    exclusive or. A basis of zeros replicates. See `layout/` for the algebra.

    Constraints:
    - C1: every basis has one coordinate per axis, none negative.
    - C2: there are five lane bases.
    - C3: on a tile, no basis lies outside of it, and together they reach every element.

    Example: `#gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [0, 0]], warp = [[4, 0]], block = []>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$registers, "::mlir::ArrayAttr":$lanes, "::mlir::ArrayAttr":$warps,
                        "::mlir::ArrayAttr":$blocks);
  let assemblyFormat = [{
    `<` `register` `=` custom<Bases>($registers) `,` `lane` `=` custom<Bases>($lanes) `,`
    `warp` `=` custom<Bases>($warps) `,` `block` `=` custom<Bases>($blocks) `>`
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Shared-memory layouts: encodings of !gl.memdesc
//===----------------------------------------------------------------------===//

def Gl_PlainAttr : Gl_Attr<"Plain", "plain"> {
  let summary = "Shared memory with the axes in order, fastest first";
  let description = [{
    `padding` elements follow each `interval` elements, so that a column does not fall into one bank; an interval of 0 is the extent
    of the fastest axis. With negative padding the intervals overlap: the last elements of each have the place of the first ones of
    the next, and only one of both may be accessed. Rows of 769 elements that lie one behind the other are a tile of rows of 1024
    with a padding of -255, whose columns from 769 on guards mask off.

    Example: `#gl.plain<order = [1, 0]>`, `#gl.plain<order = [2, 1, 0], padding = -255, interval = 1024>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, DefaultValuedParameter<"int64_t", "0">:$padding,
                        DefaultValuedParameter<"int64_t", "0">:$interval);
  let assemblyFormat = [{
    `<` `order` `=` `[` $order `]` (`,` `padding` `=` $padding^ (`,` `interval` `=` $interval^)?)? `>`
  }];
}

def Gl_SwizzledAttr : Gl_Attr<"Swizzled", "swizzled"> {
  let summary = "Shared memory whose vectors are permuted row by row";
  let description = [{
    Vector v (of `vec` elements) of row r lies where vector `v xor ((r / per_phase) mod max_phase)` would in a plain
    layout, so that both rows and columns of vectors touch all 32 banks.

    Example: `#gl.swizzled<vec = 8, per_phase = 1, max_phase = 8, order = [1, 0]>`
  }];
  let parameters = (ins "int64_t":$vec, "int64_t":$per_phase, "int64_t":$max_phase, ArrayRefParameter<"int64_t">:$order);
  let assemblyFormat = [{
    `<` `vec` `=` $vec `,` `per_phase` `=` $per_phase `,` `max_phase` `=` $max_phase `,` `order` `=` `[` $order `]` `>`
  }];
}

def Gl_SharedLinearAttr : Gl_Attr<"SharedLinear", "shared_linear"> {
  let summary = "Shared memory in an order given by its bases over GF(2)";
  let description = [{
    Bit i of an element's number stands for the coordinate `offset[i]`; those of the bits that are set are combined by
    exclusive or. `gl-expand-conversions` and `gl-expand-reductions` make such orders for the layouts on both sides of an exchange.

    Constraints:
    - C1: every basis has one coordinate per axis, none negative.
    - C2: in a memory, the bases number every element once.

    Example, the columns of a 2x4 tile one after the other: `#gl.shared_linear<offset = [[1, 0], [0, 1], [0, 2]]>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$offset);
  let assemblyFormat = "`<` `offset` `=` custom<Bases>($offset) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

def Gl_EvictionPolicy : I32EnumAttr<"EvictionPolicy", "what a cache does with a line after an access", [
    I32EnumAttrCase<"Normal", 0, "normal">,
    I32EnumAttrCase<"First", 1, "evict_first">,
    I32EnumAttrCase<"Last", 2, "evict_last">,
    I32EnumAttrCase<"NoAllocate", 3, "no_allocate">
  ]> {
  let cppNamespace = "::mlir::gl";
}

def Gl_CacheAttr : Gl_Attr<"Cache", "cache"> {
  let summary = "Cache hints of an access";
  let description = [{
    Example, on an access: `cache <l1 = evict_last, l2 = evict_first>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"::mlir::gl::EvictionPolicy", "::mlir::gl::EvictionPolicy::Normal">:$l1,
    DefaultValuedParameter<"::mlir::gl::EvictionPolicy", "::mlir::gl::EvictionPolicy::Normal">:$l2
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

def Gl_CopyEngine : I32EnumAttr<"CopyEngine", "what copies a tile to shared memory", [
    I32EnumAttrCase<"CpAsync", 0, "cp_async">,
    I32EnumAttrCase<"Bulk", 1, "bulk">,
    I32EnumAttrCase<"Tensor", 2, "tensor">
  ]> {
  let cppNamespace = "::mlir::gl";
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

def Gl_LaunchAttr : Gl_Attr<"Launch", "launch"> {
  let summary = "How the host launches a kernel, as functions of its buffers' sizes";
  let description = [{
    Stands as `gl.launch` on a kernel at every level from `gl` on; the bundle's manifest is written from it.

    | parameter | meaning |
    |---|---|
    | `grid` | `()[sizes] -> (CTAs, ...)`; one dimension, the least of the map's results |
    | `traffic` | `()[sizes] -> (bytes read, bytes written)`: the fewest the kernel must move |
    | `sizes` | pairs (buffer, axis), one per symbol of `grid` and `traffic`; of the device, (-1, 0) is the number of its multiprocessors, and (-1, 1) how many CTAs of the kernel one of them holds |
    | `alignments` | bytes, one per buffer: its base address and the strides of a dynamic strided layout are multiples of so many |
    | `multiples` | triples (buffer, axis, multiple): the size of a dynamic axis is a multiple of `multiple` |
    | `bounds` | quadruples (buffer, axis, least, most): the size of a dynamic axis is at least `least` and at most `most`, 2^63 - 1 for no upper bound |
    | `aliases` | pairs (output, input) of buffers that may be the same memory; outputs share no element with any others |
    | `cluster` | CTAs per cluster |
    | `carveout` | preferred per cent of L1 given to shared memory; -1 for no preference |
    | `dependent_launch` | programmatic dependent launch |

    Example: `#gl.launch<grid = affine_map<()[s0] -> (s0 ceildiv 2)>, traffic = affine_map<()[s0] -> (s0 * 256, s0 * 256)>,
    sizes = [0, 0], alignments = [16, 16]>`
  }];
  let parameters = (ins
    "::mlir::AffineMapAttr":$grid,
    "::mlir::AffineMapAttr":$traffic,
    ArrayRefParameter<"int64_t">:$sizes,
    ArrayRefParameter<"int64_t">:$alignments,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$multiples,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$bounds,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$aliases,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "-1">:$carveout,
    DefaultValuedParameter<"bool", "false">:$dependent_launch
  );
  let assemblyFormat = [{
    `<` `grid` `=` $grid `,` `traffic` `=` $traffic `,` `sizes` `=` custom<Integers>($sizes) `,`
    `alignments` `=` custom<Integers>($alignments)
    (`,` struct($multiples, $bounds, $aliases, $cluster, $carveout, $dependent_launch)^)? `>`
  }];
}

def Gl_ParamKind : I32EnumAttr<"ParamKind", "what a kernel parameter holds", [
    I32EnumAttrCase<"Pointer", 0, "pointer">,
    I32EnumAttrCase<"Size", 1, "size">,
    I32EnumAttrCase<"Stride", 2, "stride">,
    I32EnumAttrCase<"Scalar", 3, "scalar">,
    I32EnumAttrCase<"TensorMap", 4, "tensor_map">
  ]> {
  let cppNamespace = "::mlir::gl";
}

def Gl_ParamAttr : Gl_Attr<"Param", "param"> {
  let summary = "One parameter of a lowered kernel, in terms of its buffers";
  let description = [{
    `gl.params` on a lowered kernel lists one per parameter: a buffer's address, the size or stride (in elements, i64) of one
    of its axes, a scalar, or the tensor map of a buffer with a `box` of so many elements along each axis and a `swizzle` over so many
    bytes, 0 for none, which whoever launches the kernel encodes. `argument` counts the launch's arguments, which are buffers and then scalars.

    Example: `#gl.param<pointer 0>`, `#gl.param<size 0, 1>`, `#gl.param<scalar 2>`, `#gl.param<tensor_map 0 box = [8, 256]>`,
    `#gl.param<tensor_map 0 box = [32, 32] swizzle = 128>`
  }];
  let parameters = (ins "::mlir::gl::ParamKind":$kind, "int64_t":$argument, DefaultValuedParameter<"int64_t", "0">:$axis,
                        OptionalArrayRefParameter<"int64_t">:$box, DefaultValuedParameter<"int64_t", "0">:$swizzle);
  let assemblyFormat = "`<` $kind $argument (`,` $axis^)? (`box` `=` `[` $box^ `]`)? (`swizzle` `=` $swizzle^)? `>`";
}

#endif // GL_ATTRS_TD
