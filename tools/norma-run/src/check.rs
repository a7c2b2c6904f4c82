//! Whether a function computes what its reference program says, and writes nowhere else.
//!
//! Outputs start as NaN, and everything around them as a pattern that no kernel writes by accident, so that what was
//! not written, and what was written astray, shows. A second call on the same workspaces must give the same bits.

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;
use norma_bundle::evaluate::{Evaluator, Input, ReferenceError, Write};
use norma_bundle::grid::{Data, Grid, offsets};
use norma_bundle::manifest::{Function, Tensor};
use norma_bundle::program::dim_of_symbol;
use norma_bundle::tolerance::{tolerance, within};
use serde::Serialize;

use crate::call::{GUARD, Loaded, POISON, Tensors};
use crate::driver::{Device, DriverError};
use crate::failure::Failure;
use crate::fill::Random;
use crate::problem::Problem;

/// Spaces up to this many points are checked whole.
const WHOLE_SPACE: i64 = 1 << 20;
/// How many points a sampled part of a result without rows should cost.
const COLUMN_POINTS: i64 = 1 << 18;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// Whether all is as it should be.
    pub passed: bool,
    /// Each output that the reference program writes.
    pub outputs: Vec<OutputCheck>,
    /// Whether two calls gave the same bits.
    pub deterministic: bool,
    /// Tensors that were written outside of their elements, and inputs that were written at all.
    pub stray_writes: Vec<String>,
    /// Outputs that still hold what they were filled with somewhere.
    pub unwritten: Vec<String>,
    /// Workspaces that the kernels did not leave zero.
    pub dirty_workspaces: Vec<String>,
}

/// How an output compares with the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputCheck {
    /// The tensor.
    pub tensor: String,
    /// Elements compared.
    pub checked: u64,
    /// Elements beyond the tolerance.
    pub wrong: u64,
    /// The element whose error is the largest part of its tolerance; absent where nothing was compared.
    pub worst: Option<Worst>,
}

/// One element of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Its coordinates in the tensor.
    pub at: Vec<i64>,
    /// The reference's value, unrounded.
    pub expected: f64,
    /// The kernel's value.
    pub actual: f64,
    /// Their distance in ulp of the output's type at the expected value.
    pub ulps: f64,
    /// Their distance as a part of what is allowed; above 1 is wrong.
    pub part_of_tolerance: f64,
}

/// Runs `loaded` on inputs `host` and compares. `rows` bounds how many rows of a large result are compared, 0 for all.
///
/// # Errors
/// What the driver says, or a reference program that cannot be evaluated.
pub fn check(
    device: &Device,
    loaded: &Loaded<'_>,
    problem: &Problem<'_>,
    host: &BTreeMap<String, Vec<u8>>,
    rows: usize,
    random: &mut Random,
) -> Result<Check, Failure> {
    let tensors = Tensors::new(device, problem, host)?;
    let mut call = loaded.bind(device, &tensors)?;
    let stream = device.stream()?;
    let mut run = || -> Result<BTreeMap<String, Vec<u8>>, DriverError> {
        for output in &problem.function.outputs {
            tensors.buffer(&output.name).fill(POISON)?;
        }
        call.enqueue(&stream)?;
        stream.synchronize()?;
        let outputs = problem.function.outputs.iter();
        outputs
            .map(|output| Ok((output.name.clone(), tensors.buffer(&output.name).read()?)))
            .collect()
    };
    let images = run()?;
    let again = run()?;

    let mut found = Check {
        deterministic: images == again,
        dirty_workspaces: call.dirty_workspaces()?,
        ..Check::default()
    };
    for input in &problem.function.inputs {
        let image = tensors.buffer(&input.name).read()?;
        if image[GUARD..image.len() - GUARD] != host[&input.name] || !guards_are_intact(&image) {
            found.stray_writes.push(input.name.clone());
        }
    }
    for output in &problem.function.outputs {
        let image = &images[&output.name];
        let inside = elements_of(problem, output);
        let body = &image[GUARD..image.len() - GUARD];
        if !guards_are_intact(image) || !holes_are_intact(body, output.dtype, inside.as_deref()) {
            found.stray_writes.push(output.name.clone());
        }
        if has_unwritten(body, output.dtype, inside.as_deref()) {
            found.unwritten.push(output.name.clone());
        }
    }
    if let Some(program) = &problem.function.reference {
        let evaluator = Evaluator::new(program, &problem.sizes, &problem.scalars, inputs(problem, host))?;
        for write in evaluator.writes() {
            found.outputs.push(compare(
                problem,
                &evaluator,
                &write,
                &images[write.tensor],
                rows,
                random,
            )?);
        }
    }
    found.passed = found.deterministic
        && found.stray_writes.is_empty()
        && found.unwritten.is_empty()
        && found.dirty_workspaces.is_empty()
        && found.outputs.iter().all(|output| output.wrong == 0);
    Ok(found)
}

