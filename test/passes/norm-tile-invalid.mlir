// Schedules that do not fit their kernel, or that no pass can apply yet, are refused at the kernel.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-tile

// expected-error @+1 {{expected a kernel with a schedule, got none}}
norm.kernel @no_schedule(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a schedule that spreads 2 dims, got 1}}
norm.kernel @too_few_dims(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected factors of dim 1 that hold its 64 points, got 32}}
norm.kernel @too_few_points(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a factor without a size for dim 0, whose extent is dynamic}}
norm.kernel @no_rest(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid(8)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: a factor without a size inside of others for dim 0, whose extent is dynamic; supported: as the outermost factor}}
norm.kernel @inner_rest(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop(2), grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a place for each of 2 buffers or one for all, got 3}}
norm.kernel @places(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [l1, l1, l1]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected no split factor in a kernel to be tiled; run norm-split-reductions first}}
norm.kernel @split(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [split(2), lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a read or a result that is kept in shared memory for bring = bulk, got none}}
norm.kernel @bring(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], bring = bulk>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a dim that passes in a loop for stages = 2, got none}}
norm.kernel @stages(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], stages = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: stages = 3 for bring = load; supported: 1, and 2 for loops that load a step ahead}}
norm.kernel @more_stages(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], stages = 3>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected producer_warps = 0 for bring = load, got 1}}
norm.kernel @producers(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], producer_warps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: keep = [shared] with bring = load of buffer 0, of which a tile is no run; supported: whole rows, one behind the other}}
norm.kernel @part_of_a_row(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [shared]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: keep = [shared] with bring = load of buffer 0, of which a tile is no run; supported: whole rows, one behind the other}}
norm.kernel @rows_apart(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid, warp(2), grid(2)], [lane(32), vector(2)]], keep = [shared]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: keep = [shared] with bring = load in a cluster; supported: CTAs on their own}}
norm.kernel @run_of_a_cluster(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [cluster(2), lane(32)]], keep = [shared]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: the result of buffer 1 in shared memory, in a cluster; supported: CTAs on their own}}
norm.kernel @sent_by_clusters(%x: memref<?x512xf32>, %y: memref<?x512xf32>) space(%m = dim(%x, 0), %n = 512)
    schedule(#norm.schedule<spread = [[grid], [cluster(2), warp(2), lane(32), vector(4)]], keep = [none, shared], bring = bulk>) {
  %0 = norm.read %x[%m, %n] : memref<?x512xf32>
  norm.write %0, %y[%m, %n] : memref<?x512xf32>
}

// -----

// expected-error @+1 {{unsupported: the result of buffer 1 in shared memory for bring = cp_async; supported: load, bulk and tensor}}
norm.kernel @sent_by_threads(%x: memref<?x512xf32>, %y: memref<?x512xf32>) space(%m = dim(%x, 0), %n = 512)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32), vector(4)]], keep = [shared, shared], bring = cp_async>) {
  %0 = norm.read %x[%m, %n] : memref<?x512xf32>
  norm.write %0, %y[%m, %n] : memref<?x512xf32>
}

// -----

// expected-error @+1 {{expected a dim that passes in a loop for hand_out = dynamic, got none}}
norm.kernel @drawn_without_a_loop(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected the number of CTAs that draw the steps of dim 0, as in [loop, grid(264), ...], for hand_out = dynamic}}
norm.kernel @drawn_by_no_ctas(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, warp(2)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected the loop of dim 0 outside of its other factors for hand_out = dynamic}}
norm.kernel @drawn_inside(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid, loop(2)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// What is brought is the same for all rows.
// expected-error @+1 {{unsupported: hand_out = dynamic with producer_warps = 1 that bring nothing which varies along dim 0}}
norm.kernel @drawn_by_idle_producers(%w: memref<32xf32>, %y: memref<?x32xf32>) space(%m = dim(%y, 0), %n = 32) align(16, 16)
    schedule(#norm.schedule<spread = [[loop, grid(1)], [warp(2), lane(32)]], keep = [shared], bring = bulk, stages = 3, producer_warps = 1,
             hand_out = dynamic>) {
  %0 = norm.read %w[%n] : memref<32xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m, %n] : memref<?x32xf32>
}

// -----

