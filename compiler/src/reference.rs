//! A kernel's scalar program in the bundle's neutral form, so that a launcher can check results without MLIR.
//!
//! The kernel must still be what the user's function means: freshly formed, over the function's own tensors. Later
//! passes collapse buffers, split dims and move work, none of which a reference needs.

mod combiner;
mod operation;

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, Attribute, Location, OperationRef, Type, Value, ValueLike,
    attribute::{FloatAttribute, IntegerAttribute},
    operation::OperationLike,
};
use norma_bundle::{
    element::Element,
    expression::Expression,
    manifest::Tensor,
    program::{self, Number, Program, Step},
};
use norma_dialects::norm::{CacheOp, KernelOp, ReadOp, ReduceOp, WriteOp};
use norma_passes::support::{diagnostic::Diagnostic, space::Space};

/// The program of a `norm.kernel` without roles and guards. `tensors` are the bundle's tensors behind its buffers, in
/// their order: accesses name them, and their shapes say what the kernel's sizes are called.
///
/// # Errors
///
/// A located diagnostic where the kernel holds what the neutral form cannot say.
pub fn export<'c>(kernel: OperationRef<'c, '_>, tensors: &[&Tensor]) -> Result<Program, Diagnostic<'c>> {
    let location = kernel.location();
    let broken = |error: melior::Error| Diagnostic::internal(location, error);
    let kernel = KernelOp::from_op(kernel)
        .ok_or_else(|| Diagnostic::internal(location, "expected a norm.kernel to make a reference of"))?;
    if kernel.roles().is_some() || kernel.guards().is_some() {
        let message = "a reference of a tiled kernel; supported: kernels without roles and guards";
        return Err(Diagnostic::unsupported(location, message));
    }
    let space = Space::of(kernel).map_err(broken)?;
    if tensors.len() != space.buffers.len() {
        let message = format!("expected {} tensors, got {}", space.buffers.len(), tensors.len());
        return Err(Diagnostic::internal(location, message));
    }
    let sizes = kernel.sizes().map_err(broken)?;
    let sizes = sizes.chunks_exact(2).map(|size| {
        let shape = &tensors.get(size[0] as usize)?.shape;
        shape.get(size[1] as usize).cloned()
    });
    let sizes = sizes
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Diagnostic::internal(location, "expected sizes of the tensors' axes"))?;
    let mut export = Export {
        program: Program {
            space: space
                .extents
                .iter()
                .map(|extent| expression(*extent, &sizes))
                .collect(),
            steps: Vec::new(),
        },
        values: HashMap::new(),
        space: &space,
        tensors,
    };
    for op in &space.ops {
        export.op(*op)?;
    }
    Ok(export.program)
}

struct Export<'e, 'c, 'a> {
    program: Program,
    /// The number of each value defined so far, by [`norma_passes::support::space::key`].
    values: HashMap<usize, program::Value>,
    space: &'e Space<'c, 'a>,
    tensors: &'e [&'e Tensor],
}

impl<'c, 'a> Export<'_, 'c, 'a> {
    fn op(&mut self, op: OperationRef<'c, 'a>) -> Result<(), Diagnostic<'c>> {
        let location = op.location();
        let broken = |error: melior::Error| Diagnostic::internal(location, error);
        let step = if let Some(access) = self.space.access(op).map_err(broken)? {
            let tensor = self.tensors[access.buffer].name.clone();
            let coordinates = access
                .coordinates
                .iter()
                .map(|coordinate| expression(*coordinate, &[]));
            let coordinates = coordinates.collect();
            match (ReadOp::from_op(op), WriteOp::from_op(op)) {
                (Some(read), _) => Step::Read {
                    tensor,
                    access: coordinates,
                    element: element(read.result().map_err(broken)?.r#type(), location)?,
                },
                (_, Some(write)) => Step::Write {
                    value: self.value(write.value().map_err(broken)?, location)?,
                    tensor,
                    access: coordinates,
                },
                _ => return Err(Diagnostic::internal(location, "expected a read or a write")),
            }
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            self.reduce(reduce)?
        } else if let Some(cache) = CacheOp::from_op(op) {
            let value = self.value(cache.value().map_err(broken)?, location)?;
            self.values.insert(key(cache.result().map_err(broken)?), value);
            return Ok(());
        } else {
            let operands = op.operands().collect::<Vec<_>>();
            let operands = operands.into_iter().map(|operand| self.value(operand, location));
            operation::step(op, operands.collect::<Result<_, _>>()?)?
        };
        let numbers = self.program.push(step);
        for (result, number) in op.results().zip(numbers) {
            self.values.insert(key(result.into()), number);
        }
        Ok(())
    }

    fn reduce(&mut self, reduce: ReduceOp<'c, 'a>) -> Result<Step, Diagnostic<'c>> {
        let location = reduce.op().location();
        let values = reduce.values();
        let types = values.iter().map(|value| element(value.r#type(), location));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let operands = values.iter().map(|value| self.value(*value, location));
        Ok(Step::Reduce {
            operands: operands.collect::<Result<_, _>>()?,
            combiner: combiner::of(reduce, &types)?,
            over: self.space.dims_reduced_by(reduce).into_iter().collect(),
            types,
        })
    }

    /// The number of a value; a dim is defined where it is first used as one.
    fn value(
        &mut self,
        value: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Result<program::Value, Diagnostic<'c>> {
        if let Some(number) = self.values.get(&key(value)) {
            return Ok(*number);
        }
        let dim = self.space.dim_position(value);
        let dim =
            dim.ok_or_else(|| Diagnostic::internal(location, "expected a value of the kernel's body"))?;
        let number = self.program.push(Step::Index { dim }).start;
        self.values.insert(key(value), number);
        Ok(number)
    }
}

