//===- NormOps.td - ops of the norm dialect --------------------------------===//

#ifndef NORM_OPS_TD
#define NORM_OPS_TD

include "norm/NormKernelFormOps.td"
include "norm/NormLossOps.td"
include "norm/NormNormalizationGradOps.td"
include "norm/NormNormalizationOps.td"
include "norm/NormQuantizationOps.td"
include "norm/NormReductionOps.td"
include "norm/NormScanOps.td"
include "norm/NormSoftmaxGradOps.td"
include "norm/NormSoftmaxOps.td"
include "norm/NormStatisticsOps.td"

#endif // NORM_OPS_TD