// expected-error @+1 {{unsupported: hand_out = dynamic with loops over 2 dims; supported: one}}
norm.kernel @drawn_in_two_loops(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [loop, lane(32)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: hand_out = dynamic with CTAs along dim 1 besides those that draw; supported: one grid factor, within the loop}}
norm.kernel @drawn_along_two_dims(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [grid, lane(32)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  norm.write %0, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: hand_out = dynamic in clusters along dim 1, which nothing is reduced over; supported: clusters that share a reduced dim}}
norm.kernel @drawn_by_clusters_without_exchanges(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [cluster(2), lane(32)]], keep = [shared, none], bring = bulk, stages = 2,
                            hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  norm.write %0, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: hand_out = dynamic in clusters with one stage; supported: two stages or more}}
norm.kernel @drawn_by_clusters_in_one_stage(%x: memref<?x512xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 512)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [cluster(2), warp(2), lane(32), vector(4)]], keep = [shared, none], bring = bulk,
                            producer_warps = 1, hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x512xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: hand_out = dynamic in clusters whose tiles are loaded; supported: tiles that bulk or tensor copies bring, and CTAs on their own}}
norm.kernel @drawn_by_clusters(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [cluster(2), lane(32)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: stages = 2 of registers with hand_out = dynamic; supported: 1, and stages in shared memory}}
norm.kernel @drawn_ahead(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], stages = 2, hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = cp_async with hand_out = dynamic; supported: load, bulk and tensor}}
norm.kernel @drawn_and_copied_by_threads(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], keep = [shared, none], bring = cp_async, hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected hand_out = static for dim 0, which is reduced: what CTAs draw would decide on how sums are rounded}}
norm.kernel @drawn_sum(%x: memref<?x64xf32>, %y: memref<64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<64xf32>
}

// -----

// expected-error @+1 {{expected hand_out = static for dim 0, which is scanned: a CTA does not come by all of its points}}
norm.kernel @drawn_scan(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.scan add %0 along(%m) : f32
  norm.write %1, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: hand_out = dynamic with results of buffer 2 that do not vary along dim 0; supported: results of each step}}
norm.kernel @drawn_once(%x: memref<?x64xf32>, %w: memref<64xf32>, %v: memref<64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %w[%n] : memref<64xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
  %3 = arith.negf %1 : f32
  norm.write %3, %v[%n] : memref<64xf32>
}

// -----

// expected-error @+1 {{expected producer_warps = 0 for bring = cp_async, got 1}}
norm.kernel @producers_of_threads(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = cp_async, producer_warps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a warpgroup of 4 producer warps and whole warpgroups of consumers for producer_registers, got 1 and 4 warps}}
norm.kernel @registers_of_a_warp(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4), warp(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 2, producer_warps = 1, producer_registers = 24, min_ctas_per_sm = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected min_ctas_per_sm for producer_registers, which says how many registers there are to hand over, got 0}}
norm.kernel @registers_of_an_unknown_number(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4), warp(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 2, producer_warps = 4, producer_registers = 24>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected producer_registers below the 32 registers that each of 8 warps starts with where an SM holds 8 CTAs, so that consumers get more, got 40, with which consumers get 32}}
norm.kernel @registers_that_nobody_has(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4), warp(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 2, producer_warps = 4, producer_registers = 40, min_ctas_per_sm = 8>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected producer_warps and bring = bulk or tensor for consumer_groups = 2, got 0 and bulk}}
norm.kernel @groups_without_producers(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 2, consumer_groups = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected stages to be a multiple of consumer_groups = 2, so that each stage has one group, got 3}}
norm.kernel @stages_of_several_groups(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 3, producer_warps = 1, consumer_groups = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: tiles that consumer_groups draw; supported: hand_out = static}}
norm.kernel @groups_that_draw(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 2, producer_warps = 1, consumer_groups = 2, hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a dim that passes in a loop for consumer_groups = 2, got none}}
norm.kernel @groups_without_a_loop(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared, none], bring = bulk, stages = 2, producer_warps = 1, consumer_groups = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: consumer_groups in a cluster; supported: CTAs on their own}}
norm.kernel @groups_of_a_cluster(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(4)], [cluster(2), lane(32)]], keep = [shared, none], bring = bulk, stages = 2, producer_warps = 1, consumer_groups = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: consumer_groups where a second loop over dim 1 needs what the first one has reduced; supported: one loop}}
norm.kernel @groups_of_two_loops(%x: memref<?x64xf32>, %w: memref<64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l2, shared, none], bring = bulk, stages = 2, producer_warps = 1, consumer_groups = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = norm.read %w[%n] : memref<64xf32>
  %3 = arith.mulf %1, %2 : f32
  norm.write %3, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: producer_warps = 2; supported: 0, 1 and 4}}
