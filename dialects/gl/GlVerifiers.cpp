//===- GlVerifiers.cpp - constraints of the gl dialect ----------------------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "gl/GlDialect.h"

#include "capi/LayoutCheck.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::gl;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static bool isDistributed(Attribute layout) { return isa<BlockedAttr, SliceAttr, LinearAttr>(layout); }

/// The number of axes of a distributed layout.
static int64_t rankOf(Attribute layout) {
  if (auto blocked = dyn_cast<BlockedAttr>(layout))
    return blocked.getOrder().size();
  if (auto slice = dyn_cast<SliceAttr>(layout))
    return rankOf(slice.getParent()) - 1;
  ArrayAttr lanes = cast<LinearAttr>(layout).getLanes();
  return cast<DenseI64ArrayAttr>(lanes[0]).size();
}

/// The number of warps of a distributed layout.
static int64_t warpsOf(Attribute layout) {
  if (auto blocked = dyn_cast<BlockedAttr>(layout))
    return llvm::product_of(blocked.getWarpsPerCta());
  if (auto slice = dyn_cast<SliceAttr>(layout))
    return warpsOf(slice.getParent());
  return int64_t(1) << cast<LinearAttr>(layout).getWarps().size();
}

/// Checks that every tile among the op results and block arguments of a region is spread over `warps` warps, and in a partition of
/// gl.warp_specialize over the partition's.
static LogicalResult verifyWarps(Region &region, int64_t warps) {
  auto verify = [&](Value value) -> LogicalResult {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile || !tile.getEncoding() || !isDistributed(tile.getEncoding()) || warpsOf(tile.getEncoding()) == warps)
      return success();
    return emitError(value.getLoc()) << "expected a tile over the " << warps << " warps that run this, got one over "
                                     << warpsOf(tile.getEncoding());
  };
  for (Block &block : region) {
    for (BlockArgument argument : block.getArguments())
      if (failed(verify(argument)))
        return failure();
    for (Operation &op : block) {
      for (Value result : op.getResults())
        if (failed(verify(result)))
          return failure();
      auto specialize = dyn_cast<WarpSpecializeOp>(op);
      for (auto [index, nested] : llvm::enumerate(op.getRegions())) {
        bool isPartition = specialize && index < specialize.getWarps().size();
        if (failed(verifyWarps(nested, isPartition ? specialize.getWarps()[index] : warps)))
          return failure();
      }
    }
  }
  return success();
}

LogicalResult GlDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != "gl.num_warps")
    return success();
  auto warps = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!warps || !warps.getType().isSignlessInteger(64) || warps.getInt() < 1 || warps.getInt() > 32)
    return op->emitError() << "expected gl.num_warps to be an i64 from 1 to 32, got " << attribute.getValue();
  for (Region &region : op->getRegions())
    if (failed(verifyWarps(region, warps.getInt())))
      return failure();
  return success();
}

static LogicalResult verifyTileShape(ArrayRef<int64_t> shape, Attribute layout, EmitError emitError) {
  if (static_cast<int64_t>(shape.size()) != rankOf(layout))
    return emitError() << "expected a tile of " << rankOf(layout) << " axes for " << layout << ", got " << shape.size();
  unsigned bits = 0;
  for (int64_t extent : shape) {
    if (extent < 1 || !llvm::isPowerOf2_64(extent))
      return emitError() << "expected a tile whose extents are powers of two, got " << extent;
    bits += llvm::Log2_64(extent);
  }
  if (bits > 30)
    return emitError() << "expected a tile of at most 2^30 elements, got 2^" << bits;
  return checkLayout(layout, shape, emitError); // linear_c3
}

