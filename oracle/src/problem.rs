//! A function with its sizes and strides bound, checked against what its kernels assume.
//!
//! Nothing here needs a device, so that a bad request is refused before one is looked for.

use std::collections::BTreeMap;

use norma_bundle::Element;
use norma_bundle::expression::{EvaluateError, Expression};
use norma_bundle::manifest::{Function, Kernel, SymbolOf, Tensor};

use thiserror::Error;

use crate::error::OracleError;
use crate::layout::Layout;

/// 2^53: from here on, f64 does not represent every integer.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The most elements a tensor may span where its kernels index in 32 bits.
const MAX_32_BIT_SPAN: i64 = 1 << 31;

/// Why a function cannot run with what was asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BindError {
    /// A size is missing, a stride breaks an assumption, a scalar does not fit.
    #[error("{0}")]
    Request(String),
    /// A size expression of the manifest has no value for the sizes asked for.
    #[error(transparent)]
    Size(#[from] EvaluateError),
}

/// A function and the tensors it will run on.
#[derive(Debug)]
pub struct Problem<'a> {
    /// The function.
    pub function: &'a Function,
    /// The size symbols' values.
    pub sizes: BTreeMap<String, i64>,
    /// Each tensor's extents and strides, by name.
    pub layouts: BTreeMap<String, Layout>,
    /// The elements from the first to the last of each tensor, by name.
    spans: BTreeMap<String, usize>,
    /// The scalars the caller set, by name.
    pub scalars: BTreeMap<String, f64>,
    /// The function's 64-bit scalars, by name: as the caller set them, or their defaults.
    numbers: BTreeMap<String, i64>,
}

impl<'a> Problem<'a> {
    /// Binds `sizes`, `strides` and `scalars`. A stride that is not set is dense, and a size that only outputs have is the
    /// least that the kernels accept.
    ///
    /// # Errors
    /// A name the function does not have, a size that is missing, or a tensor that breaks an assumption.
    pub fn new(
        function: &'a Function,
        mut sizes: BTreeMap<String, i64>,
        strides: BTreeMap<String, i64>,
        scalars: BTreeMap<String, f64>,
    ) -> Result<Self, BindError> {
        let size_symbols: Vec<&str> = function.size_symbols().into_iter().collect();
        let stride_symbols: Vec<&str> = function.stride_symbols().into_iter().collect();
        let scalar_names: Vec<&str> = function
            .named_scalars()
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        check_names(function, "size", sizes.keys(), &size_symbols)?;
        check_names(function, "stride", strides.keys(), &stride_symbols)?;
        check_names(function, "scalar", scalars.keys(), &scalar_names)?;
        let least = function.least_sizes(&|name| sizes.get(name).copied());
        let least = least.into_iter().map(|(name, size)| (name.to_owned(), size));
        sizes.extend(least.collect::<Vec<_>>());
        if let Some(name) = size_symbols.iter().find(|name| !sizes.contains_key(**name)) {
            let bound = bound_of(function, name).unwrap_or_default();
            let message = format!(
                "'{}' leaves size '{name}' open{bound}: pass --size {name}=N",
                function.name
            );
            return Err(BindError::Request(message));
        }
        if let Some((name, value)) = sizes.iter().find(|(_, value)| **value < 0) {
            return Err(BindError::Request(format!(
                "expected size '{name}' to be at least 0, got {value}"
            )));
        }
        let numbers = numbers_of(function, &scalars)?;
        for condition in &function.conditions {
            let value = |name: &str| sizes.get(name).or_else(|| numbers.get(name)).copied();
            if let Some(message) = condition.violation(&value)? {
                return Err(BindError::Request(message));
            }
        }
        let (mut layouts, mut spans) = (BTreeMap::new(), BTreeMap::new());
        for tensor in function.tensors() {
            let (layout, span) = layout_of(tensor, &sizes, &strides)?;
            spans.insert(tensor.name.clone(), span);
            check_assumptions(tensor, &layout, &sizes)?;
            layouts.insert(tensor.name.clone(), layout);
        }
        if let Some(output) = function
            .outputs
            .iter()
            .find(|output| overlaps(&layouts[&output.name]))
        {
            let message = format!("output '{}' overlaps itself with these strides", output.name);
            return Err(BindError::Request(message));
        }
        Ok(Problem {
            function,
            sizes,
            layouts,
            spans,
            scalars,
            numbers,
        })
    }

    /// The values of all symbols of definitions: the sizes, and the 64-bit scalars that the caller may set.
    pub(crate) fn sizes_and_numbers(&self) -> BTreeMap<String, i64> {
        let mut values = self.numbers.clone();
        values.extend(self.sizes.clone());
        values
    }

    /// The elements from the first to the last of a tensor of the function, holes included.
    pub fn span(&self, tensor: &Tensor) -> usize {
        self.spans[&tensor.name]
    }

