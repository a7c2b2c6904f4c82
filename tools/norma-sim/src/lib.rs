//! Runs a bundle's functions in the simulator and judges the results: the command `norma-sim`, and the library behind it, which the
//! numerics suite also uses.
//!
//! | step | by |
//! |---|---|
//! | load or compile a bundle's manifest and modules | [`Bundle`] |
//! | launch its kernels in order, once, on simulated memory | [`run::run`] |
//! | do so under several seeds, and compare the results with each other and with the oracle | [`judge::judge`] |
//! | count the memory traffic of each access, as a reference for a cost model | [`traffic::measure`] |
//! | judge mutants of the kernels, each of which must be caught | [`mutants::mutants`] |
//! | all of that from a command line | [`command::main`] |

pub mod bundle;
pub mod command;
pub mod error;
pub mod judge;
pub mod launch;
pub mod mutants;
pub mod run;
pub mod traffic;

pub use bundle::Bundle;
pub use error::Error;
pub use judge::{Judgement, judge};