/// Identifies a value while its op is alive.
fn key(value: Value<'_, '_>) -> usize {
    norma_passes::support::space::key(value)
}

/// An affine expression with dims named as accesses name them, and symbols replaced.
fn expression(affine: AffineExpr<'_>, symbols: &[Expression]) -> Expression {
    if affine.is_constant() {
        return affine.constant_value().into();
    }
    if affine.is_dim() {
        return Expression::symbol(format!("d{}", affine.dim_position()));
    }
    if affine.is_symbol() {
        return symbols[affine.symbol_position()].clone();
    }
    let (lhs, rhs) = (
        expression(affine.lhs(), symbols),
        expression(affine.rhs(), symbols),
    );
    if affine.is_add() {
        lhs + rhs
    } else if affine.is_mul() {
        lhs * rhs
    } else if affine.is_mod() {
        lhs.modulo(rhs)
    } else if affine.is_floor_div() {
        lhs.floor_divide(rhs)
    } else {
        lhs.ceil_divide(rhs)
    }
}

/// The element type that a scalar has in the bundle; coordinates and sizes are `i64` there.
fn element<'c>(ty: Type<'c>, location: Location<'c>) -> Result<Element, Diagnostic<'c>> {
    let name = ty.to_string();
    let name = if name == "index" { "i64" } else { &name };
    Element::from_name(name).ok_or_else(|| {
        let supported = Element::ALL.map(Element::name).join(", ");
        Diagnostic::unsupported(
            location,
            format!("a reference with values of type {ty}; supported: {supported}"),
        )
    })
}