    /// The size of that span in bytes.
    pub fn span_bytes(&self, tensor: &Tensor) -> usize {
        self.span(tensor) * tensor.dtype.bytes()
    }

    /// The element type of a tensor of the function.
    ///
    /// # Errors
    /// The function has no such tensor, which validation of the manifest rules out.
    pub(crate) fn element(&self, tensor: &str) -> Result<Element, OracleError> {
        match self.function.tensor(tensor) {
            Some(tensor) => Ok(tensor.dtype),
            None => Err(OracleError::Unbound(tensor.to_owned())),
        }
    }

    /// The kernel's symbols with their values, read off the tensors.
    pub fn kernel_symbols(&self, kernel: &Kernel) -> BTreeMap<String, i64> {
        let value = |tensor: &str, dim: usize, of: SymbolOf| {
            let layout = &self.layouts[tensor];
            match of {
                SymbolOf::Size => layout.shape[dim],
                SymbolOf::Stride => layout.strides[dim],
            }
        };
        let named = kernel.symbols.iter();
        named
            .map(|symbol| (symbol.name.clone(), value(&symbol.tensor, symbol.dim, symbol.of)))
            .collect()
    }
}

/// What the kernels expect of an open size by other sizes, for messages: a size that follows from them has a name that they do not explain.
fn bound_of(function: &Function, size: &str) -> Option<String> {
    let mut bounds = function.tensors().flat_map(|tensor| {
        let extents = tensor.shape.iter().zip(&tensor.shape_minimums).enumerate();
        extents.map(|(dim, (extent, minimum))| (&tensor.name, dim, extent, minimum))
    });
    let (tensor, dim, _, minimum) = bounds.find(|(_, _, extent, minimum)| {
        matches!(extent, Expression::Symbol(name) if name == size) && !minimum.symbols().is_empty()
    })?;
    Some(format!(
        ", which is extent {dim} of '{tensor}' and at least {minimum}"
    ))
}

/// A function's 64-bit scalars, as `scalars` sets them or by default.
fn numbers_of(
    function: &Function,
    scalars: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, i64>, BindError> {
    let number = |(name, default): (&str, i64)| match scalars.get(name) {
        None => Ok((name.to_owned(), default)),
        // A larger f64 does not name one integer.
        Some(value) if value.fract() == 0.0 && value.abs() < MOST_EXACT => {
            Ok((name.to_owned(), *value as i64))
        }
        Some(value) => Err(BindError::Request(format!(
            "expected scalar '{name}' to be an integer between -2^53 and 2^53, both exclusive, got {value}"
        ))),
    };
    function.numbers().into_iter().map(number).collect()
}

fn check_names<'n>(
    function: &Function,
    kind: &str,
    mut given: impl Iterator<Item = &'n String>,
    known: &[&str],
) -> Result<(), BindError> {
    match given.find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if known.is_empty() => Err(BindError::Request(format!(
            "'{}' has no {kind} to set, got '{name}'",
            function.name
        ))),
        Some(name) => {
            let known = known.join(", ");
            Err(BindError::Request(format!(
                "'{}' has {kind} {known}, got '{name}'",
                function.name
            )))
        }
    }
}

/// The layout of a tensor, and the elements from its first to its last.
fn layout_of(
    tensor: &Tensor,
    sizes: &BTreeMap<String, i64>,
    set: &BTreeMap<String, i64>,
) -> Result<(Layout, usize), BindError> {
    let size_of = |name: &str| sizes.get(name).copied();
    let shape = tensor
        .shape
        .iter()
        .map(|extent| extent.evaluate(&size_of))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        let message = format!(
            "expected extents of '{}' to be at least 0, got {extent}",
            tensor.name
        );
        return Err(BindError::Request(message));
    }
    let too_large = || BindError::Request(format!("'{}' does not fit in 64-bit addresses", tensor.name));
    let mut strides = vec![0i64; shape.len()];
    // From the innermost dim outwards: an open stride that is not set is dense over the dims within it.
    let mut dense = 1i64;
    for dim in (0..shape.len()).rev() {
        strides[dim] = match &tensor.strides[dim] {
            Expression::Symbol(name) if !sizes.contains_key(name) => match set.get(name) {
                Some(stride) => *stride,
                None => dense,
            },
            stride => stride.evaluate(&|name| size_of(name).or_else(|| set.get(name).copied()))?,
        };
        dense = strides[dim]
            .checked_mul(shape[dim].max(1))
            .ok_or_else(too_large)?;
    }
    if let Some(stride) = strides.iter().find(|stride| **stride < 0) {
        let message = format!(
            "expected strides of '{}' to be at least 0, got {stride}",
            tensor.name
        );
        return Err(BindError::Request(message));
    }
    let layout = Layout { shape, strides };
    let span = layout.span().filter(|span| {
        let bytes = span.checked_mul(tensor.dtype.bytes() as i64);
        bytes.is_some()
    });
    let span = span.and_then(|span| usize::try_from(span).ok());
    let span = span.ok_or_else(too_large)?;
    Ok((layout, span))
}

