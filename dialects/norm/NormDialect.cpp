//===- NormDialect.cpp - registration of the norm dialect ------------------===//
//
// Written in C++, as a dialect's classes have to be. Also holds the pieces of a schedule's assembly that ODS cannot describe:
// factors and places.
//
//===----------------------------------------------------------------------===//

#include "norm/NormDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::norm;

/// Parses one factor as a pair of its level and its size; size 0 stands for a factor without one, which takes what the others
/// leave.
static ParseResult parseFactor(AsmParser &parser, SmallVector<int64_t> &factors) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Level> level = symbolizeLevel(keyword);
  if (!level)
    return parser.emitError(location) << "expected grid, split, cluster, loop, warp, lane, register or vector, got '"
                                      << keyword << "'";
  int64_t size = 0;
  if (succeeded(parser.parseOptionalLParen())) {
    location = parser.getCurrentLocation();
    if (parser.parseInteger(size) || parser.parseRParen())
      return failure();
    if (size < 1)
      return parser.emitError(location) << "expected a factor of at least 1, got " << size;
  }
  factors.push_back(static_cast<int64_t>(*level));
  factors.push_back(size);
  return success();
}

/// `[[grid], [loop, warp(8), lane(32)]]`: for each dim a dense array of pairs.
static ParseResult parseSpread(AsmParser &parser, ArrayAttr &spread) {
  SmallVector<Attribute> dims;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<int64_t> factors;
    if (parser.parseCommaSeparatedList(
            AsmParser::Delimiter::Square, [&] { return parseFactor(parser, factors); }, " in factors of a dim"))
      return failure();
    dims.push_back(parser.getBuilder().getDenseI64ArrayAttr(factors));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim, " in spread"))
    return failure();
  spread = parser.getBuilder().getArrayAttr(dims);
  return success();
}

static void printSpread(AsmPrinter &p, ArrayAttr spread) {
  p << "[";
  llvm::interleaveComma(spread.getAsRange<DenseI64ArrayAttr>(), p, [&](DenseI64ArrayAttr dim) {
    p << "[";
    ArrayRef<int64_t> factors = dim.asArrayRef();
    for (size_t i = 0; i < factors.size(); i += 2) {
      p << (i ? ", " : "") << stringifyLevel(static_cast<Level>(factors[i]));
      if (factors[i + 1])
        p << "(" << factors[i + 1] << ")";
    }
    p << "]";
  });
  p << "]";
}

/// A list of cases of an enum, such as `[register, l2]`.
template <typename Enum>
static ParseResult parseCases(AsmParser &parser, SmallVector<int64_t> &cases, std::optional<Enum> (*symbolize)(StringRef),
                              StringRef expected, StringRef context) {
  auto parseCase = [&]() -> ParseResult {
    StringRef keyword;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Enum> found = symbolize(keyword);
    if (!found)
      return parser.emitError(location) << "expected " << expected << ", got '" << keyword << "'";
    cases.push_back(static_cast<int64_t>(*found));
    return success();
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseCase, context);
}

template <typename Enum>
static void printCases(AsmPrinter &p, ArrayRef<int64_t> cases, StringRef (*stringify)(Enum)) {
  p << "[";
  llvm::interleaveComma(cases, p, [&](int64_t value) { p << stringify(static_cast<Enum>(value)); });
  p << "]";
}

/// `[register, l2]`.
static ParseResult parsePlaces(AsmParser &parser, SmallVector<int64_t> &places) {
  return parseCases<CachePlace>(parser, places, symbolizeCachePlace, "none, register, shared, l1 or l2", " in keep");
}

static void printPlaces(AsmPrinter &p, ArrayRef<int64_t> places) {
  printCases<CachePlace>(p, places, stringifyCachePlace);
}

/// `[cluster, loop]`.
static ParseResult parseMergedLevels(AsmParser &parser, SmallVector<int64_t> &levels) {
  return parseCases<Level>(parser, levels, symbolizeLevel, "split, cluster, loop, warp or lane", " in merge_reductions");
}

static void printMergedLevels(AsmPrinter &p, ArrayRef<int64_t> levels) { printCases<Level>(p, levels, stringifyLevel); }

#include "norm/NormDialect.cpp.inc"
#include "norm/NormEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/NormAttrs.cpp.inc"

void NormDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "norm/NormAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "norm/NormOps.cpp.inc"
      >();
}
