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

def NormDifferentiate : RustPass<"norm-differentiate", "builtin.module"> {
  let summary = "Put beside a function that asks for it its gradient";
  let description = [{
    **Requires** of each function with `norm.gradient` that it becomes
    `norm.compute`s alone by `norm-decompose`, `norm-form-computes` and
    `norm-fuse-computes`. The attribute is the array of the names of the
    arguments that the gradient is with respect to, each a tensor of floats, or
    a unit for all tensors of floats.

    **Guarantees** that behind each such function `@f` stands `@f_grad`. It takes
    the arguments of `@f`, and for each result of floats that changes with those
    arguments the gradient `d<result>` of some number with respect to it; it
    gives the gradients `d<argument>` of that number with respect to the
    arguments asked for, in the order in which they were. A gradient has the type
    of its tensor, is contiguous, and what `norm.multiples`, `norm.min`,
    `norm.max` and `norm.align` say of the tensor holds of it.

    `@f_grad` computes what it needs of `@f` again. Its arithmetic is of f32, or
    of f64 where a program has any, from the gradients of the results to those of
    the arguments, which are rounded once; where `@f` is several kernels the
    gradients of what one hands to another are of that tensor's type.
    - Of a scalar op it is the derivative that the table of scalar ops says
      (`dialects/norm/norm.md`). A conversion between floats passes a gradient
      as it is, and a truth has none: what is chosen by it is fixed.
    - Of a sum each value gets all, of a maximum or minimum an equal share each
      value that is it, as of PyTorch's `amax`; of a product each value gets the
      product of the others. `|v| = inf ? v : w` passes everything to `w`.
    - Of a read at coordinates that leave out dims it is a sum over these dims. The
      reads of a tensor have to reach each of its elements once: at coordinates
      that are dims or number the points of several, or in parts of one axis.

    What is the same for all points of a sum is multiplied with outside of it,
    and what cancels is left out: nothing remains of the maximum that a softmax
    subtracts. The attribute is gone.

    Of a scan that adds, an element's adjoint is the scan of the results' adjoints
    in the opposite order: it is part of the sums from its own point on.

    **Leaves alone** everything else, also the function itself. A gradient through
    an op without derivative, a scan by another combiner, a combiner that is written
    out or other reads is an error that says what is supported.

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
  let statistics = [
    Statistic<"numDifferentiated", "num-differentiated", "Gradients of functions">,
  ];
  let dependentDialects = ["norm", "arith", "math", "func"];
}

def NormShard : RustPass<"norm-shard", "builtin.module"> {
  let summary = "Make of functions whose tensors are sharded what each device runs";
  let description = [{
    **Requires** of each function with `norm.devices` that it becomes
    `norm.compute`s alone by `norm-decompose`, `norm-form-computes` and
    `norm-fuse-computes`. The attribute stands on arguments, with one number for
    each axis: over how many devices it is sharded, and 1 for all axes but one. The
    function is written for the whole tensors.

    Every axis that is accessed at the same dim of a program as a sharded one is
    sharded too. Such an axis is accessed at one dim alone, which passes over all
    of it. A static extent is a multiple of the number of devices; shards of an
    extent that only the run knows may differ in length. What `norm.multiples`,
    `norm.min` and `norm.max` say of a dynamic extent, they say of each shard.

    **Guarantees** that the function `@f` has become functions of one device:
    - `@f_partial` takes the device's shards, and gives the states to which its
      reductions over shared dims come there: tensors `states0`, `states1`, ...
      of one element type each, with the states along the first axis and what they
      vary over along the others. A truth is told as an i8, an index as an i64.
    - `@f_rest` takes shards, and each `states<i>` of all devices, one behind the
      other along a new first axis in the order of the shards; it gives the
      device's shards of the results, and whole what no shared dim indexes. It
      combines states in their order: each device has the same bits.
    - A reduction over a shared dim that waits for another one is merged with it if
      its terms depend on the first one's result in a way that allows it, as in
      `norm-merge-reductions`. Otherwise its states are told in a round of
      their own, by `@f_partial2`, which takes those of the rounds before it.

    Each function takes the arguments that it uses. One that computes with the
    coordinate of a shared dim, as a comparison with labels does, takes `offset`
    besides: the coordinate of the first element of the device's shard.

    Each function says what it is a part of by `norm.sharded`: the name of `@f`,
    the number of devices, and the axes along which arguments and results of
    `@f` are sharded, by their names.

    **Leaves alone** functions without the attribute. A function that reduces over
    no shared dim, scans, reductions with several results, accesses that are
    none of the above, and those at numbers that a launch passes, are errors.

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
    operand, or two for one that the op divides into groups or blocks. Operands are
    widened to f32 where they are read, or to f64 where an operand or a
    result is of f64; all arithmetic on floats is of that type, and each result
    is rounded once, where it is written. From here on nothing says which op a
    program came from.

    **Leaves alone** every other op. An op of `norm` that has no definition yet is
    an error, which names those that have.

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
    - `arith` and `math` ops, on each element;
    - `arith.constant` of one value, and `tensor.splat`;
    - views, each element of which is read where it is: `tensor.cast`,
      `tensor.expand_shape` and `tensor.collapse_shape`, whose space has the
      axes of the side with more of them, and `tensor.extract_slice` with strides
      that are constants, at offsets that are sums of constants and of multiples
      of arguments: these are scalars of the program and indices of its access.
      Of axes that are joined only the first may have a size that only a run
      knows;
    - ops of `linalg` that are loop nests with indexing maps: `linalg.generic`,
      and named ones such as `linalg.fill`, `linalg.broadcast`,
      `linalg.transpose`, `linalg.reduce` and `linalg.map`. A loop that no
      result is indexed by is reduced; the region is then
      `op(accumulator, value)` by an op that takes any order.

    Values have the element types of the op, so that its results are rounded as
    the op says. Sizes that an op demands to be equal are taken for equal, and
    every dim ranges over the one that comes first in the function; kernels
    check what they read. Numbers that ops use are constants, arguments, and
    what scalar ops make of these. What only said how large a tensor is
    (`tensor.empty`, `tensor.dim`) is gone.

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
  let summary = "Make one program of computes that fit each other";
  let description = [{
    **Requires** nothing.

    **Guarantees** that no two computes of a function are left of which one
    reads what the other makes, or which read the same elements at every dim of
    both, unless one of these keeps them apart:
    - an op between them needs the one and is needed by the other;
    - an element is read at coordinates that do not say which point makes it:
      each axis is written at a dim, or at a sum that numbers the points of
      several, and read at the same, or at anything where it is a dim;
    - the values are needed elsewhere too, by the caller or by another op, and
      each of the two spaces has dims that the other lacks;
    - what a reduction comes to is needed at points that it neither ranges over
      nor is kept for: they would wait for one another's rows;
    - a reduction would be computed more than once;
    - reductions over different dims would wait for each other: the dims of one
      are not among those of the other, and neither is the last, whose results
      are only written;
    - a result that may be the same memory as an argument would be written
      where others read the argument: at other coordinates, or for points of
      dims that it is not indexed by.

    Dims are one where the one compute writes and the other reads by them, where
    both read the same elements by them, and where a reduction removes the one
    and the other has its extent. Where these have kept an elementwise compute
    apart from those that read it, each of them computes it, if that moves fewer
    bytes than its memory does.

    A value is rounded where it was in memory, so results are the same to the
    bit but for the order of sums. What no result depends on is gone.

    **Leaves alone** computes whose size is given by a result, whose results are
    written in several parts, those with a `norm.scan` or with a reduction that has several results,
    and every other op. Under `explain` a remark tells which ops became one, and what kept others apart.

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
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Say in remarks which ops became one, and what kept others apart">,
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Ops that became part of others">,
  ];
  let dependentDialects = ["norm", "arith", "math"];
}

def NormFormKernels : RustPass<"norm-form-kernels", "builtin.module"> {
  let summary = "Outline programs into kernels and give tensors buffers";
  let description = [{
    **Requires** functions whose bodies are `norm.compute` and `func.return`
    alone, and whose results are results of computes. Beside the ops of `norm`,
    programs hold the ops of the table of scalar ops (`dialects/norm/norm.md`)
    on its types, and constants; this is checked of every program, also of
    kernels that are there already. Arguments are tensors, and scalars of type
    f32, f64, i32, i64 and index. Attributes say what the buffers are like:

    | attribute | of | meaning | default |
    |---|---|---|---|
    | `norm.name` | all | the name in the bundle: an identifier, once in a function | `arg<i>`, `result<i>` |
    | `norm.buffer` | tensors | the memref, with its strides | contiguous |
    | `norm.align` | tensors | bytes: the base address and every dynamic stride of `norm.buffer` are multiples of it | 16 |
    | `norm.multiples` | tensors | array of i64: what each extent is a multiple of | nothing is known |
    | `norm.min` | tensors | array of i64: what each extent at least is | 0 each |
    | `norm.max` | tensors | array of i64: what each extent at most is, -1 for no bound | no bound |
    | `norm.sizes` | tensors | array of strings: what each dynamic extent is called, empty for no name; extents of one name are equal | the compiler's names |
    | `norm.may_alias` | results | the name of an argument that the result may be the same memory as | none |
    | `norm.default` | scalars | the value where a launch sets none, of the scalar's type | must be there |

    A result may be the same memory as an argument of the same type if the
    compute that makes it reads the argument only at the coordinates that it
    writes, if nothing that depends on what it reads there varies over other
    dims, and if no later compute reads the argument.

    **Guarantees** that each compute that a result depends on is a `norm.kernel`
    with one alignment per buffer, launched where the compute stood. Tensors
    are memrefs, results have become arguments behind the others, marked
    `norm.output`, and what is computed but not returned is a `memref.alloc`
    with `norm.scratch`, of the size that the writes reach, which is
    uninitialized.

    **Leaves alone** functions that launch kernels already. Everything else in a
    function is an error that says what is supported; nothing is changed then.

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
  let summary = "Give outputs that leave out a dim that may be empty a kernel of their own";
  let description = [{
    **Requires** kernels that have not been tiled.

    **Guarantees** that a write of a kernel leaves out no dim that the kernel
    keeps, does not reduce and that may have no points. Writes that leave out
    such dims have a kernel of their own without them, launched behind the one
    that they were in: they happen once, whatever the extents of the dims.

    **Leaves alone** dims of a static extent above 0, dims that a reduction of
    the kernel is over, and kernels whose dims have roles.

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
  let statistics = [
    Statistic<"numSplit", "num-split", "Kernels made of what other kernels wrote">,
  ];
  let dependentDialects = ["norm"];
}

def NormNormalizeSpace : RustPass<"norm-normalize-space", "builtin.module"> {
  let summary = "Merge the dims of kernels that are one dim to every access";
  let description = [{
    **Requires** kernels that have not been tiled.

    **Guarantees** that two adjacent dims are merged if
    - every access that uses either has the two as the coordinates of two
      adjacent axes, and the buffer's layout allows those to be one axis: it
      is contiguous, or the outer stride is the inner size times the inner
      stride, all static;
    - every reduction is over both or neither, and every scan along both or
      neither, and neither counts the results of a reduction;
    - nothing computes with their coordinates;
    - a read is known to use the whole of the inner axis.

    The kernel's buffers are collapsed accordingly, its extents are over the
    axes that are left, and launches pass `memref.collapse_shape`s of what
    they passed.

    **Leaves alone** kernels whose dims have roles, and dims that stay apart for
    one of the reasons above: those are legal, and later passes take them as
    they are.

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

def NormHoistDivisions : RustPass<"norm-hoist-divisions"> {
  let summary = "Divide many elements by one value through its reciprocal";
  let description = [{
    **Requires** nothing.

    **Guarantees** that no f32 `arith.divf` of a kernel has a divisor that
    varies over fewer dims than its dividend: the quotient is a product with the
    reciprocal, which is computed once for each divisor. It errs by up to 3 ulp,
    as the table of scalar ops says of `arith.divf`.

    **Leaves alone** divisions of other types, and those by a value for each
    element.

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
  let statistics = [Statistic<"numHoisted", "num-hoisted", "Divisions that are products now">];
  let dependentDialects = ["arith"];
}

def NormNarrowComparisons : RustPass<"norm-narrow-comparisons"> {
  let summary = "Compare dims in 32 bits";
  let description = [{
    **Requires** kernels without roles.

    **Guarantees** that an `arith.cmpi` of a dim whose extent is at most 2^30
    with an index that does not vary over it compares integers of 32 bits. The
    index is clamped to lie from -1 to the extent, which changes no comparison
    with a point of the dim.

    **Leaves alone** comparisons of other values, and of dims of which no bound
    is known.

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
  let statistics = [Statistic<"numNarrowed", "num-narrowed", "Comparisons that are of 32 bits now">];
  let dependentDialects = ["arith"];
}

def NormSelectSchedule : RustPass<"norm-select-schedule"> {
  let summary = "Give kernels schedules, by a cost model or as the user says";
  let description = [{
    **Requires** kernels without roles.

    **Guarantees** that each kernel has a schedule that `norm-tile` applies. Where
    the user gives none, every way to lay a tile along one or two dims is judged
    by what the kernel's structure says (extents, strides, alignments, bytes per
    element) and what the target is (registers, threads, SMs, caches,
    bandwidth), and the one that is expected to take the least time is taken;
    `norm.choice` says which one it was, and how many CTAs an SM should hold.
    docs/schedule.md says why, with the measurements behind it. What is given for
    some sizes, or chosen for few points, is an alternative of the kernel.

    **Leaves alone** kernels that have a schedule. Refuses kernels of which no
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
           "Schedules of kernels that have none, separated by semicolons: KERNEL=#norm.schedule<...> for one, the attribute or "
           "the parameters in its brackets for all that are not named; the cost model's for the rest. KERNEL if CONDITION="
           "#norm.schedule<...> is for some sizes, such as size_0_1 < 64 for those of buffer 0 along axis 1">,
    Option<"absent", "absent", "bool", /*default=*/"false",
           "Whether schedules may name kernels that the module does not have: what norm-split-reductions is to make">,
    Option<"bySize", "by-size", "bool", /*default=*/"false",
           "Whether a kernel whose points only the run knows gets a schedule of its own for few of them, if the cost model "
           "expects that to gain more than a tenth">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Say in a remark on each kernel what was chosen, why, and what came next">,
    Option<"assembled", "assembled", "std::string", /*default=*/"\"\"",
           "What the assembler made of schedules, in place of the model's estimate: KERNEL@REGISTERS=SCHEDULE, or "
           "KERNEL@spilled=SCHEDULE, separated by semicolons">,
    Option<"splits", "splits", "bool", /*default=*/"true",
           "Whether a schedule may split reductions over CTAs, which norm-split-reductions then does">,
  ];
  let statistics = [Statistic<"numScheduled", "num-scheduled", "Kernels given a schedule">];
  let dependentDialects = ["norm"];
}

def NormDispatchSchedules : RustPass<"norm-dispatch-schedules", "builtin.module"> {
  let summary = "Launch a kernel of its own for each schedule of a kernel";
  let description = [{
    **Requires** kernels that have not been tiled.

    **Guarantees** that no kernel has `alternatives`. Each schedule that stands for
    some sizes is that of a copy of the kernel, `<kernel>_<number>`; the kernel
    itself keeps the schedule for all other sizes. Where the kernel was launched
    an `affine.if` launches the first one whose condition holds. A condition that
    compares one size with a number becomes a bound of that size in the kernels
    that it decides on.

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

def NormSplitReductions : RustPass<"norm-split-reductions", "builtin.module"> {
  let summary = "Split reductions over CTAs into partial results and a second kernel";
  let description = [{
    Where a reduction leaves fewer results than the GPU has room for CTAs, its dim is split over CTAs: each combines a
    part of the dim, and a second kernel combines the parts.

    **Requires** kernels that have not been tiled. A dim with a `split` factor is reduced, and reductions over it do not wait for
    one another, unless the schedule's `merge_reductions` has `split` and they can be merged (`norm-merge-reductions`).

    **Guarantees** that no schedule has a `split` factor. The part of the dim that the factor took is a dim of its own, spread
    over the grid; the results of reductions over the dim are written to scratch, one for each part; a second kernel, which has
    no schedule yet, reduces them, in an order that its schedule fixes, and computes what hangs on them. Scratch is a
    `memref.alloc` with `norm.scratch` in the function that launches both.

    A reduction that waits for another over the dim is merged with it: each part has both with a reference of its own, and the
    second kernel combines tuples. Where results come back to points of the dim, a third kernel without a schedule computes
    what they are needed for there, from what the second leaves in scratch.

    **Leaves alone** kernels without such a factor, and what does not hang on the reductions: it stays in the first kernel.
    Another dim's `split` factor is one of the grid there, where all reductions over that dim hang on these.

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
      %p = memref.alloc() {alignment = 256 : i64, norm.name = "states0", norm.scratch} : memref<8x64xf32>
      norm.launch @sum_0(%x, %p) : memref<?x64xf32>, memref<8x64xf32>
      norm.launch @sum_0_finish(%y, %p) : memref<64xf32>, memref<8x64xf32>
      return
    }
    norm.kernel @sum_0(%x: memref<?x64xf32>, %p: memref<8x64xf32>) space(%q = dim(%x, 0) ceildiv 8, %s = 8, %n = 64)
        where(%q * 8 + %s < dim(%x, 0)) schedule(#norm.schedule<spread = [[loop], [grid], [lane(32), vector(2)]]>) {
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

    **Guarantees** that each kernel has roles. A dim has become one dim for each
    of its factors, outermost first, of the factor's role (`grid`, `loop`); a
    run of neighbouring `warp` and `lane` factors is one dim (`thread`), and so
    is a run of `register` and `vector` factors (`register`) and one of `cluster`
    factors (`cluster`); a factor of 1 is
    none. A factor without a size has what the others leave, rounded up. The old
    dim is the mixed-radix number that they spell, wherever an access, a
    reduction, a guard or a value used it. A guard stands where the extent is
    not known to be a multiple of the sizes. Where CTAs draw the steps of a loop
    (`hand_out = dynamic`), the loop has those of all CTAs, and their number is
    no factor of the dim.

    **Leaves alone** kernels that have roles, and what is inside them. Refuses a
    schedule that does not hold all points of a dim, or keeps in registers what
    a loop reads step by step, or has CTAs draw steps that depend on each other;
    and what no pass applies yet: several producer warps, tiles that clusters
    draw, copies by tensor maps of buffers that those cannot describe.

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

    **Guarantees** that no loop dim has the static extent 1: each that had is
    gone, with 0 in its place. A row that one step covers is then resident as a
    whole, and a reduction over the loop alone is the value that it reduced.

    **Leaves alone** all other dims, also loops whose one step only the run knows.

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
  let summary = "Carry reductions that wait for another along with it";
  let description = [{
    **Requires** kernels with roles, as `norm-tile` leaves them.

    **Guarantees**, for kernels whose schedule has `merge_reductions`, that at
    the levels it names no sum waits for a reduction over the same dims where
    partial results of both can be combined: sums of exponentials of the
    distance to a maximum or minimum (online softmax), and sums of squares of the
    distance to what a sum gives (Chan's update). What is within the innermost
    of these levels is reduced with a reference of its own: by a thread in
    a step for `loop`, by a thread for `lane` and `warp`, by a CTA for `cluster`.
    At the named levels partial results of both meet in one reduction, whose combiner
    changes the reference; at levels between or outside of them they meet in one reduction
    after the other. Numbers of elements that are the same everywhere are constants.
    Results are equal up to rounding.

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
  let statistics = [Statistic<"numMerged", "num-merged", "Sums that need not wait any more">];
  let dependentDialects = ["arith", "math"];
}

def NormCacheInputs : RustPass<"norm-cache-inputs"> {
  let summary = "Cache reused inputs and compute again what hangs on them";
  let description = [{
    **Requires** a schedule on each kernel.

    **Guarantees** that each read of a buffer which the schedule keeps in
    registers or in shared memory, and which contributes to a reduction and is needed again behind
    it, has a `norm.cache` right behind it, and that what the later phase needs
    is computed from the cached value right before the phase's first use. No
    other value that such a read contributes to, and that varies over a reduced
    dim, lives from one phase to the next. A phase's cache is made from that of
    the phase before.

    **Leaves alone** reads of buffers that the schedule keeps elsewhere: they are
    read again where a loop passes over them again.

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
    the kernel, so that what a later phase needs (a weight) is under way while
    the first reduction waits.

    **Requires** nothing.

    **Guarantees** that in such a kernel no other op stands before a read.

    **Leaves alone** the order of the reads among themselves, and kernels whose
    schedule does not ask for it.

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
    Grid dims become the cluster's place in the grid, cluster, thread and register
    dims the axes of tiles, loop dims loops. Scalars are thus the same for all CTAs
    of a cluster, but for the places of the part that a CTA of it copies to its
    shared memory. A value that varies over all axes is a tile
    in the layout that the schedule spells, one that varies over fewer a tile in
    a slice of it, one that varies over none a scalar. Where a guard keeps points
    out, loads give zero, stores do nothing and reductions see their identity.

    What a reduction over a loop comes to is carried from step to step, reduced
    within each thread; threads meet once, behind the loop. A scan is one along
    each axis of the tile, from the innermost on, of what the axes within it come
    to; what a loop has come to before is carried, and told to all threads in
    each step. Of scans in the opposite order the loop takes the last step first. A
    loop over the dim that counts a reduction's results carries a bound: each step
    reduces what does not lie beyond it. A loop whose guard
    holds in all but the last steps becomes two: one for those steps, without
    the guard, and one for what is left. A value that is needed again behind a
    loop is read again in the next one, with hints to the caches that the
    schedule keeps it in.

    Of a schedule whose `hand_out` is dynamic the loop becomes an `scf.while`: a
    CTA begins with the tile of its own number and draws the next one at the end
    of each step (`gl.next_tile`), from a counter that the kernel takes behind its
    buffers. The counter is scratch of the host function, zeroed once
    (`norm.zeroed`), and each launch leaves it zero.

    **Requires** kernels that are tiled (`norm-tile`), have a schedule, reduce
    over no dim of the grid, scan along dims that a CTA holds, within loops
    over them, and count the results of reductions by dims of loops.

    **Guarantees** that each `norm.kernel` has become a `gpu.func` of the same name
    in a `gpu.module` of its own, with `gl.num_warps`, `gl.launch` and the
    schedule; launches name it.

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
  let summary = "Give accesses layouts that suit them, and remove conversions between layouts where that is free";
  let description = [{
    A load or store is best where neighbours in memory lie in the registers of one access and then in neighbouring lanes. One
    without `vector` gets a layout of its own where its tile's does not have that: one whose registers are numbered so that
    vectors are runs, which costs nothing, or one along memory, where the sectors of 32 bytes that a warp asks for less, or
    the lines of 128 bytes that its writes touch, are worth more than the conversion. Elements that are narrowed for a store, or widened
    behind a load, are moved while they are narrow.

    A conversion costs shuffles or a round trip through shared memory; an elementwise op costs the same in any layout.

    **Requires** nothing.

    **Guarantees** that no `gl.convert_layout` converts to its operand's type, from another conversion, or from a splat
    (a constant or `tensor.splat`), and that none follows an elementwise op that nothing else uses where converting the
    op's operands would leave fewer, at no higher cost.

    **Leaves alone** every other conversion, also one that only renames a layout, and accesses by quotients of coordinates.

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
  let summary = "Let loops load the tiles of their next step before they compute on those of this one";
  let description = [{
    In a kernel with `gl.stages = 2` that copies nothing to shared memory, loops carry the tiles that they load: the first ones are
    loaded in front of the loop, and each step begins with the loads of the next one, whose latency its own arithmetic, and what its
    threads wait for one another, then hides.

    **Requires** that a step loads nothing that an earlier one has stored.

    **Guarantees** that each load at the top of a loop's body whose place follows from the step's number, by scalar arithmetic, is
    one step ahead of its use, and that nothing is read for a step that is not there: a guard that steps are left joins those of
    the load. A kernel with such loops has `gl.min_ctas_per_sm`, 1 if it had none: the assembler would else delay the loads to save
    registers. `gl.stages` is gone.

    **Leaves alone** loops that are known to have one step at most; loads that are the same in each step, whose place depends on
    earlier ones, or of a buffer that the loop stores to, with a remark; and kernels that copy to shared memory (`gl-pipeline`). Of a loop
    that was peeled each part begins anew.

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
  let summary = "Make copies to shared memory asynchronous, in loops several steps ahead";
  let description = [{
    Each `gl.copy_to_shared` by `bulk` becomes bulk copies of its contiguous runs, which arrive at an mbarrier. Those of a loop go
    through a ring of `gl.stages` stages: the loop waits until a stage is full, and issues the copy of a later step into it once
    every warp has arrived at the stage's other mbarrier, `empty`. Loops that go on from each other, as peeled ones do, share a
    ring. Where CTAs draw the tiles of a loop (`gl.next_tile`), each step draws the tile of the step that fills its stage again, and the
    loop carries the tiles of all stages.

    One by `tensor` becomes copies of boxes by a tensor map (`gl.tensor_load`), which arrive at the same mbarriers. A box is as large as
    lies in one piece of the memory, of 256 elements at most along an axis of the buffer. All of its bytes arrive: what lies outside of the
    buffer is zero, and what guards keep out besides is copied, too, and not used.

    One by `cp_async` becomes a `gl.async_copy` that all threads share, in a group of its own outside of loops and in one group for
    each step of a loop. There a ring of S stages is S - 1 steps ahead: a step waits for its own group and, by a barrier, for all
    threads, which are through with the step before it by then, and issues the copies of a later step into that one's stage. What
    guards keep out is zero in memory, so that loads under the same guards need none.

    Each `gl.copy_from_shared` becomes bulk copies, or copies of boxes (`gl.tensor_store`), those of a step one group, for which the
    thread that issues them waits two steps later: the steps of a loop take turns with two memories. All groups have ended when the
    kernel does.

    **Requires** copies at a kernel's top level or in a loop there, those of one loop by one engine, and by `bulk` or `tensor` where its
    tiles are drawn; places that follow from the step's number alone, or its tile's; of bulk copies runs whose addresses and lengths are
    multiples of 16 bytes, and guards that leave the first elements of a run; of boxes rows that are multiples of 16 bytes, and multiples
    of 128 bytes in all, and where they are stored guards that keep out no more than what lies outside of the buffer.

    **Guarantees** that no `gl.copy_to_shared` and no `gl.copy_from_shared` is left, that each step finds its tiles complete, and that no
    stage is written before every warp is through with it, or the copy engine.

    **Leaves alone** who issues copies by the copy engine: every thread of the CTA passes by, and one of them does (`gl-specialize-warps`). Of
    rings of one stage that `cp.async` fills, the barrier ahead of the copies (`gl-insert-barriers`).

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
    Statistic<"numSent", "num-sent", "Copies from shared memory">,
  ];
  let dependentDialects = ["affine", "arith", "gl", "scf"];
}

def GlDrawTiles : RustPass<"gl-draw-tiles"> {
  let summary = "Let one thread draw the next tile of a walk while the CTA works on the one at hand";
  let description = [{
    A step of a loop that ends with `gl.next_tile` begins with the draw: one thread makes it, stores the tile's number to shared memory
    and arrives at an mbarrier, for which all threads wait where the number was drawn.

    **Requires** loops that carry the number of their tile, and each of whose steps draws the next one's.

    **Guarantees** that no `gl.next_tile` is left, and that each step draws once.

    **Leaves alone** loops through rings, whose tiles `gl-pipeline` draws as many steps ahead as they have stages.

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
  let summary = "Give copies warps of their own";
  let description = [{
    In a kernel with `gl.producer_warps`, issuing copies and computing on what they bring become two partitions of
    `gl.warp_specialize`, which meet at mbarriers alone. The consumers keep the numbers of their warps.

    **Requires** that where copies go, and whether they are issued, follows from scalars: sizes, the CTA's number, the
    numbers of steps and those of tiles that are drawn.

    **Guarantees** that the partition of the producers holds the copies by the copy engine, the bytes expected of them, the waits for
    what consumers arrive at and the draws of tiles, whose numbers both wait for, and that of the consumers everything else. `gl.num_warps`
    counts both.

    **Leaves alone** kernels without `gl.producer_warps`, and what sets up shared memory and mbarriers.

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
  }];
  let statistics = [Statistic<"numSpecialized", "num-specialized", "Kernels split by role">];
  let dependentDialects = ["gl", "scf"];
}

def GlExpandReductions : RustPass<"gl-expand-reductions"> {
  let summary = "Expand reductions that cross warps into exchanges through shared memory";
  let description = [{
    Each warp reduces its part, stores one partial per result to shared memory, and every thread reads all partials of
    its results and combines them in registers. Of reductions that do not hang on each other all partials are stored before the first
    are read, so that they share a barrier.

    Along an axis that CTAs of a cluster are spread over, each CTA stores its partial results into the shared memory of all of
    them by `st.async`, waits at an mbarrier of its own, and combines what has come. Reductions that do not hang on each other
    share such a round. In a loop two buffers and the phases of two mbarriers are used by turns. The mbarriers are initialised where
    the function begins, and the cluster's barrier, which makes that known, is waited for before the first round, or before the
    partitions of warps of which one has it.

    A scan across warps goes the same way: each warp scans its part behind what the warps before it come to. Along CTAs there is none.

    **Requires** layouts that split the reduced axis into registers, lanes and warps, or that spread it over CTAs alone; and
    reductions across CTAs in the body of a `gpu.func`, in one partition of its warps, or in loops there whose bounds do not change
    from turn to turn.

    **Guarantees** that every `gl.reduce` stays within a warp, that every `gl.scan` across warps has what they come to, and that a CTA waits for all that others store to it. Barriers of the
    CTA are left to `gl-insert-barriers`.

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
  let summary = "Expand conversions of layouts that are cheapest through shared memory";
  let description = [{
    A thread stores its elements and loads those that it needs. The order of the memory is made for the two layouts: what
    both have in a thread's registers is a vector, and lanes that are served together meet in no bank, on either side.

    **Requires** layouts within one CTA.

    **Guarantees** that every `gl.convert_layout` renumbers registers or stays within a warp, where shuffles do it.
    Barriers are left to `gl-insert-barriers`.

    **Leaves alone** conversions that cost less by shuffles, or nothing.

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
    First fit, in program order, over the intervals in which allocations live. Offsets are multiples of 16 bytes, of 128
    where the copy engine works on the memory, and of 8 for mbarriers.

    **Requires** structured control flow, and memory that no region's argument or result stands for.

    **Guarantees** that every `gl.local_alloc` and `gl.mbarrier_alloc` in a `gpu.func` has an `offset`, that those which
    live at once do not overlap, and that `gl.shared_bytes` on the function is the end of the last.

    **Leaves alone** every other op; an offset that is there already is replaced.

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
           "Bytes from which on an allocation may share its place with another that is dead; sharing costs a barrier, "
           "which is not worth a few partials of a reduction">,
  ];
  let statistics = [
    Statistic<"numAllocated", "num-allocated", "Allocations placed">,
  ];
  let dependentDialects = ["gl"];
}

def GlInsertBarriers : RustPass<"gl-insert-barriers"> {
  let summary = "Insert barriers between conflicting accesses to shared memory";
  let description = [{
    A dataflow analysis over structured control flow keeps the accesses that no barrier has ordered yet; where one of
    them conflicts with an op (they overlap and one writes), a `gl.barrier` goes before the op. Around a loop the
    analysis iterates to a fixpoint, which finds hazards across the back edge.

    **Requires** offsets (`gl-allocate-shared`) and structured control flow.

    **Guarantees** a barrier of all threads, or in a partition of `gl.warp_specialize` a named one of the partition's, on every
    path between two conflicting accesses, between the wait for an asynchronous copy and conflicting accesses after it, between
    the initialisation of mbarriers and their use, and between accesses to memory and giving it back to the cluster. The cluster's
    barrier counts as one of the CTA; a relaxed one for the initialisation of mbarriers alone.

    **Leaves alone** the proxy fences that asynchronous copies need, what other CTAs store, which is waited for at mbarriers, and
    barriers that are there already, needed or not. A CTA of one warp gets the same barriers as any other.

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
    The largest power of two of elements, up to 16 bytes, such that in every thread consecutive registers hold
    consecutive elements in memory, addresses are multiples of the vector, and no quotient changes within one. A guard may
    end within a vector: what it lets through of that one is moved element by element.
    What is known of addresses: static strides and coefficients, and what the kernel's `gl.launch` says: a buffer's base and
    the strides of a dynamic strided layout are multiples of its entry in `alignments`, and dynamic sizes of what `multiples`
    says. Of other sizes, and so of the strides of rows as long as them, nothing is known.

    Of a `gl.async_copy`, which the CTA's threads share, it is 16, 8 or 4 bytes, or one element.

    **Requires** nothing. Where a vector stays shorter than the layout would allow, a remark says why.

    **Guarantees** that every `gl.load`, `gl.store` and `gl.async_copy` has `vector`.

    **Leaves alone** those that have it already.

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

def GlDependentLaunch : RustPass<"gl-dependent-launch"> {
  let summary = "Wait for the kernel ahead, and let the one behind start early";
  let description = [{
    In a kernel whose `gl.launch` says `dependent_launch`, a `gl.grid_dependency_wait` goes before the first access to global
    memory of each path, and a `gl.grid_dependency_launch` behind the last loop, or to the start of a kernel without one.

    **Requires** nothing.

    **Guarantees** that no such kernel touches global memory before the kernels ahead have ended and what they wrote is
    visible.

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
  let summary = "Convert math ops to what the SM computes by itself";
  let description = [{
    `convert-gpu-to-nvvm` turns each math op into a call of CUDA's libdevice,
    which the compiler does not link. This pass gets there first and picks
    instructions: one of the special function unit (MUFU) where there is one,
    an exact instruction where the op is exact anyway, a few where neither
    will do.

    **Requires** nothing; ops of any level may stand around the math ops.

    **Guarantees** that none of the ops below is left on a scalar, or on a
    vector, of the types that the table of scalar ops
    (`dialects/norm/norm.md`) gives it. Vectors are taken apart and put
    together again. f16 and bf16 are computed in f32 and rounded once, but for
    `absf`, `copysign`, `fma` and `clampf`, which are exact in every type.

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
  let summary = "Lower one CTA's program on tiles to one thread's program";
  let description = [{
    A tile becomes a vector of the registers that its layout gives a thread;
    `index` becomes `i64`; a buffer becomes a pointer parameter, and the sizes
    and strides that the kernel needs become `i64` parameters, and tensor maps
    parameters of 128 bytes, listed in `gl.params`. Addresses are 64-bit where a buffer may be that large and
    32-bit within a tile; what distinguishes a thread's registers is a constant
    offset.

    Whether a guard holds is decided for each vector, at compile time where its
    range allows that. A vector for which it may hold in part is moved as a
    whole under a predicate, or behind a branch element by element.

    **Requires** kernels that are `gpu.func` with `gl.num_warps` and
    `gl.launch`, reductions and conversions within a warp
    (`gl-expand-reductions`, `gl-expand-conversions`), and shared memory with
    offsets (`gl-allocate-shared`) and barriers (`gl-insert-barriers`).

    **Guarantees** that kernels are `llvm.func` with `nvvm.kernel`; no op of `gl`,
    `gpu`, `tensor` or `memref` and no tile is left in them.

    **Leaves alone** `arith`, `math` and `vector` ops on scalars and vectors,
    and `scf` ops but for the types that they carry, which upstream's
    conversions lower; host functions.

    Not lowered yet, each with a diagnostic that says so: registers handed from warps to warps, branches between
    blocks.

    ```mlir
    %t = gl.load %x at affine_map<(b, n) -> (b, n)>(%b) vector 8
       : memref<?x256xbf16> -> tensor<1x256xbf16, #gl.blocked<...>>
    ==>
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    ...
    %t = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
    ```
  }];
  let dependentDialects = ["arith", "llvm", "nvvm", "scf", "vector"];
}

def NvvmContractSums : RustPass<"nvvm-contract-sums", "gpu.module"> {
  let summary = "Decide which sums round their products, so that nothing later may";
  let description = [{
    The flag `contract` on an addition leaves open whether a product that it
    adds is rounded first. LLVM and ptxas would each decide for themselves,
    and the result's last bit with them. This pass decides: what may be fused
    is. From here on the text of a kernel fixes every bit of its results, so
    that a simulator of it and a GPU agree.

    The addition's flag alone decides; the product needs none. A reduction's
    additions have it, because the op leaves the rounding of a product that
    is summed open.

    **Requires** that tiles are vectors already: it comes after
    `convert-gl-to-nvvm`.

    **Guarantees** that an `arith.addf` with `contract` one of whose operands
    is an `arith.mulf`, or an element of one, is an `llvm.intr.fma`; and that
    no op of `arith` or `math` has the flag any more. LLVM prints `add.rn` and
    `mul.rn` for what has no such flag, and ptxas leaves those as they are
    (PTX ISA, *Floating Point Instructions: add*).

    **Leaves alone** every other flag, and additions without this one.

    ```mlir
    %2 = arith.mulf %0, %0 : vector<2xf32>
    %3:2 = vector.to_elements %2 : vector<2xf32>
    %4 = arith.addf %3#0, %3#1 fastmath<nsz,contract> : f32
    ==>
    %2 = arith.mulf %0, %0 : vector<2xf32>
    %3:2 = vector.to_elements %2 : vector<2xf32>
    %4:2 = vector.to_elements %0 : vector<2xf32>
    %5 = llvm.intr.fma(%4#1, %4#1, %3#0) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32, f32) -> f32
    ```
  }];
  let statistics = [
    Statistic<"numFused", "num-fused", "Additions that take a product unrounded">
  ];
  let dependentDialects = ["llvm", "vector"];
}
