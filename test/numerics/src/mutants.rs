//! Mutation testing: runs and judges every mutant of the cases' kernels, to show how many mistakes would be detected.
//!
//! The kernels are compiled from the text of their modules, so that a surviving mutant is reported by its line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use norma_sim::mutants::{self, Mutant};
use norma_simulator::mutation::{Concern, Mutation};

use crate::Options;
use crate::check::{self, Failure};
use crate::suite;
use crate::trial::Trial;

/// Mutants caught, and all mutants.
type Count = (usize, usize);

/// Counts of caught mutants.
#[derive(Default)]
struct Tally {
    /// By what the mutants concern.
    concerns: BTreeMap<Concern, Count>,
    /// By the op and the mutation.
    kinds: BTreeMap<(String, &'static str), Count>,
}

/// Runs the mutants of each program among the cases once, on its largest number of rows, prints those that survive, and writes
/// the modules to the output folder. Returns false if a mutant that concerns synchronization survived, or a case cannot be run.
pub fn run(options: &Options) -> bool {
    let mut tally = Tally::default();
    let mut passed = true;
    for (number, case) in cases(options).iter().enumerate() {
        let name = format!("mutated-{}", number + 1);
        match judge(case, &Concern::ALL) {
            Ok((text, mutants)) => {
                println!("{name}: {case}");
                passed &= tell(&mutants, &mut tally);
                if let Err(error) = leave(&options.output, &name, &text) {
                    println!("cannot write to '{}': {error}", options.output.display());
                }
            }
            Err(failure) => {
                println!("failed: {case}\n{}", failure.why.trim_end());
                passed = false;
            }
        }
    }
    for ((op, what), (caught, all)) in &tally.kinds {
        if caught < all {
            println!("mutants: '{op}': {what}: {caught} of {all} caught");
        }
    }
    for (concern, (caught, all)) in &tally.concerns {
        println!("mutants: {concern}: {caught} of {all} caught");
    }
    passed
}

fn cases(options: &Options) -> Vec<Trial> {
    let rows = |case: &Trial| match case {
        Trial::Rows(case) => case.run.rows,
        Trial::Space(_) => 0,
    };
    let mut cases: Vec<Trial> = Vec::new();
    for case in suite::cases(options) {
        match cases.iter_mut().find(|other| other.is_same_program(&case)) {
            Some(other) if rows(other) < rows(&case) => *other = case,
            Some(_) => {}
            None => cases.push(case),
        }
    }
    cases
}

fn tell(mutants: &[Mutant], tally: &mut Tally) -> bool {
    let mut passed = true;
    for mutant in mutants {
        let mutation = &mutant.mutation;
        let concern = tally.concerns.entry(mutation.concern).or_default();
        let kind = tally
            .kinds
            .entry((mutation.site.op.clone(), mutation.what))
            .or_default();
        for (caught, all) in [concern, kind] {
            *caught += usize::from(mutant.is_caught());
            *all += 1;
        }
        if !mutant.is_caught() {
            let (op, what) = (&mutation.site.op, mutation.what);
            println!("  line {}: '{op}': {what}: {}", line(mutation), mutant.verdict);
            passed &= mutation.concern != Concern::Synchronization;
        }
    }
    passed
}

fn line(mutation: &Mutation) -> u32 {
    mutation
        .site
        .location
        .as_ref()
        .map_or(0, |location| location.line)
}

fn leave(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{name}.mlir")), text)
}

/// All mutants of a case's kernels that concern `concerns`, and the text of the module that they were made from.
///
/// # Errors
/// A case that does not compile, or is wrong without any mutation.
pub fn judge(case: &Trial, concerns: &[Concern]) -> Result<(String, Vec<Mutant>), Failure> {
    let (text, definition) = check::module(case)?;
    let bundle = check::from_module(&text, &definition)?;
    let problem = check::problem(&bundle, case)?;
    let request = case.request(norma_simulator::Options::default());
    let mutants =
        mutants::mutants(&bundle, &problem, &request, concerns, &|_, _| ()).map_err(check::refused)?;
    Ok((text, mutants))
}

#[cfg(test)]
mod tests {
    use norma_bundle::Element::{BF16, F32};
    use norma_sim::mutants::{Caught, Verdict};
    use norma_simulator::Finding;

