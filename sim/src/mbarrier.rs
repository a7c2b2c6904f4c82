//! mbarriers: counters in shared memory that threads and asynchronous copies arrive on, phase by phase (PTX ISA,
//! "Parallel Synchronization and Communication Instructions: mbarrier").
//!
//! [`Mbarrier`] is the state machine of one; [`Mbarriers`] those of a CTA's shared memory. A phase completes when its
//! pending arrivals and its pending transactions are both zero, whichever gets there last; the next begins at once with
//! the expected count. Beside each mbarrier the machine keeps a value of its own: what a phase passes on from arrivals
//! to waits, such as vector clocks.

mod table;

pub use table::Mbarriers;

use std::fmt;

use thiserror::Error;

/// The largest count of arrivals or transactions of a phase.
pub const LARGEST_COUNT: u32 = (1 << 20) - 1;
/// Bytes of an mbarrier, and its alignment.
pub const MBARRIER_BYTES: usize = norma_targets::MBARRIER_BYTES as usize;

/// Marks the opaque state that an arrive returns; the low bits are the phase.
const STATE_TAG: u64 = 0xb << 60;

/// A wrong use of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum MbarrierFault {
    #[error("expected an mbarrier, which is aligned to 8 bytes, got address {address:#x}")]
    Misaligned { address: u64 },
    #[error(
        "expected an initialized mbarrier at {address:#x}, got memory that no mbarrier.init has made one"
    )]
    Uninitialized { address: u64 },
    #[error("expected an initialized mbarrier at {address:#x}, got one that mbarrier.inval has ended")]
    Invalidated { address: u64 },
    #[error(
        "initializes an mbarrier that is in use ({state}); expected an mbarrier.inval before its memory is used anew"
    )]
    Reinitialized { state: Mbarrier },
    #[error("expected a count of 1 to {LARGEST_COUNT} arrivals, got {count}")]
    Count { count: u64 },
    #[error("arrives {count} times where the phase still expects {pending} ({state})")]
    TooManyArrivals {
        count: u64,
        pending: u32,
        state: Mbarrier,
    },
    #[error("takes the pending transactions to {transactions} bytes, beyond {LARGEST_COUNT} ({state})")]
    TransactionRange { transactions: i64, state: Mbarrier },
    #[error("expected a phase parity of 0 or 1, got {parity}")]
    Parity { parity: u64 },
    #[error("expected the state that an mbarrier.arrive gave, got {state:#x}")]
    NotAState { state: u64 },
    #[error(
        "waits for phase {waited}, which is neither the current phase {current} of the mbarrier nor the one before"
    )]
    DistantPhase { waited: u64, current: u64 },
}

/// What an operation did to the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseChange {
    /// The phase goes on.
    Pending,
    /// The phase of that number completed, and the next began.
    Completed(u64),
}

/// One mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier {
    /// Arrivals that each new phase begins with.
    expected: u32,
    /// Arrivals that the current phase still needs.
    pending: u32,
    /// Bytes that the current phase still waits for; negative if more bytes have arrived than were expected so far.
    transactions: i32,
    phase: u64,
}

impl Mbarrier {
    /// `mbarrier.init`: phase 0, which expects `count` arrivals, as all later phases do.
    pub fn new(count: u64) -> Result<Self, MbarrierFault> {
        let count = valid_count(count)?;
        Ok(Self {
            expected: count,
            pending: count,
            transactions: 0,
            phase: 0,
        })
    }

    /// The number of the current phase, from 0.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// The opaque state of the current phase, as an arrive returns it; to be taken before arriving.
    pub fn state(&self) -> u64 {
        STATE_TAG | self.phase
    }

    /// `count` arrivals on the current phase.
    pub fn arrive(&mut self, count: u64) -> Result<PhaseChange, MbarrierFault> {
        let valid = valid_count(count)?;
        self.pending = self
            .pending
            .checked_sub(valid)
            .ok_or(MbarrierFault::TooManyArrivals {
                count,
                pending: self.pending,
                state: *self,
            })?;
        Ok(self.complete_if_done())
    }