LogicalResult BlockedAttr::verify(EmitError emitError, ArrayRef<int64_t> sizePerThread,
                                  ArrayRef<int64_t> threadsPerWarp, ArrayRef<int64_t> warpsPerCta,
                                  ArrayRef<int64_t> order, ArrayRef<int64_t> ctasPerCluster) {
  size_t rank = order.size();
  bool sameRank = sizePerThread.size() == rank && threadsPerWarp.size() == rank && warpsPerCta.size() == rank &&
                  (ctasPerCluster.empty() || ctasPerCluster.size() == rank);
  if (!sameRank || rank == 0) // blocked_c1
    return emitError() << "expected one entry per axis in every parameter, got " << sizePerThread.size() << ", "
                       << threadsPerWarp.size() << ", " << warpsPerCta.size() << ", " << rank;
  for (ArrayRef<int64_t> extents : {sizePerThread, threadsPerWarp, warpsPerCta, ctasPerCluster})
    for (int64_t extent : extents)
      if (extent < 1 || !llvm::isPowerOf2_64(extent)) // blocked_c1
        return emitError() << "expected powers of two, got " << extent;
  SmallVector<bool> seen(rank);
  for (int64_t axis : order) {
    if (axis < 0 || static_cast<size_t>(axis) >= rank || seen[axis]) // blocked_c1
      return emitError() << "expected order to be a permutation of " << rank << " axes, got axis " << axis;
    seen[axis] = true;
  }
  int64_t lanes = 1;
  for (int64_t extent : threadsPerWarp)
    lanes *= extent;
  if (lanes != 32) // blocked_c2
    return emitError() << "expected 32 threads per warp, got " << lanes;
  return success();
}

LogicalResult BlockedAttr::verifyEncoding(ArrayRef<int64_t> shape, Type, EmitError emitError) const {
  return verifyTileShape(shape, *this, emitError);
}

LogicalResult SliceAttr::verify(EmitError emitError, int64_t axis, Attribute parent) {
  if (!isDistributed(parent)) // slice_c1
    return emitError() << "expected a distributed layout (blocked, slice or linear) as parent, got " << parent;
  if (axis < 0 || axis >= rankOf(parent)) // slice_c1
    return emitError() << "expected an axis of " << parent << ", got " << axis;
  return success();
}

LogicalResult SliceAttr::verifyEncoding(ArrayRef<int64_t> shape, Type, EmitError emitError) const {
  return verifyTileShape(shape, *this, emitError);
}

LogicalResult LinearAttr::verify(EmitError emitError, ArrayAttr registers, ArrayAttr lanes, ArrayAttr warps,
                                 ArrayAttr blocks) {
  if (lanes.size() != 5) // linear_c2
    return emitError() << "expected five lane bases, got " << lanes.size();
  std::optional<int64_t> rank;
  for (ArrayAttr bases : {lanes, registers, warps, blocks})
    for (Attribute basis : bases) {
      auto coordinates = dyn_cast<DenseI64ArrayAttr>(basis);
      if (!coordinates || (rank && coordinates.size() != *rank)) // linear_c1
        return emitError() << "expected bases of one coordinate per axis, got " << basis;
      rank = coordinates.size();
      for (int64_t coordinate : coordinates.asArrayRef())
        if (coordinate < 0) // linear_c1
          return emitError() << "expected coordinates that are not negative, got " << coordinate;
    }
  return success();
}

LogicalResult LinearAttr::verifyEncoding(ArrayRef<int64_t> shape, Type, EmitError emitError) const {
  return verifyTileShape(shape, *this, emitError);
}

LogicalResult SharedLinearAttr::verify(EmitError emitError, ArrayAttr offset) {
  std::optional<int64_t> rank;
  for (Attribute basis : offset) {
    auto coordinates = dyn_cast<DenseI64ArrayAttr>(basis);
    if (!coordinates || (rank && coordinates.size() != *rank)) // shared_linear_c1
      return emitError() << "expected bases of one coordinate per axis, got " << basis;
    rank = coordinates.size();
    for (int64_t coordinate : coordinates.asArrayRef())
      if (coordinate < 0) // shared_linear_c1
        return emitError() << "expected coordinates that are not negative, got " << coordinate;
  }
  return success();
}

