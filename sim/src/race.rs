//! Finding races, whatever schedule happened to run.
//!
//! Two accesses race if one of them writes and nothing orders them (happens-before). Order comes from program order and
//! from synchronization alone, and is kept as vector clocks: [`clock`] says what an agent has seen, [`shadow`] remembers
//! for every byte the accesses that a later one may still race with. So a race is found even in a run where the accesses
//! happened far apart.
//!
//! The method is FastTrack (Flanagan and Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009),
//! extended by what GPUs need: strong accesses, which may be unordered without racing, asynchronous agents, and the
//! proxies of the PTX memory consistency model.

mod access;
mod clock;
mod history;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod rules;
mod shadow;
#[cfg(test)]
mod threads;

pub use access::{Accessor, Conflict, ConflictKind, Proxy, What};
pub use clock::{Agent, Clock, Event, Time};
pub use shadow::Shadow;
