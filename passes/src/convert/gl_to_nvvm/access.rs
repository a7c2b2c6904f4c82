//! Addresses of a tile's elements, from an affine access.

use std::collections::HashMap;

use melior::ir::{AffineMap, Type};
use norma_layout::LinearLayout;

use crate::{
    gl::quotient_form::QuotientForm,
    mlir::{diagnostic::Diagnostic, values::key},
};

use super::{
    buffer::Stride,
    emit::{Emit, Value},
    form::{Place, Scalars, Thread, Values},
    guards::{Guard, Guards},
};

/// Where a thread's elements of a tile lie.
pub(super) struct Addresses<'c, 'a> {
    element: Type<'c>,
    /// The pointer that each register's constant is added to.
    pub bases: Vec<Value<'c, 'a>>,
    /// Constant offset of each register, in elements.
    pub constants: Vec<i64>,
}

impl<'c, 'a> Addresses<'c, 'a> {
    /// The address of the element in the register at `position` among the access's registers.
    pub fn of(&self, e: &Emit<'_, 'c, 'a>, position: usize) -> Value<'c, 'a> {
        e.constant_pointer(self.bases[position], self.element, self.constants[position])
    }

    /// Whether each group of `vector` consecutive registers holds neighbours in memory.
    fn are_side_by_side(&self, vector: usize) -> bool {
        let is_next = |register: usize| {
            register.is_multiple_of(vector)
                || key(self.bases[register]) == key(self.bases[register - 1])
                    && self.constants[register] == self.constants[register - 1] + 1
        };
        vector <= 1 || (0..self.bases.len()).all(is_next)
    }
}

/// An access, with this thread's place in the layout of its tile.
pub(super) struct Access<'b, 'c, 'a> {
    pub e: &'b Emit<'b, 'c, 'a>,
    pub thread: Thread<'b, 'c, 'a>,
    pub indices: Scalars<'c, 'a>,
    /// For each axis, the number of neighbours that consecutive registers of a thread hold.
    pub runs: Vec<usize>,
}

