//! Reads vectors as the words of memory around them, each aligned and as long as a vector: one word if vectors are known to be
//! aligned, otherwise two words that are shifted together (a funnel shift).
//!
//! The two words are those that hold the vector's first and its last element, so that a vector which happens to be aligned
//! reads the same word twice. A word is read as a whole although a guard masks off some of its elements: it holds one that the
//! guard admits, and the rest is not used. The buffer's base is a multiple of a word, so that a word begins at the buffer's
//! first element, and a word lies before the buffer only as a whole. The buffer's last word may end beyond it; vectors that
//! reach into that word are read element by element.

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
    buffer::{Buffer, End, Stride},
    emit::{Emit, Value},
    form::{Scalars, Values},
    global::Vector,
    guards::{Guard, Predicate},
};

const REGISTER_BYTES: usize = norma_targets::REGISTER_BYTES as usize;

/// Which words around a vector are read.
pub(super) struct Readable<'c, 'a> {
    /// Whether the word of the first element is read.
    low: Predicate<'c, 'a>,
    /// Whether the word of the last element is read.
    high: Predicate<'c, 'a>,
    /// Whether the elements are to be read one by one instead.
    pub is_cut_off: Predicate<'c, 'a>,
}

impl<'c, 'a> Readable<'c, 'a> {
    /// Whether no word can be read.
    pub fn is_nothing(&self) -> bool {
        matches!((self.low, self.high), (Predicate::Never, Predicate::Never))
    }
}

/// Which words end within a buffer.
enum Ends<'c, 'a> {
    /// One predicate for all words that the CTA reads. It fails if any of them ends beyond the buffer, which happens only in
    /// CTAs that read the buffer's last words.
    Alike(Predicate<'c, 'a>),
    /// The words of the elements at which the guard holds.
    Each(Guard<'c, 'a>),
}

/// The words around the vectors of a load.
pub(super) struct Covering<'c, 'a> {
    /// A divisor of the vectors' addresses, in bytes.
    alignment: usize,
    /// Holds at elements that do not lie before the buffer.
    start: Guard<'c, 'a>,
    /// Holds at elements in words that do not end beyond the buffer.
    end: Ends<'c, 'a>,
    /// For each register, the number of elements of its word that lie before it, i64.
    before: Vec<Value<'c, 'a>>,
}

impl<'c, 'a> Covering<'c, 'a> {
    /// The words around vectors at addresses that are multiples of `alignment` bytes.
    ///
    /// # Errors
    ///
    /// Internal if the buffer is not one that `gl.load` takes an alignment for.
    pub fn of(
        access: &Access<'_, 'c, 'a>,
        map: AffineMap<'c>,
        buffer: &Buffer<'c, 'a>,
        vector: &Vector<'c>,
        alignment: i64,
    ) -> Result<Self, Diagnostic<'c>> {
        let e = access.e;
        let count = vector.count;
        let is_aligned = alignment == vector.bytes as i64;
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
            start: start(access, &offset)?,
            end: ends(access, offset, buffer.end(e)?, count as i64, is_aligned)?,
        })
    }

    /// Whether the vectors are words themselves.
    pub fn is_aligned(&self, vector: &Vector<'c>) -> bool {
        self.alignment == vector.bytes
    }

    /// Which words can be read around the vector of `count` registers from `first` on; `any` says whether any of its elements
    /// is needed.
    pub fn readable(
        &self,
        e: &Emit<'_, 'c, 'a>,
        first: usize,
        count: usize,
        any: Predicate<'c, 'a>,
    ) -> Result<Readable<'c, 'a>, Diagnostic<'c>> {
        let last = first + count - 1;
        let ends_within = match &self.end {
            Ends::Alike(predicate) => *predicate,
            Ends::Each(guard) => guard.at(e, last)?,
        };
        let needed = any.and(e, ends_within);
        Ok(Readable {
            low: needed.and(e, self.start.at(e, first)?),
            high: needed.and(e, self.start.at(e, last)?),
            is_cut_off: any.and_not(e, ends_within),
        })
    }

    /// Reads the vector that begins with the register at `first`, at `pointer`; zeros for words that are not readable.
    pub fn load(
        &self,
        e: &Emit<'_, 'c, 'a>,
        vector: &Vector<'c>,
        first: usize,
        pointer: Value<'c, 'a>,
        readable: &Readable<'c, 'a>,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        if self.is_aligned(vector) {
            return vector.load(e, pointer, readable.low, cache);
        }
        let element = vector.element;
        let before = self.before[first];
        let low = e.element_pointer(pointer, element, e.subi(e.i64(0), before));
        // The high word is the low one itself or the next one.
        let last = e.addi(before, e.i64(vector.count as i64 - 1));
        let further = e.andi(last, e.i64(-(vector.count as i64)));
        let high = e.element_pointer(low, element, further);
        let registers = vector.bytes / REGISTER_BYTES;
        let word = vector.as_registers(e, registers)?;
        let mut words = Vec::with_capacity(2 * registers);
        for (pointer, predicate) in [(low, readable.low), (high, readable.high)] {
            let loaded = word.load(e, pointer, predicate, cache)?;
            words.extend(e.elements(loaded).map_err(|error| e.internal(error))?);
        }
        let bytes = e.b.value("arith.trunci", &[before], e.int(32));
        let bytes = e.muli(bytes, e.i32((vector.bytes / vector.count) as i64));
        let shifted = self.shift(e, words, registers, bytes)?;
        Ok(e.bitcast(e.pack(&shifted)?, vector.ty))
    }

    /// Of twice as many registers, the `count` registers that begin at byte `by`.
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

