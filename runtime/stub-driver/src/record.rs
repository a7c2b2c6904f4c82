//! Records launches.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRecord {
    /// The kernel.
    pub symbol: String,
    /// The device.
    pub device: usize,
    /// The stream's number, 0 for the default stream.
    pub stream: u64,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads per CTA.
    pub block: [u32; 3],
    /// CTAs per cluster.
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// Whether the kernel may overlap the previous one.
    pub programmatic: bool,
    /// The bytes of each parameter.
    pub parameters: Vec<Vec<u8>>,
}

impl LaunchRecord {
    /// A parameter of 8 bytes as a number; 0 if it has another size.
    pub fn word(&self, parameter: usize) -> u64 {
        let bytes = self.parameters.get(parameter);
        let bytes = bytes.and_then(|bytes| bytes.as_slice().try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }
}

static RECORDS: AtomicBool = AtomicBool::new(true);
static LAUNCHES: Mutex<Vec<LaunchRecord>> = Mutex::new(Vec::new());

/// Sets whether launches are recorded; without recording a launch costs nothing.
pub fn record(is_recorded: bool) {
    RECORDS.store(is_recorded, Ordering::Relaxed);
}

/// Whether launches are recorded.
pub(crate) fn is_recording() -> bool {
    RECORDS.load(Ordering::Relaxed)
}

/// All launches on the stream with this number, in order.
pub fn launches(stream: u64) -> Vec<LaunchRecord> {
    let launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let on_stream = launches.iter().filter(|launch| launch.stream == stream);
    on_stream.cloned().collect()
}

/// Adds a launch.
pub(crate) fn add(launch: LaunchRecord) {
    if let Some(path) = env::var_os("NORMA_STUB_LOG") {
        let list = |extents: [u32; 3]| extents.map(|extent| extent.to_string()).join(" ");
        let parameters = launch.parameters.iter().map(|bytes| {
            let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        });
        let line = format!(
            "{} on device {} stream {}: grid {}, block {}, cluster {}, shared {}, programmatic {}, parameters {}\n",
            launch.symbol,
            launch.device,
            launch.stream,
            list(launch.grid),
            list(launch.block),
            list(launch.cluster),
            launch.shared_bytes,
            launch.programmatic,
            parameters.collect::<Vec<_>>().join(" ")
        );
        let file = OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("stand-in for the driver: cannot write its log: {error}");
        }
    }
    LAUNCHES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(launch);
}
