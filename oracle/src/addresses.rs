//! Whether tensors may lie where a caller has put them: their alignment, and which of them share memory.

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::manifest::Tensor;

use crate::problem::{BindError, Problem};

/// Checks the addresses of a problem's tensors, by name. Each must be aligned as the kernels assume. The bytes from a tensor's
/// first element to its last may not overlap an output's, unless the manifest lets the output be that input: then
/// both begin at one address. Inputs may overlap each other.
///
/// # Errors
/// A tensor without an address, or one that lies where it must not.
pub fn check_addresses(problem: &Problem<'_>, addresses: &BTreeMap<String, u64>) -> Result<(), BindError> {
    let refuse = |message: String| Err(BindError::Request(message));
    let mut places = Vec::<(&Tensor, Range<u128>)>::new();
    for tensor in problem.function.tensors() {
        let Some(address) = addresses.get(&tensor.name) else {
            return refuse(format!("expected an address for '{}'", tensor.name));
        };
        let bytes = problem.span_bytes(tensor) as u128;
        // No element is accessed of a tensor that has none.
        if bytes == 0 {
            continue;
        }
        if !address.is_multiple_of(tensor.align) {
            return refuse(format!(
                "the kernels assume that '{}' is aligned to {} bytes, got address {address:#x}",
                tensor.name, tensor.align
            ));
        }
        let start = u128::from(*address);
        places.push((tensor, start..start + bytes));
    }
    for output in &problem.function.outputs {
        let Some((_, own)) = places.iter().find(|(tensor, _)| tensor.name == output.name) else {
            continue;
        };
        let overlapping = places.iter().filter(|(tensor, place)| {
            tensor.name != output.name && own.start < place.end && place.start < own.end
        });
        for (tensor, place) in overlapping {
            if output.may_alias.as_ref() != Some(&tensor.name) {
                return refuse(format!(
                    "the memory of '{}' overlaps that of '{}'",
                    output.name, tensor.name
                ));
            }
            if place.start != own.start {
                return refuse(format!(
                    "expected output '{}' to begin where input '{}' does, or not to overlap it, got {:#x} and {:#x}",
                    output.name, tensor.name, own.start, place.start
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use norma_bundle::Manifest;

    use super::*;

    /// What is wrong with x, w and y at these addresses, x and y of three rows of 8192 bytes, w of one of 16384 bytes; rstd
    /// lies elsewhere.
    fn complaint(addresses: [u64; 3], change: impl FnOnce(&mut Manifest)) -> Option<String> {
        let text = include_str!("../../bundle/testdata/rms_norm.json");
        let mut manifest: Manifest = serde_json::from_str(text).unwrap();
        change(&mut manifest);
        let sizes = BTreeMap::from([("m".to_owned(), 3)]);
        let none = BTreeMap::new;
        let problem = Problem::new(&manifest.functions[0], sizes, none(), BTreeMap::new()).unwrap();
        let names = ["x", "w", "y", "rstd"].map(str::to_owned);
        let addresses = names
            .into_iter()
            .zip(addresses.into_iter().chain([0x80000]))
            .collect();
        check_addresses(&problem, &addresses)
            .err()
            .map(|error| error.to_string())
    }

    fn in_place(manifest: &mut Manifest) {
        let function = &mut manifest.functions[0];
        function.outputs[0].strides = function.inputs[0].strides.clone();
        function.outputs[0].may_alias = Some("x".to_owned());
    }

    const END_OF_X: u64 = 0x10000 + 24576;

    #[test]
    fn what_lies_side_by_side_does_not_overlap() {
        assert_eq!(complaint([0x10000, 0x30000, END_OF_X], |_| ()), None);
        // Inputs are only read.
        assert_eq!(complaint([0x10000, 0x10000, END_OF_X], |_| ()), None);
    }

    #[test]
    fn an_output_overlaps_nothing_that_it_may_not_be() {
        let overlaps = Some("the memory of 'y' overlaps that of 'x'".to_owned());
        assert_eq!(complaint([0x10000, 0x30000, END_OF_X - 16], |_| ()), overlaps);
        assert_eq!(complaint([0x10000, 0x30000, 0x10000], |_| ()), overlaps);
        let weight = Some("the memory of 'y' overlaps that of 'w'".to_owned());
        assert_eq!(complaint([0x10000, 0x30000, 0x30000], in_place), weight);
    }

    #[test]
    fn an_output_that_may_be_an_input_begins_where_it_does() {
        assert_eq!(complaint([0x10000, 0x30000, 0x10000], in_place), None);
        assert_eq!(
            complaint([0x10000, 0x30000, 0x12000], in_place).unwrap(),
            "expected output 'y' to begin where input 'x' does, or not to overlap it, got 0x12000 and 0x10000"
        );
    }

    #[test]
    fn addresses_are_aligned_as_the_kernels_assume() {
        assert_eq!(
            complaint([0x10008, 0x30000, 0x40000], |_| ()).unwrap(),
            "the kernels assume that 'x' is aligned to 16 bytes, got address 0x10008"
        );
    }
}
