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

/// Refuses attributes that are neither the op's nor of another dialect, such as misspelt ones.
def Norm_KnownAttributes : NativeOpTrait<"KnownAttributes"> {
  let cppNamespace = "::mlir::norm";
}

class Norm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Norm_Dialect, mnemonic, !listconcat(traits, [Norm_KnownAttributes])>;

/// A ranked tensor with one of these types of elements. Messages and pages list them once, by the names that MLIR gives them: ODS
/// would append the summary of each.
class Norm_TensorOf<list<Type> elements, string names> : RankedTensorOf<elements> {
  let summary = "ranked tensor of " # names;
}

def Norm_FloatTensor : Norm_TensorOf<[BF16, F16, F32, F64], "bf16, f16, f32 or f64">;
def Norm_UpToF32Tensor : Norm_TensorOf<[BF16, F16, F32], "bf16, f16 or f32">;
def Norm_TruthTensor : Norm_TensorOf<[I1, I8], "i1 or i8">;
def Norm_LabelTensor : Norm_TensorOf<[I64, I32], "i64 or i32">;
def Norm_NumberTensor : Norm_TensorOf<[BF16, F16, F32, F64, I8, I32, I64], "bf16, f16, f32, f64, i8, i32 or i64">;
def Norm_ReducibleTensor : Norm_TensorOf<[BF16, F16, F32, F64, I1, I8, I32, I64], "bf16, f16, f32, f64, i1, i8, i32 or i64">;
def Norm_QuantizedTensor : Norm_TensorOf<[F8E4M3FN, F8E5M2, I8], "f8E4M3FN, f8E5M2 or i8">;
def Norm_F32Tensor : Norm_TensorOf<[F32], "f32">;
def Norm_BlockScaleTensor : Norm_TensorOf<[F32, F8E4M3FN, F8E8M0FNU, I8], "f32, f8E4M3FN, f8E8M0FNU or, as its bits, i8">;
def Norm_SortableTensor : Norm_TensorOf<[BF16, F16, F32, I8, I32], "bf16, f16, f32, i8 or i32">;
def Norm_Buffer : AnyTypeOf<[AnyMemRef, AnyRankedTensor], "memref or ranked tensor">;
def Norm_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index], "scalar">;
/// An f32 number that each call sets, in place of an attribute of the op.
def Norm_RuntimeNumber : Type<F32.predicate, "f32", "::mlir::Float32Type">, BuildableType<"$_builder.getF32Type()">;
def Norm_ScannedValue : AnyTypeOf<[AnyFloat, AnySignlessInteger], "float or integer">;
def Norm_ComputeInput : AnyTypeOf<[AnyRankedTensor, Norm_Scalar], "ranked tensor or scalar">;
def Norm_LaunchArgument : AnyTypeOf<[AnyMemRef, Norm_Scalar], "memref or scalar">;

//===----------------------------------------------------------------------===//
// Named ops
//===----------------------------------------------------------------------===//

/// Axes of the first operand, in any order; a negative one counts from the end, as -1 is the last.
def Norm_Axes : DefaultValuedAttr<DenseI64ArrayAttr, "{-1}">;

/// An f32 number, with its default.
class Norm_Number<string value> : DefaultValuedAttr<F32Attr, "::llvm::APFloat(" # value # "f)"> {
  let summary = "a number of type f32, such as 1.0e-5 : f32";
}

/// The shape of an operand or result of a named op, by that of its first operand and by attributes of the op.
class Norm_ShapeRule<string rule, list<string> attributes> {
  string shapeRule = rule;
  list<string> shapeAttributes = attributes;
}

/// The axes that an attribute names, in the order of the operand.
class Norm_NamedAxes<string axes> : Norm_ShapeRule<"NamedAxes", [axes]>;
/// The axes that an attribute does not name. With the unit attribute `keep` the named ones are there too, with one element each.
class Norm_OtherAxes<string axes, string keep = ""> : Norm_ShapeRule<"OtherAxes", !if(!empty(keep), [axes], [axes, keep])>;
/// The axes that an attribute does not name, and none at all where the enum attribute `reduction` is not its first case.
class Norm_ReducedRows<string axis, string reduction> : Norm_ShapeRule<"ReducedRows", [axis, reduction]>;
/// All axes, of which the one that the first attribute names has as many elements as the second says.
class Norm_AxisOf<string axis, string extent> : Norm_ShapeRule<"AxisOf", [axis, extent]>;
/// An axis of the batch, unless the channels lie along the first axis, and one of groups.
class Norm_BatchAndGroups<string groups, string channelAxis> : Norm_ShapeRule<"BatchAndGroups", [groups, channelAxis]>;
/// The blocks of a quantized tensor. With the unit attribute `packed` the first operand has two elements in each of the last axis.
class Norm_Blocks<string block, string packed = ""> : Norm_ShapeRule<"Blocks", !if(!empty(packed), [block], [block, packed])>;
/// The scales of blocks in the layout that the enum attribute `layout` says.
class Norm_Scales<string block, string layout, string packed = "">
    : Norm_ShapeRule<"Scales", !if(!empty(packed), [block, layout], [block, layout, packed])>;
/// All axes, with the unit attribute `packed` the last one with half as many elements.
class Norm_Packed<string packed> : Norm_ShapeRule<"Packed", [packed]>;
/// All axes, with the unit attribute `packed` the last one with twice as many elements.
class Norm_Unpacked<string packed> : Norm_ShapeRule<"Unpacked", [packed]>;
/// No axes: one number.
def Norm_OneNumber : Norm_ShapeRule<"OneNumber", []>;
/// No tensor, but a scalar that takes the place of an attribute.
class Norm_InPlaceOf<string attribute> : Norm_ShapeRule<"InPlaceOf", [attribute]>;

/// The dag operator of lists that are indexed by the names of operands and results.
def by_name;

/// A named op on tensors. Its arithmetic is f64 where an operand or a result is of f64, and f32 otherwise: operands are widened
/// to that type, and each result is rounded once, to its own.
///
/// The fields are for tools that write ops; verifiers decide which ops are valid.
class Norm_NamedOp<string mnemonic, list<Trait> traits = []> : Norm_Op<mnemonic, !listconcat([Pure], traits)> {
  /// The `Norm_ShapeRule` of each operand and result that does not have the shape of the first operand.
  dag shapes = (by_name);
  /// The optional operands and results that a tool writes unless it is told otherwise.
  list<string> usual = [];
}

#endif // NORM_OP_BASE_TD
