//! Runs a bundle's functions in the simulator and judges what they do: the command `norma-sim`, and what the numerics
//! suite shares with it.
//!
//! | step | by |
//! |---|---|
//! | a bundle's modules and manifest, from a folder or compiled in memory | [`Bundle`] |
//! | its kernels launched in order on simulated memory, once | [`run::run`] |
//! | the same under several seeds, compared with each other and with the oracle | [`judge::judge`] |
//! | what each access moves between the memories, for a cost model to be held to | [`traffic::measure`] |
//! | the same for kernels with a mistake put in, which must be caught | [`mutants::mutants`] |

pub mod bundle;
pub mod error;
pub mod judge;
pub mod launch;
pub mod mutants;
pub mod run;
pub mod traffic;

pub use bundle::Bundle;
pub use error::Error;
pub use judge::{Judgement, judge};
