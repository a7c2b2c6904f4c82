//===- NormOpBase.td - what the ops of the norm dialect share ------------------===//

#ifndef NORM_OP_BASE_TD
#define NORM_OP_BASE_TD

include "norm/NormDialect.td"
include "norm/NormAttrs.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Refuses attributes that are neither the op's nor of another dialect, which a misspelt one is.
def Norm_KnownAttributes : NativeOpTrait<"KnownAttributes"> {
  let cppNamespace = "::mlir::norm";
}

class Norm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Norm_Dialect, mnemonic, !listconcat(traits, [Norm_KnownAttributes])>;

def Norm_FloatTensor : RankedTensorOf<[BF16, F16, F32, F64], [], "ranked tensor of bf16, f16, f32 or f64">;
def Norm_UpToF32Tensor : RankedTensorOf<[BF16, F16, F32], [], "ranked tensor of bf16, f16 or f32">;
def Norm_TruthTensor : RankedTensorOf<[I1, I8], [], "ranked tensor of i1 or i8">;
def Norm_LabelTensor : RankedTensorOf<[I32, I64], [], "ranked tensor of i32 or i64">;
def Norm_NumberTensor : RankedTensorOf<[BF16, F16, F32, F64, I8, I32, I64], [], "ranked tensor of bf16, f16, f32, f64, i8, i32 or i64">;
def Norm_QuantizedTensor : RankedTensorOf<[F8E4M3FN, F8E5M2, I8], [], "ranked tensor of f8E4M3FN, f8E5M2 or i8">;
def Norm_F32Tensor : RankedTensorOf<[F32], [], "ranked tensor of f32">;
def Norm_BlockScaleTensor : RankedTensorOf<[F32, I8], [], "ranked tensor of f32 or, as E8M0, i8">;
def Norm_Buffer : AnyTypeOf<[AnyMemRef, AnyRankedTensor], "memref or ranked tensor">;
def Norm_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index], "scalar">;
def Norm_ComputeInput : AnyTypeOf<[AnyRankedTensor, Norm_Scalar], "ranked tensor or scalar">;
def Norm_LaunchArgument : AnyTypeOf<[AnyMemRef, Norm_Scalar], "memref or scalar">;

//===----------------------------------------------------------------------===//
// Named ops
//===----------------------------------------------------------------------===//

/// Axes of the first operand, in any order; a negative one counts from the end, as -1 is the last.
def Norm_Axes : DefaultValuedAttr<DenseI64ArrayAttr, "{-1}">;

/// An f32 number, with its default.
class Norm_Number<string value> : DefaultValuedAttr<F32Attr, "::llvm::APFloat(" # value # "f)">;

/// A named op on tensors. Its arithmetic is f64 where an operand or a result is of f64, and f32 otherwise: operands are widened
/// to that type, and each result is rounded once, to its own.
class Norm_NamedOp<string mnemonic, list<Trait> traits = []> : Norm_Op<mnemonic, !listconcat([Pure], traits)>;

#endif // NORM_OP_BASE_TD
