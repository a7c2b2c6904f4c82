//! Views dense tensors with the shape that a function's manifest gives them, whatever their own shape.

use std::ptr;

use norma_bundle::Expression;
use norma_bundle::manifest;
use norma_runtime::Tensor;

/// The shape of a tensor in the manifest: constants, and at most one extent that follows from the number of elements.
pub struct View {
    /// The extent of each dim; `None` for the one that follows from the number of elements.
    dims: Box<[Option<i64>]>,
    /// The product of the constant extents.
    constant: i64,
}

impl View {
    /// The view for a tensor of a manifest; `None` if its extents do not follow from its number of elements.
    pub fn new(tensor: &manifest::Tensor) -> Option<View> {
        let extent = |extent: &Expression| match extent {
            Expression::Integer(extent) => Some(Some(*extent)),
            Expression::Symbol(_) => Some(None),
            Expression::Binary(..) => None,
        };
        let dims: Box<[Option<i64>]> = tensor.shape.iter().map(extent).collect::<Option<_>>()?;
        let open = dims.iter().filter(|extent| extent.is_none()).count();
        let constants = dims.iter().flatten();
        let constant = constants.copied().try_fold(1i64, i64::checked_mul)?;
        (open <= 1 && constant > 0).then_some(View { dims, constant })
    }

    /// The rank of the view.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Views a tensor with this shape, which is written to `shape`.
    ///
    /// # Errors
    /// What is wrong with the tensor, as the end of a sentence that names it.
    ///
    /// # Safety
    /// The tensor's shape and strides are as long as its rank.
    pub unsafe fn apply<'s>(&self, tensor: &Tensor<'_>, shape: &'s mut [i64]) -> Result<Tensor<'s>, String> {
        // SAFETY: passed on to the caller.
        let elements = unsafe { dense_elements(tensor) }
            .ok_or("to lie densely, in row-major order, got strides that leave gaps or permute dims")?;
        let is_open = self.dims.contains(&None);
        let fits = match is_open {
            true => elements % self.constant == 0,
            false => elements == self.constant,
        };
        if !fits {
            let (constant, of) = (self.constant, if is_open { "a multiple of " } else { "" });
            return Err(format!("to have {of}{constant} elements, got {elements}"));
        }
        for (extent, known) in shape.iter_mut().zip(&self.dims) {
            *extent = known.unwrap_or(elements / self.constant);
        }
        Ok(Tensor {
            data: tensor.data,
            device: tensor.device,
            rank: i32::try_from(shape.len()).unwrap_or(i32::MAX),
            dtype: tensor.dtype,
            shape: shape.as_ptr(),
            strides: ptr::null(),
            byte_offset: tensor.byte_offset,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// The number of elements of a tensor that is dense in row-major order; `None` for any other tensor.
///
/// # Safety
/// The tensor's shape and strides are as long as its rank.
unsafe fn dense_elements(tensor: &Tensor<'_>) -> Option<i64> {
    let rank = usize::try_from(tensor.rank).ok()?;
    if rank == 0 {
        return Some(1);
    }
    // SAFETY: passed on to the caller.
    let (shape, strides) = unsafe {
        let shape = std::slice::from_raw_parts(tensor.shape, rank);
        let strides = (!tensor.strides.is_null()).then(|| std::slice::from_raw_parts(tensor.strides, rank));
        (shape, strides)
    };
    if shape.contains(&0) {
        return Some(0);
    }
    let mut elements = 1i64;
    for dim in (0..rank).rev() {
        if shape[dim] != 1 && strides.is_some_and(|strides| strides[dim] != elements) {
            return None;
        }
        elements = elements.checked_mul(shape[dim])?;
    }
    Some(elements)
}