norm.kernel @two_producers(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = bulk, producer_warps = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
norm.kernel @dependent(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], dependent_launch = true>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: 512 elements of each value in a thread; supported: 256}}
norm.kernel @unrolled(%x: memref<8x64xf32>, %y: memref<8xf32>) space(%m = 8, %n = 64)
    schedule(#norm.schedule<spread = [[register(8), grid(1)], [register(64)]]>) {
  %0 = norm.read %x[%m, %n] : memref<8x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<8xf32>
}

// -----

// A row that passes in a loop before it is needed again cannot be in registers.
// expected-error @+1 {{expected keep = l1, l2 or none for buffer 0, whose elements along dim 1 pass in a loop before they are needed again, got register}}
norm.kernel @looped_in_registers(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{expected a dim that passes in a loop for held_steps, got none}}
norm.kernel @held_without_loop(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], held_steps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: held_steps within several loops; supported: one loop}}
norm.kernel @held_in_two_loops(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop], [loop, lane(32)]], keep = [l1], held_steps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: held_steps where tiles go through shared memory; supported: bring = load, and keep = l1, l2 or none}}
norm.kernel @held_in_shared(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l1, shared], held_steps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: held_steps in a loop over dim 1, along which nothing is needed again behind a reduction; supported: loops over what is read again}}
norm.kernel @held_once(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], held_steps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: held_steps in a loop over dim 0, along which nothing is needed again behind a reduction; supported: loops over what is read again}}
norm.kernel @held_of_rows(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(2)], [lane(32), vector(2)]], held_steps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// A step has 64 elements, and four more steps are held.
// expected-error @+1 {{unsupported: 320 elements of each value in a thread, with those of held steps; supported: 256}}
norm.kernel @held_too_many(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, register(64)]], keep = [l1], held_steps = 4>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// One step is no loop: the row is held as a whole.
norm.kernel @one_step(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// The shift of a tile must be one number for each CTA.
// expected-error @+1 {{unsupported: aligned_dim = 1 for rows of one CTA that begin differently; supported: rows that are multiples of 8 apart, as in [grid, register(4), grid(8)]}}
norm.kernel @rows_begin_differently(%x: memref<?x65xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[grid, register(2)], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// expected-error @+1 {{unsupported: aligned_dim = 1, along which rows begin at dynamic places; supported: static strides}}
norm.kernel @rows_begin_anywhere(%x: memref<?x?xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// expected-error @+1 {{expected aligned_dim to be a dim along which an access is contiguous, got 0}}
norm.kernel @along_columns(%x: memref<?x65xbf16>, %y: memref<65xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[loop, vector(8)], [lane(32), warp(4)]], aligned_dim = 0>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%m) : bf16
  norm.write %1, %y[%n] : memref<65xbf16>
}

// -----

// The shift takes up to 7 points of the tile.
// expected-error @+1 {{expected factors of dim 1 that hold its 509 points and 7 before them, got 512}}
norm.kernel @too_short(%x: memref<?x509xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 509)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x509xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// If rows are shifted differently, sums over rows would combine different columns.
// expected-error @+1 {{unsupported: aligned_dim = 1 where a reduction over rows keeps it; supported: reductions along it}}
norm.kernel @sum_over_rows(%x: memref<?x65xbf16>, %y: memref<65xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[loop], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%m) : bf16
  norm.write %1, %y[%n] : memref<65xbf16>
}

// -----

// expected-error @+1 {{unsupported: aligned_dim = 1 where a result is the same for rows that begin differently; supported: results for each row}}
norm.kernel @one_result(%x: memref<?x65xbf16>, %w: memref<65xbf16>, %y: memref<?xbf16>, %z: memref<65xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[grid], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
  %2 = norm.read %w[%n] : memref<65xbf16>
  norm.write %2, %z[%n] : memref<65xbf16>
}

