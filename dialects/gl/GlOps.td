//===- GlOps.td - ops of the gl dialect -------------------------------------===//

#ifndef GL_OPS_TD
#define GL_OPS_TD

include "gl/GlDialect.td"
include "gl/GlAttrs.td"
include "gl/GlTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Gl_Op<string mnemonic, list<Trait> traits = []> : Op<Gl_Dialect, mnemonic, traits>;

def Gl_Tile : AnyTypeOf<[AnyStaticShapeTensor], "tile: a ranked tensor of static shape">;
def Gl_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index], "scalar">;
def Gl_Counter : MemRefRankOf<[I64], [1]>;

/// An operand through which an op reads, writes, or reads and writes global memory: a buffer, a counter or a tensor map. Passes ask
/// `gl::global_effects`, which is generated from these.
class Gl_Reads<TypeConstraint type> : Arg<type, "", [MemRead]>;
class Gl_Writes<TypeConstraint type> : Arg<type, "", [MemWrite]>;
class Gl_Updates<TypeConstraint type> : Arg<type, "", [MemRead, MemWrite]>;

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def Gl_LoadOp : Gl_Op<"load", [AttrSizedOperandSegments]> {
  let summary = "Loads a tile from global memory";
  let description = [{
    Element `t` of the tile is the buffer's element at `access(indices..., t...)`, an affine map whose dims are the scalar
    `indices` and then the tile's axes. `guards` are pairs `lhs, rhs` over the same dims and the symbols `limits`; where
    a pair does not satisfy `lhs < rhs` nothing is read and the element is `other`, or undefined without one.

    `vector` is the number of elements that one access moves; `gl-vectorize-access` sets it. If the guards hold for only
    some elements of a vector, these are moved one by one, and no other byte is touched.

    A vector begins at a multiple of its size. With `alignment`, in bytes, it may begin at any multiple of that: the
    access reads the one or two aligned words, each of a vector's size, that cover the vector, and shifts them together.
    Elements whose words do not lie within the buffer are read one by one. So bytes of masked elements are read as well,
    and nothing may write them meanwhile.

    Constraints:
    - C1: `access` maps the indices and the tile's axes to one coordinate per axis of the buffer.
    - C2: the tile's elements are the buffer's.
    - C3: guards come in pairs, over the dims of `access` and one symbol per limit.
    - C4: `other` is an element of the buffer.
    - C5: `vector` is a power of two, at most the longest run of neighbours that the layout has in a thread's registers.
    - C6: `alignment` is a power of two, in bytes, at least the size of an element and at most that of a vector, which
      is 4 or more; the buffer has static strides, no offset, and static sizes but for its outermost axis.
      buffer has static strides, no offset, and static sizes but for its outermost axis.

    Example:

    ```mlir
    %t = gl.load %x at affine_map<(b, r, n) -> (b * 2 + r, n)>(%b)
         where affine_map<(b, r, n)[s0] -> (b * 2 + r, s0)>[%rows] other %zero vector 8
         : memref<?x4096xbf16> -> tensor<2x4096xbf16, #blocked>
    ```
  }];
  let arguments = (ins
    Gl_Reads<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Index>:$limits, Optional<Gl_Scalar>:$other,
    AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, OptionalAttr<Gl_CacheAttr>:$cache,
    OptionalAttr<I64Attr>:$vector, OptionalAttr<I64Attr>:$alignment
  );
  let results = (outs Gl_Tile:$tile);
  let assemblyFormat = [{
    $buffer `at` $access `(` $indices `)` (`where` $guards^ `[` $limits `]`)? (`other` $other^ `:` type($other))?
    (`cache` $cache^)? (`vector` $vector^ (`alignment` $alignment^)?)? attr-dict `:` type($buffer) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Gl_GatherOp : Gl_Op<"gather", [AttrSizedOperandSegments]> {
  let summary = "Loads a tile from computed places in global memory";
  let description = [{
    As `gl.load`, but the dims of `access` are the scalar `indices`, then the `places`, which are tiles of numbers, and then the
    tile's axes: element `t` of the tile is the buffer's element at `access(indices..., places[t]..., t...)`. Where `mask` does
    not hold, or a guard fails, nothing is read and the element is zero.

    Within a vector, all places and the mask are the same: they do not vary along the axis whose neighbours it moves.

    Constraints:
    - C1: `access` maps the indices, the places and the tile's axes to one coordinate per axis of the buffer.
    - C2: places are of type `index` and the mask is of type `i1`, and both have the tile's shape and layout.
    - C3: the tile's elements are the buffer's.
    - C4: guards come in pairs, over the dims of `access` and one symbol per limit, and do not depend on places.
    - C5: `vector` is a power of two, at most the longest run of neighbours that the layout has in a thread's registers.

    Example:

    ```mlir
    %t = gl.gather %table at affine_map<(b, id, r, n) -> (id, n)>(%b)[%ids] if %known : tensor<2x4096xi1, #blocked> vector 8
         : memref<?x4096xbf16>, (tensor<2x4096xindex, #blocked>) -> tensor<2x4096xbf16, #blocked>
    ```
  }];
  let arguments = (ins
    Gl_Reads<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Gl_Tile>:$places, Variadic<Index>:$limits, Optional<Gl_Tile>:$mask,
    AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, OptionalAttr<Gl_CacheAttr>:$cache,
    OptionalAttr<I64Attr>:$vector
  );
  let results = (outs Gl_Tile:$tile);
  let assemblyFormat = [{
    $buffer `at` $access `(` $indices `)` `` `[` $places `]` (`if` $mask^ `:` type($mask))? (`where` $guards^ `[` $limits `]`)?
    (`cache` $cache^)? (`vector` $vector^)? attr-dict `:` type($buffer) (`,` `(` type($places)^ `)`)? `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Gl_StoreOp : Gl_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "Stores a tile to global memory";
  let description = [{
    The reverse of `gl.load`: where a guard fails, nothing is written. An element that several threads hold is written
    once.

    Constraints:
    - C1: `access` maps the indices and the tile's axes to one coordinate per axis of the buffer.
    - C2: the tile's elements are the buffer's.
    - C3: guards come in pairs, over the dims of `access` and one symbol per limit.
    - C4: `vector` is a power of two, at most the longest run of neighbours that the layout has in a thread's registers.

    Example: `gl.store %t, %y at affine_map<(b, n) -> (b, n)>(%b) vector 8 : tensor<1x4096xbf16, #blocked>, memref<?x4096xbf16>`
  }];
  let arguments = (ins
    Gl_Tile:$tile, Gl_Writes<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Index>:$limits,
    AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, OptionalAttr<Gl_CacheAttr>:$cache,
    OptionalAttr<I64Attr>:$vector
  );
  let assemblyFormat = [{
    $tile `,` $buffer `at` $access `(` $indices `)` (`where` $guards^ `[` $limits `]`)?
    (`cache` $cache^)? (`vector` $vector^)? attr-dict `:` type($tile) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def Gl_ScatterOp : Gl_Op<"scatter", [AttrSizedOperandSegments]> {
  let summary = "Stores a tile to computed places in global memory";
  let description = [{
    The reverse of `gl.gather`: where `mask` does not hold, or a guard fails, nothing is written. An element that several threads
    hold is written once.

    Constraints:
    - C1: `access` maps the indices, the places and the tile's axes to one coordinate per axis of the buffer.
    - C2: places are of type `index` and the mask is of type `i1`, and both have the tile's shape and layout.
    - C3: the tile's elements are the buffer's.
    - C4: guards come in pairs, over the dims of `access` and one symbol per limit, and do not depend on places.
    - C5: `vector` is a power of two, at most the longest run of neighbours that the layout has in a thread's registers.

    Example:

    ```mlir
    gl.scatter %t, %y at affine_map<(b, first, r, n) -> (first + r, n)>(%b)[%firsts] if %inside : tensor<2x64xi1, #blocked>
         : tensor<2x64xf32, #blocked>, memref<?x64xf32>, (tensor<2x64xindex, #blocked>)
    ```
  }];
  let arguments = (ins
    Gl_Tile:$tile, Gl_Writes<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Gl_Tile>:$places, Variadic<Index>:$limits,
    Optional<Gl_Tile>:$mask, AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, OptionalAttr<Gl_CacheAttr>:$cache,
    OptionalAttr<I64Attr>:$vector
  );
  let assemblyFormat = [{
    $tile `,` $buffer `at` $access `(` $indices `)` `` `[` $places `]` (`if` $mask^ `:` type($mask))?
    (`where` $guards^ `[` $limits `]`)? (`cache` $cache^)? (`vector` $vector^)? attr-dict
    `:` type($tile) `,` type($buffer) (`,` `(` type($places)^ `)`)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def Gl_CoordinatesOp : Gl_Op<"coordinates", [Pure]> {
  let summary = "The value of an affine expression at every element of a tile";
  let description = [{
    Constraints:
    - C1: `map` has one result over the indices and the tile's axes, and the tile's elements are of type index.

    Example: `%c = gl.coordinates affine_map<(b, r, n) -> (n)>(%b) : tensor<2x4096xindex, #blocked>`
  }];
  let arguments = (ins AffineMapAttr:$map, Variadic<Index>:$indices);
  let results = (outs Gl_Tile:$tile);
  let assemblyFormat = "$map `(` $indices `)` attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Gl_MaskOp : Gl_Op<"mask", [Pure, AttrSizedOperandSegments]> {
  let summary = "Whether the guards hold, at every element of a tile";
  let description = [{
    Constraints:
    - C1: guards come in pairs, over the indices and the tile's axes and one symbol per limit, and the elements are i1.

    Example: `%m = gl.mask affine_map<(b, r, n)[s0] -> (b * 2 + r, s0)>(%b)[%rows] : tensor<2x4096xi1, #blocked>`
  }];
  let arguments = (ins AffineMapAttr:$guards, Variadic<Index>:$indices, Variadic<Index>:$limits);
  let results = (outs Gl_Tile:$tile);
  let assemblyFormat = "$guards `(` $indices `)` `[` $limits `]` attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Gl_BroadcastOp : Gl_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tile along an axis that its layout has projected away";
  let description = [{
    Moves no data between threads: each already holds the elements that it needs.

    Constraints:
    - C1: the operand's shape is the result's without `axis`, and its layout places elements as the slice of the result's
      along that axis does, whichever attribute says so.

    Example: `%b = gl.broadcast %s axis 1 : tensor<2xf32, #gl.slice<axis = 1, parent = #blocked>> -> tensor<2x4096xf32, #blocked>`
  }];
  let arguments = (ins Gl_Tile:$source, I64Attr:$axis);
  let results = (outs Gl_Tile:$result);
  let assemblyFormat = "$source `axis` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Gl_ConvertLayoutOp : Gl_Op<"convert_layout", [Pure]> {
  let summary = "Moves a tile to another layout";
  let description = [{
    How far data must move (registers, lanes, shared memory, the cluster) follows from the two layouts.

    Constraints:
    - C1: shape and elements stay as they are.

    Example: `%b = gl.convert_layout %a : tensor<32x32xf32, #rows> -> tensor<32x32xf32, #columns>`
  }];
  let arguments = (ins Gl_Tile:$source);
  let results = (outs Gl_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Gl_ReduceOp : Gl_Op<"reduce", [Pure, IsolatedFromAbove]> {
  let summary = "Combines tiles along an axis, at every level that their layout spreads it over";
  let description = [{
    The combiner is a region over two tuples of scalars, as that of `norm.reduce`, and uses no values from outside.
    Registers are combined first, then lanes by shuffles. Warps and CTAs are combined through shared memory, which
    `gl-expand-reductions` makes explicit. Every thread that the axis was spread over ends up with the result.

    Constraints:
    - C1: the tiles have one shape and layout, of which `axis` is an axis.
    - C2: the results have the shape without that axis, and a layout that places elements as the slice along it does,
      whichever attribute says so.
    - C3: the combiner takes two scalars per tile, of the tiles' elements, and yields one per tile.

    Example:

    ```mlir
    %s = gl.reduce %x axis 1 : (tensor<2x64xf32, #blocked>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #blocked>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Gl_Tile>:$tiles, I64Attr:$axis);
  let results = (outs Variadic<Gl_Tile>:$results);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $tiles `axis` $axis attr-dict `:` `(` type($tiles) `)` `->` type($results) `combine` $combiner
  }];
  let hasVerifier = 1;
}

def Gl_WarpReduceOp : Gl_Op<"warp_reduce", [Pure, IsolatedFromAbove]> {
  let summary = "Combines tiles along an axis within each warp";
  let description = [{
    Like `gl.reduce`, but stops at the warp: the axis stays, with one element for each warp that it was spread over. The
    first half of a reduction that crosses warps.

    Constraints:
    - C1: the tiles have one shape and layout, of which `axis` is an axis.
    - C2: the results have the operands' shape but along `axis`.
    - C3: the combiner takes two scalars per tile, of the tiles' elements, and yields one per tile.

    Example: `%p = gl.warp_reduce %x axis 1 : (tensor<1x4096xf32, #blocked>) -> tensor<1x8xf32, #partial> combine { ... }`
  }];
  let arguments = (ins Variadic<Gl_Tile>:$tiles, I64Attr:$axis);
  let results = (outs Variadic<Gl_Tile>:$results);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $tiles `axis` $axis attr-dict `:` `(` type($tiles) `)` `->` type($results) `combine` $combiner
  }];
  let hasVerifier = 1;
}

def Gl_ScanOp : Gl_Op<"scan", [Pure, IsolatedFromAbove,
    TypesMatchWith<"the result has the type of the tile", "tile", "result", "$_self">]> {
  let summary = "Combines each element of a tile with those before it along an axis";
  let description = [{
    Element `i` of the result combines the elements up to and with `i` along the axis, in their order (an inclusive
    scan). With an `identity` the scan is exclusive: element `i` combines those before it, and the first one is the
    identity. With `reverse` the elements are taken in the opposite order, so that the last one is the first. The total
    combines all elements; all threads have it by then. The combiner is that of `gl.reduce`, of one tile.

    The scan takes a step for each bit of the coordinate, from the lowest on: the upper half of a block is combined with
    the total of the lower half. Bits of registers are steps within each thread, bits of lanes take shuffles (Sklansky,
    Conditional-Sum Addition Logic, 1960). Bits of warps are the highest ones: `gl-expand-reductions` brings the total
    of each warp through shared memory, and has each warp scan its own elements behind these totals, `gathered`.

    Constraints:
    - C1: `axis` is an axis of the tile.
    - C2: the combiner takes two of the tile's elements and yields one; the identity is one.
    - C3: `gathered` has the tile's elements, and its shape but along `axis`.
    - C4: the total has the tile's elements and its shape without that axis, and a layout that places elements as the slice along
      it does, whichever attribute says so.

    Example:

    ```mlir
    %s, %t = gl.scan %x axis 1 identity 0.0 : f32
        : tensor<2x64xf32, #blocked> -> tensor<2xf32, #gl.slice<axis = 1, parent = #blocked>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins
    Gl_Tile:$tile,
    Optional<Gl_Tile>:$gathered,
    I64Attr:$axis,
    UnitAttr:$reverse,
    OptionalAttr<TypedAttrInterface>:$identity
  );
  let results = (outs Gl_Tile:$result, Gl_Tile:$total);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $tile `axis` $axis (`reverse` $reverse^)? (`behind` $gathered^ `:` type($gathered))? (`identity` $identity^)? attr-dict
    `:` type($tile) `->` type($total) `combine` $combiner
  }];
  let hasVerifier = 1;
}

def Gl_YieldOp : Gl_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["ReduceOp", "ScanOp", "WarpReduceOp"]>]> {
  let summary = "Ends a combiner";
  let arguments = (ins Variadic<Gl_Scalar>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Gl_OptimizationBarrierOp : Gl_Op<"optimization_barrier", [SameOperandsAndResultType]> {
  let summary = "Passes a tile on so that nothing is merged across it";
  let description = [{
    The result equals the operand, but what is computed from it is not merged with what was computed from the operand: a
    bf16 tile that is needed again after a reduction stays 16 bits wide in registers and is widened a second time. It holds
    up to PTX: ptxas may still widen once, where it has registers to spare. (Forcing the second widening by byte
    permutations saved 8 registers at 4096 columns on sm_90a, and cost 0 to 8% of the speed.)

    Example: `%1 = gl.optimization_barrier %0 : tensor<1x4096xbf16, #blocked>`
  }];
  let arguments = (ins Gl_Tile:$source);
  let results = (outs Gl_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def Gl_LocalAllocOp : Gl_Op<"local_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Takes shared memory for a tile";
  let description = [{
    `offset` is its place in the CTA's shared memory, in bytes; `gl-allocate-shared` sets it.

    Example: `%m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<1x8xf32, #gl.plain<order = [1, 0]>>`
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Gl_MemDescType:$memory);
  let assemblyFormat = "attr-dict `:` type($memory)";
}

def Gl_LocalStoreOp : Gl_Op<"local_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stores a tile to shared memory";
  let description = [{
    Threads that hold the same element write it once. `guards` are pairs over the tile's axes, as those of `gl.load`; where
    one fails nothing is written.

    Constraints:
    - C1: the tile has the memory's shape and elements.
    - C2: guards come in pairs, over the tile's axes and no symbols.

    Example: `gl.local_store %t, %m : tensor<1x8xf32, #partial>, !gl.memdesc<1x8xf32, #gl.plain<order = [1, 0]>>`
  }];
  let arguments = (ins Gl_Tile:$tile, Gl_MemDescType:$memory, OptionalAttr<AffineMapAttr>:$guards);
  let assemblyFormat = "$tile `,` $memory (`where` $guards^)? attr-dict `:` type($tile) `,` type($memory)";
  let hasVerifier = 1;
}

def Gl_LocalLoadOp : Gl_Op<"local_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "Loads a tile from shared memory";
  let description = [{
    `guards` are those of `gl.load`, over the scalar `indices`, the tile's axes and the symbols `limits`; where one fails
    nothing is read and the element is zero.

    Loads of different `phase` are not merged: a tile that two phases of a kernel need is loaded twice, and occupies no
    registers in between.

    The memory holds all of the tile, or, where the CTAs of a cluster share one, the part of the CTA that loads: along an axis
    that is spread over four CTAs it has a quarter of the tile's elements.

    Constraints:
    - C1: the tile has the memory's elements, and its shape or a shape of which each CTA holds a part of the memory's
      shape.
    - C2: guards come in pairs, over the indices and the tile's axes and one symbol per limit.

    Example: `%t = gl.local_load %m phase 1 : !gl.memdesc<1x8xf32, #gl.plain<order = [1, 0]>> -> tensor<1x8xf32, #gathered>`
  }];
  let arguments = (ins
    Gl_MemDescType:$memory, Variadic<Index>:$indices, Variadic<Index>:$limits, OptionalAttr<AffineMapAttr>:$guards,
    OptionalAttr<I64Attr>:$phase
  );
  let results = (outs Gl_Tile:$tile);
  let assemblyFormat = [{
    $memory (`where` $guards^ `(` $indices `)` `[` $limits `]`)? (`phase` $phase^)? attr-dict
    `:` type($memory) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Gl_MemDescIndexOp : Gl_Op<"memdesc_index", [Pure]> {
  let summary = "One stage of a multi-buffered memory";
  let description = [{
    Constraints:
    - C1: the result has the memory's shape without its first axis, and its elements.

    Example: `%s = gl.memdesc_index %ring[%stage] : !gl.memdesc<3x1x1024xbf16, #ring> -> !gl.memdesc<1x1024xbf16, #stage>`
  }];
  let arguments = (ins Gl_MemDescType:$memory, Index:$index);
  let results = (outs Gl_MemDescType:$stage);
  let assemblyFormat = "$memory `[` $index `]` attr-dict `:` type($memory) `->` type($stage)";
  let hasVerifier = 1;
}

def Gl_MemDescReshapeOp : Gl_Op<"memdesc_reshape", [Pure]> {
  let summary = "The same memory with other axes";
  let description = [{
    Constraints:
    - C1: both are plain and have their axes in order, of the same elements and of as many; the memory has no padding, and the
      result none or a negative one. The memory may be `#gl.shared_linear` instead, whose elements the result has in the order of
      their numbers.

    Example: `%b = gl.memdesc_reshape %m : !gl.memdesc<4x64x8xbf16, #tile> -> !gl.memdesc<8x1x256xbf16, #boxes>`
  }];
  let arguments = (ins Gl_MemDescType:$memory);
  let results = (outs Gl_MemDescType:$result);
  let assemblyFormat = "$memory attr-dict `:` type($memory) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers and fences
//===----------------------------------------------------------------------===//

def Gl_BarrierOp : Gl_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for the CTA's threads, or for those of a named barrier";
  let description = [{
    What was written to shared memory before the barrier is visible after it. With `id` and `threads` it is a named
    barrier of that many threads; warp-specialised partitions use those, as no partition may wait for another's warps.

    Constraints:
    - C1: `id` and `threads` come together; `id` is 1 to 15, `threads` a multiple of 32.

    Example: `gl.barrier`, `gl.barrier id 1 threads 128`
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$threads);
  let assemblyFormat = "(`id` $id^)? (`threads` $threads^)? attr-dict";
  let hasVerifier = 1;
}

def Gl_FenceAsyncOp : Gl_Op<"fence_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Orders ordinary accesses to shared memory before those of the copy engine";
  let description = "Each thread that wrote runs it, before the barrier that precedes the copy. `fence.proxy.async`.";
  let assemblyFormat = "attr-dict";
}

def Gl_FenceMBarrierInitOp : Gl_Op<"fence_mbarrier_init", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Makes initialised mbarriers visible to the copy engine and the cluster";
  let description = "The thread that initialised them runs it.";
  let assemblyFormat = "attr-dict";
}

def Gl_MBarrierAllocOp : Gl_Op<"mbarrier_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Takes shared memory for mbarriers";
  let description = "Example: `%full = gl.mbarrier_alloc : !gl.mbarrier<3>`";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Gl_MBarrierType:$barriers);
  let assemblyFormat = "attr-dict `:` type($barriers)";
}

def Gl_MBarrierInitOp : Gl_Op<"mbarrier_init", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Initialises every mbarrier of an array for a number of arrivals";
  let description = [{
    One thread does it; a fence and a barrier must follow before any other use.

    Constraints:
    - C1: `arrivals` is positive.

    Example: `gl.mbarrier_init %full, 1 : !gl.mbarrier<3>`
  }];
  let arguments = (ins Gl_MBarrierType:$barriers, I64Attr:$arrivals);
  let assemblyFormat = "$barriers `,` $arrivals attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def Gl_MBarrierArriveOp : Gl_Op<"mbarrier_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives at an mbarrier, once for each warp of the partition";
  let description = [{
    A warp arrives when all of its lanes have done what stands before the op.

    Example: `gl.mbarrier_arrive %empty[%stage] : !gl.mbarrier<3>`
  }];
  let arguments = (ins Gl_MBarrierType:$barriers, Index:$index);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` type($barriers)";
}

def Gl_MBarrierExpectOp : Gl_Op<"mbarrier_expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives at an mbarrier and expects bytes from asynchronous copies";
  let description = [{
    One thread of the partition arrives. `bytes` is a value, as the last copy of a row may be shorter than the others.

    Example: `gl.mbarrier_expect %full[%stage], %bytes : !gl.mbarrier<3>`
  }];
  let arguments = (ins Gl_MBarrierType:$barriers, Index:$index, Index:$bytes);
  let assemblyFormat = "$barriers `[` $index `]` `,` $bytes attr-dict `:` type($barriers)";
}

def Gl_MBarrierWaitOp : Gl_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the phase of a parity has completed";
  let description = "Example: `gl.mbarrier_wait %full[%stage], %parity : !gl.mbarrier<3>`";
  let arguments = (ins Gl_MBarrierType:$barriers, Index:$index, I1:$parity);
  let assemblyFormat = "$barriers `[` $index `]` `,` $parity attr-dict `:` type($barriers)";
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

def Gl_CopyToSharedOp : Gl_Op<"copy_to_shared", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a tile from global to shared memory";
  let description = [{
    Element `t` of the memory becomes the buffer's element at `access(indices..., t...)`; where a guard fails it is undefined.
    The elements are there when the op ends. That is how a kernel says what it keeps in shared memory; `gl-pipeline` makes
    asynchronous copies of it, several steps of a loop ahead. Each CTA of a cluster copies what it needs itself: an index
    may be its rank.

    Constraints:
    - C1: `access` maps the indices and the memory's axes to one coordinate per axis of the buffer.
    - C2: the memory's elements are the buffer's.
    - C3: guards come in pairs, over the dims of `access` and one symbol per limit.

    Example: `gl.copy_to_shared %x at affine_map<(m, r, n) -> (m * 2 + r, n)>(%m), %s by bulk : memref<?x4096xbf16>, !gl.memdesc<2x4096xbf16, #plain>`
  }];
  let arguments = (ins
    Gl_Reads<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Index>:$limits, Gl_MemDescType:$memory,
    AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, Gl_CopyEngine:$engine
  );
  let assemblyFormat = [{
    $buffer `at` $access `(` $indices `)` (`where` $guards^ `[` $limits `]`)? `,` $memory `by` $engine attr-dict
    `:` type($buffer) `,` type($memory)
  }];
  let hasVerifier = 1;
}

def Gl_CopyFromSharedOp : Gl_Op<"copy_from_shared", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a tile from shared to global memory";
  let description = [{
    The reverse of `gl.copy_to_shared`: the buffer's element at `access(indices..., t...)` becomes element `t` of the
    memory; where a guard fails, nothing is written. The memory may be written again when the op ends. `gl-pipeline`
    makes asynchronous copies of it, which are in flight while a loop goes on.

    Constraints:
    - C1: `access` maps the indices and the memory's axes to one coordinate per axis of the buffer.
    - C2: the memory's elements are the buffer's.
    - C3: guards come in pairs, over the dims of `access` and one symbol per limit.

    Example: `gl.copy_from_shared %s, %y at affine_map<(m, r, n) -> (m * 2 + r, n)>(%m) by bulk : !gl.memdesc<2x4096xbf16, #plain>, memref<?x4096xbf16>`
  }];
  let arguments = (ins
    Gl_MemDescType:$memory, Gl_Writes<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Index>:$limits,
    AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, Gl_CopyEngine:$engine
  );
  let assemblyFormat = [{
    $memory `,` $buffer `at` $access `(` $indices `)` (`where` $guards^ `[` $limits `]`)? `by` $engine attr-dict
    `:` type($memory) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def Gl_AsyncCopyOp : Gl_Op<"async_copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a tile from global to shared memory by cp.async";
  let description = [{
    Access and guards are those of `gl.load`; masked elements become zero. The copy belongs to the group that the next
    `gl.async_commit` closes.

    The CTA's threads share the copy: neighbouring threads copy neighbouring vectors of the memory. `vector` is the
    number of elements that one `cp.async` moves; `gl-vectorize-access` sets it. Vectors of less than 4 bytes, the least
    that `cp.async` moves, go through registers, and have arrived when the group has.

    Constraints:
    - C1: `access` maps the indices and the memory's axes to one coordinate per axis of the buffer.
    - C2: the memory's elements are the buffer's.
    - C3: guards come in pairs, over the dims of `access` and one symbol per limit.
    - C4: `vector` is one element, or 4, 8 or 16 bytes.

    Example: `gl.async_copy %x at affine_map<(b, r, n) -> (b, n)>(%b), %m vector 8 : memref<?x4096xbf16>, !gl.memdesc<1x4096xbf16, #plain>`
  }];
  let arguments = (ins
    Gl_Reads<AnyMemRef>:$buffer, Variadic<Index>:$indices, Variadic<Index>:$limits, Gl_MemDescType:$memory,
    AffineMapAttr:$access, OptionalAttr<AffineMapAttr>:$guards, OptionalAttr<Gl_CacheAttr>:$cache,
    OptionalAttr<I64Attr>:$vector
  );
  let assemblyFormat = [{
    $buffer `at` $access `(` $indices `)` (`where` $guards^ `[` $limits `]`)? `,` $memory (`cache` $cache^)?
    (`vector` $vector^)? attr-dict `:` type($buffer) `,` type($memory)
  }];
  let hasVerifier = 1;
}

def Gl_AsyncCommitOp : Gl_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Closes a group of cp.async copies";
  let assemblyFormat = "attr-dict";
}

def Gl_AsyncWaitOp : Gl_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most so many of the thread's cp.async groups are in flight";
  let description = "Example: `gl.async_wait 1`";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Gl_BulkLoadOp : Gl_Op<"bulk_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies contiguous bytes from global to shared memory by the copy engine";
  let description = [{
    `cp.async.bulk`: one thread issues it, and its bytes arrive at the mbarrier. Address and size are multiples of 16
    bytes. With `count`, only so many elements are copied, from the memory's first: the tail of a row.

    Constraints:
    - C1: `access` maps the indices to one coordinate per axis of the buffer.
    - C2: the memory's elements are the buffer's.

    Example: `gl.bulk_load %x at affine_map<(m, c) -> (m, c)>(%m, %c), %s, %full[%stage] count %n : memref<?x8192xbf16>, !gl.memdesc<1x1024xbf16, #plain>, !gl.mbarrier<3>`
  }];
  let arguments = (ins
    Gl_Reads<AnyMemRef>:$buffer, Variadic<Index>:$indices, Gl_MemDescType:$memory, Gl_MBarrierType:$barriers, Index:$index,
    Optional<Index>:$count, AffineMapAttr:$access, OptionalAttr<Gl_CacheAttr>:$cache
  );
  let assemblyFormat = [{
    $buffer `at` $access `(` $indices `)` `,` $memory `,` $barriers `[` $index `]` (`count` $count^)?
    (`cache` $cache^)? attr-dict
    `:` type($buffer) `,` type($memory) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

def Gl_TailLoadOp : Gl_Op<"tail_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Loads the last elements of a run from global to shared memory, one by one";
  let description = [{
    One thread loads the elements `from` up to `to` of the memory: fewer than 16 bytes, where the buffer ends within the 16
    bytes that a `gl.bulk_load` would have to copy. The others of these 16 bytes become 0. Whoever waits for a
    `gl.mbarrier_expect` or a `gl.mbarrier_arrive` of the same thread behind it sees them.

    Constraints:
    - C1: `access` maps the indices to one coordinate per axis of the buffer, those of the memory's first element.
    - C2: the memory's elements are the buffer's.

    Example: `gl.tail_load %x at affine_map<(m, c) -> (m, c)>(%m, %c), %s from %whole to %n : memref<?x8191xbf16>, !gl.memdesc<1x1024xbf16, #plain>`
  }];
  let arguments = (ins
    Gl_Reads<AnyMemRef>:$buffer, Variadic<Index>:$indices, Gl_MemDescType:$memory, Index:$from, Index:$to, AffineMapAttr:$access
  );
  let assemblyFormat = [{
    $buffer `at` $access `(` $indices `)` `,` $memory `from` $from `to` $to attr-dict `:` type($buffer) `,` type($memory)
  }];
  let hasVerifier = 1;
}

def Gl_BulkStoreOp : Gl_Op<"bulk_store", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies contiguous bytes from shared to global memory by the copy engine";
  let description = [{
    Needs `gl.fence_async` and a barrier after the writes to shared memory. The copy belongs to the bulk group that the
    next `gl.bulk_commit` closes. `count` is that of `gl.bulk_load`.

    Constraints:
    - C1: `access` maps the indices to one coordinate per axis of the buffer.
    - C2: the memory's elements are the buffer's.

    Example: `gl.bulk_store %s, %y at affine_map<(m, c) -> (m, c)>(%m, %c) : !gl.memdesc<1x1024xbf16, #plain>, memref<?x8192xbf16>`
  }];
  let arguments = (ins
    Gl_MemDescType:$memory, Gl_Writes<AnyMemRef>:$buffer, Variadic<Index>:$indices, Optional<Index>:$count, AffineMapAttr:$access
  );
  let assemblyFormat = [{
    $memory `,` $buffer `at` $access `(` $indices `)` (`count` $count^)? attr-dict `:` type($memory) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def Gl_BulkCommitOp : Gl_Op<"bulk_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Closes a group of bulk stores";
  let assemblyFormat = "attr-dict";
}

def Gl_BulkWaitOp : Gl_Op<"bulk_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until at most so many bulk groups are in flight";
  let description = "With `read`, waits only until the sources of the others may be overwritten. Example: `gl.bulk_wait 1 read`";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def Gl_TensorMapOp : Gl_Op<"tensor_map", [Pure,
    TypesMatchWith<"the map is of the buffer", "map", "buffer", "::mlir::cast<::mlir::gl::TensorMapType>($_self).getBuffer()">]> {
  let summary = "The TMA descriptor of a buffer, which the launch passes";
  let description = [{
    `convert-gl-to-nvvm` turns it into a parameter of the kernel (`#gl.param<tensor_map ...>`), and refuses a buffer
    unless the launch promises that its address and strides are multiples of 16 bytes, as the engine requires.

    Constraints:
    - C1: the buffer has 1 to 5 axes, and the box has an extent from 1 to 256 for each; along the last axis, whose
      stride is 1, the box has a multiple of 16 bytes.
    - C2: a swizzle is over 32, 64 or 128 bytes, and rows of the box have as many.

    Example: `%map = gl.tensor_map %x : !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>`
  }];
  let arguments = (ins AnyMemRef:$buffer);
  let results = (outs Gl_TensorMapType:$map);
  let assemblyFormat = "$buffer attr-dict `:` type($map)";
  let hasVerifier = 1;
}

def Gl_TensorLoadOp : Gl_Op<"tensor_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a box of a tensor to shared memory by TMA";
  let description = [{
    Elements outside of the tensor become zero; the whole box counts towards the mbarrier.

    Constraints:
    - C1: there is one coordinate per axis of the tensor map, and the memory has the box's shape and elements.

    Example: `gl.tensor_load %map[%m, %c], %s, %full[%stage] : !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>, !gl.memdesc<1x256xbf16, #plain>, !gl.mbarrier<3>`
  }];
  let arguments = (ins
    Gl_Reads<Gl_TensorMapType>:$map, Variadic<Index>:$coordinates, Gl_MemDescType:$memory, Gl_MBarrierType:$barriers, Index:$index
  );
  let assemblyFormat = [{
    $map `[` $coordinates `]` `,` $memory `,` $barriers `[` $index `]` attr-dict
    `:` type($map) `,` type($memory) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

def Gl_TensorStoreOp : Gl_Op<"tensor_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies shared memory to a box of a tensor by TMA";
  let description = [{
    Elements outside of the tensor are not written. Fences and groups are those of `gl.bulk_store`.

    Constraints:
    - C1: there is one coordinate per axis of the tensor map, and the memory has the box's shape and elements.

    Example: `gl.tensor_store %s, %map[%m, %c] : !gl.memdesc<1x256xbf16, #plain>, !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>`
  }];
  let arguments = (ins Gl_MemDescType:$memory, Gl_Writes<Gl_TensorMapType>:$map, Variadic<Index>:$coordinates);
  let assemblyFormat = "$memory `,` $map `[` $coordinates `]` attr-dict `:` type($memory) `,` type($map)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles that CTAs draw
//===----------------------------------------------------------------------===//

def Gl_NextTileOp : Gl_Op<"next_tile", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Draws the next tile of a loop whose tiles the CTAs of a grid share";
  let description = [{
    Atomically adds 1 to `counter`, and returns the tile number `dealt` plus the counter's old value: no other CTA gets
    this tile, and all threads of the CTA get the same one. The first `dealt` tiles are not drawn: each belongs to the
    CTA of its number. Where the CTAs of a cluster share a tile, the cluster takes the place of the CTA.

    A CTA draws once for each of the `tiles` tiles that it works on, and stops at the first number beyond them. So all
    CTAs together draw as often as there are tiles, and the last of these draws sets the counter back to zero for the
    next launch.

    Example: `%next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>`
  }];
  let arguments = (ins Gl_Updates<Gl_Counter>:$counter, Index:$tiles, Index:$dealt);
  let results = (outs Index:$tile);
  let assemblyFormat = "$counter `of` $tiles `behind` $dealt attr-dict `:` type($counter)";
}

def Gl_DrawTileOp : Gl_Op<"draw_tile", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Draws a tile, and tells the CTA through shared memory";
  let description = [{
    One thread of the partition draws as `gl.next_tile` does, stores the tile's number to `numbers[index]`, and arrives at
    `drawn[index]`. `gl.await_tile` reads it. In a cluster all CTAs execute the op together: the first one draws and stores the number to
    the memory of each (`st.async`), where a thread expects its bytes at `drawn[index]`. Whoever inserts the op ensures that all CTAs have
    read what it overwrites.

    Constraints:
    - C1: the memory holds a number of type index for each mbarrier, along its first axis of two.

    Example: `gl.draw_tile %counter of %tiles behind %ctas, %numbers, %drawn[%slot] : memref<1xi64>, !gl.memdesc<3x1xindex, #plain>, !gl.mbarrier<3>`
  }];
  let arguments = (ins
    Gl_Updates<Gl_Counter>:$counter, Index:$tiles, Index:$dealt, Gl_MemDescType:$numbers, Gl_MBarrierType:$drawn, Index:$index
  );
  let assemblyFormat = [{
    $counter `of` $tiles `behind` $dealt `,` $numbers `,` $drawn `[` $index `]` attr-dict
    `:` type($counter) `,` type($numbers) `,` type($drawn)
  }];
  let hasVerifier = 1;
}

def Gl_AwaitTileOp : Gl_Op<"await_tile", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for a tile's number, and reads it";
  let description = [{
    Waits until the phase of that parity has completed at `drawn[index]`, and returns `numbers[index]` in all threads.

    Constraints:
    - C1: the memory holds a number of type index for each mbarrier, along its first axis of two.

    Example: `%next = gl.await_tile %numbers, %drawn[%slot], %parity : !gl.memdesc<3x1xindex, #plain>, !gl.mbarrier<3>`
  }];
  let arguments = (ins Gl_MemDescType:$numbers, Gl_MBarrierType:$drawn, Index:$index, I1:$parity);
  let results = (outs Index:$tile);
  let assemblyFormat = [{
    $numbers `,` $drawn `[` $index `]` `,` $parity attr-dict `:` type($numbers) `,` type($drawn)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Dependent launches
//===----------------------------------------------------------------------===//

def Gl_GridDependencyWaitOp : Gl_Op<"grid_dependency_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the kernels ahead in the stream have ended and what they wrote is visible";
  let description = "`griddepcontrol.wait`; returns at once in a kernel that was not launched as a dependent one.";
  let assemblyFormat = "attr-dict";
}

def Gl_GridDependencyLaunchOp : Gl_Op<"grid_dependency_launch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Lets the kernel behind in the stream start, once every CTA has run it or ended";
  let description = "`griddepcontrol.launch_dependents`; it orders no memory, for which the kernel behind waits itself.";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

def Gl_ClusterRankOp : Gl_Op<"cluster_rank", [Pure]> {
  let summary = "The CTA's rank in its cluster";
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict";
}

def Gl_ClusterArriveOp : Gl_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives at the cluster's barrier";
  let description = [{
    All threads of the cluster arrive. `relaxed` orders no memory; initialised mbarriers are made visible by
    `gl.fence_mbarrier_init`.
  }];
  let arguments = (ins UnitAttr:$relaxed);
  let assemblyFormat = "(`relaxed` $relaxed^)? attr-dict";
}

def Gl_ClusterWaitOp : Gl_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for every thread of the cluster to arrive";
  let description = [{
    The wait acquires what others released, and with that invalidates the SM's L1 cache: data that is to stay there has
    to be read after it.
  }];
  let assemblyFormat = "attr-dict";
}

def Gl_RemoteStoreOp : Gl_Op<"remote_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Stores a tile into the shared memory of every CTA of the cluster, completing on their mbarriers";
  let description = [{
    `st.async`: `memory` and `barriers` name the same places in each CTA. Every CTA stores the elements that it holds to
    all CTAs, itself included, so that each ends up with the whole tile and expects all of its bytes. An element that
    several CTAs hold is stored by the first of them.

    Constraints:
    - C1: the tile has the memory's shape and elements, each of 4 or 8 bytes.

    Example: `gl.remote_store %p, %m, %bar[%zero] : tensor<4xf32, #partial>, !gl.memdesc<4xf32, #plain>, !gl.mbarrier<1>`
  }];
  let arguments = (ins Gl_Tile:$tile, Gl_MemDescType:$memory, Gl_MBarrierType:$barriers, Index:$index);
  let assemblyFormat = [{
    $tile `,` $memory `,` $barriers `[` $index `]` attr-dict `:` type($tile) `,` type($memory) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

def Gl_RemoteArriveOp : Gl_Op<"remote_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Gives memory back to the cluster: arrives at the mbarrier of every CTA, once";
  let description = [{
    Accesses of the CTA's threads to the memory before this op are complete for whoever waits for the phase: the other
    CTAs may store to the memory again. One thread of the CTA arrives at each mbarrier, so that a barrier of the CTA has
    to come before it (`gl-insert-barriers`).

    Example: `gl.remote_arrive %bar[%slot] frees %m : !gl.mbarrier<2>, !gl.memdesc<2x4xf32, #plain>`
  }];
  let arguments = (ins Gl_MBarrierType:$barriers, Index:$index, Variadic<Gl_MemDescType>:$memories);
  let assemblyFormat = [{
    $barriers `[` $index `]` `frees` $memories attr-dict `:` type($barriers) `,` type($memories)
  }];
}

//===----------------------------------------------------------------------===//
// Warp specialisation
//===----------------------------------------------------------------------===//

def Gl_OfGroupOp : Gl_Op<"of_group", [SameOperandsAndResultType]> {
  let summary = "Returns the value that a tile has in another group of consumer warps";
  let description = [{
    A kernel with `gl.consumer_groups` is written as the program of one group; the groups take the steps of its loop in
    turns, so that a tile which the loop has accumulated differs between them. The result is the tile of group `group`.
    `gl-specialize-warps` makes an exchange through shared memory of it, from that group to the first one, which alone
    runs what stands behind the loop.

    Constraints:
    - C1: `group` is positive: group 0 is the one that runs the op.

    Example: `%1 = gl.of_group 1, %0 : tensor<1x4096xf32, #blocked>`
  }];
  let arguments = (ins I64Attr:$group, Gl_Tile:$tile);
  let results = (outs Gl_Tile:$result);
  let assemblyFormat = "$group `,` $tile attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Gl_WarpSpecializeOp : Gl_Op<"warp_specialize", [RecursiveMemoryEffects, NoTerminator, SingleBlock]> {
  let summary = "Runs each region on warps of its own";
  let description = [{
    The CTA's warps are assigned to the regions in order. In a region, the warps of a layout, the threads of a barrier
    and "one thread" are the region's own. With `registers`, a thread of each region has so many: at its beginning the
    region gives up or takes what it has more or fewer than all threads of the kernel start with
    (`gl.start_registers`), for which it waits until another region has given them up. The four warps of a warpgroup do
    so together (PTX ISA, `setmaxnreg`). The op ends when every region has ended.

    Constraints:
    - C1: there is a number of warps and, if any is given, a number of registers per region.
    - C2: a number of registers is a multiple of 8 from 24 to 240.
    - C3: with registers, each region has whole warpgroups, of 4 warps.

    Example: `gl.warp_specialize warps [8, 4] registers [112, 24] {...}, {...}`
  }];
  let arguments = (ins DenseI64ArrayAttr:$warps, OptionalAttr<DenseI64ArrayAttr>:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$partitions);
  let assemblyFormat = "`warps` $warps (`registers` $registers^)? attr-dict-with-keyword $partitions";
  let hasVerifier = 1;
}

#endif // GL_OPS_TD
