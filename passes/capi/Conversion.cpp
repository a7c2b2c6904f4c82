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
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

extern "C" {

/// Returns the converted type, the type itself if it is legal, or null if the
/// rule does not apply to the type.
using NormaTypeRule = MlirType (*)(MlirType type, void *userData);

using NormaLegality = bool (*)(MlirOperation op, void *userData);

/// Rewrites `op`, whose operands have been converted to `operands`; returns
/// false for no match. `rewriter` is valid during the call only.
using NormaPattern = bool (*)(MlirOperation op, const MlirValue *operands,
                              intptr_t operandCount, MlirRewriterBase rewriter,
                              void *userData);

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
                        MLIRContext *context, NormaPattern callback,
                        void *userData)
      : ConversionPattern(converter, root, PatternBenefit(1), context),
        callback(callback), userData(userData) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<MlirValue> values;
    for (Value operand : operands)
      values.push_back(wrap(operand));
    RewriterBase *base = &rewriter;
    return success(
        callback(wrap(op), values.data(), values.size(), wrap(base), userData));
  }

private:
  NormaPattern callback;
  void *userData;
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

extern "C" void normaConversionSetLegalOp(void *conversion,
                                          MlirStringRef name) {
  get(conversion).target.setOpAction(
      opName(get(conversion), name),
      ConversionTarget::LegalizationAction::Legal);
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

extern "C" void normaConversionAddPattern(void *conversion, MlirStringRef root,
                                          NormaPattern callback,
                                          void *userData) {
  Conversion &to = get(conversion);
  to.patterns.add(std::make_unique<RustConversionPattern>(
      to.converter, unwrap(root), to.patterns.getContext(),
      callback, userData));
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
                                     const bool *diagnosed) {
  Conversion &to = get(conversion);
  ScopedDiagnosticHandler drop(
      unwrap(op)->getContext(), [&](Diagnostic &diagnostic) {
        return success(*diagnosed && StringRef(diagnostic.str())
                                         .starts_with("failed to legalize"));
      });
  FrozenRewritePatternSet patterns(std::move(to.patterns));
  return succeeded(applyPartialConversion(unwrap(op), to.target, patterns));
}
