//! Short forms of the ops that the lowering builds: integer arithmetic, ids, pointers, vectors, inline PTX.

use std::fmt::Display;

use melior::{
    dialect::llvm,
    ir::{
        Attribute, OperationRef, Region, RegionLike, Type, ValueLike,
        attribute::{
            ArrayAttribute, DenseI32ArrayAttribute, DenseI64ArrayAttribute, IntegerAttribute,
            StringAttribute, TypeAttribute,
        },
        operation::OperationLike,
        r#type::IntegerType,
    },
};
use norma_targets::WARP_SIZE;

use crate::mlir::{
    address_space,
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    diagnostic::Diagnostic,
    region, types,
};

/// A value of the function that is lowered.
pub(super) type Value<'c, 'a> = melior::ir::Value<'c, 'a>;

/// The first `count` results of an op that has been built.
fn results<'c, 'a>(op: OperationRef<'c, 'a>, count: usize) -> Result<Vec<Value<'c, 'a>>, melior::Error> {
    (0..count).map(|index| result(op, index)).collect()
}

/// A result of an op that has been built.
pub(super) fn result<'c, 'a>(op: OperationRef<'c, 'a>, index: usize) -> Result<Value<'c, 'a>, melior::Error> {
    op.result(index).map(Value::from)
}

/// A builder with the short forms. Everything is built at the builder's insertion point.
pub(super) struct Emit<'b, 'c: 'a, 'a> {
    /// The builder underneath.
    pub b: &'b Builder<'c, 'a>,
}

impl<'b, 'c, 'a> Emit<'b, 'c, 'a> {
    pub fn new(b: &'b Builder<'c, 'a>) -> Self {
        Self { b }
    }

