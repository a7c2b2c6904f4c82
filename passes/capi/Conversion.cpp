//===- Conversion.cpp - Dialect conversion for Rust --------------------------===//
//
// Why this file exists: the C API of LLVM 22 has greedy rewriting but no
// dialect conversion. A `Conversion` is a type converter, a target and a
// pattern set in one, filled in by Rust callbacks. Type conversion is 1:1;
// where two types cannot be reconciled, a builtin.unrealized_conversion_cast
// remains.
//
// Callbacks do not unwind: the Rust side catches panics.
//
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/DialectConversion.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Rewrite.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

extern "C" {

/// Returns the converted type, the type itself if it is legal, or null if the
/// rule does not apply to the type.
using NormaTypeRule = MlirType (*)(MlirType type, void *userData);

using NormaLegality = bool (*)(MlirOperation op, void *userData);

/// Rewrites `op`, whose operands have been converted to `operands`; returns
/// false for no match. `rewriter` is valid during the call only.
using NormaPattern = bool (*)(MlirOperation op, const MlirValue *operands,
                              intptr_t operandCount, MlirRewriterBase base,
                              void *rewriter, void *userData);

} // extern "C"

namespace {

struct Conversion {
  explicit Conversion(MLIRContext *context)
      : target(*context), patterns(context) {
    // The latest rule is asked first, so this one applies where no other does.
    converter.addConversion([](Type type) { return type; });
    auto cast = [](OpBuilder &builder, Type type, ValueRange inputs,
                   Location location) -> Value {
      return UnrealizedConversionCastOp::create(builder, location, type, inputs)
          .getResult(0);
    };
    converter.addSourceMaterialization(cast);
    converter.addTargetMaterialization(cast);
  }

  TypeConverter converter;
  ConversionTarget target;
  RewritePatternSet patterns;
};

class RustConversionPattern : public ConversionPattern {
public:
  RustConversionPattern(const TypeConverter &converter, StringRef root,
                        PatternBenefit benefit, MLIRContext *context,
                        NormaPattern callback, void *userData)
      : ConversionPattern(converter, root, benefit, context),
        callback(callback), userData(userData) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<MlirValue> values;
    for (Value operand : operands)
      values.push_back(wrap(operand));
    RewriterBase *base = &rewriter;
    return success(callback(wrap(op), values.data(), values.size(), wrap(base),
                            &rewriter, userData));
  }

private:
  NormaPattern callback;
  void *userData;
};

/// Converts the signature of llvm.func, whose function type is not the builtin
/// one and which the upstream pattern for function ops does not accept.
class LLVMFuncSignature : public OpConversionPattern<LLVM::LLVMFuncOp> {
public:
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LLVM::LLVMFuncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LLVM::LLVMFunctionType type = op.getFunctionType();
    SmallVector<Type> inputs;
    Type result = getTypeConverter()->convertType(type.getReturnType());
    if (!result ||
        failed(getTypeConverter()->convertTypes(type.getParams(), inputs)))
      return rewriter.notifyMatchFailure(op, "a type has no conversion");
    if (!op.getBody().empty() &&
        failed(rewriter.convertRegionTypes(&op.getBody(), *getTypeConverter())))
      return rewriter.notifyMatchFailure(op, "the body's types do not convert");
    rewriter.modifyOpInPlace(op, [&] {
      op.setFunctionType(
          LLVM::LLVMFunctionType::get(result, inputs, type.isVarArg()));
    });
    return success();
  }
};

Conversion &get(void *conversion) {
  return *static_cast<Conversion *>(conversion);
}

OperationName opName(Conversion &conversion, MlirStringRef name) {
  return OperationName(unwrap(name), conversion.patterns.getContext());
}

} // namespace

extern "C" void *normaConversionCreate(MlirContext context) {
  return new Conversion(unwrap(context));
}

extern "C" void normaConversionDestroy(void *conversion) {
  delete static_cast<Conversion *>(conversion);
}

extern "C" void normaConversionAddTypeRule(void *conversion, NormaTypeRule rule,
                                           void *userData) {
  get(conversion).converter.addConversion(
      [rule, userData](Type type) -> std::optional<Type> {
        if (Type converted = unwrap(rule(wrap(type), userData)))
          return converted;
        return std::nullopt;
      });
}

extern "C" void normaConversionSetDialect(void *conversion, MlirStringRef name,
                                          bool legal) {
  using Action = ConversionTarget::LegalizationAction;
  get(conversion).target.setDialectAction(
      {unwrap(name)}, legal ? Action::Legal : Action::Illegal);
}

extern "C" void normaConversionSetOp(void *conversion, MlirStringRef name,
                                     bool legal) {
  using Action = ConversionTarget::LegalizationAction;
  get(conversion).target.setOpAction(opName(get(conversion), name),
                                     legal ? Action::Legal : Action::Illegal);
}

extern "C" void normaConversionSetDynamicOp(void *conversion,
                                            MlirStringRef name,
                                            NormaLegality legality,
                                            void *userData) {
  get(conversion).target.addDynamicallyLegalOp(
      opName(get(conversion), name),
      [legality, userData](Operation *op) -> std::optional<bool> {
        return legality(wrap(op), userData);
      });
}

