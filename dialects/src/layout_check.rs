//! The checks of tiles' layouts that the `gl` dialect's C++ verifiers call (capi/LayoutCheck.h), since the algebra is Rust.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
};

use melior::{StringRef, ir::Attribute};
use mlir_sys::{MlirAttribute, MlirStringRef};
use norma_layout::HardwareDim;

use crate::{layout, slice::Slice};

/// Whether `layout` is the layout of a tile of this shape. If not, `report` is called once with what is wrong.
///
/// # Safety
///
/// `layout` is a valid attribute, `shape` lives for the call, and `report` may be called with `user`.
#[unsafe(no_mangle)]
unsafe extern "C" fn normaGlCheckLayout(
    layout: MlirAttribute,
    shape: Slice<i64>,
    report: unsafe extern "C" fn(MlirStringRef, *mut c_void),
    user: *mut c_void,
) -> bool {
    // SAFETY: the callee requires what the caller promises here.
    unsafe { check(layout, shape, report, user, distributed) }
}

/// Whether `layout` is the layout of a shared memory of this shape. If not, `report` is called once with what is wrong.
///
/// # Safety
///
/// As of [`normaGlCheckLayout`].
#[unsafe(no_mangle)]
unsafe extern "C" fn normaGlCheckSharedLayout(
    layout: MlirAttribute,
    shape: Slice<i64>,
    report: unsafe extern "C" fn(MlirStringRef, *mut c_void),
    user: *mut c_void,
) -> bool {
    // SAFETY: the callee requires what the caller promises here.
    unsafe {
        check(layout, shape, report, user, |layout, shape| {
            layout::shared(layout, shape)
                .map(drop)
                .map_err(|error| error.to_string())
        })
    }
}

/// Runs `find`, reports its error if there is one, and returns whether there is none.
///
/// # Safety
///
/// As of [`normaGlCheckLayout`].
unsafe fn check(
    layout: MlirAttribute,
    shape: Slice<i64>,
    report: unsafe extern "C" fn(MlirStringRef, *mut c_void),
    user: *mut c_void,
    find: impl Fn(Attribute<'_>, &[i64]) -> Result<(), String>,
) -> bool {
    // SAFETY: the caller promises a valid attribute and a shape that lives for the call.
    let (attribute, shape) = unsafe { (Attribute::from_raw(layout), shape.as_slice()) };
    // A panic must not unwind into C++.
    let message = match catch_unwind(AssertUnwindSafe(|| find(attribute, shape))) {
        Ok(Ok(())) => return true,
        Ok(Err(message)) => message,
        Err(_) => format!("internal compiler error: the layout of {shape:?} cannot be computed"),
    };
    // SAFETY: the caller promises that it may be called; the message lives for the call.
    unsafe { report(StringRef::new(&message).to_raw(), user) };
    false
}

/// Returns the longest run of neighbouring elements in a thread's registers, for a layout that fits `shape`; 1 otherwise. A run
/// that covers an axis as a whole continues along the next one.
///
/// # Safety
///
/// `layout` is a valid attribute, and `shape` lives for the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn normaGlContiguousRun(layout: MlirAttribute, shape: Slice<i64>) -> i64 {
    // SAFETY: the caller promises a valid attribute and a shape that lives for the call.
    let (layout, shape) = unsafe { (Attribute::from_raw(layout), shape.as_slice()) };
    let run = || {
        let layout = layout::distributed(layout, shape).ok()?;
        // Neighbouring registers hold a run, so that its axes are in the order in which the registers' bases use them.
        let mut order = Vec::new();
        for basis in layout.bases(HardwareDim::Register) {
            // A register that repeats another one ends every run.
            let Some(axis) = basis.iter().position(|moved| *moved != 0) else {
                break;
            };
            if !order.contains(&axis) {
                order.push(axis);
            }
        }
        Some(layout.contiguous_elements(&order))
    };
    // A panic must not unwind into C++.
    catch_unwind(AssertUnwindSafe(run)).ok().flatten().unwrap_or(1) as i64
}

/// Whether `sliced` is the layout of a tile of `shape` in `full` without `axis`: whichever attributes express them, the same
/// element lies in the same register, lane, warp and CTA.
///
/// # Safety
///
/// The layouts are valid attributes, and `shape` lives for the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn normaGlIsSlice(
    sliced: MlirAttribute,
    full: MlirAttribute,
    shape: Slice<i64>,
    axis: i64,
) -> bool {
    // SAFETY: the caller promises valid attributes and a shape that lives for the call.
    let (sliced, full, shape) = unsafe {
        (
            Attribute::from_raw(sliced),
            Attribute::from_raw(full),
            shape.as_slice(),
        )
    };
    // A panic must not unwind into C++.
    catch_unwind(AssertUnwindSafe(|| is_slice(sliced, full, shape, axis))).unwrap_or(false)
}

/// Whether `part` is the shape of what one CTA of a cluster holds of a tile of `shape` in `layout`.
///
/// # Safety
///
/// The layout is a valid attribute, and both shapes live for the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn normaGlIsPartOfCta(layout: MlirAttribute, shape: Slice<i64>, part: Slice<i64>) -> bool {
    // SAFETY: the caller promises a valid attribute and shapes that live for the call.
    let (layout, shape, part) = unsafe { (Attribute::from_raw(layout), shape.as_slice(), part.as_slice()) };
    let is_part = || {
        let layout = layout::distributed(layout, shape).ok()?;
        Some(layout.within_block().ok()?.shape() == part)
    };
    // A panic must not unwind into C++.
    catch_unwind(AssertUnwindSafe(is_part))
        .ok()
        .flatten()
        .unwrap_or(false)
}

/// The most elements of a tile that a thread may hold: 255 registers of four bytes, rounded up.
pub const MOST_REGISTERS: usize = 1024;

fn distributed(layout: Attribute<'_>, shape: &[i64]) -> Result<(), String> {
    let layout = layout::distributed(layout, shape).map_err(|error| error.to_string())?;
    match layout.num_registers() {
        ..=MOST_REGISTERS => Ok(()),
        registers => Err(format!(
            "expected at most {MOST_REGISTERS} elements of a tile for each thread, got {registers}"
        )),
    }
}

fn is_slice(sliced: Attribute<'_>, full: Attribute<'_>, shape: &[i64], axis: i64) -> bool {
    let Some(axis) = usize::try_from(axis).ok().filter(|&axis| axis < shape.len()) else {
        return false;
    };
    let mut rest = shape.to_vec();
    rest.remove(axis);
    let expected = layout::distributed(full, shape).and_then(|full| Ok(full.slice(axis)?.layout));
    expected.is_ok() && layout::distributed(sliced, &rest) == expected
}
