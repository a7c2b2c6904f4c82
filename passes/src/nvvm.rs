//! Passes on one thread's program. One file a pass, named after it.

pub(crate) mod contract_sums;
