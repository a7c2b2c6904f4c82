//! The memory of a function's tensors, laid out so that stray and missing writes show.
//!
//! A guard lies before and after each tensor, and all memory that kernels have not written holds a pattern that no kernel
//! writes by accident: a stray write changes it, and a missing write leaves it.

use std::collections::BTreeMap;

use norma_bundle::Element;
use norma_bundle::manifest::Tensor;

use crate::fill::{Fill, Random, generate};
use crate::problem::{BindError, Problem};
use crate::program::grid::offsets;

/// Bytes before and after each tensor that no kernel may write. A multiple of every alignment a manifest asks for.
pub const GUARD: usize = 4096;
/// The byte that guards, holes and outputs are filled with before a kernel runs: NaN in every float type.
pub const POISON: u8 = 0xff;

/// A tensor's memory: its elements from the first to the last, holes included, between two guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image(Vec<u8>);

/// Images by the tensors' names.
pub type Images = BTreeMap<String, Image>;

impl Image {
    /// `bytes` of poison between the guards.
    pub fn poisoned(bytes: usize) -> Image {
        Image(vec![POISON; bytes + 2 * GUARD])
    }

    /// `body` between the guards.
    pub fn holding(body: &[u8]) -> Image {
        let mut image = Image::poisoned(body.len());
        image.body_mut().copy_from_slice(body);
        image
    }

    /// Takes memory that has been read back, guards included; `None` if it is too short for them.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Image> {
        (bytes.len() >= 2 * GUARD).then_some(Image(bytes))
    }

    /// The whole image, guards included; the tensor begins at byte [`GUARD`].
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes between the guards.
    pub fn body(&self) -> &[u8] {
        &self.0[GUARD..self.0.len() - GUARD]
    }

    /// The bytes between the guards, to be written.
    pub fn body_mut(&mut self) -> &mut [u8] {
        let end = self.0.len() - GUARD;
        &mut self.0[GUARD..end]
    }

    /// Whether nothing has written the guards.
    pub fn guards_are_intact(&self) -> bool {
        let (front, back) = (&self.0[..GUARD], &self.0[self.0.len() - GUARD..]);
        front.iter().chain(back).all(|byte| *byte == POISON)
    }
}

/// Checks that this machine can hold the images of a run of `problem`, before memory is filled: with `verifies`, the inputs before and
/// after it and the outputs of two runs; otherwise the inputs, and the largest of them again while it is generated.
///
/// # Errors
///
/// They need more memory than the system gives.
pub fn check_room(problem: &Problem<'_>, verifies: bool) -> Result<(), BindError> {
    let function = problem.function;
    let bytes = |tensor: &Tensor| problem.span_bytes(tensor);
    let total = |tensors: &[Tensor]| tensors.iter().map(bytes).fold(0, usize::saturating_add);
    let inputs = total(&function.inputs);
    let needed = match verifies {
        true => inputs.saturating_add(total(&function.outputs)).saturating_mul(2),
        false => inputs.saturating_add(function.inputs.iter().map(bytes).max().unwrap_or(0)),
    };
    // The reservation is given back untouched: it takes neither time nor memory.
    if Vec::<u8>::new().try_reserve_exact(needed).is_ok() {
        return Ok(());
    }
    let sizes: Vec<String> = function
        .tensors()
        .map(|tensor| format!("'{}' of {} bytes", tensor.name, bytes(tensor)))
        .collect();
    Err(BindError::Request(format!(
        "expected the tensors of '{}', with the copies that a run makes, to fit in the memory of this machine, got {needed} bytes, for {}",
        function.name,
        sizes.join(", ")
    )))
}

/// The filled inputs of `problem`; a seed always gives the same bytes.
pub fn inputs(problem: &Problem<'_>, fill: Fill, seed: u64) -> Images {
    let mut random = Random::new(seed);
    let mut image = |tensor: &Tensor| {
        let data = generate(tensor.dtype, problem.span(tensor), fill, &mut random);
        (tensor.name.clone(), Image::holding(&data))
    };
    problem.function.inputs.iter().map(&mut image).collect()
}

/// The outputs of `problem`, poisoned.
pub fn outputs(problem: &Problem<'_>) -> Images {
    let image = |tensor: &Tensor| (tensor.name.clone(), Image::poisoned(problem.span_bytes(tensor)));
    problem.function.outputs.iter().map(image).collect()
}

