//===- Passes.td - Every pass of Norma --------------------------*- tablegen -*-===//
//
// The one table of passes. `build.rs` reads it and generates, for each entry,
// a Rust type with its options, statistics, documentation and registration,
// which names `crate::<argument with underscores>::run`: an entry without its
// file does not compile. README.md says how to add one.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

/// A pass written in Rust. `anchor` is an op's name ("gpu.module"), empty for
/// any op; `dependentDialects` are namespaces ("llvm"). An option's type is one
/// of int64_t, bool, std::string; a list option's is int64_t.
class RustPass<string passArgument, string anchor = "">
    : Pass<passArgument, anchor> {
  string anchorOp = anchor;
}

//===----------------------------------------------------------------------===//
// norm: from named ops to one space per kernel
//===----------------------------------------------------------------------===//

def NormNameSizes : RustPass<"norm-name-sizes", "builtin.module"> {
  let summary = "Note what the user's programs call the axes of tensors";
  let description = [{
    The names of dims are lost where programs are fused and dims merged. A launcher
    that asks for sizes should ask for them by the names that the user wrote.

    **Requires** nothing.

    **Guarantees** that an argument or a result of a function has `norm.dims`, an
    array of strings, if a `norm.compute` of the function says what its axes of
    dynamic size are called: the first dim that has an axis's size, or at which it
    is accessed. An empty string stands for no name. A size that `norm.sizes` does
    not name gets this name in the bundle, unless another size has it.

    **Leaves alone** tensors that have `norm.dims`, axes of static size, and dims
    without a name or with one that no size may have, such as `num_sms`.

    ```mlir
    func.func @f(%x: tensor<?x?xf32>) -> tensor<?xf32> {
      %s = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?xf32>)
          space(%token = dim(%a, 0), %column = dim(%a, 1)) { ... }
    ==>
    func.func @f(%x: tensor<?x?xf32> {norm.dims = ["token", "column"]})
        -> (tensor<?xf32> {norm.dims = ["token"]}) { ... }
    ```
  }];
  let statistics = [
    Statistic<"numNamed", "num-named", "Tensors whose axes have names now">,
  ];
  let dependentDialects = ["norm", "func"];
}

def NormDifferentiate : RustPass<"norm-differentiate", "builtin.module"> {
  let summary = "Add the gradient of each function that asks for it";
  let description = [{
    **Requires** of each function with `norm.gradient` that `norm-decompose`,
    `norm-form-computes` and `norm-fuse-computes`, which the pass runs on a copy
    of it, turn it into `norm.compute`s alone. The attribute is an array of the
    names of the arguments that the gradient is with respect to, each a tensor of
    floats, or a unit for all tensors of floats.

    **Guarantees** that after each such function `@f` there is `@f_grad`. It takes
    the arguments of `@f` and, for each float result that depends on those
    arguments, the gradient `d<result>` of some scalar loss with respect to it. It
    returns the gradients `d<argument>` of the loss with respect to the arguments
    asked for, in the order in which they were asked for. A gradient has the type
    of its tensor and is contiguous; the tensor's `norm.multiples`, `norm.min`,
    `norm.max` and `norm.align` hold for it too. The attribute is removed.

    `@f_grad` recomputes the values of `@f` that it needs. Between the gradients of
    the results and those of the arguments, which are rounded once, all arithmetic
    is in f32, or in f64 where a program has any. Where `@f` is several kernels,
    the gradient of a tensor between two of them has that tensor's type.
    - The derivative of a scalar op is that of the table of scalar ops
      (`dialects/norm/norm.md`). A conversion between floats passes a gradient
      unchanged. A boolean has no gradient: what a `select` chooses is fixed, and
      the gradient of what it does not choose is 0, also where that is infinite or
      NaN.
    - In a sum each value gets the whole gradient; in a maximum or minimum the
      values that attain it share it equally, as in PyTorch's `amax`; in a product
      each value gets the gradient times the product of the others.
      `|v| = inf ? v : w` passes the whole gradient to `w`.
    - The gradient of a read at coordinates that leave out dims is a sum over these
      dims. The reads of a tensor have to reach each of its elements once: at
      coordinates that are dims or enumerate the points of several, or in parts of
      one axis.
    - In a scan that adds, an element contributes to all sums from its own point
      on, so that its gradient is the scan of the results' gradients in the
      opposite order.

    A factor that is the same for all points of a sum is multiplied with outside of
    the sum, and terms that cancel are left out: nothing remains of the maximum
    that a softmax subtracts.

    **Leaves alone** everything else, including the function itself. A gradient
    through an op without a derivative, a scan with another combiner, a combiner
    that is written out as a region, or other reads, is an error that says what is
    supported.

    ```mlir
    func.func @f(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"})
        attributes {norm.gradient = ["x"]} {
      %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
        %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
        %1 = math.exp %0 : f32
        %2 = norm.reduce add %1 over(%n) : f32
        norm.write %2, %o[%m] : tensor<?xf32>
      }
      return %y : tensor<?xf32>
    }
    ==>
    func.func @f_grad(%x: tensor<?x64xf32> {norm.name = "x"}, %dy: tensor<?xf32> {norm.name = "dy"})
        -> (tensor<?x64xf32> {norm.name = "dx"}) {
      %dx = norm.compute(%a = %x : tensor<?x64xf32>, %g = %dy : tensor<?xf32>) -> (%o : tensor<?x64xf32>)
          space(%m = dim(%a, 0), %n = 64) {
        %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
        %1 = math.exp %0 : f32
        %2 = norm.read %g[%m] : tensor<?xf32>
        %3 = arith.mulf %2, %1 : f32
        norm.write %3, %o[%m, %n] : tensor<?x64xf32>
      }
      return %dx : tensor<?x64xf32>
    }
    ```
  }];
  let options = [
    Option<"batchInvariant", "batch-invariant", "bool", /*default=*/"false",
           "As that of norm-fuse-computes, for the fusion that this pass begins with">,
  ];
  let statistics = [
    Statistic<"numDifferentiated", "num-differentiated", "Gradients of functions">,
  ];
  let dependentDialects = ["norm", "arith", "math", "func"];
}

def NormShard : RustPass<"norm-shard", "builtin.module"> {
  let summary = "Turn functions on sharded tensors into those that each device runs";
  let description = [{
    **Requires** of each function with `norm.devices` that `norm-decompose`,
    `norm-form-computes` and `norm-fuse-computes`, which the pass runs on it, turn
    it into `norm.compute`s alone. The attribute is one of arguments, with a number
    for each axis: that of the devices that the axis is sharded over, which is 1
    for all axes but one. The function is written for the whole tensors.

    Every axis that is accessed at the same dim of a program as a sharded one is
    sharded too. Such an axis has to be accessed at one dim alone, which ranges over
    all of it. A static extent has to be a multiple of the number of devices; shards
    of a dynamic extent may differ in length. For a dynamic extent,
    `norm.multiples`, `norm.min` and `norm.max` refer to each shard.

    **Guarantees** that the function `@f` has become functions of one device:
    - `@f_partial` takes the device's shards, and returns the states: the partial
      results of its reductions over sharded dims. They are tensors `states0`,
      `states1`, ... of one element type each, with the states along the first axis
      and the dims that they vary over along the others. A boolean is passed as an
      i8, an index as an i64.
    - `@f_rest` takes shards, and each `states<i>` of all devices, concatenated
      along a new first axis in the order of the shards. It returns the device's
      shards of the results; a result that no sharded dim indexes is returned whole.
      It combines states in their order, so that all devices get the same bits.
    - A reduction over a sharded dim that depends on another one is merged with it
      if its terms depend on the first one's result in a way that allows that, as in
      `norm-merge-reductions`. Otherwise its states are exchanged in a round of
      their own: `@f_partial2` returns them, and takes those of the earlier rounds.

    Each function takes the arguments that it uses. One that computes with the
    coordinate of a sharded dim, as a comparison with labels does, also takes
    `offset`: the coordinate of the first element of the device's shard.

    Each function has `norm.sharded`, which says what it is a part of: the name of
    `@f`, the number of devices, and the axes along which arguments and results of
    `@f` are sharded, by their names.

    **Leaves alone** functions without the attribute. Errors are a function that
    reduces over no sharded dim, scans, reductions with several results, accesses
    of none of the forms above, and accesses at numbers that a launch passes.

    ```mlir
    func.func @f(%x: tensor<?x64xf32> {norm.name = "x", norm.devices = array<i64: 1, 2>})
        -> (tensor<?x64xf32> {norm.name = "y"}) {
      %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
        %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
        %1 = norm.reduce max %0 over(%n) : f32
        %2 = arith.subf %0, %1 : f32
        norm.write %2, %o[%m, %n] : tensor<?x64xf32>
      }
      return %y : tensor<?x64xf32>
    }
    ==>
    func.func @f_partial(%x: tensor<?x32xf32> {norm.name = "x"}) -> (tensor<1x?xf32> {norm.name = "states0"}) {
      %s = norm.compute(%a = %x : tensor<?x32xf32>) -> (%o : tensor<1x?xf32>) space(%m = dim(%a, 0), %n = 32) {
        %0 = norm.read %a[%m, %n] : tensor<?x32xf32>
        %1 = norm.reduce max %0 over(%n) : f32
        norm.write %1, %o[0, %m] : tensor<1x?xf32>
      }
      return %s : tensor<1x?xf32>
    }
    func.func @f_rest(%x: tensor<?x32xf32> {norm.name = "x"}, %s: tensor<2x1x?xf32> {norm.name = "states0"})
        -> (tensor<?x32xf32> {norm.name = "y"}) {
      %y = norm.compute(%a = %x : tensor<?x32xf32>, %p = %s : tensor<2x1x?xf32>) -> (%o : tensor<?x32xf32>)
          space(%m = dim(%a, 0), %n = 32) {
        %0 = norm.read %a[%m, %n] : tensor<?x32xf32>
        %1 = norm.read %p[0, 0, %m] : tensor<2x1x?xf32>
        %2 = norm.read %p[1, 0, %m] : tensor<2x1x?xf32>
        %3 = arith.maximumf %1, %2 : f32
        %4 = arith.subf %0, %3 : f32
        norm.write %4, %o[%m, %n] : tensor<?x32xf32>
      }
      return %y : tensor<?x32xf32>
    }
    ```
  }];
  let options = [
    Option<"batchInvariant", "batch-invariant", "bool", /*default=*/"false",
           "As that of norm-fuse-computes, for the fusion that this pass begins with">,
  ];
  let statistics = [
    Statistic<"numSharded", "num-sharded", "Functions that are those of one device now">,
  ];
  let dependentDialects = ["norm", "arith", "math", "func"];
}

def NormDecompose : RustPass<"norm-decompose"> {
  let summary = "Replace named ops by the scalar programs that define them";
  let description = [{
    **Requires** nothing.

    **Guarantees** that no named op of `norm` is left: each has become a
    `norm.compute`, whose space has a dim for each axis of the op's first
    operand, or two for an axis that the op divides into groups or blocks. Operands
    are widened to f32 where they are read, or to f64 if any operand or result is
    f64. All arithmetic on floats has that type, and each result is rounded once,
    where it is written. From here on no pass can tell which op a program came
    from. A scalar operand is computed in the program, from the arguments that it
    depends on. `math.fpowi` by a constant has become products or `math.powf`.

    **Leaves alone** every other op. A named op that has no definition yet is an
    error, which lists those that have one.

    ```mlir
    %y = norm.rms_norm %x weight(%w : tensor<64xf32>) {eps = 1.0e-5 : f32}
         : tensor<?x64xbf16> -> tensor<?x64xbf16>
    ==>
    %y = norm.compute(%a = %x : tensor<?x64xbf16>, %g = %w : tensor<64xf32>) -> (%o : tensor<?x64xbf16>)
        space(%m = dim(%a, 0), %n = 64) {
      %0 = norm.read %a[%m, %n] : tensor<?x64xbf16>
      %1 = arith.extf %0 : bf16 to f32
      %2 = arith.mulf %1, %1 : f32
      %3 = norm.reduce add %2 over(%n) : f32
      %4 = arith.constant 1.562500e-02 : f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.constant 9.99999974E-6 : f32
      %7 = arith.addf %5, %6 : f32
      %8 = math.rsqrt %7 : f32
      %9 = arith.mulf %1, %8 : f32
      %10 = norm.read %g[%n] : tensor<64xf32>
      %11 = arith.mulf %9, %10 : f32
      %12 = arith.truncf %11 : f32 to bf16
      norm.write %12, %o[%m, %n] : tensor<?x64xbf16>
    }
    ```
  }];
  let statistics = [
    Statistic<"numDecomposed", "num-decomposed", "Named ops replaced">,
  ];
  let dependentDialects = ["norm", "arith", "math"];
}