extern "C" void normaConversionSetDynamicDialect(void *conversion,
                                                 MlirStringRef name,
                                                 NormaLegality legality,
                                                 void *userData) {
  get(conversion).target.addDynamicallyLegalDialect(
      [legality, userData](Operation *op) -> std::optional<bool> {
        return legality(wrap(op), userData);
      },
      unwrap(name));
}

/// Makes every op that no rule names legal if the types of its operands,
/// results and block arguments are legal.
extern "C" void normaConversionSetUnknownByTypes(void *conversion) {
  const TypeConverter &converter = get(conversion).converter;
  get(conversion).target.markUnknownOpDynamicallyLegal(
      [&converter](Operation *op) -> std::optional<bool> {
        return converter.isLegal(op) &&
               llvm::all_of(op->getRegions(), [&](Region &region) {
                 return converter.isLegal(&region);
               });
      });
}

extern "C" void normaConversionAddPattern(void *conversion, MlirStringRef root,
                                          uint16_t benefit,
                                          NormaPattern callback,
                                          void *userData) {
  Conversion &to = get(conversion);
  to.patterns.add(std::make_unique<RustConversionPattern>(
      to.converter, unwrap(root), PatternBenefit(benefit),
      to.patterns.getContext(), callback, userData));
}

/// Converts the signature of one kind of function op (func.func, gpu.func,
/// llvm.func), which becomes legal when its types are.
extern "C" void normaConversionAddSignature(void *conversion,
                                            MlirStringRef function) {
  Conversion &to = get(conversion);
  const TypeConverter &converter = to.converter;
  if (unwrap(function) == LLVM::LLVMFuncOp::getOperationName())
    to.patterns.add<LLVMFuncSignature>(converter, to.patterns.getContext());
  else
    populateFunctionOpInterfaceTypeConversionPattern(unwrap(function),
                                                     to.patterns, converter);
  to.target.addDynamicallyLegalOp(
      opName(to, function),
      [&converter](Operation *op) -> std::optional<bool> {
        auto function = cast<FunctionOpInterface>(op);
        return converter.isLegal(function.getArgumentTypes()) &&
               converter.isLegal(function.getResultTypes()) &&
               converter.isLegal(&function.getFunctionBody());
      });
}

/// Converts func.return and func.call, and the operands of branches.
extern "C" void normaConversionAddCalls(void *conversion) {
  Conversion &to = get(conversion);
  const TypeConverter &converter = to.converter;
  populateReturnOpTypeConversionPattern(to.patterns, converter);
  populateCallOpTypeConversionPattern(to.patterns, converter);
  populateBranchOpInterfaceTypeConversionPattern(to.patterns, converter);
  to.target.addDynamicallyLegalOp<func::ReturnOp, func::CallOp>(
      [&converter](Operation *op) -> std::optional<bool> {
        return converter.isLegal(op);
      });
}

/// Converts the types that scf ops carry through; they stay scf ops.
extern "C" void normaConversionAddStructured(void *conversion) {
  Conversion &to = get(conversion);
  scf::populateSCFStructuralTypeConversionsAndLegality(to.converter,
                                                       to.patterns, to.target);
}

/// Runs the conversion, once: this consumes the patterns. On failure the
/// framework has emitted a diagnostic at the op that stayed illegal, unless
/// `*diagnosed`: then a pattern has emitted a better one and the framework's
/// is suppressed.
extern "C" bool normaConversionApply(void *conversion, MlirOperation op,
                                     bool full, const bool *diagnosed) {
  Conversion &to = get(conversion);
  ScopedDiagnosticHandler drop(
      unwrap(op)->getContext(), [&](Diagnostic &diagnostic) {
        return success(*diagnosed && StringRef(diagnostic.str())
                                         .starts_with("failed to legalize"));
      });
  FrozenRewritePatternSet patterns(std::move(to.patterns));
  if (full)
    return succeeded(applyFullConversion(unwrap(op), to.target, patterns));
  return succeeded(applyPartialConversion(unwrap(op), to.target, patterns));
}

/// Returns the converted type, or null if no rule yields one.
extern "C" MlirType normaConversionConvertType(void *conversion,
                                               MlirType type) {
  return wrap(get(conversion).converter.convertType(unwrap(type)));
}

/// Converts the argument types of every block of a region.
extern "C" bool normaRewriterConvertRegion(void *rewriter, void *conversion,
                                           MlirRegion region) {
  return succeeded(
      static_cast<ConversionPatternRewriter *>(rewriter)->convertRegionTypes(
          unwrap(region), get(conversion).converter));
}

/// Rebuilds `op` on `operands` with converted result types, moves its regions
/// over, and replaces it; returns null if a type does not convert.
extern "C" MlirOperation normaRewriterRetype(void *rewriter, void *conversion,
                                             MlirOperation op,
                                             intptr_t operandCount,
                                             const MlirValue *operands) {
  SmallVector<Value> values;
  for (intptr_t index = 0; index < operandCount; ++index)
    values.push_back(unwrap(operands[index]));
  auto &to = *static_cast<ConversionPatternRewriter *>(rewriter);
  FailureOr<Operation *> built =
      convertOpResultTypes(unwrap(op), values, get(conversion).converter, to);
  if (failed(built))
    return MlirOperation{nullptr};
  to.replaceOp(unwrap(op), *built);
  return wrap(*built);
}
