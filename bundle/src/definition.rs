//! The definition of what a function computes, as its author wrote it: named ops stay named, and kernel form is a scalar
//! program.
//!
//! The compiler reads it off its input, before any pass has run, so that it contains no fault of a pass. Statements run in
//! order over tensors in memory: each result is rounded to its tensor's type, and later statements read the rounded values.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::element::Element;
use crate::expression::Expression;
use crate::manifest::Function;
use crate::program::{Number, Program, Step};

/// The definition of a function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Tensors that one statement writes for later ones, and that the caller never sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intermediates: Vec<Intermediate>,
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

/// A tensor between two statements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intermediate {
    /// The name that statements refer to; no tensor of the function has it.
    pub name: String,
    /// The element type.
    pub dtype: Element,
    /// The extent of each dim: a constant, or a symbol of its own. The statement that writes the tensor determines the
    /// symbol's value, and later statements use it as a size.
    pub shape: Vec<Expression>,
}

/// One step of a definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Statement {
    /// An op of the `norm` dialect.
    Named(NamedOp),
    /// A scalar program over an iteration space.
    Program(Program),
}

impl Statement {
    /// Whether the statement may leave padding of a tensor, elements that it does not write.
    pub fn leaves_padding(&self, tensor: &str) -> bool {
        let Statement::Program(program) = self else {
            return false;
        };
        let mut steps = program.steps.iter();
        steps.any(|step| match step {
            Step::Write {
                tensor: of, partial, ..
            } => *partial && of == tensor,
            Step::Scatter { tensor: of, .. } => of == tensor,
            _ => false,
        })
    }
}

/// An op of the `norm` dialect, with its operands, results and attributes by their ODS names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedOp {
    /// The mnemonic, such as `rms_norm`.
    pub op: String,
    /// The tensor of each operand that is given.
    pub operands: BTreeMap<String, String>,
    /// The tensor of each result that is asked for.
    pub results: BTreeMap<String, String>,
    /// Every attribute, defaults included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Attribute>,
}

/// The value of an op's attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Attribute {
    /// A number; a boolean is 0 or 1.
    Number(Number),
    /// A string, or the keyword of an enum.
    Text(String),
    /// An array.
    List(Vec<Attribute>),
}

/// A rule that a definition violates, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{at}: {message}")]
pub struct DefinitionError {
    /// The place within the definition, such as `statements[0].steps[2]`.
    pub at: String,
    /// What was expected there.
    pub message: String,
}

/// The tensors and sizes that a statement may use.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'a> {
    /// The tensors by name.
    pub tensors: BTreeMap<&'a str, Declared>,
    /// Every size symbol, and every number that the caller may set.
    pub sizes: BTreeSet<&'a str>,
}

/// A tensor of a scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub element: Element,
    pub rank: usize,
    /// Whether statements may write it, which holds for all tensors but inputs.
    pub written: bool,
    /// Whether it may be read: it is an input, or an earlier statement wrote it.
    pub readable: bool,
}

impl<'a> Scope<'a> {
    /// The scope at the beginning of a definition of `function`.
    pub fn of(function: &'a Function) -> Self {
        let inputs = function.inputs.iter().map(|tensor| (tensor, false));
        let outputs = function.outputs.iter().map(|tensor| (tensor, true));
        let declare = |(tensor, written): (&'a crate::manifest::Tensor, bool)| {
            let declared = Declared {
                element: tensor.dtype,
                rank: tensor.shape.len(),
                written,
                readable: !written,
            };
            (tensor.name.as_str(), declared)
        };
        Scope {
            tensors: inputs.chain(outputs).map(declare).collect(),
            sizes: function.size_and_number_symbols(),
        }
    }

    /// The tensor, if it can be read.
    ///
    /// # Errors
    /// There is no such tensor, or no statement has written it yet.
    pub fn read(&self, tensor: &str) -> Result<Declared, String> {
        match self.tensors.get(tensor) {
            Some(declared) if declared.readable => Ok(*declared),
            Some(_) => Err(format!("'{tensor}' is read before a statement writes it")),
            None => Err(format!("no tensor is named '{tensor}'")),
        }
    }

