//! One compilation: lowers a source text, for one target, to the text of a level or to machine code.

mod machine_code;

use std::collections::BTreeMap;

use melior::Context;
use melior::ir::attribute::DenseI32ArrayAttribute;
use melior::ir::operation::{Operation, OperationLike};
use melior::ir::{Module, OperationRef};
use melior::pass::PassManager;
use norma_bundle::manifest::Sharded;
use norma_dialects::attributes::kernel as attribute;
use norma_dialects::norm::{CachePlace, ChoiceAttr};
use norma_passes::check_launching_functions;
use norma_passes::mlir::context;
use norma_passes::mlir::pass::Pass;
use norma_passes::mlir::source::{Shown, Source};
use norma_passes::mlir::walk;
use norma_passes::schedule::mapping::Mapping;
use norma_passes::table::NormFormKernels;

use crate::bundle::{self, Bundle, Emitted, KernelForms, SourceConditions, SourceDefinition};
use crate::emit::{Assemblies, Cubin};
use crate::error::{Error, Kind, Result};
use crate::level::Level;
use crate::located_text::located_text;
use crate::options::{Assembled, CompileOptions};
use crate::pipeline;
use crate::provenance;
use crate::registry;
use crate::schedules;
use crate::target::Target;
use crate::timing::Timing;
use machine_code::{MachineCode, Start, assemble, generate, machine_code};

/// A text to compile.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The name used in diagnostics: a path, `<stdin>`, or another name in angle brackets for a text that nobody wrote, whose lines
    /// diagnostics do not show.
    pub name: &'a str,
    /// The text, of the level that [`CompileOptions::from`] says.
    pub text: &'a str,
}

impl Input<'_> {
    /// Whether a user wrote the text.
    fn is_written(&self) -> bool {
        self.name == "<stdin>" || !(self.name.starts_with('<') && self.name.ends_with('>'))
    }
}

/// What a compilation returns besides its result.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Located diagnostics, rendered; they contain errors only if the compilation failed.
    pub diagnostics: String,
    /// How long each stage took.
    pub timing: Timing,
}

/// Lowers the input to a level and returns its text, or the machine code for [`Level::Cubin`].
///
/// # Errors
///
/// Wrong input, something unsupported, or a fault of the compiler; [`Outcome::diagnostics`] holds the located messages.
pub fn lower(input: Input, to: Level, options: &CompileOptions, outcome: &mut Outcome) -> Result<Vec<u8>> {
    if to < options.from {
        return Err(Error::user(format!(
            "the input is of level '{}', which is below '{to}'",
            options.from
        )));
    }
    schedules::check(options)?;
    if options.from.is_mlir() {
        with_module(input, options, outcome, |module, _, timing| {
            run_passes(module, options.from, to, options, timing)?;
            if to.is_mlir() {
                return Ok(format!("{}\n", module.as_operation()).into_bytes());
            }
            let modules = gpu_modules(module);
            if modules.is_empty() {
                return Err(no_kernel(input.name));
            }
            if to == Level::Cubin && modules.len() > 1 {
                return Err(Error::user(format!(
                    "expected one gpu.module for a cubin, got {}; a bundle takes several",
                    modules.len()
                )));
            }
            let mut bytes = Vec::new();
            for module in modules {
                let name = symbol(module)?;
                let text = generate(Start::Module(module), &name, to.min(Level::Ptx), options, timing)?;
                bytes.extend(match to {
                    Level::Cubin => assemble(&text, &name, options, timing)?.bytes,
                    _ => text.into_bytes(),
                });
            }
            Ok(bytes)
        })
    } else {
        lower_text(input, to, options, &mut outcome.timing)
    }
}

/// Compiles the input to a bundle for the target, in memory. It takes cubins from `assemblies` where the PTX was assembled before, by
/// an earlier attempt at the bundle or for another bundle of the batch.
///
/// The best-ranked schedules are attempted first. Where the assembler disappoints ([`missed`]), the schedule is not discarded: all are ranked
/// again, this one with the registers that the assembler used.
///
/// # Errors
///
/// As [`lower`]; also an input of a level that no longer has host functions.
pub fn bundle(
    input: Input,
    options: &CompileOptions,
    assemblies: &Assemblies,
    outcome: &mut Outcome,
) -> Result<Bundle> {
    let is_chosen = options.from < Level::Scheduled;
    let mut bundle = with_kernels(input, options, outcome, |kernels, source, timing| {
        let mut options = options.clone();
        let mut earlier = Vec::new();
        loop {
            let mark = source.mark();
            let module = kernels.lowered(&options, timing)?;
            let codes = machine_code(&module, &earlier, &options, assemblies, timing)?;
            let mut disappointing = disappointing(&module, &codes, options.target)?;
            if earlier.len() >= ASSEMBLED_AT_MOST {
                disappointing.retain(Assembled::spills);
            }
            // A choice that has to hold for any number of rows may be the same again.
            disappointing.retain(|found| !options.assembled.contains(found));
            if !is_chosen || disappointing.is_empty() || earlier.len() == SPILLED_AT_MOST {
                let emitted = emitted(&module, codes, &options)?;
                return kernels.describe(&module, &emitted, timing);
            }
            source.forget_since(mark);
            options.assembled.extend(disappointing);
            earlier.push((module, codes));
        }
    })?;
    let provenance = provenance::of(input, options)?;
    for function in &mut bundle.manifest.functions {
        function.provenance = Some(provenance.clone());
    }
    Ok(bundle)
}