/// The number in a float or integer attribute.
fn number<'c>(value: Attribute<'c>, ty: Element, location: Location<'c>) -> Result<Number, Diagnostic<'c>> {
    if let Ok(value) = FloatAttribute::try_from(value) {
        return Ok(Number::Float(value.value()));
    }
    let value = IntegerAttribute::try_from(value).map_err(|_| {
        Diagnostic::unsupported(location, format!("the constant {value}; supported: numbers"))
    })?;
    // MLIR reads a true `i1` as -1, the bundle as 1.
    Ok(Number::Integer(ty.wrap_integer(value.value())))
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{BlockLike, Module},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::registry;

    /// The program of the kernel in `text`, over tensors of these names and shapes, or the diagnostic's message.
    fn exported(text: &str, tensors: Value) -> Result<Value, String> {
        let context = Context::new();
        context.append_dialect_registry(&registry::dialects());
        context.load_all_available_dialects();
        let module = Module::parse(&context, text).ok_or("the kernel does not parse")?;
        let kernel = module.body().first_operation().ok_or("there is no kernel")?;
        let tensors: Vec<Tensor> = serde_json::from_value(tensors).map_err(|error| error.to_string())?;
        let tensors: Vec<&Tensor> = tensors.iter().collect();
        let program = export(kernel, &tensors).map_err(|diagnostic| diagnostic.message)?;
        serde_json::to_value(program).map_err(|error| error.to_string())
    }

    fn tensor(name: &str, dtype: &str, shape: Value) -> Value {
        let strides: Vec<i64> = shape
            .as_array()
            .map(|shape| vec![1; shape.len()])
            .unwrap_or_default();
        json!({"name": name, "dtype": dtype, "shape": shape, "strides": strides, "align": 16})
    }

    #[test]
    fn a_row_norm_reads_as_the_kernel_does() {
        let kernel = r#"
            norm.kernel @k(%x: memref<?x8xbf16>, %y: memref<?x8xbf16>) space(%m = dim(%x, 0), %n = 8) {
              %0 = norm.read %x[%m, %n] : memref<?x8xbf16>
              %1 = arith.extf %0 : bf16 to f32
              %2 = norm.reduce add %1 over(%n) : f32
              %3 = arith.constant 1.250000e-01 : f32
              %4 = arith.mulf %2, %3 : f32
              %5 = arith.truncf %4 : f32 to bf16
              norm.write %5, %y[%m, %n] : memref<?x8xbf16>
            }"#;
        let tensors = json!([
            tensor("x", "bf16", json!(["rows", 8])),
            tensor("y", "bf16", json!(["rows", 8]))
        ]);
        let expected = json!({
            "space": ["rows", 8],
            "steps": [
                {"kind": "read", "tensor": "x", "access": ["d0", "d1"], "type": "bf16"},
                {"kind": "op", "name": "arith.extf", "operands": [0], "type": "f32"},
                {"kind": "reduce", "combiner": "add", "operands": [1], "over": [1], "types": ["f32"]},
                {"kind": "constant", "value": 0.125, "type": "f32"},
                {"kind": "op", "name": "arith.mulf", "operands": [2, 3], "type": "f32"},
                {"kind": "op", "name": "arith.truncf", "operands": [4], "type": "bf16"},
                {"kind": "write", "value": 5, "tensor": "y", "access": ["d0", "d1"]}
            ]
        });
        assert_eq!(exported(kernel, tensors), Ok(expected));
    }

    #[test]
    fn coordinates_predicates_and_affine_accesses_are_kept() {
        let kernel = r#"
            norm.kernel @k(%x: memref<?xf32>, %y: memref<?x4xi1>) space(%q = dim(%x, 0) floordiv 4, %j = 4) {
              %0 = norm.read %x[%q * 4 + %j] : memref<?xf32>
              %1 = arith.index_cast %j : index to i64
              %2 = arith.sitofp %1 : i64 to f32
              %3 = arith.cmpf olt, %0, %2 : f32
              %4 = arith.constant true
              %5 = arith.cmpi ne, %3, %4 : i1
              norm.write %5, %y[%q, %j] : memref<?x4xi1>
            }"#;
        let tensors = json!([
            tensor("x", "f32", json!(["n"])),
            tensor("y", "i1", json!(["n", 4]))
        ]);
        let program = exported(kernel, tensors).unwrap_or_default();
        assert_eq!(program["space"], json!(["floordiv(n, 4)", 4]));
        assert_eq!(program["steps"][0]["access"], json!(["d0*4 + d1"]));
        assert_eq!(program["steps"][1], json!({"kind": "index", "dim": 1}));
        assert_eq!(program["steps"][2]["operands"], json!([1]));
        assert_eq!(program["steps"][4]["predicate"], "olt");
        assert_eq!(program["steps"][5]["value"], 1);
        assert_eq!(program["steps"][6]["predicate"], "ne");
    }

    #[test]
    fn a_combiner_numbers_its_values_after_both_sides() {
        let kernel = r#"
            norm.kernel @k(%x: memref<8xf32>, %y: memref<f32>) space(%n = 8) {
              %0 = norm.read %x[%n] : memref<8xf32>
              %m, %s = norm.reduce %0, %0 over(%n) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
              ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
                %1 = arith.maximumf %a, %c : f32
                %2 = arith.addf %b, %d : f32
                norm.yield %1, %2 : f32, f32
              }
              norm.write %s, %y[] : memref<f32>
            }"#;
        let tensors = json!([tensor("x", "f32", json!([8])), tensor("y", "f32", json!([]))]);
        let program = exported(kernel, tensors).unwrap_or_default();
        let region = &program["steps"][1]["combiner"]["region"];
        assert_eq!(region["identities"], json!(["-inf", 0.0]));
        assert_eq!(region["steps"][0]["operands"], json!([0, 2]));
        assert_eq!(region["steps"][1]["operands"], json!([1, 3]));
        assert_eq!(region["results"], json!([4, 5]));
        assert_eq!(program["steps"][2]["value"], 2);
    }

    #[test]
    fn what_the_neutral_form_lacks_is_unsupported() {
        let kernel = r#"
            norm.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) space(%n = 8) {
              %0 = norm.read %x[%n] : memref<8xf32>
              %1, %2 = math.sincos %0 : f32
              norm.write %1, %y[%n] : memref<8xf32>
            }"#;
        let tensors = json!([tensor("x", "f32", json!([8])), tensor("y", "f32", json!([8]))]);
        let message = "a reference with 'math.sincos'; supported: arith and math ops of one result";
        assert_eq!(exported(kernel, tensors), Err(message.to_owned()));
    }
}
