//! Dialect conversion: type rules, legality and patterns as Rust closures.
//!
//! ```text
//! let mut conversion = Conversion::new(cx);
//! conversion.type_rule(|ty| tile_to_vector(ty));              // None: not this rule's business
//! conversion.illegal_dialect("gl");
//! conversion.pattern("gl.load", |op, operands, b| { ...; b.replace(op, &[value]); Ok(()) });
//! conversion.apply(op)
//! ```
//!
//! Types convert 1:1. Where a converted and an unconverted value meet, MLIR inserts `builtin.unrealized_conversion_cast`. A pattern may
//! fail at any point: its changes are undone.
//!
//! A pattern that does not match returns the reason, which is printed if the conversion fails on that op. A pattern that finds an error
//! ends the conversion. A panic in any closure does the same, as an internal error.

mod ffi;

use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    fmt, ptr,
    rc::Rc,
};

use melior::{
    Context, StringRef,
    ir::{Location, OperationRef, Type, TypeLike, Value, operation::OperationLike},
};
use mlir_sys::{
    MlirOperation, MlirRewriterBase, MlirStringRef, MlirType, MlirValue, mlirLocationUnknownGet,
    mlirTypeGetContext,
};

use ffi::*;

use super::{
    builder::Builder,
    diagnostic::{Diagnostic, Severity, emit},
    guard,
    pass::{Pass, PassContext, PassError, PassResult},
};

type TypeRule<'c, 'p> = dyn Fn(Type<'c>) -> Option<Type<'c>> + 'p;
type Legality<'c, 'p> = dyn for<'a> Fn(OperationRef<'c, 'a>) -> bool + 'p;
type Pattern<'c, 'p> = dyn for<'a> Fn(OperationRef<'c, 'a>, &[Value<'c, 'a>], &Builder<'c, 'a>) -> Result<(), Rejection<'c>>
    + 'p;

/// Why a pattern did not rewrite an op.
#[derive(Debug)]
pub enum Rejection<'c> {
    /// The pattern does not apply to this op; another one may. Holds the reason.
    NoMatch(String),
    /// The op cannot be converted at all.
    Failed(PassError<'c>),
}

impl From<&str> for Rejection<'_> {
    fn from(reason: &str) -> Self {
        Self::NoMatch(reason.to_owned())
    }
}

impl From<String> for Rejection<'_> {
    fn from(reason: String) -> Self {
        Self::NoMatch(reason)
    }
}

impl<'c> From<Diagnostic<'c>> for Rejection<'c> {
    fn from(diagnostic: Diagnostic<'c>) -> Self {
        Self::Failed(diagnostic.into())
    }
}

impl<'c> From<PassError<'c>> for Rejection<'c> {
    fn from(error: PassError<'c>) -> Self {
        Self::Failed(error)
    }
}

impl From<melior::Error> for Rejection<'_> {
    fn from(error: melior::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// A dialect conversion under construction. `'p` is the lifetime of what its closures may borrow.
pub struct Conversion<'c, 'p> {
    raw: *mut c_void,
    state: Rc<State<'c>>,
    // MLIR holds pointers to the callbacks, so each is boxed and does not move when its list grows.
    type_rules: Vec<Boxed<'c, TypeRule<'c, 'p>>>,
    legalities: Vec<Boxed<'c, Legality<'c, 'p>>>,
    patterns: Vec<Boxed<'c, Pattern<'c, 'p>>>,
}

type Boxed<'c, F> = Box<Callback<'c, F>>;

struct Callback<'c, F: ?Sized> {
    closure: Box<F>,
    state: Rc<State<'c>>,
}

/// State that closures leave behind for [`Conversion::apply`].
struct State<'c> {
    pass: &'static str,
    /// An error has been emitted, so that every further callback declines.
    failed: Cell<bool>,
    /// The location and reason of the last mismatch.
    mismatch: RefCell<Option<(Location<'c>, String)>>,
}

impl<'c> State<'c> {
    fn fail(&self, location: Location<'c>, error: PassError<'c>) {
        if !self.failed.replace(true) {
            error.emit(location, self.pass);
        }
    }
}

impl<'c, 'p> Conversion<'c, 'p> {
    /// Starts a conversion in which nothing is illegal and every type is kept.
    pub fn new<P: Pass>(cx: &PassContext<'c, P>) -> Self {
        Self::in_pass(cx.context(), P::ARGUMENT)
    }

