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
// Schedules
//===----------------------------------------------------------------------===//

def Norm_DimRole : I32EnumAttr<"DimRole", "what a dim of a tiled space is spread over", [
    I32EnumAttrCase<"Grid", 0, "grid">,
    I32EnumAttrCase<"Cluster", 1, "cluster">,
    I32EnumAttrCase<"Loop", 2, "loop">,
    I32EnumAttrCase<"Tile", 3, "tile">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_ReductionStrategy : I32EnumAttr<"ReductionStrategy", "how a CTA walks a reduced dim", [
    I32EnumAttrCase<"Persistent", 0, "persistent">,
    I32EnumAttrCase<"LoopedMasked", 1, "looped_masked">,
    I32EnumAttrCase<"LoopedPeeled", 2, "looped_peeled">
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

def Norm_GridKind : I32EnumAttr<"GridKind", "one CTA per tile, or CTAs that walk tiles", [
    I32EnumAttrCase<"Flat", 0, "flat">,
    I32EnumAttrCase<"Persistent", 1, "persistent">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_Eviction : I32EnumAttr<"Eviction", "what accesses to global memory leave in the caches", [
    I32EnumAttrCase<"Normal", 0, "normal">,
    I32EnumAttrCase<"Streaming", 1, "streaming">
  ]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_ScheduleAttr : AttrDef<Norm_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How a kernel's iteration space is spread over the machine";
  let description = [{
    Written by `norm-select-schedule` (or by hand, or by `--schedule`), applied by the passes after it. It is
    recorded in the bundle's manifest and is enough to rebuild the same kernel.

    | parameter | unit | meaning |
    |---|---|---|
    | `rows_per_cta` | rows | points of the kept space that one CTA holds at a time; a power of two |
    | `threads_per_row` | threads | threads that share one row; a power of two, at most 1024 |
    | `vector` | elements | consecutive elements of the contiguous dim that one access moves; a power of two |
    | `chunk` | elements | extent of the reduced dims held at a time; a power of two; covers the row if the reduction is persistent |
    | `reduction` | | `persistent`: the whole row is resident; `looped_masked`, `looped_peeled`: chunk by chunk |
    | `cluster` | CTAs | CTAs that share one row; a power of two, at most 16 |
    | `cache` | | where a reused input lives between its uses |
    | `copy` | | how a tile travels to shared memory, when `cache` is `shared` |
    | `stages` | | buffers in flight |
    | `grid` | | `flat`: one CTA per tile; `persistent`: as many CTAs as fit, each walks tiles |
    | `producer_warps` | warps | warps that only copy (warp specialisation); 0 for none |
    | `dependent_launch` | | programmatic dependent launch: start before the previous kernel has ended |
    | `rows_per_thread` | rows | rows of which each thread holds a part; a power of two, divides `rows_per_cta` |
    | `eviction` | | `streaming`: what one CTA alone touches leaves the caches first, what all share stays |
    | `early_reads` | | reads that only later phases need are issued before the first reduction as well |
    | `min_ctas_per_sm` | CTAs | bounds registers so that an SM holds as many; 0 for no bound |

    Constraints:
    - C1: `rows_per_cta`, `threads_per_row`, `vector`, `chunk` and `cluster` are powers of two.
    - C2: a CTA has at most 1024 threads, `threads_per_row` for each of `rows_per_cta / rows_per_thread` rows; `cluster`
      is at most 16.
    - C3: `stages` is at least 1; `producer_warps` and `min_ctas_per_sm` are at least 0.
    - C4: `rows_per_thread` is a power of two and at most `rows_per_cta`.

    Example, two rows of up to 1024 elements per CTA, 64 threads and 16-byte accesses each:

    ```mlir
    #norm.schedule<rows_per_cta = 2, threads_per_row = 64, vector = 8, chunk = 1024>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "1">:$rows_per_cta,
    DefaultValuedParameter<"int64_t", "32">:$threads_per_row,
    DefaultValuedParameter<"int64_t", "1">:$vector,
    DefaultValuedParameter<"int64_t", "1">:$chunk,
    DefaultValuedParameter<"::mlir::norm::ReductionStrategy", "::mlir::norm::ReductionStrategy::Persistent">:$reduction,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"::mlir::norm::CachePlace", "::mlir::norm::CachePlace::Register">:$cache,
    DefaultValuedParameter<"::mlir::norm::CopyMechanism", "::mlir::norm::CopyMechanism::Load">:$copy,
    DefaultValuedParameter<"int64_t", "1">:$stages,
    DefaultValuedParameter<"::mlir::norm::GridKind", "::mlir::norm::GridKind::Flat">:$grid,
    DefaultValuedParameter<"int64_t", "0">:$producer_warps,
    DefaultValuedParameter<"bool", "false">:$dependent_launch,
    DefaultValuedParameter<"int64_t", "1">:$rows_per_thread,
    DefaultValuedParameter<"::mlir::norm::Eviction", "::mlir::norm::Eviction::Normal">:$eviction,
    DefaultValuedParameter<"bool", "false">:$early_reads,
    DefaultValuedParameter<"int64_t", "0">:$min_ctas_per_sm
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NORM_ATTRS_TD
