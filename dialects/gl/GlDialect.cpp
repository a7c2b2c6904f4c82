//===- GlDialect.cpp - registration of the gl dialect ----------------------===//
//
// Written in C++, as a dialect's classes have to be. Also holds the pieces of assembly that ODS cannot describe: lists, bases, a
// memdesc's shape, and the short names that layouts are printed under.
//
//===----------------------------------------------------------------------===//

#include "gl/GlDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gl;

/// `[[0, 1], [0, 2]]`: an array of dense i64 arrays.
static ParseResult parseBases(AsmParser &parser, ArrayAttr &bases) {
  SmallVector<Attribute> parsed;
  auto parseBasis = [&]() -> ParseResult {
    SmallVector<int64_t> coordinates;
    auto parseCoordinate = [&] { return parser.parseInteger(coordinates.emplace_back()); };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseCoordinate, " in basis"))
      return failure();
    parsed.push_back(parser.getBuilder().getDenseI64ArrayAttr(coordinates));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseBasis, " in bases"))
    return failure();
  bases = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printBases(AsmPrinter &p, ArrayAttr bases) {
  p << "[";
  llvm::interleaveComma(bases, p, [&](Attribute basis) {
    p << "[";
    if (auto coordinates = dyn_cast<DenseI64ArrayAttr>(basis))
      llvm::interleaveComma(coordinates.asArrayRef(), p);
    p << "]";
  });
  p << "]";
}

/// `[16, 4]`, and `[]` for none.
static ParseResult parseIntegers(AsmParser &parser, SmallVector<int64_t> &integers) {
  auto parseInteger = [&] { return parser.parseInteger(integers.emplace_back()); };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseInteger, " in list");
}

static void printIntegers(AsmPrinter &p, ArrayRef<int64_t> integers) {
  p << "[";
  llvm::interleaveComma(integers, p);
  p << "]";
}

/// `4x1024xbf16`.
static ParseResult parseShapeAndType(AsmParser &parser, SmallVector<int64_t> &shape, Type &type) {
  SmallVector<int64_t> extents;
  Type element;
  if (parser.parseDimensionList(extents, /*allowDynamic=*/false) || parser.parseType(element))
    return failure();
  shape = std::move(extents);
  type = element;
  return success();
}

static void printShapeAndType(AsmPrinter &p, ArrayRef<int64_t> shape, Type type) {
  for (int64_t extent : shape)
    p << extent << "x";
  p << type;
}

#include "gl/GlDialect.cpp.inc"
#include "gl/GlEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "gl/GlAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "gl/GlTypes.cpp.inc"

#define GET_OP_CLASSES
#include "gl/GlOps.cpp.inc"

namespace {
/// Prints a layout once, as `#blocked`, and each tile with that name.
struct LayoutAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (isa<BlockedAttr>(attr))
      os << "blocked";
    else if (isa<LinearAttr>(attr))
      os << "linear";
    else
      return AliasResult::NoAlias;
    return AliasResult::FinalAlias;
  }
};
} // namespace

void GlDialect::initialize() {
  addInterfaces<LayoutAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gl/GlAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gl/GlTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gl/GlOps.cpp.inc"
      >();
}