/// The number of times a bundle is assembled in search of schedules that assemble as expected; after that, the best-ranked
/// schedule is taken as long as it does not spill.
const ASSEMBLED_AT_MOST: usize = 16;
/// The number of times in search of schedules that do not spill; after that, the best-ranked schedule is taken as it is.
const SPILLED_AT_MOST: usize = 64;

/// The kernels of a lowered module that assembled worse than their schedules were chosen for.
fn disappointing(module: &Module, codes: &[MachineCode], target: &Target) -> Result<Vec<Assembled>> {
    let modules = gpu_modules(module);
    let found = modules.into_iter().zip(codes).flat_map(|(op, code)| {
        let kernels = walk::named(op, "llvm.func");
        kernels
            .into_iter()
            .filter_map(|kernel| missed(kernel, &code.cubin, target))
    });
    Ok(found.collect())
}

/// What of a lowered module and its machine code goes into a bundle.
fn emitted(module: &Module, codes: Vec<MachineCode>, options: &CompileOptions) -> Result<Vec<Emitted>> {
    let emitted = gpu_modules(module).into_iter().zip(codes).map(|(op, code)| {
        Ok(Emitted {
            module: code.module,
            cubin: Some(code.cubin),
            text: options.keep_nvvm.then(|| located_text(op)).transpose()?,
            ptx: options.keep_ptx.then_some(code.ptx),
            expected_registers: expected_registers(op),
        })
    });
    emitted.collect()
}

/// By kernel with a chosen schedule, how many registers of a thread the choice expected.
fn expected_registers(module: OperationRef) -> BTreeMap<String, u64> {
    let expected = |kernel: OperationRef| {
        let choice = ChoiceAttr::from_attribute(kernel.attribute(attribute::CHOICE).ok()?)?;
        let registers = u64::try_from(choice.registers())
            .ok()
            .filter(|registers| *registers > 0)?;
        Some((norma_dialects::symbol_name(kernel)?.to_owned(), registers))
    };
    walk::named(module, "llvm.func")
        .into_iter()
        .filter_map(expected)
        .collect()
}

/// How a kernel assembled, if that is worse than what its schedule was chosen for: it spills registers, or its registers leave an SM fewer
/// than four fifths of the CTAs that were expected, or they admit more CTAs while these share L1.
fn missed(kernel: OperationRef, cubin: &Cubin, target: &Target) -> Option<Assembled> {
    let name = norma_dialects::symbol_name(kernel)?;
    let choice = ChoiceAttr::from_attribute(kernel.attribute(attribute::CHOICE).ok()?)?;
    let usage = cubin.kernels.iter().find(|usage| usage.symbol == name)?;
    let threads = DenseI32ArrayAttribute::try_from(kernel.attribute("nvvm.reqntid").ok()?).ok()?;
    let threads = u64::try_from(threads.element(0).ok()?).ok()?;
    let resident = target.resident_ctas(threads, u64::from(usage.registers));
    let expected = u64::try_from(choice.ctas_per_sm()).ok()?;
    // With more resident CTAs than expected, their rows may not fit the L1 from which they are read again.
    let keeps_in_l1 = Mapping::of(choice.schedule())
        .ok()?
        .keep
        .contains(&CachePlace::L1);
    let crowds_l1 = resident > expected && keeps_in_l1;
    // One CTA in five fewer than expected is within the accuracy of the model.
    let is_missed = usage.spill_bytes > 0 || 5 * resident < 4 * expected || crowds_l1;
    is_missed.then(|| Assembled {
        kernel: name.to_owned(),
        schedule: choice.schedule().to_string(),
        registers: (usage.spill_bytes == 0).then_some(u64::from(usage.registers)),
    })
}

