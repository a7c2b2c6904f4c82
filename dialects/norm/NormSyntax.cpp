//===- NormSyntax.cpp - assembly that ODS cannot describe ------------------===//
//
// Four things need a parser of their own: a signature that binds names (`%x: memref<...>`), a space whose extents
// are affine expressions over `dim(%x, 0)`, accesses written over the dims' names, and notation that a space replaces.
//
//===----------------------------------------------------------------------===//

#include "norm/NormDialect.h"
#include "norm/NormNotation.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Names of a block's arguments
//===----------------------------------------------------------------------===//

static StringRef nameInSource(BlockArgument argument) {
  auto named = dyn_cast<NameLoc>(argument.getLoc());
  return named ? named.getName().strref() : StringRef();
}

std::string mlir::norm::dimName(BlockArgument argument) {
  StringRef name = nameInSource(argument);
  return name.empty() ? "argument " + std::to_string(argument.getArgNumber()) : name.str();
}

/// Prints the arguments under the names that they were parsed with.
static void setArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (StringRef name = nameInSource(argument); !name.empty())
      setName(argument, name);
}

void ComputeOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setArgumentNames(region, setName);
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setArgumentNames(region, setName);
}

//===----------------------------------------------------------------------===//
// Affine expressions over dims and sizes
//===----------------------------------------------------------------------===//

namespace {

/// Names in scope while a space is parsed: buffers (whose sizes are the symbols) and dims. Scalars stand between the two
/// among the block's arguments, and in no expression.
struct SpaceScope {
  SmallVector<OpAsmParser::Argument> buffers;
  SmallVector<OpAsmParser::Argument> scalars;
  SmallVector<OpAsmParser::Argument> dims;
  /// Pairs (buffer, axis), one per affine symbol.
  SmallVector<int64_t> sizes;
  /// Whether the reduction that is being parsed is a mean.
  bool isMean = false;

  static std::optional<unsigned> find(ArrayRef<OpAsmParser::Argument> names,
                                      const OpAsmParser::UnresolvedOperand &use) {
    for (auto [i, name] : llvm::enumerate(names))
      if (name.ssaName.name == use.name && name.ssaName.number == use.number)
        return i;
    return std::nullopt;
  }

  /// The symbol of `dim(buffer, axis)`.
  unsigned symbolOf(int64_t buffer, int64_t axis) {
    for (size_t i = 0; i < sizes.size(); i += 2)
      if (sizes[i] == buffer && sizes[i + 1] == axis)
        return i / 2;
    sizes.append({buffer, axis});
    return sizes.size() / 2 - 1;
  }
};

/// Recursive descent over `+ -`, then `* floordiv ceildiv mod`, then a literal, a dim, `dim(%x, 0)` or parentheses.
class SpaceExprParser {
public:
  SpaceExprParser(OpAsmParser &parser, SpaceScope &scope) : parser(parser), scope(scope) {}

  ParseResult parse(AffineExpr &result) {
    if (parseProduct(result))
      return failure();
    while (true) {
      AffineExpr rhs;
      if (succeeded(parser.parseOptionalPlus())) {
        if (parseProduct(rhs))
          return failure();
        result = result + rhs;
      } else if (succeeded(parser.parseOptionalMinus())) {
        if (parseProduct(rhs))
          return failure();
        result = result - rhs;
      } else {
        return success();
      }
    }
  }

private:
  ParseResult parseProduct(AffineExpr &result) {
    if (parseLeaf(result))
      return failure();
    while (true) {
      SMLoc loc = parser.getCurrentLocation();
      AffineExprKind kind;
      if (succeeded(parser.parseOptionalStar()))
        kind = AffineExprKind::Mul;
      else if (succeeded(parser.parseOptionalKeyword("floordiv")))
        kind = AffineExprKind::FloorDiv;
      else if (succeeded(parser.parseOptionalKeyword("ceildiv")))
        kind = AffineExprKind::CeilDiv;
      else if (succeeded(parser.parseOptionalKeyword("mod")))
        kind = AffineExprKind::Mod;
      else
        return success();
      AffineExpr rhs;
      if (parseLeaf(rhs))
        return failure();
      bool byDim = !rhs.isSymbolicOrConstant();
      if (kind == AffineExprKind::Mul ? byDim && !result.isSymbolicOrConstant() : byDim)
        return parser.emitError(loc, "expected an affine expression: one side must hold no dim");
      if (auto divisor = dyn_cast<AffineConstantExpr>(rhs);
          divisor && divisor.getValue() <= 0 && kind != AffineExprKind::Mul)
        return parser.emitError(loc, "expected a positive divisor, got ") << divisor.getValue();
      result = getAffineBinaryOpExpr(kind, result, rhs);
    }
  }

