//! The conditions on dynamic sizes and numbers under which the accesses of a kernel are valid, which C++ proves
//! (norm/NormAccessChecks.cpp).

use std::ffi::c_void;

use melior::ir::{AffineExpr, OperationRef};
use mlir_sys::{MlirAffineExpr, MlirOperation};

/// `left == right` or `left >= right`, over the symbols of its [`Conditions`].
#[derive(Clone, Copy, Debug)]
pub struct Condition<'c> {
    /// The left side.
    pub left: AffineExpr<'c>,
    /// The right side.
    pub right: AffineExpr<'c>,
    /// Whether the sides are equal; the left one is at least the right one otherwise.
    pub is_equality: bool,
}

/// Conditions under which every access stays in bounds and every element of an output is written once.
#[derive(Clone, Debug, Default)]
pub struct Conditions<'c> {
    /// All of them must hold.
    pub all: Vec<Condition<'c>>,
    /// What each symbol stands for.
    pub symbols: Vec<Symbol>,
}

/// What a symbol of [`Conditions`] stands for; arguments are those of the op's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// The size of a buffer, which is this argument, along an axis.
    Size(usize, usize),
    /// The number that this argument is.
    Number(usize),
}

/// The conditions of a `norm.compute` or of an untiled `norm.kernel` that its verifier accepts; `None` for another op.
pub fn conditions<'c>(op: OperationRef<'c, '_>) -> Option<Conditions<'c>> {
    unsafe extern "C" fn on_symbol(argument: i64, axis: i64, user: *mut c_void) {
        // SAFETY: `user` is the conditions below, which nothing else uses during the call.
        let conditions = unsafe { &mut *user.cast::<Conditions<'_>>() };
        conditions.symbols.push(match usize::try_from(axis) {
            Ok(axis) => Symbol::Size(argument as usize, axis),
            Err(_) => Symbol::Number(argument as usize),
        });
    }
    unsafe extern "C" fn on_condition(
        left: MlirAffineExpr,
        right: MlirAffineExpr,
        is_equality: bool,
        user: *mut c_void,
    ) {
        // SAFETY: as above; the context keeps expressions.
        unsafe {
            (*user.cast::<Conditions<'_>>()).all.push(Condition {
                left: AffineExpr::from_raw(left),
                right: AffineExpr::from_raw(right),
                is_equality,
            });
        }
    }
    let mut conditions = Conditions::default();
    // SAFETY: the op is alive, and the callbacks get the pointer that they expect.
    let is_space = unsafe {
        normaNormConditions(
            op.to_raw(),
            on_symbol,
            on_condition,
            (&raw mut conditions).cast::<c_void>(),
        )
    };
    is_space.then_some(conditions)
}

unsafe extern "C" {
    fn normaNormConditions(
        op: MlirOperation,
        on_symbol: unsafe extern "C" fn(i64, i64, *mut c_void),
        on_condition: unsafe extern "C" fn(MlirAffineExpr, MlirAffineExpr, bool, *mut c_void),
        user: *mut c_void,
    ) -> bool;
}