fn inputs<'h>(problem: &Problem<'_>, host: &'h BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Input<'h>> {
    let bind = |tensor: &Tensor| {
        let layout = problem.layouts[&tensor.name].clone();
        (
            tensor.name.clone(),
            Input {
                element: tensor.dtype,
                bytes: &host[&tensor.name],
                layout,
            },
        )
    };
    problem.function.inputs.iter().map(bind).collect()
}

/// Compares what `write` stores with `image`, a tensor's memory with its guards.
fn compare(
    problem: &Problem<'_>,
    evaluator: &Evaluator<'_>,
    write: &Write<'_>,
    image: &[u8],
    rows: usize,
    random: &mut Random,
) -> Result<OutputCheck, Failure> {
    let element = element_of(problem.function, write.tensor);
    let layout = &problem.layouts[write.tensor];
    let ulps = evaluator.arithmetic_ulps(write.value);
    let body = &image[GUARD..image.len() - GUARD];
    let mut found = OutputCheck {
        tensor: write.tensor.to_owned(),
        checked: 0,
        wrong: 0,
        worst: None,
    };
    for region in sample(evaluator.extents(), &write.dims, rows, random) {
        let expected = evaluator.stored(write, &region)?;
        let places = evaluator.stored_offsets(write, layout, &region)?;
        for (index, place) in places.iter().enumerate() {
            let bits = usize::try_from(*place)
                .ok()
                .and_then(|place| element.load(body, place));
            let Some(bits) = bits else {
                return Err(ReferenceError::Unbound(write.tensor.to_owned()).into());
            };
            let verdict = judge(element, bits, &expected.data, index, ulps);
            found.checked += 1;
            found.wrong += u64::from(verdict.part_of_tolerance > 1.0);
            if found
                .worst
                .as_ref()
                .is_none_or(|worst| verdict.part_of_tolerance > worst.part_of_tolerance)
            {
                let at = coordinates(problem, write, &region, &expected, index)?;
                found.worst = Some(Worst { at, ..verdict });
            }
        }
    }
    Ok(found)
}

/// The comparison of one element, its coordinates left open.
fn judge(element: Element, bits: u64, expected: &Data, index: usize, ulps: f64) -> Worst {
    let (oracle, actual, allowed) = match expected {
        Data::Float { values, scales } => (
            values[index],
            element.decode_float(bits),
            tolerance(element, values[index], scales[index], ulps),
        ),
        Data::Integer(values) => (
            values[index] as f64,
            element.wrap_integer(bits as i64) as f64,
            0.0,
        ),
    };
    let expected_stored = if element.is_float() {
        element.round(oracle)
    } else {
        oracle
    };
    let right = match expected {
        Data::Float { .. } => within(element, actual, oracle, allowed),
        Data::Integer(values) => values[index] == element.wrap_integer(bits as i64),
    };
    let distance = if actual == expected_stored || (actual.is_nan() && expected_stored.is_nan()) {
        0.0
    } else {
        (actual - expected_stored).abs()
    };
    let part = if distance == 0.0 { 0.0 } else { distance / allowed };
    // Next to overflow the distance is infinite although both are right.
    let part_of_tolerance = match right {
        true => {
            if part.is_finite() {
                part.min(1.0)
            } else {
                1.0
            }
        }
        false => {
            if part.is_nan() {
                f64::INFINITY
            } else {
                part.max(1.0f64.next_up())
            }
        }
    };
    Worst {
        at: Vec::new(),
        expected: oracle,
        actual,
        ulps: distance / element.ulp(oracle),
        part_of_tolerance,
    }
}

