//! Tensor maps: checked as the driver checks them, and encoded so that tests can read back the arguments.

use std::ffi::{c_int, c_uint, c_void};
use std::slice;

use crate::{INVALID_VALUE, SUCCESS, Status};

/// The bytes of an element of each `CUtensorMapDataType`, starting from 0.
const ELEMENT_BYTES: [u64; 10] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2];
const MOST_AXES: usize = 5;

/// The arguments of a map; axes are listed from the innermost.
struct Map<'a> {
    data_type: usize,
    address: u64,
    dims: &'a [u64],
    strides_bytes: &'a [u64],
    box_dims: &'a [u32],
    swizzle: c_int,
    l2_promotion: c_int,
}

impl Map<'_> {
    /// Whether the driver accepts the map (CUDA driver API, `cuTensorMapEncodeTiled`, without interleaving).
    fn is_valid(&self) -> bool {
        let Some(element) = ELEMENT_BYTES.get(self.data_type) else {
            return false;
        };
        let row = u64::from(self.box_dims[0]) * element;
        self.address.is_multiple_of(16)
            && self.dims.iter().all(|extent| (1..=1 << 32).contains(extent))
            && self
                .strides_bytes
                .iter()
                .all(|stride| stride.is_multiple_of(16) && *stride < 1 << 40)
            && self.box_dims.iter().all(|extent| (1..=256).contains(extent))
            && row.is_multiple_of(16)
    }

    /// Encodes the map in 16 words, in this order: the address; the type, the rank, the swizzle and the promotion, a byte
    /// each; five extents; four strides; five extents of the box, two to a word. Absent values are 0.
    fn encoded(&self) -> [u64; 16] {
        let mut words = [0; 16];
        words[0] = self.address;
        let small = [
            self.data_type as u64,
            self.dims.len() as u64,
            self.swizzle as u64,
            self.l2_promotion as u64,
        ];
        words[1] = small
            .iter()
            .rev()
            .fold(0, |word, number| word << 8 | number & 0xff);
        words[2..2 + self.dims.len()].copy_from_slice(self.dims);
        words[7..7 + self.strides_bytes.len()].copy_from_slice(self.strides_bytes);
        for (axis, extent) in self.box_dims.iter().enumerate() {
            words[11 + axis / 2] |= u64::from(*extent) << (32 * (axis % 2));
        }
        words
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuTensorMapEncodeTiled(
    out: *mut [u64; 16],
    data_type: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides_bytes: *const u64,
    box_dims: *const u32,
    _element_strides: *const u32,
    _interleave: c_int,
    swizzle: c_int,
    l2_promotion: c_int,
    _fill: c_int,
) -> Status {
    let rank = rank as usize;
    let Some(data_type) = usize::try_from(data_type)
        .ok()
        .filter(|_| (1..=MOST_AXES).contains(&rank))
    else {
        return INVALID_VALUE;
    };
    // SAFETY: `cuda.h`'s contract: as many extents as the rank, and one stride fewer.
    let map = unsafe {
        Map {
            data_type,
            address: address as u64,
            dims: slice::from_raw_parts(dims, rank),
            strides_bytes: slice::from_raw_parts(strides_bytes, rank - 1),
            box_dims: slice::from_raw_parts(box_dims, rank),
            swizzle,
            l2_promotion,
        }
    };
    if !map.is_valid() {
        return INVALID_VALUE;
    }
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = map.encoded() };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::Map;

    fn map() -> Map<'static> {
        Map {
            data_type: 9,
            address: 0x1000,
            dims: &[4096, 17],
            strides_bytes: &[8192],
            box_dims: &[256, 4],
            swizzle: 0,
            l2_promotion: 2,
        }
    }

    #[test]
    fn a_map_is_read_back() {
        let words = map().encoded();
        assert_eq!((words[0], words[1]), (0x1000, 0x0200_0209));
        assert_eq!(words[2..7], [4096, 17, 0, 0, 0]);
        assert_eq!(words[7..11], [8192, 0, 0, 0]);
        assert_eq!(words[11..], [4 << 32 | 256, 0, 0, 0, 0]);
    }

    #[test]
    fn what_the_engine_cannot_do_is_refused() {
        assert!(map().is_valid());
        for wrong in [
            Map {
                address: 0x1008,
                ..map()
            },
            Map {
                dims: &[4096, 0],
                ..map()
            },
            Map {
                strides_bytes: &[8200],
                ..map()
            },
            Map {
                strides_bytes: &[1 << 40],
                ..map()
            },
            Map {
                box_dims: &[512, 4],
                ..map()
            },
            Map {
                box_dims: &[12, 4],
                ..map()
            },
            Map {
                data_type: 99,
                ..map()
            },
        ] {
            assert!(!wrong.is_valid());
        }
    }
}