    /// An internal error at the op that is lowered.
    pub fn internal(&self, message: impl Display) -> Diagnostic<'c> {
        Diagnostic::internal(self.b.location(), message)
    }

    /// An unsupported case at the op that is lowered.
    pub fn unsupported(&self, message: impl Display) -> Diagnostic<'c> {
        Diagnostic::unsupported(self.b.location(), message)
    }

    // Types.

    pub fn int(&self, bits: u32) -> Type<'c> {
        IntegerType::new(self.b.context(), bits).into()
    }

    pub fn shared_pointer(&self) -> Type<'c> {
        llvm::r#type::pointer(self.b.context(), address_space::SHARED)
    }

    pub fn vector_of(&self, count: usize, element: Type<'c>) -> Result<Type<'c>, Diagnostic<'c>> {
        types::vector(&[count as i64], element)
            .ok_or_else(|| self.internal(format!("no vector of {count} x {element}")))
    }

    // Integers.

    pub fn i32(&self, value: i64) -> Value<'c, 'a> {
        self.b.integer(self.int(32), value)
    }

    pub fn i64(&self, value: i64) -> Value<'c, 'a> {
        self.b.integer(self.int(64), value)
    }

    pub fn bool(&self, value: bool) -> Value<'c, 'a> {
        self.b.integer(self.int(1), i64::from(value))
    }

    fn binary(&self, name: &str, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value(name, &[lhs, rhs], lhs.r#type())
    }

    pub fn addi(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("arith.addi", lhs, rhs)
    }

    pub fn subi(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("arith.subi", lhs, rhs)
    }

    pub fn muli(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("arith.muli", lhs, rhs)
    }

    pub fn andi(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("arith.andi", lhs, rhs)
    }

    pub fn xori(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("arith.xori", lhs, rhs)
    }

    pub fn shrui(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("arith.shrui", lhs, rhs)
    }

    pub fn compare(
        &self,
        predicate: IntegerPredicate,
        lhs: Value<'c, 'a>,
        rhs: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        compare_integers(self.b, predicate, lhs, rhs)
    }

    /// `yes` where the condition holds, else `no`.
    pub fn select(&self, condition: Value<'c, 'a>, yes: Value<'c, 'a>, no: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value("llvm.select", &[condition, yes, no], yes.r#type())
    }

    /// A value that is not negative, widened to i64.
    pub fn widen(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value("arith.extui", &[value], self.int(64))
    }

    /// A value widened to i64 with its sign.
    pub fn widen_signed(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value("arith.extsi", &[value], self.int(64))
    }

    /// The lower 32 bits of an i64.
    pub fn narrow(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value("arith.trunci", &[value], self.int(32))
    }

    /// The sum of `terms`, or `None` if there are none.
    pub fn sum(&self, terms: impl IntoIterator<Item = Value<'c, 'a>>) -> Option<Value<'c, 'a>> {
        terms.into_iter().reduce(|sum, term| self.addi(sum, term))
    }

    /// `value * factor`, in the value's type.
    pub fn scale(&self, value: Value<'c, 'a>, factor: i64) -> Value<'c, 'a> {
        match factor {
            1 => value,
            _ => self.muli(value, self.b.integer(value.r#type(), factor)),
        }
    }

    /// The largest integer that is at most `value / divisor`, for a positive divisor.
    pub fn floor_div(&self, value: Value<'c, 'a>, divisor: i64) -> Value<'c, 'a> {
        let ty = value.r#type();
        match divisor {
            1 => value,
            // An arithmetic shift rounds down, whatever the sign.
            _ if divisor.count_ones() == 1 => {
                let shift = self.b.integer(ty, i64::from(divisor.trailing_zeros()));
                self.binary("arith.shrsi", value, shift)
            }
            _ => self.binary("arith.floordivsi", value, self.b.integer(ty, divisor)),
        }
    }

    /// As [`Self::floor_div`] of an i64 in `range`. It divides unsigned 32 bits where the range allows it, because the machine
    /// divides 64 bits by a sequence of instructions.
    pub fn floor_div_within(
        &self,
        value: Value<'c, 'a>,
        divisor: i64,
        range: Option<(i128, i128)>,
    ) -> Value<'c, 'a> {
        match range {
            Some((low, high)) if low >= 0 && high <= i32::MAX.into() && divisor.count_ones() > 1 => {
                let narrow = self.narrow(value);
                // The divisor is at most the range's end: otherwise the quotient would be a constant.
                self.widen(self.binary("arith.divui", narrow, self.i32(divisor)))
            }
            _ => self.floor_div(value, divisor),
        }
    }

    /// The remainder of [`Self::floor_div`], from 0 to `divisor - 1`.
    pub fn modulo(&self, value: Value<'c, 'a>, divisor: i64) -> Value<'c, 'a> {
        if divisor.count_ones() == 1 {
            return self.andi(value, self.b.integer(value.r#type(), divisor - 1));
        }
        let multiple = self.scale(self.floor_div(value, divisor), divisor);
        self.subi(value, multiple)
    }

    // Branches.

    /// Builds a branch that runs `then` where `condition` holds. The result is the value of `then` there, and `otherwise`
    /// elsewhere.
    pub fn instead(
        &self,
        condition: Value<'c, 'a>,
        otherwise: Option<Value<'c, 'a>>,
        then: impl FnOnce() -> Result<Option<Value<'c, 'a>>, Diagnostic<'c>>,
    ) -> Result<Option<Value<'c, 'a>>, Diagnostic<'c>> {
        let region = || region::of_block(&[]);
        let types = otherwise.iter().map(|value| value.r#type()).collect::<Vec<_>>();
        let regions = match otherwise {
            Some(_) => vec![region(), region()],
            None => vec![region(), Region::new()],
        };
        let branch = self.b.op_with("scf.if", &[condition], &types, &[], regions);
        let block = |index| {
            let region = branch.region(index).map_err(|error| self.internal(error))?;
            region
                .first_block()
                .ok_or_else(|| self.internal("expected a block"))
        };
        self.b.within(branch, block(0)?, || {
            let value = then()?;
            self.b.op("scf.yield", value.as_slice(), &[]);
            Ok::<_, Diagnostic<'c>>(())
        })?;
        if otherwise.is_none() {
            return Ok(None);
        }
        self.b.within(branch, block(1)?, || {
            self.b.op("scf.yield", otherwise.as_slice(), &[])
        });
        result(branch, 0).map(Some).map_err(|error| self.internal(error))
    }

    // Ids.

    pub fn thread_id(&self) -> Value<'c, 'a> {
        self.b.value("nvvm.read.ptx.sreg.tid.x", &[], self.int(32))
    }

    pub fn lane_id(&self) -> Value<'c, 'a> {
        self.andi(self.thread_id(), self.i32(WARP_SIZE - 1))
    }

    /// The CTA's rank in its cluster.
    pub fn cluster_rank(&self) -> Value<'c, 'a> {
        self.b
            .value("nvvm.read.ptx.sreg.cluster.ctarank", &[], self.int(32))
    }

    pub fn warp_id(&self) -> Value<'c, 'a> {
        self.shrui(self.thread_id(), self.i32(WARP_SIZE.ilog2().into()))
    }

    // Pointers.

    /// `base + index` elements; the index is i64.
    pub fn element_pointer(
        &self,
        base: Value<'c, 'a>,
        element: Type<'c>,
        index: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        self.gep(&[base, index], element, i32::MIN)
    }

    /// `base + index` elements.
    pub fn constant_pointer(&self, base: Value<'c, 'a>, element: Type<'c>, index: i64) -> Value<'c, 'a> {
        match i32::try_from(index) {
            Ok(0) => base,
            // i32::MIN stands for a dynamic index.
            Ok(index) if index != i32::MIN => self.gep(&[base], element, index),
            _ => self.element_pointer(base, element, self.i64(index)),
        }
    }

    fn gep(&self, operands: &[Value<'c, 'a>], element: Type<'c>, constant: i32) -> Value<'c, 'a> {
        let context = self.b.context();
        self.b.value_with(
            "llvm.getelementptr",
            operands,
            operands[0].r#type(),
            &[
                (
                    "rawConstantIndices",
                    DenseI32ArrayAttribute::new(context, &[constant]).into(),
                ),
                ("elem_type", TypeAttribute::new(element).into()),
            ],
        )
    }

    /// Loads `ty` from an address that is a multiple of `alignment` bytes.
    pub fn load(&self, pointer: Value<'c, 'a>, ty: Type<'c>, alignment: i64) -> Value<'c, 'a> {
        let alignment = IntegerAttribute::new(self.int(64), alignment);
        self.b
            .value_with("llvm.load", &[pointer], ty, &[("alignment", alignment.into())])
    }

    /// Stores to an address that is a multiple of `alignment` bytes.
    pub fn store(&self, value: Value<'c, 'a>, pointer: Value<'c, 'a>, alignment: i64) {
        let alignment = IntegerAttribute::new(self.int(64), alignment);
        self.b.op_with(
            "llvm.store",
            &[value, pointer],
            &[],
            &[("alignment", alignment.into())],
            Vec::new(),
        );
    }

    // Vectors.

    pub fn bitcast(&self, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
        if value.r#type() == ty {
            return value;
        }
        self.b.value("llvm.bitcast", &[value], ty)
    }

    /// The elements of a vector.
    pub fn elements(&self, vector: Value<'c, 'a>) -> Result<Vec<Value<'c, 'a>>, melior::Error> {
        let ty = vector.r#type();
        let count = types::vector_len(ty);
        let op = self
            .b
            .op("vector.to_elements", &[vector], &vec![types::element(ty); count]);
        results(op, count)
    }

    /// A vector of `elements`, of which there is at least one.
    pub fn pack(&self, elements: &[Value<'c, 'a>]) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let ty = self.vector_of(elements.len(), elements[0].r#type())?;
        Ok(self.b.value("vector.from_elements", elements, ty))
    }

    /// A vector of `count` copies of a scalar.
    pub fn splat(&self, scalar: Value<'c, 'a>, count: usize) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let ty = self.vector_of(count, scalar.r#type())?;
        Ok(self.b.value("vector.broadcast", &[scalar], ty))
    }

    /// Elements `first .. first + count`.
    pub fn slice(
        &self,
        vector: Value<'c, 'a>,
        first: usize,
        count: usize,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let ty = vector.r#type();
        if types::vector_shape(ty).as_deref() == Some(&[count as i64]) {
            return Ok(vector);
        }
        let result = self.vector_of(count, types::element(ty))?;
        Ok(self.b.value_with(
            "vector.extract_strided_slice",
            &[vector],
            result,
            &[
                ("offsets", self.i64_array(&[first as i64])),
                ("sizes", self.i64_array(&[count as i64])),
                ("strides", self.i64_array(&[1])),
            ],
        ))
    }

    /// `vector` with `part` in place of the elements from `first` on.
    pub fn insert(&self, part: Value<'c, 'a>, vector: Value<'c, 'a>, first: usize) -> Value<'c, 'a> {
        if part.r#type() == vector.r#type() {
            return part;
        }
        self.b.value_with(
            "vector.insert_strided_slice",
            &[part, vector],
            vector.r#type(),
            &[
                ("offsets", self.i64_array(&[first as i64])),
                ("strides", self.i64_array(&[1])),
            ],
        )
    }

    /// Element `picks[i]` of `vector` as element i.
    pub fn shuffle(&self, vector: Value<'c, 'a>, picks: &[usize]) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let ty = vector.r#type();
        let count = types::vector_len(ty);
        if picks.iter().copied().eq(0..count) {
            return Ok(vector);
        }
        let result = self.vector_of(picks.len(), types::element(ty))?;
        let mask = picks.iter().map(|&pick| pick as i64).collect::<Vec<_>>();
        let mask = DenseI64ArrayAttribute::new(self.b.context(), &mask);
        Ok(self.b.value_with(
            "vector.shuffle",
            &[vector, vector],
            result,
            &[("mask", mask.into())],
        ))
    }

    fn i64_array(&self, values: &[i64]) -> Attribute<'c> {
        let values = values
            .iter()
            .map(|&value| IntegerAttribute::new(self.int(64), value).into())
            .collect::<Vec<Attribute<'c>>>();
        ArrayAttribute::new(self.b.context(), &values).into()
    }

    // Inline PTX.

    /// Inline PTX with at most one result. `constraints` are LLVM's. Without side effects it may be moved, merged and
    /// dropped like arithmetic.
    pub fn inline_ptx(
        &self,
        text: &str,
        constraints: &str,
        operands: &[Value<'c, 'a>],
        result: Option<Type<'c>>,
        has_side_effects: bool,
    ) -> OperationRef<'c, 'a> {
        let context = self.b.context();
        let mut attributes = vec![
            ("asm_string", StringAttribute::new(context, text).into()),
            ("constraints", StringAttribute::new(context, constraints).into()),
        ];
        if has_side_effects {
            attributes.push(("has_side_effects", Attribute::unit(context)));
        }
        self.b.op_with(
            "llvm.inline_asm",
            operands,
            result.as_slice(),
            &attributes,
            Vec::new(),
        )
    }

    /// Field `index` of an LLVM struct.
    pub fn field(&self, structure: Value<'c, 'a>, index: usize, ty: Type<'c>) -> Value<'c, 'a> {
        let position = DenseI64ArrayAttribute::new(self.b.context(), &[index as i64]);
        self.b.value_with(
            "llvm.extractvalue",
            &[structure],
            ty,
            &[("position", position.into())],
        )
    }
}
