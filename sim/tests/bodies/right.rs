//! Right kernels, by what orders their threads.

mod atomic;
mod barrier;
mod cluster;
mod control;
mod copy;
mod mbarrier;
mod warp;