  ParseResult parseLeaf(AffineExpr &result) {
    MLIRContext *context = parser.getContext();
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalLParen()))
      return failure(parse(result) || parser.parseRParen());
    if (succeeded(parser.parseOptionalKeyword("dim"))) {
      OpAsmParser::UnresolvedOperand buffer;
      int64_t axis;
      if (parser.parseLParen() || parser.parseOperand(buffer) || parser.parseComma() || parser.parseInteger(axis) ||
          parser.parseRParen())
        return failure();
      std::optional<unsigned> index = SpaceScope::find(scope.buffers, buffer);
      if (!index)
        return parser.emitError(buffer.location, "expected a buffer of this op, got ") << buffer.name;
      // The size of a static axis is a number. An axis that does not exist is for the verifier to refuse.
      auto type = dyn_cast<ShapedType>(scope.buffers[*index].type);
      if (type && type.hasRank() && axis >= 0 && axis < type.getRank() && !type.isDynamicDim(axis))
        result = getAffineConstantExpr(type.getDimSize(axis), context);
      else
        result = getAffineSymbolExpr(scope.symbolOf(*index, axis), context);
      return success();
    }
    int64_t literal;
    if (OptionalParseResult parsed = parser.parseOptionalInteger(literal); parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      result = getAffineConstantExpr(literal, context);
      return success();
    }
    OpAsmParser::UnresolvedOperand dim;
    if (OptionalParseResult parsed = parser.parseOptionalOperand(dim); parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      std::optional<unsigned> index = SpaceScope::find(scope.dims, dim);
      if (!index)
        return parser.emitError(dim.location, "expected a dim of this op, got ") << dim.name;
      result = getAffineDimExpr(*index, context);
      return success();
    }
    return parser.emitError(loc, "expected an integer, a dim, dim(buffer, axis) or a parenthesis");
  }

  OpAsmParser &parser;
  SpaceScope &scope;
};

/// Returns what a sum may subtract instead of adding `expr`: `e` for `e * -1`, and the absolute value of a negative literal; null
/// for any other expression.
AffineExpr negated(AffineExpr expr) {
  if (auto literal = dyn_cast<AffineConstantExpr>(expr))
    return literal.getValue() < 0 ? -expr : AffineExpr();
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return {};
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  return factor && factor.getValue() == -1 ? product.getLHS() : AffineExpr();
}

/// Prints `expr` with the names of `dims` and `dim(buffer, axis)` for symbols, as SpaceExprParser reads it.
void printSpaceExpr(OpAsmPrinter &p, AffineExpr expr, ValueRange buffers, ValueRange dims, ArrayRef<int64_t> sizes,
                    bool parenthesize = false) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    p << cast<AffineConstantExpr>(expr).getValue();
    return;
  case AffineExprKind::DimId:
    p << dims[cast<AffineDimExpr>(expr).getPosition()];
    return;
  case AffineExprKind::SymbolId: {
    unsigned symbol = cast<AffineSymbolExpr>(expr).getPosition();
    p << "dim(" << buffers[sizes[2 * symbol]] << ", " << sizes[2 * symbol + 1] << ")";
    return;
  }
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  StringRef token = " + ";
  switch (expr.getKind()) {
  case AffineExprKind::Mul: token = " * "; break;
  case AffineExprKind::FloorDiv: token = " floordiv "; break;
  case AffineExprKind::CeilDiv: token = " ceildiv "; break;
  case AffineExprKind::Mod: token = " mod "; break;
  default: break;
  }
  if (parenthesize)
    p << "(";
  bool isSum = expr.getKind() == AffineExprKind::Add;
  printSpaceExpr(p, binary.getLHS(), buffers, dims, sizes, !isSum);
  if (AffineExpr subtrahend = isSum ? negated(binary.getRHS()) : AffineExpr()) {
    p << " - ";
    printSpaceExpr(p, subtrahend, buffers, dims, sizes, subtrahend.getKind() == AffineExprKind::Add);
  } else {
    p << token;
    printSpaceExpr(p, binary.getRHS(), buffers, dims, sizes, !isSum);
  }
  if (parenthesize)
    p << ")";
}

