//===- NormStatisticsVerifiers.cpp - constraints of statistics --------------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

LogicalResult GroupNormOp::verify() {
  RankedTensorType x = getX().getType();
  FailureOr<Groups> groups = splitGroups(*this, getX(), getChannelAxis(), getGroups()); // group_norm_c1, group_norm_c2
  if (failed(groups))
    return failure();
  std::string ofChannels = "the channels of " + quoted(x);
  if (failed(verifyShape(*this, "weight", getWeight(), {groups->channels}, ofChannels)) || // group_norm_c3
      failed(verifyShape(*this, "bias", getBias(), {groups->channels}, ofChannels)))
    return failure();
  if (failed(verifyShape(*this, "y", getY(), x.getShape(), quoted(x)))) // group_norm_c4
    return failure();
  // group_norm_c5
  if (failed(verifyMoments(*this, getMean(), getRstd(), groups->statisticsShape, "the groups of " + quoted(x))))
    return failure();
  return verifyEps(*this); // group_norm_c6, group_norm_c7
}

LogicalResult BatchStatsOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getX(), getAxes()); // batch_stats_c1
  if (failed(axes))
    return failure();
  std::string others = axesOf("other", axes->of);
  if (failed(verifyShape(*this, "mean", getMean(), axes->otherShape, others)) || // batch_stats_c2
      failed(verifyShape(*this, "var", getVar(), axes->otherShape, others)))
    return failure();
  if (int64_t correction = getCorrection(); correction < 0) // batch_stats_c3
    return emitOpError() << "expected correction not to be negative, got " << correction;
  return success();
}
