//! Decodes an MLIR module at level nvvm into a [`Program`].
//!
//! Kernels are the `llvm.func`s with `nvvm.kernel` or `gpu.kernel`, in `gpu.module`s or at the top. Host code is
//! skipped. An op, attribute value or PTX statement that is not modelled is an error that names it; one error lists all
//! of a module.

mod asm;
mod blocks;
mod body;
mod error;
mod globals;
mod kernel;
mod llvm;
mod locations;
mod nvvm;
mod op;
mod ptx;
mod read_only;
mod shape;
#[cfg(test)]
mod tests;

use melior::{
    Context,
    dialect::DialectRegistry,
    ir::{BlockLike, Module, OperationRef, RegionLike, operation::OperationLike},
};
use mlir_sys::*;

pub use error::{DecodeError, Problem, ProblemKind};

use crate::program::{Location, Program, Site};
use body::Sites;
use globals::Globals;
use op::Op;

/// Decodes the kernels of a module.
///
/// # Errors
///
/// A module without kernels, and ops that are not modelled.
pub fn program(module: OperationRef<'_, '_>) -> Result<Program, DecodeError> {
    let mut decoder = Decoder::default();
    decoder.module(module);
    if !decoder.problems.is_empty() {
        return Err(DecodeError::Problems(decoder.problems));
    }
    if decoder.program.kernels.is_empty() {
        return Err(DecodeError::NoKernel);
    }
    Ok(Program {
        sites: decoder.sites.list,
        ..decoder.program
    })
}

/// Parses `text` and decodes its kernels; `name` is its file name in locations. If the text has locations of the source
/// that it was compiled from, sites have places in both.
///
/// # Errors
///
/// Text that is no module, and what [`program`] refuses.
pub fn parse(text: &str, name: &str) -> Result<Program, DecodeError> {
    let program = parse_once(text, name)?;
    if !text.contains(" loc(") {
        return Ok(program);
    }
    Ok(match parse_once(&locations::without_locations(text), name) {
        Ok(bare) => locations::add_places(program, &bare),
        Err(_) => program,
    })
}

fn parse_once(text: &str, name: &str) -> Result<Program, DecodeError> {
    let context = Context::new_with_registry(&dialects(), false);
    let mut notes = Vec::new();
    let handler = context.attach_diagnostic_handler(|diagnostic| {
        let place = op::place(diagnostic.location()).map(|place| named(place, name));
        notes.push(match place {
            Some(place) => format!("{place}: {diagnostic}"),
            None => diagnostic.to_string(),
        });
        true
    });
    // MLIR would take a NUL character for the end of the text.
    let module = Module::parse(&context, &text.replace('\0', " "));
    context.detach_diagnostic_handler(handler);
    let Some(module) = module else {
        return Err(DecodeError::Syntax(notes));
    };
    let name_site = |site: &mut Site| {
        site.location = site.location.take().map(|place| named(place, name));
    };
    match program(module.as_operation()) {
        Ok(mut program) => {
            program.sites.iter_mut().for_each(name_site);
            Ok(program)
        }
        Err(DecodeError::Problems(mut problems)) => {
            problems
                .iter_mut()
                .for_each(|problem| name_site(&mut problem.site));
            Err(DecodeError::Problems(problems))
        }
        Err(error) => Err(error),
    }
}

/// Names the text that was parsed, which MLIR does not know by a name.
fn named(place: Location, name: &str) -> Location {
    match place.file.as_str() {
        "" | "-" => Location {
            file: name.to_owned(),
            ..place
        },
        _ => place,
    }
}

/// The dialects that a module at level nvvm may hold, those of its host code included.
fn dialects() -> DialectRegistry {
    let registry = DialectRegistry::new();
    // SAFETY: the handles are static, and the registry is alive.
    unsafe {
        for handle in [
            mlirGetDialectHandle__affine__(),
            mlirGetDialectHandle__arith__(),
            mlirGetDialectHandle__cf__(),
            mlirGetDialectHandle__func__(),
            mlirGetDialectHandle__gpu__(),
            mlirGetDialectHandle__llvm__(),
            mlirGetDialectHandle__memref__(),
            mlirGetDialectHandle__nvvm__(),
            mlirGetDialectHandle__scf__(),
        ] {
            mlirDialectHandleInsertDialect(handle, registry.to_raw());
        }
    }
    norma_dialects::register(&registry);
    registry
}

#[derive(Default)]
struct Decoder {
    program: Program,
    sites: Sites,
    problems: Vec<Problem>,
}

impl Decoder {
    fn module(&mut self, module: OperationRef<'_, '_>) {
        let mut globals = Globals::default();
        for op in ops_of(module).filter(|op| op.name == "llvm.mlir.global") {
            if let Err(fault) = globals.add(&op) {
                self.problems.push(fault.at(&op));
            }
        }
        for op in ops_of(module) {
            match op.name {
                "gpu.module" | "builtin.module" => self.module(op.raw),
                "llvm.func" if is_kernel(&op) => {
                    let kernel = kernel::decode(&op, &globals, &mut self.sites, &mut self.problems);
                    self.program.kernels.push(kernel);
                }
                "gpu.func" if op.flag("gpu.kernel") || op.flag("kernel") => {
                    let fault =
                        error::invalid("is not of level nvvm; expected it to have become an llvm.func");
                    self.problems.push(fault.at(&op));
                }
                _ => {}
            }
        }
    }
}

fn is_kernel(function: &Op<'_, '_>) -> bool {
    (function.flag("nvvm.kernel") || function.flag("gpu.kernel"))
        && function
            .raw
            .region(0)
            .is_ok_and(|region| region.first_block().is_some())
}

/// The ops of a module's body.
fn ops_of<'c, 'a>(module: OperationRef<'c, 'a>) -> impl Iterator<Item = Op<'c, 'a>> {
    let first = module
        .region(0)
        .ok()
        .and_then(|region| region.first_block())
        .and_then(|block| block.first_operation());
    std::iter::successors(first, |op| op.next_in_block()).map(Op::new)
}
