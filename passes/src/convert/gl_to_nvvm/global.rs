//! `gl.load` and `gl.store`: one instruction per vector, predicated where a guard may fail.
//!
//! An access that nothing guards is an LLVM load or store, which LLVM may schedule and turn into `ld.global.nc`. A guarded
//! one is inline PTX with a predicate: a branch around each load would keep loads from being in flight together.
//! Cache hints are inline PTX too, since NVPTX has no other way to say them.
//!
//! A vector of which a guard may admit only a part is moved as a whole under the predicate that all of it is admitted.
//! Otherwise it is moved element by element, each under its own predicate, behind a branch that few warps take. All whole
//! vectors of a tile are read before the first such branch. The single elements have no cache hints, since other elements of
//! their sectors are still to be accessed.
//!
//! Loads that have an `alignment` read the words around their vectors ([`super::covering`]) where these lie within the buffer,
//! and otherwise element by element behind that branch. Elements of such a vector that a guard masks off are replaced in
//! registers, so that no warp waits in a branch for data that is still in flight.

use melior::{
    Error,
    ir::{OperationRef, Type, ValueLike},
};
use norma_dialects::gl::{CacheAttr, EvictionPolicy, LoadOp, StoreOp};
use norma_layout::{HardwareDim, LinearLayout};
use norma_targets::ACCESS_BYTES;

use crate::mlir::{builder::Builder, conversion::Rejection, diagnostic::Diagnostic};

use super::{
    access::{Access, Addresses},
    buffer::Buffer,
    covering::Covering,
    emit::{Emit, Value, result as result_of},
    form::Scalars,
    guards::{Guards, Predicate, Reach},
    threads, tile,
    words::Words,
};

/// Lowers `gl.load`.
pub(super) fn load<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let load = LoadOp::from_op(op).ok_or("expected gl.load")?;
    let tile = tile::Tile::of(&e, load.tile()?.r#type())?;
    let element = tile::memory_element(&e, tile.element);
    let indices = load.indices().len();
    let limits = load.limits().len();
    let (buffer, rest) = operands.split_first().ok_or("expected a buffer")?;
    let vector = Vector::of(&e, &tile.layout, load.vector(), element)?;
    let indices_of = Scalars::new(&rest[..indices], load.indices());
    let limits_of = Scalars::new(&rest[indices..indices + limits], load.limits());
    let access = Access::new(&e, &tile.layout, (0..vector.registers).collect(), indices_of)?;
    let view = Buffer::of(&e, op, load.buffer()?)?;
    let addresses = access.addresses(load.access()?, *buffer, &view.strides(&e)?, element, vector.count)?;
    let guards = access.guards(load.guards(), &limits_of)?;
    let covering = match load.alignment() {
        Some(alignment) => Some(Covering::of(&access, load.access()?, &view, &vector, alignment)?),
        None => None,
    };
    let other = match rest.get(indices + limits) {
        Some(other) => Some(tile::to_memory(&e, *other)?),
        None => None,
    };
    let loads = Loads {
        e: &e,
        addresses,
        guards,
        covering,
        single: Vector::of(&e, &tile.layout, None, element)?,
        vector,
        other,
        cache: load.cache(),
    };
    b.replace(op, &[tile::from_memory(&e, loads.registers()?, tile.element)?]);
    Ok(())
}

/// The loads by which a thread fills its registers of a tile.
struct Loads<'b, 'c, 'a> {
    e: &'b Emit<'b, 'c, 'a>,
    addresses: Addresses<'c, 'a>,
    guards: Guards<'b, 'c, 'a>,
    /// The words around the vectors, of a load that reads these.
    covering: Option<Covering<'c, 'a>>,
    /// The elements that one instruction reads.
    vector: Vector<'c>,
    /// One element.
    single: Vector<'c>,
    /// The value of elements that the guards mask off; without it they are undefined.
    other: Option<Value<'c, 'a>>,
    cache: Option<CacheAttr<'c>>,
}

/// What one instruction, or the two that read the words around a vector, have read of it.
struct Read<'c, 'a> {
    /// The vector; `None` if nothing of it can be read as a whole.
    value: Option<Value<'c, 'a>>,
    /// Where its elements are still to be read one by one.
    is_cut_off: Option<Predicate<'c, 'a>>,
    /// Whether it holds elements that the guards mask off.
    is_unmasked: bool,
}

