//===- NormVerifiers.cpp - constraints of schedules and kernel form ---------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormAccessChecks.h"
#include "norm/NormAffineRanges.h"
#include "norm/NormDialect.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// #norm.schedule
//===----------------------------------------------------------------------===//

/// A level's keyword, or its number if it is none.
static std::string levelName(int64_t number) {
  std::optional<Level> level = symbolizeLevel(static_cast<uint32_t>(number));
  return level ? stringifyLevel(*level).str() : std::to_string(number);
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr spread,
                                   ArrayRef<int64_t> keep, CopyMechanism, int64_t stages, int64_t unrollBytes,
                                   int64_t heldSteps, int64_t producerWarps, int64_t producerRegisters, int64_t consumerGroups, HandOut,
                                   bool, bool, ArrayRef<int64_t> mergeReductions, int64_t minCtasPerSm, int64_t alignedDim) {
  // The largest product of each level's factors (C2); products saturate, so that they do not wrap around to a smaller number.
  struct Bound {
    Level level;
    int64_t most;
    int64_t product;
  };
  Bound bounds[] = {{Level::Lane, 32, 1}, {Level::Warp, 32, 1}, {Level::Cluster, 16, 1}};
  for (Attribute dim : spread) {
    auto factors = dyn_cast<DenseI64ArrayAttr>(dim);
    if (!factors || factors.size() % 2 != 0) // schedule_c5
      return emitError() << "expected pairs of level and size for each dim, got " << dim;
    bool hasRest = false;
    for (int64_t i = 0, end = factors.size(); i < end; i += 2) {
      std::optional<Level> level = symbolizeLevel(factors[i]);
      int64_t size = factors[i + 1];
      if (!level || size < 0) // schedule_c5
        return emitError() << "expected a level and a size, got " << factors[i] << " and " << size;
      StringRef name = stringifyLevel(*level);
      bool takesRest = *level == Level::Grid || *level == Level::Split || *level == Level::Loop;
      if (size == 0) {
        if (!takesRest) // schedule_c4
          return emitError() << "expected a size for " << name;
        if (hasRest) // schedule_c1
          return emitError() << "expected at most one factor without a size for a dim, got " << name << " too";
        hasRest = true;
      } else if (!takesRest && !llvm::isPowerOf2_64(size)) { // schedule_c1
        return emitError() << "expected a power of two for " << name << ", got " << size;
      }
      if (*level == Level::Vector && i + 2 != end) // schedule_c4
        return emitError() << "expected vector to be the innermost factor of its dim";
      for (Bound &bound : bounds)
        if (bound.level == *level && (bound.product = llvm::SaturatingMultiply(uint64_t(bound.product), uint64_t(size)),
                                      bound.product < 1 || bound.product > bound.most)) // schedule_c2
          return emitError() << "expected " << name << " factors of at most " << bound.most << " in all";
    }
  }
  for (int64_t place : keep)
    if (!symbolizeCachePlace(place)) // schedule_c5
      return emitError() << "expected places between 0 and 4, got " << place;
  if (stages < 1 || consumerGroups < 1) // schedule_c3
    return emitError() << "expected at least one stage and one consumer group, got " << stages << " and " << consumerGroups;
  if (unrollBytes < 0 || heldSteps < 0 || producerWarps < 0 || minCtasPerSm < 0) // schedule_c3
    return emitError() << "expected no negative number of unrolled bytes, held steps, producer warps or CTAs, got " << unrollBytes << ", "
                       << heldSteps << ", " << producerWarps << " and " << minCtasPerSm;
  bool isRegisterCount = producerRegisters >= 24 && producerRegisters <= 240 && producerRegisters % 8 == 0;
  if (producerRegisters != 0 && !isRegisterCount) // schedule_c8
    return emitError() << "expected producer_registers to be 0 or a multiple of 8 from 24 to 240, got " << producerRegisters;
  // The numbers of levels grow from the outermost to the innermost.
  auto isMerged = [](int64_t level) { return level >= int64_t(Level::Split) && level <= int64_t(Level::Lane); };
  for (auto [i, level] : llvm::enumerate(mergeReductions)) {
    if (!isMerged(level)) // schedule_c7
      return emitError() << "expected merge_reductions of split, cluster, loop, warp and lane, got " << levelName(level);
    if (i > 0 && mergeReductions[i - 1] >= level) // schedule_c7
      return emitError() << "expected merge_reductions from the outermost level to the innermost, each once, got "
                         << levelName(level) << " behind " << levelName(mergeReductions[i - 1]);
  }
  if (alignedDim == -1)
    return success();
  bool hasVector = false;
  if (alignedDim >= 0 && alignedDim < int64_t(spread.size())) {
    ArrayRef<int64_t> factors = cast<DenseI64ArrayAttr>(spread[alignedDim]).asArrayRef();
    hasVector = factors.size() >= 2 && factors[factors.size() - 2] == int64_t(Level::Vector);
  }
  if (!hasVector) // schedule_c6
    return emitError() << "expected aligned_dim to be a dim with a vector factor, got " << alignedDim;
  return success();
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

/// Checks that no quotient or remainder in the map is by a constant that is not positive.
static LogicalResult verifyDivisors(Operation *op, AffineMap map) {
  if (std::optional<int64_t> divisor = nonPositiveDivisor(map))
    return op->emitOpError() << "expected a positive divisor, got " << *divisor;
  return success();
}

/// Checks that extents are over sizes alone, and that each size is an axis of one of `buffers`.
static LogicalResult verifySpace(Operation *op, AffineMap extents, ArrayRef<int64_t> sizes,
                                 ArrayRef<BlockArgument> buffers, ArrayRef<BlockArgument> dims) {
  if (extents.getNumDims() != 0 || sizes.size() != 2 * extents.getNumSymbols())
    return op->emitOpError() << "expected extents over " << sizes.size() / 2 << " sizes and no dims, got "
                             << AffineMapAttr::get(extents);
  for (size_t i = 0; i < sizes.size(); i += 2) {
    if (sizes[i] < 0 || static_cast<size_t>(sizes[i]) >= buffers.size())
      return op->emitOpError() << "expected a size of one of " << buffers.size() << " buffers, got buffer " << sizes[i];
    auto type = cast<ShapedType>(buffers[sizes[i]].getType());
    if (sizes[i + 1] < 0 || sizes[i + 1] >= type.getRank())
      return op->emitOpError() << "expected an axis of " << type << ", got " << sizes[i + 1];
  }
  for (auto [i, extent] : llvm::enumerate(extents.getResults()))
    if (auto constant = dyn_cast<AffineConstantExpr>(extent); constant && constant.getValue() < 0)
      return op->emitOpError() << "expected extents that are not negative, got " << constant.getValue() << " for "
                               << dimName(dims[i]);
  return success();
}

/// Checks that guards come in pairs, over the dims and sizes of a space.
static LogicalResult verifyGuards(Operation *op, std::optional<AffineMap> guards, size_t numDims, size_t numSizes) {
  if (guards && (guards->getNumResults() % 2 != 0 || guards->getNumDims() != numDims ||
                 guards->getNumSymbols() != numSizes))
    return op->emitOpError() << "expected pairs of guards over " << numDims << " dims and " << numSizes
                             << " sizes, got " << AffineMapAttr::get(*guards);
  return success();
}

/// The coordinates of an access as a map over the arguments of its block.
static AffineMap coordinates(AffineMap access, ValueRange indices) {
  SmallVector<AffineExpr> dims;
  for (Value index : indices) {
    auto argument = dyn_cast<BlockArgument>(index);
    dims.push_back(getAffineDimExpr(argument ? argument.getArgNumber() : 0, access.getContext()));
  }
  return access.replaceDimsAndSymbols(dims, {}, dims.empty() ? 0 : indices[0].getParentBlock()->getNumArguments(), 0);
}

/// Checks that every element of memory that two buffers share is accessed at one point of the space.
static LogicalResult verifyAlias(KernelOp kernel, Value output, Value input) {
  if (output == input || output.getType() != input.getType()) // kernel_c7
    return kernel.emitOpError() << "expected two buffers of one type to be the same memory, got " << output.getType()
                                << " and " << input.getType();
  Operation *first = nullptr;
  AffineMap map;
  for (Value buffer : {output, input})
    for (Operation *user : buffer.getUsers()) {
      AffineMap other;
      if (auto read = dyn_cast<ReadOp>(user))
        other = coordinates(read.getAccess(), read.getIndices());
      else if (auto write = dyn_cast<WriteOp>(user))
        other = coordinates(write.getAccess(), write.getIndices());
      else
        continue;
      if (!first) {
        first = user;
        map = other;
      } else if (map != other) { // kernel_c7
        InFlightDiagnostic error =
            kernel.emitOpError("expected accesses at the same coordinates to buffers that may be the same memory");
        error.attachNote(first->getLoc()) << "one is here";
        error.attachNote(user->getLoc()) << "another is here";
        return error;
      }
    }
  return success();
}

/// The points of a tile that a layout can number: an extent has at most 30 bits (layout/).
static constexpr int64_t LARGEST_TILE = int64_t(1) << 30;

/// The largest alignment, in bytes, that PTX can declare for a parameter: its `.align` is a 32-bit number.
static constexpr int64_t LARGEST_ALIGNMENT = int64_t(1) << 31;

LogicalResult ComputeOp::verify() {
  Block &block = getBody().front();
  size_t numDims = getExtents().getNumResults();
  auto inputs = getOperandTypes();
  auto isTensor = [](Type type) { return isa<ShapedType>(type); };
  SmallVector<Type> expected = llvm::filter_to_vector(inputs, isTensor);
  llvm::append_range(expected, getResultTypes());
  llvm::append_range(expected, llvm::make_filter_range(inputs, std::not_fn(isTensor)));
  expected.append(numDims, IndexType::get(getContext()));
  if (block.getArgumentTypes() != TypeRange(expected)) // compute_c1
    return emitOpError() << "expected block arguments for " << getNumOperands() << " inputs, " << getNumResults()
                         << " results and " << numDims << " dims, got " << block.getArgumentTypes();
  if (failed(verifySpace(*this, getExtents(), getSizes(), block.getArguments().take_front(getNumBuffers()),
                         block.getArguments().take_back(numDims)))) // compute_c2
    return failure();
  if (failed(verifyGuards(*this, getGuards(), numDims, getSizes().size() / 2))) // compute_c5
    return failure();
  for (std::optional<AffineMap> map : {std::optional(getExtents()), getGuards()})
    if (map && failed(verifyDivisors(*this, *map))) // compute_c4
      return failure();
  return success();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  size_t numDims = getExtents().getNumResults();
  if (block.getNumArguments() < numDims)
    return emitOpError() << "expected a block argument for each of " << numDims << " dims, got "
                         << block.getNumArguments();
  size_t numBuffers = getNumBuffers();
  auto buffers = block.getArguments().take_front(numBuffers), dims = block.getArguments().take_back(numDims);
  for (BlockArgument scalar : block.getArguments().drop_front(numBuffers).drop_back(numDims))
    if (!scalar.getType().isIntOrIndexOrFloat()) // kernel_c1
      return emitOpError() << "expected buffers to be memrefs and scalars after them, got " << scalar.getType();
  for (BlockArgument dim : dims)
    if (!dim.getType().isIndex()) // kernel_c1
      return emitOpError() << "expected dims to be of type index, got " << dim.getType();
  if (failed(verifySpace(*this, getExtents(), getSizes(), buffers, dims))) // kernel_c2
    return failure();
  if (std::optional<ArrayRef<int32_t>> roles = getRoles()) {
    if (roles->size() != numDims) // kernel_c3
      return emitOpError() << "expected a role for each of " << numDims << " dims, got " << roles->size();
    for (auto [i, role] : llvm::enumerate(*roles)) {
      if (!symbolizeDimRole(role)) // kernel_c3
        return emitOpError() << "expected roles between 0 and 4, got " << role;
      auto extent = dyn_cast<AffineConstantExpr>(getExtents().getResult(i));
      auto kind = static_cast<DimRole>(role);
      bool isOfTile = kind == DimRole::Thread || kind == DimRole::Register;
      if (isOfTile && extent && extent.getValue() > LARGEST_TILE) // kernel_c8
        return emitOpError() << "expected at most 2^30 points that a CTA holds at once, got " << extent.getValue()
                             << " for " << dimName(dims[i]);
    }
  }
  if (failed(verifyGuards(*this, getGuards(), numDims, getSizes().size() / 2))) // kernel_c4
    return failure();
  if (std::optional<ArrayRef<int64_t>> alignments = getAlignments()) {
    if (alignments->size() != numBuffers) // kernel_c5
      return emitOpError() << "expected an alignment for each of " << numBuffers << " buffers, got "
                           << alignments->size();
    for (int64_t alignment : *alignments)
      if (alignment < 1 || !llvm::isPowerOf2_64(alignment) || alignment > LARGEST_ALIGNMENT) // kernel_c5
        return emitOpError() << "expected alignments to be powers of two up to 2^31, got " << alignment;
  }
  ArrayRef<int64_t> multiples = getMultiples().value_or(ArrayRef<int64_t>());
  if (multiples.size() % 3 != 0) // kernel_c6
    return emitOpError() << "expected multiples as triples of buffer, axis and multiple, got " << multiples.size()
                         << " numbers";
  for (size_t i = 0; i < multiples.size(); i += 3) {
    int64_t buffer = multiples[i], axis = multiples[i + 1];
    if (buffer < 0 || static_cast<size_t>(buffer) >= numBuffers) // kernel_c6
      return emitOpError() << "expected a multiple for one of " << numBuffers << " buffers, got buffer " << buffer;
    auto type = cast<MemRefType>(buffers[buffer].getType());
    if (axis < 0 || axis >= type.getRank() || !type.isDynamicDim(axis)) // kernel_c6
      return emitOpError() << "expected a multiple for a dynamic axis of " << type << ", got axis " << axis;
    if (multiples[i + 2] < 1) // kernel_c6
      return emitOpError() << "expected a positive multiple, got " << multiples[i + 2];
  }
  if (ArrayAttr alternatives = getAlternativesAttr()) {
    if (getRoles()) // kernel_c10
      return emitOpError() << "expected no alternatives in a tiled kernel";
    if (!llvm::all_of(alternatives, llvm::IsaPred<ScheduleAttr>)) // kernel_c10
      return emitOpError() << "expected alternatives to be schedules, got " << alternatives;
  }
  size_t numAlternatives = getAlternatives() ? getAlternatives()->size() : 0;
  size_t numConditions = getConditions() ? getConditions()->getNumResults() : 0;
  bool isOverSizes = !getConditions() || (getConditions()->getNumDims() == 0 &&
                                          getConditions()->getNumSymbols() == getSizes().size() / 2);
  if (numConditions != 2 * numAlternatives || !isOverSizes) // kernel_c10
    return emitOpError() << "expected a pair of conditions over " << getSizes().size() / 2 << " sizes for each of "
                         << numAlternatives << " alternatives, got " << getConditionsAttr();
  if (std::optional<AffineMap> conditions = getConditions()) {
    bool dividesBySize = false;
    conditions->walkExprs([&](AffineExpr expression) {
      AffineExprKind kind = expression.getKind();
      bool divides = kind == AffineExprKind::FloorDiv || kind == AffineExprKind::CeilDiv || kind == AffineExprKind::Mod;
      dividesBySize |= divides && !isa<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expression).getRHS());
    });
    if (dividesBySize) // kernel_c10
      return emitOpError() << "unsupported: a condition that divides by a size; supported: quotients and remainders by "
                              "constants";
  }
  for (std::optional<AffineMap> map : {std::optional(getExtents()), getGuards(), getConditions()})
    if (map && failed(verifyDivisors(*this, *map))) // kernel_c11
      return failure();
  ArrayRef<int64_t> bounds = getBounds().value_or(ArrayRef<int64_t>());
  if (bounds.size() % 4 != 0) // kernel_c9
    return emitOpError() << "expected bounds as quadruples of buffer, axis, least and most, got " << bounds.size()
                         << " numbers";
  DenseSet<std::pair<int64_t, int64_t>> bounded;
  for (size_t i = 0; i < bounds.size(); i += 4) {
    int64_t buffer = bounds[i], axis = bounds[i + 1], least = bounds[i + 2], most = bounds[i + 3];
    if (buffer < 0 || static_cast<size_t>(buffer) >= numBuffers) // kernel_c9
      return emitOpError() << "expected bounds for one of " << numBuffers << " buffers, got buffer " << buffer;
    auto type = cast<MemRefType>(buffers[buffer].getType());
    if (axis < 0 || axis >= type.getRank() || !type.isDynamicDim(axis)) // kernel_c9
      return emitOpError() << "expected bounds for a dynamic axis of " << type << ", got axis " << axis;
    if (least < 0 || least > most) // kernel_c9
      return emitOpError() << "expected bounds with 0 <= least <= most, got " << least << " and " << most;
    if (!bounded.insert({buffer, axis}).second) // kernel_c9
      return emitOpError() << "expected bounds once for each axis, got axis " << axis << " of buffer " << buffer
                           << " twice";
  }
  ArrayRef<int64_t> aliases = getAliases().value_or(ArrayRef<int64_t>());
  if (aliases.size() % 2 != 0) // kernel_c7
    return emitOpError() << "expected aliases as pairs of buffers, got " << aliases.size() << " numbers";
  for (size_t i = 0; i < aliases.size(); i += 2) {
    for (int64_t buffer : aliases.slice(i, 2))
      if (buffer < 0 || static_cast<size_t>(buffer) >= numBuffers) // kernel_c7
        return emitOpError() << "expected an alias among " << numBuffers << " buffers, got buffer " << buffer;
    if (failed(verifyAlias(*this, buffers[aliases[i]], buffers[aliases[i + 1]])))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The number of dims of the space that `op` stands in: the last arguments of its block.
static std::optional<size_t> numDimsAround(Operation *op) {
  if (auto kernel = dyn_cast_or_null<KernelOp>(op->getParentOp()))
    return kernel.getExtents().getNumResults();
  if (auto compute = dyn_cast_or_null<ComputeOp>(op->getParentOp()))
    return compute.getExtents().getNumResults();
  return std::nullopt;
}

/// The position of `value` among the dims of the space around `op`, if it is one.
static std::optional<size_t> dimAround(Operation *op, Value value) {
  std::optional<size_t> numDims = numDimsAround(op);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!numDims || !argument || argument.getOwner() != op->getBlock())
    return std::nullopt;
  size_t numBuffers = op->getBlock()->getNumArguments() - *numDims;
  if (argument.getArgNumber() < numBuffers)
    return std::nullopt;
  return argument.getArgNumber() - numBuffers;
}

