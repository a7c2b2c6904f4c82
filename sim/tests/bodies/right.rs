//! Right kernels, by what orders their threads.

mod atomic;
mod barrier;

mod mbarrier;
mod warp;