    use super::*;
    use crate::case::{Case, Keep, Op, Schedule};
    use crate::source::named::Call;
    use crate::table::dependent::{LOADED, PRODUCED};
    use crate::table::{WEIGHTED, plain, rings};

    fn scheduled(op: Op, columns: i64, schedule: Schedule) -> Case {
        let mut case = plain(op, BF16, columns);
        case.program.schedule = Some(schedule);
        case.run.rows = 2 * schedule.rows_per_cta * schedule.rows_per_thread + 1;
        case
    }

    /// The lines named by a finding.
    fn lines(finding: &Finding) -> Vec<u32> {
        let notes = finding.notes.iter().filter_map(|note| note.site.as_ref());
        let sites = [&finding.site].into_iter().chain(notes);
        sites
            .filter_map(|site| site.location.as_ref())
            .map(|location| location.line)
            .collect()
    }

    /// Asserts that a missing barrier is reported by an access on either side of it, with no other barrier in between.
    fn names_its_neighbours(text: &str, mutant: &Mutant, finding: &Finding) {
        let line = line(&mutant.mutation);
        let barriers = (1..)
            .zip(text.lines())
            .filter(|(_, text)| text.contains("nvvm.barrier"));
        let barriers: Vec<u32> = barriers.map(|(line, _)| line).collect();
        let before = barriers
            .iter()
            .rfind(|other| **other < line)
            .map_or(0, |other| *other);
        let behind = barriers
            .iter()
            .find(|other| **other > line)
            .map_or(u32::MAX, |other| *other);
        let named = lines(finding);
        assert!(
            named.iter().any(|named| (before..line).contains(named)),
            "{finding}"
        );
        assert!(
            named.iter().any(|named| (line..behind).contains(named)),
            "{finding}"
        );
    }

    fn all_are_caught(case: &Case, fewest: usize) {
        let case = &Trial::from(case.clone());
        let (text, mutants) = judge(case, &[Concern::Synchronization]).expect("a case that is right");
        assert!(mutants.len() >= fewest, "{case}: {} mutants", mutants.len());
        for mutant in &mutants {
            let Verdict::Caught {
                how: Caught::Finding(finding),
                ..
            } = &mutant.verdict
            else {
                panic!("{case}: line {}: {}", line(&mutant.mutation), mutant.verdict);
            };
            if mutant.mutation.what == "drop the barrier" {
                names_its_neighbours(&text, mutant, finding);
            }
        }
    }

    #[test]
    fn each_barrier_of_a_row_of_several_warps_is_missed() {
        let one = Schedule {
            threads_per_row: 128,
            ..Schedule::default()
        };
        all_are_caught(&scheduled(WEIGHTED, 4096, one), 2);
        all_are_caught(&scheduled(Op::LayerNorm { affine: Some(F32) }, 1000, one), 4);
        all_are_caught(&scheduled(Op::Softmax, 769, one), 4);
        all_are_caught(&scheduled(Op::LayerNormWelford, 1001, one), 2);
        all_are_caught(&scheduled(Op::CrossEntropy, 1000, one), 4);
    }

    #[test]
    fn each_barrier_of_several_rows_in_a_cta_is_missed() {
        let two = Schedule {
            rows_per_cta: 2,
            threads_per_row: 64,
            ..Schedule::default()
        };
        all_are_caught(&scheduled(WEIGHTED, 1000, two), 2);
        all_are_caught(&scheduled(Op::LayerNorm { affine: None }, 1000, two), 4);
        let four = Schedule {
            rows_per_cta: 4,
            threads_per_row: 128,
            rows_per_thread: 2,
            ..Schedule::default()
        };
        all_are_caught(&scheduled(WEIGHTED, 1000, four), 2);
    }

    #[test]
    fn each_barrier_of_a_row_that_is_read_again_is_missed() {
        let again = Schedule {
            threads_per_row: 64,
            keep: Keep::Nowhere,
            ..Schedule::default()
        };
        all_are_caught(&scheduled(Op::LayerNorm { affine: None }, 1000, again), 4);
    }

    #[test]
    fn each_barrier_behind_a_loop_over_the_row_is_missed() {
        let looped = Schedule {
            threads_per_row: 64,
            chunk: Some(4),
            keep: Keep::L1,
            ..Schedule::default()
        };
        all_are_caught(&scheduled(Op::LayerNorm { affine: None }, 1000, looped), 4);
    }