/// The coordinates in the tensor of element `index` of `expected`.
fn coordinates(
    problem: &Problem<'_>,
    write: &Write<'_>,
    region: &[Range<i64>],
    expected: &Grid,
    index: usize,
) -> Result<Vec<i64>, Failure> {
    let mut rest = index;
    let mut point: BTreeMap<usize, i64> = BTreeMap::new();
    for (dim, extent) in expected.dims.iter().zip(&expected.extents).rev() {
        point.insert(*dim, region[*dim].start + (rest % extent) as i64);
        rest /= extent;
    }
    let bindings = |name: &str| match dim_of_symbol(name) {
        Some(dim) => point.get(&dim).copied(),
        None => problem.sizes.get(name).copied(),
    };
    Ok(write
        .access
        .iter()
        .map(|coordinate| coordinate.evaluate(&bindings))
        .collect::<Result<_, _>>()?)
}

/// The boxes of the space to compare: all of a small one; else rows along the innermost dim, the first and the last and
/// others at random; else, for a result that has no other dim, short pieces of it.
fn sample(extents: &[i64], dims: &[usize], rows: usize, random: &mut Random) -> Vec<Vec<Range<i64>>> {
    let whole: Vec<Range<i64>> = extents.iter().map(|extent| 0..*extent).collect();
    let points = extents
        .iter()
        .try_fold(1i64, |points, extent| points.checked_mul(*extent));
    if points.is_some_and(|points| points <= WHOLE_SPACE) {
        return vec![whole];
    }
    let innermost = extents.len() - 1;
    let outer: Vec<usize> = dims.iter().copied().filter(|dim| *dim != innermost).collect();
    let (count, piece) = if outer.is_empty() {
        // Each element may cost a walk over all the dims that the result has lost.
        let cost: i64 = (0..innermost)
            .map(|dim| extents[dim])
            .fold(1, i64::saturating_mul);
        let piece = (COLUMN_POINTS / cost.max(1)).clamp(16, extents[innermost].max(16));
        ((extents[innermost] + piece - 1) / piece, Some(piece))
    } else {
        (
            outer.iter().map(|dim| extents[*dim]).fold(1, i64::saturating_mul),
            None,
        )
    };
    let region = |number: i64| {
        let mut region = whole.clone();
        let mut rest = number;
        for dim in outer.iter().rev() {
            region[*dim] = rest % extents[*dim]..rest % extents[*dim] + 1;
            rest /= extents[*dim];
        }
        if let Some(piece) = piece {
            region[innermost] = number * piece..((number + 1) * piece).min(extents[innermost]);
        }
        region
    };
    let wanted = if rows == 0 { count } else { count.min(rows as i64) };
    if wanted == count {
        return (0..count).map(region).collect();
    }
    let chosen = (0..wanted).map(|index| match index {
        0 => 0,
        1 => count - 1,
        _ => random.below(count as u64) as i64,
    });
    chosen.map(region).collect()
}

fn element_of(function: &Function, tensor: &str) -> Element {
    // Validation made sure that every write goes to an output of its own type.
    function
        .tensor(tensor)
        .map_or(Element::F32, |tensor| tensor.dtype)
}

/// The offsets of a tensor's elements, or `None` where they are all there is from the first to the last.
fn elements_of(problem: &Problem<'_>, tensor: &Tensor) -> Option<Vec<i64>> {
    let layout = &problem.layouts[&tensor.name];
    let count: i64 = layout.shape.iter().product();
    if count == problem.span(&tensor.name) as i64 {
        return None;
    }
    let extents: Vec<usize> = layout.shape.iter().map(|extent| *extent as usize).collect();
    Some(offsets(0, &extents, &layout.strides))
}

fn guards_are_intact(image: &[u8]) -> bool {
    let (front, back) = (&image[..GUARD], &image[image.len() - GUARD..]);
    front.iter().chain(back).all(|byte| *byte == POISON)
}

fn holes_are_intact(body: &[u8], element: Element, inside: Option<&[i64]>) -> bool {
    let Some(inside) = inside else { return true };
    let size = element.bytes();
    let mut holes = body.to_vec();
    for place in inside {
        let start = *place as usize * size;
        holes[start..start + size].fill(POISON);
    }
    holes.iter().all(|byte| *byte == POISON)
}

