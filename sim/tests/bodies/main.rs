//! Small kernels that synchronize in every way there is: right ones, in which nothing may be found and every mutant
//! must be, and broken ones of which the kind and the op of the finding are known.

mod broken;
mod kernel;
mod right;