impl<'c, 'a> Loads<'_, 'c, 'a> {
    /// Reads all elements, as a vector of the thread's registers.
    fn registers(&self) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let count = self.vector.count;
        let fill = match self.other {
            Some(other) => other,
            None => e.b.value("llvm.mlir.poison", &[], self.vector.element),
        };
        let mut result = e.splat(fill, self.vector.registers)?;
        let (mut cut_off, mut unmasked) = (Vec::new(), Vec::new());
        for first in self.vector.first_registers() {
            let read = self.whole(first)?;
            cut_off.extend(read.is_cut_off.map(|condition| (first, condition)));
            unmasked.extend(read.is_unmasked.then_some(first));
            if let Some(value) = read.value {
                result = e.insert(value, result, first);
            }
        }
        for (first, condition) in cut_off {
            let whole = e.slice(result, first, count)?;
            let part = e.instead(condition.value(e), Some(whole), || {
                Ok(Some(self.one_by_one(first, fill)?))
            })?;
            let part = part.ok_or_else(|| e.internal("expected the elements"))?;
            result = e.insert(part, result, first);
        }
        // After all branches: an op that waits for a load between them would keep the loads in the next branch from being issued.
        if let Some(other) = self.other {
            for first in unmasked {
                let part = e.slice(result, first, count)?;
                result = e.insert(self.guards.masked(part, first, other)?, result, first);
            }
        }
        Ok(result)
    }

    /// Reads the vector whose first register is `first`, where all of it can be read at once.
    fn whole(&self, first: usize) -> Result<Read<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let reach = self.guards.within(first, self.vector.count)?;
        let pointer = self.addresses.of(e, first);
        match &self.covering {
            Some(covering) if !covering.is_aligned(&self.vector) || !matches!(reach, Reach::Whole(_)) => {
                self.by_words(covering, first, pointer, reach)
            }
            _ => self.by_vector(pointer, reach),
        }
    }

    /// Reads a vector at an address that is a multiple of its size, where the guards admit all of it.
    fn by_vector(
        &self,
        pointer: Value<'c, 'a>,
        reach: Reach<'c, 'a>,
    ) -> Result<Read<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let predicate = reach.all();
        let is_cut_off = match reach {
            Reach::Part { any, .. } => Some(any.and_not(e, predicate)),
            Reach::Whole(_) => None,
        };
        let value = match predicate {
            Predicate::Never => None,
            _ => {
                let value = self.vector.load(e, pointer, predicate, self.cache)?;
                Some(self.vector.fill(e, value, predicate, self.other)?)
            }
        };
        Ok(Read {
            value,
            is_cut_off,
            is_unmasked: false,
        })
    }

    /// Reads a vector by the words around it, where they lie within the buffer.
    fn by_words(
        &self,
        covering: &Covering<'c, 'a>,
        first: usize,
        pointer: Value<'c, 'a>,
        reach: Reach<'c, 'a>,
    ) -> Result<Read<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let readable = covering.readable(e, first, self.vector.count, reach.any())?;
        let is_cut_off = match readable.is_cut_off {
            Predicate::Never => None,
            condition => Some(condition),
        };
        if readable.is_nothing() {
            return Ok(Read {
                value: None,
                is_cut_off,
                is_unmasked: false,
            });
        }
        let value = covering.load(e, &self.vector, first, pointer, &readable, self.cache)?;
        let (value, is_unmasked) = match reach {
            Reach::Whole(predicate) => (self.vector.fill(e, value, predicate, self.other)?, false),
            Reach::Part { .. } => (value, true),
        };
        Ok(Read {
            value: Some(value),
            is_cut_off,
            is_unmasked,
        })
    }

    /// Reads the elements of the vector whose first register is `first`, each where the guards admit it; `fill` elsewhere.
    fn one_by_one(&self, first: usize, fill: Value<'c, 'a>) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let mut part = e.splat(fill, self.vector.count)?;
        for register in first..first + self.vector.count {
            let predicate = self.guards.at(register)?;
            if let Predicate::Never = predicate {
                continue;
            }
            let pointer = self.addresses.of(e, register);
            let loaded = self.single.load(e, pointer, predicate, None)?;
            let loaded = self.single.fill(e, loaded, predicate, self.other)?;
            part = e.insert(loaded, part, register - first);
        }
        Ok(part)
    }
}