/// `space(%m = expr (: role)?, ...)`, adding the dims to `scope`.
ParseResult parseSpace(OpAsmParser &parser, SpaceScope &scope, SmallVectorImpl<AffineExpr> &extents,
                       SmallVectorImpl<int32_t> *roles) {
  SmallVector<OpAsmParser::Argument> dims;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&]() -> ParseResult {
    OpAsmParser::Argument &dim = dims.emplace_back();
    if (parser.parseArgument(dim) || parser.parseEqual() ||
        SpaceExprParser(parser, scope).parse(extents.emplace_back()))
      return failure();
    dim.type = parser.getBuilder().getIndexType();
    if (!roles || failed(parser.parseOptionalColon()))
      return success();
    StringRef keyword;
    SMLoc roleLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<DimRole> role = symbolizeDimRole(keyword);
    if (!role)
      return parser.emitError(roleLoc, "expected grid, cluster, loop, thread or register, got ") << keyword;
    roles->push_back(static_cast<int32_t>(*role));
    return success();
  };
  if (parser.parseKeyword("space") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseDim, " in space"))
    return failure();
  if (roles && !roles->empty() && roles->size() != dims.size())
    return parser.emitError(loc, "expected a role for each dim or for none");
  scope.dims = std::move(dims);
  return success();
}

void printSpace(OpAsmPrinter &p, AffineMap extents, ValueRange buffers, ValueRange dims, ArrayRef<int64_t> sizes,
                std::optional<ArrayRef<int32_t>> roles) {
  p << " space(";
  llvm::interleaveComma(llvm::seq<size_t>(0, dims.size()), p, [&](size_t i) {
    p << dims[i] << " = ";
    printSpaceExpr(p, extents.getResult(i), buffers, dims, sizes);
    if (roles)
      p << " : " << stringifyDimRole(static_cast<DimRole>((*roles)[i]));
  });
  p << ")";
}

/// Parses `where(lhs < rhs, ...)`, if it is there, over the dims and sizes of `scope`; returns whether it is.
FailureOr<bool> parseGuards(OpAsmParser &parser, SpaceScope &scope, SmallVectorImpl<AffineExpr> &guards) {
  if (failed(parser.parseOptionalKeyword("where")))
    return false;
  auto parseGuard = [&]() -> ParseResult {
    return failure(SpaceExprParser(parser, scope).parse(guards.emplace_back()) || parser.parseLess() ||
                   SpaceExprParser(parser, scope).parse(guards.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseGuard, " in where"))
    return failure();
  return true;
}

void printGuards(OpAsmPrinter &p, std::optional<AffineMap> guards, ValueRange buffers, ValueRange dims,
                 ArrayRef<int64_t> sizes) {
  if (!guards)
    return;
  p << " where(";
  llvm::interleaveComma(llvm::seq<size_t>(0, guards->getNumResults() / 2), p, [&](size_t i) {
    printSpaceExpr(p, guards->getResult(2 * i), buffers, dims, sizes);
    p << " < ";
    printSpaceExpr(p, guards->getResult(2 * i + 1), buffers, dims, sizes);
  });
  p << ")";
}

/// Whether the printer generates this name for a value that has none.
bool isGenerated(StringRef name) {
  name.consume_front("arg");
  return llvm::all_of(name, llvm::isDigit);
}

/// The space whose body this thread is parsing. A parser can tell the type of no operand, so accesses look theirs up here.
thread_local SpaceScope *openSpace = nullptr;

AffineMap mapOver(MLIRContext *context, const SpaceScope &scope, unsigned numDims, ArrayRef<AffineExpr> results) {
  return AffineMap::get(numDims, scope.sizes.size() / 2, results, context);
}

/// Parses the body of a space, with buffers, scalars and dims as its block's arguments, and replaces the notation in it.
ParseResult parseBody(OpAsmParser &parser, SpaceScope &scope, ArrayRef<AffineExpr> extents, ArrayRef<AffineExpr> guards,
                      Region &body) {
  SmallVector<OpAsmParser::Argument> arguments = scope.buffers;
  llvm::append_range(arguments, scope.scalars);
  llvm::append_range(arguments, scope.dims);
  for (OpAsmParser::Argument &argument : arguments) {
    StringRef name = argument.ssaName.name.drop_front();
    Location location = parser.getEncodedSourceLoc(argument.ssaName.location);
    if (!argument.sourceLoc && !isGenerated(name))
      argument.sourceLoc = NameLoc::get(parser.getBuilder().getStringAttr(name), location);
  }
  {
    llvm::SaveAndRestore open(openSpace, &scope);
    if (parser.parseRegion(body, arguments))
      return failure();
  }
  if (body.empty())
    body.emplaceBlock();
  std::optional<AffineMap> guarded;
  if (!guards.empty())
    guarded = mapOver(parser.getContext(), scope, extents.size(), guards);
  return replaceNotation(body.front(), mapOver(parser.getContext(), scope, 0, extents), guarded);
}

} // namespace

