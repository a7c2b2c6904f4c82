//! Copies of consecutive bytes: `cp.async.bulk` and `cp.async`.

use super::{CopyFault, CopyPlan, LARGEST_PART_COUNT, Part, aligned};

/// Plans a `cp.async.bulk`, which moves a multiple of 16 bytes between addresses that are multiples of 16 (PTX ISA,
/// "Data Movement and Conversion Instructions: cp.async.bulk").
pub fn bulk(source: u64, destination: u64, bytes: u64) -> Result<CopyPlan, CopyFault> {
    if !bytes.is_multiple_of(16) {
        return Err(CopyFault::BulkSize { bytes });
    }
    aligned("source", source, 16)?;
    aligned("destination", destination, 16)?;
    let step = bytes
        .div_ceil(LARGEST_PART_COUNT as u64)
        .next_multiple_of(16)
        .max(16);
    let parts = (0..bytes)
        .step_by(step as usize)
        .map(|offset| Part {
            source: Some(source.wrapping_add(offset)),
            destination: destination.wrapping_add(offset),
            bytes: step.min(bytes - offset) as u32,
        })
        .collect();
    Ok(CopyPlan { parts })
}

/// Plans a `cp.async` of 4, 8 or 16 bytes between addresses that are multiples of its size, of which `source_bytes` are
/// read and the others zero (PTX ISA, "Data Movement and Conversion Instructions: cp.async").
pub fn cp_async(
    source: u64,
    destination: u64,
    bytes: u64,
    source_bytes: Option<u64>,
) -> Result<CopyPlan, CopyFault> {
    if !matches!(bytes, 4 | 8 | 16) {
        return Err(CopyFault::AsyncSize { bytes });
    }
    let source_bytes = source_bytes.unwrap_or(bytes);
    if source_bytes > bytes {
        return Err(CopyFault::SourceSize { source_bytes, bytes });
    }
    aligned("source", source, bytes)?;
    aligned("destination", destination, bytes)?;
    let read = Part {
        source: Some(source),
        destination,
        bytes: source_bytes as u32,
    };
    let zeros = Part {
        source: None,
        destination: destination.wrapping_add(source_bytes),
        bytes: (bytes - source_bytes) as u32,
    };
    let parts: Vec<Part> = [read, zeros].into_iter().filter(|part| part.bytes > 0).collect();
    Ok(CopyPlan { parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_and_addresses_are_multiples_of_16() {
        assert_eq!(bulk(0, 0, 24), Err(CopyFault::BulkSize { bytes: 24 }));
        let misaligned = |side, address| CopyFault::Misaligned {
            side,
            address,
            align: 16,
        };
        assert_eq!(bulk(8, 0, 32), Err(misaligned("source", 8)));
        assert_eq!(bulk(0, 8, 32), Err(misaligned("destination", 8)));
        assert_eq!(
            bulk(8, 0, 32).unwrap_err().to_string(),
            "expected a source address that is a multiple of 16, got 0x8"
        );
    }

    #[test]
    fn a_large_copy_lands_in_many_pieces() {
        let plan = bulk(0, 0, 16384).unwrap();
        assert_eq!(plan.parts.len(), 32);
        assert_eq!(bulk(0, 0, 16).unwrap().parts.len(), 1);
        assert_eq!(bulk(0, 0, 0).unwrap(), CopyPlan::default());
    }

    #[test]
    fn a_copy_at_the_end_of_the_addresses_is_planned_too() {
        let last = u64::MAX - 15;
        assert_eq!(bulk(last, last, 32).unwrap().bytes(), 32);
        assert_eq!(cp_async(last, last, 16, None).unwrap().bytes(), 16);
    }

    #[test]
    fn what_is_not_read_is_zero() {
        let plan = cp_async(64, 128, 16, Some(6)).unwrap();
        assert_eq!(
            plan.parts,
            [
                Part {
                    source: Some(64),
                    destination: 128,
                    bytes: 6
                },
                Part {
                    source: None,
                    destination: 134,
                    bytes: 10
                }
            ]
        );
        assert_eq!(
            cp_async(3, 128, 16, Some(0)).unwrap_err().to_string(),
            "expected a source address that is a multiple of 16, got 0x3"
        );
        assert_eq!(cp_async(64, 128, 4, Some(0)).unwrap().parts[0].source, None);
        assert!(cp_async(64, 128, 12, None).is_err());
        assert!(cp_async(64, 128, 4, Some(5)).is_err());
        assert!(cp_async(64, 132, 8, None).is_err());
    }

    proptest! {
        #[test]
        fn parts_tile_the_copy(sixteenths in 0u64..5000) {
            let bytes = sixteenths * 16;
            let plan = bulk(1 << 40, 4096, bytes).unwrap();
            let mut next = 0;
            for part in &plan.parts {
                prop_assert_eq!(part.source, Some((1 << 40) + next));
                prop_assert_eq!(part.destination, 4096 + next);
                next += u64::from(part.bytes);
            }
            prop_assert_eq!(next, bytes);
            prop_assert_eq!(plan.bytes(), bytes);
        }
    }
}