/// Lowers `gl.store`.
pub(super) fn store<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let store = StoreOp::from_op(op).ok_or("expected gl.store")?;
    let tile = tile::Tile::of(&e, store.tile()?.r#type())?;
    let element = tile::memory_element(&e, tile.element);
    let indices = store.indices().len();
    let [value, buffer, rest @ ..] = operands else {
        return Err("expected a tile and a buffer".into());
    };
    let vector = Vector::of(&e, &tile.layout, store.vector(), element)?;
    let copies = tile.layout.copies(HardwareDim::Register);
    let registers = vector.first_registers().filter(|register| register & copies == 0);
    let indices_of = Scalars::new(&rest[..indices], store.indices());
    let limits_of = Scalars::new(&rest[indices..], store.limits());
    let access = Access::new(&e, &tile.layout, (0..vector.registers).collect(), indices_of)?;
    let strides = Buffer::of(&e, op, store.buffer()?)?.strides(&e)?;
    let addresses = access.addresses(store.access()?, *buffer, &strides, element, vector.count)?;
    let guards = access.guards(store.guards(), &limits_of)?;
    let holds = match threads::first_holder(&e, &tile.layout) {
        Some(holder) => Predicate::When(holder),
        None => Predicate::Always,
    };
    let value = tile::to_memory(&e, *value)?;

    let put = |vector: &Vector<'c>, first, predicate, cache| {
        let part = e.slice(value, first, vector.count)?;
        vector.store(&e, part, addresses.of(&e, first), predicate, cache)
    };
    let single = Vector::of(&e, &tile.layout, None, element)?;
    for first in registers {
        match guards.within(first, vector.count)? {
            Reach::Whole(predicate) => put(&vector, first, predicate.and(&e, holds), store.cache())?,
            Reach::Part { all, any } => {
                put(&vector, first, all.and(&e, holds), store.cache())?;
                let condition = any.and_not(&e, all).and(&e, holds);
                e.instead(condition.value(&e), None, || {
                    for register in first..first + vector.count {
                        put(&single, register, guards.at(register)?, None)?;
                    }
                    Ok(None)
                })?;
            }
        }
    }
    b.erase(op);
    Ok(())
}

/// The elements that one instruction moves.
pub(super) struct Vector<'c> {
    /// The number of elements.
    pub count: usize,
    registers: usize,
    /// The number of bytes.
    pub bytes: usize,
    words: Words,
    /// The type of an element in memory.
    pub element: Type<'c>,
    /// The type of the vector.
    pub ty: Type<'c>,
}

