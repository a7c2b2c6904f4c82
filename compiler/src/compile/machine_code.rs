//! Generates machine code from `gpu.module`s of level `nvvm`, and the texts on the way there.

use std::thread::{self, ScopedJoinHandle};

use melior::ir::operation::{Operation, OperationLike};
use melior::ir::{BlockLike, Module, OperationRef};
use norma_dialects::attributes::kernel as attribute;
use norma_passes::mlir::builder::Builder;
use norma_passes::mlir::walk;

use super::{gpu_modules, symbol};
use crate::emit::llvm_ir::LlvmContext;
use crate::emit::{Assembler, Assemblies, Cubin, gate, ptx};
use crate::error::{Error, Result};
use crate::level::Level;
use crate::located_text::located_text;
use crate::options::CompileOptions;
use crate::timing::Timing;

/// The input of code generation.
pub(super) enum Start<'c, 'a> {
    /// A `gpu.module` of level `nvvm`.
    Module(OperationRef<'c, 'a>),
    /// LLVM IR text.
    LlvmText(&'a str),
}

/// Generates the text of level `llvm` or `ptx`.
pub(super) fn generate(
    start: Start,
    name: &str,
    to: Level,
    options: &CompileOptions,
    timing: &mut Timing,
) -> Result<String> {
    let llvm = LlvmContext::new();
    let machine = ptx::target_machine(options.target)?;
    let module = timing.measure("translate", || match start {
        Start::Module(module) => {
            gate::check(module, options.target)?;
            llvm.translate(module, name, &machine)
        }
        Start::LlvmText(text) => llvm.parse(text, name, &machine),
    })?;
    let module = timing.measure("optimise", || llvm.optimize(module, &machine, options.target))?;
    match to {
        Level::Llvm => Ok(module.print_to_string().to_string_lossy().into_owned()),
        _ => timing.measure("ptx", || ptx::generate(&llvm, &module, &machine)),
    }
}

/// Assembles PTX. `name` identifies the module in messages.
pub(super) fn assemble(
    ptx: &str,
    name: &str,
    options: &CompileOptions,
    timing: &mut Timing,
) -> Result<Cubin> {
    timing.measure("assemble", || {
        Assembler::locate(options.ptxas.as_deref(), options.target)?.assemble(ptx, name, options.target)
    })
}

/// The machine code of a `gpu.module`.
pub(super) struct MachineCode {
    /// The module's name.
    pub module: String,
    /// The PTX that was assembled.
    pub ptx: String,
    /// What the assembler made of it.
    pub cubin: Cubin,
}

/// Generates the PTX of each `gpu.module` and assembles it, but takes it from the last earlier attempt that has the same module. While the
/// PTX of one is generated, which takes about as long, other threads assemble those before it; the last one is assembled by this thread.
pub(super) fn machine_code(
    module: &Module,
    earlier: &[(Module, Vec<MachineCode>)],
    options: &CompileOptions,
    assemblies: &Assemblies,
    timing: &mut Timing,
) -> Result<Vec<MachineCode>> {
    let assemble = |ptx: String, module: String| {
        let mut timing = Timing::default();
        let cubin = timing.measure("assemble", || assemblies.assemble(&ptx, &module, options));
        (cubin.map(|cubin| MachineCode { module, ptx, cubin }), timing)
    };
    let modules = gpu_modules(module);
    thread::scope(|scope| {
        let mut started = Vec::new();
        for (number, op) in modules.iter().enumerate() {
            let name = symbol(*op)?;
            let ptx = match generated_earlier(*op, &name, earlier)? {
                Some(ptx) => ptx,
                None => generate(Start::Module(*op), &name, Level::Ptx, options, timing)?,
            };
            let is_last = number + 1 == modules.len();
            started.push(match is_last {
                true => Started::Ended(Box::new(assemble(ptx, name))),
                false => Started::Runs(scope.spawn(move || assemble(ptx, name))),
            });
        }
        let ended = started.into_iter().map(|started| {
            let (code, spent) = started.join()?;
            timing.merge(&spent);
            code
        });
        ended.collect()
    })
}

/// The PTX of the last earlier attempt whose module of this name has the same ops.
fn generated_earlier(
    op: OperationRef,
    name: &str,
    earlier: &[(Module, Vec<MachineCode>)],
) -> Result<Option<String>> {
    let mut text = None;
    for (module, generated) in earlier.iter().rev() {
        let of_name = gpu_modules(module)
            .into_iter()
            .find(|op| norma_dialects::symbol_name(*op) == Some(name));
        let code = generated.iter().find(|code| code.module == name);
        let (Some(of_name), Some(code)) = (of_name, code) else {
            continue;
        };
        let text = match &mut text {
            Some(text) => text,
            text => text.insert(without_choices(op)?),
        };
        if *text == without_choices(of_name)? {
            return Ok(Some(code.ptx.clone()));
        }
    }
    Ok(None)
}

/// The text of a `gpu.module` without the records of how its kernels' schedules were chosen, which do not influence its code.
fn without_choices(module: OperationRef) -> Result<String> {
    let holder = Module::new(module.location());
    let copy = holder.body().append_operation(Operation::clone(&module));
    for kernel in walk::named(copy, "llvm.func") {
        Builder::before(kernel).remove_attribute(kernel, attribute::CHOICE);
    }
    located_text(copy)
}

/// The machine code of a module, and the time that assembling took.
type Ended = (Result<MachineCode>, Timing);

/// The assembly of a module.
enum Started<'scope> {
    /// By another thread.
    Runs(ScopedJoinHandle<'scope, Ended>),
    /// By this thread.
    Ended(Box<Ended>),
}

impl Started<'_> {
    fn join(self) -> Result<Ended> {
        match self {
            Self::Runs(thread) => thread
                .join()
                .map_err(|_| Error::internal("a thread that assembled PTX panicked")),
            Self::Ended(ended) => Ok(*ended),
        }
    }
}
