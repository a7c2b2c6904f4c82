//! The constants of the cost model, each with the measurement that it comes from. GB/s and losses are of an H200; a loss without a
//! unit is in per cent of a copy's time.

use norma_targets::{ACCESS_BYTES, WARP_SIZE};

/// The fewest threads of a CTA, one warp.
pub const WARP: u64 = WARP_SIZE as u64;
/// DRAM is read and written in sectors of 32 bytes.
pub const SECTOR: f64 = 32.0;
/// The widest access of one thread, in bytes.
pub const ACCESS: f64 = ACCESS_BYTES as f64;
/// The loss of an access by lanes other than those that hold the elements of its tile, which goes through shared memory, in per
/// cent of a copy of its bytes: 18.6 bytes a cycle of an SM go to DRAM, and 128 into shared memory and out of it again. Not
/// measured; a part of it is hidden.
pub const EXCHANGE: f64 = 10.0;
/// One 16-byte access by each of an SM's 2048 threads. With so many bytes in flight a copy on an H200 loses `LOADS_IN_FLIGHT`.
pub const BYTES_IN_FLIGHT: f64 = 2048.0 * ACCESS;
/// Bytes that an SM must have in flight lest latency alone bound it, for a kernel that only reads: a sum over rows with 8, 16 and
/// 32 KB in flight on an SM reaches 1900, 3120 and 3280 GB/s. Where half of the bytes are written, half as much covers the reads:
/// softmax over 50257 columns with 16 KB in flight reaches 3880.
pub const LATENCY_BYTES: f64 = 28.0 * 1024.0;
/// The loss with `BYTES_IN_FLIGHT`, in per cent, where a step reduces what it holds and its loads wait for the step before.
/// RMSNorm's gradient at 4096 columns reaches 2363 GB/s with one CTA of 256 threads for each SM, and 3436 with two. LayerNorm at
/// 16384 columns, merged, reaches 3744 with 32 KB in flight, and 4256 with 48 KB.
pub const WALK: f64 = 14.4;
/// The loss with `BYTES_IN_FLIGHT` of a kernel without reductions: copies with 2 vectors for each thread beat 1.
pub const LOADS_IN_FLIGHT: f64 = 4.8;
/// The loss with `BYTES_IN_FLIGHT` of other kernels that write as much as they read; their lifetimes (`LIFETIME_US`) account for
/// most of the latency. The less a kernel writes, the nearer its loss is to `LOADS_IN_FLIGHT`.
pub const LOADS_IN_FLIGHT_OF_REDUCTION: f64 = 1.12;
/// Each further 16-byte load of a thread in a kernel without reductions: copies with 4 vectors per thread reach 4080 GB/s, with 1
/// vector 4230.
pub const SERIAL_LOADS: f64 = 1.2;
/// Each further 16-byte load of a thread in a kernel with reductions, which wait for all loads in any case. RMSNorm at 16384
/// columns, two CTAs for each SM: 4248 GB/s with 4 vectors for each thread, 4222 with 8.
pub const SERIAL_LOADS_OF_REDUCTION: f64 = 0.71;
/// The same where threads read rows element by element: they take longer to issue the loads, and wait less for the first ones meanwhile. By
/// the choices for rows of 769 to 8191 columns (H200, H100).
pub const SERIAL_LOADS_OF_ELEMENTS: f64 = 0.34;
/// Each further 16-byte load of a thread in a loop, while other CTAs are in another step. LayerNorm over 32768 columns, its row read
/// three times: 3943 GB/s with 32 warps and one load, 3710 with 16 warps and two.
pub const SERIAL_LOADS_IN_LOOP: f64 = 1.12;
/// The same where a loop only sums up columns: a step waits for no other warp. Sums over 262144 rows of 200 bf16 take 27.4 us with eight loads,
/// and 33.4 with four; over 32768 rows of 4096 both take 63. By the choices for 18 such kernels (docs/measurements/middle-axes.md). With it for
/// sums along rows, those of 1024 columns would take 11.9 us rather than 9.3.
pub const SERIAL_LOADS_OF_SUMS: f64 = 0.56;
/// The loss of loops that load each step's tile a step ahead, in per cent: predicates, and moves of registers.
pub const LOADS_AHEAD: f64 = 0.8;
/// The further loss where an SM has fewer than `WARPS_AHEAD` warps of such loops, for as many again as it has. RMSNorm over 60000
/// columns reaches 4178 GB/s with 32 warps and 3868 with 16, over 100000 columns 3800 and 2553; RMSNorm of a sum over 131072 columns
/// in clusters 3870 and 3618.
pub const FEW_WARPS_AHEAD: f64 = 8.0;
pub const WARPS_AHEAD: f64 = 32.0;
/// Stores between the loads of a loop's steps. A sum of two tensors that is written beside its RMSNorm, over 7168, 16384, 32768, 65536
/// and 131072 columns: 10.7, 9.8, 8.9, 12.8 and 14% slower than with loads a step ahead.
pub const STORES_BETWEEN_LOADS: f64 = 9.0;
/// The time that a CTA takes beyond moving its bytes, in microseconds: its launch, the latency of its first loads, and its end.
/// Fitted, together with the constants that follow up to `LATE_READS_OF_CLUSTER` and with `AGAIN_FROM_L1` to `EVICTED_FROM_L2`, to
/// sweeps of 2200 schedules of 151 kernels (docs/measurements/sweeps-h200.md, widths-h200.md and choices-h200.md): to what the choice
/// among them loses, and to their ratios. LayerNorm at 8192 columns: 3295 GB/s where the CTAs on an SM have bytes for 2.0 us under way, 3940
/// for 3.0 and 4248 for 4.0.
pub const LIFETIME_US: f64 = 1.7;
/// The part of a CTA's lifetime for each round in which its warps wait for one another, where it holds what it reduces, in
/// microseconds.
pub const ROUND_US: f64 = 0.105;
/// The part of a CTA's lifetime for each such round where it walks its row in a loop, whose last loads the round waits for. Softmax
/// at 32768 columns in three passes reaches 4264 GB/s with two CTAs that walk for 4 us each; cross-entropy, which moves half as
/// many bytes, 2770.
pub const ROUND_OF_LOOP_US: f64 = 0.56;
/// The parts of the lifetime of CTAs in a cluster: `CLUSTER_US` as they start and end together, and `EXCHANGE_US` for each exchange
/// of partial results between them, which is the way of the stores to other SMs and the wait for the last of them. RMSNorm at 49152
/// columns: 3440 GB/s with clusters whose CTAs have bytes for 3.0 us under way, 4150 for 3.8 and 4237 for 4.5.
pub const CLUSTER_US: f64 = 0.0455;
pub const EXCHANGE_US: f64 = 0.655;
/// The part of a CTA's lifetime for reads that only results need, from L2, where they are issued behind the reductions.
pub const LATE_READS_US: f64 = 0.1;
/// The share of a CTA's own transfer that only other CTAs hide: it reads before it reduces, and writes after. RMSNorm at 32768 columns
/// held by one CTA alone on its SM 3920 GB/s, walked by two 4276.
pub const SERIAL_SHARE: f64 = 0.55;
/// The share of a walk's own transfer that only other CTAs hide.
pub const SERIAL_SHARE_OF_LOOP: f64 = 0.042;
/// How sharply memory idles once lifetimes are not covered, as the power of a p-norm: at the limit an eighth is lost.
pub const LIFETIME_POWER: i32 = 6;
/// Microseconds in which an SM launches a CTA of a cluster, and the power of the p-norm of that and of moving the CTA's bytes.
/// RMSNorm at 16384 columns in clusters of CTAs with bytes for 0.25 us reaches 3090 to 3250 GB/s, however many warps they have;
/// softmax at 32768 columns with bytes for 0.5 us 3933, with 1 us 4187.
pub const CLUSTER_LAUNCH_US: f64 = 0.29;
pub const CLUSTER_LAUNCH_POWER: i32 = 3;
/// The loss of clusters in any case, in per cent. RMSNorm at 32768 columns: 4276 GB/s by CTAs alone, 4235 in clusters.
pub const CLUSTER: f64 = 1.13;
/// The further loss of clusters of more CTAs than are portable, in per cent, beside those that read element by element: fewer of them find a
/// place, and exchanges take longer. Drawn LayerNorm over 131072 and 200000 columns reaches 3838 and 3624 GB/s in clusters of 16, and 3964
/// and 3747 in clusters of eight with the same vectors in a thread, where the model without this term expects 0.7% more of the larger ones
/// (docs/measurements/large-clusters.md).
pub const BEYOND_PORTABLE_CLUSTER: f64 = 3.0;
/// The vectors that a thread of a cluster holds of a row that copies bring, from which on more of them lose, and the loss for each doubling,
/// in per cent. Softmax over 98304, 131072 and 262144 columns reaches 4115, 4072 and 4047 GB/s with 16 vectors in a thread, and 4140, 4145 and
/// 4128 with 8 vectors in twice as many threads (H200).
pub const COPIED_VECTORS: f64 = 8.0;
pub const COPIED_BY_FEW_THREADS: f64 = 1.0;
/// The further loss of walks that pass over each of their rows in loops, in per cent. LayerNorm's gradient reaches 1058 GB/s over 20001
/// columns and 1258 over 40001, RMSNorm's 1115 over 60001, where the model without this term expects 1550; clusters that hold the rows
/// reach 2480, 2403 and 2475 (H200).
pub const LOOPS_OF_WALK: f64 = 150.0;
/// The further loss of walks in clusters, in per cent: RMSNorm at 32768 columns 3760 to 3880 GB/s, and 4235 where clusters hold the
/// row; its sum with a residual over 262144 columns 3720, and 4109 drawn by clusters.
pub const WALK_OF_CLUSTER: f64 = 5.0;
/// The loss of clusters that walk through rings, besides their exchanges, in per cent. RMSNorm's gradient over 16384 columns reaches 4277
/// GB/s in clusters of two; over 8192 columns 3982, and 4197 without clusters.
pub const RING_OF_CLUSTER: f64 = 0.1;
/// The further loss of reads element by element in clusters, in per cent: their CTAs take as long to request fewer bytes. RMSNorm
/// at 20003 columns reaches 2575 GB/s and LayerNorm 2310, where the model without this term expects 3040 and 3160.
pub const ELEMENTS_OF_CLUSTER: f64 = 25.0;
/// The further loss of late reads, which only results need, in clusters, in per cent: all CTAs of a cluster issue them at once.
/// RMSNorm at 32768 columns in clusters of 8 CTAs: 4235 GB/s with weights read early, 3796 late.
pub const LATE_READS_OF_CLUSTER: f64 = 11.0;
/// The further loss of each late read in clusters whose rows are copied to shared memory, in per cent. Best of those clusters, and
/// best of all: softmax at 131072 columns 4210 and 4210 GB/s, RMSNorm 4056 and 4061, LayerNorm 2439 and 3535; at 65536 columns
/// RMSNorm 4142 and 4186, LayerNorm 3102 and 3418.
pub const LATE_READS_BESIDE_COPIES: f64 = 7.25;
/// The loss of clusters whose rows are copied to shared memory, in per cent, where as many bytes are written as read: the first elements are
/// reduced, and so written, once the last are there. Softmax over 98304 and 131072 columns in clusters of eight with eight vectors in a thread
/// reaches 4144 and 4178 GB/s with loads, where the model without this term expects 4.5% less of them, and 4091 and 4124 with copies (H200).
/// Cross-entropy over 128256 and 131072 columns, which writes next to nothing, is faster by 4 and 3% with copies than otherwise (H100).
pub const COPIED_ROWS: f64 = 6.5;
/// A step of a walk through a ring beyond its instructions, in microseconds: waiting for the tile, for the warps of a row, and for
/// its last stores. Fitted, with the constants that follow up to `RING_CROWDED` and with `RING_EXCHANGE_US`, to gradients of
/// RMSNorm and LayerNorm over 1024 to 20480 columns, 113 schedules, with a root mean square error of 5%
/// (docs/measurements/choices-h200.md).
pub const RING_STEP_US: f64 = 0.85;
/// A step of a walk whose rows are drawn, beyond its instructions, and what an exchange between the CTAs of a cluster adds to it, both in
/// microseconds. LayerNorm over 65536 columns in clusters of eight CTAs takes 1.06 us a step with 8 warps on each SM, and 1.2 with 16;
/// with two CTAs on each SM, whose exchanges overlap, it is as fast as a copy with 1.9 us a step, as is RMSNorm in clusters of four.
pub const DRAWN_STEP_US: f64 = 0.25;
pub const DRAWN_EXCHANGE_US: f64 = 0.5;
/// The loss of clusters whose rows are drawn, in per cent, and that of pairs of CTAs: the fastest schedule measured of each kernel is the
/// one that is chosen most often with these. Pairs reach 4145 GB/s in RMSNorm over 16384 columns, where CTAs that read their rows again
/// from L1 reach 4215; clusters of four 4184 over 32768 columns, and CTAs 4177; with residuals 4124 over 16384 columns, and CTAs 4204.
pub const DRAWN_OF_CLUSTER: f64 = 3.2;
pub const DRAWN_OF_PAIR: f64 = 6.0;
/// The warps of a CTA that share a drawn row from which on more of them lose, and the further loss for each doubling, in per cent. In clusters of
/// four LayerNorm over 24576 columns reaches 4173 GB/s with 4 warps and 4030 with 8, over 65536 columns 4101 with 8 and 3917 with 16; in
/// clusters of eight RMSNorm over 98304 columns 4214 with 4 and 4160 with 8.
pub const DRAWN_WARPS: f64 = 4.0;
pub const DRAWN_BY_MANY_WARPS: f64 = 2.0;
/// A step of a walk that holds its rows and loads none ahead, beyond its instructions and the transfer of its rows, in microseconds: the
/// latency of memory, and waiting for the warps of a row. Gradients of RMSNorm and LayerNorm over 8191 to 16383 columns take 1.1 to 1.4 us
/// a step beyond their share of a copy's time with one CTA on each SM (H100).
pub const HELD_STEP_US: f64 = 1.2;
/// A step of a walk that loads its rows a step ahead and carries no sums over them, beyond the transfer of its row, in microseconds.
/// LayerNorm over 3001 to 20001 columns and RMSNorm over 5125 to 20001 lose 60, 36, 29, 22 and 18% with 12, 20, 24, 33 and 40 KB of rows
/// at a time on an SM, alignment peeling included (H200), which 0.45 fits; with 0.36 the choice between them and rings loses least.
pub const ROW_AHEAD_US: f64 = 0.36;
/// A step of a walk through rings over rows that begin anywhere, with fixed shares and without sums over them, beyond its instructions; what
/// an exchange between the CTAs of a cluster adds, both in microseconds; the share of the time that [`ISSUE_PER_SM`] gives for the
/// instructions; what copies at multiples of 16 bytes lose, in per cent; and the power of the p-norm of the times. Fitted to 308 schedules
/// of LayerNorm and RMSNorm over 3001 to 131073 columns, with a root mean square error of 5%, but for the copies: 15% fits these schedules,
/// and with 23% the choice between them and others, which the model expects to be slower than they are, loses least
/// (docs/measurements/odd-rings.md).
pub const ODD_RING_STEP_US: f64 = 0.4;
pub const ODD_RING_EXCHANGE_US: f64 = 0.15;
pub const ODD_RING_ISSUE: f64 = 1.0;
pub const ODD_RING_COPIES: f64 = 23.0;
pub const ODD_RING_POWER: i32 = 6;
/// The same where the rows are drawn, and the power of the p-norm then. An exchange takes the time for the fourth root of a cluster's CTAs, and
/// the other CTAs on an SM hide it; a step takes nothing beyond. Fitted to 203 schedules of softmax, RMSNorm and its sum with a residual over
/// 5125 to 200001 columns, with a root mean square error of 4.4%.
pub const DRAWN_RING_EXCHANGE_US: f64 = 0.45;
pub const DRAWN_RING_COPIES: f64 = 5.0;
pub const DRAWN_RING_POWER: i32 = 3;
/// The share that a walk through a ring takes of the time that [`ISSUE_PER_SM`] gives for its instructions.
pub const RING_ISSUE: f64 = 0.38;
/// The power of the p-norm of the times of bytes, instructions and waiting, of which the longest decides.
pub const RING_POWER: i32 = 8;
/// The fewest warps of an SM with which its schedulers always find one that can issue, in a walk through a ring.
pub const RING_ISSUING_WARPS: f64 = 9.0;
/// The bytes under way on an SM from which on more of them make a walk slower, and the loss for as many again, in per cent. By hand
/// RMSNorm's gradient loses more: 4152 GB/s with three stages of 32 KB, 3997 with four, 3682 with six.
pub const RING_BYTES: f64 = 72.0 * 1024.0;
pub const RING_CROWDED: f64 = 1.1;
/// The same for rings of drawn rows that begin anywhere: RMSNorm over 65537 columns reaches 3698 GB/s with 30 clusters, and 3557 with 45 (H200).
pub const DRAWN_RING_CROWDED: f64 = 5.7;
/// The share of the time of idle SMs that is lost: the others have their part of the bandwidth.
pub const IDLE_SMS: f64 = 0.7;
/// The bytes of a tile of a ring from which on nothing is lost, and the loss for each halving, in per cent. RMSNorm's gradient over 4096
/// columns with as many bytes under way reaches 2977 GB/s by tiles of 32 KB and 2876 by tiles of 16 KB (H100), 4208 and 4171 (H200).
pub const RING_TILE_BYTES: f64 = 32.0 * 1024.0;
pub const RING_TILE: f64 = 1.3;
/// Microseconds in which a wave of walks through rings starts: its CTAs prepare their barriers, read what rows share, and wait for their first
/// tiles. LayerNorm over 131073 columns takes 237, 212 and 211 us for 1143 rows in 2, 4 and 8 waves of clusters, RMSNorm's gradient over 65537
/// columns 211, 191 and 192 us for 1505 rows (H200).
pub const WALK_START_US: f64 = 3.4;
/// The share of a last wave's idle time that is lost: copies of the CTAs that still walk have all of the bandwidth.
pub const RING_WAVES: f64 = 0.42;
/// A CTA alone on its SM whose rows stay within a warp, in per cent: no barrier, but a CTA gives its registers back only when its last warp ends.
pub const LONE_CTA_OF_WARPS: f64 = 3.6;
/// A CTA alone on its SM that walks over what it sums up, and whose warps exchange their sums at the end, in per cent. Chosen so
/// that a sum over 32768 rows of 4096 columns is split as the fastest of those that were measured, 4186 GB/s.
pub const LONE_SUMMING_CTA: f64 = 18.0;
/// Rows that fewer than four warps walk with merged reductions, less a quarter of it for each warp: more rows are under way, and
/// each reads shorter pieces of memory. Cross-entropy at 32768 columns, the same loop: 3910 GB/s with one warp for a row, 3973 with
/// two, 4202 with four.
pub const FEW_WARPS: f64 = 8.0;
/// Microseconds that an exchange between the CTAs of a cluster adds to a step of a walk through a ring where one CTA is on each SM,
/// and the power of the number of CTAs on an SM with which it grows: clusters of four CTAs alone on their SMs take 0.5 to 0.8
/// longer at 12288 to 20480 columns, four of 8 warps, two on an SM, 1.4, and eight of 8 warps, four on an SM, 2.7.
pub const RING_EXCHANGE_US: f64 = 0.5;
pub const RING_EXCHANGE_POWER: f64 = 0.76;
/// The largest cluster whose exchange adds less, and its microseconds for each CTA on an SM. LayerNorm's gradient with 8192 columns
/// for each CTA takes 1.85 us a step in clusters of two and 1.95 us without; with 4096 columns for each CTA, two of which are on an
/// SM, 1.80 us in clusters of two and 2.82 us in clusters of four. With 8192 columns a pair of half the columns each is 9% faster than
/// one CTA in LayerNorm's gradient and 4% slower in RMSNorm's, which bounds the time from both sides.
pub const RING_PAIR: i64 = 2;
pub const RING_PAIR_EXCHANGE_US: f64 = 0.059;
/// Walks that carry sums over rows that begin anywhere, whose elements are masked: the share of the time that [`ISSUE_PER_SM`] gives for
/// their instructions. Fitted, together with the three constants that follow, to what the choice among 652 schedules of gradients of
/// RMSNorm and LayerNorm over 1001 to 65537 columns loses. Some of these schedules read elements one by one; the model expects them to be
/// an eighth slower than they are, and so it does of the others (docs/measurements/odd-rings.md).
pub const ODD_SUMS_ISSUE: f64 = 0.72;
/// The fewest warps with which an SM's schedulers always find one that can issue.
pub const ODD_SUMS_ISSUING_WARPS: f64 = 8.0;
/// The power of the p-norm of the times.
pub const ODD_SUMS_POWER: i32 = 3;
/// What an exchange between two CTAs adds, in microseconds for each CTA on an SM.
pub const ODD_SUMS_PAIR_EXCHANGE_US: f64 = 0.12;
/// Launching a CTA, divided by its threads: fits CTAs of 128 and 256 threads for short rows.
pub const LAUNCH: f64 = 80.0;
/// Bytes that a CTA must read lest the launch of CTAs bound the kernel: rows of 512 columns in CTAs of one row each, 1 KB, reach
/// 3150 GB/s, that is 0.65 ns for each CTA.
pub const LAUNCH_BYTES: f64 = 1300.0;
/// The loss if all lanes of a CTA of 512 threads held no element of the row; it grows with the cube of the threads. Rows of 7168
/// columns reach 4015 GB/s with 512 threads and 4154 with 256, of 8192 columns 4098 and 4044.
pub const DEAD_LANES: f64 = 9.0;
/// Rows of one CTA that wait at one barrier. Two rows of 256 threads lose half a per cent, and guards cost more.
pub const SHARED_BARRIER: f64 = 1.0;
/// SMs that fill up with new CTAs while others run dry, divided by the number of waves; nothing where one wave holds all. 32768
/// rows of 128 columns reach 3060 GB/s in one wave, 2909 in 1.3 and 2904 in 1.9.
pub const WAVES: f64 = 10.5;
/// Accesses narrower than 16 bytes, for each further access that the same bytes take: rows of 4095 columns, read 2 bytes at a time,
/// reach 3465 GB/s, rows of 4096 columns 4168.
pub const NARROW_ACCESSES: f64 = 2.4;
/// The further loss by a read that only results need, where each thread of a held row makes twice [`FEW_LATE_ELEMENTS`] of it one by one.
/// LayerNorm, which has two, reaches 78% of a copy over 4097 columns with 32 elements in a thread, 67, 70 and 70% over 5125, 6001 and 10001
/// with 40, 47 and 39, and 56% over 8191 with 64 (H200).
pub const LATE_ELEMENTS: f64 = 22.0;
pub const FEW_LATE_ELEMENTS: f64 = 32.0;
/// The ends of rows that begin anywhere, which are accessed element by element. Softmax over 50257 columns reaches 4034 GB/s of
/// 4297.
pub const ROW_ENDS: f64 = 3.2;
/// Reads that are aligned differently from the tile, such as a weight that all rows share, and are made element by element, once
/// for the rows of a CTA. RMSNorm over 4095 columns with one, two and four rows for each CTA: 2456, 3161 and 3344 GB/s, against
/// 3465 where nothing is aligned.
pub const UNALIGNED_READS: f64 = 31.0;
/// Reads that are aligned differently from the tile and are made as the two aligned words around each vector: what is left of the
/// losses at 4097 and 5125 columns.
pub const COVERED_READS: f64 = 5.2;
/// The further loss of rows with alignment peeling that are walked, and that of walked ones with reads that are made as two aligned words.
/// RMSNorm over 4095, 4097, 6001 and 8191 columns reaches 3890, 3922, 3784 and 3890 GB/s held with early reads or drawn by clusters, and 3899,
/// 3792, 3670 and 3541 walked two vectors a step.
pub const WALKED_ALIGNED_ROWS: f64 = 2.0;
pub const WALKED_COVERED_READS: f64 = 4.0;
/// The further loss of rows with alignment peeling that are held over several reductions, and that by so many warps or more, which wait for
/// one another in each reduction. Softmax reaches 3790 to 3867 GB/s from 2047 to 14001 columns so, and in loops 3979, 4059, 4124 and 3991 over
/// 5001, 7001, 8191 and 14001 columns; over 9001, 10001 and 11111 columns, which eight warps hold, it takes 19, 14 and 11% longer than in a
/// loop, over 2047 and 3501 columns, held by one and two, 10% less.
pub const HELD_OVER_REDUCTIONS: f64 = 6.0;
pub const HELD_OVER_REDUCTIONS_BY_MANY_WARPS: f64 = 8.5;
pub const MANY_WARPS_OF_ROW: u64 = 4;
/// The further loss where a step has one vector of a read that is made as two aligned words. RMSNorm with two vectors a step is faster
/// by 4.7% over 4097 columns, 6.1% over 5125, 3.8% over 20003 and 6.7% over 50257.
pub const SINGLE_COVERED_READS: f64 = 3.5;
/// The further loss where a thread walks several of them: over 4097 columns 3684 GB/s with two rows.
pub const ROWS_WALKED_TOGETHER: f64 = 8.8;
/// The further loss of rows with alignment peeling that are held with late reads: over 4097 columns 3220 GB/s with early reads,
/// 2940 with late ones; over 5125 columns 3145 and 2680.
pub const LATE_READS_OF_ALIGNED_ROWS: f64 = 15.0;
/// Rows that one thread walks together with alignment peeling end together: the bytes of rows that an SM must have in flight for
/// each of them lest it idle meanwhile, and the loss where only half as many are, in per cent. RMSNorm with two rows for each
/// thread: 3534 GB/s over 4097 columns with 96 KB under way, 3140 over 5125 columns with 80 KB, 2846 over 4095 columns with 64 KB;
/// LayerNorm over 4095 columns with four rows and 64 KB 1908.
pub const BYTES_BESIDE_ENDING_ROW: f64 = 48.0 * 1024.0;
pub const ENDING_TOGETHER: f64 = 26.0;
/// Sectors of which one request of a warp uses half of the bytes; the rest is in L1 for the next request. Not measured.
pub const PARTIAL_SECTORS: f64 = 30.0;
/// Bytes read from DRAM that no thread uses, relative to those that are used.
pub const WASTED_BYTES: f64 = 100.0;
/// The bytes of a run of neighbouring elements from which on DRAM serves it best, and the loss for each halving, in per cent. A sum
/// over rows of bf16 reaches 4163 GB/s with runs of 512 bytes and 3340 with 256; batch statistics 4298 with 512 and 3016 with 32.
pub const RUN: f64 = 512.0;
pub const SHORT_RUNS: f64 = 12.0;
/// The factor on `SHORT_RUNS` for writes. GroupNorm over neighbouring channels reaches 1984 GB/s with runs of 32 bytes, 2551 with
/// 64.
pub const SHORT_WRITES: f64 = 2.5;
/// The bytes that a CTA writes of a run that its neighbours continue, from which on nothing is lost, the loss for one halving, in per cent,
/// and the power with which it grows with their number. Quantizing the transpose of 8192x16384 in blocks of 32 reaches 4058 GB/s where CTAs
/// write 256 bytes of each row, 3978 with 128, and 3782 with 64; a third of the bytes are written.
pub const PART: f64 = 256.0;
pub const SHORT_PARTS: f64 = 6.0;
pub const SHORT_PARTS_POWER: f64 = 1.75;
/// The bytes of a piece that one request reads of a run that the next CTAs continue, from which on nothing more is lost, and the loss for each
/// halving. Sums and squares over 4096 rows of 320 bf16 for 8 images, in 16 parts, take 10.3 us by pieces of 32 bytes, 8.0 by pieces of 128.
/// GroupNorm over 512 channels is fastest in clusters that read pieces of 64 bytes.
pub const PIECE: f64 = 64.0;
pub const SHORT_PIECES: f64 = 20.0;
/// The loss for each halving of the run of one request, where other requests of the CTA access what lies beside it at the same
/// time: 128 columns reach 2840 GB/s with requests of 8 pieces of 64 bytes, 2893 with whole ones.
pub const SHORT_REQUESTS: f64 = 1.0;
/// Rereads from L1, and (`AGAIN_FROM_L2`) from L2, as a share of all bytes. RMSNorm at 16384 columns: 4278 GB/s from L1, 4238 from
/// L2, 4237 from registers; LayerNorm there 4255, 4068 and 4105. At 4096 columns, where nothing else is lost, 4164 and 4142 from L1
/// and 4168 from registers.
pub const AGAIN_FROM_L1: f64 = 2.5;
/// The share of L1 from which on the rows in it are partly evicted before they are read again; as many bytes of them remain. Of the
/// schedules in the sweeps that differ in `keep` alone, reading again from L1 is the faster one by 12% where rows take 0.6 to 1 of L1, by 5%
/// at 2, and by nothing from 4 on.
pub const L1_SHARE: f64 = 0.417;
pub const AGAIN_FROM_L2: f64 = 18.6;
/// Rows kept in an L1 that is too small for them, as a share of all bytes. Not measured.
pub const MISPLACED: f64 = 1.0;
/// The shares of L2 at which rows to be read again begin to be evicted, and at which all are. RMSNorm from L2 with two rows
/// on each SM of 132: 4167 GB/s at 32768 columns (17 MB), 3704 at 65536 (35 MB), 2934 at 131072 (69 MB); softmax over 201088 columns
/// with two CTAs on an SM, whose rows are 106 MB, 2843. Rows that are passed over in turns lose their place just before they are needed
/// again, so that little lies between both.
pub const L2_FULL: [f64; 2] = [0.55, 0.7];
/// The further loss of rereads once all rows are evicted from L2: the bytes come from DRAM again.
pub const EVICTED_FROM_L2: f64 = 85.0;
/// Registers as of `BASE_REGISTERS`, of a kernel that reads its row again in a loop: ptxas takes 32 and 38 for 1 and 2 vectors at a
/// time.
pub const BASE_REGISTERS_OF_LOOP: u64 = 22;
/// Registers as of `BASE_REGISTERS`, of a walk over rows that reduces within each step and uses what it read before and after that:
/// RMSNorm's gradient with one access of each input needs 78.
pub const BASE_REGISTERS_OF_WALK: u64 = 48;
/// Registers as of `BASE_REGISTERS`, of a walk that loads its rows ahead and carries no sums: LayerNorm over 10001 and 16385 columns does
/// with 128 in all, with five accesses of each row.
pub const BASE_REGISTERS_AHEAD: u64 = 40;
/// Registers as of `BASE_REGISTERS`, of a walk through a ring: RMSNorm's gradient at 4096 columns takes 70 in all.
pub const BASE_REGISTERS_OF_RING: u64 = 30;
/// Registers of a kernel besides the row and what is read early: addresses, the reduction, the second phase. ptxas takes 32, 40, 48
/// and 63 for 1, 2, 3 and 4 vectors of bf16 row and weight.
pub const BASE_REGISTERS: u64 = 24;
/// The share of the registers that the model expects of a walk that holds rows with which ptxas may manage. For 24 walks over 4095 to
/// 5125 columns it took 0.85 to 1.1 of them (ptxas 13.0), and one more CTA on an SM decides: LayerNorm's gradient over 4097 columns
/// reaches 2503 GB/s with two CTAs of 117 registers, where 133 were expected, and 1565 with one (H100). The assembler finds out which
/// bounds spill.
pub const SQUEEZED: f64 = 0.9;
/// Registers of a walk that loads a step ahead besides the elements that it holds, if it has no more: with 1024 threads LayerNorm's
/// gradient over 6001 columns holds 48 registers of elements and does with 64, where it takes 120 if it may (ptxas 13.0); it reaches 2431
/// GB/s so, and 1055 by the best of the others (H100).
pub const LEAST_REGISTERS_OF_WALK: u64 = 16;
/// The loss of walks that load a step ahead where they have half as many registers as they are expected to take, in per cent. LayerNorm's
/// gradient over 5125 columns reaches 2890 GB/s with 512 threads of 120 registers, and 2224 with 1024 of 64, where 88 are expected; over
/// 8191 columns 2168 with 128 where 160 are expected, and 2896 with two CTAs that load none ahead (H200).
pub const FEW_REGISTERS: f64 = 120.0;
/// Registers for each row of a thread with alignment peeling, whose ends have addresses and predicates of their own: for RMSNorm
/// over 4097 columns, two accesses of each row, ptxas takes 40, 59 and 102 registers with one, two and four rows.
pub const REGISTERS_OF_ALIGNED_ROWS: u64 = 8;
/// Microseconds of one kernel beyond its bytes: launch and drain. A copy of 16 MB takes 2.3 us longer than its share of one
/// of 2 GB.
pub const KERNEL_US: f64 = 2.3;
/// What the kernels of reductions in two stages take, as a multiple of a copy of the same bytes: sums over rows and elementwise kernels
/// take 1.0 to 1.05.
pub const STAGED: f64 = 1.05;
/// The exchange between the warps of a CTA at the end of its part of a split reduction, for each doubling of the warps, in
/// microseconds: the parts are of one wave and end together, so that nothing hides it. It is a barrier and a few KB through shared memory:
/// RMSNorm's gradient over 32768 rows of 128 columns, 5 us of bytes, is 15% faster with four warps than with two, which are too few to issue
/// its instructions (H200).
pub const END_OF_PART_US: f64 = 0.5;
/// CTAs of an SM among which the first of these kernels is spread, the bytes of each row that such a CTA reads, and the rows of a part that it
/// reduces at the least. Sums and squares over 4096 rows of 320 bf16 for 32 images take 30, 21.8 and 24.9 us in 1, 4 and 64 parts, over 1024
/// rows of 640 13.5, 12.2 and 14.9, and over 16384 rows of 512 for 8 images 49 in 1 part and 34.2 and 34.6 in 16 and 64
/// (docs/measurements/group-norm.md).
pub const CTAS_OF_STAGE: u64 = 4;
pub const RUN_OF_STAGE: u64 = 128;
pub const ROWS_OF_PART: u64 = 64;
/// The H200's boost clock.
pub const CYCLES_PER_SECOND: f64 = 1.755e9;
/// Instructions that an SM issues in a second: four schedulers, and the share of issue slots that kernels of this kind fill. Softmax over 4097
/// columns, held by 4, 8 and 16 warps, takes 3168, 5048 and 9344 instructions of warps for a row, of which the last two bound it: 4.5, 5.6 and
/// 10.0 ns, in which the slots are for 4200, 5200 and 9300.
pub const ISSUE_PER_SM: f64 = SCHEDULERS * CYCLES_PER_SECOND * 0.9;
/// The fewest warps of an SM with which its schedulers always find one that can issue. Cross-entropy over 32001 columns with 12
/// warps, whose rows take eight accesses a step, reaches 3215 GB/s; over 50257 columns with 28 warps 4041, with 12 warps 3597.
pub const ISSUING_WARPS: f64 = 16.5;
/// The same where a thread holds all elements that it reduces, whose instructions do not wait for one another. Softmax along the middle axis of
/// 64x512x1024, 128 elements in each thread of twelve warps, takes 38.6 us, and LayerNorm of 32x192x3136 by eight warps 21.9, where all slots
/// would be 28 and 15 us (H200).
pub const ISSUING_WARPS_OF_HELD: f64 = 10.0;
/// Instructions of one op of the body on one element, or of one access: conversions, addresses and predicates included. Held rows take 7.5
/// instructions an element in RMSNorm, 9.0 with a residual, 13.3 in LayerNorm and 11.3 in softmax, and have 5, 6, 7 and 7 ops beside their
/// accesses; where an access moves one element, 12.0, 18.5 and 13.6 in RMSNorm, LayerNorm and softmax (sm_90a, ptxas 13.0).
pub const INSTRUCTIONS_PER_OP: f64 = 1.3;