/// Checks shared by all accesses. A write is at dims alone, a read also at numbers that the space takes, and a gather or a scatter also at
/// values that the body computes.
static LogicalResult verifyAccess(Operation *op, Value buffer, OperandRange indices, AffineMap access) {
  if (!numDimsAround(op))
    return op->emitOpError() << "expected to stand in a norm.kernel or norm.compute";
  auto type = cast<ShapedType>(buffer.getType());
  if (access.getNumResults() != static_cast<size_t>(type.getRank()) || access.getNumInputs() != indices.size())
    return op->emitOpError() << "expected " << type.getRank() << " coordinates into " << type << ", got "
                             << access.getNumResults();
  if (access.getNumSymbols() != 0)
    return op->emitOpError() << "expected coordinates over dims alone, got a symbol";
  if (failed(verifyDivisors(op, access)))
    return failure();
  for (Value index : indices) {
    auto argument = dyn_cast<BlockArgument>(index);
    // An argument of type index is a number or a dim.
    bool isOfSpace = argument && argument.getOwner() == op->getBlock();
    if (isa<ReadOp>(op) && !isOfSpace)
      return op->emitOpError() << "expected indices to be dims or numbers of the space, got " << index;
    if (isa<WriteOp>(op) && !dimAround(op, index))
      return op->emitOpError() << "expected indices to be dims of the space, got " << index;
  }
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument || argument.getOwner() != op->getBlock())
    return op->emitOpError() << "expected the buffer to be an argument of the kernel, got " << buffer;
  return success();
}