    /// The tensor, if it can be written.
    ///
    /// # Errors
    /// There is no such tensor, or it is an input.
    pub fn write(&self, tensor: &str) -> Result<Declared, String> {
        match self.tensors.get(tensor) {
            Some(declared) if declared.written => Ok(*declared),
            _ => Err(format!("no output or intermediate is named '{tensor}'")),
        }
    }
}

impl Statement {
    /// The tensors that the statement writes.
    pub fn results(&self) -> Vec<&str> {
        match self {
            Statement::Named(named) => named.results.values().map(String::as_str).collect(),
            Statement::Program(program) => program.written(),
        }
    }

    /// The tensors that the statement reads.
    pub fn operands(&self) -> Vec<&str> {
        match self {
            Statement::Named(named) => named.operands.values().map(String::as_str).collect(),
            Statement::Program(program) => program.read(),
        }
    }
}

impl Definition {
    /// Whether a statement reads an output or an intermediate before one has written it. Such a definition states no results, because they
    /// depend on what that memory held before the call, and no function can have it.
    pub fn reads_unwritten_memory(&self, function: &Function) -> bool {
        let outputs = function.outputs.iter().map(|output| &output.name);
        let intermediates = self.intermediates.iter().map(|intermediate| &intermediate.name);
        let mut unwritten: BTreeSet<&str> = outputs.chain(intermediates).map(String::as_str).collect();
        self.statements.iter().any(|statement| {
            let reads = statement
                .operands()
                .into_iter()
                .any(|operand| unwritten.contains(operand));
            for written in statement.results() {
                unwritten.remove(written);
            }
            reads
        })
    }

    /// Checks the definition against the function it belongs to: names refer to tensors, what is read has been written,
    /// programs are consistent, and every output is written.
    ///
    /// Names of ops are not checked: a newer compiler may use some that an older launcher does not know, which matters only
    /// to a reader that evaluates the definition.
    ///
    /// # Errors
    /// The first rule that is violated.
    pub fn validate(&self, function: &Function) -> Result<(), DefinitionError> {
        let fail = |at: String, message: String| Err(DefinitionError { at, message });
        let mut scope = Scope::of(function);
        for (index, intermediate) in self.intermediates.iter().enumerate() {
            let at = format!("intermediates[{index}]");
            let declared = Declared {
                element: intermediate.dtype,
                rank: intermediate.shape.len(),
                written: true,
                readable: false,
            };
            if scope.tensors.insert(&intermediate.name, declared).is_some() {
                return fail(at, format!("two tensors have the name '{}'", intermediate.name));
            }
            for extent in &intermediate.shape {
                match extent {
                    Expression::Integer(_) => {}
                    Expression::Symbol(name) if scope.sizes.insert(name) => {}
                    _ => {
                        return fail(
                            at,
                            format!("expected a constant or a new symbol as an extent, got '{extent}'"),
                        );
                    }
                }
            }
        }
        for (index, statement) in self.statements.iter().enumerate() {
            let at = format!("statements[{index}]");
            match statement {
                Statement::Named(named) => {
                    let read = named
                        .operands
                        .values()
                        .try_for_each(|name| scope.read(name).map(drop));
                    let write = || {
                        named
                            .results
                            .values()
                            .try_for_each(|name| scope.write(name).map(drop))
                    };
                    if let Err(message) = read.and_then(|()| write()) {
                        return fail(at, message);
                    }
                }
                Statement::Program(program) => program.validate(&scope).map_err(|error| DefinitionError {
                    at: format!("{at}.steps[{}]", error.step),
                    message: error.message,
                })?,
            }
            for written in statement.results() {
                if let Some(declared) = scope.tensors.get_mut(written) {
                    declared.readable = true;
                }
            }
        }
        match function
            .outputs
            .iter()
            .find(|output| !scope.tensors[output.name.as_str()].readable)
        {
            None => Ok(()),
            Some(output) => fail(
                "statements".to_owned(),
                format!("no statement writes '{}'", output.name),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    fn function() -> Function {
        let text = include_str!("../testdata/rms_norm.json");
        serde_json::from_str::<Manifest>(text)
            .unwrap()
            .functions
            .remove(0)
    }

    fn definition(json: &str) -> Definition {
        serde_json::from_str(json).unwrap()
    }

    const NAMED: &str = r#"{"statements": [{"kind": "named", "op": "rms_norm", "operands": {"x": "x", "weight": "w"},
        "results": {"y": "y", "rstd": "rstd"},
        "attributes": {"axes": [-1], "eps": 1e-6, "mode": "fast", "shape": [1, 2]}}]}"#;