//===----------------------------------------------------------------------===//
// norm.compute
//===----------------------------------------------------------------------===//

ParseResult ComputeOp::parse(OpAsmParser &parser, OperationState &result) {
  SpaceScope scope;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> inputTypes;
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument name;
    if (parser.parseArgument(name) || parser.parseEqual() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseColonType(name.type))
      return failure();
    inputTypes.push_back(name.type);
    (isa<ShapedType>(name.type) ? scope.buffers : scope.scalars).push_back(name);
    return success();
  };
  auto parseOutput = [&]() -> ParseResult {
    return parser.parseArgument(scope.buffers.emplace_back(), /*allowType=*/true);
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput, " in inputs") || parser.parseArrow() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOutput, " in results"))
    return failure();
  for (const OpAsmParser::Argument &output : ArrayRef(scope.buffers).drop_front(operands.size() - scope.scalars.size()))
    result.types.push_back(output.type);
  SmallVector<AffineExpr> extents, guards;
  if (parser.resolveOperands(operands, inputTypes, loc, result.operands) ||
      parseSpace(parser, scope, extents, /*roles=*/nullptr))
    return failure();
  FailureOr<bool> hasGuards = parseGuards(parser, scope, guards);
  if (failed(hasGuards) || parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parseBody(parser, scope, extents, guards, *result.addRegion()))
    return failure();
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.extents = AffineMapAttr::get(mapOver(parser.getContext(), scope, 0, extents));
  if (*hasGuards)
    properties.guards = AffineMapAttr::get(mapOver(parser.getContext(), scope, extents.size(), guards));
  properties.sizes = parser.getBuilder().getDenseI64ArrayAttr(scope.sizes);
  return success();
}

