//! Linear layouts over GF(2): how a tile's elements lie in registers, lanes, warps and CTAs.