def NormFormComputes : RustPass<"norm-form-computes"> {
  let summary = "Turn ops on whole tensors into programs over their elements";
  let description = [{
    **Requires** nothing.

    **Guarantees** that each op on ranked tensors of these kinds is a
    `norm.compute`, with a dim for each axis or loop:
    - `arith` and `math` ops, which are applied to each element;
    - splat `arith.constant`s, and `tensor.splat`;
    - views, which only change the coordinates that an element is read at:
      `tensor.cast`; `tensor.expand_shape` and `tensor.collapse_shape`, whose space
      has the axes of the side with more of them, and where only the first of the
      joined axes may be dynamic; and `tensor.extract_slice` with constant strides,
      at offsets that are sums of constants and of multiples of arguments, which
      become scalars of the program and indices of its access;
    - ops of `linalg` that are loop nests with indexing maps: `linalg.generic`,
      and named ones such as `linalg.fill`, `linalg.broadcast`,
      `linalg.transpose`, `linalg.reduce` and `linalg.map`. A loop that indexes no
      result is a reduction loop; the region then has to be
      `op(accumulator, value)` with an associative and commutative op, or to have
      two results, an extremum and the first place where it is (argmax, argmin).
      That is told by what the region computes for each order of values and
      places. As in `norm.reduce_axes`, the place is that of the first NaN, if
      there is one, and NaN has to be the value then.

    Values have the element types of the op, so that its results are rounded as
    the op says. Sizes that an op requires to be equal are assumed to be equal, and
    of equal sizes dims range over the one that comes first in the function; the
    kernels check the extents of what they read. Scalars that ops use have to be
    constants, arguments, elements of constant tensors of one value or of tensors
    without axes (`tensor.extract`), sizes (`tensor.dim`), or computed from these by
    scalar ops. A size is the number of points of a dim, which is one of the
    program's or is added behind them. Where a slice begins depends on constants and
    arguments alone. Ops that only gave the size of a tensor or took an element
    (`tensor.empty`, `tensor.dim`, `tensor.extract`) are erased.

    **Leaves alone** every other op.

    ```mlir
    func.func @gate(%x: tensor<?x64xbf16>, %g: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
      %y = arith.mulf %x, %g : tensor<?x64xbf16>
      return %y : tensor<?x64xbf16>
    }
    ==>
    func.func @gate(%x: tensor<?x64xbf16>, %g: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
      %y = norm.compute(%a = %x : tensor<?x64xbf16>, %b = %g : tensor<?x64xbf16>) -> (%o : tensor<?x64xbf16>)
          space(%m = dim(%a, 0), %n = 64) {
        %0 = norm.read %a[%m, %n] : tensor<?x64xbf16>
        %1 = norm.read %b[%m, %n] : tensor<?x64xbf16>
        %2 = arith.mulf %0, %1 : bf16
        norm.write %2, %o[%m, %n] : tensor<?x64xbf16>
      }
      return %y : tensor<?x64xbf16>
    }
    ```
  }];
  let statistics = [
    Statistic<"numFormed", "num-formed", "Ops that are programs now">,
  ];
  let dependentDialects = ["norm", "arith", "math"];
}

def NormFuseComputes : RustPass<"norm-fuse-computes"> {
  let summary = "Fuse computes that fit together into one program";
  let description = [{
    **Requires** nothing.

    **Guarantees** that of the computes of a function that are left, none reads a
    result of another, and no two read the same elements at all dims of both,
    unless one of these reasons keeps the two apart:
    - an op between them depends on the one, and the other depends on it;
    - an element is read at coordinates that do not determine the point that
      computes it. They do for an axis that is written at a dim, and for one that is
      written at a sum that enumerates the points of several dims and read at the
      same sum; they do not for a result that is written in several parts;
    - the values are needed elsewhere too, by the caller or by another op, and
      each of the two spaces has dims that the other lacks;
    - the result of a reduction is needed at points that the reduction neither
      ranges over nor is kept for, so that CTAs would wait for one another's rows;
    - a reduction would be computed more than once;
    - reductions over different dims would wait for each other: the dims of
      neither are a subset of the other's, and neither is last, so that its results
      would only be written;
    - all points would wait for a reduction over dynamic extents to a single value;
    - the results of a reduction with several results are needed at coordinates
      other than the dim that counts them;
    - such a reduction ranges over more than 128 KB of values, which a CTA does not
      hold, and each of its passes would compute more than before, or there would
      be more passes;
    - a result that may share the memory of an argument would be written where
      other points read the argument: at other coordinates, or for points of dims
      that the result is not indexed by.

    A dim of one compute is taken to be a dim of the other where the one writes and
    the other reads at them, where both read the same elements at them, and where a
    reduction removes the one and the other has the same extent. An elementwise
    compute that these reasons keep apart from its readers is recomputed in each of
    them, if that does not move more bytes than going through memory.

    A dim of one point is dropped; with `batch-invariant` only where a reduction
    ranges over it, or where the other compute has no dim in its place.

    A value is rounded where it was in memory, so that results are the same to the
    bit but for the order of sums. Computes that no result depends on are erased.

    **Leaves alone** computes with an extent that is the size of a result, computes
    whose dynamic results are written in parts that reach differently far, computes
    with a `norm.scan`, and every other op. With `explain`, remarks say which ops
    were fused and, for each two kernels of which one reads what the other makes
    or that read the same tensor, what kept them apart.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
        %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
        %1 = norm.reduce max %0 over(%n) : f32
        norm.write %1, %o[%m] : tensor<?xf32>
      }
      %y = norm.compute(%a = %x : tensor<?x64xf32>, %b = %s : tensor<?xf32>) -> (%o : tensor<?x64xf32>)
          space(%i = dim(%a, 0), %j = 64) {
        %0 = norm.read %a[%i, %j] : tensor<?x64xf32>
        %1 = norm.read %b[%i] : tensor<?xf32>
        %2 = arith.subf %0, %1 : f32
        norm.write %2, %o[%i, %j] : tensor<?x64xf32>
      }
      return %y : tensor<?x64xf32>
    }
    ==>
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
        %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
        %1 = norm.reduce max %0 over(%n) : f32
        %2 = arith.subf %0, %1 : f32
        norm.write %2, %o[%m, %n] : tensor<?x64xf32>
      }
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let options = [
    Option<"batchInvariant", "batch-invariant", "bool", /*default=*/"false",
           "Whether dims of one point that no reduction ranges over stay dims, as they may count rows: programs then do not depend on "
           "the number of rows">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Say in remarks which ops were fused, and what kept others apart">,
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Ops fused into others">,
  ];
  let dependentDialects = ["norm", "arith", "math"];
}

