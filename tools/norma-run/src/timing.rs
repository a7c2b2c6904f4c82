//! Time of one call with a cold L2 cache.
//!
//! Calls rotate over so many copies of the tensors that each copy has left the L2 by its next turn, are recorded in one
//! CUDA graph so that the host's launches cost nothing, and the median of several replays counts.

use norma_oracle::memory::Images;
use norma_oracle::problem::Problem;
use norma_runtime::driver::{Event, Stream};
use norma_runtime::{Device, DriverError};
use serde::Serialize;

use crate::call::{Loaded, Tensors};
use crate::failure::Failure;

/// What one rotation moves at least: several times the largest L2 (60 MB on an H200, 126 MB on a B200).
const ROTATION_BYTES: i64 = 512 << 20;
/// The most copies of the tensors, for calls so small that launches dominate anyway.
const MAX_COPIES: i64 = 64;
/// How long one replay should take, in microseconds.
const REPLAY_MICROSECONDS: f64 = 20_000.0;
/// The most calls in a graph.
const MAX_CALLS: usize = 400;
/// How many replays the median is taken of.
const REPLAYS: usize = 7;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// The median time of one call, in microseconds.
    pub microseconds: f64,
    /// The fewest bytes a call must move, by the manifest.
    pub bytes: i64,
    /// Those bytes per second, in units of 10^9.
    pub gigabytes_per_second: f64,
    /// How many calls a replay held.
    pub calls: usize,
}

/// Copies of a function's tensors, and what calls on them are timed with.
pub struct Rotation {
    tensors: Vec<Tensors>,
    stream: Stream,
    start: Event,
    end: Event,
}

impl Rotation {
    /// Allocates the copies for calls that move `bytes_moved` each.
    ///
    /// # Errors
    /// What the driver says, out of memory above all.
    pub fn new(
        device: &Device,
        problem: &Problem<'_>,
        images: &Images,
        bytes_moved: i64,
    ) -> Result<Self, DriverError> {
        let copies = (0..copies_for(bytes_moved)).map(|_| Tensors::new(device, problem, images));
        Ok(Self {
            tensors: copies.collect::<Result<_, _>>()?,
            stream: Stream::new(device)?,
            start: Event::new(device)?,
            end: Event::new(device)?,
        })
    }

    /// Measures a call of a function on tensors such as these.
    ///
    /// # Errors
    /// What the driver says; an empty problem, which takes no time.
    pub fn time(&self, loaded: &Loaded<'_>) -> Result<Timing, Failure> {
        let Self {
            tensors,
            stream,
            start,
            end,
        } = self;
        let copies = tensors.len();
        for tensors in tensors.iter().take(2) {
            loaded.enqueue(tensors, stream)?;
        }
        stream.synchronize()?;
        start.record(stream)?;
        for tensors in tensors {
            loaded.enqueue(tensors, stream)?;
        }
        end.record(stream)?;
        let estimate = end.microseconds_since(start)? / copies as f64;
        let count = calls_for(estimate, copies);

        let graph = stream.capture(|| {
            let mut rotation = tensors.iter().cycle().take(count);
            rotation.try_for_each(|tensors| loaded.enqueue(tensors, stream))
        })?;
        graph.launch(stream)?;
        stream.synchronize()?;
        let mut replays = [0.0; REPLAYS];
        for replay in &mut replays {
            start.record(stream)?;
            graph.launch(stream)?;
            end.record(stream)?;
            *replay = end.microseconds_since(start)? / count as f64;
        }
        replays.sort_by(f64::total_cmp);
        let microseconds = replays[REPLAYS / 2];
        let bytes = loaded.bytes_moved;
        Ok(Timing {
            microseconds,
            bytes,
            gigabytes_per_second: bytes as f64 / microseconds / 1e3,
            calls: count,
        })
    }
}

fn copies_for(bytes_moved: i64) -> usize {
    let copies = (ROTATION_BYTES + bytes_moved.max(1) - 1) / bytes_moved.max(1);
    copies.clamp(1, MAX_COPIES) as usize
}

fn calls_for(estimate_microseconds: f64, copies: usize) -> usize {
    let wanted = (REPLAY_MICROSECONDS / estimate_microseconds.max(1.0)) as usize + 1;
    wanted.min(MAX_CALLS).max(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_exceeds_the_l2_cache() {
        assert_eq!(copies_for(1 << 20), MAX_COPIES as usize);
        assert_eq!(copies_for(100 << 20), 6);
        assert_eq!(copies_for(1 << 30), 1);
        assert_eq!(copies_for(0), MAX_COPIES as usize);
    }

    #[test]
    fn a_replay_uses_every_copy_and_ends_soon() {
        assert_eq!(calls_for(0.0, 1), MAX_CALLS);
        assert_eq!(calls_for(1e6, 6), 6);
        assert_eq!(calls_for(1000.0, 6), 21);
    }
}