LogicalResult MemDescType::verify(EmitError emitError, ArrayRef<int64_t> shape, Type, Attribute layout) {
  if (isa<SharedLinearAttr>(layout)) // shared_linear_c2
    return checkSharedLayout(layout, shape, emitError);
  ArrayRef<int64_t> order;
  if (auto plain = dyn_cast<PlainAttr>(layout))
    order = plain.getOrder();
  else if (auto swizzled = dyn_cast<SwizzledAttr>(layout))
    order = swizzled.getOrder();
  else // memdesc_c1
    return emitError() << "expected a shared-memory layout (plain, swizzled or shared_linear), got " << layout;
  if (order.size() != shape.size()) // memdesc_c1
    return emitError() << "expected a layout of " << shape.size() << " axes, got " << layout;
  bool isRing = shape.size() > 1 && order.back() == 0;
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (extent < 1 || (!llvm::isPowerOf2_64(extent) && !(isRing && axis == 0))) // memdesc_c2
      return emitError() << "expected extents that are powers of two, but for a first axis that is the slowest, got "
                         << extent;
  // The stages of a ring lie one behind the other, so that any number of them has a layout if one has.
  SmallVector<int64_t> ofStage(shape);
  if (isRing && !llvm::isPowerOf2_64(ofStage.front()))
    ofStage.front() = 1;
  return checkSharedLayout(layout, ofStage, emitError); // memdesc_c3
}

//===----------------------------------------------------------------------===//
// Accesses to global memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyAccess(Operation *op, AffineMap access, size_t numIndices, size_t tileRank,
                                  MemRefType buffer) {
  if (access.getNumDims() != numIndices + tileRank || access.getNumSymbols() != 0 ||
      access.getNumResults() != static_cast<size_t>(buffer.getRank()))
    return op->emitOpError() << "expected an access of " << numIndices << " indices and " << tileRank << " axes to "
                             << buffer.getRank() << " coordinates, got " << AffineMapAttr::get(access);
  return success();
}

static LogicalResult verifyGuards(Operation *op, std::optional<AffineMap> guards, size_t numDims, size_t numLimits) {
  if (!guards ? numLimits != 0
              : guards->getNumResults() % 2 != 0 || guards->getNumDims() != numDims ||
                    guards->getNumSymbols() != numLimits) {
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << "expected pairs of guards over " << numDims << " dims and " << numLimits
                                    << " limits, got ";
    if (guards)
      return diagnostic << AffineMapAttr::get(*guards);
    return diagnostic << "none";
  }
  return success();
}

static LogicalResult verifyElement(Operation *op, Type found, MemRefType buffer) {
  if (found != buffer.getElementType())
    return op->emitOpError() << "expected elements of " << buffer << ", got " << found;
  return success();
}

/// The bytes of an element in memory, where an index has 8.
static int64_t bytesOf(Type element) {
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
}

static LogicalResult verifyVector(Operation *op, std::optional<int64_t> vector, RankedTensorType tile) {
  if (!vector)
    return success();
  if (*vector < 1 || !llvm::isPowerOf2_64(*vector))
    return op->emitOpError() << "expected vector to be a power of two, got " << *vector;
  if (!tile.getEncoding() || !isDistributed(tile.getEncoding()))
    return success();
  int64_t run = contiguousRun(tile.getEncoding(), tile.getShape());
  if (*vector > run)
    return op->emitOpError() << "expected a vector of at most " << run << " elements, the layout's contiguous run, got "
                             << *vector;
  return success();
}

static LogicalResult verifyAlignment(Operation *op, std::optional<int64_t> alignment, int64_t vector,
                                     MemRefType buffer) {
  if (!alignment)
    return success();
  int64_t bytes = bytesOf(buffer.getElementType());
  if (*alignment < bytes || !llvm::isPowerOf2_64(*alignment) || *alignment > vector * bytes || vector * bytes < 4)
    return op->emitOpError() << "expected alignment to be a power of two from " << bytes << " to "
                             << std::max<int64_t>(vector * bytes, 4) << ", got " << *alignment;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(buffer.getStridesAndOffset(strides, offset)) || offset != 0 || ShapedType::isDynamicShape(strides) ||
      (buffer.getRank() > 0 && ShapedType::isDynamicShape(buffer.getShape().drop_front())))
    return op->emitOpError() << "expected a buffer of static strides, without offset, and of static sizes but for its "
                             << "outermost axis, got " << buffer;
  return success();
}