void ComputeOp::print(OpAsmPrinter &p) {
  Block &block = getBody().front();
  size_t numBuffers = getNumBuffers(), numTensors = numBuffers - getNumResults();
  size_t numScalars = getInputs().size() - numTensors;
  ValueRange arguments = block.getArguments();
  ValueRange buffers = arguments.take_front(numBuffers), dims = arguments.drop_front(numBuffers + numScalars);
  auto tensor = buffers.begin(), scalar = buffers.end();
  p << "(";
  llvm::interleaveComma(getInputs(), p, [&](Value input) {
    p << (isa<ShapedType>(input.getType()) ? *tensor++ : *scalar++) << " = " << input << " : " << input.getType();
  });
  p << ") -> (";
  llvm::interleaveComma(buffers.drop_front(numTensors), p, [&](Value output) { p << output << " : " << output.getType(); });
  p << ")";
  printSpace(p, getExtents(), buffers, dims, getSizes(), std::nullopt);
  printGuards(p, getGuards(), buffers, dims, getSizes());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"extents", "sizes", "guards"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

//===----------------------------------------------------------------------===//
// norm.kernel
//===----------------------------------------------------------------------===//

/// Parses a buffer's name, as its position among the buffers.
static ParseResult parseBufferIndex(OpAsmParser &parser, const SpaceScope &scope, int64_t &index) {
  OpAsmParser::UnresolvedOperand name;
  if (parser.parseOperand(name))
    return failure();
  std::optional<unsigned> found = SpaceScope::find(scope.buffers, name);
  if (!found)
    return parser.emitError(name.location, "expected a buffer of this op, got ") << name.name;
  index = *found;
  return success();
}

/// `dim(%x, 1)`, as the positions of buffer and axis.
static ParseResult parseSize(OpAsmParser &parser, const SpaceScope &scope, SmallVectorImpl<int64_t> &size) {
  return failure(parser.parseKeyword("dim") || parser.parseLParen() ||
                 parseBufferIndex(parser, scope, size.emplace_back()) || parser.parseComma() ||
                 parser.parseInteger(size.emplace_back()) || parser.parseRParen());
}

/// What stands for no upper bound.
static constexpr int64_t UNBOUNDED = std::numeric_limits<int64_t>::max();

/// `64 <= dim(%x, 1) <= 4096`, one side of which may be left out.
static ParseResult parseBound(OpAsmParser &parser, const SpaceScope &scope, SmallVectorImpl<int64_t> &bounds) {
  int64_t least = 0, most = UNBOUNDED;
  OptionalParseResult hasLeast = parser.parseOptionalInteger(least);
  if (hasLeast.has_value() && (failed(*hasLeast) || parser.parseLess() || parser.parseEqual()))
    return failure();
  if (parseSize(parser, scope, bounds))
    return failure();
  bool hasMost = succeeded(parser.parseOptionalLess());
  if (hasMost && (parser.parseEqual() || parser.parseInteger(most)))
    return failure();
  if (!hasMost && !hasLeast.has_value())
    return parser.emitError(parser.getCurrentLocation(), "expected a bound before or behind the size");
  bounds.append({least, most});
  return success();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  SpaceScope scope;
  Properties &properties = result.getOrAddProperties<Properties>();
  auto parseBuffer = [&]() -> ParseResult {
    OpAsmParser::Argument argument;
    if (parser.parseArgument(argument, /*allowType=*/true))
      return failure();
    if (!isa<MemRefType>(argument.type))
      scope.scalars.push_back(argument);
    else if (scope.scalars.empty())
      scope.buffers.push_back(argument);
    else
      return parser.emitError(argument.ssaName.location, "expected buffers before scalars");
    return success();
  };
  SmallVector<AffineExpr> extents, guards;
  SmallVector<int32_t> roles;
  if (parser.parseSymbolName(properties.sym_name) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseBuffer, " in buffers") ||
      parseSpace(parser, scope, extents, &roles))
    return failure();
  FailureOr<bool> hasGuards = parseGuards(parser, scope, guards);
  if (failed(hasGuards))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("align"))) {
    SmallVector<int64_t> alignments;
    auto parseAlignment = [&] { return parser.parseInteger(alignments.emplace_back()); };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseAlignment, " in align"))
      return failure();
    properties.alignments = parser.getBuilder().getDenseI64ArrayAttr(alignments);
  }
  if (succeeded(parser.parseOptionalKeyword("multiples"))) {
    SmallVector<int64_t> multiples;
    auto parseMultiple = [&]() -> ParseResult {
      return failure(parseSize(parser, scope, multiples) || parser.parseEqual() ||
                     parser.parseInteger(multiples.emplace_back()));
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseMultiple, " in multiples"))
      return failure();
    properties.multiples = parser.getBuilder().getDenseI64ArrayAttr(multiples);
  }
  if (succeeded(parser.parseOptionalKeyword("bounds"))) {
    SmallVector<int64_t> bounds;
    auto parseBounds = [&]() -> ParseResult { return parseBound(parser, scope, bounds); };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseBounds, " in bounds"))
      return failure();
    properties.bounds = parser.getBuilder().getDenseI64ArrayAttr(bounds);
  }
  if (succeeded(parser.parseOptionalKeyword("aliases"))) {
    SmallVector<int64_t> aliases;
    auto parseAlias = [&]() -> ParseResult {
      return failure(parseBufferIndex(parser, scope, aliases.emplace_back()) || parser.parseEqual() ||
                     parseBufferIndex(parser, scope, aliases.emplace_back()));
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseAlias, " in aliases"))
      return failure();
    properties.aliases = parser.getBuilder().getDenseI64ArrayAttr(aliases);
  }
  SmallVector<Attribute> alternatives;
  SmallVector<AffineExpr> conditions;
  auto parseSchedule = [&]() -> ParseResult {
    ScheduleAttr schedule;
    if (properties.schedule)
      return parser.emitError(parser.getCurrentLocation(), "expected the schedule without a condition to be the last one");
    if (parser.parseAttribute(schedule))
      return failure();
    if (failed(parser.parseOptionalKeyword("if"))) {
      properties.schedule = schedule;
      return success();
    }
    alternatives.push_back(schedule);
    return failure(SpaceExprParser(parser, scope).parse(conditions.emplace_back()) || parser.parseLess() ||
                   SpaceExprParser(parser, scope).parse(conditions.emplace_back()));
  };
  if (succeeded(parser.parseOptionalKeyword("schedule")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseSchedule, " in schedule"))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parseBody(parser, scope, extents, guards, *result.addRegion()))
    return failure();
  MLIRContext *context = parser.getContext();
  properties.extents = AffineMapAttr::get(mapOver(context, scope, 0, extents));
  if (*hasGuards)
    properties.guards = AffineMapAttr::get(mapOver(context, scope, extents.size(), guards));
  if (!alternatives.empty()) {
    properties.alternatives = parser.getBuilder().getArrayAttr(alternatives);
    properties.conditions = AffineMapAttr::get(mapOver(context, scope, 0, conditions));
  }
  if (!roles.empty())
    properties.roles = parser.getBuilder().getDenseI32ArrayAttr(roles);
  properties.sizes = parser.getBuilder().getDenseI64ArrayAttr(scope.sizes);
  return success();
}