    /// Asserts that each synchronization mutant of an exchange between warps and CTAs is caught, except two that change
    /// nothing: the arrival that expects the bytes publishes nothing, so it need not release; and the only named barrier of a
    /// kernel may have any number.
    fn exchanges_are_caught(case: &Case, fewest: usize) {
        caught_but_for(case, fewest, &["relax the arrival", "use the next barrier"]);
    }

    /// Asserts that each synchronization mutant of a case is caught, except those named in `changes_nothing`.
    fn caught_but_for(case: &Case, fewest: usize, changes_nothing: &[&str]) {
        let case = &Trial::from(case.clone());
        let (_, mutants) = judge(case, &[Concern::Synchronization]).expect("a case that is right");
        assert!(mutants.len() >= fewest, "{case}: {} mutants", mutants.len());
        for mutant in &mutants {
            let is_caught = matches!(mutant.verdict, Verdict::Caught { .. });
            assert!(
                is_caught || changes_nothing.contains(&mutant.mutation.what),
                "{case}: line {}: {}: {}",
                line(&mutant.mutation),
                mutant.mutation.what,
                mutant.verdict
            );
        }
    }

    #[test]
    fn each_part_of_an_exchange_between_ctas_is_missed() {
        let held = Schedule {
            ctas_per_row: 4,
            threads_per_row: 64,
            ..Schedule::default()
        };
        exchanges_are_caught(&scheduled(WEIGHTED, 1000, held), 10);
        exchanges_are_caught(&scheduled(Op::Softmax, 769, held), 16);
        exchanges_are_caught(&scheduled(Op::VarianceAndAmax, 1000, held), 10);
    }

    /// Each part has five rows, so stages and buffers of the exchange are filled several times.
    #[test]
    fn each_part_of_the_rings_of_a_cluster_is_missed() {
        const WALK: Call = Call {
            op: "rms_norm_grad",
            operands: &[("dy", "?xNxX"), ("weight", "NxX"), ("rstd", "?xA")],
            results: &[("dx", "?xNxY"), ("dweight", "NxX")],
            by_keyword: true,
            schedule: Some(
                "spread = [[loop, split(2)], [cluster(2), warp(2), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 2, producer_warps = 1",
            ),
            ..Call::PLAIN
        };
        let mut case = plain(Op::Named(&WALK), F32, 512);
        case.run.rows = 10;
        exchanges_are_caught(&case, 30);
    }

    /// Each part has seven rows, so each stage is filled several times; with one stage, each step waits for its own copies.
    /// Threads read elements that other threads copied, or they would not have to wait for one another.
    #[test]
    fn each_wait_for_copies_of_threads_is_missed() {
        const WALK: Call = Call {
            op: "rms_norm_grad",
            operands: &[("dy", "?xNxX"), ("weight", "NxX"), ("rstd", "?xA")],
            results: &[("dx", "?xNxY"), ("dweight", "NxX")],
            by_keyword: true,
            schedule: Some(
                "spread = [[loop, split(2)], [warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = cp_async, stages = 3",
            ),
            ..Call::PLAIN
        };
        const STEPS: Call = Call {
            schedule: Some(
                "spread = [[loop, split(2)], [warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = cp_async",
            ),
            ..WALK
        };
        for call in [&WALK, &STEPS] {
            for columns in [512, 511] {
                let mut case = plain(Op::Named(call), F32, columns);
                case.run.rows = 14;
                exchanges_are_caught(&case, 6);
            }
            // No instruction copies 2 bytes, so the threads copy through registers and wait for one another alone.
            let mut case = plain(Op::Named(call), BF16, 511);
            case.run.rows = 14;
            exchanges_are_caught(&case, 4);
        }
    }

    #[test]
    fn each_wait_for_a_row_that_threads_copy_is_missed() {
        let held = Schedule {
            threads_per_row: 64,
            keep: Keep::SharedByThreads,
            ..Schedule::default()
        };
        exchanges_are_caught(&scheduled(WEIGHTED, 1000, held), 6);
        exchanges_are_caught(&scheduled(Op::Softmax, 1002, held), 6);
        // No instruction copies 2 bytes: threads copy through registers, and read elements that other threads copied.
        let vectors = Schedule { vector: 8, ..held };
        exchanges_are_caught(&scheduled(Op::Softmax, 1001, vectors), 4);
    }

