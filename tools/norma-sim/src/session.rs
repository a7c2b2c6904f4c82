//! One run of the tool, from the command line's options to what was found.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use norma_compiler::compile::{Input, Outcome};
use norma_compiler::{CompileOptions, Level};
use norma_oracle::Problem;
use norma_oracle::outputs::{self, Agreement};
use norma_oracle::setting::by_name;
use norma_sim::judge::{Judgement, Request, judge};
use norma_sim::{Bundle, Error};

use crate::options::Options;
use crate::progress::Bar;

/// What was run and what was found.
pub struct Session {
    /// The function.
    pub function: String,
    /// What its kernels are compiled for.
    pub target: String,
    /// The sizes it ran with.
    pub sizes: BTreeMap<String, i64>,
    /// What was found.
    pub judgement: Judgement,
    /// How each output compares with another run's, bit for bit, if asked for.
    pub agreements: Option<Vec<Agreement>>,
}

impl Session {
    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        let agree = |agreements: &Vec<Agreement>| agreements.iter().all(|agreement| agreement.different == 0);
        self.judgement.passed() && self.agreements.as_ref().is_none_or(agree)
    }
}

/// Compiles or loads the input and runs it. Diagnostics of the compiler are appended to `diagnostics`.
///
/// # Errors
/// See [`Error`]. What the kernels do wrong is no error, but part of the session.
pub fn run(options: &Options, diagnostics: &mut String) -> Result<Session, Error> {
    let mut bundle = match options.input.is_dir() {
        true => Bundle::load(&options.input)?,
        false => compile(&options.input, options.from, options, diagnostics)?,
    };
    if let Some(oracle) = &options.oracle {
        let other = compile(oracle, None, options, diagnostics)?;
        bundle.define_by(&other.manifest);
    }
    let function = bundle.function(options.function.as_deref())?;
    if options.verify && function.definition.is_none() {
        return Err(Error::Request(format!(
            "'{}' has no definition to compare with: give the source that it comes from with --oracle",
            function.name
        )));
    }
    let problem = Problem::new(
        function,
        by_name(&options.sizes),
        by_name(&options.strides),
        by_name(&options.scalars),
    )?;
    let request = Request {
        fill: options.fill,
        seed: options.seed,
        seeds: options.seeds,
        rows_checked: options.rows_checked,
        options: norma_simulator::Options {
            approximation: options.errors.into(),
            multiprocessors: options.target.part.sms,
            traffic: options.traffic,
            ..norma_simulator::Options::default()
        },
    };
    let mut bar = Bar::new(options.seeds);
    let judgement = judge(&bundle, &problem, &request, &mut |number, at| {
        bar.tell(number, at)
    })?;
    let agreements = options
        .compare_outputs
        .as_ref()
        .map(|directory| outputs::compare(directory, &problem, &judgement.images))
        .transpose()?;
    Ok(Session {
        function: function.name.clone(),
        target: bundle.manifest.target.clone(),
        sizes: problem.sizes.clone(),
        judgement,
        agreements,
    })
}

fn compile(
    path: &Path,
    from: Option<Level>,
    options: &Options,
    diagnostics: &mut String,
) -> Result<Bundle, Error> {
    let (name, text) = read(path)?;
    let from = from.unwrap_or_else(|| level_of(&text));
    let compile_options = CompileOptions {
        from,
        schedule: options.schedule.clone().filter(|_| from < Level::Scheduled),
        ..CompileOptions::new(options.target)
    };
    let mut outcome = Outcome::default();
    let input = Input {
        name: &name,
        text: &text,
    };
    let bundle = Bundle::compile(input, &compile_options, &mut outcome);
    diagnostics.push_str(&outcome.diagnostics);
    bundle
}

fn read(path: &Path) -> Result<(String, String), Error> {
    let mut text = String::new();
    let (name, result) = if path == Path::new("-") {
        (
            "<stdin>".to_owned(),
            io::stdin().read_to_string(&mut text).map(drop),
        )
    } else {
        let result = fs::read_to_string(path).map(|read| text = read);
        (path.display().to_string(), result)
    };
    result.map_err(|error| Error::Request(format!("cannot read '{name}': {error}")))?;
    Ok((name, text))
}

/// The level that a module's ops are of, where some op is of one level alone.
fn level_of(text: &str) -> Level {
    if text.contains("llvm.func") {
        Level::Nvvm
    } else if text.contains("gpu.func") {
        Level::Gl
    } else if text.contains("norm.kernel") {
        Level::Kernel
    } else {
        Level::Tensor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_that_of_the_ops() {
        assert_eq!(level_of("func.func @f(%x: tensor<4xf32>)"), Level::Tensor);
        assert_eq!(level_of("norm.kernel @k(%x: memref<4xf32>)"), Level::Kernel);
        assert_eq!(level_of("gpu.module @k { gpu.func @k() }"), Level::Gl);
        assert_eq!(level_of("gpu.module @k { llvm.func @k() }"), Level::Nvvm);
    }
}