fn check_assumptions(
    tensor: &Tensor,
    layout: &Layout,
    sizes: &BTreeMap<String, i64>,
) -> Result<(), BindError> {
    let name = &tensor.name;
    for dim in 0..layout.shape.len() {
        let checks = [
            ("extent", layout.shape[dim], tensor.shape_multiple(dim)),
            ("stride", layout.strides[dim], tensor.stride_multiple(dim)),
        ];
        for (what, value, multiple) in checks {
            if !value.unsigned_abs().is_multiple_of(multiple) {
                let message = format!(
                    "the kernels assume that {what} {dim} of '{name}' is a multiple of {multiple}, got {value}"
                );
                return Err(BindError::Request(message));
            }
        }
    }
    for (dim, minimum) in tensor.shape_minimums.iter().enumerate() {
        let (least, extent) = (
            minimum.evaluate(&|name| sizes.get(name).copied())?,
            layout.shape[dim],
        );
        if extent < least {
            let message = format!(
                "the kernels reach {least} elements along dim {dim} of '{name}', expected an extent of at least that, \
                 got {extent}"
            );
            return Err(BindError::Request(message));
        }
    }
    let span = layout.span().unwrap_or(i64::MAX);
    if tensor.index_bits == Some(32) && span > MAX_32_BIT_SPAN {
        let message =
            format!("the kernels index '{name}' in 32 bits, expected a span up to 2^31 elements, got {span}");
        return Err(BindError::Request(message));
    }
    Ok(())
}

