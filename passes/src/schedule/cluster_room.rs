//! How many clusters a GPU holds at a time.

use norma_targets::Target;

/// SMs of a TPC. All CTAs of a cluster have to find room in one GPC, whose SMs come in such pairs (NVIDIA H100 whitepaper, "H100
/// GPU Hierarchy": a TPC has two SMs).
const SMS_OF_TPC: u64 = 2;

/// The share of the SMs that have room for clusters of more CTAs than a TPC has SMs: GPCs have different numbers of SMs, and what they have
/// beyond a multiple of the cluster idles. An H200 of 132 SMs holds 30 clusters of four CTAs, one on each SM, and 15 of eight: LayerNorm's
/// gradient over 20001 columns reaches 2480 GB/s with 30 and 1402 with 31, over 40001 columns 2403 with 15 and 1359 with 16. With two CTAs
/// on each SM it holds 60 of four: RMSNorm's gradient over 24575 columns reaches 3081 GB/s with 60 and 2118 with 66.
const SMS_OF_WIDE_CLUSTERS: (u64, u64) = (10, 11);

/// Returns how many clusters of `ctas` CTAs are resident on a target whose SMs hold `per_sm` CTAs each.
pub(super) fn resident(target: &Target, ctas: u64, per_sm: u64) -> u64 {
    let room = per_sm * u64::from(target.part.sms);
    match ctas <= SMS_OF_TPC {
        true => room / ctas,
        false => room * SMS_OF_WIDE_CLUSTERS.0 / SMS_OF_WIDE_CLUSTERS.1 / ctas,
    }
}
