//! The shared memory of a CTA: its variables, and the dynamic part behind them.
//!
//! An access belongs to the variable that its first byte is in, and must end there too: running past the end of a
//! variable is out of bounds even if other memory of the CTA follows.

use super::region::Region;
use crate::finding::MemoryPlace;
use crate::program::{Kernel, Space};

/// The shared memory of a CTA.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    region: Region,
    /// In ascending order, disjoint.
    variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    start: usize,
    end: usize,
}

/// The name in reports of dynamic shared memory that the kernel declares no variable for.
const DYNAMIC: &str = "dynamic shared memory";

impl SharedMemory {
    /// The shared memory of a CTA of `kernel`, launched with `dynamic_bytes` bytes of dynamic shared memory.
    pub fn new(kernel: &Kernel, dynamic_bytes: u32, seed: u64) -> Self {
        let dynamic = kernel.dynamic_shared_offset as usize;
        let total = match dynamic_bytes {
            0 => kernel.static_shared_bytes as usize,
            _ => dynamic + dynamic_bytes as usize,
        };
        let (fixed, open): (Vec<_>, Vec<_>) = kernel.shared.iter().partition(|variable| variable.bytes > 0);
        let mut variables: Vec<_> = fixed
            .into_iter()
            .map(|variable| Variable {
                name: variable.name.clone(),
                start: variable.offset as usize,
                end: (variable.offset + variable.bytes) as usize,
            })
            .collect();
        if dynamic_bytes > 0 {
            variables.push(Variable {
                name: open
                    .first()
                    .map_or(DYNAMIC, |variable| &variable.name)
                    .to_string(),
                start: dynamic,
                end: total,
            });
        }
        variables.sort_by_key(|variable| variable.start);
        Self {
            region: Region::uninitialized(total, seed),
            variables,
        }
    }

    /// Its memory, by offset from the CTA's first shared byte.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Its memory, by offset from the CTA's first shared byte.
    #[inline]
    pub fn region_mut(&mut self) -> &mut Region {
        &mut self.region
    }

    /// Whether the bytes lie within one variable.
    #[inline]
    pub fn contains(&self, offset: i64, bytes: usize) -> bool {
        let Ok(offset) = usize::try_from(offset) else {
            return false;
        };
        self.variables
            .iter()
            .any(|variable| offset >= variable.start && offset.saturating_add(bytes) <= variable.end)
    }

    /// Names bytes for a report: relative to the variable they are in, or to the nearest one before them.
    pub fn place(&self, offset: u64, bytes: usize) -> MemoryPlace {
        let before = self
            .variables
            .iter()
            .rfind(|variable| variable.start as u64 <= offset);
        MemoryPlace {
            space: Space::Shared,
            name: before.map_or_else(String::new, |variable| variable.name.clone()),
            offset: offset as i64 - before.map_or(0, |variable| variable.start as i64),
            bytes: bytes as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::SharedVariable;

    fn kernel() -> Kernel {
        let variable = |name: &str, offset, bytes| SharedVariable {
            name: name.to_string(),
            offset,
            bytes,
        };
        Kernel {
            shared: vec![
                variable("tile", 16, 64),
                variable("bar", 0, 8),
                variable("rest", 128, 0),
            ],
            static_shared_bytes: 80,
            dynamic_shared_offset: 128,
            packed_shared_bytes: 128,
            ..Kernel::default()
        }
    }

    #[test]
    fn an_access_must_lie_within_one_variable() {
        let shared = SharedMemory::new(&kernel(), 32, 0);
        assert!(shared.contains(0, 8) && shared.contains(16, 64) && shared.contains(128, 32));
        assert!(!shared.contains(4, 8) && !shared.contains(8, 8) && !shared.contains(72, 16));
        assert!(!shared.contains(80, 1) && !shared.contains(152, 16) && !shared.contains(-1, 16));
    }

    #[test]
    fn dynamic_memory_is_as_large_as_the_launch_says() {
        assert!(!SharedMemory::new(&kernel(), 0, 0).contains(128, 1));
        let shared = SharedMemory::new(&kernel(), 100, 0);
        assert!(shared.contains(227, 1) && !shared.contains(228, 1));
        assert_eq!(shared.region().len(), 228);
    }

    #[test]
    fn reports_name_the_variable() {
        let place = SharedMemory::new(&kernel(), 32, 0).place(76, 8);
        assert_eq!((place.name.as_str(), place.offset, place.bytes), ("tile", 60, 8));
        let place = SharedMemory::new(&kernel(), 32, 0).place(128, 4);
        assert_eq!((place.name.as_str(), place.offset), ("rest", 0));
    }

    #[test]
    fn dynamic_memory_without_a_variable_is_named_so() {
        let kernel = Kernel::default();
        assert_eq!(SharedMemory::new(&kernel, 16, 0).place(4, 4).name, DYNAMIC);
    }
}