/// Compiles the input to a bundle without machine code: the manifest and the modules of level `nvvm`, whose ops carry the
/// locations of the input. It needs no assembler, and the manifest lacks what only an assembler knows, such as registers.
///
/// # Errors
///
/// As [`bundle`].
pub fn lowered(input: Input, options: &CompileOptions, outcome: &mut Outcome) -> Result<Bundle> {
    with_kernels(input, options, outcome, |kernels, _, timing| {
        let module = kernels.lowered(options, timing)?;
        let emitted = gpu_modules(&module).into_iter().map(|op| {
            Ok(Emitted {
                module: symbol(op)?,
                cubin: None,
                text: Some(located_text(op)?),
                ptx: None,
                expected_registers: expected_registers(op),
            })
        });
        kernels.describe(&module, &emitted.collect::<Result<Vec<_>>>()?, timing)
    })
}

/// A module of level `kernel`, or of the input's level if that is lower, with what a manifest says that is read off levels above.
struct Kernels<'m, 'c> {
    module: &'m Module<'c>,
    level: Level,
    /// The name of the input.
    name: &'m str,
    target: &'static Target,
    definitions: Vec<SourceDefinition>,
    conditions: Vec<SourceConditions>,
    forms: KernelForms,
    sharded: Vec<Sharded>,
}

impl<'c> Kernels<'_, 'c> {
    /// A copy of the module, lowered to level `nvvm`.
    fn lowered(&self, options: &CompileOptions, timing: &mut Timing) -> Result<Module<'c>> {
        let copy = Operation::clone(&self.module.as_operation());
        let mut copy = Module::from_operation(copy)
            .ok_or_else(|| Error::internal("the copy of a module is not a module"))?;
        run_passes(&mut copy, self.level, Level::Nvvm, options, timing)?;
        match gpu_modules(&copy).is_empty() {
            true => Err(no_kernel(self.name)),
            false => Ok(copy),
        }
    }

    /// The bundle of a lowered copy and of what was emitted for its `gpu.module`s.
    fn describe(self, lowered: &Module, emitted: &[Emitted], timing: &mut Timing) -> Result<Bundle> {
        timing.measure("manifest", || {
            bundle::assemble(
                lowered,
                &self.definitions,
                &self.conditions,
                &self.forms,
                emitted,
                self.sharded,
                self.target,
            )
        })
    }
}

/// Lowers the input to level `kernel`, and calls `body` on its kernels.
fn with_kernels<T>(
    input: Input,
    options: &CompileOptions,
    outcome: &mut Outcome,
    body: impl FnOnce(Kernels, &Source, &mut Timing) -> Result<T>,
) -> Result<T> {
    if !options.from.is_mlir() {
        return Err(Error::user(format!(
            "a bundle needs the host functions, which level '{}' does not have; ask for a level with --emit",
            options.from
        )));
    }
    schedules::check(options)?;
    with_module(input, options, outcome, |module, source, timing| {
        let mut sharded = Vec::new();
        if options.from == Level::Tensor {
            run_textual(module, pipeline::NAME_SIZES, Level::Kernel, timing)?;
            run_textual(
                module,
                &pipeline::fill_in(pipeline::DIFFERENTIATE, options),
                Level::Kernel,
                timing,
            )?;
            let whole = bundle::sharded::whole(module)?;
            run_textual(
                module,
                &pipeline::fill_in(pipeline::SHARD, options),
                Level::Kernel,
                timing,
            )?;
            if let Some(mut whole) = whole {
                let quiet = CompileOptions {
                    explain: false,
                    ..options.clone()
                };
                sharded = bundle::sharded::describe(module, &mut whole, |whole| {
                    run_steps(whole, Level::Tensor, Level::Kernel, &quiet, timing)
                })?;
            }
        }
        let definitions = timing.measure("definition", || SourceDefinition::collect(module));
        let conditions = timing.measure("conditions", || SourceConditions::collect(module));
        let level = options.from.max(Level::Kernel);
        run_passes(module, options.from, level, options, timing)?;
        let kernels = Kernels {
            forms: KernelForms::collect(module)?,
            module,
            level,
            name: input.name,
            target: options.target,
            definitions,
            conditions,
            sharded,
        };
        body(kernels, source, timing)
    })
}

/// Lowers the input to an MLIR level and calls `look` on the module.
///
/// # Errors
///
/// As [`lower`], and the errors of `look`.
pub(crate) fn at_level<T>(
    input: Input,
    level: Level,
    options: &CompileOptions,
    outcome: &mut Outcome,
    look: impl FnOnce(&Module) -> Result<T>,
) -> Result<T> {
    with_module(input, options, outcome, |module, _, timing| {
        run_passes(module, options.from, level, options, timing)?;
        look(module)
    })
}

