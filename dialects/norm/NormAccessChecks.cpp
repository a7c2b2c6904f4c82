//===- NormAccessChecks.cpp - what accesses do to their buffers -------------===//
//
// Reads and writes stay in bounds, and every element of an output is written exactly once. An access happens at each
// point of the dims that it uses, whatever the other dims are.
//
// Each question is the emptiness of an integer set: the points out of bounds, the pairs of points that write one
// element, the elements that no point writes. MLIR's Presburger library decides it exactly for affine coordinates with
// floordiv, ceildiv and mod by constants. Where the set is empty for some sizes only, or for some numbers that a launch passes,
// interval arithmetic gives a condition on these, and the question is asked again under it: a condition that is found is always
// enough. It may ask more than is needed where a coordinate uses one dim twice, or where a dim has no points. A guard of the space
// limits the points of an access that uses all of the guard's dims.
//
// Most accesses have a dim for each axis. What their ranges say (NormAffineRanges.h) needs no set, which would say the same
// and take longer.
//
//===----------------------------------------------------------------------===//

#include "norm/NormAccessChecks.h"

#include "norm/NormAffineRanges.h"
#include "norm/NormDialect.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::norm;
using llvm::DynamicAPInt;
using presburger::PresburgerRelation;
using presburger::PresburgerSet;
using presburger::VarKind;

namespace {

/// A conjunction: each expression is zero or, if it is no equality, not negative.
struct System {
  SmallVector<AffineExpr> expressions;
  SmallVector<bool> equalities;

  void atLeastZero(AffineExpr expression) { add(expression, false); }
  void zero(AffineExpr expression) { add(expression, true); }
  void add(AffineExpr expression, bool isEquality) {
    expressions.push_back(expression);
    equalities.push_back(isEquality);
  }
};

/// A read or a write.
struct Access {
  Operation *op;
  unsigned buffer;
  /// One for each axis of the buffer, over all dims of the space, and the numbers as symbols; null where it depends on values that the
  /// body computes, of which nothing is known: the access itself checks those.
  SmallVector<AffineExpr> coordinates;
  /// The dims that the coordinates use.
  llvm::SmallBitVector dims;
};

/// A guard of the space: there are only points with `lhs < rhs`.
struct Guard {
  /// Over the dims, and sizes as symbols.
  AffineExpr lhs, rhs;
  /// The dims of both sides.
  llvm::SmallBitVector dims;
};

/// A point of a system, dims first and then sizes and numbers.
using Point = SmallVector<DynamicAPInt, 8>;

class Checker {
public:
  Checker(Operation *op, Block &body, size_t numBuffers, size_t numDims, Conditions &conditions)
      : op(op), context(op->getContext()), body(body), numBuffers(numBuffers), numDims(numDims),
        firstDim(body.getNumArguments() - numDims), conditions(conditions) {}

  /// Checks the space with these extents and guards over `sizes`, pairs (buffer, axis). A buffer from `firstOutput` on must be
  /// written, and one before it must not be. Without `firstOutput`, every buffer that is written is an output.
  LogicalResult run(AffineMap extents, std::optional<AffineMap> guards, ArrayRef<int64_t> sizes,
                    std::optional<size_t> firstOutput) {
    if (failed(readSpace(extents, guards, sizes)) || failed(readAccesses()) || failed(checkUses(firstOutput)))
      return failure();
    for (const Access &write : writes)
      if (failed(checkBounds(write)))
        return failure();
    for (size_t buffer = 0; buffer < numBuffers; ++buffer)
      if (failed(checkWritten(buffer, firstOutput && buffer >= *firstOutput)))
        return failure();
    for (ArrayRef<Access> accesses : {ArrayRef(reads), ArrayRef(scatters)})
      for (const Access &access : accesses)
        if (failed(checkBounds(access)))
          return failure();
    dropImplied();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // The space and its accesses
  //===--------------------------------------------------------------------===//

  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, context); }

