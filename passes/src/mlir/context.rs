//! Obtains a `&Context` from a location.
//!
//! Most of melior takes `&'c Context`. `ContextRef::to_ref` returns a reference to *the `ContextRef` itself*, whatever its lifetime says,
//! so that one made from a temporary dangles. Here the `ContextRef` lives in a cell that is never freed. There is one cell for each context
//! address; it holds nothing but that address, so it stays valid when a later context is allocated at the same one.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use melior::{Context, ContextRef, ir::Location};

/// A cell that holds only an address, which is passed to MLIR alone, whose context is thread-safe.
struct Cell(ContextRef<'static>);

// SAFETY: see above; melior marks `Context` itself so for the same reason.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

static CELLS: Mutex<Option<HashMap<usize, &'static Cell>>> = Mutex::new(None);

/// The context of a location.
pub fn of(location: Location<'_>) -> &Context {
    // SAFETY: the location is alive.
    let raw = unsafe { mlir_sys::mlirLocationGetContext(location.to_raw()) };
    let mut cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    let cell: &'static Cell = cells
        .get_or_insert_default()
        .entry(raw.ptr as usize)
        .or_insert_with(|| {
            // SAFETY: the address is a context's; the lifetime is cut down to the location's below.
            Box::leak(Box::new(Cell(unsafe { ContextRef::from_raw(raw) })))
        });
    // SAFETY: the cell is never freed, and the context lives as long as the location.
    unsafe { cell.0.to_ref() }
}
