//===- NormVerifiers.cpp - constraints of the norm dialect ------------------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormDialect.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// #norm.schedule
//===----------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rowsPerCta,
                                   int64_t threadsPerRow, int64_t vector, int64_t chunk, ReductionStrategy,
                                   int64_t cluster, CachePlace, CopyMechanism, int64_t stages, GridKind,
                                   int64_t producerWarps, bool, int64_t rowsPerThread, Eviction, bool,
                                   int64_t minCtasPerSm) {
  std::pair<StringRef, int64_t> powers[] = {{"rows_per_cta", rowsPerCta},
                                            {"threads_per_row", threadsPerRow},
                                            {"vector", vector},
                                            {"chunk", chunk},
                                            {"cluster", cluster}};
  for (auto [name, value] : powers)
    if (value < 1 || !llvm::isPowerOf2_64(value)) // schedule_c1
      return emitError() << "expected " << name << " to be a power of two, got " << value;
  if (rowsPerThread < 1 || !llvm::isPowerOf2_64(rowsPerThread) || rowsPerThread > rowsPerCta) // schedule_c4
    return emitError() << "expected rows_per_thread to be a power of two up to rows_per_cta, got " << rowsPerThread;
  int64_t rowsAtATime = rowsPerCta / rowsPerThread;
  if (threadsPerRow > 1024 || rowsAtATime > 1024 || rowsAtATime * threadsPerRow > 1024) // schedule_c2
    return emitError() << "expected at most 1024 threads in a CTA, got " << rowsAtATime << " rows of " << threadsPerRow;
  if (cluster > 16) // schedule_c2
    return emitError() << "expected a cluster of at most 16 CTAs, got " << cluster;
  if (stages < 1 || producerWarps < 0 || minCtasPerSm < 0) // schedule_c3
    return emitError() << "expected at least one stage and no negative number of producer warps or CTAs, got " << stages
                       << ", " << producerWarps << " and " << minCtasPerSm;
  return success();
}

//===----------------------------------------------------------------------===//
// norm.rms_norm
//===----------------------------------------------------------------------===//

LogicalResult RMSNormOp::verify() {
  RankedTensorType x = getX().getType();
  int64_t axes = getAxes();
  if (axes < 1 || axes > x.getRank()) // rms_norm_c1
    return emitOpError() << "expected axes between 1 and the rank " << x.getRank() << " of x, got " << axes;
  ArrayRef<int64_t> kept = x.getShape().drop_back(axes), normalized = x.getShape().take_back(axes);
  for (int64_t size : normalized) { // rms_norm_c2
    if (ShapedType::isDynamic(size))
      return emitOpError() << "expected static normalized axes, got " << x;
    if (size == 0)
      return emitOpError() << "expected normalized axes that hold at least one element, got " << x;
  }
  for (auto [name, operand] : {std::pair<StringRef, Value>{"weight", getWeight()}, {"bias", getBias()}}) {
    if (!operand)
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getShape() != normalized) // rms_norm_c3
      return emitOpError() << "expected " << name << " to have the shape of the normalized axes of " << x << ", got "
                           << type;
  }
  if (getY().getType().getShape() != x.getShape()) // rms_norm_c4
    return emitOpError() << "expected y to have the shape of " << x << ", got " << getY().getType();
  if (Value rstd = getRstd()) {
    auto type = cast<RankedTensorType>(rstd.getType());
    if (!type.getElementType().isF32() || type.getShape() != kept) // rms_norm_c5
      return emitOpError() << "expected rstd to be f32 with the shape of the leading axes of " << x << ", got " << type;
  }
  if (!getWeight() && !getWeightOffset().isZero()) // rms_norm_c6
    return emitOpError() << "expected weight_offset to be 0 without a weight, got " << getWeightOffset().convertToFloat();
  if (!getEps().isFinite() || getEps().isNegative()) // rms_norm_c7
    return emitOpError() << "expected eps to be finite and not negative, got " << getEps().convertToFloat();
  return success();
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

/// Checks that extents are over sizes alone, and that each size is an axis of one of `buffers`.
static LogicalResult verifySpace(Operation *op, AffineMap extents, ArrayRef<int64_t> sizes, ValueRange buffers) {
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
      return op->emitOpError() << "expected extents that are not negative, got " << constant.getValue() << " for dim "
                               << i;
  return success();
}

