//! Small kernels that synchronize in every way there is: right ones, in which nothing may be found and all of whose
//! mutants must be caught, and broken ones, for which the kind and the op of the finding are known.

mod broken;
mod kernel;
mod right;