    /// Each thread reads elements of a run that other threads left, and the results take the place of what has been read.
    #[test]
    fn each_wait_for_a_run_of_rows_is_missed() {
        const RUNS: Call = Call {
            schedule: Some(
                "spread = [[grid, warp(4)], [register(8), lane(32)]], keep = [shared, shared], bring = load",
            ),
            ..SHARED_ROWS
        };
        for (x, columns) in [(F32, 201), (BF16, 255)] {
            let mut case = plain(Op::Named(&RUNS), x, columns);
            case.run.rows = 14;
            exchanges_are_caught(&case, 3);
        }
    }

    /// Each kernel waits for the one ahead once on each path. The first kernel's consumers wait for themselves, so that the arrival
    /// of its producer publishes nothing to them.
    #[test]
    fn each_wait_for_the_kernel_ahead_is_missed() {
        for (call, fewest) in [(&LOADED, 4), (&PRODUCED, 40)] {
            let mut case = plain(Op::Named(call), F32, 512);
            case.run.rows = 14;
            exchanges_are_caught(&case, fewest);
        }
    }

    /// Softmax over rows that two CTAs share.
    const SHARED_ROWS: Call = Call {
        op: "softmax",
        ..Call::PLAIN
    };

    /// Each CTA goes through the ring several times, and its warps exchange the row's maximum and sum. Two mutants change
    /// nothing: the only named barrier of a partition may have any number, and the arrival that expects bytes publishes
    /// nothing.
    #[test]
    fn each_part_of_a_ring_whose_tiles_are_drawn_is_missed() {
        const RING: Call = Call {
            schedule: Some(
                "spread = [[loop, grid(2)], [warp(2), lane(32), vector(4)]], keep = [shared, none], bring = bulk, stages = 2, \
                 producer_warps = 1, hand_out = dynamic",
            ),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&RING), F32, 256);
        case.run.rows = 13;
        exchanges_are_caught(&case, 20);
    }

