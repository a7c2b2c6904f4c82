//! Measures the time of one call with a cold L2 cache.
//!
//! Calls rotate over several copies of the tensors, so many that each copy has been evicted from L2 before its next turn.
//! They are recorded in one CUDA graph, so that launches cost no host time, and the result is the median of several replays.

use norma_oracle::memory::Images;
use norma_oracle::problem::Problem;
use norma_runtime::driver::{Buffer, Event, Stream};
use norma_runtime::{Device, DriverError};
use serde::{Deserialize, Serialize};

use crate::call::{Loaded, Tensors};
use crate::failure::Failure;

/// The minimum traffic of one rotation: several times the largest L2 (60 MB on an H200, 126 MB on a B200).
const ROTATION_BYTES: i64 = 512 << 20;
/// The largest number of copies of the tensors; calls that would need more are so small that launches dominate anyway.
const MAX_COPIES: i64 = 64;
/// The target duration of one replay, in microseconds.
const REPLAY_MICROSECONDS: f64 = 20_000.0;
/// The largest number of calls in a graph.
const MAX_CALLS: usize = 400;
/// The number of replays of which the median is taken.
const REPLAYS: usize = 7;

/// The most bytes of one copy by the driver: it copies 512 MB at 3024 GB/s, and 8 KB more at 2433 (H100, driver 580.159.04).
const COPY_BYTES: usize = 256 << 20;
/// What the bytes of a copy are a multiple of: of sizes around 512 MB the driver copies those that are no multiple of 512 bytes at 2760
/// GB/s, and one that is a multiple of 16 KB at 4290 (H200).
const COPY_UNIT: usize = 16 << 10;

/// The result of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The median time of one call, in microseconds.
    pub microseconds: f64,
    /// The minimum traffic of a call, in bytes, by the manifest.
    pub bytes: i64,
    /// The bandwidth: those bytes per second, in units of 10^9.
    pub gigabytes_per_second: f64,
    /// The number of calls in a replay.
    pub calls: usize,
    /// The median time of a copy by the driver with the same traffic, half of it reads and half writes, if that was asked
    /// for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_microseconds: Option<f64>,
}

/// Measures a call; with `beside_copy` also a copy with the same traffic.
///
/// # Errors
/// The driver's error; an empty problem, which takes no time.
pub fn time(
    device: &Device,
    loaded: &Loaded<'_>,
    problem: &Problem<'_>,
    images: &Images,
    beside_copy: bool,
) -> Result<Timing, Failure> {
    let rotation = Rotation::new(device, problem, images, loaded.bytes_moved)?;
    let timing = rotation.time(device, loaded)?;
    drop(rotation);
    let copy_microseconds = beside_copy.then(|| time_copy(device, timing.bytes)).transpose()?;
    Ok(Timing {
        copy_microseconds,
        ..timing
    })
}

/// Copies of a function's tensors, over which timed calls rotate.
pub struct Rotation(Vec<Tensors>);

impl Rotation {
    /// Allocates the copies for calls that move `bytes_moved` each.
    ///
    /// # Errors
    /// The driver's error, most likely out of memory.
    pub fn new(
        device: &Device,
        problem: &Problem<'_>,
        images: &Images,
        bytes_moved: i64,
    ) -> Result<Self, DriverError> {
        let copies = (0..copies_for(bytes_moved)).map(|_| Tensors::unguarded(device, problem, images));
        copies.collect::<Result<_, _>>().map(Self)
    }

    /// Measures a call of a function on these tensors.
    ///
    /// # Errors
    /// The driver's error; an empty problem, which takes no time.
    pub fn time(&self, device: &Device, loaded: &Loaded<'_>) -> Result<Timing, Failure> {
        let (microseconds, calls) = measure(device, self.0.len(), &|copy, stream| {
            loaded.enqueue(&self.0[copy], stream)
        })?;
        let bytes = loaded.bytes_moved;
        Ok(Timing {
            microseconds,
            bytes,
            gigabytes_per_second: bytes as f64 / microseconds / 1e3,
            calls,
            copy_microseconds: None,
        })
    }
}

/// The time of a copy with a traffic of `bytes`, in microseconds.
fn time_copy(device: &Device, bytes: i64) -> Result<f64, Failure> {
    let copies = copies_for(bytes);
    let (pieces, of_piece) = pieces_of_copy(bytes);
    let buffer = || Buffer::new(device, of_piece, 0);
    let pairs = (0..copies * pieces).map(|_| Ok((buffer()?, buffer()?)));
    let pairs = pairs.collect::<Result<Vec<_>, DriverError>>()?;
    let (microseconds, _) = measure(device, copies, &|copy, stream| {
        let mut of_copy = pairs[copy * pieces..][..pieces].iter();
        Ok(of_copy.try_for_each(|(from, to)| from.copy_to(to, stream))?)
    })?;
    Ok(microseconds)
}

/// How many copies, of how many bytes each, have a traffic of `bytes`: of sizes that the driver copies fast.
fn pieces_of_copy(bytes: i64) -> (usize, usize) {
    let half = usize::try_from(bytes / 2).unwrap_or(0).max(1);
    let pieces = half.div_ceil(COPY_BYTES);
    (pieces, half.div_ceil(pieces).next_multiple_of(COPY_UNIT))
}

/// The median time of the work that `enqueue` puts on a stream, in microseconds, while it rotates over this many copies of
/// its data; and the number of repetitions in a replay.
fn measure(
    device: &Device,
    copies: usize,
    enqueue: &dyn Fn(usize, &Stream) -> Result<(), Failure>,
) -> Result<(f64, usize), Failure> {
    let stream = Stream::new(device)?;
    let (start, end) = (Event::new(device)?, Event::new(device)?);
    (0..copies.min(2)).try_for_each(|copy| enqueue(copy, &stream))?;
    stream.synchronize()?;
    start.record(&stream)?;
    (0..copies).try_for_each(|copy| enqueue(copy, &stream))?;
    end.record(&stream)?;
    let estimate = end.microseconds_since(&start)? / copies as f64;
    let count = calls_for(estimate, copies);

    let graph = stream.capture(|| {
        let mut rotation = (0..copies).cycle().take(count);
        rotation.try_for_each(|copy| enqueue(copy, &stream))
    })?;
    graph.launch(&stream)?;
    stream.synchronize()?;
    let mut replays = [0.0; REPLAYS];
    for replay in &mut replays {
        start.record(&stream)?;
        graph.launch(&stream)?;
        end.record(&stream)?;
        *replay = end.microseconds_since(&start)? / count as f64;
    }
    replays.sort_by(f64::total_cmp);
    Ok((replays[REPLAYS / 2], count))
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
    fn a_copy_is_of_sizes_that_the_driver_copies_fast() {
        assert_eq!(pieces_of_copy(2), (1, 16 << 10));
        assert_eq!(pieces_of_copy(512 << 20), (1, 256 << 20));
        assert_eq!(pieces_of_copy((1 << 30) + 2), (3, 178_962_432));
        let (pieces, of_piece) = pieces_of_copy(1_073_503_024);
        assert!(of_piece % COPY_UNIT == 0 && pieces * of_piece >= 1_073_503_024 / 2);
    }

    #[test]
    fn a_replay_uses_every_copy_and_ends_soon() {
        assert_eq!(calls_for(0.0, 1), MAX_CALLS);
        assert_eq!(calls_for(1e6, 6), 6);
        assert_eq!(calls_for(1000.0, 6), 21);
    }
}
