//! What the functions of an input compute, read off the input before any pass.
//!
//! Results are judged by the definition, so it must contain nothing that a pass has touched, and nothing of how passes
//! decompose or lower an op: a named op stays named, kernel form is copied, and an op of another dialect on tensors becomes
//! the program of its elements. Names and sizes are settled only when the kernels exist. Until then placeholders are used:
//! `t0` is the function's tensor 0 (its arguments, then its results), `v0` is an intermediate, `t0_1` and `v0_1` are their
//! extents along axis 1, and `n2` is the number that is argument 2.

mod function;
mod named;
mod program;
mod scalar;

use melior::ir::Module;
use norma_bundle::Expression;
use norma_bundle::definition::{Definition, Intermediate, NamedOp, Statement};
use norma_bundle::manifest::ScalarValue;
use norma_bundle::program::{Program, Step};
use norma_passes::mlir::walk;

use super::affine::substitute;
pub(super) use scalar::number;

use super::host::{HostFunction, number_of_symbol};
use super::sizes::Sizes;

/// What a function computes.
#[derive(Debug, Clone)]
pub struct SourceDefinition {
    /// The function's symbol.
    function: String,
    /// The definition over placeholder names of tensors and sizes.
    definition: Definition,
}

impl SourceDefinition {
    /// Reads every function of a module whose body states what it computes: named ops, `norm.compute`, `arith`, `math` and
    /// `linalg` on tensors, or launches of kernels in kernel form. A function of a lower level, whose kernels work on tiles
    /// or threads, has no definition.
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

/// The placeholder name of tensor `index` of a function.
pub(super) fn tensor_name(index: usize) -> String {
    format!("t{index}")
}

/// The placeholder name of an intermediate.
pub(super) fn intermediate_name(index: usize) -> String {
    format!("v{index}")
}

/// The extent of a tensor along `axis`: a number if it is static, else its placeholder symbol.
fn extent(tensor: &str, axis: usize, extent: Option<i64>) -> Expression {
    match extent {
        Some(extent) => Expression::Integer(extent),
        None => Expression::symbol(format!("{tensor}_{axis}")),
    }
}

/// Replaces placeholders by the final names.
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
                Step::Gather { tensor, .. } | Step::Scatter { tensor, .. } => {
                    *tensor = self.tensor(tensor)?
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
            guards: program
                .guards
                .iter()
                .map(|guard| guard.each_ref().map(|side| self.expression(side)))
                .collect(),
            steps,
        })
    }

    fn expression(&self, expression: &Expression) -> Expression {
        substitute(expression, &|name| {
            if let Some((number, is_taken)) =
                number_of_symbol(name).and_then(|number| self.host.number(number))
            {
                // A number that no kernel takes is used only where its value has no effect, and no caller can set it: its
                // default stands for it.
                let default = match &number.default {
                    ScalarValue::Expression(value) => value.clone(),
                    ScalarValue::Float(_) => return None,
                };
                return Some(if is_taken {
                    Expression::symbol(number.name.clone())
                } else {
                    default
                });
            }
            let (tensor, axis) = name.split_once('_')?;
            let axis = axis.parse::<usize>().ok()?;
            match tensor.strip_prefix('t') {
                Some(index) => self
                    .sizes
                    .shapes
                    .get(self.argument(index.parse::<usize>().ok()?)?)?
                    .get(axis)
                    .cloned(),
                None => Some(Expression::symbol(format!("{}_{axis}", self.tensor(tensor)?))),
            }
        })
    }

    /// The position of the tensor that was argument `index`; by now the function's results are arguments behind the others.
    fn argument(&self, index: usize) -> Option<usize> {
        let mut tensors = self.host.tensors.iter();
        tensors.position(|tensor| tensor.argument() == Some(index))
    }

    fn tensor(&self, name: &str) -> Option<String> {
        let (kind, index) = name.split_at_checked(1)?;
        let index = index.parse::<usize>().ok()?;
        match kind {
            "t" => self
                .argument(index)
                .map(|tensor| self.host.tensors[tensor].name.clone()),
            _ => (index < self.intermediates).then(|| self.free_name(index)),
        }
    }

    /// A name for an intermediate that collides with no tensor or size of the function.
    fn free_name(&self, index: usize) -> String {
        let mut name = format!("intermediate{index}");
        let taken = |name: &str| {
            let starts = |known: &str| known.starts_with(name);
            self.host.tensors.iter().any(|tensor| starts(&tensor.name))
                || self.sizes.symbols.iter().any(|symbol| starts(&symbol.name))
        };
        while taken(&name) {
            name.insert(0, '_');
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use melior::Context;

    use super::*;
    use crate::registry;

    /// The definition of the only function of `source`, as JSON, with placeholder names.
    fn collected(source: &str) -> Option<String> {
        let context = Context::new_with_registry(&registry::dialects(), false);
        context.load_all_available_dialects();
        let module = Module::parse(&context, source).unwrap();
        let definitions = SourceDefinition::collect(&module);
        definitions
            .first()
            .map(|found| serde_json::to_string(&found.definition).unwrap())
    }

    #[test]
    fn what_is_neither_argument_nor_result_is_an_intermediate() {
        let found = collected(
            "func.func @f(%x: tensor<?x8xf32>) -> tensor<?xf32> {
               %t = norm.rms_norm %x : tensor<?x8xf32> -> tensor<?x8xbf16>
               %s = norm.compute(%a = %t : tensor<?x8xbf16>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 8) {
                 %0 = norm.read %a[%m, %n] : tensor<?x8xbf16>
                 %1 = arith.extf %0 : bf16 to f32
                 %2 = norm.reduce add %1 over(%n) : f32
                 norm.write %2, %o[%m] : tensor<?xf32>
               }
               return %s : tensor<?xf32>
             }",
        )
        .unwrap();
        assert!(
            found.starts_with(r#"{"intermediates":[{"name":"v0","dtype":"bf16","shape":["v0_0",8]}],"#),
            "{found}"
        );
        assert!(
            found.contains(r#""operands":{"x":"t0"},"results":{"y":"v0"}"#),
            "{found}"
        );
        assert!(found.contains(r#""space":["v0_0",8]"#), "{found}");
        assert!(
            found.contains(r#""value":2,"tensor":"t1","access":["d0"]"#),
            "{found}"
        );
    }

    #[test]
    fn a_function_with_an_op_that_has_no_form_has_no_definition() {
        let found = collected(
            "func.func @f(%x: tensor<4x8xf32>) -> tensor<8x8xf32> {
               %t = tensor.concat dim(0) %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
               %y = norm.rms_norm %t : tensor<8x8xf32> -> tensor<8x8xf32>
               return %y : tensor<8x8xf32>
             }",
        );
        assert_eq!(found, None);
    }

    #[test]
    fn ops_on_tensors_are_statements_of_their_own() {
        let found = collected(
            "func.func @f(%x: tensor<?x8xbf16>, %w: tensor<8xbf16>, %e: f32 {norm.default = 2.0 : f32}) -> tensor<?x8xf32> {
               %c0 = arith.constant 0 : index
               %m = tensor.dim %x, %c0 : tensor<?x8xbf16>
               %to = tensor.empty(%m) : tensor<?x8xbf16>
               %b = linalg.broadcast ins(%w : tensor<8xbf16>) outs(%to : tensor<?x8xbf16>) dimensions = [0]
               %s = arith.addf %x, %b : tensor<?x8xbf16>
               %y = arith.extf %s : tensor<?x8xbf16> to tensor<?x8xf32>
               return %y : tensor<?x8xf32>
             }",
        )
        .unwrap();
        let broadcast = r#"{"kind":"program","space":["t0_0",8],"steps":[{"kind":"read","tensor":"t1","access":["d1"],"type":"bf16"},"#;
        assert!(found.contains(broadcast), "{found}");
        assert!(
            found.contains(r#"{"kind":"op","name":"arith.addf","operands":[0,1],"type":"bf16"}"#),
            "{found}"
        );
        assert_eq!(found.matches(r#""kind":"program""#).count(), 3, "{found}");
    }

    #[test]
    fn a_reduction_begins_with_what_is_there() {
        let found = collected(
            "func.func @f(%x: tensor<4x8xf32>, %from: tensor<4xf32>) -> tensor<4xf32> {
               %s = linalg.reduce {arith.maximumf} ins(%x : tensor<4x8xf32>) outs(%from : tensor<4xf32>) dimensions = [1]
               return %s : tensor<4xf32>
             }",
        )
        .unwrap();
        let reduced = r#"{"kind":"reduce","combiner":"max","operands":[0],"over":[1],"types":["f32"]},{"kind":"read","tensor":"t1","access":["d0"],"type":"f32"},{"kind":"op","name":"arith.maximumf","operands":[2,1],"type":"f32"}"#;
        assert!(found.contains(reduced), "{found}");
    }

    #[test]
    fn views_are_programs_that_move_elements() {
        let found = collected(
            "func.func @f(%x: tensor<?x12xf32>) -> tensor<?x4xf32> {
               %c0 = arith.constant 0 : index
               %m = tensor.dim %x, %c0 : tensor<?x12xf32>
               %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%m, 3, 4] : tensor<?x12xf32> into tensor<?x3x4xf32>
               %s = tensor.extract_slice %e[0, 1, 0] [%m, 1, 4] [1, 1, 1] : tensor<?x3x4xf32> to tensor<?x4xf32>
               return %s : tensor<?x4xf32>
             }",
        )
        .unwrap();
        let expanded = r#"{"kind":"program","space":["t0_0",3,4],"steps":[{"kind":"read","tensor":"t0","access":["d0","d1*4 + d2"],"type":"f32"},{"kind":"write","value":0,"tensor":"v0","access":["d0","d1","d2"]}]}"#;
        assert!(found.contains(expanded), "{found}");
        let sliced = r#"{"kind":"program","space":["t0_0",4],"steps":[{"kind":"read","tensor":"v0","access":["d0",1,"d1"],"type":"f32"},"#;
        assert!(found.contains(sliced), "{found}");
    }

    #[test]
    fn a_collapse_writes_where_its_groups_say() {
        let found = collected(
            "func.func @f(%x: tensor<?x3x4xf32>) -> tensor<?xf32> {
               %s = tensor.collapse_shape %x [[0, 1, 2]] : tensor<?x3x4xf32> into tensor<?xf32>
               return %s : tensor<?xf32>
             }",
        )
        .unwrap();
        let written = r#""tensor":"t1","access":["(d0*3 + d1)*4 + d2"]"#;
        assert!(found.contains(written), "{found}");
    }

    #[test]
    fn tiled_kernels_with_edges_have_no_definition() {
        let kernel = |guard: &str| {
            format!(
                "func.func @f(%x: memref<?x64xf32>, %y: memref<?xf32> {{norm.output}}) {{
                   norm.launch @sum(%x, %y) : memref<?x64xf32>, memref<?xf32>
                   return
                 }}
                 norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
                     space(%b = dim(%x, 0) ceildiv 2 : grid, %r = 2 : thread, %t = 64 : thread) {guard} {{
                   %0 = norm.read %x[%b * 2 + %r, %t] : memref<?x64xf32>
                   %1 = norm.reduce add %0 over(%t) : f32
                   norm.write %1, %y[%b * 2 + %r] : memref<?xf32>
                 }}"
            )
        };
        assert_eq!(collected(&kernel("where(%b * 2 + %r < dim(%x, 0))")), None);
        let found = collected(&kernel("")).unwrap();
        assert!(
            found.contains(r#""tensor":"t0","access":["d0*2 + d1","d2"]"#),
            "{found}"
        );
        assert!(found.contains(r#""space":["ceildiv(t0_0, 2)",2,64]"#), "{found}");
    }
}