    /// The first CTA of a cluster draws for both, each goes through its ring several times, and they exchange the row's maximum and sum.
    #[test]
    fn each_part_of_a_ring_whose_tiles_a_cluster_draws_is_missed() {
        const RING: Call = Call {
            schedule: Some(
                "spread = [[loop, grid(2)], [cluster(2), warp(2), lane(32), vector(4)]], keep = [shared, none], bring = bulk, stages = 2, \
                 producer_warps = 1, hand_out = dynamic",
            ),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&RING), F32, 512);
        case.run.rows = 23;
        exchanges_are_caught(&case, 30);
    }

    /// Rows that begin anywhere, of which the last one ends within the last bytes of the buffer that a copy could bring.
    #[test]
    fn each_part_of_rings_over_rows_that_begin_anywhere_is_missed() {
        const RING: Call = Call {
            schedule: Some(
                "spread = [[loop, grid(1), grid(4)], [register(2), cluster(2), warp(2), lane(32), vector(4)]], keep = [shared, none], \
                 bring = bulk, stages = 2, producer_warps = 1, aligned_dim = 1",
            ),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&RING), F32, 1003);
        case.run.rows = 31;
        exchanges_are_caught(&case, 30);
    }

    /// Two groups of consumers take steps in turns, several each, and get the registers of the producers. Each barrier of a group is its own,
    /// and the first group waits for what the second one has accumulated.
    #[test]
    fn each_part_of_steps_taken_in_turns_is_missed() {
        const TURNS: Call = Call {
            schedule: Some(
                "spread = [[loop, grid(2)], [warp(4), lane(32), vector(4)]], keep = [shared, none], bring = bulk, stages = 2, \
                 producer_warps = 4, producer_registers = 24, consumer_groups = 2, min_ctas_per_sm = 1",
            ),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&TURNS), F32, 512);
        case.run.rows = 13;
        exchanges_are_caught(&case, 30);
        const ACCUMULATED: Call = Call {
            schedule: Some(
                "spread = [[loop, split(2)], [warp(2), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 2, producer_warps = 1, consumer_groups = 2",
            ),
            ..rings::RMS
        };
        let mut case = plain(Op::Named(&ACCUMULATED), F32, 256);
        case.run.rows = 13;
        exchanges_are_caught(&case, 30);
    }

    #[test]
    fn each_part_of_tiles_that_are_drawn_and_loaded_is_missed() {
        const LOADED: Call = Call {
            schedule: Some("spread = [[loop, grid(2)], [warp(2), lane(32), vector(4)]], hand_out = dynamic"),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&LOADED), F32, 256);
        case.run.rows = 13;
        // The barriers of the row's reductions also order what the draw's mbarrier orders, and only threads arrive at that
        // mbarrier.
        let of_mbarrier = ["relax the arrival", "drop the wait", "drop the fence"];
        caught_but_for(&case, 12, &of_mbarrier);
    }

    /// Steps take turns with the shared memory that results are sent from, several times each.
    #[test]
    fn each_part_of_results_that_are_sent_is_missed() {
        const SENT: Call = Call {
            schedule: Some(
                "spread = [[loop, grid(2)], [warp(2), lane(32), vector(4)]], keep = [shared, shared], bring = bulk, stages = 2, \
                 producer_warps = 1",
            ),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&SENT), F32, 256);
        case.run.rows = 12;
        exchanges_are_caught(&case, 30);
    }

    /// Rows that fill only part of their last box: through rings, stored back to memory, and held.
    #[test]
    fn each_part_of_rows_by_tensor_maps_is_missed() {
        const RING: Call = Call {
            schedule: Some(
                "spread = [[loop, grid(2)], [warp(2), lane(32), vector(4)]], keep = [shared, none], bring = tensor, stages = 2, \
                 producer_warps = 1",
            ),
            ..SHARED_ROWS
        };
        // A module by itself does not say that both tensors have equally many rows, which the tensor map of the result needs.
        const SENT: Call = Call {
            x: "12xNxX",
            results: &[("y", "12xNxY")],
            schedule: Some(
                "spread = [[loop, grid(2)], [warp(2), lane(32), vector(4)]], keep = [shared, shared], bring = tensor, stages = 2, \
                 producer_warps = 1",
            ),
            ..SHARED_ROWS
        };
        for (call, fewest) in [(&RING, 20), (&SENT, 20)] {
            let mut case = plain(Op::Named(call), F32, 252);
            case.run.rows = 12;
            exchanges_are_caught(&case, fewest);
        }
        let held = Schedule {
            threads_per_row: 64,
            vector: 8,
            keep: Keep::SharedByBoxes,
            ..Schedule::default()
        };
        exchanges_are_caught(&scheduled(WEIGHTED, 1000, held), 6);
    }

    /// The atomic that draws a tile, and the counter that it increments.
    #[test]
    fn a_counter_that_is_lost_is_missed() {
        const LOADED: Call = Call {
            schedule: Some("spread = [[loop, grid(2)], [lane(32), vector(4)]], hand_out = dynamic"),
            ..SHARED_ROWS
        };
        let mut case = plain(Op::Named(&LOADED), F32, 128);
        case.run.rows = 13;
        let (text, mutants) =
            judge(&Trial::from(case), &[Concern::Synchronization]).expect("a case that is right");
        let of_counter = (1..)
            .zip(text.lines())
            .filter(|(_, text)| text.contains("llvm.atomicrmw"));
        let of_counter: Vec<u32> = of_counter.map(|(line, _)| line).collect();
        assert!(of_counter.len() >= 2, "a draw, and a reset");
        let mutants = mutants
            .iter()
            .filter(|mutant| of_counter.contains(&line(&mutant.mutation)));
        let mut count = 0;
        for mutant in mutants {
            count += 1;
            let is_caught = matches!(mutant.verdict, Verdict::Caught { .. });
            assert!(is_caught, "{}: {}", mutant.mutation.what, mutant.verdict);
        }
        assert!(count >= 3, "{count} mutants");
    }

    #[test]
    fn a_lane_that_a_mask_leaves_out_is_told_at_its_shuffle() {
        let case = scheduled(WEIGHTED, 64, Schedule::default());
        let (_, mutants) = judge(&case.into(), &[Concern::Synchronization, Concern::Exchange])
            .expect("a case that is right");
        assert!(
            mutants
                .iter()
                .all(|mutant| mutant.mutation.concern == Concern::Exchange)
        );
        let of_masks = mutants
            .iter()
            .filter(|mutant| mutant.mutation.what.ends_with("mask"));
        let mut count = 0;
        for mutant in of_masks {
            count += 1;
            let Verdict::Caught {
                how: Caught::Finding(finding),
                ..
            } = &mutant.verdict
            else {
                panic!("{}", mutant.verdict);
            };
            assert_eq!(lines(finding)[0], line(&mutant.mutation), "{finding}");
        }
        assert_eq!(count, 5);
    }
}