/// Ops of all threads of a row for the ends of a row with alignment peeling, in each pass over an access: with [`INSTRUCTIONS_PER_OP`] 100
/// instructions. RMSNorm held by four warps takes 255 instructions over 4096 columns and 633 over 4097, softmax 422 and 792, with five vectors
/// of a thread for four; by eight warps softmax over 4097 columns takes 631 (sm_90a, ptxas 13.0).
pub const OPS_OF_ROW_ENDS: f64 = 77.0;

/// Ops for each element of a vector that is shifted out of the two words around it: 11 selects and 4 funnel shifts for 8 elements.
pub const OPS_PER_SHIFT: f64 = 1.47;

/// Ops that combine two partial results of merged reductions: two exponentials, or the weights of two means, and selects. Chosen so
/// that LayerNorm over 40960 columns is merged as the fastest of those that were measured.
pub const OPS_PER_MERGE: f64 = 16.0;
/// Those of them that a further result of a thread takes which shares the weights: a step of eight rows of batch statistics takes a thread with
/// eight columns 460 instructions of PTX, 16 of them divisions, where each column has weights of its own, and 380 with two divisions where they
/// share one.
pub const OPS_PER_WEIGHTED_MERGE: f64 = 8.0;
/// Ops that combine two partial means in a loop of which all steps are unrolled, so that the means' weights are constants.
pub const OPS_PER_UNROLLED_MERGE: f64 = 6.0;