void KernelOp::print(OpAsmPrinter &p) {
  Block &block = getBody().front();
  size_t numDims = getExtents().getNumResults();
  ValueRange arguments = block.getArguments();
  ValueRange buffers = arguments.take_front(getNumBuffers()), dims = arguments.take_back(numDims);
  p << " ";
  p.printSymbolName(getSymName());
  p << "(";
  llvm::interleaveComma(arguments.drop_back(numDims), p,
                        [&](Value argument) { p << argument << ": " << argument.getType(); });
  p << ")";
  printSpace(p, getExtents(), buffers, dims, getSizes(), getRoles());
  printGuards(p, getGuards(), buffers, dims, getSizes());
  if (std::optional<ArrayRef<int64_t>> alignments = getAlignments()) {
    p << " align(";
    llvm::interleaveComma(*alignments, p);
    p << ")";
  }
  if (std::optional<ArrayRef<int64_t>> multiples = getMultiples()) {
    p << " multiples(";
    llvm::interleaveComma(llvm::seq<size_t>(0, multiples->size() / 3), p, [&](size_t i) {
      p << "dim(" << buffers[(*multiples)[3 * i]] << ", " << (*multiples)[3 * i + 1] << ") = " << (*multiples)[3 * i + 2];
    });
    p << ")";
  }
  if (std::optional<ArrayRef<int64_t>> bounds = getBounds()) {
    p << " bounds(";
    llvm::interleaveComma(llvm::seq<size_t>(0, bounds->size() / 4), p, [&](size_t i) {
      ArrayRef<int64_t> bound = bounds->slice(4 * i, 4);
      if (bound[2] > 0 || bound[3] == UNBOUNDED)
        p << bound[2] << " <= ";
      p << "dim(" << buffers[bound[0]] << ", " << bound[1] << ")";
      if (bound[3] != UNBOUNDED)
        p << " <= " << bound[3];
    });
    p << ")";
  }
  if (std::optional<ArrayRef<int64_t>> aliases = getAliases()) {
    p << " aliases(";
    llvm::interleaveComma(llvm::seq<size_t>(0, aliases->size() / 2), p, [&](size_t i) {
      p << buffers[(*aliases)[2 * i]] << " = " << buffers[(*aliases)[2 * i + 1]];
    });
    p << ")";
  }
  if (getScheduleAttr() || getAlternativesAttr()) {
    p << " schedule(";
    if (ArrayAttr alternatives = getAlternativesAttr()) {
      AffineMap conditions = *getConditions();
      llvm::interleaveComma(llvm::enumerate(alternatives), p, [&](auto alternative) {
        size_t i = alternative.index();
        p << alternative.value() << " if ";
        printSpaceExpr(p, conditions.getResult(2 * i), buffers, dims, getSizes());
        p << " < ";
        printSpaceExpr(p, conditions.getResult(2 * i + 1), buffers, dims, getSizes());
      });
      if (getScheduleAttr())
        p << ", ";
    }
    if (getScheduleAttr())
      p << getScheduleAttr();
    p << ")";
  }
  p.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"sym_name", "extents", "sizes", "roles", "guards", "alignments", "multiples", "bounds",
                                          "aliases", "alternatives", "conditions", "schedule"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// `[%m, %g * 16 + %k]`.
static ParseResult parseAccess(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
                               AffineMapAttr &access) {
  Attribute map;
  NamedAttrList ignored;
  if (parser.parseAffineMapOfSSAIds(indices, map, "access", ignored))
    return failure();
  access = cast<AffineMapAttr>(map);
  return success();
}

static void printAccess(OpAsmPrinter &p, Operation *, ValueRange indices, AffineMapAttr access) {
  p << "[";
  p.printAffineMapOfSSAIds(access, indices);
  p << "]";
}

/// `: type`, which may be left out for a buffer of the space around the access.
static ParseResult parseBufferType(OpAsmParser &parser, const OpAsmParser::UnresolvedOperand &buffer, Type &type) {
  if (succeeded(parser.parseOptionalColon()))
    return parser.parseType(type);
  std::optional<unsigned> index = openSpace ? SpaceScope::find(openSpace->buffers, buffer) : std::nullopt;
  if (!index)
    return parser.emitError(buffer.location, "expected a buffer of the space around, or its type, got ") << buffer.name;
  type = openSpace->buffers[*index].type;
  return success();
}

static void printBufferType(OpAsmPrinter &p, Operation *, Value, Type type) { p << ": " << type; }

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

/// Parses a named combiner. Without one, the values follow at once, and the combiner is a region.
static ParseResult parseCombiner(OpAsmParser &parser, ReduceKindAttr &kind) {
  if (openSpace)
    openSpace->isMean = false;
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return success();
  if (openSpace && keyword == "mean") {
    openSpace->isMean = true;
    kind = ReduceKindAttr::get(parser.getContext(), ReduceKind::Add);
    return success();
  }
  if (std::optional<ReduceKind> known = symbolizeReduceKind(keyword)) {
    kind = ReduceKindAttr::get(parser.getContext(), *known);
    return success();
  }
  InFlightDiagnostic error = parser.emitError(loc) << "expected a value to reduce or a combiner, one of ";
  llvm::interleaveComma(llvm::seq<uint32_t>(0, getMaxEnumValForReduceKind() + 1), error,
                        [&](uint32_t known) { error << stringifyReduceKind(static_cast<ReduceKind>(known)); });
  return error << ", mean, got " << keyword;
}

static void printCombiner(OpAsmPrinter &p, Operation *, ReduceKindAttr kind) {
  if (kind)
    p << stringifyReduceKind(kind.getValue());
}

/// Parses the other attributes of a reduction, and adds that it is a mean.
static ParseResult parseReductionAttributes(OpAsmParser &parser, NamedAttrList &attributes) {
  if (parser.parseOptionalAttrDict(attributes))
    return failure();
  if (openSpace && openSpace->isMean)
    attributes.append(MEAN, parser.getBuilder().getUnitAttr());
  return success();
}

static void printReductionAttributes(OpAsmPrinter &p, ReduceOp op, DictionaryAttr attributes) {
  p.printOptionalAttrDict(attributes.getValue(),
                          {op.getOperandSegmentSizesAttrName(), op.getKindAttrName(), op.getIdentityAttrName()});
}

#define GET_OP_CLASSES
#include "norm/NormOps.cpp.inc"