  /// The extent of an axis of a buffer.
  AffineExpr sizeOf(int64_t buffer, int64_t axis) {
    auto type = cast<ShapedType>(body.getArgument(buffer).getType());
    if (!type.isDynamicDim(axis))
      return constant(type.getDimSize(axis));
    auto *found = llvm::find(conditions.symbols, std::pair(buffer, axis));
    if (found == conditions.symbols.end()) {
      conditions.symbols.emplace_back(buffer, axis);
      found = std::prev(conditions.symbols.end());
    }
    return getAffineSymbolExpr(found - conditions.symbols.begin(), context);
  }

  LogicalResult readSpace(AffineMap map, std::optional<AffineMap> ofGuards, ArrayRef<int64_t> sizes) {
    SmallVector<AffineExpr> replacements;
    for (size_t i = 0; i < sizes.size(); i += 2)
      replacements.push_back(sizeOf(sizes[i], sizes[i + 1]));
    // Dynamic sizes of all buffers get their symbols now, and numbers theirs, so that every system has the same ones.
    for (auto [buffer, argument] : llvm::enumerate(body.getArguments().take_front(numBuffers)))
      for (int64_t axis = 0, rank = cast<ShapedType>(argument.getType()).getRank(); axis < rank; ++axis)
        sizeOf(buffer, axis);
    numSizes = conditions.symbols.size();
    for (BlockArgument number : body.getArguments().slice(numBuffers, firstDim - numBuffers))
      if (number.getType().isIndex())
        conditions.symbols.emplace_back(number.getArgNumber(), Conditions::NUMBER);
    for (auto [i, extent] : llvm::enumerate(map.getResults())) {
      AffineExpr replaced = extent.replaceSymbols(replacements);
      if (!replaced.isPureAffine() || !largestFactor(replaced))
        return op->emitOpError() << "unsupported: the extent of dim " << dimName(body.getArgument(firstDim + i))
                                 << " multiplies or divides sizes; supported: sums of sizes, and their multiples, "
                                    "quotients and remainders by constants that fit 64 bits";
      extents.push_back(replaced);
    }
    for (size_t i = 0; ofGuards && i + 1 < ofGuards->getNumResults(); i += 2) {
      Guard guard{ofGuards->getResult(i).replaceSymbols(replacements), ofGuards->getResult(i + 1).replaceSymbols(replacements),
                  llvm::SmallBitVector(numDims)};
      for (AffineExpr side : {guard.lhs, guard.rhs}) {
        if (!side.isPureAffine() || !largestFactor(side))
          return op->emitOpError() << "unsupported: a guard that multiplies or divides dims and sizes by each other; supported: "
                                      "their sums, and multiples, quotients and remainders by constants that fit 64 bits";
        for (size_t dim = 0; dim < numDims; ++dim)
          if (side.isFunctionOfDim(dim))
            guard.dims.set(dim);
      }
      guards.push_back(std::move(guard));
    }
    return success();
  }

  LogicalResult readAccesses() {
    for (Operation &inner : body) {
      auto read = dyn_cast<ReadOp>(inner);
      auto gather = dyn_cast<GatherOp>(inner);
      auto write = dyn_cast<WriteOp>(inner);
      auto scatter = dyn_cast<ScatterOp>(inner);
      if (!read && !gather && !write && !scatter)
        continue;
      auto ofOp = [&](auto of) { return std::tuple(of.getAccess(), Value(of.getBuffer()), ValueRange(of.getIndices())); };
      auto [map, buffer, indices] = read ? ofOp(read) : gather ? ofOp(gather) : write ? ofOp(write) : ofOp(scatter);
      Access access{&inner, cast<BlockArgument>(buffer).getArgNumber(), {}, llvm::SmallBitVector(numDims)};
      SmallVector<AffineExpr> dims;
      llvm::SmallBitVector computed(indices.size());
      for (auto [position, index] : llvm::enumerate(indices)) {
        auto argument = dyn_cast<BlockArgument>(index);
        dims.push_back(argument ? indexExpression(argument.getArgNumber()) : constant(0));
        if (!argument)
          computed.set(position);
      }
      for (AffineExpr result : map.getResults()) {
        if (llvm::any_of(computed.set_bits(), [&](unsigned position) { return result.isFunctionOfDim(position); })) {
          access.coordinates.emplace_back();
          continue;
        }
        AffineExpr coordinate = result.replaceDims(dims);
        if (!coordinate.isPureAffine() || !largestFactor(coordinate))
          return inner.emitOpError() << "unsupported: a coordinate that multiplies dims, divides by a dim or has a "
                                        "factor that does not fit 64 bits";
        for (size_t dim = 0; dim < numDims; ++dim)
          if (coordinate.isFunctionOfDim(dim))
            access.dims.set(dim);
        access.coordinates.push_back(coordinate);
      }
      bool isRead = read || gather;
      SmallVector<Access> &accesses = isRead ? reads : write ? writes : scatters;
      bool isKnown = isRead && llvm::any_of(reads, [&](const Access &other) {
                       return other.buffer == access.buffer && other.coordinates == access.coordinates;
                     });
      if (!isKnown)
        accesses.push_back(std::move(access));
    }
    return success();
  }

