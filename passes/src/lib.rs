//! Every pass of the compiler, one file each, declared in Passes.td.
