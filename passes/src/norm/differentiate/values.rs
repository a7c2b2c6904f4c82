//! The values of a gradient's program under construction: the dims that each varies over, and sharing of equal ops.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{Attribute, AttributeLike, Type, Value, ValueLike, attribute::FloatAttribute};
use norma_dialects::norm::ReduceKind;

use super::sum::{Atom, Product, Rounding};
use crate::{
    kernel::reductions,
    mlir::{
        builder::Builder,
        comparison::{Predicate, compare_floats},
        pass::PassError,
        types,
        values::{key, number},
    },
};

/// Dims of a program, by position.
pub(super) type DimSet = BTreeSet<usize>;

/// Properties of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The dims that it varies over.
    pub(super) dims: DimSet,
    /// Whether it depends on a reduction.
    pub(super) is_reduced: bool,
}

/// The values of a program, and the builder for more of them.
pub(super) struct Values<'c, 'a> {
    pub(super) b: Builder<'c, 'a>,
    /// The type of adjoints and of all arithmetic with them.
    pub(super) float: Type<'c>,
    /// The tolerance with which coefficients of that type cancel.
    pub(super) rounding: Rounding,
    /// The program's dims.
    pub(super) dims: Vec<Value<'c, 'a>>,
    /// The number of points of each dim, if it is known.
    pub(super) extents: Vec<Option<i64>>,
    facts: HashMap<usize, Facts>,
    /// The ops emitted so far, by name, attribute and operands.
    written: HashMap<(String, usize, Vec<usize>), Value<'c, 'a>>,
    atoms: Vec<Value<'c, 'a>>,
    numbers: HashMap<usize, Atom>,
}