/// The guard that holds at elements whose offset is at least 0.
fn start<'c, 'a>(
    access: &Access<'_, 'c, 'a>,
    offset: &QuotientForm,
) -> Result<Guard<'c, 'a>, Diagnostic<'c>> {
    let e = access.e;
    let before_zero = QuotientForm::zero(offset.dims.len(), offset.symbols.len());
    let mut distance = QuotientForm::difference(&before_zero, offset)
        .ok_or_else(|| e.unsupported("expected offsets of 64 bits"))?;
    distance.constant -= 1;
    let none = Scalars::new(&[], Vec::new());
    Ok(Guard::of(
        e,
        access.thread.evaluate(&distance, &access.indices, &none)?,
    ))
}

/// Which elements lie before the end of the buffer's last whole word of `count` elements. Where vectors are words themselves,
/// one comparison of scalars serves all of them, so that their loads need not wait for comparisons of their own. Where two
/// words surround each vector, each is compared on its own: the last words of every row may end beyond a weight.
fn ends<'c, 'a>(
    access: &Access<'_, 'c, 'a>,
    mut offset: QuotientForm,
    end: End<'c, 'a>,
    count: i64,
    is_aligned: bool,
) -> Result<Ends<'c, 'a>, Diagnostic<'c>> {
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
    let values = access.thread.evaluate(&offset, &access.indices, &end)?;
    if is_aligned
        && let Some((_, last)) = values.range_of_others()
        && let Ok(last) = i64::try_from(last)
    {
        let of_last = Values {
            uniform: values.uniform,
            range_of_uniform: values.range_of_uniform,
            places: Vec::new(),
            jumps: vec![None],
            constants: vec![last],
            divisor: 1,
        };
        let predicate = Guard::of(e, of_last).at(e, 0)?;
        // If nothing but constants decides, it is known for each vector on its own whether it reaches the end.
        if !matches!(predicate, Predicate::Never) {
            return Ok(Ends::Alike(predicate));
        }
    }
    Ok(Ends::Each(Guard::of(e, values)))
}

/// For each register, its offset modulo a word of `count` elements; valid for the registers with which vectors begin.
fn before<'c, 'a>(
    access: &Access<'_, 'c, 'a>,
    mut offset: QuotientForm,
    count: usize,
) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
    let e = access.e;
    let word = count as i64;
    // Terms that are multiples of a word contribute nothing.
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