LogicalResult LoadOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto buffer = cast<MemRefType>(getBuffer().getType());
  if (failed(verifyAccess(*this, getAccess(), getIndices().size(), tile.getRank(), buffer)) || // load_c1
      failed(verifyElement(*this, tile.getElementType(), buffer)) ||                            // load_c2
      failed(verifyGuards(*this, getGuards(), getAccess().getNumDims(), getLimits().size())) || // load_c3
      failed(verifyVector(*this, getVector(), tile)) ||                                         // load_c5
      failed(verifyAlignment(*this, getAlignment(), getVector().value_or(1), buffer)))          // load_c6
    return failure();
  if (Value other = getOther(); other && other.getType() != buffer.getElementType()) // load_c4
    return emitOpError() << "expected other to be of type " << buffer.getElementType() << ", got " << other.getType();
  return success();
}

/// Checks that places and a mask have an element for each of a tile's.
static LogicalResult verifyPlaces(Operation *op, ValueRange places, Value mask, RankedTensorType tile) {
  Builder builder(op->getContext());
  Type ofPlaces = tile.clone(builder.getIndexType()), ofMask = tile.clone(builder.getI1Type());
  for (Value place : places)
    if (place.getType() != ofPlaces)
      return op->emitOpError() << "expected places of type " << ofPlaces << ", got " << place.getType();
  if (mask && mask.getType() != ofMask)
    return op->emitOpError() << "expected a mask of type " << ofMask << ", got " << mask.getType();
  return success();
}

/// Checks that guards do not depend on the places, which are the dims of `guards` from `first` on.
static LogicalResult verifyGuardsWithout(Operation *op, std::optional<AffineMap> guards, size_t first, size_t places) {
  for (size_t place = first; guards && place < first + places; ++place)
    if (guards->isFunctionOfDim(place))
      return op->emitOpError() << "expected guards over indices and axes, got one over place " << place - first;
  return success();
}

/// The checks of a tile at computed places.
template <typename OpT>
static LogicalResult verifyAtPlaces(OpT op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  auto buffer = cast<MemRefType>(op.getBuffer().getType());
  AffineMap access = op.getAccess();
  size_t indices = op.getIndices().size(), places = op.getPlaces().size();
  return failure(failed(verifyAccess(op, access, indices + places, tile.getRank(), buffer)) ||              // gather_c1, scatter_c1
                 failed(verifyPlaces(op, op.getPlaces(), op.getMask(), tile)) ||                            // gather_c2, scatter_c2
                 failed(verifyElement(op, tile.getElementType(), buffer)) ||                                // gather_c3, scatter_c3
                 failed(verifyGuards(op, op.getGuards(), access.getNumDims(), op.getLimits().size())) ||    // gather_c4, scatter_c4
                 failed(verifyGuardsWithout(op, op.getGuards(), indices, places)) ||                        // gather_c4, scatter_c4
                 failed(verifyVector(op, op.getVector(), tile)));                                           // gather_c5, scatter_c5
}

LogicalResult GatherOp::verify() { return verifyAtPlaces(*this); }

LogicalResult ScatterOp::verify() { return verifyAtPlaces(*this); }

LogicalResult StoreOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto buffer = cast<MemRefType>(getBuffer().getType());
  return failure(failed(verifyAccess(*this, getAccess(), getIndices().size(), tile.getRank(), buffer)) || // store_c1
                 failed(verifyElement(*this, tile.getElementType(), buffer)) ||                            // store_c2
                 failed(verifyGuards(*this, getGuards(), getAccess().getNumDims(), getLimits().size())) || // store_c3
                 failed(verifyVector(*this, getVector(), tile)));                                          // store_c4
}

LogicalResult AsyncCopyOp::verify() {
  MemDescType memory = getMemory().getType();
  auto buffer = cast<MemRefType>(getBuffer().getType());
  size_t rank = memory.getShape().size();
  if (failed(verifyAccess(*this, getAccess(), getIndices().size(), rank, buffer)) ||           // async_copy_c1
      failed(verifyElement(*this, memory.getElementType(), buffer)) ||                          // async_copy_c2
      failed(verifyGuards(*this, getGuards(), getAccess().getNumDims(), getLimits().size()))) // async_copy_c3
    return failure();
  int64_t vector = getVector().value_or(1);
  int64_t bytes = vector * bytesOf(memory.getElementType());
  if (vector != 1 && bytes != 4 && bytes != 8 && bytes != 16) // async_copy_c4
    return emitOpError() << "expected vector to be one element, or 4, 8 or 16 bytes, got " << vector << " x "
                         << memory.getElementType();
  return success();
}