impl<'b, 'c, 'a> Access<'b, 'c, 'a> {
    /// An access over `indices` and the axes of a tile in `layout`, for the elements in `registers`.
    pub fn new(
        e: &'b Emit<'b, 'c, 'a>,
        layout: &LinearLayout,
        registers: Vec<usize>,
        indices: Scalars<'c, 'a>,
    ) -> Result<Self, Diagnostic<'c>> {
        Ok(Self {
            e,
            thread: Thread::new(e, layout, registers)?,
            indices,
            runs: (0..layout.rank())
                .map(|axis| layout.contiguous_elements(&[axis]))
                .collect(),
        })
    }

    /// A result of an access or of guards, as a form over the indices and the tile's axes.
    pub fn form(&self, map: AffineMap<'c>, result: usize) -> Result<QuotientForm, Diagnostic<'c>> {
        let expression = map.result(result).map_err(|error| self.e.internal(error))?;
        QuotientForm::of(expression, map.dim_count(), map.symbol_count()).ok_or_else(|| {
            self.e.unsupported(format!(
                "expected divisors that are positive constants and coefficients of 64 bits, got result {result} of {map}"
            ))
        })
    }

    /// The addresses of the elements of `buffer` that `map` names. Each group of `vector` of them has to be contiguous in
    /// memory.
    pub fn addresses(
        &self,
        map: AffineMap<'c>,
        buffer: Value<'c, 'a>,
        strides: &[Stride<'c, 'a>],
        element: Type<'c>,
        vector: usize,
    ) -> Result<Addresses<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let none = Scalars::new(&[], Vec::new());
        let mut uniform = Vec::new();
        // The part of the offset whose strides are constants, in elements.
        let mut fixed = QuotientForm::zero(map.dim_count(), 0);
        let mut runtime = Vec::new();
        for (axis, stride) in strides.iter().enumerate() {
            let mut form = self.form(map, axis)?;
            let indices = form.dims[..self.indices.values.len()].to_vec();
            form.dims[..indices.len()].fill(0);
            let terms = self.indices.terms(e, &indices);
            match stride {
                Stride::Static(stride) => {
                    uniform.extend(e.sum(terms).map(|sum| e.scale(sum, *stride)));
                    fixed
                        .add(&form, *stride)
                        .ok_or_else(|| e.unsupported("expected offsets of 64 bits"))?;
                }
                Stride::Dynamic(stride) => {
                    let constant = std::mem::take(&mut form.constant);
                    let terms = terms.into_iter().chain((constant != 0).then(|| e.i64(constant)));
                    uniform.extend(e.sum(terms).map(|sum| e.muli(sum, *stride)));
                    runtime.push((self.thread.evaluate(&form, &self.indices, &none)?, *stride));
                }
            }
        }
        let values = self.thread.evaluate(&fixed, &self.indices, &none)?;
        uniform.extend(values.uniform);
        for (values, stride) in &runtime {
            uniform.extend(values.uniform.map(|sum| e.muli(sum, *stride)));
        }
        let mut base = match e.sum(uniform) {
            None => buffer,
            Some(offset) => e.element_pointer(buffer, element, offset),
        };
        for (values, stride) in &runtime {
            for place in &values.places {
                base = e.element_pointer(base, element, e.muli(place.wide(e), *stride));
            }
        }
        // Narrow (32-bit) parts come last, and each on its own: they are widened one by one rather than added in 32 bits.
        let (narrow, wide): (Vec<&Place<'c, 'a>>, Vec<_>) =
            values.places.iter().partition(|place| place.is_narrow());
        for place in wide.into_iter().chain(narrow) {
            base = e.element_pointer(base, element, place.wide(e));
        }
        let mut bases = HashMap::new();
        let bases: Vec<Value<'c, 'a>> = (0..self.thread.count())
            .map(|position| {
                let jump = values.jumps[position].map(|jump| jump.value);
                let runtime_of = |(values, stride): &(Values<'c, 'a>, Value<'c, 'a>)| {
                    let jump = values.jumps[position].map(|jump| jump.value);
                    (jump, values.constants[position], *stride)
                };
                let apart = runtime.iter().map(runtime_of).collect::<Vec<_>>();
                let distinct = apart
                    .iter()
                    .map(|(jump, constant, _)| (jump.map(key), *constant))
                    .collect::<Vec<_>>();
                *bases
                    .entry((jump.map(key), distinct))
                    .or_insert_with(|| self.jump(base, element, jump, &apart))
            })
            .collect();
        let addresses = Addresses {
            element,
            bases,
            constants: values.constants,
        };
        if !addresses.are_side_by_side(vector) {
            let message =
                format!("expected {vector} neighbours in a thread's registers to be neighbours in memory");
            return Err(Diagnostic::user(e.b.location(), message));
        }
        Ok(addresses)
    }

    /// `base`, advanced by `jump` elements and, for each triple, by `(jump + constant) * stride` elements.
    fn jump(
        &self,
        base: Value<'c, 'a>,
        element: Type<'c>,
        jump: Option<Value<'c, 'a>>,
        runtime: &[(Option<Value<'c, 'a>>, i64, Value<'c, 'a>)],
    ) -> Value<'c, 'a> {
        let e = self.e;
        let mut pointer = base;
        for (jump, constant, stride) in runtime {
            let offset = match (jump, constant) {
                (None, 0) => continue,
                (None, constant) => e.scale(*stride, *constant),
                (Some(jump), 0) => e.muli(*jump, *stride),
                (Some(jump), constant) => e.muli(e.addi(*jump, e.i64(*constant)), *stride),
            };
            pointer = e.element_pointer(pointer, element, offset);
        }
        match jump {
            None => pointer,
            Some(jump) => e.element_pointer(pointer, element, jump),
        }
    }

    /// The guards of an access at its registers. Without `guards` they hold everywhere.
    pub fn guards(
        &self,
        guards: Option<AffineMap<'c>>,
        limits: &Scalars<'c, 'a>,
    ) -> Result<Guards<'b, 'c, 'a>, Diagnostic<'c>> {
        let pairs = guards.map_or(0, |guards| guards.result_count() / 2);
        let each = guards.into_iter().flat_map(|guards| {
            (0..pairs).map(move |pair| {
                let (lhs, rhs) = (self.form(guards, 2 * pair)?, self.form(guards, 2 * pair + 1)?);
                let difference = QuotientForm::difference(&lhs, &rhs)
                    .ok_or_else(|| self.e.unsupported("expected guards of 64 bits"))?;
                Ok(Guard::of(
                    self.e,
                    self.thread.evaluate(&difference, &self.indices, limits)?,
                ))
            })
        });
        Ok(Guards {
            e: self.e,
            each: each.collect::<Result<_, Diagnostic<'c>>>()?,
        })
    }

    /// The value of an affine expression at each register, i64.
    pub fn values(&self, map: AffineMap<'c>) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        let e = self.e;
        let none = Scalars::new(&[], Vec::new());
        let values = self.thread.evaluate(&self.form(map, 0)?, &self.indices, &none)?;
        let common = values.common(e);
        Ok(values
            .jumps
            .iter()
            .zip(&values.constants)
            .map(|(jump, &constant)| {
                let terms = common.into_iter().chain(jump.map(|jump| jump.value));
                let constant = |sum: Option<Value<'c, 'a>>| match sum {
                    None => e.i64(constant),
                    Some(sum) if constant == 0 => sum,
                    Some(sum) => e.addi(sum, e.i64(constant)),
                };
                constant(e.sum(terms))
            })
            .collect())
    }
}
