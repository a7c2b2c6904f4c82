//! Vectors that begin at any element: the two words of memory around one, each as long as it and aligned, shifted together.
//!
//! The words are those that hold its first and its last element, so that a vector which is aligned reads one of them twice.
//! The buffer's base is a multiple of a word, which its first element therefore begins; its last word may end beyond it, and what
//! reaches into that one is left to be read element by element.

use std::collections::HashMap;

use melior::ir::AffineMap;
use norma_dialects::gl::CacheAttr;

use crate::mlir::comparison::IntegerPredicate;
use crate::{
    gl::quotient_form::QuotientForm,
    mlir::{diagnostic::Diagnostic, values::key},
};

use super::{
    access::Access,
    emit::{Emit, Value},
    form::Scalars,
    global::Vector,
    guards::{Guard, Predicate},
    params::{Buffer, End, Stride},
};

/// Bytes of a register.
const REGISTER_BYTES: usize = 4;

/// The words around the vectors of a load.
pub(super) struct Covering<'c, 'a> {
    /// What divides addresses, in bytes.
    alignment: usize,
    /// Holds at elements in words that the buffer has all of.
    within: Guard<'c, 'a>,
    /// For each register how many elements of a word lie before it; i64.
    before: Vec<Value<'c, 'a>>,
}

impl<'c, 'a> Covering<'c, 'a> {
    /// Those of vectors of `count` elements, at addresses that `alignment` bytes divide.
    ///
    /// # Errors
    ///
    /// Internal if the buffer is not one that `gl.load` takes an alignment for.
    pub fn of(
        access: &Access<'_, 'c, 'a>,
        map: AffineMap<'c>,
        buffer: &Buffer<'c, 'a>,
        count: usize,
        alignment: i64,
    ) -> Result<Self, Diagnostic<'c>> {
        let e = access.e;
        let mut offset = QuotientForm::zero(map.dim_count(), 1);
        for (axis, stride) in buffer.strides(e)?.into_iter().enumerate() {
            let Stride::Static(stride) = stride else {
                return Err(e.internal("expected static strides where words are read"));
            };
            offset
                .add(&access.form(map, axis)?, stride)
                .ok_or_else(|| e.unsupported("expected offsets of 64 bits"))?;
        }
        Ok(Self {
            alignment: alignment as usize,
            before: before(access, offset.clone(), count)?,
            within: within(access, offset, buffer.end(e)?, count as i64)?,
        })
    }

    /// Whether both words around the vector of `count` registers from that at `first` on lie within the buffer.
    pub fn is_within(
        &self,
        e: &Emit<'_, 'c, 'a>,
        first: usize,
        count: usize,
    ) -> Result<Predicate<'c, 'a>, Diagnostic<'c>> {
        self.within.at(e, first + count - 1)
    }

    /// Reads the vector that begins with the register at `first`, at `pointer`, under a predicate; zeros where it does not hold.
    pub fn load(
        &self,
        e: &Emit<'_, 'c, 'a>,
        vector: &Vector<'c>,
        first: usize,
        pointer: Value<'c, 'a>,
        predicate: Predicate<'c, 'a>,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let element = vector.element;
        let before = self.before[first];
        let low = e.element_pointer(pointer, element, e.subi(e.i64(0), before));
        // None or all of a word further.
        let last = e.addi(before, e.i64(vector.count as i64 - 1));
        let further = e.andi(last, e.i64(-(vector.count as i64)));
        let high = e.element_pointer(low, element, further);
        let registers = vector.bytes / REGISTER_BYTES;
        let word = vector.as_registers(e, registers)?;
        let mut words = Vec::with_capacity(2 * registers);
        for pointer in [low, high] {
            let loaded = word.load(e, pointer, predicate, cache)?;
            words.extend(e.elements(loaded).map_err(|error| e.internal(error))?);
        }
        let bytes = e.b.value("arith.trunci", &[before], e.int(32));
        let bytes = e.muli(bytes, e.i32((vector.bytes / vector.count) as i64));
        let shifted = self.shift(e, words, registers, bytes)?;
        Ok(e.bitcast(e.pack(&shifted)?, vector.ty))
    }

    /// The `count` registers from byte `by` on of twice as many.
    fn shift(
        &self,
        e: &Emit<'_, 'c, 'a>,
        mut registers: Vec<Value<'c, 'a>>,
        count: usize,
        by: Value<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        let is_within_registers = self.alignment < REGISTER_BYTES;
        let mut step = count / 2;
        while step > 0 && self.alignment <= step * REGISTER_BYTES {
            let bit = e.andi(by, e.i32((step * REGISTER_BYTES) as i64));
            let is_further = e.compare(IntegerPredicate::NotEqual, bit, e.i32(0));
            let needed = count + step - 1 + usize::from(is_within_registers);
            registers = (0..needed)
                .map(|index| e.select(is_further, registers[index + step], registers[index]))
                .collect();
            step /= 2;
        }
        if is_within_registers {
            let bytes = e.andi(by, e.i32(REGISTER_BYTES as i64 - 1));
            let bits = e.widen(e.muli(bytes, e.i32(8)));
            let funnel = |index: usize| {
                let pair = e.pack(&[registers[index], registers[index + 1]])?;
                let shifted = e.shrui(e.bitcast(pair, e.int(64)), bits);
                Ok(e.b.value("arith.trunci", &[shifted], e.int(32)))
            };
            return (0..count).map(funnel).collect();
        }
        registers.truncate(count);
        Ok(registers)
    }
}