impl<'c> Vector<'c> {
    /// A vector of `vector` elements, or of one without it, of a thread that has the registers of `layout`.
    pub fn of(
        e: &Emit<'_, 'c, '_>,
        layout: &LinearLayout,
        vector: Option<i64>,
        element: Type<'c>,
    ) -> Result<Self, Diagnostic<'c>> {
        let registers = layout.num_registers();
        let count = vector.unwrap_or(1) as usize;
        let bytes = count * tile::element_bytes(e, element)?;
        let words = Words::of(bytes).filter(|_| count <= registers).ok_or_else(|| {
            e.unsupported(format!(
                "expected a vector of at most {ACCESS_BYTES} bytes and {registers} elements, got {count} x {element}"
            ))
        })?;
        Ok(Self {
            count,
            registers,
            bytes,
            words,
            element,
            ty: e.vector_of(count, element)?,
        })
    }

    /// The same bytes as `count` registers.
    pub fn as_registers(&self, e: &Emit<'_, 'c, '_>, count: usize) -> Result<Self, Diagnostic<'c>> {
        let element = e.int(8 * (self.bytes / count) as u32);
        Ok(Self {
            count,
            registers: count,
            element,
            ty: e.vector_of(count, element)?,
            ..*self
        })
    }

    pub fn first_registers(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        (0..self.registers).step_by(self.count)
    }

    /// `loaded` where the predicate holds, else `other`. Without `other` it is zero there, as [`Self::load`] leaves it.
    fn fill<'a>(
        &self,
        e: &Emit<'_, 'c, 'a>,
        loaded: Value<'c, 'a>,
        predicate: Predicate<'c, 'a>,
        other: Option<Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        match (predicate, other) {
            (Predicate::When(predicate), Some(other)) if !tile::is_zero(other) => {
                Ok(e.select(predicate, loaded, e.splat(other, self.count)?))
            }
            _ => Ok(loaded),
        }
    }

    /// Reads the vector where a predicate holds, from an address that is a multiple of its size; zeros elsewhere.
    pub fn load<'a>(
        &self,
        e: &Emit<'_, 'c, 'a>,
        pointer: Value<'c, 'a>,
        predicate: Predicate<'c, 'a>,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        if let (Predicate::Always, None) = (predicate, cache) {
            return Ok(e.load(pointer, self.ty, self.bytes as i64));
        }
        let Words {
            count: words,
            suffix,
            constraint,
            ..
        } = self.words;
        let word = e.int(self.words.register_bits());
        let hints = Hints::of(cache).map_err(|error| e.internal(error.to_string()))?;
        let list = self.words.list(0);
        let address = words;
        let mut text = String::new();
        let mut operands = vec![pointer];
        let mut constraints = format!("{}l", format!("={constraint},").repeat(words));
        if let Predicate::When(predicate) = predicate {
            let zero = if constraint == "r" { "mov.b32" } else { "mov.b16" };
            for word in 0..words {
                text += &format!("{zero} ${word}, 0; ");
            }
            text += &format!("@${} ", address + 1);
            operands.push(predicate);
            constraints += ",b";
        }
        text += &format!(
            "ld.global{}.{suffix} {list}, [${address}]{};",
            hints.modifiers,
            hints.policy_operand()
        );
        let text = hints.wrap(&text);
        let result = if words == 1 {
            let op = e.inline_ptx(&text, &constraints, &operands, Some(word), true);
            result_of(op, 0).map_err(|error| e.internal(error))?
        } else {
            let structure = melior::dialect::llvm::r#type::r#struct(e.b.context(), &vec![word; words], false);
            let op = e.inline_ptx(&text, &constraints, &operands, Some(structure), true);
            let structure = result_of(op, 0).map_err(|error| e.internal(error))?;
            let fields = (0..words)
                .map(|index| e.field(structure, index, word))
                .collect::<Vec<_>>();
            e.pack(&fields)?
        };
        let result = if self.bytes == 1 {
            e.b.value("arith.trunci", &[result], e.int(8))
        } else {
            result
        };
        Ok(e.bitcast(result, self.ty))
    }

    /// Writes the vector where a predicate holds, to an address that is a multiple of its size.
    pub fn store<'a>(
        &self,
        e: &Emit<'_, 'c, 'a>,
        part: Value<'c, 'a>,
        pointer: Value<'c, 'a>,
        predicate: Predicate<'c, 'a>,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<(), Diagnostic<'c>> {
        match (predicate, cache) {
            (Predicate::Never, _) => Ok(()),
            (Predicate::Always, None) => {
                e.store(part, pointer, self.bytes as i64);
                Ok(())
            }
            (predicate, cache) => self.store_ptx(e, part, pointer, predicate, cache),
        }
    }

    fn store_ptx<'a>(
        &self,
        e: &Emit<'_, 'c, 'a>,
        part: Value<'c, 'a>,
        pointer: Value<'c, 'a>,
        predicate: Predicate<'c, 'a>,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<(), Diagnostic<'c>> {
        let Words {
            count: words,
            suffix,
            constraint,
            ..
        } = self.words;
        let hints = Hints::of(cache).map_err(|error| e.internal(error.to_string()))?;
        let mut operands = self.words.split(e, part)?;
        let mut constraints = format!("{}l", format!("{constraint},").repeat(words));
        operands.push(pointer);
        let mut text = String::new();
        if let Predicate::When(predicate) = predicate {
            text = format!("@${} ", words + 1);
            operands.push(predicate);
            constraints += ",b";
        }
        text += &format!(
            "st.global{}.{suffix} [${words}], {}{};",
            hints.modifiers,
            self.words.list(0),
            hints.policy_operand()
        );
        e.inline_ptx(&hints.wrap(&text), &constraints, &operands, None, true);
        Ok(())
    }
}

/// Cache hints as PTX spells them.
struct Hints {
    modifiers: String,
    policy: Option<&'static str>,
}

impl Hints {
    fn of(cache: Option<CacheAttr<'_>>) -> Result<Self, Error> {
        let keyword = |policy| match policy {
            EvictionPolicy::Normal => None,
            EvictionPolicy::First => Some("evict_first"),
            EvictionPolicy::Last => Some("evict_last"),
            EvictionPolicy::NoAllocate => Some("no_allocate"),
        };
        let (l1, l2) = match cache {
            Some(cache) => (keyword(cache.l1()?), keyword(cache.l2()?)),
            None => (None, None),
        };
        // L2 has no no_allocate; evict_first is the nearest.
        let policy = l2.map(|policy| {
            if policy == "no_allocate" {
                "evict_first"
            } else {
                policy
            }
        });
        let mut modifiers = l1.map_or_else(String::new, |l1| format!(".L1::{l1}"));
        if policy.is_some() {
            modifiers += ".L2::cache_hint";
        }
        Ok(Self { modifiers, policy })
    }

    fn policy_operand(&self) -> &'static str {
        if self.policy.is_some() { ", policy" } else { "" }
    }

    /// `text` in a scope of its own, with the cache policy that it names.
    fn wrap(&self, text: &str) -> String {
        match self.policy {
            None => text.to_owned(),
            Some(policy) => {
                format!(
                    "{{ .reg .b64 policy; createpolicy.fractional.L2::{policy}.b64 policy, 1.0; {text} }}"
                )
            }
        }
    }
}