  /// A dim, or the symbol that a number is.
  AffineExpr indexExpression(unsigned argument) {
    if (argument >= firstDim)
      return getAffineDimExpr(argument - firstDim, context);
    auto *number = llvm::find(conditions.symbols, std::pair(int64_t(argument), Conditions::NUMBER));
    return getAffineSymbolExpr(number - conditions.symbols.begin(), context);
  }

  /// Checks that inputs are not written and outputs are not read.
  LogicalResult checkUses(std::optional<size_t> firstOutput) {
    for (const Access &write : writes)
      if (firstOutput && write.buffer < *firstOutput) // write_c6
        return write.op->emitOpError() << "expected to write a result, got input "
                                         << describeBuffer(write.buffer);
    for (const Access &read : reads) {
      auto *written = llvm::find_if(writes, [&](const Access &write) { return write.buffer == read.buffer; });
      if (written != writes.end()) { // read_c5, gather_c3
        InFlightDiagnostic error = read.op->emitOpError()
                                   << "expected to read an input, got " << describeBuffer(read.buffer)
                                   << ", which is written";
        error.attachNote(written->op->getLoc()) << "written here";
        return error;
      }
      if (firstOutput && read.buffer >= *firstOutput) // read_c5
        return read.op->emitOpError() << "expected to read an input, got result "
                                        << describeBuffer(read.buffer);
    }
    for (const Access &scatter : scatters) { // scatter_c3
      for (ArrayRef<Access> others : {ArrayRef(reads), ArrayRef(writes)}) {
        auto *other = llvm::find_if(others, [&](const Access &other) { return other.buffer == scatter.buffer; });
        if (other == others.end())
          continue;
        InFlightDiagnostic error = scatter.op->emitOpError() << "expected an output that only norm.scatter accesses, got "
                                                              << describeBuffer(scatter.buffer);
        error.attachNote(other->op->getLoc()) << "accessed here";
        return error;
      }
      ArrayRef<int64_t> aliases = cast<KernelOp>(op).getAliases().value_or(ArrayRef<int64_t>());
      for (size_t i = 0; i + 1 < aliases.size(); i += 2)
        if (aliases[i] == int64_t(scatter.buffer))
          return scatter.op->emitOpError() << "expected an output that is not the memory of an input, got "
                                           << describeBuffer(scatter.buffer) << ", which may be that of "
                                           << describeBuffer(aliases[i + 1]);
    }
    for (const Access &gather : reads) {
      if (!isa<GatherOp>(gather.op))
        continue;
      // Threads overwrite elements that others still have to read.
      ArrayRef<int64_t> aliases = cast<KernelOp>(op).getAliases().value_or(ArrayRef<int64_t>());
      for (size_t i = 0; i + 1 < aliases.size(); i += 2)
        if (aliases[i + 1] == int64_t(gather.buffer)) // gather_c3
          return gather.op->emitOpError() << "expected an input that no result overwrites, got "
                                          << describeBuffer(gather.buffer) << ", which may be the memory of "
                                          << describeBuffer(aliases[i]);
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Systems
  //===--------------------------------------------------------------------===//

  /// Returns the system in which sizes are not negative and the conditions hold.
  System sizesSystem() {
    System system;
    for (size_t symbol = 0; symbol < numSizes; ++symbol)
      system.atLeastZero(getAffineSymbolExpr(symbol, context));
    for (const Condition &condition : conditions.all)
      system.add(condition.lhs - condition.rhs, condition.isEquality);
    return system;
  }

  /// Constrains `dims`, each moved on by `shift` positions, to their extents and by the guards that concern them.
  void addDims(System &system, const llvm::SmallBitVector &dims, unsigned shift = 0) {
    for (unsigned dim : dims.set_bits()) {
      AffineExpr index = getAffineDimExpr(dim + shift, context);
      system.atLeastZero(index);
      system.atLeastZero(extents[dim] - 1 - index);
    }
    SmallVector<AffineExpr> shifted;
    for (unsigned dim = 0; dim < numDims; ++dim)
      shifted.push_back(getAffineDimExpr(dim + shift, context));
    for (const Guard &guard : guards)
      if (concerns(guard, dims))
        system.atLeastZero((guard.rhs - 1 - guard.lhs).replaceDims(shifted));
  }

  /// Whether a guard concerns an access by `dims`: one that uses all dims of the guard.
  static bool concerns(const Guard &guard, const llvm::SmallBitVector &dims) { return !guard.dims.test(dims); }

  /// Returns the number of values from zero on that a guard leaves a coordinate, which is the guard's left side, or that side times
  /// a factor and a sum of dims whose values are the numbers below the factor. Returns null for another coordinate, or one of which
  /// the guard may leave more than `count`.
  AffineExpr leftBy(const Guard &guard, AffineExpr coordinate, AffineExpr count) {
    unsigned numSymbols = conditions.symbols.size();
    SmallVector<std::pair<int64_t, unsigned>> terms, own;
    bool isLimited = llvm::any_of(llvm::seq<unsigned>(0, numDims), [&](unsigned dim) { return guard.rhs.isFunctionOfDim(dim); });
    if (isLimited || !collectTerms(coordinate, terms) || !collectTerms(guard.lhs, own) || own.empty())
      return {};
    auto *term = llvm::find_if(terms, [&](auto term) { return term.second == own.front().second; });
    if (term == terms.end() || own.front().first == 0 || term->first % own.front().first != 0)
      return {};
    int64_t factor = term->first / own.front().first;
    Range rest = rangeOf(simplifyAffineExpr(coordinate - guard.lhs * factor, numDims, numSymbols), extents);
    if (factor < 1 || rest.least != constant(0) || simplifyAffineExpr(rest.greatest, 0, numSymbols) != constant(factor - 1))
      return {};
    AffineExpr left = guard.rhs * factor;
    System more = sizesSystem();
    more.atLeastZero(left - 1 - count);
    return sample(more, 0) ? AffineExpr() : left;
  }

  /// An interval that contains the values of a coordinate of an access by `dims`, as `rangeOf` gives it and guards narrow it.
  Range rangeWithin(AffineExpr coordinate, const llvm::SmallBitVector &dims) {
    Range range = rangeOf(coordinate, extents);
    for (const Guard &guard : guards)
      if (concerns(guard, dims))
        if (AffineExpr count = leftBy(guard, coordinate, range.greatest + 1))
          range.greatest = count - 1;
    return range;
  }

  /// Returns the extents of the box of elements that a write reaches each exactly once; none if it reaches others, or possibly.
  std::optional<SmallVector<AffineExpr>> boxWithin(const Access &write) {
    std::optional<SmallVector<AffineExpr>> box = boxOf(write.coordinates, extents);
    for (const Guard &guard : guards) {
      if (!box || !concerns(guard, write.dims))
        continue;
      bool isLeft = false;
      for (auto [axis, coordinate] : llvm::enumerate(write.coordinates))
        if (AffineExpr count = leftBy(guard, coordinate, (*box)[axis])) {
          (*box)[axis] = count;
          isLeft = true;
        }
      if (!isLeft)
        return std::nullopt;
    }
    return box;
  }

  /// The points of a system over `count` dims and all symbols.
  presburger::IntegerPolyhedron polyhedron(const System &system, unsigned count) {
    IntegerSet set =
        IntegerSet::get(count, conditions.symbols.size(), system.expressions, ArrayRef<bool>(system.equalities));
    FlatLinearValueConstraints constraints(set);
    presburger::IntegerPolyhedron result(constraints);
    return result;
  }

  std::optional<Point> sample(const System &system, unsigned count) {
    if (system.expressions.empty())
      return Point(count + conditions.symbols.size());
    return polyhedron(system, count).findIntegerSample();
  }

  /// Whether there are sizes and numbers that satisfy the conditions and give each of `dims` a point.
  bool canHold(const llvm::SmallBitVector &dims) {
    System system = sizesSystem();
    for (unsigned dim : dims.set_bits())
      system.atLeastZero(extents[dim] - 1);
    return holdsForLargeSizes(system) || sample(system, 0).has_value();
  }

  /// Whether a system over symbols holds where all sizes are one large power of two, which most extents and promises of multiples
  /// agree with, and all numbers zero: one such point spares the search for another.
  bool holdsForLargeSizes(const System &system) {
    SmallVector<AffineExpr> sizes(numSizes, constant(int64_t(1) << 20));
    sizes.resize(conditions.symbols.size(), constant(0));
    return llvm::all_of(llvm::zip(system.expressions, system.equalities), [&](auto constraint) {
      auto [expression, isEquality] = constraint;
      auto value = dyn_cast<AffineConstantExpr>(expression.replaceSymbols(sizes));
      return value && (isEquality ? value.getValue() == 0 : value.getValue() >= 0);
    });
  }

  /// Evaluates an expression at a point whose sizes begin at `firstSize`.
  static int64_t valueAt(AffineExpr expression, const Point &point, unsigned firstSize) {
    SmallVector<int64_t> values;
    for (const DynamicAPInt &value : point)
      values.push_back(static_cast<int64_t>(value));
    MLIRContext *context = expression.getContext();
    SmallVector<AffineExpr> dims, sizes;
    for (auto [i, value] : llvm::enumerate(values))
      (i < firstSize ? dims : sizes).push_back(getAffineConstantExpr(value, context));
    AffineExpr result = expression.replaceDimsAndSymbols(dims, sizes);
    auto literal = dyn_cast<AffineConstantExpr>(result);
    return literal ? literal.getValue() : 0;
  }

  /// `m = 0, n = 255`.
  std::string describe(const llvm::SmallBitVector &dims, const Point &point, unsigned shift = 0) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleaveComma(dims.set_bits(), stream, [&](unsigned dim) {
      stream << dimName(body.getArgument(firstDim + dim)) << " = " << static_cast<int64_t>(point[dim + shift]);
    });
    return dims.none() ? "no dims" : text;
  }

  /// `, o = 3` for each number that an expression uses, at a point whose sizes begin at `firstSize`.
  std::string describeNumbers(AffineExpr expression, const Point &point, unsigned firstSize) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (size_t symbol = numSizes; symbol < conditions.symbols.size(); ++symbol)
      if (expression.isFunctionOfSymbol(symbol))
        stream << ", " << dimName(body.getArgument(conditions.symbols[symbol].first)) << " = "
               << static_cast<int64_t>(point[firstSize + symbol]);
    return text;
  }

