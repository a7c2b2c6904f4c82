//===- NormAttributeNames.cpp - attributes that nothing reads --------------===//
//
// MLIR keeps attributes that an op does not declare, so that a misspelt one would be ignored silently. These checks refuse it and
// name the attribute that is probably meant. C++ because traits and a dialect's hooks are.
//
//===----------------------------------------------------------------------===//

#include "norm/NormDialect.h"

using namespace mlir;
using namespace mlir::norm;

/// The attributes of a host function's arguments and results (README.md).
static constexpr StringRef tensorAttributes[] = {"norm.align",     "norm.buffer", "norm.default",
                                                 "norm.devices",   "norm.dims",   "norm.max",
                                                 "norm.may_alias", "norm.min",    "norm.multiples",
                                                 "norm.name",      "norm.output", "norm.sizes"};

/// The attributes of a host function, of the function that a kernel becomes, of scalar ops, and of a host function's scratch (README.md).
static constexpr StringRef opAttributes[] = {"norm.choice",   "norm.gradient", "norm.name",    "norm.part",
                                             "norm.rounded",  "norm.schedule", "norm.scratch", "norm.sharded",
                                             "norm.zeroed"};

/// Completes `error`, which says what was expected, with the known names and the one that `name` is likely to mean.
static LogicalResult suggest(InFlightDiagnostic error, StringRef name, ArrayRef<StringRef> known) {
  if (known.empty())
    return error << "no attribute, got " << name;
  llvm::interleaveComma(known, error);
  error << ", got " << name;
  const StringRef *closest =
      llvm::min_element(known, [&](StringRef a, StringRef b) { return name.edit_distance(a) < name.edit_distance(b); });
  // Names that share nothing are as far apart as the longer one is long.
  if (name.edit_distance(*closest) < std::max(name.size(), closest->size()))
    error << "; did you mean " << *closest << "?";
  return error;
}

LogicalResult mlir::norm::verifyKnownAttributes(Operation *op) {
  SmallVector<StringRef> known;
  for (StringAttr name : op->getName().getAttributeNames())
    if (!name.strref().ends_with("SegmentSizes"))
      known.push_back(name);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().strref().contains('.'))
      return suggest(op->emitOpError() << "expected ", attribute.getName(), known);
  return success();
}

LogicalResult NormDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (llvm::is_contained(opAttributes, attribute.getName().strref()))
    return success();
  return suggest(op->emitOpError() << "expected ", attribute.getName(), opAttributes);
}

LogicalResult NormDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attribute) {
  if (llvm::is_contained(tensorAttributes, attribute.getName().strref()))
    return success();
  return suggest(op->emitOpError() << "expected on argument " << argument << " ", attribute.getName(),
                 tensorAttributes);
}

LogicalResult NormDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                       NamedAttribute attribute) {
  if (llvm::is_contained(tensorAttributes, attribute.getName().strref()))
    return success();
  return suggest(op->emitOpError() << "expected on result " << result << " ", attribute.getName(), tensorAttributes);
}
