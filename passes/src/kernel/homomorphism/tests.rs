//! Which sums follow the first reduction of small kernels, one rule a test.

use super::{Base, Dependence, groups};
use crate::kernel::first_kernel::in_first_kernel;

/// The dependence of the first follower of the reduction of `%u` by `kind`, in a kernel whose second reduction sums the last value of
/// `terms`. The terms may use `%u`, the row's `%m`, the constants `%two` and `%zero`, and another element `%w`.
fn dependence(kind: &str, terms: &str) -> Option<Dependence> {
    let text = format!(
        "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?xf32>)
             space(%b = dim(%x, 0), %n = 64) {{
           %two = arith.constant 2.0 : f32
           %zero = arith.constant 0.0 : f32
           %u = norm.read %x[%b, %n] : memref<?x64xf32>
           %w = norm.read %y[%b, %n] : memref<?x64xf32>
           %m = norm.reduce {kind} %u over(%n) : f32
           {terms}
           %s = norm.reduce add %t over(%n) : f32
           norm.write %s, %z[%b] : memref<?xf32>
         }}"
    );
    in_first_kernel(&text, |space| {
        Some(groups(space).first()?.followers.first()?.dependence)
    })
}

fn exponential(base: Base, rate: f64) -> Option<Dependence> {
    Some(Dependence::Exponential { base, rate })
}

#[test]
fn exponentials_of_the_distance_to_a_maximum_follow_it() {
    let terms = "%d = arith.subf %u, %m : f32  %t = math.exp %d : f32";
    assert_eq!(dependence("max", terms), exponential(Base::E, 1.0));
    let scaled = "%d = arith.subf %u, %m : f32  %e = arith.mulf %d, %two : f32  %t = math.exp2 %e : f32";
    assert_eq!(dependence("max", scaled), exponential(Base::Two, 2.0));
    let weighted = "%d = arith.subf %u, %m : f32  %e = math.exp %d : f32  %t = arith.mulf %e, %w : f32";
    assert_eq!(dependence("max", weighted), exponential(Base::E, 1.0));
    let squared = "%d = arith.subf %u, %m : f32  %e = math.exp %d : f32  %t = arith.mulf %e, %e : f32";
    assert_eq!(dependence("max", squared), exponential(Base::E, 2.0));
}

#[test]
fn an_exponential_that_grows_away_from_the_extremum_does_not() {
    let terms = "%d = arith.subf %m, %u : f32  %t = math.exp %d : f32";
    assert_eq!(dependence("max", terms), None);
    assert_eq!(dependence("min", terms), exponential(Base::E, -1.0));
}

#[test]
fn an_exponential_of_another_element_does_not() {
    let terms = "%d = arith.subf %w, %m : f32  %t = math.exp %d : f32";
    assert_eq!(dependence("max", terms), None);
}

/// `exp(-100 - max(-100) + 95)` of a part overflows; with a maximum of 0 of all parts the term is small.
#[test]
fn an_exponential_times_a_growth_of_each_element_does_not() {
    let shifted = "%d = arith.subf %u, %m : f32  %e = arith.addf %d, %w : f32  %t = math.exp %e : f32";
    assert_eq!(dependence("max", shifted), None);
    let squared = "%d = arith.subf %u, %m : f32  %q = arith.mulf %w, %w : f32  %e = arith.subf %d, %q : f32
                   %t = math.exp %e : f32";
    assert_eq!(dependence("max", squared), None);
    let uniform = "%d = arith.subf %u, %m : f32  %e = arith.addf %d, %two : f32  %t = math.exp %e : f32";
    assert_eq!(dependence("max", uniform), exponential(Base::E, 1.0));
}

#[test]
fn a_reference_moves_by_as_much_as_the_extremum_or_by_less() {
    let behind = |reference: &str| {
        let terms = format!("{reference}  %d = arith.subf %u, %c : f32  %t = math.exp %d : f32");
        dependence("max", &terms)
    };
    let merges = exponential(Base::E, 1.0);
    assert_eq!(behind("%c = arith.maximumf %m, %zero : f32"), merges);
    assert_eq!(behind("%c = arith.addf %two, %m : f32"), merges);
    let is_none = "%inf = arith.constant 0xFF800000 : f32  %i = arith.cmpf oeq, %m, %inf : f32";
    assert_eq!(
        behind(&format!("{is_none}  %c = arith.select %i, %zero, %m : f32")),
        merges
    );
    assert_eq!(behind("%c = arith.minimumf %m, %zero : f32"), merges);
    assert_eq!(behind("%c = arith.mulf %m, %m : f32"), None);
    assert_eq!(behind("%c = arith.subf %zero, %m : f32"), None);
}

#[test]
fn two_references_are_one_too_many() {
    let terms = "%c = arith.mulf %m, %two : f32  %d = arith.subf %u, %m : f32  %e = math.exp %d : f32
                 %t = arith.mulf %e, %c : f32";
    assert_eq!(dependence("max", terms), None);
}

#[test]
fn a_masked_exponential_is_one() {
    let terms = "%p = arith.cmpf olt, %w, %zero : f32  %d = arith.subf %u, %m : f32  %e = math.exp %d : f32
                 %t = arith.select %p, %e, %zero : f32";
    assert_eq!(dependence("max", terms), exponential(Base::E, 1.0));
    let shifted = "%p = arith.cmpf olt, %w, %zero : f32  %d = arith.subf %u, %m : f32  %e = math.exp %d : f32
                 %t = arith.select %p, %e, %two : f32";
    assert_eq!(dependence("max", shifted), None);
}

#[test]
fn squares_of_the_distance_to_what_a_sum_gives_follow_it() {
    let terms = "%c = arith.divf %m, %two : f32  %d = arith.subf %c, %u : f32  %t = arith.mulf %d, %d : f32";
    assert_eq!(
        dependence("add", terms),
        Some(Dependence::Squares { factor: 1.0 })
    );
    assert_eq!(dependence("max", terms), None);
    let weighted = "%d = arith.subf %u, %m : f32  %e = arith.mulf %d, %d : f32  %t = arith.mulf %e, %w : f32";
    assert_eq!(dependence("add", weighted), None);
    let product = "%d = arith.subf %u, %m : f32  %t = arith.mulf %d, %u : f32";
    assert_eq!(dependence("add", product), None);
}

#[test]
fn the_reference_may_wait_for_the_number_of_points() {
    let count = "%one = arith.constant 1.0 : f32  %c = norm.reduce add %one over(%n) : f32  %r = arith.divf %m, %c : f32
                 %d = arith.subf %u, %r : f32";
    let squares = Some(Dependence::Squares { factor: 1.0 });
    assert_eq!(
        dependence("add", &format!("{count}  %t = arith.mulf %d, %d : f32")),
        squares
    );
    let weighted = "%e = arith.mulf %d, %d : f32  %t = arith.mulf %e, %c : f32";
    assert_eq!(dependence("add", &format!("{count}  {weighted}")), None);
}
