// The registered pipelines, pass by pass: each level's is the one before it and a few more passes.
// RUN: norma-opt %s --norma-to-kernel --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefixes=ALL,KERNEL
// RUN: norma-opt %s --norma-to-scheduled --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefixes=ALL,SCHEDULED
// RUN: norma-opt %s --norma-to-tiled --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefixes=ALL,TILED
// RUN: norma-opt %s --norma-to-gl --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefixes=ALL,GL
// RUN: norma-opt %s --norma-to-gl-lowered --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefixes=ALL,GL-LOWERED
// RUN: norma-opt %s --norma-to-nvvm --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefixes=ALL,NVVM
// RUN: norma-opt --help | FileCheck %s --check-prefix=HELP

// HELP:     --norma-to-gl {{ *}}- Lower named ops to level 'gl': one CTA's program on tiles
// HELP:     --norma-to-gl-lowered
// HELP:     --norma-to-kernel
// HELP:     --norma-to-nvvm
// HELP:     --norma-to-scheduled
// HELP:     --norma-to-tiled

// ALL:           builtin.module(
// ALL-NEXT:        norm-name-sizes
// ALL-NEXT:        norm-differentiate
// ALL-NEXT:        norm-shard
// ALL-NEXT:        norm-decompose
// ALL-NEXT:        norm-form-computes
// ALL-NEXT:        norm-fuse-computes{batch-invariant=false explain=false}
// ALL-NEXT:        norm-form-kernels
// ALL-NEXT:        norm-relax-divisions
// ALL-NEXT:        canonicalize
// ALL-NEXT:        cse
// ALL-NEXT:        norm-split-outputs
// ALL-NEXT:        norm-normalize-space
// ALL-NEXT:        norm-gather-one-hots
// ALL-NEXT:        norm-narrow-comparisons
// ALL-NEXT:        norm-round-products
// KERNEL-NEXT:   {{^\)}}

// SCHEDULED:       norm-split-outputs
// SCHEDULED-NEXT:  norm-stage-reductions
// SCHEDULED-NEXT:  norm-normalize-space
// SCHEDULED-NEXT:  norm-select-schedule{{.*}} splits=true target=sm_90a}
// SCHEDULED-NEXT:  norm-dispatch-schedules
// SCHEDULED-NEXT:  norm-split-reductions
// SCHEDULED-NEXT:  norm-split-outputs
// SCHEDULED-NEXT:  norm-select-schedule{{.*}} splits=false target=sm_90a}
// SCHEDULED-NEXT:  norm-dependent-launch{{.*}}target=sm_90a}
// SCHEDULED-NEXT: {{^\)}}

// TILED:           norm-dispatch-schedules
// TILED-NEXT:      norm-split-reductions
// TILED-NEXT:      norm-split-outputs
// TILED-NEXT:      norm-select-schedule
// TILED-NEXT:      norm-dependent-launch
// TILED-NEXT:      norm-tile
// TILED-NEXT:      norm-persistent-reduction
// TILED-NEXT:      norm-merge-reductions
// TILED-NEXT:      norm-scale-exponents
// TILED-NEXT:      norm-cache-inputs
// TILED-NEXT:      norm-hoist-reads
// TILED-NEXT:    {{^\)}}

// GL:              norm-hoist-reads
// GL-NEXT:         convert-norm-to-gl
// GL-NEXT:         canonicalize
// GL-NEXT:         cse
// GL-NEXT:       {{^\)}}

// GL-LOWERED:      convert-norm-to-gl
// GL-LOWERED-NEXT: canonicalize
// GL-LOWERED-NEXT: cse
// GL-LOWERED-NEXT: gl-optimize-layouts
// GL-LOWERED-NEXT: gl-prefetch-loads
// GL-LOWERED-NEXT: gl-pipeline
// GL-LOWERED-NEXT: gl-draw-tiles
// GL-LOWERED-NEXT: gl-specialize-warps
// GL-LOWERED-NEXT: gl-expand-reductions
// GL-LOWERED-NEXT: gl-expand-conversions
// GL-LOWERED-NEXT: gl-allocate-shared
// GL-LOWERED-NEXT: gl-insert-barriers
// GL-LOWERED-NEXT: gl-vectorize-access
// GL-LOWERED-NEXT: gl-unroll-loops
// GL-LOWERED-NEXT: gl-sink-extensions
// GL-LOWERED-NEXT: gl-dependent-launch
// GL-LOWERED-NEXT: {{^\)}}

// NVVM:            gl-dependent-launch
// NVVM-NEXT:       gpu.module(
// NVVM-NEXT:         convert-gl-to-nvvm
// NVVM-NEXT:       )
// NVVM-NEXT:       gpu.module(
// NVVM-NEXT:         nvvm-contract-sums
// NVVM-NEXT:       )
// NVVM-NEXT:       gpu.module(
// NVVM-NEXT:         convert-math-to-nvvm-approx
// NVVM:            canonicalize
// NVVM-NEXT:       cse
// NVVM-NEXT:       gpu.module(
// NVVM-NEXT:         convert-scf-to-cf
// NVVM:              convert-vector-to-llvm
// NVVM:              convert-arith-to-llvm
// NVVM:            convert-cf-to-llvm
// NVVM:              convert-nvvm-to-llvm
// NVVM:            reconcile-unrealized-casts
// NVVM-NEXT:       canonicalize
// NVVM-NEXT:       cse
// NVVM-NEXT:     {{^\)}}
