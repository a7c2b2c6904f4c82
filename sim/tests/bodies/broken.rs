//! Broken kernels, by what they break.

mod access;
mod cluster;
mod copy;
mod order;
mod undefined;
mod wait;
