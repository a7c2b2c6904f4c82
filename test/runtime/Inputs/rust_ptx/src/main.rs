//! Calls what its arguments name, in their order, of the functions that are generated beside `rms_norm`.

use std::process::ExitCode;

include!(concat!(env!("OUT_DIR"), "/rms_norm.rs"));

fn main() -> ExitCode {
    for argument in std::env::args().skip(1) {
        let outcome = match argument.as_str() {
            "allow" => rms_norm_allow_ptx(),
            _ => rms_norm_load(0),
        };
        if let Err(error) = outcome {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    println!("done");
    ExitCode::SUCCESS
}
