// Of a row of eight steps, which three loops pass over, the tiles of two steps are read once: 8 + 6 + 6 tiles in place of 24, of 128 sectors
// each, for each of two rows.
// RUN: norma-sim %s --size m=2 --seeds 1 --traffic --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(8)]], keep = [l1]>' | FileCheck %s --check-prefixes=ALL,NONE
// RUN: norma-sim %s --size m=2 --seeds 1 --traffic --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(8)]], keep = [l1], held_steps = 2>' | FileCheck %s --check-prefixes=ALL,TWO

// NONE: in all: 6144 sectors read, 2048 of them distinct
// TWO: in all: 5120 sectors read, 2048 of them distinct
// ALL: nothing found
// ALL: verify right
func.func @softmax(%x: tensor<?x16384xbf16> {norm.name = "x"}) -> (tensor<?x16384xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x16384xbf16> -> tensor<?x16384xbf16>
  return %y : tensor<?x16384xbf16>
}
