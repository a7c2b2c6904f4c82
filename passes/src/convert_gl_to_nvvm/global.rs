//! `gl.load` and `gl.store`: one instruction per vector, predicated where a guard may fail.
//!
//! An access that nothing guards is an LLVM load or store, which LLVM may schedule and turn into `ld.global.nc`. A guarded
//! one is inline PTX with a predicate: a branch around each load would keep loads from being in flight together.
//! Cache hints are inline PTX too, since NVPTX has no other way to say them.

use melior::ir::{OperationRef, Type, ValueLike};
use norma_dialects::gl::{CacheAttr, EvictionPolicy, LoadOp, StoreOp};
use norma_layout::LinearLayout;

use crate::support::{
    conversion::{ConversionBuilder, Rejection},
    diagnostic::Diagnostic,
};

use super::{
    access::{Access, Predicate},
    emit::{Emit, Value, result as result_of},
    params::Buffer,
    threads, tile,
};

/// The widest access, in bytes.
const WIDEST: usize = 16;

/// Lowers `gl.load`.
pub(super) fn load<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let load = LoadOp::from_op(op).ok_or("expected gl.load")?;
    let tile = tile::Tile::of(&e, load.tile()?.r#type())?;
    let indices = load.indices().len();
    let limits = load.limits().len();
    let (buffer, rest) = operands.split_first().ok_or("expected a buffer")?;
    let access = Access::new(&e, &tile.layout, rest[..indices].to_vec())?;
    let strides = Buffer::of(&e, op, load.buffer()?)?.strides(&e)?;
    let addresses = access.addresses(load.access()?, *buffer, &strides, tile.element)?;
    let vector = Vector::of(&e, &tile.layout, load.vector(), tile.element)?;
    let predicates = access.predicates(
        load.guards(),
        &rest[indices..indices + limits],
        vector.first_registers(),
    )?;
    let other = rest.get(indices + limits).copied();

    let fill = match other {
        Some(other) => other,
        None => e.b.value("llvm.mlir.poison", &[], tile.element),
    };
    let mut result = e.splat(fill, tile.layout.num_registers())?;
    for (first, predicate) in vector.first_registers().zip(predicates) {
        let part = match (predicate, load.cache()) {
            (Predicate::Never, _) => continue,
            (Predicate::Always, None) => e.load(addresses.of(&e, first), vector.ty, vector.bytes as i64),
            (predicate, cache) => vector.load_ptx(&e, addresses.of(&e, first), predicate, cache, other)?,
        };
        result = e.insert(part, result, first);
    }
    b.replace(op, &[result]);
    Ok(())
}

/// Lowers `gl.store`.
pub(super) fn store<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let store = StoreOp::from_op(op).ok_or("expected gl.store")?;
    let tile = tile::Tile::of(&e, store.tile()?.r#type())?;
    let indices = store.indices().len();
    let [value, buffer, rest @ ..] = operands else {
        return Err("expected a tile and a buffer".into());
    };
    let access = Access::new(&e, &tile.layout, rest[..indices].to_vec())?;
    let strides = Buffer::of(&e, op, store.buffer()?)?.strides(&e)?;
    let addresses = access.addresses(store.access()?, *buffer, &strides, tile.element)?;
    let vector = Vector::of(&e, &tile.layout, store.vector(), tile.element)?;
    let predicates = access.predicates(store.guards(), &rest[indices..], vector.first_registers())?;
    let holder = threads::first_holder(&e, &tile.layout);

    for (first, predicate) in vector.first_registers().zip(predicates) {
        let predicate = match (predicate, holder) {
            (Predicate::Never, _) => continue,
            (predicate, None) => predicate,
            (Predicate::Always, Some(holder)) => Predicate::When(holder),
            (Predicate::When(guard), Some(holder)) => Predicate::When(e.andi(guard, holder)),
        };
        let part = e.slice(*value, first, vector.count)?;
        match (predicate, store.cache()) {
            (Predicate::Always, None) => e.store(part, addresses.of(&e, first), vector.bytes as i64),
            (predicate, cache) => vector.store_ptx(&e, part, addresses.of(&e, first), predicate, cache)?,
        }
    }
    b.erase(op);
    Ok(())
}