// read_c1, read_c2, read_c3, read_c6
LogicalResult ReadOp::verify() { return verifyAccess(*this, getBuffer(), getIndices(), getAccess()); }

/// Checks that no computed index is under a quotient, a remainder or another product than with a constant.
static LogicalResult verifyComputed(Operation *op, OperandRange indices, AffineMap access) {
  for (auto [position, index] : llvm::enumerate(indices)) {
    if (isa<BlockArgument>(index))
      continue;
    bool isDivided = false;
    access.walkExprs([&, position = position](AffineExpr expression) {
      auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
      bool isSum = expression.getKind() == AffineExprKind::Add ||
                   (expression.getKind() == AffineExprKind::Mul && binary && isa<AffineConstantExpr>(binary.getRHS()));
      isDivided |= binary && !isSum && binary.isFunctionOfDim(position);
    });
    if (isDivided)
      return op->emitOpError() << "expected coordinates that add multiples of computed values, got one that divides or "
                                  "multiplies "
                               << index;
  }
  return success();
}

// gather_c1, gather_c2, gather_c4, gather_c6
LogicalResult GatherOp::verify() {
  return failure(failed(verifyAccess(*this, getBuffer(), getIndices(), getAccess())) ||
                 failed(verifyComputed(*this, getIndices(), getAccess())));
}