/// Poisons what lies between the elements of `output`, a result in the memory of an input, where it is what `before`, the input, holds
/// there: nothing has written it.
pub fn poison_unwritten_holes(problem: &Problem<'_>, output: &Tensor, before: &Image, after: &mut Image) {
    let Some(inside) = elements_of(problem, output) else {
        return;
    };
    let size = output.dtype.bytes();
    let written = after.body().to_vec();
    let body = after.body_mut();
    for (byte, before) in body.iter_mut().zip(before.body()) {
        if *byte == *before {
            *byte = POISON;
        }
    }
    for place in inside {
        let element = place as usize * size..(place as usize + 1) * size;
        body[element.clone()].copy_from_slice(&written[element]);
    }
}

/// The offsets of a tensor's elements, or `None` if there are no holes between them.
pub(crate) fn elements_of(problem: &Problem<'_>, tensor: &Tensor) -> Option<Vec<i64>> {
    let layout = &problem.layouts[&tensor.name];
    let count: i64 = layout.shape.iter().product();
    if count == problem.span(tensor) as i64 {
        return None;
    }
    let extents: Vec<usize> = layout.shape.iter().map(|extent| *extent as usize).collect();
    Some(offsets(0, &extents, &layout.strides))
}

/// Whether the holes between the elements still hold the poison. `inside` is the result of [`elements_of`].
pub(crate) fn holes_are_intact(body: &[u8], element: Element, inside: Option<&[i64]>) -> bool {
    let Some(inside) = inside else { return true };
    let size = element.bytes();
    let mut holes = body.to_vec();
    for place in inside {
        let start = *place as usize * size;
        holes[start..start + size].fill(POISON);
    }
    holes.iter().all(|byte| *byte == POISON)
}

/// Whether an element still holds the poison. Detected only in floats of 16 bits or more, where all ones is a NaN that no
/// conversion produces; in an integer or an fp8 it may be a proper result.
pub(crate) fn has_unwritten(body: &[u8], element: Element, inside: Option<&[i64]>) -> bool {
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
    use std::path::Path;

    use norma_bundle::Manifest;

    use super::*;

    #[test]
    fn stray_writes_show_in_guards_and_holes() {
        let written = |at: usize| {
            let mut bytes = Image::poisoned(8).0;
            bytes[at] = 0;
            Image::from_bytes(bytes).unwrap().guards_are_intact()
        };
        assert!(Image::poisoned(8).guards_are_intact());
        assert!(written(GUARD) && written(GUARD + 7));
        assert!(!written(GUARD - 1) && !written(GUARD + 8));

        // Elements 0 and 2 of four; 1 and 3 are holes.
        let body = [0, 0, POISON, POISON, 0, 0, POISON, POISON];
        assert!(holes_are_intact(&body, Element::BF16, Some(&[0, 2])));
        assert!(!holes_are_intact(&body, Element::BF16, Some(&[1, 3])));
    }

    /// A result of 2 rows of 4096 bf16, with room for 8 more behind each row, in the memory of an input.
    #[test]
    fn holes_that_still_hold_the_input_are_poisoned_and_elements_are_not() {
        let text = include_str!("../../bundle/testdata/rms_norm.json");
        let manifest = Manifest::parse(text, Path::new("rms_norm.json")).unwrap();
        let function = &manifest.functions[0];
        let problem = |stride: i64| {
            let sizes = [("m".to_owned(), 2)].into();
            let strides = [("x_stride".to_owned(), stride)].into();
            Problem::new(function, sizes, strides, BTreeMap::new()).unwrap()
        };
        let (row, pitch) = (2 * 4096, 2 * 4104);
        let before = Image::holding(&vec![7; pitch + row]);
        let poisoned = |stride, after: &[u8]| {
            let mut after = Image::holding(after);
            poison_unwritten_holes(&problem(stride), &function.inputs[0], &before, &mut after);
            after.body().to_vec()
        };
        let mut after = vec![7; pitch + row];
        // An element that got the value it had, and a stray write into the hole.
        after[0..2].copy_from_slice(&[1, 1]);
        after[row + 3] = 9;
        let mut expected = after.clone();
        expected[row..pitch].fill(POISON);
        expected[row + 3] = 9;
        assert_eq!(poisoned(4104, &after), expected);
        // Without holes there is nothing to poison.
        let dense = vec![7; 2 * row];
        assert_eq!(poisoned(4096, &dense), dense);
    }

    #[test]
    fn what_was_not_written_shows() {
        let body = [0, 0, POISON, POISON];
        assert!(has_unwritten(&body, Element::BF16, None));
        assert!(!has_unwritten(&body, Element::BF16, Some(&[0])));
        assert!(!has_unwritten(&body, Element::I8, None));
    }

    #[test]
    fn memory_without_guards_is_refused() {
        assert_eq!(Image::from_bytes(vec![0; GUARD]), None);
        assert_eq!(Image::holding(&[1, 2]).body(), [1, 2]);
    }
}
