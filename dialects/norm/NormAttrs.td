//===- NormAttrs.td - enums and attributes of the norm dialect ------------===//

#ifndef NORM_ATTRS_TD
#define NORM_ATTRS_TD

include "norm/NormDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

def Norm_ReduceKind : I32EnumAttr<"ReduceKind", "a combiner that has a name", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">,
    I32EnumAttrCase<"Or", 5, "or">
  ]> {
  let cppNamespace = "::mlir::norm";
}

//===----------------------------------------------------------------------===//
// What named ops compute
//===----------------------------------------------------------------------===//

def Norm_AxisReduction : I32EnumAttr<"AxisReduction", "what is taken of the elements along some axes", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Min", 4, "min">,
    I32EnumAttrCase<"Amax", 5, "amax">,
    I32EnumAttrCase<"SumSq", 6, "sum_sq">,
    I32EnumAttrCase<"Norm", 7, "norm">,
    I32EnumAttrCase<"Var", 8, "var">,
    I32EnumAttrCase<"Any", 9, "any">,
    I32EnumAttrCase<"All", 10, "all">,
    I32EnumAttrCase<"Argmax", 11, "argmax">,
    I32EnumAttrCase<"Argmin", 12, "argmin">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_LossReduction : I32EnumAttr<"LossReduction", "what is taken of the losses of all rows", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Sum", 1, "sum">,
    I32EnumAttrCase<"Mean", 2, "mean">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_ScaleLayout : I32EnumAttr<"ScaleLayout", "the order of scales in memory", [
    I32EnumAttrCase<"Linear", 0, "linear">,
    I32EnumAttrCase<"ColumnMajor", 1, "column_major">,
    I32EnumAttrCase<"Swizzled128x4", 2, "swizzled_128x4">
  ]> {
  let cppNamespace = "::mlir::norm";
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def Norm_Level : I32EnumAttr<"Level", "what takes a factor of a dim", [
    I32EnumAttrCase<"Grid", 0, "grid">,
    I32EnumAttrCase<"Split", 1, "split">,
    I32EnumAttrCase<"Cluster", 2, "cluster">,
    I32EnumAttrCase<"Loop", 3, "loop">,
    I32EnumAttrCase<"Warp", 4, "warp">,
    I32EnumAttrCase<"Lane", 5, "lane">,
    I32EnumAttrCase<"Register", 6, "register">,
    I32EnumAttrCase<"Vector", 7, "vector">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_DimRole : I32EnumAttr<"DimRole", "what a dim of a tiled space is spread over", [
    I32EnumAttrCase<"Grid", 0, "grid">,
    I32EnumAttrCase<"Cluster", 1, "cluster">,
    I32EnumAttrCase<"Loop", 2, "loop">,
    I32EnumAttrCase<"Thread", 3, "thread">,
    I32EnumAttrCase<"Register", 4, "register">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_CachePlace : I32EnumAttr<"CachePlace", "where a reused input lives between its uses", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Register", 1, "register">,
    I32EnumAttrCase<"Shared", 2, "shared">,
    I32EnumAttrCase<"L1", 3, "l1">,
    I32EnumAttrCase<"L2", 4, "l2">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_CopyMechanism : I32EnumAttr<"CopyMechanism", "how a tile travels to shared memory", [
    I32EnumAttrCase<"Load", 0, "load">,
    I32EnumAttrCase<"CpAsync", 1, "cp_async">,
    I32EnumAttrCase<"Bulk", 2, "bulk">,
    I32EnumAttrCase<"Tensor", 3, "tensor">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_HandOut : I32EnumAttr<"HandOut", "how CTAs come by their share of the space", [
    I32EnumAttrCase<"Static", 0, "static">,
    I32EnumAttrCase<"Dynamic", 1, "dynamic">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_ScheduleAttr : AttrDef<Norm_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How a kernel's iteration space is mapped onto the machine";
  let description = [{
    Written by `norm-select-schedule` (or by hand, or by `--schedule`), applied by the passes after it. It is
    recorded in the bundle's manifest and is enough to rebuild the same kernel.

    `spread` lists for each dim of the kernel, in their order, its factors from the outermost to the innermost, each
    with the level of the machine that takes it: a dim's index is the mixed-radix number that its factors spell. A
    factor without a size takes what the others leave, rounded up; a guard then masks the points beyond the dim's
    extent. A dim that only steps in a loop, for example, is `[loop]`.

    | level | who takes it | size |
    |---|---|---|
    | `grid` | CTAs; all grid factors share one launch grid, in which the last dim varies fastest | any |
    | `split` | CTAs, where the dim is reduced: each leaves a partial result, and a second kernel combines them | any |
    | `cluster` | the CTAs of a cluster, which exchange partial results; more than 8 CTAs are not portable, and a launch has to opt in | a power of two |
    | `loop` | steps of a CTA, one after the other; of two looped dims, the one that the result of a reduction varies over is the outer loop | any |
    | `warp`, `lane` | bits of the warp's number and of the lane's | a power of two |
    | `register` | bits of the register's number | a power of two |
    | `vector` | the lowest bits of the register's number: the elements of one access | a power of two |

    The cluster, warp, lane, register and vector factors make up the tile that a cluster holds at a time; their bits are the columns of
    its linear layout. The last dim's innermost factor of a level has the lowest bits.

    The other parameters:

    | parameter | unit | meaning |
    |---|---|---|
    | `keep` | | where a read that is needed again behind a reduction lives meanwhile: one place for each buffer of the kernel, or one for all buffers; `register` by default. A result whose buffer has a place of its own, `shared`, goes to memory through shared memory, tile by tile |
    | `bring` | | how a tile that is kept in shared memory travels there, and the tile of a result from there: `load`, through the registers of the threads, which share the run of memory that whole rows form; `cp_async`, by the threads themselves; `bulk`, by the copy engine as runs of bytes; `tensor`, by the copy engine as boxes of a tensor map, which the launch passes |
    | `stages` | | pipelining stages: for tiles in shared memory the stages of a loop's ring; for loops that load to registers, 2 has each step load the next one's tile before it computes on its own (`gl-prefetch-loads`) |
    | `unroll_bytes` | bytes | loads that a thread issues together in a loop over memory: its steps are unrolled until they load so many (`gl-unroll-loops`); 0 for one step at a time |
    | `held_steps` | steps | steps of the loop over a row whose tiles stay in registers until the row is needed again: these are peeled off the loop, from the first one on, and what passes over the row later reads the tiles of the other steps alone; 0 for none |
    | `producer_warps` | warps | warps that only copy (warp specialisation); 0 for none |
    | `producer_registers` | registers | what each thread of the producer warps keeps; the others it hands to the threads that compute (`setmaxnreg`). 0 for an equal share |
    | `consumer_groups` | groups | groups of warps that take the steps of the loop in turns, each step by one group, which has the warps that `spread` says |
    | `hand_out` | | `static`: a CTA's number says what it works on; `dynamic`: CTAs, or clusters, draw the steps of the one loop from an atomic counter in scratch, each the next one when it is done |
    | `dependent_launch` | | programmatic dependent launch: start before the previous kernel has ended |
    | `early_reads` | | reads that only later phases need are issued before the first reduction as well |
    | `merge_reductions` | | levels at which a reduction that waits for another over the same dims is combined together with it, where partial results of both can be combined (`norm-merge-reductions`): `loop` saves a pass over memory; `cluster`, and `warp` with `lane`, save a round in which CTAs or warps wait for one another; `split` lets both be split into parts; none by default |
    | `min_ctas_per_sm` | CTAs | bounds registers so that an SM holds so many; 0 for no bound |
    | `aligned_dim` | | the dim, by position, along which tiles begin where vectors of the leading access are aligned; -1 for none |

    Rows whose length is not a multiple of 16 bytes begin at any alignment. With `aligned_dim` (alignment peeling) the
    tile along that dim is shifted down to the last multiple of its `vector` before the row's start: it begins as many
    elements before the row as the row's start is beyond that multiple, and its factors hold as many points more. Guards
    mask the elements before and behind the row. The leading access is, of those contiguous along the dim, the one that
    moves the most bytes. Accesses of the same strides are aligned with it; those of other strides are moved in smaller
    pieces. Rows of one CTA have to have the same alignment: with vectors of 8, `[grid, register(4), grid(8)]` gives a
    CTA rows that are 8 apart. So have rows that one part of a `split` sums over, as in `[loop, split(128)]`.

    Constraints:
    - C1: at most one factor of a dim is without a size; sizes are at least 1, and powers of two where the level says so.
    - C2: lanes are at most 32 in all, threads at most 1024, and CTAs of a cluster at most 16.
    - C3: `stages` and `consumer_groups` are at least 1; `unroll_bytes`, `held_steps`, `producer_warps` and `min_ctas_per_sm` are at
      least 0.
    - C4: `vector` is the innermost factor of a dim, and only `grid`, `split` and `loop` may be without a size.
    - C5: `spread` has a list of factors for each dim, and `keep` is a list of places.
    - C6: `aligned_dim` is -1 or the position of a dim with a `vector` factor.
    - C7: `merge_reductions` is a list of `split`, `cluster`, `loop`, `warp` and `lane`, each at most once and in this order.
    - C8: `producer_registers` is 0 or a multiple of 8 from 24 to 240.

    Example, rows of 4096 elements, one for each CTA of 256 threads, in two 16-byte accesses of bf16 each:

    ```mlir
    #norm.schedule<spread = [[grid], [register(2), warp(8), lane(32), vector(8)]]>
    ```

    Four rows at a time for each CTA, walked in chunks of 2048 columns that are read again from L2:

    ```mlir
    #norm.schedule<spread = [[grid, warp(4)], [loop, register(8), lane(32), vector(8)]], keep = [l2]>
    ```

    A row for each CTA, walked in chunks of 2048 columns, where each step loads the next one's chunk ahead:

    ```mlir
    #norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(8)]], keep = [l1], stages = 2>
    ```

    The same row without loads ahead, of which the first four chunks stay in registers, and the others are read again from L1:

    ```mlir
    #norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(8)]], keep = [l1], held_steps = 4>
    ```

    Rows that each of 264 CTAs draws one after the other, until none are left:

    ```mlir
    #norm.schedule<spread = [[loop, grid(264)], [register(2), warp(4), lane(32), vector(8)]], hand_out = dynamic>
    ```

    A row for each cluster, whose CTAs exchange the partial results of two reductions in one round, although one waits
    for the other:

    ```mlir
    #norm.schedule<spread = [[grid], [register(4), cluster(4), warp(8), lane(32), vector(8)]], merge_reductions = [cluster]>
    ```

    Four rows of 4095 elements for each CTA, 8 apart and each shifted alike, in 16-byte accesses:

    ```mlir
    #norm.schedule<spread = [[grid, register(4), grid(8)], [register(2), warp(8), lane(32), vector(8)]], aligned_dim = 1>
    ```
  }];
  let parameters = (ins
    "::mlir::ArrayAttr":$spread,
    OptionalArrayRefParameter<"int64_t">:$keep,
    DefaultValuedParameter<"::mlir::norm::CopyMechanism", "::mlir::norm::CopyMechanism::Load">:$bring,
    DefaultValuedParameter<"int64_t", "1">:$stages,
    DefaultValuedParameter<"int64_t", "0">:$unroll_bytes,
    DefaultValuedParameter<"int64_t", "0">:$held_steps,
    DefaultValuedParameter<"int64_t", "0">:$producer_warps,
    DefaultValuedParameter<"int64_t", "0">:$producer_registers,
    DefaultValuedParameter<"int64_t", "1">:$consumer_groups,
    DefaultValuedParameter<"::mlir::norm::HandOut", "::mlir::norm::HandOut::Static">:$hand_out,
    DefaultValuedParameter<"bool", "false">:$dependent_launch,
    DefaultValuedParameter<"bool", "false">:$early_reads,
    OptionalArrayRefParameter<"int64_t">:$merge_reductions,
    DefaultValuedParameter<"int64_t", "0">:$min_ctas_per_sm,
    DefaultValuedParameter<"int64_t", "-1">:$aligned_dim
  );
  let assemblyFormat = [{
    `<` `spread` `=` custom<Spread>($spread) (`,` struct(custom<Places>($keep), $bring, $stages, $unroll_bytes,
    $held_steps, $producer_warps, $producer_registers, $consumer_groups, $hand_out, $dependent_launch, $early_reads,
    custom<MergedLevels>($merge_reductions), $min_ctas_per_sm, $aligned_dim)^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Norm_ChoiceAttr : AttrDef<Norm_Dialect, "Choice"> {
  let mnemonic = "choice";
  let summary = "The schedule that was chosen for a kernel, and what is expected of it";
  let description = [{
    Stands as `norm.choice` on a kernel whose schedule `norm-select-schedule` chose, and on the function that it
    becomes, down to machine code. There the registers that the assembler took are compared with what was expected, and
    are recorded for the schedule that was chosen. The kernel's own schedule may be another by then, because
    `norm-split-reductions` rewrites it. A kernel made of parts of another one has no choice until it is scheduled
    itself.

    | parameter | unit | meaning |
    |---|---|---|
    | `schedule` | | the schedule, as it was chosen |
    | `ctas_per_sm` | CTAs | how many an SM is expected to hold at a time |
    | `registers` | registers | how many a thread is expected to take; 0 if nothing is expected |

    Example: `#norm.choice<schedule = <spread = [[loop, split(132)], [warp(8), lane(32), vector(8)]]>, ctas_per_sm = 1, registers = 40>`
  }];
  let parameters = (ins
    "::mlir::norm::ScheduleAttr":$schedule,
    "int64_t":$ctas_per_sm,
    DefaultValuedParameter<"int64_t", "0">:$registers
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // NORM_ATTRS_TD