// scatter_c1, scatter_c2, scatter_c6
LogicalResult ScatterOp::verify() {
  return failure(failed(verifyAccess(*this, getBuffer(), getIndices(), getAccess())) ||
                 failed(verifyComputed(*this, getIndices(), getAccess())));
}

// write_c1, write_c2, write_c3, write_c9
LogicalResult WriteOp::verify() { return verifyAccess(*this, getBuffer(), getIndices(), getAccess()); }

/// The dims of each guard.
static SmallVector<llvm::SmallBitVector> dimsOfGuards(AffineMap guards) {
  SmallVector<llvm::SmallBitVector> all;
  for (size_t i = 0; i + 1 < guards.getNumResults(); i += 2) {
    llvm::SmallBitVector &dims = all.emplace_back(guards.getNumDims());
    for (unsigned dim = 0; dim < guards.getNumDims(); ++dim)
      if (guards.getResult(i).isFunctionOfDim(dim) || guards.getResult(i + 1).isFunctionOfDim(dim))
        dims.set(dim);
  }
  return all;
}

/// Checks that an op which combines values along the dims `over`, and whose values vary over `varies`, sees for each guard of these
/// dims which of its points there are.
static LogicalResult verifyGuarded(Operation *op, Block &body, size_t firstDim, ArrayRef<llvm::SmallBitVector> guards,
                                   const llvm::SmallBitVector &over, const llvm::SmallBitVector &varies) {
  for (const llvm::SmallBitVector &guard : guards) {
    if (!guard.anyCommon(over))
      continue;
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce || reduce.getNth())
      return op->emitOpError() << "unsupported: " << (reduce ? "nth" : "a scan") << " along a dim with a guard";
    llvm::SmallBitVector left = guard;
    left.reset(over);
    left.reset(varies);
    if (left.any())
      return op->emitOpError() << "expected to range or vary over all dims of the guard, but it leaves out "
                               << dimName(body.getArgument(firstDim + left.find_first()));
  }
  return success();
}