    /// `count` arrivals by threads that take no part in later phases.
    pub fn arrive_drop(&mut self, count: u64) -> Result<PhaseChange, MbarrierFault> {
        let before = *self;
        let valid = valid_count(count)?;
        self.expected = self
            .expected
            .checked_sub(valid)
            .ok_or(MbarrierFault::TooManyArrivals {
                count,
                pending: self.pending,
                state: before,
            })?;
        self.arrive(count).inspect_err(|_| *self = before)
    }

    /// Raises the pending count by one for a `cp.async.mbarrier.arrive` without `.noinc`; its arrival takes that off
    /// again.
    pub fn expect_arrival(&mut self) -> Result<(), MbarrierFault> {
        if self.pending == LARGEST_COUNT {
            return Err(MbarrierFault::Count {
                count: u64::from(LARGEST_COUNT) + 1,
            });
        }
        self.pending += 1;
        Ok(())
    }

    /// Lets the current phase wait for `bytes` more.
    pub fn expect_transaction(&mut self, bytes: u64) -> Result<PhaseChange, MbarrierFault> {
        self.add_transactions(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// Counts `bytes` that have arrived.
    pub fn complete_transaction(&mut self, bytes: u64) -> Result<PhaseChange, MbarrierFault> {
        self.add_transactions(-i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// Whether the latest phase of that parity has completed: false for the parity of the current phase, true for the
    /// other one, which is that of the phase before (in phase 0, too).
    pub fn test_parity(&self, parity: u64) -> Result<bool, MbarrierFault> {
        match parity {
            0 | 1 => Ok(self.phase & 1 != parity),
            _ => Err(MbarrierFault::Parity { parity }),
        }
    }

    /// Whether the phase of the state that an arrive gave has completed.
    pub fn test_state(&self, state: u64) -> Result<bool, MbarrierFault> {
        let waited = state & !(0xf << 60);
        if state != STATE_TAG | waited {
            return Err(MbarrierFault::NotAState { state });
        }
        if waited == self.phase || waited + 1 == self.phase {
            Ok(waited != self.phase)
        } else {
            Err(MbarrierFault::DistantPhase {
                waited,
                current: self.phase,
            })
        }
    }

    fn add_transactions(&mut self, bytes: i64) -> Result<PhaseChange, MbarrierFault> {
        let transactions = i64::from(self.transactions).saturating_add(bytes);
        if transactions.unsigned_abs() > u64::from(LARGEST_COUNT) {
            return Err(MbarrierFault::TransactionRange {
                transactions,
                state: *self,
            });
        }
        self.transactions = transactions as i32;
        Ok(self.complete_if_done())
    }

    fn complete_if_done(&mut self) -> PhaseChange {
        if self.pending != 0 || self.transactions != 0 {
            return PhaseChange::Pending;
        }
        let completed = self.phase;
        self.phase += 1;
        self.pending = self.expected;
        PhaseChange::Completed(completed)
    }
}

fn valid_count(count: u64) -> Result<u32, MbarrierFault> {
    match u32::try_from(count) {
        Ok(valid @ 1..=LARGEST_COUNT) => Ok(valid),
        _ => Err(MbarrierFault::Count { count }),
    }
}

impl fmt::Display for Mbarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "phase {}, {} of {} arrivals and {} bytes of transactions pending",
            self.phase, self.pending, self.expected, self.transactions
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PhaseChange::{Completed, Pending};

    fn mbarrier(count: u64) -> Mbarrier {
        Mbarrier::new(count).unwrap()
    }

    #[test]
    fn a_phase_completes_at_its_last_arrival() {
        let mut m = mbarrier(3);
        assert_eq!(m.arrive(2), Ok(Pending));
        assert_eq!(m.arrive(1), Ok(Completed(0)));
        assert_eq!((m.phase(), m.pending), (1, 3));
    }

    #[test]
    fn a_phase_completes_when_arrivals_and_transactions_are_both_done() {
        let mut m = mbarrier(1);
        assert_eq!(m.expect_transaction(64), Ok(Pending));
        assert_eq!(m.arrive(1), Ok(Pending));
        assert_eq!(m.complete_transaction(48), Ok(Pending));
        assert_eq!(m.complete_transaction(16), Ok(Completed(0)));
        // Bytes may come before they are expected.
        assert_eq!(m.complete_transaction(64), Ok(Pending));
        assert_eq!(m.transactions, -64);
        assert_eq!(m.expect_transaction(64), Ok(Pending));
        assert_eq!(m.arrive(1), Ok(Completed(1)));
    }

    #[test]
    fn a_missing_expect_completes_the_phase_early_and_stalls_the_next() {
        let mut m = mbarrier(1);
        assert_eq!(m.arrive(1), Ok(Completed(0)));
        assert_eq!(m.complete_transaction(64), Ok(Pending));
        assert_eq!(m.arrive(1), Ok(Pending), "phase 1 is short of 64 expected bytes");
        assert_eq!(m.transactions, -64);
    }

    #[test]
    fn a_phase_takes_no_more_arrivals_than_it_expects() {
        let mut m = mbarrier(2);
        assert_eq!(
            m.arrive(3),
            Err(MbarrierFault::TooManyArrivals {
                count: 3,
                pending: 2,
                state: mbarrier(2)
            })
        );
        assert_eq!(m.expect_transaction(16), Ok(Pending));
        assert_eq!(m.arrive(2), Ok(Pending));
        assert!(
            m.arrive(1).is_err(),
            "all have arrived, but the bytes are missing"
        );
    }

    #[test]
    fn dropping_out_lowers_the_count_of_later_phases() {
        let mut m = mbarrier(2);
        assert_eq!(m.arrive_drop(1), Ok(Pending));
        assert_eq!(m.arrive(1), Ok(Completed(0)));
        assert_eq!(m.arrive(1), Ok(Completed(1)));
        assert_eq!(m.arrive_drop(1), Ok(Completed(2)));
        assert!(m.arrive(1).is_err(), "nobody is left");
    }

    #[test]
    fn a_pending_copy_adds_an_arrival_and_takes_it_off() {
        let mut m = mbarrier(1);
        m.expect_arrival().unwrap();
        assert_eq!(m.arrive(1), Ok(Pending));
        assert_eq!(m.arrive(1), Ok(Completed(0)));
    }

    #[test]
    fn counts_have_twenty_bits() {
        for count in [0, 1 << 20, 1 << 40] {
            assert_eq!(Mbarrier::new(count), Err(MbarrierFault::Count { count }));
        }
        assert!(Mbarrier::new(u64::from(LARGEST_COUNT)).is_ok());
        let mut m = mbarrier(1);
        assert_eq!(m.expect_transaction(u64::from(LARGEST_COUNT)), Ok(Pending));
        assert!(matches!(
            m.expect_transaction(1),
            Err(MbarrierFault::TransactionRange { .. })
        ));
        assert!(matches!(
            m.complete_transaction(1 << 40),
            Err(MbarrierFault::TransactionRange { .. })
        ));
        assert_eq!(m.transactions, LARGEST_COUNT as i32, "a fault changes nothing");
    }

    #[test]
    fn a_parity_names_the_current_phase_or_the_one_before() {
        let mut m = mbarrier(1);
        assert_eq!(m.test_parity(0), Ok(false));
        assert_eq!(
            m.test_parity(1),
            Ok(true),
            "the phase before the first has completed"
        );
        m.arrive(1).unwrap();
        assert_eq!(m.test_parity(0), Ok(true));
        assert_eq!(m.test_parity(1), Ok(false));
        assert_eq!(m.test_parity(2), Err(MbarrierFault::Parity { parity: 2 }));
    }

    #[test]
    fn a_state_names_its_phase_until_the_next_but_one() {
        let mut m = mbarrier(1);
        let state = m.state();
        assert_eq!(m.test_state(state), Ok(false));
        m.arrive(1).unwrap();
        assert_eq!(m.test_state(state), Ok(true));
        m.arrive(1).unwrap();
        assert_eq!(
            m.test_state(state),
            Err(MbarrierFault::DistantPhase {
                waited: 0,
                current: 2
            })
        );
        assert_eq!(m.test_state(1), Err(MbarrierFault::NotAState { state: 1 }));
    }

    #[test]
    fn faults_say_what_is_expected() {
        let fault = mbarrier(1).arrive(2).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "arrives 2 times where the phase still expects 1 (phase 0, 1 of 1 arrivals and 0 bytes of transactions \
             pending)"
        );
    }
}
