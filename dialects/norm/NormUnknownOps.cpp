//===- NormUnknownOps.cpp - Ops that the dialect does not have -------------===//
//
// Written in C++, as it overrides a method of the dialect's class: MLIR's own
// message for such an op says only that it is unknown.
//
//===----------------------------------------------------------------------===//

#include "norm/NormDialect.h"

#include <string>

using namespace mlir;
using namespace mlir::norm;

/// The name without what differs between styles: `RMSNorm` and `rms_norm` are
/// one.
static std::string plain(StringRef name) {
  std::string letters;
  for (char letter : name)
    if (letter != '_')
      letters += llvm::toLower(letter);
  return letters;
}

/// The op of the dialect whose name is nearest to `name`, by as many edits as
/// a third of the name has letters; empty if there is none.
static StringRef nearestOp(MLIRContext *context, StringRef name) {
  std::string sought = plain(name);
  unsigned fewest = sought.size() / 3 + 1;
  StringRef nearest;
  for (RegisteredOperationName op : context->getRegisteredOperations()) {
    if (op.getDialectNamespace() != NormDialect::getDialectNamespace())
      continue;
    unsigned edits = StringRef(sought).edit_distance(plain(op.stripDialect()), /*AllowReplacements=*/true, fewest);
    if (edits < fewest) {
      fewest = edits;
      nearest = op.getStringRef();
    }
  }
  return nearest;
}

/// Refuses an op of the dialect in its custom form.
static ParseResult parseUnknownOp(OpAsmParser &parser, OperationState &state) {
  // The parser puts the name before the message.
  InFlightDiagnostic error = parser.emitError(parser.getNameLoc(), "is unknown");
  StringRef nearest = nearestOp(parser.getContext(), state.name.stripDialect());
  if (!nearest.empty())
    error << "; there is an op '" << nearest << "'";
  return error;
}

std::optional<Dialect::ParseOpHook> NormDialect::getParseOperationHook(StringRef name) const {
  return parseUnknownOp;
}