/// The guard of elements that lie before what the last whole word leaves of the buffer.
fn within<'c, 'a>(
    access: &Access<'_, 'c, 'a>,
    mut offset: QuotientForm,
    end: End<'c, 'a>,
    count: i64,
) -> Result<Guard<'c, 'a>, Diagnostic<'c>> {
    let e = access.e;
    let end = match end {
        End::Static(end) => {
            offset.constant -= end - end.rem_euclid(count);
            Vec::new()
        }
        End::Dynamic(end) => {
            offset.symbols[0] = -1;
            vec![e.subi(end, e.modulo(end, count))]
        }
    };
    let end = Scalars::new(&end, end.clone());
    Ok(Guard::of(
        e,
        access.thread.evaluate(&offset, &access.indices, &end)?,
    ))
}

/// For each register what is left of its offset by a word of `count` elements, as far as vectors begin with it.
fn before<'c, 'a>(
    access: &Access<'_, 'c, 'a>,
    mut offset: QuotientForm,
    count: usize,
) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
    let e = access.e;
    let word = count as i64;
    // Multiples of a word leave nothing.
    let indices = access.indices.divisors.iter().copied();
    let axes = access.runs.iter().map(|run| if *run >= count { word } else { 1 });
    for (coefficient, divisor) in offset.dims.iter_mut().zip(indices.chain(axes)) {
        *coefficient = match coefficient.wrapping_mul(divisor) % word {
            0 => 0,
            _ => coefficient.rem_euclid(word),
        };
    }
    offset
        .quotients
        .retain(|(coefficient, _)| coefficient % word != 0);
    let none = Scalars::new(&[], Vec::new());
    let values = access.thread.evaluate(&offset, &access.indices, &none)?;
    let common = values.common(e);
    let mut known = HashMap::new();
    let registers = values.jumps.iter().zip(&values.constants);
    Ok(registers
        .map(|(jump, constant)| {
            let constant = constant.rem_euclid(word);
            let place = (jump.map(|jump| key(jump.value)), constant);
            *known.entry(place).or_insert_with(|| {
                let terms = common.into_iter().chain(jump.map(|jump| jump.value));
                let sum = e.sum(terms.chain((constant != 0).then(|| e.i64(constant))));
                sum.map_or_else(|| e.i64(0), |sum| e.modulo(sum, word))
            })
        })
        .collect())
}