    fn in_pass(context: &'c Context, pass: &'static str) -> Self {
        let state = State {
            pass,
            failed: Cell::new(false),
            mismatch: RefCell::new(None),
        };
        Self {
            // SAFETY: the context is alive for 'c, and `drop` destroys the result.
            raw: unsafe { normaConversionCreate(context.to_raw()) },
            state: Rc::new(state),
            type_rules: Vec::new(),
            legalities: Vec::new(),
            patterns: Vec::new(),
        }
    }

    /// Adds a type rule. It returns the converted type, the same type to say that it is legal, or `None` if the rule does not apply to the
    /// type. Later rules are asked first.
    pub fn type_rule(&mut self, rule: impl Fn(Type<'c>) -> Option<Type<'c>> + 'p) -> &mut Self {
        unsafe extern "C" fn call(ty: MlirType, callback: *mut c_void) -> MlirType {
            // SAFETY: `callback` was made from this type below and lives as long as the conversion.
            let callback = unsafe { &*callback.cast::<Callback<'_, TypeRule<'_, '_>>>() };
            // SAFETY: MLIR passes a live type.
            let ty = unsafe { Type::from_raw(ty) };
            let converted = guard::catch(|| (callback.closure)(ty)).unwrap_or_else(|panic| {
                // SAFETY: the type keeps its context alive.
                let location =
                    unsafe { Location::from_raw(mlirLocationUnknownGet(mlirTypeGetContext(ty.to_raw()))) };
                callback.state.fail(location, PassError::Internal(panic));
                None
            });
            converted.map_or(MlirType { ptr: ptr::null() }, |ty| ty.to_raw())
        }
        let callback = self.callback(Box::new(rule) as Box<TypeRule<'c, 'p>>);
        // SAFETY: the callback's box does not move and outlives the conversion's use of it.
        unsafe { normaConversionAddTypeRule(self.raw, call, pointer(&callback)) };
        self.type_rules.push(callback);
        self
    }

    /// Makes every op of the dialect legal, unless a rule for the op says otherwise.
    pub fn legal_dialect(&mut self, name: &str) -> &mut Self {
        // SAFETY: the name outlives the call, which copies it.
        unsafe { normaConversionSetDialect(self.raw, StringRef::new(name).to_raw(), true) };
        self
    }

    /// Makes every op of the dialect illegal, unless a rule for the op says otherwise.
    pub fn illegal_dialect(&mut self, name: &str) -> &mut Self {
        // SAFETY: the name outlives the call, which copies it.
        unsafe { normaConversionSetDialect(self.raw, StringRef::new(name).to_raw(), false) };
        self
    }

    /// Makes the op legal.
    pub fn legal_op(&mut self, name: &str) -> &mut Self {
        // SAFETY: the name outlives the call.
        unsafe { normaConversionSetLegalOp(self.raw, StringRef::new(name).to_raw()) };
        self
    }

    /// Makes the op legal if `legality` holds for it.
    pub fn legal_op_if(
        &mut self,
        name: &str,
        legality: impl for<'a> Fn(OperationRef<'c, 'a>) -> bool + 'p,
    ) -> &mut Self {
        self.legal_if(name, Box::new(legality), normaConversionSetDynamicOp)
    }

    /// Makes an op of the dialect legal if `legality` holds for it.
    pub fn legal_dialect_if(
        &mut self,
        name: &str,
        legality: impl for<'a> Fn(OperationRef<'c, 'a>) -> bool + 'p,
    ) -> &mut Self {
        self.legal_if(name, Box::new(legality), normaConversionSetDynamicDialect)
    }

    fn legal_if(
        &mut self,
        name: &str,
        legality: Box<Legality<'c, 'p>>,
        set: unsafe extern "C" fn(*mut c_void, MlirStringRef, RawLegality, *mut c_void),
    ) -> &mut Self {
        let callback = self.callback(legality);
        // SAFETY: the callback's box does not move and outlives the conversion's use of it.
        unsafe {
            set(
                self.raw,
                StringRef::new(name).to_raw(),
                is_legal,
                pointer(&callback),
            )
        };
        self.legalities.push(callback);
        self
    }

    /// Adds a pattern for one op name. It gets the op, its operands with converted types, and a builder before the op.
    pub fn pattern(
        &mut self,
        root: &str,
        pattern: impl for<'a> Fn(
            OperationRef<'c, 'a>,
            &[Value<'c, 'a>],
            &Builder<'c, 'a>,
        ) -> Result<(), Rejection<'c>>
        + 'p,
    ) -> &mut Self {
        unsafe extern "C" fn call(
            op: MlirOperation,
            operands: *const MlirValue,
            operand_count: isize,
            rewriter: MlirRewriterBase,
            callback: *mut c_void,
        ) -> bool {
            // SAFETY: `callback` was made from this type below and lives as long as the conversion; the other arguments
            // are alive for the call.
            let (callback, op, operands) = unsafe {
                let op: OperationRef<'_, '_> = OperationRef::from_raw(op);
                let operands = (0..operand_count)
                    .map(|index| Value::from_raw(*operands.offset(index)))
                    .collect::<Vec<_>>();
                (&*callback.cast::<Callback<'_, Pattern<'_, '_>>>(), op, operands)
            };
            let state = &callback.state;
            if state.failed.get() {
                return false;
            }
            let location = op.location();
            let result = guard::catch(|| {
                // SAFETY: the rewriter is alive for the call.
                let builder = unsafe { Builder::over(rewriter, location) };
                (callback.closure)(op, &operands, &builder)
            });
            match result {
                Ok(Ok(())) => return true,
                Ok(Err(Rejection::NoMatch(reason))) => {
                    state.mismatch.replace(Some((location, reason)));
                }
                Ok(Err(Rejection::Failed(error))) => state.fail(location, error),
                Err(panic) => state.fail(location, PassError::Internal(panic)),
            }
            false
        }
        let callback = self.callback(Box::new(pattern) as Box<Pattern<'c, 'p>>);
        // SAFETY: the callback's box does not move and outlives the conversion's use of it.
        unsafe {
            normaConversionAddPattern(self.raw, StringRef::new(root).to_raw(), call, pointer(&callback));
        }
        self.patterns.push(callback);
        self
    }

    /// Converts the types that `scf` ops carry; they stay `scf` ops.
    pub fn structured_control_flow(&mut self) -> &mut Self {
        // SAFETY: the conversion is alive.
        unsafe { normaConversionAddStructured(self.raw) };
        self
    }

    /// Converts the illegal ops in `op`; ops that no rule names may stay (a partial conversion).
    ///
    /// # Errors
    ///
    /// [`PassError::Reported`] if an illegal op stays.
    pub fn apply(self, op: OperationRef<'c, '_>) -> PassResult<'c> {
        // SAFETY: the op, the conversion with its callbacks, and the flag are alive.
        let success = unsafe { normaConversionApply(self.raw, op.to_raw(), self.state.failed.as_ptr()) };
        if success && !self.state.failed.get() {
            return Ok(());
        }
        if let Some((location, reason)) = self.state.mismatch.take()
            && !self.state.failed.get()
        {
            emit(
                location,
                Severity::Note,
                &format!("the last pattern tried does not apply: {reason}"),
                &[],
            );
        }
        Err(PassError::Reported)
    }

    fn callback<F: ?Sized>(&self, closure: Box<F>) -> Boxed<'c, F> {
        Box::new(Callback {
            closure,
            state: Rc::clone(&self.state),
        })
    }
}

impl Drop for Conversion<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: `new` created it, and the callbacks are dropped after this.
        unsafe { normaConversionDestroy(self.raw) }
    }
}

impl fmt::Debug for Conversion<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Conversion({} patterns)", self.patterns.len())
    }
}

fn pointer<F: ?Sized>(callback: &Callback<'_, F>) -> *mut c_void {
    (&raw const *callback).cast_mut().cast()
}

unsafe extern "C" fn is_legal(op: MlirOperation, callback: *mut c_void) -> bool {
    // SAFETY: `callback` was made from this type and lives as long as the conversion; MLIR passes a live op.
    let (callback, op): (_, OperationRef<'_, '_>) = unsafe {
        (
            &*callback.cast::<Callback<'_, Legality<'_, '_>>>(),
            OperationRef::from_raw(op),
        )
    };
    guard::catch(|| (callback.closure)(op)).unwrap_or_else(|panic| {
        callback.state.fail(op.location(), PassError::Internal(panic));
        true
    })
}

#[cfg(test)]
mod tests;