LogicalResult CopyToSharedOp::verify() {
  MemDescType memory = getMemory().getType();
  auto buffer = cast<MemRefType>(getBuffer().getType());
  size_t rank = memory.getShape().size();
  return failure(
      failed(verifyAccess(*this, getAccess(), getIndices().size(), rank, buffer)) ||           // copy_to_shared_c1
      failed(verifyElement(*this, memory.getElementType(), buffer)) ||                          // copy_to_shared_c2
      failed(verifyGuards(*this, getGuards(), getAccess().getNumDims(), getLimits().size()))); // copy_to_shared_c3
}

LogicalResult CopyFromSharedOp::verify() {
  MemDescType memory = getMemory().getType();
  auto buffer = cast<MemRefType>(getBuffer().getType());
  size_t rank = memory.getShape().size();
  return failure(
      failed(verifyAccess(*this, getAccess(), getIndices().size(), rank, buffer)) ||           // copy_from_shared_c1
      failed(verifyElement(*this, memory.getElementType(), buffer)) ||                          // copy_from_shared_c2
      failed(verifyGuards(*this, getGuards(), getAccess().getNumDims(), getLimits().size()))); // copy_from_shared_c3
}

LogicalResult BulkLoadOp::verify() {
  auto buffer = cast<MemRefType>(getBuffer().getType());
  return failure(failed(verifyAccess(*this, getAccess(), getIndices().size(), 0, buffer)) ||     // bulk_load_c1
                 failed(verifyElement(*this, getMemory().getType().getElementType(), buffer))); // bulk_load_c2
}

LogicalResult TailLoadOp::verify() {
  auto buffer = cast<MemRefType>(getBuffer().getType());
  return failure(failed(verifyAccess(*this, getAccess(), getIndices().size(), 0, buffer)) ||     // tail_load_c1
                 failed(verifyElement(*this, getMemory().getType().getElementType(), buffer))); // tail_load_c2
}

LogicalResult BulkStoreOp::verify() {
  auto buffer = cast<MemRefType>(getBuffer().getType());
  return failure(failed(verifyAccess(*this, getAccess(), getIndices().size(), 0, buffer)) ||     // bulk_store_c1
                 failed(verifyElement(*this, getMemory().getType().getElementType(), buffer))); // bulk_store_c2
}

LogicalResult MemDescReshapeOp::verify() { // memdesc_reshape_c1
  auto isInOrder = [](MemDescType memory, bool mayOverlap) {
    auto plain = dyn_cast<PlainAttr>(memory.getLayout());
    return plain && (plain.getPadding() == 0 || (mayOverlap && plain.getPadding() < 0)) &&
           llvm::is_sorted(llvm::reverse(plain.getOrder()));
  };
  MemDescType memory = getMemory().getType(), result = getResult().getType();
  bool isNumbered = isa<SharedLinearAttr>(memory.getLayout());
  if ((!isNumbered && !isInOrder(memory, false)) || !isInOrder(result, true) || memory.getElementType() != result.getElementType() ||
      llvm::product_of(memory.getShape()) != llvm::product_of(result.getShape()))
    return emitOpError() << "expected plain memories of as many elements, their axes in order, got " << memory << " and "
                         << result;
  return success();
}