LogicalResult ComputeOp::verify() {
  Block &block = getBody().front();
  size_t numBuffers = getNumOperands() + getNumResults(), numDims = getExtents().getNumResults();
  SmallVector<Type> expected(getOperandTypes());
  llvm::append_range(expected, getResultTypes());
  expected.append(numDims, IndexType::get(getContext()));
  if (block.getArgumentTypes() != TypeRange(expected)) // compute_c1
    return emitOpError() << "expected block arguments for " << getNumOperands() << " inputs, " << getNumResults()
                         << " results and " << numDims << " dims, got " << block.getArgumentTypes();
  // compute_c2
  return verifySpace(*this, getExtents(), getSizes(), block.getArguments().take_front(numBuffers));
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  size_t numDims = getExtents().getNumResults();
  if (block.getNumArguments() < numDims)
    return emitOpError() << "expected a block argument for each of " << numDims << " dims, got "
                         << block.getNumArguments();
  size_t numBuffers = block.getNumArguments() - numDims;
  auto buffers = block.getArguments().take_front(numBuffers), dims = block.getArguments().drop_front(numBuffers);
  for (BlockArgument buffer : buffers)
    if (!isa<MemRefType>(buffer.getType())) // kernel_c1
      return emitOpError() << "expected buffers to be memrefs, got " << buffer.getType();
  for (BlockArgument dim : dims)
    if (!dim.getType().isIndex()) // kernel_c1
      return emitOpError() << "expected dims to be of type index, got " << dim.getType();
  if (failed(verifySpace(*this, getExtents(), getSizes(), buffers))) // kernel_c2
    return failure();
  if (std::optional<ArrayRef<int32_t>> roles = getRoles()) {
    if (roles->size() != numDims) // kernel_c3
      return emitOpError() << "expected a role for each of " << numDims << " dims, got " << roles->size();
    for (int32_t role : *roles)
      if (!symbolizeDimRole(role)) // kernel_c3
        return emitOpError() << "expected roles between 0 and 3, got " << role;
  }
  if (std::optional<AffineMap> guards = getGuards())
    if (guards->getNumResults() % 2 != 0 || guards->getNumDims() != numDims ||
        guards->getNumSymbols() != getSizes().size() / 2) // kernel_c4
      return emitOpError() << "expected pairs of guards over " << numDims << " dims and " << getSizes().size() / 2
                           << " sizes, got " << getGuardsAttr();
  if (std::optional<ArrayRef<int64_t>> alignments = getAlignments()) {
    if (alignments->size() != numBuffers) // kernel_c5
      return emitOpError() << "expected an alignment for each of " << numBuffers << " buffers, got "
                           << alignments->size();
    for (int64_t alignment : *alignments)
      if (alignment < 1 || !llvm::isPowerOf2_64(alignment)) // kernel_c5
        return emitOpError() << "expected alignments to be powers of two, got " << alignment;
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

/// Checks shared by read and write; `mnemonic` names the constraint in comments of the callers.
static LogicalResult verifyAccess(Operation *op, Value buffer, OperandRange indices, AffineMap access) {
  if (!numDimsAround(op))
    return op->emitOpError() << "expected to stand in a norm.kernel or norm.compute";
  auto type = cast<ShapedType>(buffer.getType());
  if (access.getNumResults() != static_cast<size_t>(type.getRank()) || access.getNumInputs() != indices.size())
    return op->emitOpError() << "expected " << type.getRank() << " coordinates into " << type << ", got "
                             << access.getNumResults();
  for (Value index : indices)
    if (!dimAround(op, index))
      return op->emitOpError() << "expected indices to be dims of the space, got " << index;
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument || argument.getOwner() != op->getBlock())
    return op->emitOpError() << "expected the buffer to be an argument of the kernel, got " << buffer;
  return success();
}

/// The dims that `value` varies over, as positions in the space of the block it stands in.
static llvm::SmallBitVector dimsOf(Value value, size_t numDims, DenseMap<Value, llvm::SmallBitVector> &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  llvm::SmallBitVector dims(numDims);
  Operation *op = value.getDefiningOp();
  if (!op) {
    size_t numBuffers = value.getParentBlock()->getNumArguments() - numDims;
    size_t number = cast<BlockArgument>(value).getArgNumber();
    if (number >= numBuffers)
      dims.set(number - numBuffers);
  } else {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == op->getBlock() && !isa<ShapedType>(operand.getType()))
        dims |= dimsOf(operand, numDims, known);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      for (Value dim : reduce.getDims())
        if (std::optional<size_t> position = dimAround(op, dim))
          dims.reset(*position);
  }
  known[value] = dims;
  return dims;
}

// read_c1, read_c2, read_c3
LogicalResult ReadOp::verify() { return verifyAccess(*this, getBuffer(), getIndices(), getAccess()); }

LogicalResult WriteOp::verify() {
  // write_c1, write_c2, write_c3
  if (failed(verifyAccess(*this, getBuffer(), getIndices(), getAccess())))
    return failure();
  size_t numDims = *numDimsAround(*this);
  DenseMap<Value, llvm::SmallBitVector> known;
  llvm::SmallBitVector varies = dimsOf(getValue(), numDims, known);
  for (auto [i, index] : llvm::enumerate(getIndices()))
    if (getAccess().isFunctionOfDim(i))
      varies.reset(*dimAround(*this, index));
  if (varies.any()) // write_c4
    return emitOpError() << "expected the access to use every dim that the value varies over, but it leaves out dim "
                         << varies.find_first();
  return success();
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
  for (Value dim : getDims())
    if (!dimAround(*this, dim) || !seen.insert(dim).second) // reduce_c5
      return emitOpError() << "expected dims of the space, each once, got " << dim;
  return success();
}
