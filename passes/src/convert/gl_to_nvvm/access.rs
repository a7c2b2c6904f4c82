//! Addresses and predicates of a tile's elements, from an affine access and its guards.
//!
//! The offset of an element is `uniform + thread + register`: what the scalar indices contribute is the same for the
//! whole CTA and computed in 64 bits, what a thread's place contributes is computed in 32 bits where the tile's extent
//! allows it, and what distinguishes a thread's registers is a constant in the instruction wherever strides are.

use melior::ir::{AffineMap, Type};
use norma_layout::LinearLayout;

use crate::mlir::{diagnostic::Diagnostic, linear_form::LinearForm};

use super::{
    emit::{Emit, Value},
    params::Stride,
    threads::{self, AxisCoordinates},
};

/// Where a thread's elements of a tile lie.
pub(super) struct Addresses<'c, 'a> {
    base: Value<'c, 'a>,
    element: Type<'c>,
    /// Constant offset of each register, in elements.
    constants: Vec<i64>,
    /// Along axes whose stride is not constant: (stride, offset of each register along the axis).
    dynamic: Vec<(Value<'c, 'a>, Vec<i64>)>,
}

impl<'c, 'a> Addresses<'c, 'a> {
    /// The address of a register's element.
    pub fn of(&self, e: &Emit<'_, 'c, 'a>, register: usize) -> Value<'c, 'a> {
        let mut base = self.base;
        for (stride, offsets) in &self.dynamic {
            if offsets[register] != 0 {
                base = e.element_pointer(base, self.element, e.scale(*stride, offsets[register]));
            }
        }
        e.constant_pointer(base, self.element, self.constants[register])
    }
}

/// Whether a thread reads or writes a register's element.
#[derive(Clone, Copy)]
pub(super) enum Predicate<'c, 'a> {
    Always,
    Never,
    When(Value<'c, 'a>),
}

/// An access, with what its tile's layout says of this thread.
pub(super) struct Access<'b, 'c, 'a> {
    e: &'b Emit<'b, 'c, 'a>,
    coordinates: Vec<AxisCoordinates<'c, 'a>>,
    indices: Vec<Value<'c, 'a>>,
    registers: usize,
}

