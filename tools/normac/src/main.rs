//! Compiles norm functions ahead of time into a bundle.

fn main() {}