LogicalResult TensorMapOp::verify() {
  TensorMapType map = getMap().getType();
  MemRefType buffer = map.getBuffer();
  ArrayRef<int64_t> box = map.getBox();
  // tensor_map_c1
  auto isExtent = [](int64_t extent) { return extent >= 1 && extent <= 256; };
  if (box.size() != static_cast<size_t>(buffer.getRank()) || box.empty() || box.size() > 5 || !llvm::all_of(box, isExtent))
    return emitOpError() << "expected a box of 1 to 5 axes, as many as the buffer has, with extents from 1 to 256, got " << map;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(buffer.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return emitOpError() << "expected a buffer whose last axis has the stride 1, got " << buffer;
  int64_t bytes = box.back() * bytesOf(buffer.getElementType());
  if (bytes % 16 != 0)
    return emitOpError() << "expected rows of the box that are multiples of 16 bytes, got " << bytes;
  int64_t swizzle = map.getSwizzle();
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle) || (swizzle != 0 && bytes != swizzle)) // tensor_map_c2
    return emitOpError() << "expected no swizzle or one over 32, 64 or 128 bytes, as many as rows of the box have, got " << swizzle
                         << " and rows of " << bytes;
  return success();
}

static LogicalResult verifyBox(Operation *op, TensorMapType map, size_t numCoordinates, MemDescType memory) {
  if (numCoordinates != map.getBox().size() || memory.getShape() != map.getBox() ||
      memory.getElementType() != map.getBuffer().getElementType())
    return op->emitOpError() << "expected " << map.getBox().size() << " coordinates and memory for a box of " << map
                             << ", got " << numCoordinates << " and " << memory;
  return success();
}

// tensor_load_c1
LogicalResult TensorLoadOp::verify() {
  return verifyBox(*this, getMap().getType(), getCoordinates().size(), getMemory().getType());
}

// tensor_store_c1
LogicalResult TensorStoreOp::verify() {
  return verifyBox(*this, getMap().getType(), getCoordinates().size(), getMemory().getType());
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

LogicalResult CoordinatesOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (getMap().getNumResults() != 1 || getMap().getNumSymbols() != 0 ||
      getMap().getNumDims() != getIndices().size() + tile.getRank() ||
      !tile.getElementType().isIndex()) // coordinates_c1
    return emitOpError() << "expected one expression over " << getIndices().size() + tile.getRank()
                         << " dims and a tile of index, got " << getMapAttr() << " and " << tile;
  return success();
}

LogicalResult MaskOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (!tile.getElementType().isInteger(1)) // mask_c1
    return emitOpError() << "expected a tile of i1, got " << tile;
  return verifyGuards(*this, getGuards(), getIndices().size() + tile.getRank(), getLimits().size()); // mask_c1
}

/// Whether `sliced` is `full` without `axis`, in shape and layout.
static bool isSliceOf(RankedTensorType sliced, RankedTensorType full, int64_t axis) {
  if (axis < 0 || axis >= full.getRank() || !full.getEncoding() || !sliced.getEncoding())
    return false;
  SmallVector<int64_t> shape(full.getShape());
  shape.erase(shape.begin() + axis);
  return sliced.getShape() == ArrayRef(shape) &&
         isSlice(sliced.getEncoding(), full.getEncoding(), full.getShape(), axis);
}

LogicalResult BroadcastOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), result = cast<RankedTensorType>(getResult().getType());
  if (!isSliceOf(source, result, getAxis()) || source.getElementType() != result.getElementType()) // broadcast_c1
    return emitOpError() << "expected the slice of " << result << " along axis " << getAxis() << ", got " << source;
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), result = cast<RankedTensorType>(getResult().getType());
  if (source.getShape() != result.getShape() ||
      source.getElementType() != result.getElementType()) // convert_layout_c1
    return emitOpError() << "expected the shape and elements of " << source << ", got " << result;
  return success();
}

