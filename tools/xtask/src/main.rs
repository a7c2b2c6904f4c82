//! The project's own chores: set-up, demo, tests, docs, tidy, scaffolding.

fn main() {}