  //===--------------------------------------------------------------------===//
  // Bounds
  //===--------------------------------------------------------------------===//

  /// Adds a condition, unless it always holds.
  void require(AffineExpr lhs, AffineExpr rhs, bool isEquality) {
    if (!largestFactor(lhs - rhs)) {
      // No launch has sizes for which this holds, since no buffer is so large.
      conditions.all.push_back({constant(0), constant(1), /*isEquality=*/false});
      return;
    }
    lhs = simplifyAffineExpr(lhs, 0, conditions.symbols.size());
    rhs = simplifyAffineExpr(rhs, 0, conditions.symbols.size());
    auto difference = dyn_cast<AffineConstantExpr>(lhs - rhs);
    if (!difference || (isEquality ? difference.getValue() != 0 : difference.getValue() < 0))
      conditions.all.push_back({lhs, rhs, isEquality});
  }

  bool isNeverNegative(AffineExpr expression) {
    return norm::isNeverNegative(expression, numSizes, conditions.symbols.size());
  }

  LogicalResult checkBounds(const Access &access) {
    for (auto [axis, coordinate] : llvm::enumerate(access.coordinates)) {
      if (!coordinate)
        continue;
      AffineExpr size = sizeOf(access.buffer, axis);
      for (bool isAbove : {false, true}) {
        Range range = rangeWithin(coordinate, access.dims);
        if (isNeverNegative(isAbove ? size - 1 - range.greatest : range.least))
          continue;
        System system = sizesSystem();
        addDims(system, access.dims);
        system.atLeastZero(isAbove ? coordinate - size : -coordinate - 1);
        std::optional<Point> first = sample(system, numDims);
        if (!first)
          continue;
        // The condition keeps the whole range within bounds.
        if (isAbove)
          require(size, range.greatest + 1, /*isEquality=*/false);
        else
          require(range.least, constant(0), /*isEquality=*/false);
        if (canHold(access.dims))
          continue;
        // read_c4, write_c5, gather_c5, scatter_c5
        return access.op->emitOpError() << "expected coordinate " << axis << " to be within "
                                        << body.getArgument(access.buffer).getType() << ", got "
                                        << valueAt(coordinate, *first, numDims) << " at "
                                        << describe(access.dims, *first)
                                        << describeNumbers(coordinate, *first, numDims);
      }
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Outputs
  //===--------------------------------------------------------------------===//

  /// Checks that every element is written exactly once.
  LogicalResult checkWritten(size_t buffer, bool isOutput) {
    SmallVector<const Access *> own;
    for (const Access &write : writes)
      if (write.buffer == buffer)
        own.push_back(&write);
    if (own.empty()) {
      auto type = cast<ShapedType>(body.getArgument(buffer).getType());
      if (isOutput && !llvm::is_contained(type.getShape(), 0)) // compute_c3
        return op->emitOpError() << "expected a norm.write of every result, got none of "
                                 << describeBuffer(buffer);
      return success();
    }
    for (auto [i, write] : llvm::enumerate(own)) {
      if (failed(checkInjective(*write)))
        return failure();
      for (const Access *other : ArrayRef(own).take_front(i))
        if (failed(checkApart(*other, *write)))
          return failure();
    }
    return checkCovered(buffer, own);
  }

  /// What the user calls a buffer.
  std::string describeBuffer(size_t buffer) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << dimName(body.getArgument(buffer)) << ", a " << body.getArgument(buffer).getType();
    return text;
  }

  /// Returns a point of `first` and one of `second` that write the same element, if there are any. The two points of one and the
  /// same write have to differ in `dim`.
  std::optional<Point> collision(const Access &first, const Access &second, std::optional<unsigned> dim) {
    System system = sizesSystem();
    addDims(system, first.dims);
    addDims(system, second.dims, numDims);
    SmallVector<AffineExpr> shifted;
    for (unsigned i = 0; i < numDims; ++i)
      shifted.push_back(getAffineDimExpr(numDims + i, context));
    for (auto [a, b] : llvm::zip(first.coordinates, second.coordinates))
      system.zero(a - b.replaceDims(shifted));
    // Of two points that differ, either may come first.
    if (dim)
      system.atLeastZero(shifted[*dim] - getAffineDimExpr(*dim, context) - 1);
    return sample(system, 2 * numDims);
  }

  LogicalResult checkInjective(const Access &write) {
    if (boxOf(write.coordinates, extents))
      return success();
    for (unsigned dim : write.dims.set_bits()) {
      std::optional<Point> first = collision(write, write, dim);
      if (!first)
        continue;
      for (AffineExpr coordinate : write.coordinates)
        requireApart(coordinate);
      if (canHold(write.dims) && !collision(write, write, dim))
        continue;
      return reportTwice(write, write, *first);
    }
    return success();
  }

  LogicalResult checkApart(const Access &first, const Access &second) {
    std::optional<Point> point = collision(first, second, std::nullopt);
    return point ? reportTwice(first, second, *point) : success();
  }

  // write_c7
  LogicalResult reportTwice(const Access &first, const Access &second, const Point &point) {
    InFlightDiagnostic error = second.op->emitOpError() << "expected each element to be written once, got two writes of [";
    llvm::interleaveComma(first.coordinates, error,
                          [&](AffineExpr coordinate) { error << valueAt(coordinate, point, 2 * numDims); });
    error << "], at " << describe(first.dims, point) << " and at " << describe(second.dims, point, numDims);
    if (first.op != second.op)
      error.attachNote(first.op->getLoc()) << "first written here";
    return error;
  }

  /// Requires that a sum of multiples of dims has a different value at each point: in ascending order of the factors, each is more
  /// than the greatest sum of the terms before it. Requires nothing of a coordinate that is no such sum.
  void requireApart(AffineExpr coordinate) {
    SmallVector<std::pair<int64_t, unsigned>> terms;
    if (!collectTerms(coordinate, terms))
      return;
    llvm::sort(terms);
    AffineExpr reach = constant(0);
    for (auto [factor, dim] : terms) {
      require(constant(factor), reach + 1, /*isEquality=*/false);
      reach = reach + (extents[dim] - 1) * factor;
    }
  }

  /// Whether there are sizes for which none of the writes reaches some element of the buffer.
  bool leavesOut(size_t buffer, ArrayRef<const Access *> own) {
    std::optional<SmallVector<AffineExpr>> box = own.size() == 1 ? boxWithin(*own.front()) : std::nullopt;
    if (!box)
      return uncovered(buffer, own).has_value();
    // The last element along an axis lies beyond the box.
    auto isBeyond = [&](size_t axis) {
      if (isNeverNegative((*box)[axis] - sizeOf(buffer, axis)))
        return false;
      System system = sizesSystem();
      for (size_t other = 0; other < box->size(); ++other)
        system.atLeastZero(sizeOf(buffer, other) - 1);
      system.atLeastZero(sizeOf(buffer, axis) - 1 - (*box)[axis]);
      return sample(system, 0).has_value();
    };
    return llvm::any_of(llvm::seq(box->size()), isBeyond);
  }

  /// An element of the buffer that none of the writes reaches.
  std::optional<Point> uncovered(size_t buffer, ArrayRef<const Access *> own) {
    unsigned rank = own.front()->coordinates.size();
    System elements = sizesSystem();
    for (unsigned axis = 0; axis < rank; ++axis) {
      AffineExpr index = getAffineDimExpr(axis, context);
      elements.atLeastZero(index);
      elements.atLeastZero(sizeOf(buffer, axis) - 1 - index);
    }
    // A buffer of rank 0 has one element, and a write of it writes that.
    if (rank == 0)
      return std::nullopt;
    PresburgerSet rest(polyhedron(elements, rank));
    for (const Access *write : own) {
      System image = sizesSystem();
      addDims(image, write->dims, rank);
      SmallVector<AffineExpr> shifted;
      for (unsigned dim = 0; dim < numDims; ++dim)
        shifted.push_back(getAffineDimExpr(rank + dim, context));
      for (auto [axis, coordinate] : llvm::enumerate(write->coordinates))
        image.zero(getAffineDimExpr(axis, context) - coordinate.replaceDims(shifted));
      presburger::IntegerPolyhedron points = polyhedron(image, rank + numDims);
      points.convertVarKind(VarKind::SetDim, rank, rank + numDims, VarKind::Local);
      rest = rest.subtract(points.computeReprWithOnlyDivLocals());
    }
    Point point;
    if (!rest.findIntegerSample(point))
      return std::nullopt;
    return point;
  }

  /// Requires that each axis of a buffer, or each dynamic one, ends where the writes do.
  void requireExtents(size_t buffer, ArrayRef<const Access *> own, bool ofStatic) {
    for (size_t axis = 0; axis < own.front()->coordinates.size(); ++axis) {
      if (!ofStatic && isa<AffineConstantExpr>(sizeOf(buffer, axis)))
        continue;
      // The greatest coordinate of all writes, if the same write goes furthest for all sizes.
      AffineExpr greatest = rangeWithin(own.front()->coordinates[axis], own.front()->dims).greatest;
      for (const Access *write : own.drop_front()) {
        AffineExpr other = rangeWithin(write->coordinates[axis], write->dims).greatest;
        if (auto beyond = dyn_cast<AffineConstantExpr>(other - greatest); beyond && beyond.getValue() > 0)
          greatest = other;
      }
      require(sizeOf(buffer, axis), greatest + 1, /*isEquality=*/true);
    }
  }

  LogicalResult checkCovered(size_t buffer, ArrayRef<const Access *> own) {
    if (llvm::any_of(own, [](const Access *write) { return cast<WriteOp>(write->op).getPartial(); })) {
      requireExtents(buffer, own, /*ofStatic=*/false);
      return success();
    }
    if (!leavesOut(buffer, own))
      return success();
    size_t before = conditions.all.size();
    llvm::SmallBitVector dims(numDims);
    for (const Access *write : own)
      dims |= write->dims;
    requireExtents(buffer, own, /*ofStatic=*/true);
    if (canHold(dims) && !leavesOut(buffer, own))
      return success();
    conditions.all.truncate(before);
    std::optional<Point> first = uncovered(buffer, own);
    if (!first)
      return op->emitError("internal compiler error: an element that is left out has no coordinates");
    // write_c8
    InFlightDiagnostic error = own.back()->op->emitOpError() << "expected every element of "
                                                             << describeBuffer(buffer)
                                                             << ", to be written, got no write of [";
    llvm::interleaveComma(ArrayRef(*first).take_front(own.front()->coordinates.size()), error,
                          [&](const DynamicAPInt &index) { error << static_cast<int64_t>(index); });
    return error << "]";
  }

  //===--------------------------------------------------------------------===//
  // Conditions
  //===--------------------------------------------------------------------===//

  /// Drops every condition that follows from the others, inequalities first.
  void dropImplied() {
    for (bool isEquality : {false, true})
      for (size_t i = 0; i < conditions.all.size();) {
        Condition condition = conditions.all[i];
        if (condition.isEquality != isEquality) {
          ++i;
          continue;
        }
        conditions.all.erase(conditions.all.begin() + i);
        AffineExpr difference = condition.lhs - condition.rhs;
        auto canBe = [&](AffineExpr atLeastZero) {
          System system = sizesSystem();
          system.atLeastZero(atLeastZero);
          return sample(system, 0).has_value();
        };
        if (canBe(-difference - 1) || (isEquality && canBe(difference - 1))) {
          conditions.all.insert(conditions.all.begin() + i, condition);
          ++i;
        }
      }
  }

  Operation *op;
  MLIRContext *context;
  Block &body;
  /// Scalars stand between buffers and dims.
  size_t numBuffers, numDims, firstDim;
  /// The number of symbols that are sizes; these come first.
  size_t numSizes = 0;
  Conditions &conditions;
  SmallVector<AffineExpr> extents;
  SmallVector<Guard> guards;
  SmallVector<Access> reads, writes, scatters;
};

} // namespace

FailureOr<Conditions> mlir::norm::conditionsOf(Operation *op) {
  Conditions conditions;
  auto check = [&](auto space, std::optional<size_t> firstOutput) {
    AffineMap extents = space.getExtents();
    Checker checker(op, space.getBody().front(), space.getNumBuffers(), extents.getNumResults(), conditions);
    return checker.run(extents, space.getGuards(), space.getSizes(), firstOutput);
  };
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    if (succeeded(check(compute, compute.getNumBuffers() - compute.getNumResults())))
      return conditions;
  } else if (auto kernel = dyn_cast<KernelOp>(op); kernel && !kernel.getRoles() && !kernel->hasAttr(PART)) {
    if (succeeded(check(kernel, std::nullopt)))
      return conditions;
  }
  return failure();
}
