//===- NormKernelFormOps.td - scalar programs over iteration spaces ---------===//

#ifndef NORM_KERNEL_FORM_OPS_TD
#define NORM_KERNEL_FORM_OPS_TD

include "norm/NormOpBase.td"

def Norm_ComputeOp : Norm_Op<"compute", [Pure, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A scalar program over an iteration space, on tensors";
  let description = [{
    Kernel form before it has been given buffers: what `norm-decompose` makes of a named op, and what
    `norm-form-kernels` outlines. The block's arguments are the tensors among the inputs, the results (which `norm.write`
    fills, every element exactly once), the scalars among the inputs and the dims of the space, in this order. A scalar is
    a value that varies over no dim.

    The space is the box of its dims, less the points at which a guard of `where` fails: there is no such point, so that
    nothing is read or written there, and no reduction ranges over it. A guard concerns what uses all of its dims: an
    access by them, and a reduction that ranges or varies over each of them. So blocks of an axis may end in one that is
    shorter than the others.

    Attributes, for `n` dims and `s` sizes:
    - `extents`: `()[s] -> (n results)`; `sizes`: pairs (buffer, axis), one per symbol.
    - `guards`: `(n)[s] -> (lhs0, rhs0, lhs1, rhs1, ...)`, each pair meaning `lhs < rhs`.

    Constraints:
    - C1: the block's arguments are the tensors among the inputs, the results, the scalars, and one `index` per dim.
    - C2: each extent is over sizes of the inputs or results, and each such size names an axis that exists.
    - C3: each result that can hold an element is written.
    - C4: a constant that an extent or a guard divides by is positive.
    - C5: guards come in pairs and are over the compute's dims and sizes.
    - C6: a reduction over a dim of a guard ranges or varies over all of the guard's dims and has no `nth`, and no scan is
      along a dim of a guard.

    Example, the sum of each row:

    ```mlir
    %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
      %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
      %1 = norm.reduce add %0 over(%n) : f32
      norm.write %1, %o[%m] : tensor<?xf32>
    }
    ```

    The sum of each row and a number that the caller gives:

    ```mlir
    %s = norm.compute(%a = %x : tensor<?x64xf32>, %e = %eps : f32) -> (%o : tensor<?xf32>)
        space(%m = dim(%a, 0), %n = 64) {
      %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
      %1 = norm.reduce add %0 over(%n) : f32
      %2 = arith.addf %1, %e : f32
      norm.write %2, %o[%m] : tensor<?xf32>
    }
    ```

    The largest number of each 128 neighbours, the last of which may be fewer:

    ```mlir
    %s = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>)
        space(%b = dim(%a, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%a, 0)) {
      %0 = norm.read %a[%b * 128 + %i] : tensor<?xf32>
      %1 = norm.reduce max %0 over(%i) : f32
      norm.write %1, %o[%b] : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins
    Variadic<Norm_ComputeInput>:$inputs,
    AffineMapAttr:$extents,
    DenseI64ArrayAttr:$sizes,
    OptionalAttr<AffineMapAttr>:$guards
  );
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// The tensors among the inputs, and the results: the first arguments of the block.
    size_t getNumBuffers() {
      return ::llvm::count_if(getInputs().getTypes(), ::llvm::IsaPred<::mlir::ShapedType>) + getNumResults();
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Norm_KernelOp : Norm_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator, Symbol,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A scalar program over an iteration space, on buffers: one GPU kernel";
  let description = [{
    The block's arguments are the buffers, then scalars that the launch passes by value, then the dims of the space. A dim
    has an extent, static or a function of the buffers' sizes, and no kind of its own: one value may reduce over it and
    another may keep it. A scalar varies over no dim.

    An SSA value of the body is a function of the dims it varies over: those that its operands vary over, less those
    that a `norm.reduce` removes. The order of evaluation is that of the data flow alone.

    Some of what a body may be written with is notation, which the parser replaces: accesses without their buffer's type,
    `norm.reduce mean`, `norm.extent`, and constants from outside in combiners. It is printed as what it stands for.

    Where a function is called with several tensors, one dim whose extent is a dynamic size of one may be the coordinate of an access
    along an axis of another: a launch refuses tensors whose sizes there differ.

    There is no point of the space at which a guard of `where` fails: nothing is read or written there, and reductions see
    the combiner's identity. A guard concerns what uses all of its dims: an access by them, and a reduction that ranges
    or varies over each of them. `norm-tile` splits dims and says what each part is spread over (`grid`, `cluster`,
    `loop`, `thread`, `register`); guards then mask the points that the split added at the edges, too.

    Attributes, for `n` dims and `s` sizes:
    - `extents`: `()[s] -> (n results)`; `sizes`: pairs (buffer, axis), one per symbol.
    - `roles`: one `DimRole` per dim, once tiled.
    - `guards`: `(n)[s] -> (lhs0, rhs0, lhs1, rhs1, ...)`, each pair meaning `lhs < rhs`.
    - `alignments`: bytes, one per buffer: the base address and every stride of a dynamic strided layout are multiples of
      it. Without them an element's own size is all that is known, and accesses move single elements.
    - `multiples`: triples (buffer, axis, multiple): the size of a dynamic axis is a multiple of `multiple`. Nothing is
      known of other dynamic sizes.
    - `bounds`: quadruples (buffer, axis, least, most): the size of a dynamic axis is at least `least` and at most
      `most`, 2^63 - 1 for no upper bound. A launch refuses other sizes.
    - `aliases`: pairs (output, input) of buffers that may be the same memory. Outputs share no element with any others.
    - `alternatives` and `conditions`, `()[s] -> (lhs0, rhs0, ...)`: schedules for some sizes. The i-th one is for sizes that
      satisfy `lhs < rhs` of the i-th pair and of no pair before it. `norm-dispatch-schedules` makes a kernel of each.
    - `schedule`: how to spread the space over the machine; with `alternatives`, for all other sizes.

    Constraints:
    - C1: the block's arguments are memrefs, then scalars, and then one `index` per dim.
    - C2: each extent is over sizes of the buffers, and each such size names an axis that exists.
    - C3: there is one role per dim, or none at all.
    - C4: guards come in pairs and are over the kernel's dims and sizes.
    - C5: there is one alignment per buffer, each a power of two of at most 2^31.
    - C6: a multiple is positive, and of a dynamic axis that exists.
    - C7: buffers that may be the same have one type, and every access to either has the same coordinates.
    - C8: a `thread` or `register` dim has at most 2^30 points.
    - C9: bounds are of a dynamic axis that exists, once for each, and 0 <= least <= most.
    - C10: there is a pair of conditions, over the kernel's sizes, for each alternative, which is a `#norm.schedule`; a kernel
      with roles has none. A condition divides by constants alone.
    - C11: a constant that an extent, a guard or a condition divides by is positive.
    - C12: a reduction over a dim of a guard ranges or varies over all of the guard's dims and has no `nth`, and no scan is
      along a dim of a guard. Not checked for a tiled kernel, nor for one that a split has left (`norm.part`), in which a
      grid coordinate counts as one that everything varies over.

    Example:

    ```mlir
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%n) : f32
      norm.write %1, %y[%m] : memref<?xf32>
    }
    ```

    A promise about the sizes stands behind the space, where every launch keeps it:

    ```mlir
    norm.kernel @sum(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
        multiples(dim(%x, 1) = 8) bounds(1 <= dim(%x, 0), 64 <= dim(%x, 1) <= 4096) { ... }
    ```

    One row for each warp where there are many rows, and for each CTA where there are few:

    ```mlir
    norm.kernel @sum(%x: memref<?x4096xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 4096)
        schedule(#norm.schedule<spread = [[grid], [loop, warp(8), lane(32)]]> if dim(%x, 0) < 264,
                 #norm.schedule<spread = [[grid, warp(8)], [loop, lane(32)]]>) { ... }
    ```

    The first one after `norm-tile` with two rows per CTA, a warp for each:

    ```mlir
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
        space(%b = dim(%x, 0) ceildiv 2 : grid, %w = 2 : thread, %t = 32 : thread, %v = 2 : register)
        where(%b * 2 + %w < dim(%x, 0)) { ... }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    AffineMapAttr:$extents,
    DenseI64ArrayAttr:$sizes,
    OptionalAttr<DenseI32ArrayAttr>:$roles,
    OptionalAttr<AffineMapAttr>:$guards,
    OptionalAttr<DenseI64ArrayAttr>:$alignments,
    OptionalAttr<DenseI64ArrayAttr>:$multiples,
    OptionalAttr<DenseI64ArrayAttr>:$bounds,
    OptionalAttr<DenseI64ArrayAttr>:$aliases,
    OptionalAttr<ArrayAttr>:$alternatives,
    OptionalAttr<AffineMapAttr>:$conditions,
    OptionalAttr<Norm_ScheduleAttr>:$schedule
  );
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// The memrefs, which are the first arguments of the block.
    size_t getNumBuffers() {
      auto types = getBody().front().getArgumentTypes();
      return ::llvm::find_if_not(types, ::llvm::IsaPred<::mlir::MemRefType>) - types.begin();
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Norm_LaunchOp : Norm_Op<"launch", []> {
  let summary = "Runs a kernel on buffers and scalars";
  let description = [{
    Stands in the host function that becomes a function of the bundle: the kernels run in order on one stream. The
    callee is a `norm.kernel`, and after `convert-norm-to-gl` the function in the `gpu.module` that it became. A buffer is an
    argument of the host function or scratch, a `memref.alloc` with `norm.scratch`; a scalar is an argument.

    A kernel writes arguments with `norm.output` alone. No buffer that it writes is the memory of another one that it gets,
    unless its `aliases` say so: not the same buffer a second time, nor, by `norm.may_alias`, the argument whose memory an
    output may share. `norm-form-kernels` checks this, and for inputs of later levels the compiler when it reads them.

    Example:

    ```mlir
    norm.launch @rms_norm_0(%x, %w, %y) : memref<?x4096xbf16>, memref<4096xbf16>, memref<?x4096xbf16>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$callee, Variadic<Norm_LaunchArgument>:$arguments);
  let assemblyFormat = "$callee `(` $arguments `)` attr-dict `:` type($arguments)";
}

