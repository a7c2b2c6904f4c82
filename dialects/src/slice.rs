//! A borrowed array, as it crosses between C++ and Rust: the mirror of capi/Slice.h.

/// A borrowed array of elements.
#[repr(C)]
pub(crate) struct Slice<T> {
    data: *const T,
    length: isize,
}

impl<T> Slice<T> {
    /// Lends `elements` to a call.
    pub(crate) fn new(elements: &[T]) -> Self {
        Self {
            data: elements.as_ptr(),
            length: elements.len() as isize,
        }
    }

    /// The elements.
    ///
    /// # Safety
    ///
    /// They must live and stay unchanged for `'e`.
    pub(crate) unsafe fn as_slice<'e>(&self) -> &'e [T] {
        if self.data.is_null() || self.length <= 0 {
            return &[];
        }
        // SAFETY: C++ gives a pointer to `length` elements of the same layout; the caller promises their life.
        unsafe { std::slice::from_raw_parts(self.data, self.length as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_array_is_empty() {
        let slice = Slice::<i64> {
            data: std::ptr::null(),
            length: 0,
        };
        // SAFETY: there are no elements.
        assert!(unsafe { slice.as_slice() }.is_empty());
    }
}
