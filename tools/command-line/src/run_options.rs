//! The options of every program that runs a function's kernels: the arguments, and how much of the result is compared.

use clap::Args;
use norma_bundle::Manifest;
use norma_bundle::manifest::{Chosen, Function, FunctionError};
use norma_oracle::problem::BindError;
use norma_oracle::verify::Sampling;
use norma_oracle::{Fill, Problem};
use thiserror::Error;

use crate::number::whole_number;
use crate::setting::{Setting, by_name};

/// Which function is run, on what, and how much of it is compared.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// The function to run, where there are several
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// A size that the function leaves open, such as m=4
    #[arg(long = "size", value_name = "NAME=N")]
    pub sizes: Vec<Setting<i64>>,
    /// A stride that the function leaves open, in elements; dense where not given
    #[arg(long = "stride", value_name = "NAME=N")]
    pub strides: Vec<Setting<i64>>,
    /// A scalar argument, such as eps=1e-5
    #[arg(long = "scalar", value_name = "NAME=X")]
    pub scalars: Vec<Setting<f64>>,
    /// What the inputs hold
    #[arg(long, value_enum, default_value_t = Fill::Normal)]
    pub fill: Fill,
    /// The seed of the inputs and of the rows to compare
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole_number(0_u64..), allow_negative_numbers = true)]
    pub seed: u64,
    /// How many rows to compare where there are many; 0 for all
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole_number(0_usize..), allow_negative_numbers = true)]
    pub rows_checked: usize,
    /// Write one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Why the options do not determine a problem to run.
#[derive(Debug, Error)]
pub enum RunOptionsError {
    /// They name a function that does not exist, or none although there are several.
    #[error(transparent)]
    Function(#[from] FunctionError),
    /// Two of them set the same size, stride or scalar.
    #[error("--{option} {name}=... is given twice")]
    Repeated {
        /// `size`, `stride` or `scalar`.
        option: &'static str,
        /// Its name.
        name: String,
    },
    /// A size is missing, or a value violates an assumption of the kernels.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl RunOptions {
    /// The function that the options name.
    ///
    /// # Errors
    /// There is no function of that name, or none is named and there are several.
    pub fn function<'m>(&self, manifest: &'m Manifest) -> Result<&'m Function, RunOptionsError> {
        Ok(manifest.function(self.function.as_deref())?)
    }

    /// The function that the options name, on one device or sharded over several.
    ///
    /// # Errors
    /// As [`RunOptions::function`].
    pub fn choose<'m>(&self, manifest: &'m Manifest) -> Result<Chosen<'m>, RunOptionsError> {
        Ok(manifest.choose(self.function.as_deref())?)
    }

    /// Binds the sizes, strides and scalars of a function.
    ///
    /// # Errors
    /// One is given twice, missing, or not allowed.
    pub fn problem<'m>(&self, function: &'m Function) -> Result<Problem<'m>, RunOptionsError> {
        let repeated = |option| move |name| RunOptionsError::Repeated { option, name };
        Ok(Problem::new(
            function,
            by_name(&self.sizes).map_err(repeated("size"))?,
            by_name(&self.strides).map_err(repeated("stride"))?,
            by_name(&self.scalars).map_err(repeated("scalar"))?,
        )?)
    }

    /// The choice of rows of a large result that are compared.
    pub fn sampling(&self) -> Sampling {
        Sampling {
            rows: self.rows_checked,
            seed: self.seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        options: RunOptions,
    }

    fn problem_of(arguments: &[&str]) -> Result<i64, String> {
        let manifest = include_str!("../../../bundle/testdata/rms_norm.json");
        let manifest: Manifest = serde_json::from_str(manifest).unwrap();
        let Program { options } = Program::parse_from([&["program"], arguments].concat());
        let function = options.function(&manifest).map_err(|error| error.to_string())?;
        let problem = options.problem(function).map_err(|error| error.to_string())?;
        Ok(problem.sizes["m"])
    }

    #[test]
    fn options_bind_the_sizes_of_the_function_they_name() {
        assert_eq!(problem_of(&["--size", "m=3", "--function", "rms_norm"]), Ok(3));
        assert_eq!(
            problem_of(&["--size", "m=3", "--function", "softmax"]),
            Err("there is no function 'softmax', only rms_norm".into())
        );
    }

    #[test]
    fn what_is_given_twice_is_refused() {
        for (arguments, message) in [
            (["--size", "m=1", "--size", "m=2"], "--size m=... is given twice"),
            (
                ["--stride", "x_stride=8", "--stride", "x_stride=8"],
                "--stride x_stride=... is given twice",
            ),
            (
                ["--scalar", "eps=1", "--scalar", "eps=2"],
                "--scalar eps=... is given twice",
            ),
        ] {
            assert_eq!(problem_of(&arguments), Err(message.into()));
        }
    }
}
