//! What the functions of an input compute, as it says so itself, before any pass.
//!
//! The definition is what results are judged by, so nothing that a pass has touched may be in it, and nothing of how
//! passes decompose or lower an op: a named op stays named, kernel form is copied. Names and sizes are settled only when
//! the kernels are there: until then `t0` is the function's tensor 0 (its arguments, then its results), `v0` is an
//! intermediate, and `t0_1` and `v0_1` are their extents along axis 1.

mod function;
mod named;
mod program;
mod scalar;

use melior::ir::Module;
use norma_bundle::Expression;
use norma_bundle::definition::{Definition, Intermediate, NamedOp, Statement};
use norma_bundle::program::{Program, Step};
use norma_passes::support::walk;

use super::affine::substitute;
use super::host::HostFunction;
use super::sizes::Sizes;

/// What a function computes.
#[derive(Debug, Clone)]
pub struct SourceDefinition {
    /// The function's symbol.
    function: String,
    /// Over the names that stand for tensors and sizes.
    definition: Definition,
}

impl SourceDefinition {
    /// Reads every function of a module whose body says what it computes: named ops and `norm.compute` on tensors, or
    /// launches of kernels in kernel form. A function below that level, whose kernels are tiles or threads, has none.
    pub fn collect(module: &Module) -> Vec<Self> {
        walk::named(module.as_operation(), "func.func")
            .into_iter()
            .filter_map(|op| {
                Some(Self {
                    function: norma_dialects::symbol_name(op)?.to_owned(),
                    definition: function::read(op, module)?,
                })
            })
            .collect()
    }

    /// The definition of `host`, in terms of its tensors and sizes.
    pub(super) fn find(definitions: &[Self], host: &HostFunction, sizes: &Sizes) -> Option<Definition> {
        let source = definitions.iter().find(|source| source.function == host.name)?;
        let names = Names {
            host,
            sizes,
            intermediates: source.definition.intermediates.len(),
        };
        names.definition(&source.definition)
    }
}

/// The name that stands for tensor `index` of a function.
fn tensor_name(index: usize) -> String {
    format!("t{index}")
}

/// The name that stands for an intermediate.
fn intermediate_name(index: usize) -> String {
    format!("v{index}")
}

/// The extent of a tensor along `axis`: static, or a symbol that stands for it.
fn extent(tensor: &str, axis: usize, extent: Option<i64>) -> Expression {
    match extent {
        Some(extent) => Expression::Integer(extent),
        None => Expression::symbol(format!("{tensor}_{axis}")),
    }
}

/// The names that replace those standing for them.
struct Names<'h> {
    host: &'h HostFunction,
    sizes: &'h Sizes,
    intermediates: usize,
}

impl Names<'_> {
    fn definition(&self, source: &Definition) -> Option<Definition> {
        let intermediates = source.intermediates.iter().map(|intermediate| {
            Some(Intermediate {
                name: self.tensor(&intermediate.name)?,
                dtype: intermediate.dtype,
                shape: intermediate
                    .shape
                    .iter()
                    .map(|extent| self.expression(extent))
                    .collect(),
            })
        });
        let statements = source.statements.iter().map(|statement| {
            Some(match statement {
                Statement::Named(named) => Statement::Named(self.named(named)?),
                Statement::Program(program) => Statement::Program(self.program(program)?),
            })
        });
        Some(Definition {
            intermediates: intermediates.collect::<Option<_>>()?,
            statements: statements.collect::<Option<_>>()?,
        })
    }

    fn named(&self, named: &NamedOp) -> Option<NamedOp> {
        let rename = |(name, tensor): (&String, &String)| Some((name.clone(), self.tensor(tensor)?));
        Some(NamedOp {
            op: named.op.clone(),
            operands: named.operands.iter().map(rename).collect::<Option<_>>()?,
            results: named.results.iter().map(rename).collect::<Option<_>>()?,
            attributes: named.attributes.clone(),
        })
    }

    fn program(&self, program: &Program) -> Option<Program> {
        let mut steps = program.steps.clone();
        for step in &mut steps {
            match step {
                Step::Read { tensor, access, .. } | Step::Write { tensor, access, .. } => {
                    *tensor = self.tensor(tensor)?;
                    access
                        .iter_mut()
                        .for_each(|index| *index = self.expression(index));
                }
                Step::Size { value } => *value = self.expression(value),
                _ => {}
            }
        }
        Some(Program {
            space: program
                .space
                .iter()
                .map(|extent| self.expression(extent))
                .collect(),
            steps,
        })
    }

    fn expression(&self, expression: &Expression) -> Expression {
        substitute(expression, &|name| {
            let (tensor, axis) = name.split_once('_')?;
            let axis = axis.parse::<usize>().ok()?;
            match tensor.strip_prefix('t') {
                Some(index) => self
                    .sizes
                    .shapes
                    .get(index.parse::<usize>().ok()?)?
                    .get(axis)
                    .cloned(),
                None => Some(Expression::symbol(format!("{}_{axis}", self.tensor(tensor)?))),
            }
        })
    }

    fn tensor(&self, name: &str) -> Option<String> {
        let (kind, index) = name.split_at_checked(1)?;
        let index = index.parse::<usize>().ok()?;
        match kind {
            "t" => self
                .host
                .arguments
                .get(index)
                .map(|argument| argument.name.clone()),
            _ => (index < self.intermediates).then(|| self.free_name(index)),
        }
    }

    /// A name for an intermediate that neither a tensor nor a size of the function has.
    fn free_name(&self, index: usize) -> String {
        let mut name = format!("intermediate{index}");
        let taken = |name: &str| {
            let starts = |known: &str| known.starts_with(name);
            self.host.arguments.iter().any(|argument| starts(&argument.name))
                || self.sizes.symbols.iter().any(|symbol| starts(&symbol.name))
        };
        while taken(&name) {
            name.insert(0, '_');
        }
        name
    }
}