impl<'c: 'a, 'a> Values<'c, 'a> {
    pub(super) fn new(
        b: Builder<'c, 'a>,
        float: Type<'c>,
        dims: &[Value<'c, 'a>],
        extents: Vec<Option<i64>>,
    ) -> Self {
        let mut values = Self {
            b,
            float,
            rounding: Rounding::of_mantissa(if types::bit_width(float) == Some(64) {
                53
            } else {
                24
            }),
            dims: dims.to_vec(),
            extents,
            facts: HashMap::new(),
            written: HashMap::new(),
            atoms: Vec::new(),
            numbers: HashMap::new(),
        };
        for (position, dim) in dims.iter().enumerate() {
            let facts = Facts {
                dims: [position].into(),
                is_reduced: false,
            };
            values.note(*dim, facts);
        }
        values
    }

    /// Notes the properties of a value.
    pub(super) fn note(&mut self, value: Value<'c, 'a>, facts: Facts) {
        self.facts.insert(key(value), facts);
    }

    /// The properties of a value; the default for constants and other values that have none noted.
    pub(super) fn facts(&self, value: Value<'c, 'a>) -> Facts {
        self.facts.get(&key(value)).cloned().unwrap_or_default()
    }

    /// The properties of a value that is computed pointwise from others.
    pub(super) fn joined(&self, operands: &[Value<'c, 'a>]) -> Facts {
        let mut joined = Facts::default();
        for operand in operands {
            let facts = self.facts(*operand);
            joined.dims.extend(facts.dims);
            joined.is_reduced |= facts.is_reduced;
        }
        joined
    }

    /// The atom that stands for a value in products.
    pub(super) fn atom(&mut self, value: Value<'c, 'a>) -> Atom {
        *self.numbers.entry(key(value)).or_insert_with(|| {
            self.atoms.push(value);
            self.atoms.len() - 1
        })
    }

    /// The value of an atom.
    pub(super) fn of_atom(&self, atom: Atom) -> Value<'c, 'a> {
        self.atoms[atom]
    }

    /// The dims that an atom varies over.
    pub(super) fn dims_of_atom(&self, atom: Atom) -> DimSet {
        self.facts(self.atoms[atom]).dims
    }

    /// The dims that a product varies over.
    pub(super) fn dims_of(&self, product: &Product) -> DimSet {
        let conditions = product.conditions.iter().map(|(condition, _)| condition);
        let atoms = product.powers.keys().chain(&product.element).chain(conditions);
        atoms.flat_map(|atom| self.dims_of_atom(*atom)).collect()
    }

    /// Represents a value as a coefficient and a product: a constant is its coefficient.
    pub(super) fn product(&mut self, value: Value<'c, 'a>) -> (f64, Product) {
        let value = self.widened(value);
        if let Some(number) = constant(value).filter(|number| number.is_finite()) {
            return (number, Product::default());
        }
        let is_element = !self.dims.is_empty() && self.facts(value).dims.len() == self.dims.len();
        let atom = self.atom(value);
        let product = match is_element {
            true => Product {
                element: Some(atom),
                ..Product::default()
            },
            false => Product {
                powers: [(atom, 1)].into(),
                ..Product::default()
            },
        };
        (1.0, product)
    }

    /// Widens a float to the arithmetic's type.
    pub(super) fn widened(&mut self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        if value.r#type() == self.float {
            return value;
        }
        self.op("arith.extf", &[value])
    }

    /// The value of an equal op that was emitted before, if there is one; `attribute` distinguishes constants and comparisons.
    pub(super) fn known(
        &self,
        name: &str,
        attribute: usize,
        operands: &[Value<'c, 'a>],
    ) -> Option<Value<'c, 'a>> {
        self.written
            .get(&self.signature(name, attribute, operands))
            .copied()
    }

    /// Notes that a value is the result of such an op.
    pub(super) fn take(
        &mut self,
        name: &str,
        attribute: usize,
        operands: &[Value<'c, 'a>],
        value: Value<'c, 'a>,
    ) {
        let facts = self.joined(operands);
        self.note(value, facts);
        let signature = self.signature(name, attribute, operands);
        self.written.insert(signature, value);
    }

    fn signature(
        &self,
        name: &str,
        attribute: usize,
        operands: &[Value<'c, 'a>],
    ) -> (String, usize, Vec<usize>) {
        let mut operands = operands.iter().map(|operand| key(*operand)).collect::<Vec<_>>();
        if ["arith.addf", "arith.mulf"].contains(&name) {
            operands.sort_unstable();
        }
        (name.to_owned(), attribute, operands)
    }

    fn write(
        &mut self,
        name: &str,
        attribute: usize,
        operands: &[Value<'c, 'a>],
        build: impl FnOnce(&Self) -> Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        if let Some(known) = self.known(name, attribute, operands) {
            return known;
        }
        let value = build(self);
        self.take(name, attribute, operands, value);
        value
    }

    /// Emits an op whose result is of the arithmetic's type, unless an equal one exists.
    pub(super) fn op(&mut self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        self.write(name, 0, operands, |values| {
            values.b.value(name, operands, values.float)
        })
    }

    /// A constant of the arithmetic's type.
    pub(super) fn constant(&mut self, number: f64) -> Value<'c, 'a> {
        let attribute: Attribute<'c> = FloatAttribute::new(self.b.context(), self.float, number).into();
        let unique = attribute.to_raw().ptr as usize;
        self.write("arith.constant", unique, &[], |values| {
            values.b.constant(attribute, values.float)
        })
    }

    /// 1 where a condition holds, else 0.
    pub(super) fn indicator(&mut self, condition: Value<'c, 'a>) -> Value<'c, 'a> {
        let (one, zero) = (self.constant(1.0), self.constant(0.0));
        self.op("arith.select", &[condition, one, zero])
    }

    /// Compares two numbers of the arithmetic's type.
    pub(super) fn compare(
        &mut self,
        predicate: Predicate,
        lhs: Value<'c, 'a>,
        rhs: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        self.write("arith.cmpf", 1 + predicate as usize, &[lhs, rhs], |values| {
            compare_floats(&values.b, predicate, lhs, rhs)
        })
    }

    /// Emits a reduction of a number of the arithmetic's type over dims, unless an equal one exists.
    pub(super) fn reduce(
        &mut self,
        kind: ReduceKind,
        value: Value<'c, 'a>,
        over: &DimSet,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let dims = over.iter().map(|dim| self.dims[*dim]).collect::<Vec<_>>();
        let signature = self.reduction(kind, value, over);
        if let Some(known) = self.written.get(&signature) {
            return Ok(*known);
        }
        let reduced = reductions::reduce(&self.b, kind, &dims, value)?;
        self.take_reduction(kind, value, over, reduced);
        Ok(reduced)
    }

    /// Notes an emitted reduction or one of the forward program, with its properties, so that an equal one is not emitted again.
    pub(super) fn take_reduction(
        &mut self,
        kind: ReduceKind,
        value: Value<'c, 'a>,
        over: &DimSet,
        reduced: Value<'c, 'a>,
    ) {
        let facts = Facts {
            dims: &self.facts(value).dims - over,
            is_reduced: true,
        };
        self.note(reduced, facts);
        let signature = self.reduction(kind, value, over);
        self.written.entry(signature).or_insert(reduced);
    }

    fn reduction(
        &self,
        kind: ReduceKind,
        value: Value<'c, 'a>,
        over: &DimSet,
    ) -> (String, usize, Vec<usize>) {
        let mut operands = vec![key(value)];
        operands.extend(over.iter().map(|dim| key(self.dims[*dim])));
        (format!("norm.reduce {kind:?}"), 0, operands)
    }
}

/// The value of a floating-point constant; `None` for other values.
pub(super) fn constant(value: Value<'_, '_>) -> Option<f64> {
    number(value).filter(|_| types::is_float(value.r#type()))
}