/// Checks what gl.reduce, gl.warp_reduce and gl.scan share: operands of one shape and layout, and a combiner of their elements.
static LogicalResult verifyReduction(Operation *op, OperandRange tiles, int64_t axis, Region &combiner) {
  if (tiles.empty())
    return op->emitOpError() << "expected at least one tile";
  auto first = cast<RankedTensorType>(tiles[0].getType());
  for (Value tile : tiles) {
    auto type = cast<RankedTensorType>(tile.getType());
    if (type.getShape() != first.getShape() || type.getEncoding() != first.getEncoding())
      return op->emitOpError() << "expected tiles of one shape and layout, got " << first << " and " << type;
  }
  if (axis < 0 || axis >= first.getRank())
    return op->emitOpError() << "expected an axis of " << first << ", got " << axis;
  SmallVector<Type> elements;
  for (int side = 0; side < 2; ++side)
    for (Value tile : tiles)
      elements.push_back(cast<RankedTensorType>(tile.getType()).getElementType());
  Block &block = combiner.front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (block.getArgumentTypes() != TypeRange(elements) || !yield ||
      yield.getValues().getTypes() != TypeRange(elements).take_front(tiles.size())) // reduce_c3, warp_reduce_c3, scan_c2
    return op->emitOpError() << "expected a combiner of two scalars per tile that yields one, got "
                             << block.getArgumentTypes();
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyReduction(*this, getTiles(), getAxis(), getCombiner()))) // reduce_c1
    return failure();
  if (getResults().size() != getTiles().size())
    return emitOpError() << "expected " << getTiles().size() << " results, got " << getResults().size(); // reduce_c2
  for (auto [tile, result] : llvm::zip(getTiles(), getResults())) {
    auto from = cast<RankedTensorType>(tile.getType()), to = cast<RankedTensorType>(result.getType());
    if (!isSliceOf(to, from, getAxis()) || to.getElementType() != from.getElementType()) // reduce_c2
      return emitOpError() << "expected the slice of " << from << " along axis " << getAxis() << ", got " << to;
  }
  return success();
}

LogicalResult WarpReduceOp::verify() {
  if (failed(verifyReduction(*this, getTiles(), getAxis(), getCombiner()))) // warp_reduce_c1
    return failure();
  if (getResults().size() != getTiles().size()) // warp_reduce_c2
    return emitOpError() << "expected " << getTiles().size() << " results, got " << getResults().size();
  for (auto [tile, result] : llvm::zip(getTiles(), getResults())) {
    auto from = cast<RankedTensorType>(tile.getType()), to = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(from.getShape());
    if (to.getRank() == from.getRank())
      shape[getAxis()] = to.getDimSize(getAxis());
    if (to.getShape() != ArrayRef(shape) || to.getElementType() != from.getElementType()) // warp_reduce_c2
      return emitOpError() << "expected the shape of " << from << " but along axis " << getAxis() << ", got " << to;
  }
  return success();
}

LogicalResult ScanOp::verify() {
  OperandRange tiles = getODSOperands(0);
  if (failed(verifyReduction(*this, tiles, getAxis(), getCombiner()))) // scan_c1
    return failure();
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto identity = getIdentityAttr();
  if (identity && identity.getType() != tile.getElementType()) // scan_c2
    return emitOpError() << "expected an identity of type " << tile.getElementType() << ", got " << identity;
  auto total = cast<RankedTensorType>(getTotal().getType());
  if (!isSliceOf(total, tile, getAxis()) || total.getElementType() != tile.getElementType()) // scan_c4
    return emitOpError() << "expected the slice of " << tile << " along axis " << getAxis() << ", got " << total;
  if (!getGathered())
    return success();
  auto gathered = cast<RankedTensorType>(getGathered().getType());
  SmallVector<int64_t> shape(tile.getShape());
  if (gathered.getRank() == tile.getRank())
    shape[getAxis()] = gathered.getDimSize(getAxis());
  if (gathered.getShape() != ArrayRef(shape) || gathered.getElementType() != tile.getElementType()) // scan_c3
    return emitOpError() << "expected the shape of " << tile << " but along axis " << getAxis() << ", got " << gathered;
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyMemory(Operation *op, Value tile, MemDescType memory) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getShape() != memory.getShape() || type.getElementType() != memory.getElementType())
    return op->emitOpError() << "expected a tile of the shape and elements of " << memory << ", got " << type;
  return success();
}

LogicalResult LocalStoreOp::verify() {
  size_t dims = cast<RankedTensorType>(getTile().getType()).getRank();
  return failure(failed(verifyMemory(*this, getTile(), getMemory().getType())) || // local_store_c1
                 failed(verifyGuards(*this, getGuards(), dims, 0)));              // local_store_c2
}

