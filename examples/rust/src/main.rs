//! RMSNorm of 16384 rows of 4096 columns, with a kernel that is part of the program.

use std::error::Error;
use std::process::ExitCode;

use norma_runtime::driver::{Buffer, Stream};
use norma_runtime::{Device, Driver, Element, Tensor};

include!(concat!(env!("OUT_DIR"), "/rms_norm.rs"));

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let device = Device::open(&Driver::shared()?, 0)?;
    let stream = Stream::new(&device)?;
    let (matrix, row) = ([16384, 4096], [4096]);
    let allocate = |elements: i64| Buffer::new(&device, 2 * elements as usize, 0);
    let (x, w, y) = (
        allocate(16384 * 4096)?,
        allocate(4096)?,
        allocate(16384 * 4096)?,
    );
    let x_tensor = Tensor::dense(0, x.address(), Element::BF16, &matrix);
    let w_tensor = Tensor::dense(0, w.address(), Element::BF16, &row);
    let y_tensor = Tensor::dense(0, y.address(), Element::BF16, &matrix);
    // SAFETY: the buffers hold the tensors, and outlive the launch.
    unsafe { rms_norm(&x_tensor, &w_tensor, &y_tensor, stream.handle()) }?;
    // SAFETY: as above; a tensor that the kernel is not made for is refused.
    if let Err(error) = unsafe { rms_norm(&x_tensor, &x_tensor, &y_tensor, stream.handle()) } {
        println!("refused: {error}");
    }
    stream.synchronize()?;
    println!("done");
    Ok(())
}
