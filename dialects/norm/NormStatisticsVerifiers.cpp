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
  std::optional<int64_t> channelAxis = axisPosition(int64_t(getChannelAxis()), x.getRank());
  if (!channelAxis || *channelAxis == 0) // group_norm_c1
    return emitOpError() << "expected channel_axis to be an axis of " << x << " but the first, got "
                         << int64_t(getChannelAxis());
  int64_t channels = x.getDimSize(*channelAxis), groups = getGroups();
  if (ShapedType::isDynamic(channels) || groups < 1 || channels % groups != 0) // group_norm_c2
    return emitOpError() << "expected a static number of channels that groups divide, got " << groups << " groups in "
                         << x;
  std::string ofChannels = "the channels of " + quoted(x);
  if (failed(verifyShape(*this, "weight", getWeight(), {channels}, ofChannels)) || // group_norm_c3
      failed(verifyShape(*this, "bias", getBias(), {channels}, ofChannels)))
    return failure();
  if (failed(verifyShape(*this, "y", getY(), x.getShape(), quoted(x)))) // group_norm_c4
    return failure();
  // group_norm_c5
  std::string ofGroups = "the groups of " + quoted(x);
  int64_t shape[] = {x.getDimSize(0), groups};
  if (failed(verifyBothOrNeither(*this, "mean and rstd", getMean(), getRstd())) ||
      failed(verifyStatistic(*this, "mean", getMean(), shape, ofGroups)) ||
      failed(verifyStatistic(*this, "rstd", getRstd(), shape, ofGroups)))
    return failure();
  return verifyNotNegative(*this, "eps", getEps()); // group_norm_c6
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
