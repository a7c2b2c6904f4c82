//! Runs, checks and times a bundle on a GPU.

fn main() {}
