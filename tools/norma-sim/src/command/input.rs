//! Resolves the command line: the bundle to run, its sizes, and the seeds.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use norma_bundle::manifest::Function;
use norma_command_line::{RunOptions, RunOptionsError};
use norma_compiler::compile::{Input, Outcome};
use norma_compiler::{CompileOptions, Level};
use norma_dialects::attributes::kernel;
use norma_oracle::Problem;

use super::options::Options;
use crate::judge::Request;
use crate::{Bundle, Error};

/// Compiles or loads the input. Diagnostics of the compiler are appended to `diagnostics`.
///
/// # Errors
/// An input that cannot be read, compiled or simulated.
pub fn bundle(options: &Options, diagnostics: &mut String) -> Result<Bundle, Error> {
    if is_stdin(&options.input) && options.oracle.as_deref().is_some_and(is_stdin) {
        let message = "standard input can be read once: it cannot be both INPUT and --oracle";
        return Err(Error::Request(message.to_owned()));
    }
    let mut bundle = match options.input.is_dir() {
        true => Bundle::load(&options.input, options.target)?,
        false => compile(&options.input, options.from, options, diagnostics)?,
    };
    if let Some(oracle) = &options.oracle {
        let other = compile(oracle, None, options, diagnostics)?;
        let name = options.run.choose(&bundle.manifest)?.function().name.clone();
        let defined = bundle.define_by(&name, &other.manifest);
        let of_oracle = |error| Error::Request(format!("--oracle '{}': {error}", oracle.display()));
        defined.map_err(of_oracle)?;
    }
    Ok(bundle)
}

/// Binds the sizes, strides and scalars of a function.
///
/// # Errors
/// A value is missing or not allowed, or there is no definition although results must be compared.
pub fn problem<'f>(options: &Options, function: &'f Function) -> Result<Problem<'f>, Error> {
    if options.verify && function.definition.is_none() {
        return Err(Error::Request(format!(
            "'{}' has no definition to compare with: give the source that it comes from with --oracle",
            function.name
        )));
    }
    options.run.problem(function).map_err(|error| match error {
        // A module of a low level no longer says which sizes are equal, so more of them must be given.
        RunOptionsError::Bind(error)
            if function.definition.is_none() && leaves_open(&options.run, function) =>
        {
            Error::Open(error)
        }
        error => error.into(),
    })
}

/// Whether the options leave a size of the function open.
fn leaves_open(options: &RunOptions, function: &Function) -> bool {
    let given = |name: &str| {
        let setting = options.sizes.iter().find(|setting| setting.name == name)?;
        Some(setting.value)
    };
    let least = function.least_sizes(&given);
    let sizes = function.size_symbols();
    sizes
        .iter()
        .any(|name| given(name).is_none() && !least.contains_key(name))
}

/// The settings of the runs.
pub fn request(options: &Options) -> Request {
    Request {
        fill: options.run.fill,
        seed: options.run.seed,
        seeds: options.seeds,
        rows_checked: options.run.rows_checked,
        options: norma_simulator::Options {
            approximation: options.errors.into(),
            traffic: options.traffic,
            cta_limit: options.max_ctas,
            byte_limit: options.max_bytes,
            ..norma_simulator::Options::default()
        },
    }
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
        by_size: options.by_size,
        batch_invariant: options.batch_invariant,
        portable_clusters: options.portable_clusters,
        fp_contract: options.fp_contract,
        schedules: match from < Level::Scheduled {
            true => options.schedule.clone(),
            false => Vec::new(),
        },
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

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn read(path: &Path) -> Result<(String, String), Error> {
    let mut text = String::new();
    let (name, result) = if is_stdin(path) {
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

/// Guesses the level of a module from ops and attributes that occur at one level only.
fn level_of(text: &str) -> Level {
    let code: Vec<String> = text.lines().map(code_of).collect();
    let has = |name: &str| code.iter().any(|line| line.contains(name));
    if has("llvm.func") {
        Level::Nvvm
    } else if has(kernel::SHARED_BYTES) {
        // Allocating shared memory is a step from level gl to level gl-lowered, and sets this attribute on every kernel.
        Level::GlLowered
    } else if has("gpu.func") {
        Level::Gl
    } else if has("norm.kernel") {
        Level::Kernel
    } else {
        Level::Tensor
    }
}

/// A line of MLIR without the contents of strings, and without a comment.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut in_string = false;
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if in_string => drop(rest.next()),
            '"' => in_string = !in_string,
            '/' if !in_string && rest.peek() == Some(&'/') => break,
            _ if in_string => {}
            character => code.push(character),
        }
    }
    code
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
        assert_eq!(
            level_of("gpu.module @k { gpu.func @k() kernel attributes {gl.shared_bytes = 16 : i64} }"),
            Level::GlLowered
        );
        assert_eq!(level_of("// no llvm.func\nnorm.kernel @k()"), Level::Kernel);
        let after_string = r#"module attributes {a = "http://\" //"} { llvm.func @k() }"#;
        assert_eq!(level_of(after_string), Level::Nvvm);
        assert_eq!(
            level_of(r#"func.func @f() attributes {a = "llvm.func"}"#),
            Level::Tensor
        );
    }
}