/// Checks that the value of each write in `body` varies only over dims that its access uses, and that what is combined along a dim
/// of `guards` depends on all dims of the guard. Values are visited in the order of the block, so that a value in its own
/// definition, which is refused later, does not lead to endless recursion.
static LogicalResult verifyValues(Block &body, size_t numDims, ArrayRef<llvm::SmallBitVector> guards) {
  DenseMap<Value, llvm::SmallBitVector> dimsOf;
  size_t firstDim = body.getNumArguments() - numDims;
  for (BlockArgument dim : body.getArguments().drop_front(firstDim))
    dimsOf.try_emplace(dim, numDims).first->second.set(dim.getArgNumber() - firstDim);
  for (Operation &op : body) {
    llvm::SmallBitVector dims(numDims);
    auto reduce = dyn_cast<ReduceOp>(op);
    for (Value operand : reduce ? ValueRange(reduce.getValues()) : ValueRange(op.getOperands()))
      if (auto known = dimsOf.find(operand); known != dimsOf.end())
        dims |= known->second;
    auto scan = dyn_cast<ScanOp>(op);
    if (reduce || scan) {
      llvm::SmallBitVector over(numDims);
      for (Value dim : reduce ? ValueRange(reduce.getDims()) : ValueRange(scan.getDims()))
        over.set(cast<BlockArgument>(dim).getArgNumber() - firstDim);
      if (failed(verifyGuarded(&op, body, firstDim, guards, over, dims))) // compute_c6, kernel_c12
        return failure();
      if (reduce)
        dims.reset(over);
    }
    if (reduce && reduce.getNth()) {
      auto nth = cast<BlockArgument>(reduce.getNth());
      if (dims.test(nth.getArgNumber() - firstDim)) // reduce_c6
        return reduce.emitOpError() << "expected nth to be a dim that the value does not vary over, got " << dimName(nth);
      dims.set(nth.getArgNumber() - firstDim);
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      auto known = dimsOf.find(write.getValue());
      llvm::SmallBitVector varies = known == dimsOf.end() ? llvm::SmallBitVector(numDims) : known->second;
      for (auto [i, index] : llvm::enumerate(write.getIndices()))
        if (write.getAccess().isFunctionOfDim(i))
          varies.reset(cast<BlockArgument>(index).getArgNumber() - firstDim);
      if (varies.any()) { // write_c4
        BlockArgument dim = body.getArgument(firstDim + varies.find_first());
        return write.emitOpError() << "expected the access to use every dim that the value varies over, but it leaves "
                                      "out "
                                   << dimName(dim);
      }
    }
    if (auto scatter = dyn_cast<ScatterOp>(op)) {
      llvm::SmallBitVector varies(numDims);
      for (Value value : {Value(scatter.getValue()), Value(scatter.getCondition())})
        if (auto known = dimsOf.find(value); value && known != dimsOf.end())
          varies |= known->second;
      for (Value index : scatter.getIndices())
        if (auto known = dimsOf.find(index); known != dimsOf.end())
          varies.reset(known->second);
      if (varies.any()) { // scatter_c4
        BlockArgument dim = body.getArgument(firstDim + varies.find_first());
        return scatter.emitOpError() << "expected coordinates over every dim that the value varies over, but they leave out "
                                     << dimName(dim);
      }
    }
    for (Value result : op.getResults())
      dimsOf.try_emplace(result, dims);
  }
  return success();
}