// -----

// expected-error @+1 {{unsupported: aligned_dim = 1 where an access uses a part of the dim; supported: accesses by all of it}}
norm.kernel @part(%x: memref<?x65xbf16>, %w: memref<4xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[grid], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.read %w[%n mod 4] : memref<4xbf16>
  %2 = arith.mulf %0, %1 : bf16
  %3 = norm.reduce add %2 over(%n) : bf16
  norm.write %3, %y[%m] : memref<?xbf16>
}

// -----

// expected-error @+1 {{unsupported: a scan along dim 1, which the schedule gives to grid factors; supported: warps, lanes and registers within loops}}
norm.kernel @scan_in_the_grid(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [grid, lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.scan add %0 along(%n) : f32
  norm.write %1, %y[%m, %n] : memref<?x64xf32>
}

// -----

// A thread's points would lie between those of the steps in the order of the dim.
// expected-error @+1 {{unsupported: a scan along dim 1, which the schedule gives to loop steps within others; supported: warps, lanes and registers within loops}}
norm.kernel @scan_in_an_inner_loop(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [register(2), loop, lane(16)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.scan add %0 along(%n) : f32
  norm.write %1, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: aligned_dim = 1 where a reduction over rows keeps it; supported: reductions along it}}
norm.kernel @scan_over_aligned_rows(%x: memref<?x65xbf16>, %y: memref<?x65xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[loop], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.scan add %0 along(%m) : bf16
  norm.write %1, %y[%m, %n] : memref<?x65xbf16>
}

// -----

// expected-error @+1 {{unsupported: dim 2, which counts the results of a reduction, in lane factors; supported: one loop over it}}
norm.kernel @results_in_lanes(%x: memref<?x64xi32>, %y: memref<?x8xi32>) space(%m = dim(%x, 0), %n = 64, %j = 8)
    schedule(#norm.schedule<spread = [[grid], [register(16), lane(4)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xi32>
  %1 = norm.reduce max %0 over(%n) nth(%j) : i32
  norm.write %1, %y[%m, %j] : memref<?x8xi32>
}

// -----

// expected-error @+1 {{unsupported: dim 2, which counts the results of a reduction, in loop factors; supported: one loop over it}}
norm.kernel @results_in_two_loops(%x: memref<?x64xi32>, %y: memref<?x8xi32>) space(%m = dim(%x, 0), %n = 64, %j = 8)
    schedule(#norm.schedule<spread = [[grid], [register(2), lane(32)], [loop(2), loop(4)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xi32>
  %1 = norm.reduce max %0 over(%n) nth(%j) : i32
  norm.write %1, %y[%m, %j] : memref<?x8xi32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, whose strides are multiples of 4 bytes; supported: of 16}}
norm.kernel @mapped_at_odd_rows(%x: memref<?x63xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 63)
    align(16, 16) schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %n] : memref<?x63xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected buffer 0 at a multiple of 16 bytes for bring = tensor, got 8}}
norm.kernel @mapped_anywhere(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    align(8, 16) schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, whose elements are no neighbours along its last axis; supported: a stride of 1 there}}
norm.kernel @mapped_across(%x: memref<64x64xf32, strided<[1, 64]>>, %y: memref<64xf32>) space(%m = 64, %n = 64)
    align(16, 16) schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %n] : memref<64x64xf32, strided<[1, 64]>>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<64xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, which has 6 axes; supported: 5}}
norm.kernel @mapped_of_six_axes(%x: memref<?x2x2x2x2x64xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0), %a = 2, %b = 2, %c = 2, %d = 2, %n = 64)
    align(16, 16) schedule(#norm.schedule<spread = [[grid], [register(2)], [register(2)], [register(2)], [register(2)], [lane(32), vector(2)]],
                                                 keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %a, %b, %c, %d, %n] : memref<?x2x2x2x2x64xf32>
  %1 = norm.reduce add %0 over(%a, %b, %c, %d, %n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, which has 2147483648 elements along an axis; supported: 1 to 2147483647}}
