//! Language server for modules in the norm and gl dialects.

fn main() {}