LogicalResult ComputeOp::verifyRegions() {
  size_t numDims = getExtents().getNumResults();
  SmallVector<llvm::SmallBitVector> guards;
  if (std::optional<AffineMap> map = getGuards())
    guards = dimsOfGuards(*map);
  return failure(failed(verifyValues(getBody().front(), numDims, guards)) || failed(conditionsOf(*this)));
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  size_t numDims = getExtents().getNumResults();
  // Guards keep what a split or a tile adds within the space that was checked before it.
  bool isApplied = getRoles() || (*this)->hasAttr(PART);
  SmallVector<llvm::SmallBitVector> guards;
  if (std::optional<AffineMap> map = getGuards(); map && !isApplied)
    guards = dimsOfGuards(*map);
  if (failed(verifyValues(block, numDims, guards)))
    return failure();
  if (isApplied)
    return success();
  return failure(failed(conditionsOf(*this)));
}

//===----------------------------------------------------------------------===//
// norm.reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  Region &combiner = getCombiner();
  if (getKind().has_value() == !combiner.empty()) // reduce_c1
    return emitOpError() << "expected a named combiner or a region, got " << (getKind() ? "both" : "neither");
  if (std::optional<ReduceKind> kind = getKind()) {
    if (getValues().size() != 1) // reduce_c2
      return emitOpError() << "expected one value for " << stringifyReduceKind(*kind) << ", got "
                           << getValues().size();
    bool logical = *kind == ReduceKind::And || *kind == ReduceKind::Or;
    if (logical && !getValues()[0].getType().isInteger()) // reduce_c2
      return emitOpError() << "expected an integer for " << stringifyReduceKind(*kind) << ", got "
                           << getValues()[0].getType();
  } else {
    Block &block = combiner.front();
    SmallVector<Type> expected(getValues().getTypes());
    llvm::append_range(expected, getValues().getTypes());
    if (block.getArgumentTypes() != TypeRange(expected)) // reduce_c3
      return emitOpError() << "expected a combiner of " << expected.size() << " arguments of the values' types, got "
                           << block.getArgumentTypes();
    auto yield = dyn_cast<YieldOp>(block.getTerminator());
    if (!yield || yield.getValues().getTypes() != getValues().getTypes()) // reduce_c3
      return emitOpError() << "expected the combiner to yield " << getValues().getTypes();
    ArrayAttr identity = getIdentityAttr();
    if (!identity || identity.size() != getValues().size()) // reduce_c4
      return emitOpError() << "expected an identity for each of " << getValues().size() << " values";
    for (auto [attribute, type] : llvm::zip(identity, getValues().getTypes())) {
      auto typed = dyn_cast<TypedAttr>(attribute);
      if (!typed || typed.getType() != type) // reduce_c4
        return emitOpError() << "expected an identity of type " << type << ", got " << attribute;
    }
  }
  llvm::SmallDenseSet<Value> seen;
  if (getDims().empty()) // reduce_c5
    return emitOpError() << "expected at least one dim";
  for (auto [position, dim] : llvm::enumerate(getDims())) { // reduce_c5
    if (!dimAround(*this, dim))
      return emitOpError() << "expected dims of the space, got another value at position " << position;
    if (!seen.insert(dim).second)
      return emitOpError() << "expected each dim once, got one again at position " << position;
  }
  if (Value nth = getNth()) {
    // reduce_c6
    bool isOrdered = getKind() == ReduceKind::Max || getKind() == ReduceKind::Min;
    auto type = dyn_cast<IntegerType>(getValues().front().getType());
    if (!isOrdered || !type || type.getWidth() < 8)
      return emitOpError() << "expected nth with max or min of an integer of 8 bits or more, got "
                           << (getKind() ? stringifyReduceKind(*getKind()) : "a region") << " of "
                           << getValues().front().getType();
    if (!dimAround(*this, nth) || seen.contains(nth))
      return emitOpError() << "expected nth to be a dim of the space that the reduction is not over, got " << nth;
  }
  return success();
}

LogicalResult ExtentOp::verify() {
  // extent_c1
  return emitOpError() << "expected to be in the text of a norm.compute or norm.kernel, which replaces it";
}

//===----------------------------------------------------------------------===//
// norm.scan
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  ReduceKind kind = getKind();
  bool logical = kind == ReduceKind::And || kind == ReduceKind::Or;
  if (logical && !getValue().getType().isInteger()) // scan_c1
    return emitOpError() << "expected an integer for " << stringifyReduceKind(kind) << ", got " << getValue().getType();
  if (getDims().empty()) // scan_c2
    return emitOpError() << "expected at least one dim";
  std::optional<size_t> before;
  for (Value dim : getDims()) {
    std::optional<size_t> position = dimAround(*this, dim);
    if (!position || (before && *position <= *before)) // scan_c2
      return emitOpError() << "expected dims of the space in its order, each once, got " << dim;
    before = position;
  }
  return success();
}