def Norm_NumSmsOp : Norm_Op<"num_sms", [Pure]> {
  let summary = "The number of the device's multiprocessors";
  let description = [{
    Stands in a host function, where sizes of scratch may depend on it. It is known at launch.

    Example: `%0 = norm.num_sms`
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Norm_ReadOp : Norm_Op<"read", [Pure,
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "Reads one element of a buffer at an affine function of dims and numbers";
  let description = [{
    The value varies over the dims that the access uses, and the element is read at each of their points, whatever the
    other dims are. A kernel's inputs and
    outputs do not alias but where `aliases` says so, at the points that read them, so a read is not ordered with other accesses. A number
    of type `index` that the launch passes serves as the start of a part of the buffer, where it is known only at run time. At a
    place that the kernel computes, `norm.gather` reads.

    Constraints:
    - C1: there is one coordinate per axis of the buffer.
    - C2: an index is a dim of the kernel or a number of type `index` among its scalars, and no symbol.
    - C3: the buffer is an argument of the kernel.
    - C4: each coordinate lies within the buffer.
    - C5: the buffer is an input: nothing writes it.
    - C6: a constant that a coordinate divides by is positive.

    C4 has to hold for some sizes and numbers at least. Where it depends on dynamic sizes or on numbers, it becomes a
    condition that a launch checks. It is not checked for a tiled kernel, whose guards preserve it.

    The type may be left out where the buffer is one of the space around.

    Examples:

    ```mlir
    %0 = norm.read %x[%b, %p, %g * 16 + %k] : memref<?x4096x512xbf16>
    %1 = norm.read %qkv[%m, %n + %head * 128]  // %head is a number
    ```
  }];
  let arguments = (ins Norm_Buffer:$buffer, Variadic<Index>:$indices, AffineMapAttr:$access);
  let results = (outs Norm_Scalar:$result);
  let assemblyFormat = "$buffer `` custom<Access>($indices, $access) attr-dict custom<BufferType>(ref($buffer), type($buffer))";
  let hasVerifier = 1;
}

def Norm_GatherOp : Norm_Op<"gather", [Pure, AttrSizedOperandSegments, HasParent<"KernelOp">,
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "Reads one element of a buffer at a place that the kernel computes";
  let description = [{
    As `norm.read`, but an index may also be a value of the body, such as a row's label or a token's id that was read from
    memory. The results vary over the dims of the coordinates and of the values among them.

    `inside` is whether the condition holds, if there is one, and all coordinates lie within the buffer. Where it does not,
    nothing is read and `result` is zero: memory that is read decides on no access outside of a buffer.

    A row that is read at a computed place is read as fast as any other: values among the coordinates move whole rows, and
    neighbours along a dim stay neighbours.

    Constraints:
    - C1: there is one coordinate per axis of the buffer.
    - C2: the buffer is an argument of the kernel.
    - C3: the buffer is an input: nothing writes it, and no result of the kernel may be the same memory.
    - C4: a coordinate adds multiples of computed values, and divides none.
    - C5: a coordinate without computed values lies within the buffer, as those of `norm.read` do.
    - C6: a constant that a coordinate divides by is positive, and no coordinate has a symbol.

    Examples:

    ```mlir
    %logit, %is_class = norm.gather %x[%m, %label] : memref<?x4096xbf16>
    %embedding, %is_known = norm.gather %table[%id, %n]              // a row for each id
    %element, %is_there = norm.gather %packed[%first + %i] if %is_in_segment
    ```
  }];
  let arguments = (ins Norm_Buffer:$buffer, Variadic<Index>:$indices, Optional<I1>:$condition, AffineMapAttr:$access);
  let results = (outs Norm_Scalar:$result, I1:$inside);
  let assemblyFormat = [{
    $buffer `` custom<Access>($indices, $access) (`if` $condition^)? attr-dict custom<BufferType>(ref($buffer), type($buffer))
  }];
  let hasVerifier = 1;
}

def Norm_WriteOp : Norm_Op<"write", [MemoryEffects<[MemWrite]>,
    TypesMatchWith<"the value is an element of the buffer", "buffer", "value",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "Writes one element of a buffer at an affine function of dims";
  let description = [{
    The element is written at each point of the dims that the access uses. It is written whatever the other dims are,
    also when one of them has no points: the value does not vary over them. Writes cover their whole buffer, so that
    none starts at a number that only a launch knows; `norm.scatter` writes at places that the kernel computes.

    With `partial` on one of its writes a buffer may have padding, elements that none of its writes reaches: they hold
    what they held before. A buffer that a launch makes, such as scratch, holds anything there. A dynamic axis ends
    where its writes do.

    Constraints:
    - C1: there is one coordinate per axis of the buffer.
    - C2: an index is a dim of the kernel, and no symbol.
    - C3: the buffer is an argument of the kernel.
    - C4: the value varies over no dim that the access leaves out.
    - C5: each coordinate lies within the buffer.
    - C6: the buffer is an output.
    - C7: no element is written twice, be it by one write or by two.
    - C8: every element of the buffer is written, unless one of its writes is `partial`.
    - C9: a constant that a coordinate divides by is positive.

    C5, C7 and C8 have to hold for some sizes at least. Where they depend on dynamic sizes, they become conditions that
    a launch checks. They are not checked for a tiled kernel, whose guards preserve them.

    Examples:

    ```mlir
    norm.write %8, %y[%m, %n] : memref<?x4096xbf16>
    norm.write %9, %tiles[%m floordiv 128, %m mod 128] {partial} : memref<?x128xi8>  // the last tile may have padding
    ```
  }];
  let arguments = (ins
    Norm_Scalar:$value,
    Norm_Buffer:$buffer,
    Variadic<Index>:$indices,
    AffineMapAttr:$access,
    UnitAttr:$partial
  );
  let assemblyFormat = "$value `,` $buffer `` custom<Access>($indices, $access) attr-dict custom<BufferType>(ref($buffer), type($buffer))";
  let hasVerifier = 1;
}

def Norm_ScatterOp : Norm_Op<"scatter", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments, HasParent<"KernelOp">,
    TypesMatchWith<"the value is an element of the buffer", "buffer", "value",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "Writes one element of a buffer at a place that the kernel computes";
  let description = [{
    As `norm.write`, but an index may also be a value of the body, as of `norm.gather`. Where the condition does not hold, or a
    coordinate lies outside of the buffer, nothing is written: memory that is read decides on no access outside of a buffer.

    Nothing says which elements are reached. Those that none of the points reaches hold what they held before; one that several
    points reach holds one of their values.

    Constraints:
    - C1: there is one coordinate per axis of the buffer.
    - C2: the buffer is an argument of the kernel.
    - C3: the buffer is an output that only `norm.scatter` accesses, and that is not the memory of an input.
    - C4: the value varies over no dim that the coordinates and the values among them leave out.
    - C5: a coordinate without computed values lies within the buffer, as those of `norm.write` do.
    - C6: a coordinate adds multiples of computed values, and divides none; a constant that it divides by is positive, and it has no
      symbol.

    Example, an element of a segment of a packed batch:

    ```mlir
    norm.scatter %share, %y[%first + %i] if %is_in_segment : memref<?xf32>
    ```
  }];
  let arguments = (ins
    Norm_Scalar:$value,
    Norm_Buffer:$buffer,
    Variadic<Index>:$indices,
    Optional<I1>:$condition,
    AffineMapAttr:$access
  );
  let assemblyFormat = [{
    $value `,` $buffer `` custom<Access>($indices, $access) (`if` $condition^)? attr-dict
    custom<BufferType>(ref($buffer), type($buffer))
  }];
  let hasVerifier = 1;
}

def Norm_ReduceOp : Norm_Op<"reduce", [Pure, AttrSizedOperandSegments, IsolatedFromAbove,
    RangedTypesMatchWith<"results have the types of the values", "values", "results", "$_self">]> {
  let summary = "Combines values over dims";
  let description = [{
    The combiner is a named one, or a region over two tuples of values: the first half of the block's arguments is one
    side, the second half the other. It uses no values from outside, so that it can be moved as it is to wherever two
    partial results meet; a constant from outside is copied into it by the parser. It must be associative and commutative up to rounding: the elements may be
    combined in any binary tree, in any order. The type of the value is the type of the accumulator. A named combiner
    has the usual identity; a region's identity is given. Points that a kernel's guards mask count as the identity, and
    a reduction over no points is the identity.

    In a space's text, `mean` of one value of f32 or f64 stands for the sum times the reciprocal of the dims' number of
    points, or divided by it where only a launch knows it. None of the dims may have a guard.

    `max` and `min` of floats are IEEE 754-2019 maximum and minimum: NaN if either is NaN, and +0 above -0.

    With `nth` the result varies over one more dim. At its point j it is the (j + 1)-th of the distinct values, in
    descending order for `max` and in ascending order for `min`, and the identity if there are no more. At the first
    point that is the result of the reduction without `nth`.

    Constraints:
    - C1: exactly one of a named combiner and a region is there.
    - C2: a named combiner takes one value; `and` and `or` an integer.
    - C3: a region takes two arguments per value, of the values' types, and yields one per value.
    - C4: a region's reduction has one identity per value, of its type.
    - C5: a dim is one of the kernel's, named once, and at least one is named.
    - C6: `nth` comes with `max` or `min` of one integer of 8 bits or more, and its dim is one that the values do not vary over.

    Examples:

    ```mlir
    %3 = norm.reduce add %2 over(%n) : f32
    %average = norm.reduce mean %2 over(%n) : f32
    %largest = norm.reduce max %key over(%n) nth(%j) : i64
    %max, %sum = norm.reduce %x, %one over(%n) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
    ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
      ...
      norm.yield %m, %s : f32, f32
    }
    ```
  }];
  let arguments = (ins
    OptionalAttr<Norm_ReduceKind>:$kind,
    Variadic<Norm_Scalar>:$values,
    Variadic<Index>:$dims,
    Optional<Index>:$nth,
    OptionalAttr<ArrayAttr>:$identity
  );
  let results = (outs Variadic<Norm_Scalar>:$results);
  let regions = (region MaxSizedRegion<1>:$combiner);
  let assemblyFormat = [{
    custom<Combiner>($kind) $values `over` `(` $dims `)` (`nth` `(` $nth^ `)`)? (`identity` $identity^)?
    `` custom<ReductionAttributes>(attr-dict) `:` type($values)
    (`combine` $combiner^)?
  }];
  let hasVerifier = 1;
}

def Norm_ExtentType : AnyTypeOf<[F32, F64, I32, I64, Index], "f32, f64, i32, i64 or index">;

def Norm_ExtentOp : Norm_Op<"extent", [Pure]> {
  let summary = "The number of points of a dim";
  let description = [{
    Notation for a constant, or for the sum of a one over the dim where only a launch knows the extent: the parser of
    `norm.compute` and `norm.kernel` replaces it.

    Constraints:
    - C1: it is in the text of a `norm.compute` or `norm.kernel`, of a dim of that space without a guard.

    Example: `%columns = norm.extent %n : f32`
  }];
  let arguments = (ins Index:$dim);
  let results = (outs Norm_ExtentType:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Norm_ScanOp : Norm_Op<"scan", [Pure,
    TypesMatchWith<"the result has the type of the value", "value", "result", "$_self">]> {
  let summary = "Combines a value with those of the points before it along dims";
  let description = [{
    At each point the result combines the values from the first point of the dims up to and with that one, all other
    dims being the same (an inclusive scan). With `exclusive` it combines the values before the point, and is the
    combiner's identity at the first one. Of several dims the last varies fastest, as the parts of a split dim do. With
    `reverse` the points are in the opposite order: the result combines the values from that point, or from behind it,
    to the last one.

    The combiner and its identity are those of `norm.reduce`. It must be associative up to rounding: values may be
    combined in any binary tree that keeps their order, and neighbouring results may come from different trees. The type
    of the value is the type of the accumulator. Points that a kernel's guards mask count as the identity.

    The result varies over what the value varies over, and over the dims.

    Constraints:
    - C1: `and` and `or` take an integer.
    - C2: a dim is one of the space's, at least one is named, and they are named in the order of the space.

    Examples:

    ```mlir
    %3 = norm.scan add %2 along(%n) : f32
    %4 = norm.scan max exclusive %2 along(%n) : f32
    %5 = norm.scan add reverse %2 along(%n) : f32
    ```
  }];
  let arguments = (ins
    Norm_ReduceKind:$kind,
    UnitAttr:$exclusive,
    UnitAttr:$reverse,
    Norm_ScannedValue:$value,
    Variadic<Index>:$dims
  );
  let results = (outs Norm_ScannedValue:$result);
  let assemblyFormat = [{
    $kind (`exclusive` $exclusive^)? (`reverse` $reverse^)? $value `along` `(` $dims `)` attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Norm_YieldOp : Norm_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["ReduceOp"]>]> {
  let summary = "Ends a combiner";
  let arguments = (ins Variadic<Norm_Scalar>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Norm_CacheOp : Norm_Op<"cache", [Pure, SameOperandsAndResultType]> {
  let summary = "Keeps a value between the phases of a kernel";
  let description = [{
    The result equals the operand, and says where the value lives from its first use, before a reduction, to the uses
    after it. What the later uses need beyond the value itself is recomputed from it; a cached value is not merged with
    the original again, so that a bf16 input stays 16 bits wide in between.

    Example: `%1 = norm.cache %0 in register : bf16`
  }];
  let arguments = (ins Norm_Scalar:$value, Norm_CachePlace:$place);
  let results = (outs Norm_Scalar:$result);
  let assemblyFormat = "$value `in` $place attr-dict `:` type($value)";
}

#endif // NORM_KERNEL_FORM_OPS_TD