/// Parses the input, runs `body` on the module, and collects the diagnostics of both.
fn with_module<T>(
    input: Input,
    options: &CompileOptions,
    outcome: &mut Outcome,
    body: impl FnOnce(&mut Module, &Source, &mut Timing) -> Result<T>,
) -> Result<T> {
    let Outcome { diagnostics, timing } = outcome;
    let context = timing.measure("start", || {
        registry::register_passes();
        // Single-threaded: for one module, starting threads would cost more than they save. The parser and the passes load
        // the dialects that they need.
        Context::new_with_registry(&registry::dialects(), false)
    });
    let shown = Shown {
        remarks: options.explain,
        lines: input.is_written(),
    };
    let source = Source::new(&context, input.name, input.text, shown);
    let result = (|| {
        let mut module = timing.measure("parse", || source.parse()).ok_or_else(|| {
            Error::user(format!(
                "'{}' is not valid at level '{}'",
                input.name, options.from
            ))
            .diagnosed()
        })?;
        options.from.check(&module)?;
        check_functions(&module, input.name, options.from)?;
        body(&mut module, &source, timing)
    })();
    diagnostics.push_str(&source.take_diagnostics());
    result.map_err(|error| match source.has_fault() {
        true if error.kind() != Kind::Internal => Error::internal(error.to_string()).diagnosed(),
        _ => error,
    })
}

/// Checks the functions of an input that begins behind the pass that checks those of level `tensor`.
fn check_functions(module: &Module, name: &str, from: Level) -> Result<()> {
    if from == Level::Tensor {
        return Ok(());
    }
    let module = module.as_operation();
    check_launching_functions(module).map_err(|error| {
        error.emit(module.location(), NormFormKernels::ARGUMENT);
        Error::user(format!("'{name}' is not valid at level '{from}'")).diagnosed()
    })
}

fn run_passes(
    module: &mut Module,
    from: Level,
    to: Level,
    options: &CompileOptions,
    timing: &mut Timing,
) -> Result<()> {
    // Conditions refer to sizes by name, and sizes get names only with kernels and host functions.
    if from < Level::Scheduled && to >= Level::Scheduled && schedules::have_conditions(options) {
        run_passes(module, from, Level::Kernel, options, timing)?;
        let resolved = CompileOptions {
            schedules: schedules::resolved(module, options)?,
            ..options.clone()
        };
        return run_steps(module, Level::Kernel, to, &resolved, timing);
    }
    run_steps(module, from, to, options, timing)
}

fn run_steps(
    module: &mut Module,
    from: Level,
    to: Level,
    options: &CompileOptions,
    timing: &mut Timing,
) -> Result<()> {
    pipeline::steps(from, to, options)
        .iter()
        .try_for_each(|(level, passes)| run_textual(module, passes, *level, timing))
}

/// Runs passes that lead to level `to`, and verifies the module after them.
///
/// It verifies once because verifiers take as long as passes: whether a kernel's accesses stay in bounds is decided exactly.
/// Builds with debug assertions, such as tests, verify after each pass.
fn run_textual(module: &mut Module, passes: &str, to: Level, timing: &mut Timing) -> Result<()> {
    timing.measure("passes", || {
        let manager = PassManager::new(context::of(module.as_operation().location()));
        melior::utility::parse_pass_pipeline(
            manager.as_operation_pass_manager(),
            &format!("builtin.module({passes})"),
        )
        .map_err(|error| Error::internal("the pipeline does not parse").note(error.to_string()))?;
        manager.enable_verifier(cfg!(debug_assertions));
        let ran = manager.run(module).is_ok();
        match ran && module.as_operation().verify() {
            true => Ok(()),
            false => Err(Error::user(format!("the input cannot be lowered to level '{to}'")).diagnosed()),
        }
    })
}

/// The `gpu.module`s of a module.
fn gpu_modules<'c, 'a>(module: &'a Module<'c>) -> Vec<OperationRef<'c, 'a>> {
    let mut modules = walk::in_block(module.body());
    modules.retain(|op| walk::has_name(*op, "gpu.module"));
    modules
}

fn no_kernel(input: &str) -> Error {
    Error::user(format!(
        "'{input}' has no kernel: expected a function on tensors, a norm.kernel or a gpu.module"
    ))
}

fn symbol(op: OperationRef) -> Result<String> {
    let name = norma_dialects::symbol_name(op);
    name.map(str::to_owned)
        .ok_or_else(|| Error::internal("a gpu.module has no name"))
}

/// Lowers LLVM IR or PTX text further.
fn lower_text(input: Input, to: Level, options: &CompileOptions, timing: &mut Timing) -> Result<Vec<u8>> {
    let ptx = match options.from {
        Level::Ptx => input.text.to_owned(),
        Level::Llvm => generate(
            Start::LlvmText(input.text),
            input.name,
            to.min(Level::Ptx),
            options,
            timing,
        )?,
        level => return Err(Error::user(format!("level '{level}' cannot be resumed"))),
    };
    match to {
        Level::Cubin => Ok(assemble(&ptx, input.name, options, timing)
            .map_err(Error::of_user)?
            .bytes),
        _ => Ok(ptx.into_bytes()),
    }
}