    fn complaint(json: &str) -> String {
        definition(json).validate(&function()).unwrap_err().to_string()
    }

    #[test]
    fn named_ops_keep_their_names_in_json() {
        let named = definition(NAMED);
        named.validate(&function()).unwrap();
        assert_eq!(definition(&serde_json::to_string(&named).unwrap()), named);
        let Statement::Named(op) = &named.statements[0] else {
            unreachable!("its kind is named")
        };
        assert_eq!(op.attributes["eps"], Attribute::Number(Number::Float(1e-6)));
        assert_eq!(op.attributes["mode"], Attribute::Text("fast".into()));
    }

    #[test]
    fn statements_refer_to_tensors() {
        assert_eq!(
            complaint(&NAMED.replace("\"w\"", "\"v\"")),
            "statements[0]: no tensor is named 'v'"
        );
        assert_eq!(
            complaint(&NAMED.replace("\"y\": \"y\"", "\"y\": \"x\"")),
            "statements[0]: no output or intermediate is named 'x'"
        );
        assert_eq!(
            complaint(&NAMED.replace("\"x\": \"x\"", "\"x\": \"y\"")),
            "statements[0]: 'y' is read before a statement writes it"
        );
    }

    #[test]
    fn memory_holds_nothing_before_a_statement_writes_it() {
        let reads_first = |json: &str| definition(json).reads_unwritten_memory(&function());
        assert!(!reads_first(NAMED));
        assert!(reads_first(&NAMED.replace("\"x\": \"x\"", "\"x\": \"y\"")));
        let (first, _) = NAMED.rsplit_once(']').unwrap();
        let second = r#"{"kind": "named", "op": "softmax", "operands": {"x": "y"}, "results": {"y": "y"}}"#;
        assert!(!reads_first(&format!("{first}, {second}]}}")));
        let of_intermediate = NAMED.replace("\"x\": \"x\"", "\"x\": \"t\"");
        let intermediate = r#"{"intermediates": [{"name": "t", "dtype": "f32", "shape": [4]}],"#;
        assert!(reads_first(&of_intermediate.replacen('{', intermediate, 1)));
    }

    #[test]
    fn every_output_is_written() {
        assert_eq!(
            complaint(&NAMED.replace(", \"rstd\": \"rstd\"", "")),
            "statements: no statement writes 'rstd'"
        );
    }

    #[test]
    fn intermediates_bring_names_and_sizes_of_their_own() {
        let with =
            |intermediate: &str| NAMED.replacen('{', &format!("{{\"intermediates\": [{intermediate}],"), 1);
        definition(&with(r#"{"name": "t", "dtype": "f32", "shape": [4096, "t_1"]}"#))
            .validate(&function())
            .unwrap();
        assert!(
            complaint(&with(r#"{"name": "x", "dtype": "f32", "shape": []}"#))
                .contains("intermediates[0]: two tensors have the name 'x'")
        );
        assert!(
            complaint(&with(r#"{"name": "t", "dtype": "f32", "shape": ["m"]}"#)).contains("a new symbol")
        );
    }
}
