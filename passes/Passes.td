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

def NormDecompose : RustPass<"norm-decompose"> {
  let summary = "Replace named ops by the scalar programs that define them";
  let description = [{
    **Requires** nothing.

    **Guarantees** that no named op of `norm` is left: each has become a
    `norm.compute`, whose space has a dim for each axis of the op's first
    operand. Operands are widened to f32 where they are read, all arithmetic
    is f32, and each result is rounded once, where it is written. From here
    on nothing says which op a program came from.

    Leaves alone every other op. An op of `norm` that has no definition yet is
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

def NormFormKernels : RustPass<"norm-form-kernels", "builtin.module"> {
  let summary = "Outline programs into kernels and give tensors buffers";
  let description = [{
    **Requires** functions whose bodies are `norm.compute` and `func.return`
    alone: a compute reads arguments of the function, and each of its results
    is one result of the function. Attributes of arguments and results say
    what their buffers are like:

    | attribute | meaning | default |
    |---|---|---|
    | `norm.name` | the name in the bundle: an identifier, once in a function | `arg<i>`, `result<i>` |
    | `norm.buffer` | the memref, with its strides | contiguous |
    | `norm.align` | bytes: the base address and every dynamic stride are multiples of it | 16 |

    **Guarantees** that each compute is a `norm.kernel` with one alignment per
    buffer, launched where the compute stood. Arguments are memrefs, and
    results have become arguments behind them, marked `norm.output`.

    Leaves alone functions that launch kernels already. Everything else in a
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
  let dependentDialects = ["norm", "func", "memref"];
}

//===----------------------------------------------------------------------===//
// gpu, nvvm, llvm
//===----------------------------------------------------------------------===//

def ConvertMathToNvvmApprox
    : RustPass<"convert-math-to-nvvm-approx", "gpu.module"> {
  let summary = "Convert math ops on f32 to what the SM computes by itself";
  let description = [{
    `convert-gpu-to-nvvm` turns each math op into a call of CUDA's libdevice,
    which the compiler does not link. This pass gets there first and picks
    instructions: one of the special function unit (MUFU) where there is one,
    an exact instruction where the op is exact anyway.

    **Requires** nothing; ops of any level may stand around the math ops.

    **Guarantees** that none of the ops below is left on `f32` or on a vector
    of `f32`. Vectors are taken apart and put together again.

    | op | becomes | error, by the PTX ISA unless said otherwise |
    |---|---|---|
    | `math.rsqrt` | `rsqrt.approx` | relative, below 2^-22.9 |
    | `math.exp2` | `ex2.approx` | 2 ulp |
    | `math.exp` | `ex2.approx(x * log2 e)` | 2 + floor(abs(1.173 x)) ulp, as CUDA's `__expf` |
    | `math.log2` | `lg2.approx` | absolute 2^-22 for x in (0.5, 2), relative 2^-22 elsewhere |
    | `math.log`, `math.log10` | `lg2.approx(x)`, scaled | as `lg2.approx`, and one rounding |
    | `math.tanh` | `1 - 2 / (exp(2x) + 1)` | absolute, about 2^-22 (derived); relative is lost near 0 |
    | `math.tanh`, `fast-tanh` | `tanh.approx` | relative, about 2^-11 |
    | `math.sqrt` | `sqrt.rn` | correctly rounded |
    | `math.absf`, `floor`, `ceil`, `trunc`, `roundeven`, `copysign` | LLVM's intrinsic | exact |

    Left alone: other element types, scalable vectors, and every other math op
    (`math.sin` among them, whose approximation is good for small arguments
    only).

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
