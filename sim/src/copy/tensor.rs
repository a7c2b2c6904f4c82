//! Copies of a box of a tensor: `cp.async.bulk.tensor` in tile mode.
//!
//! The box lies in shared memory row by row, innermost dim first, without gaps. Its elements outside of the tensor are
//! zero there and are never written to the tensor. A swizzle moves each chunk of 16 bytes within its row of 32, 64 or
//! 128 bytes, by exclusive or with address bits from 7 up (PTX ISA, "Tensors: Swizzling Modes"): it acts on the address
//! in shared memory, not on the place within the box.

use super::{CopyFault, CopyPlan, Part, aligned};
use crate::launch::TensorMap;

/// Bytes of a chunk, which a swizzle moves as a whole.
const CHUNK: u64 = 16;

/// Checks what `cuTensorMapEncodeTiled` checks of a map at a global address (CUDA driver API, "Tensor Map Object
/// Management").
pub fn check_map(map: &TensorMap, base: u64) -> Result<(), CopyFault> {
    let rank = map.dims.len();
    if !(1..=5).contains(&rank) || map.box_dims.len() != rank || map.strides.len() + 1 != rank {
        return Err(CopyFault::MapRank {
            map: format!(
                "{rank} extents, {} box extents and {} strides",
                map.box_dims.len(),
                map.strides.len()
            ),
        });
    }
    aligned("global", base, 16)?;
    if let Some(extent) = map.dims.iter().find(|extent| !(1..=1 << 32).contains(*extent)) {
        return Err(CopyFault::MapExtent { extent: *extent });
    }
    if let Some(stride) = map
        .strides
        .iter()
        .find(|stride| !stride.is_multiple_of(16) || **stride >= 1 << 40)
    {
        return Err(CopyFault::MapStride { stride: *stride });
    }
    if let Some(extent) = map.box_dims.iter().find(|extent| !(1..=256).contains(*extent)) {
        return Err(CopyFault::BoxExtent { extent: *extent });
    }
    let bytes = u64::from(map.box_dims[0]) * map.element.bytes() as u64;
    if !bytes.is_multiple_of(16) {
        return Err(CopyFault::BoxRow { bytes });
    }
    match swizzle_span(map.swizzle)? {
        Some(span) if bytes > span => Err(CopyFault::SwizzleRow { bytes, span }),
        _ => Ok(()),
    }
}

/// Plans the copy of the box at `coordinates`, innermost first, between the tensor at the global address `base` and
/// the shared address `shared`; with `store` from shared to global memory.
pub fn tensor(
    map: &TensorMap,
    base: u64,
    coordinates: &[i32],
    shared: u64,
    store: bool,
) -> Result<CopyPlan, CopyFault> {
    check_map(map, base)?;
    if coordinates.len() != map.dims.len() {
        return Err(CopyFault::CoordinateCount {
            rank: map.dims.len(),
            coordinates: coordinates.len(),
        });
    }
    aligned("shared", shared, 128)?;
    let span = swizzle_span(map.swizzle)?;
    let element = map.element.bytes() as u64;
    let row_bytes = u64::from(map.box_dims[0]) * element;
    let rows: u64 = map.box_dims[1..]
        .iter()
        .map(|extent| u64::from(*extent))
        .product();

    // The bytes of a row that lie in the tensor, the same for all rows.
    let first = i64::from(coordinates[0]);
    let clip = |element: i64| element.clamp(0, i64::from(map.box_dims[0])) as u64;
    let inside = clip(-first) * element..clip((map.dims[0] as i64).saturating_sub(first)) * element;

    let mut parts = Vec::new();
    for row in 0..rows {
        let row_start = shared + row * row_bytes;
        let row_of_tensor = row_offset(map, coordinates, row);
        // Parts end at the tensor's edges and, with a swizzle, at the end of each chunk.
        let mut start = 0;
        while start < row_bytes {
            let mut end = row_bytes;
            for edge in [inside.start, inside.end] {
                if edge > start {
                    end = end.min(edge);
                }
            }
            if span.is_some() {
                end = end.min((start / CHUNK + 1) * CHUNK);
            }
            let there = row_of_tensor.filter(|_| inside.contains(&start)).map(|offset| {
                (base + offset)
                    .wrapping_add((first * element as i64) as u64)
                    .wrapping_add(start)
            });
            let here = swizzled(row_start + start, span);
            let bytes = (end - start) as u32;
            match (store, there) {
                (false, source) => parts.push(Part {
                    source,
                    destination: here,
                    bytes,
                }),
                (true, Some(destination)) => parts.push(Part {
                    source: Some(here),
                    destination,
                    bytes,
                }),
                (true, None) => {}
            }
            start = end;
        }
    }
    Ok(CopyPlan { parts })
}