norm.kernel @mapped_too_far(%x: memref<2147483648xf32>, %y: memref<2147483648xf32>) space(%n = 2147483648)
    align(16, 16) schedule(#norm.schedule<spread = [[grid, lane(32), vector(4)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%n] : memref<2147483648xf32>
  norm.write %0, %y[%n] : memref<2147483648xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 1, which is not written whole, element by element; supported: an access at a dim of its own for each axis}}
norm.kernel @mapped_in_halves(%x: memref<?x64xf32>, %y: memref<?x128xf32>) space(%m = dim(%x, 0), %n = 64)
    align(16, 16) schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [none, shared], bring = tensor>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  norm.write %0, %y[%m, %n] : memref<?x128xf32>
  norm.write %0, %y[%m, %n + 64] : memref<?x128xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, which a result is written over, and which is not read whole, element by element; supported: an access at a dim of its own for each axis}}
norm.kernel @mapped_over(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %a = 2, %n = 32)
    align(16, 16) aliases(%y = %x)
    schedule(#norm.schedule<spread = [[grid], [register(2)], [lane(32)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %a * 32 + %n] : memref<?x64xf32>
  %1 = arith.negf %0 : f32
  norm.write %1, %y[%m, %a * 32 + %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, which is copied even if dim 1 has no points; supported: at least one (norm.min), or a dim that passes in a loop or over CTAs}}
norm.kernel @mapped_without_elements(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    align(16, 16) multiples(dim(%x, 1) = 4) bounds(dim(%x, 1) <= 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: bring = tensor of buffer 0, whose elements are the same along an axis; supported: strides of at least 16 bytes}}
norm.kernel @mapped_of_one_row(%x: memref<?x64xf32, strided<[0, 1]>>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    align(16, 16) schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [shared], bring = tensor>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32, strided<[0, 1]>>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: keep = [shared] of buffer 1, which is read at computed places; supported: registers, l1, l2 and none}}
norm.kernel @gathered_in_shared_memory(%i: memref<?xi32>, %x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%i, 0), %n = 64)
    align(16, 16, 16) schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], keep = [register, shared, register], bring = cp_async>) {
  %0 = norm.read %i[%m] : memref<?xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %x[%1, %n] : memref<?x64xf32>
  %4 = norm.reduce add %2 over(%n) : f32
  %5 = arith.divf %2, %4 : f32
  norm.write %5, %y[%m, %n] : memref<?x64xf32>
}

// -----

// expected-error @+1 {{unsupported: aligned_dim = 1 along which a computed place is accessed; supported: accesses at dims and numbers}}
norm.kernel @gathered_along_an_aligned_dim(%i: memref<?xi32>, %x: memref<?x67xf32>, %y: memref<?x67xf32>, %z: memref<?x67xf32>)
    space(%m = dim(%i, 0), %n = 67) align(16, 16, 16, 16)
    schedule(#norm.schedule<spread = [[grid], [register(2), lane(32), vector(4)]], aligned_dim = 1>) {
  %0 = norm.read %i[%m] : memref<?xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %x[%1, %n] : memref<?x67xf32>
  %4 = norm.read %y[%m, %n] : memref<?x67xf32>
  %5 = norm.reduce add %4 over(%n) : f32
  %6 = arith.divf %4, %5 : f32
  %7 = arith.addf %2, %6 : f32
  norm.write %7, %z[%m, %n] : memref<?x67xf32>
}

// -----

// Rows that lie apart are copied one by one.
// expected-error @+1 {{unsupported: bring = bulk of buffer 0, of which a CTA holds 128 runs of neighbouring elements at a time; supported: 64}}
norm.kernel @rows_apart(%x: memref<?x64xf32, strided<[128, 1]>>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) align(16, 16)
    schedule(#norm.schedule<spread = [[grid, register(32), warp(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32, strided<[128, 1]>>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// As are those of which a tile holds a part.
// expected-error @+1 {{unsupported: bring = bulk of buffer 0, of which a CTA holds 128 runs of neighbouring elements at a time; supported: 64}}
norm.kernel @parts_of_rows(%x: memref<?x60xf32>, %y: memref<?x60xf32>) space(%m = dim(%x, 0), %n = 60) align(16, 16)
    schedule(#norm.schedule<spread = [[grid, register(32), warp(4)], [lane(32), vector(2)]], keep = [shared, none], bring = bulk>) {
  %0 = norm.read %x[%m, %n] : memref<?x60xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x60xf32>
}
