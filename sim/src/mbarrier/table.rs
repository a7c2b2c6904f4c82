//! The mbarriers of shared memory. Each lives from `mbarrier.init` to `mbarrier.inval`, at an address that is a
//! multiple of 8.

use std::collections::BTreeMap;

use super::{MBARRIER_BYTES, Mbarrier, MbarrierFault};

/// The mbarriers of one CTA's shared memory, each with a value `T` that the machine keeps beside it.
#[derive(Clone, Debug)]
pub struct Mbarriers<T> {
    /// By offset. An invalidated one stays as `None`, so that its use is reported differently from a use before any
    /// init.
    slots: BTreeMap<u64, Option<(Mbarrier, T)>>,
}

impl<T> Default for Mbarriers<T> {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
        }
    }
}

impl<T> Mbarriers<T> {
    /// `mbarrier.init` at an offset of shared memory.
    pub fn init(&mut self, offset: u64, count: u64, beside: T) -> Result<(), MbarrierFault> {
        aligned(offset)?;
        if let Some(Some((state, _))) = self.slots.get(&offset) {
            return Err(MbarrierFault::Reinitialized { state: *state });
        }
        self.slots.insert(offset, Some((Mbarrier::new(count)?, beside)));
        Ok(())
    }

    /// `mbarrier.inval`; returns what was kept beside the mbarrier.
    pub fn invalidate(&mut self, offset: u64) -> Result<T, MbarrierFault> {
        self.get(offset)?;
        match self.slots.insert(offset, None) {
            Some(Some((_, beside))) => Ok(beside),
            _ => Err(MbarrierFault::Uninitialized { address: offset }),
        }
    }

    /// The mbarrier at an offset, to operate on.
    pub fn get(&mut self, offset: u64) -> Result<&mut (Mbarrier, T), MbarrierFault> {
        aligned(offset)?;
        match self.slots.get_mut(&offset) {
            Some(Some(slot)) => Ok(slot),
            Some(None) => Err(MbarrierFault::Invalidated { address: offset }),
            None => Err(MbarrierFault::Uninitialized { address: offset }),
        }
    }

    /// The offset of a valid mbarrier that overlaps `offset..offset + bytes`; only mbarrier operations may access it.
    pub fn within(&self, offset: u64, bytes: u64) -> Option<u64> {
        let first = offset.saturating_sub(MBARRIER_BYTES as u64 - 1);
        self.slots
            .range(first..offset.saturating_add(bytes))
            .find(|(_, slot)| slot.is_some())
            .map(|(offset, _)| *offset)
    }

    /// All valid mbarriers by offset, for reports.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Mbarrier, &T)> {
        self.slots.iter().filter_map(|(offset, slot)| {
            slot.as_ref()
                .map(|(mbarrier, beside)| (*offset, mbarrier, beside))
        })
    }
}

fn aligned(address: u64) -> Result<(), MbarrierFault> {
    if address.is_multiple_of(MBARRIER_BYTES as u64) {
        Ok(())
    } else {
        Err(MbarrierFault::Misaligned { address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_an_mbarrier_from_init_to_inval() {
        let mut all = Mbarriers::default();
        assert!(matches!(
            all.get(16),
            Err(MbarrierFault::Uninitialized { address: 16 })
        ));
        all.init(16, 1, "clock").unwrap();
        assert!(matches!(
            all.init(16, 1, "again"),
            Err(MbarrierFault::Reinitialized { .. })
        ));
        assert!(matches!(
            all.get(20),
            Err(MbarrierFault::Misaligned { address: 20 })
        ));
        assert!(all.get(16).is_ok());
        assert_eq!(all.within(8, 8), None);
        assert_eq!(all.within(8, 9), Some(16));
        assert_eq!(all.within(23, 1), Some(16));
        assert_eq!(all.within(24, 8), None);
        assert_eq!(all.invalidate(16), Ok("clock"));
        assert!(matches!(
            all.get(16),
            Err(MbarrierFault::Invalidated { address: 16 })
        ));
        assert_eq!(all.within(0, 64), None);
        assert!(all.init(16, 1, "new").is_ok());
    }
}