impl<'b, 'c, 'a> Access<'b, 'c, 'a> {
    /// An access over `indices`, which are i64, and the axes of a tile in `layout`.
    pub fn new(
        e: &'b Emit<'b, 'c, 'a>,
        layout: &LinearLayout,
        indices: Vec<Value<'c, 'a>>,
    ) -> Result<Self, Diagnostic<'c>> {
        Ok(Self {
            e,
            coordinates: threads::coordinates(e, layout)?,
            indices,
            registers: layout.num_registers(),
        })
    }

    fn form(&self, map: AffineMap<'c>, result: usize) -> Result<LinearForm, Diagnostic<'c>> {
        let expression = map.result(result).map_err(|error| self.e.internal(error))?;
        LinearForm::of(expression, map.dim_count(), map.symbol_count()).ok_or_else(|| {
            self.e.unsupported(format!(
                "expected a sum of multiples of dims, got result {result} of {map}"
            ))
        })
    }

    /// The addresses of the elements of `buffer` that `map` names.
    pub fn addresses(
        &self,
        map: AffineMap<'c>,
        buffer: Value<'c, 'a>,
        strides: &[Stride<'c, 'a>],
        element: Type<'c>,
    ) -> Result<Addresses<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let forms = (0..map.result_count())
            .map(|result| self.form(map, result))
            .collect::<Result<Vec<_>, _>>()?;
        let mut uniform = Vec::new();
        let mut constant = 0;
        for (form, stride) in forms.iter().zip(strides) {
            let terms = self.uniform_terms(&form.dims);
            match stride {
                Stride::Static(stride) => {
                    constant += form.constant * stride;
                    uniform.extend(e.sum(terms).map(|sum| e.scale(sum, *stride)));
                }
                Stride::Dynamic(stride) => {
                    let sum = e.sum(
                        terms
                            .into_iter()
                            .chain((form.constant != 0).then(|| e.i64(form.constant))),
                    );
                    uniform.extend(sum.map(|sum| e.muli(sum, *stride)));
                }
            }
        }
        let mut base = match e.sum(uniform) {
            None => buffer,
            Some(offset) => e.element_pointer(buffer, element, offset),
        };
        let mut constants = vec![constant; self.registers];
        let mut dynamic = Vec::new();
        let mut narrow = Vec::new();
        for (axis, coordinates) in self.coordinates.iter().enumerate() {
            let coefficient = |form: &LinearForm| form.dims[self.indices.len() + axis];
            let mut factor = 0;
            let mut runtime = Vec::new();
            for (form, stride) in forms.iter().zip(strides) {
                match (coefficient(form), stride) {
                    (0, _) => {}
                    (coefficient, Stride::Static(stride)) => factor += coefficient * stride,
                    (coefficient, Stride::Dynamic(stride)) => runtime.push(e.scale(*stride, coefficient)),
                }
            }
            if let Some(stride) = e.sum(runtime) {
                let stride = match factor {
                    0 => stride,
                    _ => e.addi(stride, e.i64(factor)),
                };
                if let Some(thread) = coordinates.thread {
                    base = e.element_pointer(base, element, e.muli(e.widen(thread), stride));
                }
                dynamic.push((stride, coordinates.registers.clone()));
                continue;
            }
            for (slot, offset) in constants.iter_mut().zip(&coordinates.registers) {
                *slot += offset * factor;
            }
            if let Some(thread) = coordinates.thread.filter(|_| factor != 0) {
                let fits = coordinates
                    .thread_max
                    .checked_mul(factor)
                    .is_some_and(|max| (0..=i64::from(i32::MAX)).contains(&max));
                if fits {
                    narrow.push(e.scale(thread, factor));
                } else {
                    base = e.element_pointer(base, element, e.scale(e.widen(thread), factor));
                }
            }
        }
        // Each narrow part is below 2^31, so they are widened one by one rather than added in 32 bits.
        for part in narrow {
            base = e.element_pointer(base, element, e.widen(part));
        }
        Ok(Addresses {
            base,
            element,
            constants,
            dynamic,
        })
    }

    /// For each register in `registers`, whether every guard holds there.
    pub fn predicates(
        &self,
        guards: Option<AffineMap<'c>>,
        limits: &[Value<'c, 'a>],
        registers: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<Predicate<'c, 'a>>, Diagnostic<'c>> {
        let mut predicates = vec![Predicate::Always; registers.clone().count()];
        let Some(guards) = guards else {
            return Ok(predicates);
        };
        for pair in 0..guards.result_count() / 2 {
            let guard = self.guard(guards, pair, limits)?;
            for (predicate, register) in predicates.iter_mut().zip(registers.clone()) {
                *predicate = self.both(*predicate, guard.at(self.e, register));
            }
        }
        Ok(predicates)
    }

    /// Guard `pair` as `uniform + thread + constant of the register < 0`.
    fn guard(
        &self,
        guards: AffineMap<'c>,
        pair: usize,
        limits: &[Value<'c, 'a>],
    ) -> Result<Guard<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let (lhs, rhs) = (self.form(guards, 2 * pair)?, self.form(guards, 2 * pair + 1)?);
        let difference =
            |lhs: &[i64], rhs: &[i64]| lhs.iter().zip(rhs).map(|(l, r)| l - r).collect::<Vec<_>>();
        let dims = difference(&lhs.dims, &rhs.dims);
        let symbols = difference(&lhs.symbols, &rhs.symbols);
        let mut uniform = self.uniform_terms(&dims);
        uniform.extend(
            limits
                .iter()
                .zip(&symbols)
                .filter(|(_, coefficient)| **coefficient != 0)
                .map(|(limit, coefficient)| e.scale(*limit, *coefficient)),
        );
        let mut constants = vec![lhs.constant - rhs.constant; self.registers];
        let mut thread = Vec::new();
        let (mut low, mut high) = (0, 0);
        for (coordinates, &coefficient) in self.coordinates.iter().zip(&dims[self.indices.len()..]) {
            for (slot, offset) in constants.iter_mut().zip(&coordinates.registers) {
                *slot += offset * coefficient;
            }
            if coefficient != 0
                && let Some(part) = coordinates.thread
            {
                thread.push(e.scale(part, coefficient));
                let reach = coordinates.thread_max * coefficient;
                (low, high) = (low + reach.min(0), high + reach.max(0));
            }
        }
        let thread = e.sum(thread);
        Ok(match e.sum(uniform) {
            None => Guard {
                value: thread,
                range: Some((low, high)),
                constants,
            },
            Some(uniform) => {
                let wide = thread.map(|thread| e.b.value("arith.extsi", &[thread], e.int(64)));
                Guard {
                    value: e.sum([uniform].into_iter().chain(wide)),
                    range: None,
                    constants,
                }
            }
        })
    }

    fn both(&self, one: Predicate<'c, 'a>, other: Predicate<'c, 'a>) -> Predicate<'c, 'a> {
        match (one, other) {
            (Predicate::Never, _) | (_, Predicate::Never) => Predicate::Never,
            (Predicate::Always, predicate) | (predicate, Predicate::Always) => predicate,
            (Predicate::When(one), Predicate::When(other)) => Predicate::When(self.e.andi(one, other)),
        }
    }

    /// The value of an affine expression at each register, i64.
    pub fn values(&self, map: AffineMap<'c>) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        let e = self.e;
        let form = self.form(map, 0)?;
        let mut terms = self.uniform_terms(&form.dims);
        let mut constants = vec![form.constant; self.registers];
        for (coordinates, &coefficient) in self.coordinates.iter().zip(&form.dims[self.indices.len()..]) {
            for (slot, offset) in constants.iter_mut().zip(&coordinates.registers) {
                *slot += offset * coefficient;
            }
            terms.extend(
                coordinates
                    .thread
                    .filter(|_| coefficient != 0)
                    .map(|thread| e.scale(e.widen(thread), coefficient)),
            );
        }
        let sum = e.sum(terms);
        Ok(constants
            .into_iter()
            .map(|constant| match sum {
                None => e.i64(constant),
                Some(sum) if constant == 0 => sum,
                Some(sum) => e.addi(sum, e.i64(constant)),
            })
            .collect())
    }

    /// The indices' share of a sum, i64.
    fn uniform_terms(&self, dims: &[i64]) -> Vec<Value<'c, 'a>> {
        self.indices
            .iter()
            .zip(dims)
            .filter(|(_, coefficient)| **coefficient != 0)
            .map(|(index, coefficient)| self.e.scale(*index, *coefficient))
            .collect()
    }
}

/// `value + constant of the register < 0`.
struct Guard<'c, 'a> {
    /// i32 if the guard is over the tile's axes alone, otherwise i64; `None` for zero.
    value: Option<Value<'c, 'a>>,
    /// The least and greatest `value`, where it is over the tile's axes alone.
    range: Option<(i64, i64)>,
    constants: Vec<i64>,
}

impl<'c, 'a> Guard<'c, 'a> {
    fn at(&self, e: &Emit<'_, 'c, 'a>, register: usize) -> Predicate<'c, 'a> {
        let constant = self.constants[register];
        if let Some((low, high)) = self.range {
            if high + constant < 0 {
                return Predicate::Always;
            }
            if low + constant >= 0 {
                return Predicate::Never;
            }
        }
        match self.value {
            None if constant < 0 => Predicate::Always,
            None => Predicate::Never,
            Some(value) => {
                use melior::ir::ValueLike;
                let bound = e.b.integer(value.r#type(), -constant);
                Predicate::When(e.compare("slt", value, bound))
            }
        }
    }
}