/// Where row `row` of the box begins in the tensor, in bytes along all dims but the innermost; `None` outside.
fn row_offset(map: &TensorMap, coordinates: &[i32], row: u64) -> Option<u64> {
    let mut rest = row;
    let mut offset = 0;
    let outer = coordinates.iter().zip(&map.dims).zip(&map.box_dims).skip(1);
    for (((first, extent), box_extent), stride) in outer.zip(&map.strides) {
        let index = i64::from(*first) + (rest % u64::from(*box_extent)) as i64;
        rest /= u64::from(*box_extent);
        let index = u64::try_from(index).ok().filter(|index| index < extent)?;
        offset += index * stride;
    }
    Some(offset)
}

/// The bytes of the span within which a swizzle moves chunks; `None` without a swizzle.
fn swizzle_span(swizzle: u32) -> Result<Option<u64>, CopyFault> {
    match swizzle {
        0 => Ok(None),
        1 => Ok(Some(32)),
        2 => Ok(Some(64)),
        3 => Ok(Some(128)),
        _ => Err(CopyFault::Swizzle { swizzle }),
    }
}

/// The swizzled address: each bit of the chunk's number within its span is xored with the address bit three places
/// above it.
fn swizzled(address: u64, span: Option<u64>) -> u64 {
    let chunks = span.map_or(0, |span| span / CHUNK - 1);
    address ^ (address >> 7 & chunks) << 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use norma_bundle::Element;
    use proptest::prelude::*;

    fn map(dims: &[u64], box_dims: &[u32], swizzle: u32) -> TensorMap {
        let mut strides = Vec::new();
        let mut stride = dims[0] * 2;
        for dim in &dims[1..] {
            stride = u64::next_multiple_of(stride, 16);
            strides.push(stride);
            stride *= dim;
        }
        TensorMap {
            buffer: 0,
            element: Element::BF16,
            dims: dims.to_vec(),
            strides,
            box_dims: box_dims.to_vec(),
            swizzle,
        }
    }

    /// The bytes of a load into shared memory at 0, one entry each: where it comes from, or `None` for zero.
    fn loaded(plan: &CopyPlan, bytes: usize) -> Vec<Option<u64>> {
        let mut written = vec![false; bytes];
        let mut memory = vec![None; bytes];
        for part in &plan.parts {
            for byte in 0..u64::from(part.bytes) {
                let at = (part.destination + byte) as usize;
                assert!(!written[at], "byte {at} is written twice");
                written[at] = true;
                memory[at] = part.source.map(|source| source + byte);
            }
        }
        assert!(
            written.iter().all(|byte| *byte),
            "every byte of the box is written"
        );
        memory
    }

    #[test]
    fn a_box_lies_row_by_row() {
        let plan = tensor(&map(&[64, 10], &[32, 4], 0), 1 << 40, &[16, 2], 0, false).unwrap();
        assert_eq!(plan.bytes(), 256);
        let memory = loaded(&plan, 256);
        for row in 0..4 {
            for byte in 0..64 {
                let expected = (1 << 40) + (row + 2) * 128 + 32 + byte;
                assert_eq!(memory[(row * 64 + byte) as usize], Some(expected));
            }
        }
    }

    #[test]
    fn elements_outside_of_the_tensor_are_zero_and_count() {
        // 5 columns of 8 and 3 rows of 4 are in the tensor, shifted by -1 in both.
        let plan = tensor(&map(&[5, 3], &[8, 4], 0), 0, &[-1, -1], 0, false).unwrap();
        assert_eq!(plan.bytes(), 64);
        let memory = loaded(&plan, 64);
        for (index, source) in memory.iter().enumerate() {
            let (row, column) = (index as i64 / 16 - 1, index as i64 % 16 / 2 - 1);
            let inside = (0..3).contains(&row) && (0..5).contains(&column);
            let expected = inside.then(|| (row * 16 + column * 2 + index as i64 % 2) as u64);
            assert_eq!(*source, expected, "byte {index}");
        }
    }

    #[test]
    fn stores_leave_out_what_is_outside() {
        let plan = tensor(&map(&[5, 3], &[8, 4], 0), 0, &[-1, -1], 1024, true).unwrap();
        assert_eq!(plan.parts.len(), 3);
        assert_eq!(
            plan.parts[0],
            Part {
                source: Some(1024 + 16 + 2),
                destination: 0,
                bytes: 10
            }
        );
        assert!(
            tensor(&map(&[5, 3], &[8, 4], 0), 0, &[8, 0], 0, true)
                .unwrap()
                .parts
                .is_empty()
        );
    }

    #[test]
    fn swizzles_move_chunks_by_the_row_they_are_in() {
        let source = |span: u32, at: u64| {
            let columns = [0, 16, 32, 64][span as usize];
            let plan = tensor(
                &map(&[columns, 64], &[columns as u32, 64], span),
                0,
                &[0, 0],
                0,
                false,
            )
            .unwrap();
            loaded(&plan, columns as usize * 2 * 64)[at as usize].unwrap()
        };
        // 128 B: row r is a span; chunk c of it lies at c ^ (r mod 8).
        for (row, chunk) in [(0, 3), (1, 3), (7, 0), (9, 5)] {
            assert_eq!(
                source(3, row * 128 + (chunk ^ (row % 8)) * 16),
                row * 128 + chunk * 16
            );
        }
        // 64 B: two rows to 128 bytes; the chunk is flipped by bits 7 and 8 of the address.
        for (row, chunk) in [(0, 3), (1, 2), (2, 3), (7, 0)] {
            assert_eq!(
                source(2, row * 64 + (chunk ^ (row / 2 % 4)) * 16),
                row * 64 + chunk * 16
            );
        }
        // 32 B: four rows to 128 bytes; the chunk is flipped by bit 7.
        for (row, chunk) in [(0, 1), (3, 1), (4, 1), (9, 0)] {
            assert_eq!(
                source(1, row * 32 + (chunk ^ (row / 4 % 2)) * 16),
                row * 32 + chunk * 16
            );
        }
    }

    #[test]
    fn a_swizzle_acts_on_the_address() {
        let plan = tensor(&map(&[64, 8], &[64, 1], 3), 0, &[0, 0], 3 * 128, false).unwrap();
        let second = plan.parts.iter().find(|part| part.source == Some(16)).unwrap();
        assert_eq!(second.destination, 3 * 128 + (1 ^ 3) * 16);
    }

    #[test]
    fn maps_obey_the_rules_of_the_driver() {
        let fault = |map: &TensorMap| check_map(map, 0).unwrap_err();
        let good = map(&[64, 10], &[32, 4], 0);
        assert_eq!(check_map(&good, 0), Ok(()));
        assert!(matches!(
            check_map(&good, 8),
            Err(CopyFault::Misaligned { align: 16, .. })
        ));
        assert_eq!(
            fault(&map(&[64, 10], &[257, 4], 0)),
            CopyFault::BoxExtent { extent: 257 }
        );
        assert_eq!(
            fault(&map(&[64, 10], &[12, 4], 0)),
            CopyFault::BoxRow { bytes: 24 }
        );
        assert_eq!(
            fault(&map(&[64, 10], &[32, 4], 1)),
            CopyFault::SwizzleRow { bytes: 64, span: 32 }
        );
        assert_eq!(
            fault(&map(&[64, 10], &[32, 4], 7)),
            CopyFault::Swizzle { swizzle: 7 }
        );
        assert_eq!(
            fault(&map(&[0, 10], &[32, 4], 0)),
            CopyFault::MapExtent { extent: 0 }
        );
        let stride = TensorMap {
            strides: vec![130],
            ..good.clone()
        };
        assert_eq!(fault(&stride), CopyFault::MapStride { stride: 130 });
        let rank = TensorMap {
            strides: vec![],
            ..good.clone()
        };
        assert!(matches!(fault(&rank), CopyFault::MapRank { .. }));
        assert_eq!(
            tensor(&good, 0, &[0], 0, false),
            Err(CopyFault::CoordinateCount {
                rank: 2,
                coordinates: 1
            })
        );
        assert!(matches!(
            tensor(&good, 0, &[0, 0], 64, false),
            Err(CopyFault::Misaligned { side: "shared", .. })
        ));
    }

    #[test]
    fn a_swizzled_tile_is_cut_into_chunks_of_16_bytes() {
        let plan = tensor(&map(&[4096, 4096], &[64, 64], 3), 0, &[64, 64], 0, false).unwrap();
        assert_eq!(plan.parts.len(), 512);
        assert!(plan.parts.iter().all(|part| part.bytes == 16));
    }

    proptest! {
        #[test]
        fn a_store_is_the_inverse_of_a_load(
            x in -40i32..80, y in -5i32..20, z in -2i32..4, swizzle in 0u32..4, rows in 1u32..6,
        ) {
            let map = map(&[50, 9, 3], &[[32, 16, 32, 64][swizzle as usize], rows, 2], swizzle);
            let load = tensor(&map, 0, &[x, y, z], 2048, false).unwrap();
            let store = tensor(&map, 0, &[x, y, z], 2048, true).unwrap();
            let inside: Vec<Part> = load.parts.iter().filter(|part| part.source.is_some()).copied().collect();
            let back: Vec<Part> = store
                .parts
                .iter()
                .map(|part| Part { source: Some(part.destination), destination: part.source.unwrap(), bytes: part.bytes })
                .collect();
            prop_assert_eq!(inside, back);
            let whole = map.box_dims.iter().map(|extent| u64::from(*extent)).product::<u64>() * map.element.bytes() as u64;
            prop_assert_eq!(load.bytes(), whole);
        }
    }
}