/// Whether an element still holds the poison. Only for floats of 16 bits or more: all ones is a NaN that no conversion
/// produces there, but a proper result in an integer and in fp8.
fn has_unwritten(body: &[u8], element: Element, inside: Option<&[i64]>) -> bool {
    if !element.is_float() || element.bytes() < 2 {
        return false;
    }
    let poisoned = |stored: &[u8]| stored.iter().all(|byte| *byte == POISON);
    let size = element.bytes();
    match inside {
        None => body.chunks_exact(size).any(poisoned),
        Some(inside) => inside
            .iter()
            .any(|place| poisoned(&body[*place as usize * size..][..size])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(element: Element, actual: f64, oracle: f64) -> f64 {
        let bits = element.encode_float(actual);
        judge(element, bits, &Data::exact(vec![oracle]), 0, 4.0).part_of_tolerance
    }

    #[test]
    fn errors_are_measured_against_the_tolerance() {
        assert_eq!(judged(Element::BF16, 1.0, 1.0), 0.0);
        let neighbour = judged(Element::BF16, 1.0 + 1.0 / 128.0, 1.001);
        assert!(neighbour > 0.9 && neighbour <= 1.0, "{neighbour}");
        assert!(judged(Element::BF16, 1.0 + 1.0 / 64.0, 1.001) > 1.0);
        assert_eq!(judged(Element::F32, f64::NAN, 1.0), f64::INFINITY);
        assert_eq!(judged(Element::F32, f64::NAN, f64::NAN), 0.0);
        assert_eq!(judged(Element::F32, f64::INFINITY, f64::INFINITY), 0.0);
    }

    #[test]
    fn integers_are_compared_exactly() {
        let verdict =
            |bits: u64| judge(Element::I64, bits, &Data::Integer(vec![7]), 0, 4.0).part_of_tolerance;
        assert_eq!(verdict(7), 0.0);
        assert!(verdict(8) > 1.0);
    }

    #[test]
    fn large_results_are_sampled_by_rows() {
        let regions = sample(&[16384, 4096], &[0, 1], 8, &mut Random::new(1));
        assert_eq!(regions.len(), 8);
        assert_eq!(regions[0], [0..1, 0..4096]);
        assert_eq!(regions[1], [16383..16384, 0..4096]);
        assert!(regions.iter().all(|region| region[0].end - region[0].start == 1));
        assert_eq!(
            sample(&[16384, 4096], &[0], 8, &mut Random::new(1))[1],
            [16383..16384, 0..4096]
        );
        assert_eq!(sample(&[2000, 4096], &[0, 1], 0, &mut Random::new(1)).len(), 2000);
    }

    #[test]
    fn results_without_rows_are_sampled_by_pieces() {
        let regions = sample(&[16384, 4096], &[1], 4, &mut Random::new(1));
        assert_eq!(regions[0], [0..16384, 0..16]);
        assert_eq!(regions[1], [0..16384, 4080..4096]);
    }

    #[test]
    fn small_spaces_are_checked_whole() {
        assert_eq!(sample(&[3, 4], &[0], 1, &mut Random::new(1)), [[0..3, 0..4]]);
        assert_eq!(
            sample(&[0, 1 << 40], &[0, 1], 1, &mut Random::new(1)),
            [[0..0, 0..1 << 40]]
        );
        assert_eq!(
            sample(&[], &[], 1, &mut Random::new(1)),
            [Vec::<Range<i64>>::new()]
        );
    }

    #[test]
    fn stray_writes_show_in_guards_and_holes() {
        let mut image = vec![POISON; 2 * GUARD + 8];
        assert!(guards_are_intact(&image));
        image[GUARD] = 0;
        assert!(guards_are_intact(&image));
        image[GUARD - 1] = 0;
        assert!(!guards_are_intact(&image));

        // Elements 0 and 2 of four; 1 and 3 are holes.
        let body = [0, 0, POISON, POISON, 0, 0, POISON, POISON];
        assert!(holes_are_intact(&body, Element::BF16, Some(&[0, 2])));
        assert!(!holes_are_intact(&body, Element::BF16, Some(&[1, 3])));
    }

    #[test]
    fn what_was_not_written_shows() {
        let body = [0, 0, POISON, POISON];
        assert!(has_unwritten(&body, Element::BF16, None));
        assert!(!has_unwritten(&body, Element::BF16, Some(&[0])));
        assert!(!has_unwritten(&body, Element::I8, None));
    }
}
