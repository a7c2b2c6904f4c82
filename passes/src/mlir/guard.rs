//! Catches panics before they reach C++ frames, which cannot unwind: an escaped panic would abort the process.
//!
//! A panic is always a bug of the compiler. It becomes an internal error with the place of the panic. Nothing else is printed, so that the
//! user sees a diagnostic only.

use std::{
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::Once,
};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`, and catches its panic if there is one.
///
/// # Errors
///
/// The message and source place of a panic in `body`.
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    DEPTH.set(DEPTH.get() + 1);
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    DEPTH.set(DEPTH.get() - 1);
    result.map_err(|payload| {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic without a message".to_owned());
        match PLACE.take() {
            Some(place) => format!("{message} ({place})"),
            None => message,
        }
    })
}

/// Installs a panic hook that prints nothing for panics inside [`catch`], on its thread, and leaves all others to the previous hook.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if DEPTH.get() == 0 {
                previous(info);
            } else {
                PLACE.set(info.location().map(ToString::to_string));
            }
        }));
    });
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a panic is what is under test")]
mod tests {
    use super::catch;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        let error = catch(|| panic!("lost {} rows", 3)).err().unwrap_or_default();
        assert!(error.starts_with("lost 3 rows ("), "{error}");
        assert!(error.contains("guard.rs:"), "{error}");
    }

    #[test]
    fn a_value_passes_through() {
        assert_eq!(catch(|| 7), Ok(7));
    }

    #[test]
    fn catches_nest() {
        assert_eq!(catch(|| catch(|| panic!("inner")).is_err()), Ok(true));
    }
}