def NormFormKernels : RustPass<"norm-form-kernels", "builtin.module"> {
  let summary = "Outline programs into kernels and give tensors buffers";
  let description = [{
    **Requires** functions whose bodies are `norm.compute` and `func.return`
    alone, and whose results are distinct results of computes. Beside the ops of
    `norm`, programs may hold constants, and the ops of the table of scalar ops
    (`dialects/norm/norm.md`) on its types; this is checked for every program, also
    for kernels that exist already. Arguments are tensors, and scalars of type f32,
    f64, i32, i64 and index. Attributes describe the buffers:

    | attribute | of | meaning | default |
    |---|---|---|---|
    | `norm.name` | all | the name in the bundle: an identifier, once in a function | `arg<i>`, `result<i>` |
    | `norm.buffer` | tensors | the memref, with its strides | contiguous |
    | `norm.align` | tensors | bytes: the base address and every dynamic stride of `norm.buffer` are multiples of it | 16 |
    | `norm.multiples` | tensors | array of i64: what each extent is a multiple of | nothing is known |
    | `norm.min` | tensors | array of i64: a lower bound of each extent | 0 each |
    | `norm.max` | tensors | array of i64: an upper bound of each extent, -1 for none | no bound |
    | `norm.sizes` | tensors | array of strings: the name of each dynamic extent, empty for none; extents of one name are equal | the compiler's names |
    | `norm.dims` | tensors | array of strings: what a size is called that `norm.sizes` does not name; sizes may differ | what `norm-name-sizes` finds |
    | `norm.may_alias` | results | the name of an argument whose memory the result may share | none |
    | `norm.default` | scalars | the value where a launch sets none, of the scalar's type | required |
    | `norm.output` | buffers | a kernel writes it | kernels only read it |

    A result may share the memory of an argument of the same type if the compute
    that makes it reads the argument only at the coordinates that it writes, if
    nothing that depends on what it reads there varies over other dims, and if no
    later compute reads the argument.

    A function on buffers, which launches kernels that exist already, describes its
    arguments in the same way, but for `norm.buffer`. Those that kernels write, and
    no others, have `norm.output`. One of these may share the memory of an argument
    that no kernel writes if every kernel that writes the one and gets the other
    says so by its `aliases`, and if no launch behind one that writes it reads the
    argument. A kernel gets no buffer that it writes a second time unless its
    `aliases` say so.

    **Guarantees** that each compute that a result depends on is a `norm.kernel`
    with one alignment per buffer, launched in the compute's place. Tensors are
    memrefs. Results have become arguments after the others, marked `norm.output`.
    Each value that is computed but not returned has an uninitialized
    `memref.alloc` with `norm.scratch`, as large as the writes to it reach.

    **Leaves alone** functions that launch kernels already, once they are checked.
    Any other op in a function is an error that says what is supported, and the
    function is then not changed.

    ```mlir
    func.func @double(%x: tensor<?xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
      %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
        %0 = norm.read %a[%n] : tensor<?xf32>
        %1 = arith.addf %0, %0 : f32
        norm.write %1, %o[%n] : tensor<?xf32>
      }
      return %y : tensor<?xf32>
    }
    ==>
    func.func @double(%x: memref<?xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
      norm.launch @double_0(%x, %y) : memref<?xf32>, memref<?xf32>
      return
    }
    norm.kernel @double_0(%a: memref<?xf32>, %o: memref<?xf32>) space(%n = dim(%a, 0)) align(16, 16) {
      %0 = norm.read %a[%n] : memref<?xf32>
      %1 = arith.addf %0, %0 : f32
      norm.write %1, %o[%n] : memref<?xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels formed">,
  ];
  let dependentDialects = ["affine", "arith", "norm", "func", "memref"];
}

def NormSplitOutputs : RustPass<"norm-split-outputs", "builtin.module"> {
  let summary = "Give outputs that do not vary over a possibly empty dim a kernel of their own";
  let description = [{
    **Requires** kernels that have not been tiled.

    **Guarantees** that the writes of a kernel use all of its dims that may be empty
    and that it does not reduce. Writes that leave out such dims have moved to a
    kernel without them, launched right after the one that they were in. So each
    element is written exactly once, whatever the extents of those dims.

    **Leaves alone** dims whose extent is known to be above 0, dims that a reduction
    of the kernel is over or counts its results by, and kernels whose dims have
    roles.

    ```mlir
    func.func @host(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>) {
      norm.launch @both(%x, %w, %y, %z) : memref<?xf32>, memref<8xf32>, memref<?xf32>, memref<8xf32>
      return
    }
    norm.kernel @both(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>)
        space(%m = dim(%x, 0), %n = 8) {
      %0 = norm.read %x[%m] : memref<?xf32>
      norm.write %0, %y[%m] : memref<?xf32>
      %1 = norm.read %w[%n] : memref<8xf32>
      norm.write %1, %z[%n] : memref<8xf32>
    }
    ==>
    func.func @host(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>) {
      norm.launch @both(%x, %w, %y, %z) : memref<?xf32>, memref<8xf32>, memref<?xf32>, memref<8xf32>
      norm.launch @both_0(%x, %w, %y, %z) : memref<?xf32>, memref<8xf32>, memref<?xf32>, memref<8xf32>
      return
    }
    norm.kernel @both(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>)
        space(%m = dim(%x, 0), %n = 8) {
      %0 = norm.read %x[%m] : memref<?xf32>
      norm.write %0, %y[%m] : memref<?xf32>
    }
    norm.kernel @both_0(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>)
        space(%n = 8) {
      %1 = norm.read %w[%n] : memref<8xf32>
      norm.write %1, %z[%n] : memref<8xf32>
    }
    ```
  }];
  let options = [
    Option<"batchInvariant", "batch-invariant", "bool", /*default=*/"false",
           "Whether dims that count rows are taken as possibly empty whatever their extent, so that kernels do not depend on the "
           "number of rows">,
  ];
  let statistics = [
    Statistic<"numSplit", "num-split", "Kernels split off others">,
  ];
  let dependentDialects = ["norm"];
}

def NormNormalizeSpace : RustPass<"norm-normalize-space", "builtin.module"> {
  let summary = "Merge dims of kernels that every access treats as one";
  let description = [{
    **Requires** kernels that have not been tiled.

    **Guarantees** that two adjacent dims are merged if
    - every access that uses either has the two as the coordinates of two
      adjacent axes, and the buffer's layout allows those to be one axis: it
      is contiguous, or the outer stride is the inner size times the inner
      stride, all static;
    - every reduction is over both or neither, every scan is along both or
      neither, and neither counts the results of a reduction;
    - nothing computes with their coordinates, and no guard is over them;
    - every read is known to use the whole of the inner axis: the extent is its
      size, or that of scratch with the same sizes, or both are sizes of tensors
      that functions are called with, which launches compare.

    The kernel's buffers are collapsed accordingly, its extents are over the axes
    that are left, and launches pass a `memref.collapse_shape` of each such buffer.

    **Leaves alone** kernels that have a schedule or whose dims have roles, and dims
    that do not meet the conditions above: those are legal, and later passes take
    them as they are.

    ```mlir
    func.func @negate(%x: memref<?x?x8xf32>, %y: memref<?x?x8xf32>) {
      norm.launch @negate_0(%x, %y) : memref<?x?x8xf32>, memref<?x?x8xf32>
      return
    }
    norm.kernel @negate_0(%x: memref<?x?x8xf32>, %y: memref<?x?x8xf32>)
        space(%a = dim(%x, 0), %b = dim(%x, 1), %c = 8) {
      %0 = norm.read %x[%a, %b, %c] : memref<?x?x8xf32>
      %1 = arith.negf %0 : f32
      norm.write %1, %y[%a, %b, %c] : memref<?x?x8xf32>
    }
    ==>
    func.func @negate(%x: memref<?x?x8xf32>, %y: memref<?x?x8xf32>) {
      %0 = memref.collapse_shape %x [[0, 1, 2]] : memref<?x?x8xf32> into memref<?xf32>
      %1 = memref.collapse_shape %y [[0, 1, 2]] : memref<?x?x8xf32> into memref<?xf32>
      norm.launch @negate_0(%0, %1) : memref<?xf32>, memref<?xf32>
      return
    }
    norm.kernel @negate_0(%x: memref<?xf32>, %y: memref<?xf32>) space(%a = dim(%x, 0)) {
      %0 = norm.read %x[%a] : memref<?xf32>
      %1 = arith.negf %0 : f32
      norm.write %1, %y[%a] : memref<?xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Dims merged into their neighbours">,
  ];
  let dependentDialects = ["norm", "memref"];
}

//===----------------------------------------------------------------------===//
// norm: schedules, applied
//===----------------------------------------------------------------------===//

def NormRelaxDivisions : RustPass<"norm-relax-divisions"> {
  let summary = "Let divisions of elements err as the table of scalar ops allows";
  let description = [{
    **Requires** nothing.

    **Guarantees** that an f32 `arith.divf` of a kernel whose divisor varies
    over fewer dims than its dividend becomes a product with the reciprocal,
    which is computed once for each divisor. Other f32 divisions have
    the flag `arcp` if their result varies over a dim that is reduced, or if the
    kernel reduces nothing, and if whatever depends on it is rounded to floats of
    at most 16 bits. One by `1 + exp(z)` becomes a product with a quarter over a
    quarter of the divisor, a division that has the flag `afn` as well. The
    error of all is up to 3 ulp, which the table of
    scalar ops allows for `arith.divf`.

    **Leaves alone** divisions of other types, those whose quotient is a result
    for each row as it is, as a scale, those of two values of a row, and those
    that wider results depend on.

    ```mlir
    norm.kernel @normalize(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%n) : f32
      %2 = arith.divf %0, %1 : f32
      norm.write %2, %y[%m, %n] : memref<?x64xf32>
    }
    ==>
    norm.kernel @normalize(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%n) : f32
      %one = arith.constant 1.0 : f32
      %2 = arith.divf %one, %1 : f32
      %3 = arith.mulf %0, %2 : f32
      norm.write %3, %y[%m, %n] : memref<?x64xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numHoisted", "num-hoisted", "Divisions turned into products">,
    Statistic<"numApproximated", "num-approximated", "Divisions that need not be exact">,
  ];
  let dependentDialects = ["arith", "math"];
}

def NormRoundProducts : RustPass<"norm-round-products"> {
  let summary = "Keep products rounded that are compared with the largest of them";
  let description = [{
    **Requires** kernels that have not been tiled, so that an element is computed once for all its uses.

    **Guarantees** that an `arith.mulf` has the attribute `norm.rounded` if it is added to, or subtracted from, a value that
    depends on a maximum, or on another reduction than a sum or a product, of values that are computed from it.
    `nvvm-contract-sums` makes no fma of such a sum, whose distance to the largest product is 0 only if both are rounded alike.

    **Leaves alone** the op otherwise, and other products.

    ```mlir
    %1 = arith.mulf %0, %scale : f32
    %2 = norm.reduce max %1 over(%n) : f32
    %3 = arith.subf %1, %2 : f32
    ==>
    %1 = arith.mulf %0, %scale {norm.rounded} : f32
    %2 = norm.reduce max %1 over(%n) : f32
    %3 = arith.subf %1, %2 : f32
    ```
  }];
  let statistics = [Statistic<"numProducts", "num-products", "Products that keep their rounding">];
  let dependentDialects = ["norm"];
}

def NormGatherOneHots : RustPass<"norm-gather-one-hots"> {
  let summary = "Read the one element that a sum keeps";
  let description = [{
    **Requires** kernels without roles.

    **Guarantees** that a sum over a dim of `select(%dim == %index, %value, 0)`, and
    an `or` over it of `%dim == %index`, becomes `norm.gather` and the value that is
    computed from what it reads, if the index does not vary over the dim and the
    value is computed by scalar ops from elements at the dim's position along axes
    that are as long as the dim. A dim that nothing else of the kernel is over leaves
    its space, unless it is the last one, or a schedule spreads it.

    **Leaves alone** sums over a dim with guards, sums over several dims, and sums
    over a dim that would have to leave the space and cannot. It leaves elements
    alone that a result may overwrite.

    ```mlir
    norm.kernel @pick(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?x2xf32>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce max %0 over(%n) : f32
      %2 = norm.read %l[%m] : memref<?xi64>
      %3 = arith.index_cast %2 : i64 to index
      %4 = arith.cmpi eq, %n, %3 : index
      %5 = arith.select %4, %0, %zero : f32
      %6 = norm.reduce add %5 over(%n) : f32
    }
    ==>
    norm.kernel @pick(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?x2xf32>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce max %0 over(%n) : f32
      %2 = norm.read %l[%m] : memref<?xi64>
      %3 = arith.index_cast %2 : i64 to index
      %4, %inside = norm.gather %x[%m, %3] : memref<?x64xf32>
      %6 = arith.select %inside, %4, %zero : f32
    }
    ```
  }];
  let statistics = [Statistic<"numGathered", "num-gathered", "Sums replaced by the element that they keep">];
  let dependentDialects = ["arith"];
}

def NormNarrowComparisons : RustPass<"norm-narrow-comparisons"> {
  let summary = "Compare dims in 32 bits";
  let description = [{
    **Requires** kernels without roles.

    **Guarantees** that an `arith.cmpi` of a dim whose extent is known to be at
    most 2^30, with an index that does not vary over the dim, compares integers of
    32 bits. The index is clamped to lie from -1 to the extent, which changes no
    comparison with a point of the dim.

    **Leaves alone** comparisons of other values, and of other dims.

    ```mlir
    norm.kernel @pick(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?x64xi1>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %l[%m] : memref<?xi64>
      %1 = arith.index_cast %0 : i64 to index
      %2 = arith.cmpi eq, %n, %1 : index
    }
    ==>
    norm.kernel @pick(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?x64xi1>) space(%m = dim(%x, 0), %n = 64) {
      %0 = norm.read %l[%m] : memref<?xi64>
      %1 = arith.index_cast %0 : i64 to index
      %most = arith.constant 64 : index
      %2 = arith.minsi %1, %most : index
      %least = arith.constant -1 : index
      %3 = arith.maxsi %2, %least : index
      %4 = arith.index_cast %n : index to i32
      %5 = arith.index_cast %3 : index to i32
      %6 = arith.cmpi eq, %4, %5 : i32
    }
    ```
  }];
  let statistics = [Statistic<"numNarrowed", "num-narrowed", "Comparisons narrowed to 32 bits">];
  let dependentDialects = ["arith"];
}

def NormStageReductions : RustPass<"norm-stage-reductions", "builtin.module"> {
  let summary = "Reduce the dims on both sides of a kept one in two kernels";
  let description = [{
    GroupNorm with the channels last reduces the pixels of an image and the few channels of a group, and keeps the groups between them.
    A CTA that reduces both reads pieces as short as a group, 20 bytes for 10 channels of bf16, in accesses no wider than what divides
    them. Channels that are kept while pixels are reduced are neighbours of the next group's: rows of 640 bytes.

    **Requires** kernels that have not been tiled.

    **Guarantees** that such a kernel, where the cost model expects more time of it than its bytes take twice, is three: one that
    reduces the outer dims and leaves a partial result for each point of the inner one in scratch, one that combines these and
    leaves the results in scratch, again one for each point of the inner dim, and one that computes what needs them. A kernel
    without values that need the results at the points again is two. None has a schedule. `norm-normalize-space` merges the inner
    dim with its neighbour afterwards.

    **Leaves alone** kernels with a schedule, those that `given` names or all if it has a schedule for any kernel, and kernels whose
    reductions range over different dims or depend on one another and cannot be merged.

    ```mlir
    norm.kernel @f_0(%x: memref<32x4096x32x10xf32>, %y: memref<32x32xf32>) space(%n = 32, %p = 4096, %g = 32, %c = 10) {
      %0 = norm.read %x[%n, %p, %g, %c] : memref<32x4096x32x10xf32>
      %1 = norm.reduce add %0 over(%p, %c) : f32
      norm.write %1, %y[%n, %g] : memref<32x32xf32>
    }
    ==>
    norm.kernel @f_0(%x: memref<32x4096x32x10xf32>, %s: memref<32x32x10xf32>) space(%n = 32, %p = 4096, %g = 32, %c = 10) {
      %0 = norm.read %x[%n, %p, %g, %c] : memref<32x4096x32x10xf32>
      %1 = norm.reduce add %0 over(%p) : f32
      norm.write %1, %s[%n, %g, %c] : memref<32x32x10xf32>
    }
    norm.kernel @f_0_finish(%y: memref<32x32xf32>, %s: memref<32x32x10xf32>) space(%n = 32, %g = 32, %c = 10) {
      %0 = norm.read %s[%n, %g, %c] : memref<32x32x10xf32>
      %1 = norm.reduce add %0 over(%c) : f32
      norm.write %1, %y[%n, %g] : memref<32x32xf32>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "The target whose facts the model uses">,
    Option<"given", "given", "std::string", /*default=*/"\"\"",
           "Schedules that the user gives, as for norm-select-schedule: their kernels stay as they are">,
    Option<"batchInvariant", "batch-invariant", "bool", /*default=*/"false",
           "Whether what is decided must not depend on the number of rows, as for norm-select-schedule">,
    Option<"portableClusters", "portable-clusters", "bool", /*default=*/"false",
           "Whether no clusters of more CTAs than every GPU of the architecture has room for are counted on, as for "
           "norm-select-schedule">,
    Option<"explain", "explain", "bool", /*default=*/"false", "Say in remarks which kernels became several, and why">
  ];
  let statistics = [Statistic<"numStaged", "num-staged", "Kernels that reduce in two stages now">];
  let dependentDialects = ["norm", "affine", "arith", "memref"];
}

def NormSelectSchedule : RustPass<"norm-select-schedule", "builtin.module"> {
  let summary = "Give kernels schedules, by a cost model or as the user says";
  let description = [{
    **Requires** kernels without roles.

    **Guarantees** that each kernel has a schedule that `norm-tile` can apply. Where
    the user gives none, the cost model estimates every way to lay a tile along one
    or two dims, from the kernel's structure (extents, strides, alignments, bytes
    per element) and the target's facts (registers, threads, SMs, caches,
    bandwidth), and the schedule with the least expected time is taken.
    `norm.choice` then records it, and how many CTAs an SM should hold.
    `docs/schedule/cost-model.md` explains the model, with the measurements behind it. A
    schedule that the user gives for some sizes, or that is chosen for few points,
    becomes an alternative of the kernel.

    If none can be applied because reductions cross, of which one over a row has
    results that are needed at the row's points again, for reductions over rows, the
    kernel becomes two: one reduces rows, and leaves the results in scratch, and the
    other does the rest. Each gets a schedule.

    With `batch-invariant` neither the number of rows (dims outside of all that
    reductions range over) nor the place of a row in memory decides on the order in
    which a row is reduced. Schedules for which they would are refused, and what
    combines rows is warned of.

    **Leaves alone** kernels that have a schedule. Refuses other kernels for which no
    candidate can be applied.

    ```mlir
    norm.kernel @max(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) align(16, 16) {
      ...
    }
    ==>
    norm.kernel @max(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) align(16, 16)
        schedule(#norm.schedule<spread = [[grid], [register(2), warp(8), lane(32), vector(8)]], early_reads = true,
                                min_ctas_per_sm = 8>) {
      ...
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"",
           "The target whose facts the model uses; the default is the one it was fitted to">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"\"",
           "Schedules of kernels that have none, separated by semicolons: KERNEL=#norm.schedule<...> for one kernel; the attribute "
           "alone, or the parameters in its brackets, for all that are not named; the cost model chooses for the rest. KERNEL if "
           "CONDITION=#norm.schedule<...> is for some sizes: size_0_1 < 64 is a condition on the size of buffer 0 along axis 1">,
    Option<"absent", "absent", "bool", /*default=*/"false",
           "Whether schedules may name kernels that the module does not have, because norm-split-reductions will make them">,
    Option<"bySize", "by-size", "bool", /*default=*/"false",
           "Whether a kernel with a dynamic number of points, or with rows of dynamic length, gets further schedules for few points "
           "and for short rows, where the cost model expects these to gain more than 7%">,
    Option<"batchInvariant", "batch-invariant", "bool", /*default=*/"false",
           "Whether a row's results must not depend on the number of rows, bit for bit: the choice then does not know it">,
    Option<"portableClusters", "portable-clusters", "bool", /*default=*/"false",
           "Whether clusters of more CTAs than every GPU of the architecture has room for are not chosen">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Say in a remark on each kernel what was chosen, why, and which schedules came next">,
    Option<"assembled", "assembled", "std::string", /*default=*/"\"\"",
           "What the assembler reported for schedules, in place of the model's estimate: KERNEL@REGISTERS=SCHEDULE, or "
           "KERNEL@spilled=SCHEDULE, separated by semicolons">,
    Option<"splits", "splits", "bool", /*default=*/"true",
           "Whether a chosen schedule may split reductions over CTAs, which norm-split-reductions then does">,
  ];
  let statistics = [Statistic<"numScheduled", "num-scheduled", "Kernels given a schedule">];
  let dependentDialects = ["norm", "memref", "affine"];
}

def NormDispatchSchedules : RustPass<"norm-dispatch-schedules", "builtin.module"> {
  let summary = "Make a kernel for each of a kernel's schedules, and launch the one for the sizes at hand";
  let description = [{
    **Requires** kernels that have not been tiled.

    **Guarantees** that no kernel has `alternatives`. Each schedule for some sizes
    belongs to a copy of the kernel, `<kernel>_<number>`; the kernel itself keeps
    the schedule for all other sizes. In the place of each launch of the kernel, a
    chain of `affine.if` launches the first copy whose condition holds, or else the
    kernel. A condition that compares one size with a constant becomes a bound of
    that size in the kernels launched under it or its negation.

    **Leaves alone** kernels without alternatives.

    ```mlir
    norm.kernel @max(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096)
        schedule(#few if dim(%x, 0) < 264, #many) { ... }
    func.func @f(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) {
      norm.launch @max(%x, %y) : memref<?x4096xbf16>, memref<?xbf16>
    ==>
    norm.kernel @max_0(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096)
        bounds(dim(%x, 0) <= 263) schedule(#few) { ... }
    norm.kernel @max(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096)
        bounds(264 <= dim(%x, 0)) schedule(#many) { ... }
    func.func @f(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) {
      %m = memref.dim %x, %c0 : memref<?x4096xbf16>
      affine.if affine_set<()[s0] : (-s0 + 263 >= 0)>()[%m] {
        norm.launch @max_0(%x, %y) : memref<?x4096xbf16>, memref<?xbf16>
      } else {
        norm.launch @max(%x, %y) : memref<?x4096xbf16>, memref<?xbf16>
      }
    ```
  }];
  let statistics = [Statistic<"numDispatched", "num-dispatched", "Kernels made for some sizes">];
  let dependentDialects = ["norm", "affine", "arith", "memref"];
}

def NormDependentLaunch : RustPass<"norm-dependent-launch", "builtin.module"> {
  let summary = "Let kernels start before those ahead of them have ended";
  let description = [{
    Starting a kernel takes time in which the GPU has nothing to do, unless the kernel ahead of it still computes.

    **Requires** nothing.

    **Guarantees** that the chosen schedule of a kernel that functions launch only behind others has `dependent_launch`
    (programmatic dependent launch), if the target has that. `gl-dependent-launch` makes it wait for what the others write.

    **Leaves alone** kernels whose schedule the user gave, those that a function launches first, and those that take shared memory
    where the one ahead of them takes none.

    ```mlir
    norm.launch @f_0(%x, %s) : memref<64x64xf32>, memref<64xf32>
    norm.launch @f_0_finish(%s, %y) : memref<64xf32>, memref<f32>
    norm.kernel @f_0_finish(...) space(%m = 64) schedule(#norm.schedule<spread = [[lane(32), register(2)]]>)
    ==>
    norm.kernel @f_0_finish(...) space(%m = 64) schedule(#norm.schedule<spread = [[lane(32), register(2)]], dependent_launch = true>)
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "The target, which may lack dependent launches">,
  ];
  let statistics = [Statistic<"numKernels", "num-kernels", "Kernels that may start early">];
  let dependentDialects = ["norm"];
}

def NormSplitReductions : RustPass<"norm-split-reductions", "builtin.module"> {
  let summary = "Split reductions over CTAs into partial results and a second kernel";
  let description = [{
    Where a reduction has fewer results than the GPU has room for CTAs, its dim is split over CTAs, as in split-K matrix products:
    each CTA reduces a part of the dim, and a second kernel combines the parts.

    **Requires** kernels that have not been tiled. A dim with a `split` factor has to be reduced, and reductions over it must not
    depend on one another, unless the schedule's `merge_reductions` has `split` and they can be merged (`norm-merge-reductions`).

    **Guarantees** that no schedule has a `split` factor. The factor has become a dim of its own, spread over the grid, and each
    reduction over the old dim writes a partial result for each part to scratch. A second kernel, which has no schedule yet,
    reduces the partial results, in an order that its schedule will fix, and computes what depends on them. Scratch is a
    `memref.alloc` with `norm.scratch` in the function that launches both.

    A reduction that depends on another over the dim is merged with it: each part reduces both with a reference of its own, and
    the second kernel combines tuples. Where values at points of the dim depend on the results, a third kernel, without a
    schedule, computes these values from the results, which the second one leaves in scratch.

    **Leaves alone** kernels without such a factor. What does not depend on the reductions stays in the first kernel. There, the
    `split` factor of another dim becomes a grid factor if all reductions over that dim depend on these. A kernel that is left with
    guards is marked by `norm.part`: its accesses have been checked before.

    ```mlir
    func.func @sum(%x: memref<?x64xf32>, %y: memref<64xf32>) {
      norm.launch @sum_0(%x, %y) : memref<?x64xf32>, memref<64xf32>
      return
    }
    norm.kernel @sum_0(%x: memref<?x64xf32>, %y: memref<64xf32>) space(%m = dim(%x, 0), %n = 64)
        schedule(#norm.schedule<spread = [[loop, split(8)], [lane(32), vector(2)]]>) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%m) : f32
      norm.write %1, %y[%n] : memref<64xf32>
    }
    ==>
    func.func @sum(%x: memref<?x64xf32>, %y: memref<64xf32>) {
      %p = memref.alloc() {alignment = 256 : i64, norm.name = "partial0", norm.scratch} : memref<8x64xf32>
      norm.launch @sum_0(%x, %p) : memref<?x64xf32>, memref<8x64xf32>
      norm.launch @sum_0_finish(%y, %p) : memref<64xf32>, memref<8x64xf32>
      return
    }
    norm.kernel @sum_0(%x: memref<?x64xf32>, %p: memref<8x64xf32>) space(%q = dim(%x, 0) ceildiv 8, %s = 8, %n = 64)
        where(%q * 8 + %s < dim(%x, 0)) schedule(#norm.schedule<spread = [[loop], [grid], [lane(32), vector(2)]]>)
        attributes {norm.part} {
      %0 = norm.read %x[%q * 8 + %s, %n] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%q) : f32
      norm.write %1, %p[%s, %n] : memref<8x64xf32>
    }
    norm.kernel @sum_0_finish(%y: memref<64xf32>, %p: memref<8x64xf32>) space(%s = 8, %n = 64) {
      %0 = norm.read %p[%s, %n] : memref<8x64xf32>
      %1 = norm.reduce add %0 over(%s) : f32
      norm.write %1, %y[%n] : memref<64xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "num-split", "Dims split">];
  let dependentDialects = ["norm", "memref", "affine"];
}

def NormTile : RustPass<"norm-tile"> {
  let summary = "Split the dims of kernels as their schedules say";
  let description = [{
    **Requires** a schedule on each kernel, which spreads each of its dims.

    **Guarantees** that the dims of each kernel have roles. Each factor of a dim has
    become a dim of the factor's role (`grid`, `loop`), outermost first. A run of
    neighbouring `warp` and `lane` factors is one dim (`thread`), and so is a run of
    `register` and `vector` factors (`register`), and one of `cluster` factors
    (`cluster`); a factor of 1 gives no dim. A factor without a size takes what the
    others leave of the extent, rounded up. Wherever an access, a reduction, a guard
    or a value used the old dim, it uses the mixed-radix number whose digits the new
    dims are. A guard masks points beyond the extent, unless that is known to be a
    multiple of the sizes. Where CTAs draw the steps of a loop
    (`hand_out = dynamic`), the loop has the steps of all CTAs, and the number of
    CTAs is no factor of the dim.

    **Leaves alone** kernels that have roles. Refuses a schedule that does not cover
    all points of a dim, or keeps in registers what a loop reads step by step, or
    has CTAs draw steps that depend on each other. Also refuses what no pass can
    apply yet: several producer warps, tiles that clusters draw, and copies by
    tensor maps of buffers that tensor maps cannot describe.

    ```mlir
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
        schedule(#norm.schedule<spread = [[grid, warp(2)], [lane(32), vector(2)]]>) {
      %0 = norm.read %x[%m, %n] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%n) : f32
      norm.write %1, %y[%m] : memref<?xf32>
    }
    ==>
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
        space(%b = dim(%x, 0) ceildiv 2 : grid, %w = 2 : thread, %t = 32 : thread, %v = 2 : register)
        where(%b * 2 + %w < dim(%x, 0))
        schedule(#norm.schedule<spread = [[grid, warp(2)], [lane(32), vector(2)]]>) {
      %0 = norm.read %x[%b * 2 + %w, %t * 2 + %v] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%t, %v) : f32
      norm.write %1, %y[%b * 2 + %w] : memref<?xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numTiled", "num-tiled", "Kernels tiled">];
  let dependentDialects = ["arith"];
}

def NormPersistentReduction : RustPass<"norm-persistent-reduction"> {
  let summary = "Remove loops of one step";
  let description = [{
    **Requires** kernels with roles, as `norm-tile` leaves them.

    **Guarantees** that loop dims of the static extent 1 are replaced by 0. A
    row that one step covers is then resident as a whole, and a reduction over the
    loop alone is replaced by its operand.

    **Leaves alone** all other dims, including loops of dynamic extent that have one
    step at run time, and loops whose only step a guard masks off with no other dim
    of a reduction over the loop: the reduction gives the combiner's identity there.

    ```mlir
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
        space(%b = dim(%x, 0) : grid, %c = 1 : loop, %t = 32 : thread, %v = 2 : register)
        schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(2)]]>) {
      %0 = norm.read %x[%b, %c * 64 + %t * 2 + %v] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%c, %t, %v) : f32
      norm.write %1, %y[%b] : memref<?xf32>
    }
    ==>
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
        space(%b = dim(%x, 0) : grid, %t = 32 : thread, %v = 2 : register)
        schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(2)]]>) {
      %0 = norm.read %x[%b, %t * 2 + %v] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%t, %v) : f32
      norm.write %1, %y[%b] : memref<?xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numLoops", "num-loops", "Loop dims removed">];
  let dependentDialects = ["arith"];
}

def NormMergeReductions : RustPass<"norm-merge-reductions"> {
  let summary = "Merge reductions with those that they depend on, as in online softmax";
  let description = [{
    **Requires** kernels with roles, as `norm-tile` leaves them.

    **Guarantees**, for kernels whose schedule has `merge_reductions`, that at
    the levels it names no sum waits for a reduction over the same dims where
    partial results of both can be combined. These are sums of exponentials of the
    distance to a maximum or minimum (online softmax), and sums of squares of the
    distance to a value that follows from a sum, such as the mean (Chan's update).
    The elements within the innermost named level are reduced by both reductions
    with a reference of their own: those of a thread in one step for `loop`, of a
    thread for `lane` and `warp`, of a CTA for `cluster`. At the named levels partial
    results of both are combined as tuples in one reduction, whose combiner rescales
    them to a common reference. At levels between or outside of the named ones, one
    reduction follows the other. Counts of elements that are the same for all
    partial results are constants. Results are equal up to rounding.

    **Leaves alone** reductions over none of these levels, sums with any other
    dependence, and kernels whose schedule does not have the parameter.

    ```mlir
    norm.kernel @denominator(%x: memref<?x4096xf32>, %y: memref<?xf32>)
        space(%m = dim(%x, 0) : grid, %c = 16 : loop, %t = 256 : thread)
        schedule(#norm.schedule<spread = [[grid], [loop, warp(8), lane(32)]], keep = [l2], merge_reductions = [loop]>) {
      %0 = norm.read %x[%m, %c * 256 + %t] : memref<?x4096xf32>
      %1 = norm.reduce max %0 over(%c, %t) : f32
      %2 = arith.subf %0, %1 : f32
      %3 = math.exp %2 : f32
      %4 = norm.reduce add %3 over(%c, %t) : f32
      norm.write %4, %y[%m] : memref<?xf32>
    }
    ==>
    norm.kernel @denominator(%x: memref<?x4096xf32>, %y: memref<?xf32>)
        space(%m = dim(%x, 0) : grid, %c = 16 : loop, %t = 256 : thread)
        schedule(#norm.schedule<spread = [[grid], [loop, warp(8), lane(32)]], keep = [l2], merge_reductions = [loop]>) {
      %0 = norm.read %x[%m, %c * 256 + %t] : memref<?x4096xf32>
      %1 = ... 0 where %0 is -inf, %0 elsewhere
      %2 = arith.subf %0, %1 : f32
      %3 = math.exp %2 : f32
      %4:2 = norm.reduce %0, %3 over(%c) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
      ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
        %max = arith.maximumf %m0, %m1 : f32
        %sum = ... %s0 * exp(%m0 - %max) + %s1 * exp(%m1 - %max)
        norm.yield %max, %sum : f32, f32
      }
      %5 = norm.reduce max %4#0 over(%t) : f32
      %6 = ... %4#1 * exp(%4#0 - %5)
      %7 = norm.reduce add %6 over(%t) : f32
      %8 = ... %7, or NaN where %5 is infinite
      norm.write %8, %y[%m] : memref<?xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numMerged", "num-merged", "Sums merged with a reduction that they depend on">];
  let dependentDialects = ["arith", "math"];
}

def NormScaleExponents : RustPass<"norm-scale-exponents"> {
  let summary = "Subtract and scale exponents in one instruction";
  let description = [{
    **Requires** kernels with roles, behind `norm-merge-reductions`, which matches
    exponentials as they are written.

    **Guarantees** that no f32 `math.exp(%a - %b)` is left in a kernel where `%b`
    varies over fewer dims than `%a`, a thread computes 16 elements or more for each
    `%b`, and all uses are sums over dims that `%b` does not vary over and products
    with values that vary over fewer dims than `%a`. It becomes
    `math.exp2(fma(%a, %c, -%p))`, where `%c` is log2(e) and `%p` is `%b * %c` as it
    is rounded. The uses are multiplied by `exp2` of what `%p` is off by, once for
    each `%b`. Results err no more than before, also where `%b` is large.

    **Leaves alone** exponentials of other types, and those that are used in any
    other way.

    ```mlir
    %3 = arith.subf %x, %max : f32
    %4 = math.exp %3 : f32
    %5 = norm.reduce add %4 over(%n) : f32
    ==>
    %c = arith.select %is_small, %log2e, %tiny : f32
    %p = arith.mulf %max, %c : f32
    %q = arith.negf %p : f32
    %3 = math.fma %x, %c, %q : f32
    %4 = math.exp2 %3 : f32
    %off = math.fma %max, %c, %q : f32
    %k = ... exp2(-%off), 1 unless %is_small
    %sum = norm.reduce add %4 over(%n) : f32
    %5 = arith.mulf %sum, %k : f32
    ```
  }];
  let statistics = [Statistic<"numScaled", "num-scaled", "Exponentials of two instructions">];
  let dependentDialects = ["arith", "math"];
}

def NormCacheInputs : RustPass<"norm-cache-inputs"> {
  let summary = "Cache reused inputs and rematerialize what depends on them";
  let description = [{
    The phase of a value is 0 if it depends on no reduction, and that of a
    reduction's result is one more than that of its operands. A row that was reduced
    in one phase is often needed again in a later one.

    **Requires** a schedule on each kernel.

    **Guarantees** that a read of a buffer that the schedule keeps in registers or
    in shared memory has a `norm.cache` for each later phase, if it contributes to a
    reduction and is needed again after it. What the later phase needs is computed
    from the cached value, right before the phase's first use. No other value that
    depends on such a read and varies over a reduced dim lives from one phase to the
    next, but for one of every 64 ops of a long chain, and what `arith.truncf` has
    rounded to no more bits than a read in registers that no later phase needs in
    any other way. A phase's cache is made from that of the phase before.

    **Leaves alone** reads of buffers that the schedule keeps elsewhere: a loop that
    passes over them again reads them again.

    ```mlir
    %0 = norm.read %x[%b, %t] : memref<?x64xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce max %1 over(%t) : f32
    %3 = arith.subf %1, %2 : f32
    ==>
    %0 = norm.read %x[%b, %t] : memref<?x64xbf16>
    %c = norm.cache %0 in register : bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce max %1 over(%t) : f32
    %a = arith.extf %c : bf16 to f32
    %3 = arith.subf %a, %2 : f32
    ```
  }];
  let statistics = [Statistic<"numCached", "num-cached", "Reads cached">];
  let dependentDialects = ["norm"];
}

def NormHoistReads : RustPass<"norm-hoist-reads"> {
  let summary = "Issue reads before anything waits for one";
  let description = [{
    Moves every read of a kernel whose schedule has `early_reads` to the start of
    the kernel, so that the loads for a later phase (of a weight, for example) are
    under way while the first reduction waits.

    **Requires** nothing.

    **Guarantees** that in such a kernel no other op stands before a read.

    **Leaves alone** the order of the reads among themselves, and kernels whose
    schedule does not have `early_reads`.

    ```mlir
    %0 = norm.read %x[%b, %t] : memref<?x64xf32>
    %1 = norm.reduce add %0 over(%t) : f32
    %2 = norm.read %w[%t] : memref<64xf32>
    %3 = arith.mulf %1, %2 : f32
    ==>
    %0 = norm.read %x[%b, %t] : memref<?x64xf32>
    %2 = norm.read %w[%t] : memref<64xf32>
    %1 = norm.reduce add %0 over(%t) : f32
    %3 = arith.mulf %1, %2 : f32
    ```
  }];
  let statistics = [
    Statistic<"numHoisted", "num-hoisted", "Reads moved">,
  ];
  let dependentDialects = ["norm"];
}

def ConvertNormToGl : RustPass<"convert-norm-to-gl"> {
  let summary = "Convert scheduled kernels to one CTA's program on tiles";
  let description = [{
    Grid dims become the coordinates of the cluster in the grid; cluster, thread and
    register dims become axes of tiles; loop dims become loops. Scalars are thus the
    same for all CTAs of a cluster, except the coordinates of the part of a tile
    that each CTA copies to its own shared memory. A value that varies over all axes
    is a tile in the schedule's layout, a value that varies over fewer is a tile in
    a slice of that layout, and a value that varies over none is a scalar. At points
    that a guard masks, loads give zero, stores do nothing, and reductions see their
    identity.

    A reduction over a loop has a loop-carried accumulator for each thread; threads
    exchange partial results once, after the loop. A scan is expanded into one scan
    along each axis of the tile, from the innermost axis outwards, each of the
    totals of the axes within it; the total of the earlier steps of a loop is
    loop-carried, and broadcast to all threads in each step. For a scan in the
    opposite order, the loop runs from the last step to the first. A loop over the
    dim that counts a reduction's results carries a bound: each step reduces the
    elements that do not lie beyond the bound. A loop whose guard holds in all but
    its last steps is peeled: one loop without the guard, and one for the remaining
    steps. A value that is needed again after a loop is read again in the next loop,
    with hints to the caches that the schedule keeps it in. With `held_steps` the
    first steps of both loops are peeled too, and those of the next loop take the
    tiles that those of the first one have read.

    If the schedule's `hand_out` is dynamic, the loop over tiles becomes an
    `scf.while`: a CTA begins with the tile of its own number, and draws the next
    one at the end of each step (`gl.next_tile`) from a global counter, a parameter
    of the kernel after its buffers. The counter is scratch of the host function,
    zeroed once (`norm.zeroed`), and each launch leaves it zero.

    **Requires** kernels that are tiled (`norm-tile`) and have a schedule. Their
    reductions are over no grid dim. Their scans are along dims that a CTA holds,
    within loops over them. The results of their reductions are counted by loop
    dims.

    **Guarantees** that each `norm.kernel` has become a `gpu.func` of the same name
    in a `gpu.module` of its own, with `gl.num_warps`, `gl.launch` and the schedule,
    and that launches refer to it.

    **Leaves alone** host functions and everything else in the module.

    ```mlir
    norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
        space(%b = dim(%x, 0) : grid, %t = 32 : thread, %v = 2 : register)
        schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
      %0 = norm.read %x[%b, %t * 2 + %v] : memref<?x64xf32>
      %1 = norm.reduce add %0 over(%t, %v) : f32
      norm.write %1, %y[%b] : memref<?xf32>
    }
    ==>
    gpu.module @sum {
      gpu.func @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) kernel attributes {gl.num_warps = 1, ...} {
        %b = gpu.block_id x
        %0 = gl.load %x at affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2)>(%b)
           : memref<?x64xf32> -> tensor<32x2xf32, #gl.linear<...>>
        %1 = gl.reduce %0 axis 1 : ... combine { arith.addf }
        %2 = gl.reduce %1 axis 0 : ... combine { arith.addf }
        %3 = tensor.splat %2 : tensor<f32, ...>
        gl.store %3, %y at affine_map<(d0) -> (d0)>(%b) : ...
        gpu.return
      }
    }
    ```
  }];
  let dependentDialects = ["arith", "gl", "gpu", "memref", "scf", "tensor"];
}

//===----------------------------------------------------------------------===//
// gl
//===----------------------------------------------------------------------===//

def GlOptimizeLayouts : RustPass<"gl-optimize-layouts"> {
  let summary = "Choose layouts that coalesce accesses, and remove layout conversions where that is free";
  let description = [{
    A load or store is coalesced best where neighbouring elements in memory lie in the registers of one vector access, and then
    in neighbouring lanes. If its tile's layout does not have that, an access without `vector` gets a layout of its own: either
    the same one with registers renumbered so that vectors are contiguous, which costs nothing; or one along memory, where it
    saves enough sectors of 32 bytes that a warp requests, or lines of 128 bytes that its writes touch, to pay for the
    conversion. Elements that are narrowed for a store, or widened after a load, are converted to the other layout while they are
    narrow.

    A conversion costs shuffles or a round trip through shared memory; an elementwise op costs the same in any layout.

    **Requires** nothing.

    **Guarantees** that no `gl.convert_layout` is left that converts to its operand's type, or whose operand is another conversion
    or a splat (a constant or `tensor.splat`); and none whose operand is an elementwise op without other uses, if converting that
    op's operands instead would leave fewer conversions at no higher cost.

    **Leaves alone** every other conversion, including one that only renames a layout, and accesses whose coordinates have
    quotients.

    ```mlir
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %1 = arith.mulf %0, %0 : tensor<64xf32, #narrow>
    %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
    ==>
    %2 = arith.mulf %a, %a : tensor<64xf32, #wide>
    ```

    A lane of `#m_first` has pairs along m, and the buffer's elements are neighbours along j:

    ```mlir
    %1 = arith.truncf %0 : tensor<2x16xf32, #m_first> to tensor<2x16xf16, #m_first>
    gl.store %1, %y at affine_map<(m, j) -> (m, j)>() : tensor<2x16xf16, #m_first>, memref<2x16xf16>
    ==>
    %1 = gl.convert_layout %0 : tensor<2x16xf32, #m_first> -> tensor<2x16xf32, #j_first>
    %2 = arith.truncf %1 : tensor<2x16xf32, #j_first> to tensor<2x16xf16, #j_first>
    gl.store %2, %y at affine_map<(m, j) -> (m, j)>() : tensor<2x16xf16, #j_first>, memref<2x16xf16>
    ```
  }];
  let statistics = [
    Statistic<"numPlaced", "num-placed", "Loads and stores with a layout of their own">,
    Statistic<"numRewritten", "num-rewritten", "Conversions removed or moved">,
  ];
  let dependentDialects = ["arith", "gl", "tensor"];
}

def GlPrefetchLoads : RustPass<"gl-prefetch-loads"> {
  let summary = "Prefetch the tiles of a loop's next step into registers";
  let description = [{
    In a kernel with `gl.stages = 2` that copies nothing to shared memory, the tiles that a loop loads become loop-carried. The
    prologue loads the first ones, and each step begins with the loads of the next step. Their latency is then hidden behind the
    step's own arithmetic and synchronization. In a kernel that copies to shared memory in stages, the same is done in the loops that
    copy, to the loads of at most four registers a thread that a reduction of the step depends on: a step whose rows are in shared
    memory already would otherwise wait for the mean of each.

    **Requires** that a step loads nothing that an earlier one has stored.

    **Guarantees** that each such load directly in a loop's body whose address follows from the step's number, by scalar arithmetic, is
    one step ahead of its use, and that nothing is read beyond the last step: each such load gets an additional guard that steps are
    left. A kernel without copies that has such loads has `gl.min_ctas_per_sm`, which is set to 1 if it had none: otherwise the
    assembler would delay the loads to save registers. Its `gl.stages` is removed, that of other kernels is left to `gl-pipeline`.

    **Leaves alone** loops that are known to have at most one step, and those whose steps groups of consumers take in turns
    (`gl.consumer_groups`); with a remark, loads that are the same in each step, whose address
    depends on earlier steps, or whose buffer the loop stores to. Each part of a peeled loop has a prologue of its own.

    ```mlir
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<1x2048xf32, #rows>) {
      %t = gl.load %x at affine_map<(i, r, n) -> (i, n)>(%i) : memref<?x2048xf32> -> tensor<1x2048xf32, #rows>
      %s = arith.addf %acc, %t : tensor<1x2048xf32, #rows>
      scf.yield %s : tensor<1x2048xf32, #rows>
    }
    ==>
    %left = arith.subi %n, %c0 : index
    %first = gl.load %x at affine_map<(i, r, n) -> (i, n)>(%c0) where affine_map<(i, r, n)[s0] -> (0, s0)>[%left] : ...
    %sum, %last = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %t = %first) -> (...) {
      %next = arith.addi %i, %c1 : index
      %more = arith.subi %n, %next : index
      %u = gl.load %x at affine_map<(i, r, n) -> (i, n)>(%next) where affine_map<(i, r, n)[s0] -> (0, s0)>[%more] : ...
      %s = arith.addf %acc, %t : tensor<1x2048xf32, #rows>
      scf.yield %s, %u : tensor<1x2048xf32, #rows>, tensor<1x2048xf32, #rows>
    }
    ```
  }];
  let statistics = [
    Statistic<"numLoads", "num-loads", "Loads moved a step ahead">,
    Statistic<"numLoops", "num-loops", "Loops that carry what they have loaded">,
  ];
  let dependentDialects = ["arith", "gl", "scf"];
}

def GlPipeline : RustPass<"gl-pipeline"> {
  let summary = "Make copies to and from shared memory asynchronous, and pipeline those of loops";
  let description = [{
    - A `gl.copy_to_shared` by `bulk` becomes bulk copies (`cp.async.bulk`) of its contiguous runs, which complete on an mbarrier,
      `full`. Those of a loop go through a ring of `gl.stages` stages. Each step waits until its stage is full, and refills it for a
      later step once every warp has arrived at the stage's other mbarrier, `empty`. Loops that continue each other, as the parts of a
      peeled loop do, share a ring. Where CTAs or clusters draw the tiles of a loop (`gl.next_tile`), each step draws the tile that will
      refill its stage, and the loop carries the tiles of all stages.
    - One by `tensor` becomes copies of boxes by a tensor map (`gl.tensor_load`), which complete on the same mbarriers. A box is as
      large as is contiguous in shared memory, and has at most 256 elements along an axis of the buffer. All of its bytes arrive:
      elements outside of the buffer are zero, and other elements that guards mask are copied but not used. Where threads that access
      a column of the tile would meet in the same banks, the memory is in the order of the swizzle with which their accesses take the
      fewest wavefronts, and boxes have rows as long as the swizzle's span: 32, 64 or 128 bytes. It stays plain where none takes fewer.
    - One by `cp_async` becomes a `gl.async_copy` by all threads together. Outside of loops it is a group of its own; in a loop the
      copies of a step are one group, and a ring of S stages is S - 1 steps ahead. Each step waits for its own group and then, at a
      barrier, for all threads, which have finished the step before; it then issues the copies of a later step into the stage of
      that step. Masked elements are zero in shared memory, so that loads under the same guards need no guards.
    - A `gl.copy_from_shared` becomes bulk copies, or copies of boxes (`gl.tensor_store`). Those of a step are one group, and the
      steps of a loop alternate between two buffers in shared memory: the thread that issues a group waits for it two steps later.
      All groups have completed when the kernel ends.
    - Copies to memory that nothing loads from are dropped.

    **Requires** of copies
    - that they are at a kernel's top level or in a loop there;
    - that those of one loop are by one engine, which is `bulk` or `tensor` if the tiles of the loop are drawn;
    - that each step of a loop whose tiles a cluster draws reduces something across the cluster (`norm-tile` accepts no others);
    - that their addresses follow from the number of the step, or of its tile, alone;
    - for bulk copies, runs whose addresses and lengths are multiples of 16 bytes, and guards that leave the first elements of a run;
    - for boxes, rows that are multiples of 16 bytes, and a total that is a multiple of 128 bytes; where they are stored, guards that
      mask only elements outside of the buffer.

    **Guarantees** that no `gl.copy_to_shared` and no `gl.copy_from_shared` is left, that each step finds its tiles complete, and that
    no stage is overwritten before every warp, and the copy engine, has finished with it.

    **Leaves alone** the choice of the warp that issues copies by the copy engine: every thread executes the issue, one of them is
    elected (`gl-specialize-warps` gives them warps of their own). Leaves to `gl-insert-barriers` the barrier before the copies of a
    `cp_async` ring of one stage.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %m = gl.local_alloc : !gl.memdesc<4096xbf16, #plain>
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x4096xbf16>, !gl.memdesc<4096xbf16, #plain>
      %t = gl.local_load %m : !gl.memdesc<4096xbf16, #plain> -> tensor<4096xbf16, #row>
    }
    ==>
    scf.for %j = %c0 to %ahead step %c1 {
      gl.mbarrier_expect %full[%j], %bytes : !gl.mbarrier<3>
      gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%j), %ring[%j], %full[%j] : ...
    }
    scf.for %i = %c0 to %n step %c1 {
      gl.mbarrier_wait %full[%stage], %parity : !gl.mbarrier<3>
      %t = gl.local_load %ring[%stage] : !gl.memdesc<4096xbf16, #plain> -> tensor<4096xbf16, #row>
      gl.mbarrier_arrive %empty[%stage] : !gl.mbarrier<3>
      scf.if %is_there {
        gl.mbarrier_wait %empty[%stage], %parity : !gl.mbarrier<3>
        gl.mbarrier_expect %full[%stage], %bytes : !gl.mbarrier<3>
        gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%next), %ring[%stage], %full[%stage] : ...
      }
    }
    ```

    By `cp_async` the second loop is

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      gl.async_wait 1
      gl.barrier
      scf.if %is_there {
        gl.async_copy %x at affine_map<(i, n) -> (i, n)>(%later), %ring[%free] : ...
      }
      gl.async_commit
      %t = gl.local_load %ring[%stage] : !gl.memdesc<4096xbf16, #plain> -> tensor<4096xbf16, #row>
    }
    ```

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %m = gl.local_alloc : !gl.memdesc<4096xbf16, #plain>
      gl.local_store %t, %m : tensor<4096xbf16, #row>, !gl.memdesc<4096xbf16, #plain>
      gl.copy_from_shared %m, %y at affine_map<(i, n) -> (i, n)>(%i) by bulk : !gl.memdesc<4096xbf16, #plain>, memref<?x4096xbf16>
    }
    ==>
    scf.for %i = %c0 to %n step %c1 {
      gl.bulk_wait 1 read
      %turn = arith.remui %i, %c2 : index
      gl.local_store %t, %memory[%turn] : ...
      gl.fence_async
      gl.bulk_store %memory[%turn], %y at affine_map<(i) -> (i, 0)>(%i) : ...
      gl.bulk_commit
    }
    gl.bulk_wait 0
    ```
  }];
  let statistics = [
    Statistic<"numRings", "num-rings", "Rings of stages">,
    Statistic<"numCopies", "num-copies", "Copies outside of loops">,
    Statistic<"numSent", "num-sent", "Copies from shared memory to global memory">,
  ];
  let dependentDialects = ["affine", "arith", "gl", "scf"];
}

def GlDrawTiles : RustPass<"gl-draw-tiles"> {
  let summary = "Draw a loop's next tile while the CTA works on the current one";
  let description = [{
    Where a step of a loop ends with `gl.next_tile`, the draw moves to the beginning of the step. One thread draws, stores the
    tile's number to shared memory, and arrives at an mbarrier. All threads wait at it where the number was drawn before, so that
    the latency of the counter is hidden behind the step.

    **Requires** loops that carry the number of their tile, and that draw the next one in each step.

    **Guarantees** that no `gl.next_tile` is left, and that each step draws once.

    **Leaves alone** loops with rings, whose tiles `gl-pipeline` draws as many steps ahead as they have stages.

    ```mlir
    scf.while (%tile = %cta) : (index) -> index {
      %more = arith.cmpi ult, %tile, %tiles : index
      scf.condition(%more) %tile : index
    } do {
    ^bb0(%tile: index):
      ...
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    ==>
    scf.while (%tile = %cta, %parity = %false) : (index, i1) -> (index, i1) {
      ...
    } do {
    ^bb0(%tile: index, %parity: i1):
      gl.draw_tile %counter of %tiles behind %ctas, %numbers, %drawn[%c0] : memref<1xi64>, !gl.memdesc<1x1xindex, #plain>, !gl.mbarrier<1>
      ...
      %next = gl.await_tile %numbers, %drawn[%c0], %parity : !gl.memdesc<1x1xindex, #plain>, !gl.mbarrier<1>
      %other = arith.xori %parity, %true : i1
      scf.yield %next, %other : index, i1
    }
    ```
  }];
  let statistics = [Statistic<"numLoops", "num-loops", "Loops whose tiles are drawn">];
  let dependentDialects = ["arith", "gl", "scf"];
}

def GlSpecializeWarps : RustPass<"gl-specialize-warps"> {
  let summary = "Specialize warps into producers, which issue copies, and consumers";
  let description = [{
    In a kernel with `gl.producer_warps`, issuing copies and computing on the copied tiles become two partitions of
    `gl.warp_specialize`, producers and consumers, which synchronize by mbarriers alone. The consumers keep their warp numbers.

    With `gl.consumer_groups` there are several partitions of consumers, each of `gl.num_warps` warps. Of G groups, group g has the
    steps g, g + G, g + 2G and so on of the loop, and synchronizes its warps by itself. The first group runs what stands behind
    the loop: it combines what all have accumulated (`gl.of_group`), which the others store to shared memory for it.

    With `gl.producer_registers` the threads of producers keep so many registers of the `gl.start_registers` that each thread starts
    with. Consumers share the others, as a multiple of 8 (`registers` of `gl.warp_specialize`).

    **Requires** that the addresses of copies, and whether copies are issued, follow from scalars: sizes, the CTA's number, and the
    numbers of steps and of drawn tiles. Of groups it requires a number of `gl.stages` that is a multiple of theirs, so that all
    steps of a stage are one group's; no results that are sent through shared memory, and no drawn tiles.

    **Guarantees** that the producers' partition has the copies by the copy engine, the expected bytes of their mbarriers, the waits
    for `empty` mbarriers, and the draws of tiles, whose numbers both partitions wait for; and that the consumers' partition has
    everything else. `gl.num_warps` counts the warps of all.

    **Leaves alone** kernels without `gl.producer_warps`, and the ops that set up shared memory and mbarriers.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      gl.mbarrier_wait %full[%stage], %parity : !gl.mbarrier<3>
      ...
      gl.mbarrier_arrive %empty[%stage] : !gl.mbarrier<3>
      gl.mbarrier_wait %empty[%stage], %parity : !gl.mbarrier<3>
      gl.bulk_load ...
    }
    ==>
    gl.warp_specialize warps [8, 1] {
      scf.for %i = %c0 to %n step %c1 {
        gl.mbarrier_wait %full[%stage], %parity : !gl.mbarrier<3>
        ...
        gl.mbarrier_arrive %empty[%stage] : !gl.mbarrier<3>
      }
    }, {
      scf.for %i = %c0 to %n step %c1 {
        gl.mbarrier_wait %empty[%stage], %parity : !gl.mbarrier<3>
        gl.bulk_load ...
      }
    }
    ```

    With two groups of eight warps, and four producer warps that hand over registers:

    ```mlir
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<4096xf32, #row>) {...}
    %other = gl.of_group 1, %sum : tensor<4096xf32, #row>
    %all = arith.addf %sum, %other : tensor<4096xf32, #row>
    ==>
    gl.warp_specialize warps [8, 8, 4] registers [120, 120, 24] {
      %sum = scf.for %j = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<4096xf32, #row>) {...}
      gl.mbarrier_wait %stored[%c0], %false : !gl.mbarrier<1>
      %other = gl.local_load %memory : !gl.memdesc<4096xf32, #plain> -> tensor<4096xf32, #row>
      %all = arith.addf %sum, %other : tensor<4096xf32, #row>
      ...
    }, {
      %sum = scf.for %j = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<4096xf32, #row>) {...}
      gl.local_store %sum, %memory : tensor<4096xf32, #row>, !gl.memdesc<4096xf32, #plain>
      gl.mbarrier_arrive %stored[%c0] : !gl.mbarrier<1>
    }, {
      ...
    }
    ```
  }];
  let statistics = [Statistic<"numSpecialized", "num-specialized", "Kernels split into producer and consumer warps">];
  let dependentDialects = ["gl", "scf"];
}

def GlExpandReductions : RustPass<"gl-expand-reductions"> {
  let summary = "Expand reductions that cross warps into exchanges through shared memory";
  let description = [{
    Each warp reduces its part and stores one partial result for each result to shared memory; every thread then reads all partial
    results of its results and combines them in registers. Reductions that do not depend on each other store all their partial
    results before the first are read, so that they share a barrier.

    Along an axis that is spread over the CTAs of a cluster, each CTA stores its partial results to the shared memory of all of them
    by `st.async`, waits at an mbarrier of its own, and combines the partial results that have arrived. Reductions that do not depend
    on each other share such a round. In a loop, rounds alternate between two buffers, and between the phases of two mbarriers. The
    mbarriers are initialised at the start of the function. All CTAs wait at the cluster's barrier, which makes the initialisation
    visible, before the first round, or before the `gl.warp_specialize` with a partition that has it.

    A scan across warps is expanded in the same way: each warp scans its part, starting from the total of the warps before it. There
    are no scans across CTAs.

    **Requires** layouts that split the reduced axis into registers, lanes and warps, or that spread it over CTAs alone; and
    reductions across CTAs that are in the body of a `gpu.func`, in one partition of its warps, or in loops there whose bounds are
    loop-invariant, of which the outermost may draw its tiles if it counts its steps.

    **Guarantees** that every `gl.reduce` stays within a warp, that every `gl.scan` across warps is given the totals of the warps, and
    that a CTA waits for everything that other CTAs store to it. Barriers of the CTA are left to `gl-insert-barriers`.

    **Leaves alone** reductions and scans that stay within a warp.

    ```mlir
    %s = gl.reduce %x axis 1 : (tensor<1x2048xf32, #rows>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {...}
    ==>
    %p = gl.warp_reduce %x axis 1 : (tensor<1x2048xf32, #rows>) -> tensor<1x4xf32, #partial> combine {...}
    %m = gl.local_alloc : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
    gl.local_store %p, %m : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
    %g = gl.local_load %m : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>> -> tensor<1x4xf32, #gathered>
    %s = gl.reduce %g axis 1 : (tensor<1x4xf32, #gathered>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {...}
    ```
  }];
  let statistics = [
    Statistic<"numExpanded", "num-expanded", "Reductions between warps expanded">,
    Statistic<"numRounds", "num-rounds", "Rounds of exchanges between CTAs">,
  ];
  let dependentDialects = ["gl", "arith"];
}

def GlExpandConversions : RustPass<"gl-expand-conversions"> {
  let summary = "Expand layout conversions that are cheapest through shared memory";
  let description = [{
    Each thread stores its elements to shared memory and loads those that it needs. The memory's layout is chosen (swizzled) for the
    two layouts: elements that a thread's registers hold together in both are accessed as vectors, and on neither side do lanes that
    are served together have bank conflicts.

    **Requires** layouts within one CTA.

    **Guarantees** that every `gl.convert_layout` that is left only renumbers registers, or stays within a warp, where it is done by
    shuffles. Barriers are left to `gl-insert-barriers`.

    **Leaves alone** conversions that are cheaper by shuffles, or free.

    ```mlir
    %b = gl.convert_layout %a : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    ==>
    %m = gl.local_alloc : !gl.memdesc<64x64xf32, #gl.shared_linear<offset = [[0, 1], ...]>>
    gl.local_store %a, %m : tensor<64x64xf32, #rows>, !gl.memdesc<64x64xf32, #gl.shared_linear<...>>
    %b = gl.local_load %m : !gl.memdesc<64x64xf32, #gl.shared_linear<...>> -> tensor<64x64xf32, #columns>
    ```
  }];
  let statistics = [
    Statistic<"numExpanded", "num-expanded", "Conversions expanded">,
  ];
  let dependentDialects = ["gl"];
}

def GlAllocateShared : RustPass<"gl-allocate-shared"> {
  let summary = "Allocate shared memory by liveness";
  let description = [{
    Allocates first fit, in program order, over the live ranges of allocations. Offsets are multiples of 16 bytes, of 128 where the
    copy engine accesses the memory, and of 8 for mbarriers.

    **Requires** structured control flow, and that no argument or result of a region is memory.

    **Guarantees** that every `gl.local_alloc` and `gl.mbarrier_alloc` in a `gpu.func` has an `offset`, that allocations which are
    live at the same time do not overlap, and that `gl.shared_bytes` on the function is the end of the last one.

    **Leaves alone** every other op. An existing offset is replaced.

    ```mlir
    gpu.func @kernel() kernel {
      %m = gl.local_alloc : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
      ...
    ==>
    gpu.func @kernel() kernel attributes {gl.shared_bytes = 16 : i64} {
      %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
      ...
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"232448",
           "Bytes that a CTA may use; the default is what sm_90 allows, 227 KiB">,
    Option<"shareFrom", "share-from", "int64_t", /*default=*/"1024",
           "The least size in bytes of an allocation that may reuse the memory of a dead one; reuse costs a barrier, "
           "which is not worth it for a few partial results of a reduction">,
  ];
  let statistics = [
    Statistic<"numAllocated", "num-allocated", "Allocations placed">,
  ];
  let dependentDialects = ["gl"];
}

def GlInsertBarriers : RustPass<"gl-insert-barriers"> {
  let summary = "Insert barriers between conflicting accesses to shared memory";
  let description = [{
    A dataflow analysis over structured control flow tracks the accesses that no barrier has ordered yet. Where one of them conflicts
    with an op (they overlap and one writes), a `gl.barrier` is inserted before the op. For a loop the analysis iterates to a
    fixpoint, which finds hazards across the back edge.

    **Requires** offsets (`gl-allocate-shared`) and structured control flow.

    Loads and stores of buffers that may be the same memory (`aliases` of `gl.launch`) count likewise, unless each thread stores what it
    has loaded.

    **Guarantees** a barrier of all threads, or in a partition of `gl.warp_specialize` a named barrier of the partition, on every
    path between two conflicting accesses, between the wait for an asynchronous copy and conflicting accesses after it, between
    the initialisation of mbarriers and their use, and between accesses to memory and releasing it to the other CTAs of the cluster.
    The cluster's barrier counts as one of the CTA; a relaxed one counts for the initialisation of mbarriers alone.

    **Leaves alone** the proxy fences that asynchronous copies need; stores of other CTAs, which are waited for at mbarriers; and
    existing barriers, needed or not. A CTA of one warp gets the same barriers as any other.

    ```mlir
    gl.local_store %p, %m : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
    %g = gl.local_load %m : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>> -> tensor<1x4xf32, #gathered>
    ==>
    gl.local_store %p, %m : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
    gl.barrier
    %g = gl.local_load %m : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>> -> tensor<1x4xf32, #gathered>
    ```
  }];
  let statistics = [
    Statistic<"numInserted", "num-inserted", "Barriers inserted">,
  ];
  let dependentDialects = ["gl"];
}

def GlVectorizeAccess : RustPass<"gl-vectorize-access"> {
  let summary = "Choose how many elements one load, store or copy moves";
  let description = [{
    The vector is the largest power of two of elements, up to 16 bytes, such that in every thread consecutive registers hold
    consecutive elements in memory, addresses are multiples of the vector's size, and no quotient changes within a vector. A guard
    may end within a vector: the elements of that vector which pass it are then moved one by one.

    The alignment of addresses follows from static strides and coefficients, and from the kernel's `gl.launch`: the base of a buffer
    and the strides of a dynamic strided layout are multiples of the buffer's entry in `alignments`, and dynamic sizes are multiples
    of their entries in `multiples`. Nothing is known of other sizes, nor of the strides of rows of such a length.

    The vector of a `gl.async_copy`, whose elements the CTA's threads share, is 16, 8 or 4 bytes, or one element.

    **Requires** nothing.

    **Guarantees** that every `gl.load`, `gl.store` and `gl.async_copy` has `vector`. Where the vector is shorter than the layout would
    allow, a remark says why.

    **Leaves alone** accesses that have `vector` already.

    ```mlir
    %t = gl.load %x at affine_map<(b, r, n) -> (b, n)>(%b) : memref<?x2048xbf16> -> tensor<1x2048xbf16, #rows>
    ==>
    %t = gl.load %x at affine_map<(b, r, n) -> (b, n)>(%b) vector 8 : memref<?x2048xbf16> -> tensor<1x2048xbf16, #rows>
    ```
  }];
  let statistics = [
    Statistic<"numVectorized", "num-vectorized", "Accesses of more than one element">,
  ];
  let dependentDialects = ["gl"];
}

def GlUnrollLoops : RustPass<"gl-unroll-loops"> {
  let summary = "Unroll loops over memory, and issue the loads of their steps together";
  let description = [{
    In a kernel with `gl.unroll_bytes` so many steps of a loop are unrolled that a thread loads at most as many bytes in them, and their
    loads come before what the steps compute and store. Loops of as many steps as that disappear. Steps that are left over follow: one
    by one if their number is known, else in a loop.

    **Requires** that a step loads nothing that an earlier one has stored.

    **Guarantees** that each step computes what it did, and in the same order, so that results are the same to the bit.
    `gl.unroll_bytes` is removed.

    **Leaves alone** loops whose bodies hold ops that other threads take part in (barriers, shuffles, shared memory), or loops; loops with
    another step than 1; and loops of which two steps load more bytes. Loads whose address depends on earlier steps, or that are the
    same in each step, stay in their steps.

    ```mlir
    scf.for %i = %c0 to %c16 step %c1 {
      %t = gl.load %x at affine_map<(i, r, n) -> (i, n)>(%i) vector 8 : memref<?x2048xbf16> -> tensor<1x2048xbf16, #rows>
      gl.store %t, %y at affine_map<(i, r, n) -> (i, n)>(%i) vector 8 : tensor<1x2048xbf16, #rows>, memref<?x2048xbf16>
    }
    ==>
    scf.for %i = %c0 to %c16 step %c8 {
      %t = gl.load %x at affine_map<(i, r, n) -> (i, n)>(%i) vector 8 : ...
      %j = arith.addi %i, %c1 : index
      %u = gl.load %x at affine_map<(i, r, n) -> (i, n)>(%j) vector 8 : ...
      // ... six more, with `gl.unroll_bytes = 128`
      gl.store %t, %y at affine_map<(i, r, n) -> (i, n)>(%i) vector 8 : ...
      gl.store %u, %y at affine_map<(i, r, n) -> (i, n)>(%j) vector 8 : ...
      // ... six more
    }
    ```
  }];
  let statistics = [
    Statistic<"numLoops", "num-loops", "Loops unrolled">,
  ];
  let dependentDialects = ["arith", "gl", "scf"];
}

def GlSinkExtensions : RustPass<"gl-sink-extensions"> {
  let summary = "Keep what a loop does not change 16 bits wide in registers";
  let description = [{
    The extension to f32 of a tile of 16-bit floats of which a thread holds at least 16 elements, in front of a loop that uses the result,
    moves into the loop, in front of its first use in a step. So do broadcasts of it, and sums and products with constants. Where the loop
    carries tiles of f32, such as a gradient's sums over rows, a thread holds at least 64 elements. A walk over rows then holds the weights of
    its columns in half the registers, and spends an instruction for each element and step.

    **Requires** nothing.

    **Guarantees** that results are the same to the bit, and that LLVM does not move the extensions out of the loop again: what they
    extend is behind a `gl.optimization_barrier`.

    **Leaves alone** smaller tiles: beside a gradient's sums the assembler takes no fewer registers for them.

    ```mlir
    %w = gl.load %weight at affine_map<(r, n) -> (n)>() : memref<4096xbf16> -> tensor<1x4096xbf16, #rows>
    %e = arith.extf %w : tensor<1x4096xbf16, #rows> to tensor<1x4096xf32, #rows>
    scf.for %i = %c0 to %n step %c1 {
      // ...
      %y = arith.mulf %x, %e : tensor<1x4096xf32, #rows>
    }
    ==>
    %w = gl.load %weight at affine_map<(r, n) -> (n)>() : memref<4096xbf16> -> tensor<1x4096xbf16, #rows>
    scf.for %i = %c0 to %n step %c1 {
      // ...
      %k = gl.optimization_barrier %w : tensor<1x4096xbf16, #rows>
      %e = arith.extf %k : tensor<1x4096xbf16, #rows> to tensor<1x4096xf32, #rows>
      %y = arith.mulf %x, %e : tensor<1x4096xf32, #rows>
    }
    ```
  }];
  let statistics = [
    Statistic<"numSunk", "num-sunk", "Extensions moved into a loop">,
  ];
  let dependentDialects = ["arith", "gl"];
}

def GlDependentLaunch : RustPass<"gl-dependent-launch"> {
  let summary = "Overlap the start of a kernel with the end of the one before it";
  let description = [{
    This is programmatic dependent launch. In a kernel whose `gl.launch` has `dependent_launch`, a `gl.grid_dependency_wait` is
    inserted before the first access to global memory on each path. In such a kernel, and in those that functions launch ahead of
    it, a `gl.grid_dependency_launch` lets the next kernel start: after the last loop, or at the start of a kernel without a loop.

    **Requires** nothing.

    **Guarantees** that no such kernel accesses global memory before the preceding kernels have ended and their writes are visible. A
    partition of `gl.warp_specialize` has no wait if it accesses global memory only behind waits for bytes or tiles that another one,
    which has a wait, expects or draws.

    **Leaves alone** other kernels.

    ```mlir
    %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
    ==>
    gl.grid_dependency_launch
    gl.grid_dependency_wait
    %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
    ```
  }];
  let statistics = [Statistic<"numKernels", "num-kernels", "Kernels that may start early">];
  let dependentDialects = ["gl"];
}

//===----------------------------------------------------------------------===//
// gpu, nvvm, llvm
//===----------------------------------------------------------------------===//

def ConvertMathToNvvmApprox
    : RustPass<"convert-math-to-nvvm-approx", "gpu.module"> {
  let summary = "Convert math ops to instructions of the SM";
  let description = [{
    `convert-gpu-to-nvvm` turns each math op into a call of CUDA's libdevice,
    which the compiler does not link. This pass runs before it and selects
    instructions: one of the special function unit (MUFU) where there is one, an
    exact instruction where the op is exact, and otherwise a short sequence.

    **Requires** nothing; the ops around the math ops may be of any level.

    **Guarantees** that none of the ops below is left on a scalar, or on a
    vector, of the types that the table of scalar ops
    (`dialects/norm/norm.md`) gives it. Vectors are computed element by element.
    f16 and bf16 are computed in f32 and rounded once, except by `absf`,
    `copysign`, `fma` and `clampf`, which are exact in every type.

    Of f32:

    | op | becomes | error, by the PTX ISA unless said otherwise |
    |---|---|---|
    | `math.rsqrt` | `rsqrt.approx` | relative, below 2^-22.9 |
    | `math.exp2` | `ex2.approx` | 2 ulp |
    | `math.exp` | `ex2.approx(x * log2 e)` | 2 + floor(abs(1.173 x)) ulp, as CUDA's `__expf` |
    | `math.expm1` | Taylor's polynomial to x^8 for abs(x) < 1/2, else `exp(x) - 1` | derived: the series is cut below 2^-26; from 1/2 on 5.2 ulp and those of `exp` |
    | `math.log2` | `lg2.approx` | absolute 2^-22 for x in (0.5, 2), relative 2^-22 elsewhere |
    | `math.log`, `math.log10` | `lg2.approx(x)`, scaled | as `lg2.approx`, and two roundings |
    | `math.log1p` | `2 artanh(x / (2 + x))` by its series to s^13 for x in (-0.35, 0.6), else `log(1 + x)` | derived: the series is cut below 2^-28; at -0.35 and 0.6 `lg2.approx` is 7.6 ulp off |
    | `math.tanh` | `1 - 2 / (exp(2x) + 1)` | absolute, about 2^-22 (derived); relative is lost near 0 |
    | `math.tanh`, `fast-tanh` | `tanh.approx` | relative, about 2^-11 |
    | `math.erf` | `x p(x^2)` for abs(x) < 1, else `1 - 2^-q(abs(x))` with x's sign | polynomials interpolated at Chebyshev points, off by 1.3e-9 and 2.4e-8; measured in f32: 2.3 and 1.2 ulp |
    | `math.sin`, `math.cos` | x less a multiple of pi/2 in three parts (Cody and Waite 1980), then Taylor's polynomial | derived, for abs(x) up to 2^17: absolute, about 2^-24; beyond, some number from -1 to 1 |
    | `math.powf` | `2^(y log2(abs(x)))`, the logarithm and the product in two f32 (Dekker 1971), then C's special cases | derived: the logarithm is off by 2^-30 of itself, so that `ex2.approx` and 2 ulp more are left |
    | `math.sqrt` | `sqrt.rn` | correctly rounded |
    | `arith.divf` with the flag `arcp` | `div.full` | 2 ulp |
    | `arith.divf` with the flags `arcp` and `afn` | a product with `rcp.approx` | 2 ulp, where the reciprocal is normal |
    | `math.round` | `trunc`, and 1 where at least 1/2 was cut off | exact |
    | `math.clampf` | `arith.minimumf` with the upper bound, `arith.maximumf` with the lower | exact |
    | `math.absf`, `floor`, `ceil`, `trunc`, `roundeven`, `copysign`, `fma` | LLVM's intrinsic | exact, or rounded once |

    Of f64: the exact ones likewise; `math.rsqrt` as `1 / sqrt`, two
    roundings; `math.exp` and `math.exp2` as a power of 2 times Taylor's
    polynomial to x^13, cut below 2^-57. Of integers: `math.absi`, `ctlz`,
    `cttz` and `ctpop` as LLVM's intrinsics, without poison.

    MLIR's own approximations (`populateMathPolynomialApproximationPatterns`)
    are not a pass, do not use the special function unit, and reduce the
    argument of sine by pi/2 in one part; its `math-expand-ops` takes the
    bounds of `math.clampf` the wrong way round.

    **Leaves alone** scalable vectors, other element types, and every other
    math op.

    ```mlir
    %1 = math.exp %0 : f32
    ==>
    %log2e = arith.constant 1.44269502 : f32
    %scaled = arith.mulf %0, %log2e : f32
    %1 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%scaled) : (f32) -> f32
    ```
  }];
  let options = [
    Option<"flushDenormals", "flush-denormals", "bool", /*default=*/"true",
           "Use the .ftz forms, which read and write a denormal as zero; the "
           "others spend more instructions on scaling">,
    Option<"fastTanh", "fast-tanh", "bool", /*default=*/"false",
           "Use tanh.approx (sm_75 and later): one instruction, good to about "
           "11 bits, which is enough for a bf16 result">,
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Math ops converted">,
  ];
  let dependentDialects = ["arith", "llvm", "vector"];
}

def ConvertGlToNvvm : RustPass<"convert-gl-to-nvvm", "gpu.module"> {
  let summary = "Lower a CTA's program on tiles to the program of one thread";
  let description = [{
    A tile becomes a vector of the registers that its layout gives each thread, and
    `index` becomes `i64`. A buffer becomes a pointer parameter, the sizes and
    strides that the kernel needs become `i64` parameters, and tensor maps become
    parameters of 128 bytes; all are listed in `gl.params`. Addresses are 64-bit
    where a buffer may be that large, and 32-bit within a tile; the registers of a
    thread differ by constant offsets.

    Whether a guard holds is decided for each vector, at compile time where its
    range allows that. A vector for which it may hold in part is moved as a whole
    under a predicate or, after a branch, element by element.

    Reductions of 32-bit integers over all lanes of a warp are one `redux.sync`,
    and so are the maximum and the minimum of f32 on targets that have it for them.
    Maxima and minima of widened 16-bit floats within a thread are taken before
    they are widened, which is exact, and two at a time.

    **Requires** kernels that are `gpu.func` with `gl.num_warps` and
    `gl.launch`, reductions and conversions within a warp
    (`gl-expand-reductions`, `gl-expand-conversions`), and shared memory with
    offsets (`gl-allocate-shared`) and barriers (`gl-insert-barriers`).

    **Guarantees** that kernels are `llvm.func` with `nvvm.kernel`; no op of `gl`,
    `gpu`, `tensor` or `memref` and no tile is left in them.

    **Leaves alone** host functions, and, for upstream's conversions to lower,
    `arith`, `math` and `vector` ops on scalars and vectors, and `scf` ops except
    for the types that they carry.

    Not lowered yet, each with a diagnostic that says so: values passed between
    warps in registers, and branches between blocks.

    ```mlir
    %t = gl.load %x at affine_map<(b, n) -> (b, n)>(%b) vector 8
       : memref<?x256xbf16> -> tensor<1x256xbf16, #gl.blocked<...>>
    ==>
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    ...
    %t = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "The target whose instructions are used">
  ];
  let dependentDialects = ["arith", "llvm", "nvvm", "scf", "vector"];
}

def NvvmContractSums : RustPass<"nvvm-contract-sums", "gpu.module"> {
  let summary = "Contract products and sums to fma, and forbid later passes to do so";
  let description = [{
    Whether a product that is added is rounded first, LLVM and ptxas would each decide by themselves, and so decide the last bit of
    results. This pass decides it: by `fp-contract=fast`, an fma takes the place of every sum or difference of a product that nothing
    else uses; by `on`, only of those that have the flag `contract`. From here on the text of a kernel fixes every bit of its results,
    so that the simulator and a GPU agree.

    An fma rounds once in place of twice, and is one instruction in place of two: the walk of LayerNorm's gradient has a quarter fewer
    instructions. The addition's flag alone matters; the product needs none. The sequences by which approximations of functions round
    are not written yet, and so stay as they will be: this comes before `convert-math-to-nvvm-approx`.

    **Requires** that tiles are vectors already: it comes after
    `convert-gl-to-nvvm`.

    **Guarantees** that an `arith.addf` or `arith.subf` of f32 or f64, with the flag or by `fast`, one of whose operands is an
    `arith.mulf` without other uses, or an element of one, is a `math.fma`; and that no op of `arith` or `math` has the flag any more.
    LLVM prints `add.rn` and `mul.rn` for what has no such flag, and ptxas leaves those as they are
    (PTX ISA, *Floating Point Instructions: add*).

    **Leaves alone** every other flag, other types, and products that are used more than once, which would be computed all the same.

    ```mlir
    %2 = arith.mulf %0, %0 : vector<2xf32>
    %3:2 = vector.to_elements %2 : vector<2xf32>
    %4 = arith.addf %3#0, %3#1 fastmath<nsz,contract> : f32
    ==>
    %2 = arith.mulf %0, %0 : vector<2xf32>
    %3:2 = vector.to_elements %2 : vector<2xf32>
    %4:2 = vector.to_elements %0 : vector<2xf32>
    %5 = math.fma %4#1, %4#1, %3#0 fastmath<nsz> : f32
    ```
  }];
  let options = [
    Option<"fpContract", "fp-contract", "std::string", /*default=*/"\"fast\"",
           "Which sums of products become fma: fast for all, on for those with the flag contract">,
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Additions and subtractions fused with a product">
  ];
  let dependentDialects = ["arith", "math", "vector"];
}