LogicalResult LocalLoadOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  MemDescType memory = getMemory().getType();
  Attribute layout = tile.getEncoding();
  bool isPart = tile.getElementType() == memory.getElementType() && layout && isDistributed(layout) &&
                isPartOfCta(layout, tile.getShape(), memory.getShape());
  if (!isPart && failed(verifyMemory(*this, getTile(), memory))) // local_load_c1
    return failure();
  size_t dims = getIndices().size() + tile.getRank();
  return verifyGuards(*this, getGuards(), dims, getLimits().size()); // local_load_c2
}

LogicalResult MemDescIndexOp::verify() {
  MemDescType memory = getMemory().getType(), stage = getStage().getType();
  if (memory.getShape().size() < 2 || stage.getShape() != memory.getShape().drop_front() ||
      stage.getElementType() != memory.getElementType()) // memdesc_index_c1
    return emitOpError() << "expected a stage of " << memory << ", got " << stage;
  return success();
}

LogicalResult RemoteStoreOp::verify() {
  MemDescType memory = getMemory().getType();
  if (failed(verifyMemory(*this, getTile(), memory))) // remote_store_c1
    return failure();
  Type element = memory.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (bits != 32 && bits != 64) // remote_store_c1
    return emitOpError() << "expected elements of 4 or 8 bytes, got " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult BarrierOp::verify() {
  if (getId().has_value() != getThreads().has_value()) // barrier_c1
    return emitOpError() << "expected id and threads together";
  if (getId() && (*getId() < 1 || *getId() > 15)) // barrier_c1
    return emitOpError() << "expected an id from 1 to 15, got " << *getId();
  if (getThreads() && (*getThreads() < 32 || *getThreads() > 1024 || *getThreads() % 32 != 0)) // barrier_c1
    return emitOpError() << "expected a multiple of 32 threads up to 1024, got " << *getThreads();
  return success();
}

LogicalResult MBarrierInitOp::verify() {
  if (getArrivals() < 1) // mbarrier_init_c1
    return emitOpError() << "expected at least one arrival, got " << getArrivals();
  return success();
}

LogicalResult WarpSpecializeOp::verify() {
  size_t numPartitions = getPartitions().size();
  size_t numRegisters = getRegisters() ? getRegisters()->size() : numPartitions;
  if (getWarps().size() != numPartitions || numRegisters != numPartitions) // warp_specialize_c1
    return emitOpError() << "expected warps and registers for each of " << numPartitions << " partitions, got "
                         << getWarps().size() << " and " << numRegisters;
  for (int64_t registers : getRegisters().value_or(ArrayRef<int64_t>()))
    if (registers < 24 || registers > 240 || registers % 8 != 0) // warp_specialize_c2
      return emitOpError() << "expected registers to be a multiple of 8 from 24 to 240, got " << registers;
  for (int64_t warps : getWarps())
    if (getRegisters() && warps % 4 != 0) // warp_specialize_c3
      return emitOpError() << "expected whole warpgroups of 4 warps where registers are handed over, got " << warps << " warps";
  return success();
}

LogicalResult OfGroupOp::verify() {
  if (getGroup() < 1) // of_group_c1
    return emitOpError() << "expected a group from 1 on, got " << getGroup();
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles that CTAs draw
//===----------------------------------------------------------------------===//

/// Checks that the memory holds one tile number for each mbarrier.
static LogicalResult verifyNumbers(Operation *op, MemDescType numbers, MBarrierType drawn) {
  ArrayRef<int64_t> shape = numbers.getShape();
  bool isOneEach = shape.size() == 2 && shape[0] == drawn.getCount() && shape[1] == 1;
  if (!isOneEach || !numbers.getElementType().isIndex())
    return op->emitOpError() << "expected memory of " << drawn.getCount() << "x1 numbers of type index, got " << numbers;
  return success();
}

// draw_tile_c1
LogicalResult DrawTileOp::verify() { return verifyNumbers(*this, getNumbers().getType(), getDrawn().getType()); }

// await_tile_c1
LogicalResult AwaitTileOp::verify() { return verifyNumbers(*this, getNumbers().getType(), getDrawn().getType()); }