/// Whether two elements may share memory: in order of stride, some stride is shorter than the span of the dims before it.
fn overlaps(layout: &Layout) -> bool {
    if layout.shape.contains(&0) {
        return false;
    }
    let mut dims: Vec<(i64, i64)> = layout
        .strides
        .iter()
        .copied()
        .zip(layout.shape.iter().copied())
        .filter(|(_, extent)| *extent > 1)
        .collect();
    dims.sort_unstable();
    let mut span = 1;
    dims.into_iter().any(|(stride, extent)| {
        let short = stride < span;
        span += (extent - 1) * stride;
        short
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use norma_bundle::Manifest;
    use norma_bundle::condition::{Condition, Relation};
    use norma_bundle::manifest::{Argument, ScalarType, ScalarValue};

    fn rms_norm() -> Manifest {
        serde_json::from_str(include_str!("../../bundle/testdata/rms_norm.json")).unwrap()
    }

    fn settings(pairs: &[(&str, i64)]) -> BTreeMap<String, i64> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    fn refusal(sizes: &[(&str, i64)], strides: &[(&str, i64)]) -> String {
        let manifest = rms_norm();
        let problem = Problem::new(
            &manifest.functions[0],
            settings(sizes),
            settings(strides),
            BTreeMap::new(),
        );
        problem.unwrap_err().to_string()
    }

    #[test]
    fn open_strides_are_dense_unless_set() {
        let manifest = rms_norm();
        let function = &manifest.functions[0];
        let layout = |strides| {
            let problem = Problem::new(
                function,
                settings(&[("m", 3)]),
                settings(strides),
                BTreeMap::new(),
            );
            problem.unwrap().layouts["x"].clone()
        };
        assert_eq!(layout(&[]).strides, [4096, 1]);
        assert_eq!(layout(&[("x_stride", 5000)]).strides, [5000, 1]);
    }

    #[test]
    fn sizes_that_break_a_condition_are_refused() {
        let mut manifest = rms_norm();
        manifest.functions[0].conditions.push(Condition {
            left: Expression::symbol("m"),
            relation: Relation::AtLeast,
            right: Expression::Integer(10),
            text: "dim(x, 0) >= 10".into(),
        });
        let problem = |m| {
            let sizes = settings(&[("m", m)]);
            Problem::new(&manifest.functions[0], sizes, BTreeMap::new(), BTreeMap::new())
        };
        assert!(problem(10).is_ok());
        assert_eq!(
            problem(9).unwrap_err().to_string(),
            "expected dim(x, 0) >= 10, got 9"
        );
    }

    #[test]
    fn an_open_size_is_explained_by_those_that_it_depends_on() {
        let mut manifest = rms_norm();
        let input = &mut manifest.functions[0].inputs[0];
        input.shape[1] = Expression::symbol("m1");
        input.shape_minimums = vec![
            Expression::Integer(0),
            Expression::parse("ceildiv(m, 16)").unwrap(),
        ];
        let sizes = settings(&[("m", 3)]);
        let problem = Problem::new(&manifest.functions[0], sizes, BTreeMap::new(), BTreeMap::new());
        assert_eq!(
            problem.unwrap_err().to_string(),
            "'rms_norm' leaves size 'm1' open, which is extent 1 of 'x' and at least ceildiv(m, 16): pass --size m1=N"
        );
    }

    #[test]
    fn scalars_that_f64_does_not_hold_are_refused() {
        let mut manifest = rms_norm();
        let arguments = manifest.functions[0].kernels[0].args.iter_mut();
        for argument in arguments {
            if let Argument::Scalar { scalar, value, .. } = argument {
                *scalar = ScalarType::I64;
                *value = ScalarValue::Expression(Expression::Integer(1));
            }
        }
        let problem = |eps| {
            let (sizes, scalars) = (settings(&[("m", 3)]), BTreeMap::from([("eps".to_owned(), eps)]));
            Problem::new(&manifest.functions[0], sizes, BTreeMap::new(), scalars)
                .map(|problem| problem.numbers)
        };
        let most = MOST_EXACT - 1.0;
        assert_eq!(problem(-most), Ok(settings(&[("eps", -9_007_199_254_740_991)])));
        assert_eq!(
            problem(9_007_199_254_740_993_i64 as f64).unwrap_err().to_string(),
            "expected scalar 'eps' to be an integer between -2^53 and 2^53, both exclusive, got 9007199254740992"
        );
    }

    #[test]
    fn a_size_of_outputs_alone_is_the_least_that_kernels_take() {
        let mut manifest = rms_norm();
        let output = &mut manifest.functions[0].outputs[0];
        output.shape[0] = Expression::symbol("rows");
        output.shape_minimums = vec![Expression::symbol("m"), Expression::Integer(0)];
        let extent = |sizes| {
            let sizes = settings(sizes);
            let problem = Problem::new(&manifest.functions[0], sizes, BTreeMap::new(), BTreeMap::new());
            problem.map(|problem| problem.layouts["y"].shape[0])
        };
        assert_eq!(extent(&[("m", 3)]), Ok(3));
        assert_eq!(extent(&[("m", 3), ("rows", 5)]), Ok(5));
        assert!(extent(&[("m", 3), ("rows", 2)]).is_err());
    }

    #[test]
    fn sizes_must_be_complete_and_known() {
        assert_eq!(
            refusal(&[], &[]),
            "'rms_norm' leaves size 'm' open: pass --size m=N"
        );
        assert_eq!(
            refusal(&[("m", 1), ("k", 1)], &[]),
            "'rms_norm' has size m, got 'k'"
        );
        assert_eq!(
            refusal(&[("m", -1)], &[]),
            "expected size 'm' to be at least 0, got -1"
        );
        assert!(refusal(&[("m", i64::MAX)], &[]).contains("does not fit in 64-bit addresses"));
    }

    #[test]
    fn tensors_that_break_an_assumption_are_refused() {
        assert_eq!(
            refusal(&[("m", 3)], &[("x_stride", 4100)]),
            "the kernels assume that stride 0 of 'x' is a multiple of 8, got 4100"
        );
        let mut manifest = rms_norm();
        manifest.functions[0].inputs[0].index_bits = Some(32);
        let fits = |m| {
            Problem::new(
                &manifest.functions[0],
                settings(&[("m", m)]),
                BTreeMap::new(),
                BTreeMap::new(),
            )
            .is_ok()
        };
        assert!(fits(1 << 19));
        assert!(!fits((1 << 19) + 1));
    }

    #[test]
    fn outputs_must_not_overlap_themselves() {
        let layout = |shape: &[i64], strides: &[i64]| Layout {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
        };
        assert!(overlaps(&layout(&[4, 8], &[7, 1])));
        assert!(overlaps(&layout(&[4], &[0])));
        assert!(!overlaps(&layout(&[4, 8], &[8, 1])));
        assert!(!overlaps(&layout(&[4, 8], &[1, 4])));
        assert!(!overlaps(&layout(&[1, 8], &[0, 1])));
        // A tensor without elements does not overlap, whatever strides its sizes of 0 give it.
        assert!(!overlaps(&layout(&[0, 5], &[5, 1])));
        assert!(!overlaps(&layout(&[4, 0], &[0, 1])));
    }

    #[test]
    fn kernels_read_their_symbols_off_the_tensors() {
        let manifest = rms_norm();
        let function = &manifest.functions[0];
        let strides = settings(&[("x_stride", 8192)]);
        let problem = Problem::new(function, settings(&[("m", 3)]), strides, BTreeMap::new()).unwrap();
        let symbols = problem.kernel_symbols(&function.kernels[0]);
        assert_eq!(symbols, settings(&[("m", 3), ("x_stride", 8192)]));
    }
}