/// Ops that move a vector of elements through shared memory, out of one thread and into another; a vector is what both sides hold
/// together, a single element at least. Not measured alone: a transposed quantisation that moved its result by an earlier exchange
/// reached 882 GB/s, one whose threads hold whole blocks 2387.
pub const OPS_PER_EXCHANGE: f64 = 6.0;
/// Ops that move an element of a run from shared memory to the register that holds it, or back. RMSNorm over 769 columns reaches 4019 GB/s,
/// as issue slots of four warps do not take longer than its bytes; softmax over 197 columns with 32 lanes to a row 3260, with four 4150.
pub const OPS_PER_ELEMENT_OF_RUN: f64 = 3.0;
/// Cycles of an SM for each wavefront of such accesses to shared memory. RMSNorm over 129 columns reaches 3602 GB/s where two lanes meet in
/// a bank, 2638 where four do.
pub const CYCLES_PER_WAVEFRONT: f64 = 1.2;
/// The power of the norm that combines the time of memory with those of the issue slots, of shared memory where runs go through it, and of
/// latency that too few bytes in flight cover. Softmax over 197 columns with eight, four and two rows in a warp: 4150, 4077 and 3624 GB/s.
pub const OVERLAP_POWER: i32 = 8;
/// The same where nothing is reduced, so that each thread loads, computes and stores once. SiLU of a scaled tensor of 32x4096x320 bf16 takes 44
/// us with lanes beyond the ends of rows, which issue for 35 us, and 42 us without, where the bytes take 39.
pub const ELEMENTWISE_OVERLAP_POWER: i32 = 4;
/// A step of a loop that a scan is along, beyond the transfer of its tile and its exchange, in microseconds: the loads of the step, and the wait
/// for what the one before carries. Running sums over 4096 rows of 16384 f32, one CTA on each SM: 163 us in 64 steps, 134 us in 32, and
/// 133 us in 64 whose tiles are loaded a step ahead, where the bytes take 125 (H200).
pub const SCAN_STEP_US: f64 = 0.5;
/// The loss of tiles that go through shared memory as runs, in per cent of a copy of their bytes. Over rows of 770 bf16, which threads
/// access by twos, RMSNorm reaches 4103 GB/s with runs and 4134 without.
pub const RUN_EXCHANGE: f64 = 2.5;
/// Ops of one butterfly step of a reduction within a warp, a shuffle and its combination; and of the step between warps that
/// follows, a store, a barrier, a load, and the shuffles of the warps' results. Cross-entropy over 32768 columns takes 96
/// instructions of a thread behind its loop, three reductions.
pub const OPS_PER_SHUFFLE: f64 = 2.0;
pub const OPS_BETWEEN_WARPS: f64 = 20.0;
/// The share of `OPS_BETWEEN_WARPS` for each partial result of further, neighbouring results, which a thread stores and loads in
/// vectors without bank conflicts, and combines. Quantizing 8192 columns in blocks of 32 rows: with 8 columns a thread, 3852 GB/s with a
/// block over 8 warps and 4044 over 4; with 4 columns a thread, 4183 over 4 warps and 4198 over 2.
pub const OPS_OF_FURTHER_RESULTS: f64 = 0.1;
/// Ops of an exchange between the CTAs of a cluster, turns and phases included. RMSNorm's gradient through a ring takes 95
/// instructions more where two CTAs share a row, and 103 where four or eight do; some of them run once (ptxas 13.0).
pub const OPS_BETWEEN_CTAS: f64 = 60.0;
/// Rows that begin at multiples of so many bytes lose [`BURSTS_OF_HELD_ROWS`] if CTAs request all of a row at once, and [`BURSTS_OF_CLUSTER`]
/// through the rings of clusters. With tensors that begin 4 KB further on, and nothing else changed, RMSNorm over 4096 columns, held in
/// registers, reaches 4120 rather than 4020 GB/s, and over 32768 columns, drawn by clusters, 4230 rather than 4090, where loops through L1
/// reach 4140 and 4260 with either (docs/measurements/placement.md).
pub const BURST_BYTES: u64 = 8 << 10;
pub const BURSTS_OF_HELD_ROWS: f64 = 3.0;
pub const BURSTS_OF_CLUSTER: f64 = 5.5;
/// The rows and the bytes for each SM up to which a launch is short (`short_launches`): it is over before memory is busy. No more were measured.
pub const SHORT_LAUNCH_ROWS: f64 = 2.0;
pub const SHORT_LAUNCH_BYTES: f64 = 192.0 * 1024.0;
/// Microseconds that a short launch takes in any case, one behind the other in a graph.
pub const SHORT_LAUNCH_US: f64 = 1.04;
/// The share of the time that a short launch's bytes take in which a CTA that is alone on its SM either only reads or only writes. Softmax
/// of 128 rows of 32768 columns takes 8.4 us by 128 CTAs, and 6.5 us by 1024 in clusters of eight.
pub const SHORT_SERIAL_SHARE: f64 = 0.813;
/// Microseconds of short launches, all fitted together: of each further 16 bytes that a thread loads; of late reads, and of each access in them;
/// of a round between warps, and for each warp of the CTA; of an exchange between CTAs, and for each doubling of the cluster; of a cluster for
/// each warp of a CTA; of a further CTA on an SM; of a further step of a loop; and of the ends of rows with alignment peeling.
pub const SHORT_LOAD_US: f64 = 0.058;
pub const SHORT_LATE_READS_US: f64 = 0.087;
pub const SHORT_LATE_ACCESS_US: f64 = 0.024;
pub const SHORT_ROUND_US: f64 = 0.0525;
pub const SHORT_ROUND_OF_WARP_US: f64 = 0.0154;
pub const SHORT_EXCHANGE_US: f64 = 0.0765;
pub const SHORT_EXCHANGE_OF_DOUBLING_US: f64 = 0.0367;
pub const SHORT_CLUSTER_OF_WARP_US: f64 = 0.0063;
pub const SHORT_CTA_US: f64 = 0.2;
pub const SHORT_STEP_US: f64 = 0.113;
pub const SHORT_ROW_ENDS_US: f64 = 0.44;
/// Microseconds of a short launch until a ring has its first tile. LayerNorm of 16 and 64 rows of 16384 columns takes 3.4 and 4.0 us by a ring
/// of pairs of CTAs, and 2.5 and 3.2 us at best; over five steps 0.6 fits.
pub const SHORT_RING_US: f64 = 1.0;
/// The share of the time in which the fullest SM issues its instructions that nothing hides, and the share that a warp alone on its scheduler
/// takes, which waits for its own results meanwhile.
pub const SHORT_ISSUE: f64 = 0.32;
pub const SHORT_ISSUE_OF_WARP: f64 = 0.53;
/// The schedulers of an SM, each of which issues an instruction of one of its warps in a cycle (CUDA C++ Programming Guide, "Compute Capability
/// 9.0").
pub const SCHEDULERS: f64 = 4.0;