/// What one instruction moves.
struct Vector<'c> {
    count: usize,
    registers: usize,
    bytes: usize,
    ty: Type<'c>,
}

impl<'c> Vector<'c> {
    fn of(
        e: &Emit<'_, 'c, '_>,
        layout: &LinearLayout,
        vector: Option<i64>,
        element: Type<'c>,
    ) -> Result<Self, Diagnostic<'c>> {
        let count = vector.unwrap_or(1) as usize;
        let registers = layout.num_registers();
        let bytes = count * tile::element_bytes(e, element)?;
        if count > registers || !bytes.is_power_of_two() || bytes > WIDEST {
            return Err(e.unsupported(format!(
                "expected a vector of at most {WIDEST} bytes and {registers} elements, got {count} x {element}"
            )));
        }
        Ok(Self {
            count,
            registers,
            bytes,
            ty: e.vector_of(count, element)?,
        })
    }

    fn first_registers(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        (0..self.registers).step_by(self.count)
    }

    /// How PTX moves it: (number of words, bits of each, suffix, constraint).
    fn words(&self) -> (usize, u32, &'static str, &'static str) {
        match self.bytes {
            1 => (1, 8, "b8", "h"),
            2 => (1, 16, "b16", "h"),
            4 => (1, 32, "b32", "r"),
            8 => (2, 32, "v2.b32", "r"),
            _ => (4, 32, "v4.b32", "r"),
        }
    }

    fn load_ptx<'a>(
        &self,
        e: &Emit<'_, 'c, 'a>,
        pointer: Value<'c, 'a>,
        predicate: Predicate<'c, 'a>,
        cache: Option<CacheAttr<'c>>,
        other: Option<Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let (words, bits, suffix, constraint) = self.words();
        // PTX has no 8-bit registers; a byte travels in the low half of a 16-bit one.
        let word = e.int(bits.max(16));
        let hints = Hints::of(cache);
        let list = list(0, words);
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
        let loaded = e.bitcast(result, self.ty);
        match (predicate, other) {
            (Predicate::When(predicate), Some(other)) if !tile::is_zero(other) => {
                let fill = e.splat(other, self.count)?;
                Ok(e.b.value("llvm.select", &[predicate, loaded, fill], self.ty))
            }
            _ => Ok(loaded),
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
        let (words, bits, suffix, constraint) = self.words();
        let hints = Hints::of(cache);
        let mut operands = if words == 1 {
            let word = e.bitcast(part, e.int(bits));
            vec![if bits == 8 {
                e.b.value("arith.extui", &[word], e.int(16))
            } else {
                word
            }]
        } else {
            let packed = e.bitcast(part, e.vector_of(words, e.int(32))?);
            e.elements(packed).map_err(|error| e.internal(error))?
        };
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
            list(0, words),
            hints.policy_operand()
        );
        e.inline_ptx(&hints.wrap(&text), &constraints, &operands, None, true);
        Ok(())
    }
}

/// `$0` or `{$0, $1, ...}`.
fn list(first: usize, count: usize) -> String {
    let names = (first..first + count)
        .map(|index| format!("${index}"))
        .collect::<Vec<_>>()
        .join(", ");
    if count == 1 { names } else { format!("{{{names}}}") }
}

/// Cache hints as PTX spells them.
struct Hints {
    modifiers: String,
    policy: Option<&'static str>,
}

impl Hints {
    fn of(cache: Option<CacheAttr<'_>>) -> Self {
        let keyword = |policy| match policy {
            EvictionPolicy::Normal => None,
            EvictionPolicy::First => Some("evict_first"),
            EvictionPolicy::Last => Some("evict_last"),
            EvictionPolicy::NoAllocate => Some("no_allocate"),
        };
        let (l1, l2) = cache.map_or((None, None), |cache| (keyword(cache.l1()), keyword(cache.l2())));
        // L2 knows no no_allocate; evict_first is the nearest.
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
        Self { modifiers, policy }
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
