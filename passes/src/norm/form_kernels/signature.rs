//! What a function says about its buffers and scalars.
//!
//! | attribute | of | means | without it |
//! |---|---|---|---|
//! | `norm.name` | all | the name in the bundle, an identifier, once in a function | `arg<i>`, `result<i>` |
//! | `norm.buffer` | tensors | the memref with its strides | contiguous, row by row |
//! | `norm.align` | tensors | bytes; the base address and every dynamic stride of `norm.buffer` are multiples | 16 |
//! | `norm.multiples` | tensors | what each extent is a multiple of | 1 each |
//! | `norm.min`, `norm.max` | tensors | what each extent at least, and at most, is; -1 for no upper bound | 0, -1 each |
//! | `norm.sizes` | tensors | what each dynamic extent is called, empty for no name | the compiler's names |
//! | `norm.dims` | tensors | what sizes are called that `norm.sizes` does not name | no names |
//! | `norm.may_alias` | results | the argument that it may be the same memory as | it shares no element with another tensor |
//! | `norm.default` | scalars | the value where a launch sets none | an error |

mod sizes;

use melior::{
    Context,
    ir::{
        Attribute, AttributeLike, Identifier, Location, OperationRef, Type,
        attribute::{
            ArrayAttribute, DenseI64ArrayAttribute, DictionaryAttribute, IntegerAttribute, StringAttribute,
            TypeAttribute,
        },
        operation::OperationLike,
        r#type::FunctionType,
    },
};

use norma_bundle::manifest::is_identifier;
use norma_dialects::attributes::tensor;
use sizes::NO_MAXIMUM;

use crate::mlir::{diagnostic::Diagnostic, interval::Interval, pass::PassError, types};

/// The alignment, in bytes, that is assumed where none is given: what one 128-bit access needs.
const DEFAULT_ALIGNMENT: i64 = 16;
/// The largest alignment, in bytes, that `norm.kernel` takes.
const LARGEST_ALIGNMENT: i64 = 1 << 31;

/// An argument of the function.
pub(super) enum Argument<'c> {
    /// A tensor, which becomes a buffer.
    Tensor(Tensor<'c>),
    /// A number, which stays one.
    Scalar(Scalar<'c>),
}

/// A tensor of the function and the buffer that holds it.
pub(super) struct Tensor<'c> {
    /// The name in the bundle.
    pub(super) name: String,
    /// The memref.
    pub(super) buffer: Type<'c>,
    /// Bytes.
    pub(super) alignment: i64,
    /// What each extent is a multiple of; empty if nothing is stated.
    pub(super) multiples: Vec<i64>,
    /// The bounds of each extent; empty if nothing is stated.
    pub(super) bounds: Vec<Interval>,
    /// `norm.sizes`, if given.
    sizes: Option<Attribute<'c>>,
    /// `norm.dims`, if given.
    dims: Option<Attribute<'c>>,
    /// The name of the argument that it may be the same memory as.
    pub(super) may_alias: Option<String>,
    /// Attributes of other dialects.
    others: Vec<(Identifier<'c>, Attribute<'c>)>,
}

/// A number that the caller passes.
pub(super) struct Scalar<'c> {
    name: String,
    ty: Type<'c>,
    default: Attribute<'c>,
    /// Attributes of other dialects.
    others: Vec<(Identifier<'c>, Attribute<'c>)>,
}

impl<'c> Argument<'c> {
    /// The tensor, if it is one.
    pub(super) fn tensor(&self) -> Option<&Tensor<'c>> {
        match self {
            Argument::Tensor(tensor) => Some(tensor),
            Argument::Scalar(_) => None,
        }
    }

    /// The name in the bundle.
    pub(super) fn name(&self) -> &str {
        match self {
            Argument::Tensor(tensor) => &tensor.name,
            Argument::Scalar(scalar) => &scalar.name,
        }
    }

    /// The type once tensors are buffers.
    pub(super) fn ty(&self) -> Type<'c> {
        match self {
            Argument::Tensor(tensor) => tensor.buffer,
            Argument::Scalar(scalar) => scalar.ty,
        }
    }

    /// The argument's attributes once tensors are buffers.
    pub(super) fn attributes(&self, context: &'c Context) -> Attribute<'c> {
        match self {
            Argument::Tensor(tensor) => tensor.attributes(context, false),
            Argument::Scalar(scalar) => {
                let mut attributes = scalar.others.clone();
                let name = StringAttribute::new(context, &scalar.name);
                attributes.push((Identifier::new(context, tensor::NAME), name.into()));
                attributes.push((Identifier::new(context, tensor::DEFAULT), scalar.default));
                DictionaryAttribute::new(context, &attributes).into()
            }
        }
    }
}

impl<'c> Tensor<'c> {
    /// The attributes of the argument that holds the buffer.
    pub(super) fn attributes(&self, context: &'c Context, is_output: bool) -> Attribute<'c> {
        let mut attributes = self.others.clone();
        let mut add =
            |name: &str, value: Attribute<'c>| attributes.push((Identifier::new(context, name), value));
        add(tensor::NAME, StringAttribute::new(context, &self.name).into());
        if is_output {
            add(tensor::OUTPUT, Attribute::unit(context));
        }
        if !self.multiples.is_empty() {
            add(
                tensor::MULTIPLES,
                DenseI64ArrayAttribute::new(context, &self.multiples).into(),
            );
        }
        let array = |numbers: Vec<i64>| DenseI64ArrayAttribute::new(context, &numbers).into();
        if self.bounds.iter().any(|bounds| bounds.least > 0) {
            add(
                tensor::MIN,
                array(self.bounds.iter().map(|bounds| bounds.least).collect()),
            );
        }
        if self.bounds.iter().any(|bounds| bounds.bound().is_some()) {
            let most = self
                .bounds
                .iter()
                .map(|bounds| bounds.bound().unwrap_or(NO_MAXIMUM));
            add(tensor::MAX, array(most.collect()));
        }
        if let Some(sizes) = self.sizes {
            add(tensor::SIZES, sizes);
        }
        if let Some(dims) = self.dims {
            add(tensor::DIMS, dims);
        }
        if let Some(argument) = &self.may_alias {
            add(tensor::MAY_ALIAS, StringAttribute::new(context, argument).into());
        }
        DictionaryAttribute::new(context, &attributes).into()
    }
}

/// The function's arguments and the tensors that it returns.
pub(super) fn read<'c>(
    function: OperationRef<'c, '_>,
) -> Result<(Vec<Argument<'c>>, Vec<Tensor<'c>>), PassError<'c>> {
    let location = function.location();
    let ty = TypeAttribute::try_from(function.attribute("function_type")?)?.value();
    let ty = FunctionType::try_from(ty)?;
    let mut names = Vec::<String>::new();
    let mut unique = |place: &Place<'c>, name: &str| {
        if names.iter().any(|known| known == name) {
            let message = format!("expected names that differ, got '{name}' for {place} too");
            return Err(PassError::from(Diagnostic::user(location, message)));
        }
        names.push(name.to_owned());
        Ok(())
    };
    let attributes_of =
        |list: &str, index: usize| -> Result<Option<DictionaryAttribute<'c>>, PassError<'c>> {
            let Ok(list) = function.attribute(list) else {
                return Ok(None);
            };
            let attributes = ArrayAttribute::try_from(list)?.element(index)?;
            Ok(Some(DictionaryAttribute::try_from(attributes)?))
        };
    let mut arguments = Vec::new();
    for index in 0..ty.input_count() {
        let place = Place {
            location,
            kind: Kind::Argument,
            index,
            ty: ty.input(index)?,
        };
        let attributes = attributes_of("arg_attrs", index)?;
        let argument = if SCALARS.contains(&place.ty.to_string().as_str()) {
            Argument::Scalar(place.scalar(attributes)?)
        } else {
            Argument::Tensor(place.tensor(attributes)?)
        };
        unique(&place, argument.name())?;
        arguments.push(argument);
    }
    let mut outputs = Vec::new();
    for index in 0..ty.result_count() {
        let place = Place {
            location,
            kind: Kind::Result,
            index,
            ty: ty.result(index)?,
        };
        let tensor = place.tensor(attributes_of("res_attrs", index)?)?;
        unique(&place, &tensor.name)?;
        outputs.push(tensor);
    }
    for (index, output) in outputs.iter().enumerate() {
        let strides = types::strides_and_offset(output.buffer)
            .map(|(strides, _)| strides)
            .unwrap_or_default();
        if strides.contains(&Some(0)) {
            let message = format!(
                "expected a result's strides to differ from 0, got {} for result {index}",
                output.buffer
            );
            return Err(Diagnostic::user(location, message).into());
        }
        if overlaps(output.buffer) {
            let message = format!(
                "expected a result whose elements lie apart, got {} for result {index}",
                output.buffer
            );
            return Err(Diagnostic::user(location, message).into());
        }
    }
    Ok((arguments, outputs))
}

/// The types of scalar arguments: those that a manifest can pass by value.
const SCALARS: [&str; 5] = ["f32", "f64", "i32", "i64", "index"];

/// An argument or a result of the function.
struct Place<'c> {
    location: Location<'c>,
    kind: Kind,
    index: usize,
    ty: Type<'c>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Argument,
    Result,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Argument => "argument",
            Kind::Result => "result",
        };
        write!(formatter, "{kind} {}", self.index)
    }
}

impl<'c> Place<'c> {
    fn wrong(&self, message: impl std::fmt::Display) -> PassError<'c> {
        Diagnostic::user(self.location, format!("{message} for {self}")).into()
    }

    fn default_name(&self) -> String {
        match self.kind {
            Kind::Argument => tensor::argument_name(self.index),
            Kind::Result => tensor::result_name(self.index),
        }
    }

    fn unknown(&self, expected: &str, got: &str) -> PassError<'c> {
        self.wrong(format!("expected {expected}, got {got}"))
    }

    fn tensor(&self, attributes: Option<DictionaryAttribute<'c>>) -> Result<Tensor<'c>, PassError<'c>> {
        if !types::is_tensor(self.ty) || types::encoding(self.ty).is_some() {
            let scalars = match self.kind {
                Kind::Argument => format!(", and {}", SCALARS.join(", ")),
                Kind::Result => String::new(),
            };
            let message = format!(
                "{} as {self}; supported: ranked tensors without encoding{scalars}",
                self.ty
            );
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        let mut tensor = Tensor {
            name: self.default_name(),
            buffer: self.contiguous()?,
            alignment: DEFAULT_ALIGNMENT,
            multiples: Vec::new(),
            bounds: Vec::new(),
            sizes: None,
            dims: None,
            may_alias: None,
            others: Vec::new(),
        };
        let (mut least, mut most) = (None, None);
        for index in 0..attributes.map_or(0, |attributes| attributes.len()) {
            let Some(attributes) = attributes else { break };
            let (key, value) = attributes.element(index)?;
            match (key.as_string_ref().as_str().unwrap_or_default(), self.kind) {
                (tensor::NAME, _) => tensor.name = self.name(value)?,
                (tensor::BUFFER, _) => tensor.buffer = self.buffer(value)?,
                (tensor::ALIGN, _) => tensor.alignment = self.alignment(value)?,
                (tensor::MULTIPLES, _) => tensor.multiples = self.multiples(value)?,
                (tensor::MIN, _) => least = Some(self.numbers(tensor::MIN, value)?),
                (tensor::MAX, _) => most = Some(self.numbers(tensor::MAX, value)?),
                (tensor::SIZES, _) => tensor.sizes = Some(self.size_names(tensor::SIZES, value)?),
                (tensor::DIMS, _) => tensor.dims = Some(self.size_names(tensor::DIMS, value)?),
                (tensor::MAY_ALIAS, Kind::Result) => tensor.may_alias = Some(self.alias(value)?),
                (own, Kind::Argument) if own.starts_with("norm.") => {
                    let expected = "norm.name, norm.buffer, norm.align, norm.multiples, norm.min, norm.max, norm.sizes or norm.dims";
                    return Err(self.unknown(expected, own));
                }
                (own, Kind::Result) if own.starts_with("norm.") => {
                    let expected = "norm.name, norm.buffer, norm.align, norm.multiples, norm.min, norm.max, norm.sizes, norm.dims or norm.may_alias";
                    return Err(self.unknown(expected, own));
                }
                _ => tensor.others.push((key, value)),
            }
        }
        tensor.bounds = self.bounds(least, most)?;
        self.check_span(tensor.buffer)?;
        Ok(tensor)
    }

    fn scalar(&self, attributes: Option<DictionaryAttribute<'c>>) -> Result<Scalar<'c>, PassError<'c>> {
        let mut name = self.default_name();
        let mut default = None;
        let mut others = Vec::new();
        for index in 0..attributes.map_or(0, |attributes| attributes.len()) {
            let Some(attributes) = attributes else { break };
            let (key, value) = attributes.element(index)?;
            match key.as_string_ref().as_str().unwrap_or_default() {
                tensor::NAME => name = self.name(value)?,
                tensor::DEFAULT => default = Some(value),
                own if own.starts_with("norm.") => {
                    return Err(self.unknown("norm.name or norm.default", own));
                }
                _ => others.push((key, value)),
            }
        }
        let Some(default) = default else {
            let message = format!(
                "expected norm.default, what {} is where a launch sets none,",
                self.ty
            );
            return Err(self.wrong(message));
        };
        let is_number = default.is_integer() || default.is_float();
        if !is_number || default.r#type() != self.ty {
            let message = format!(
                "expected norm.default to be a number of type {}, got {default}",
                self.ty
            );
            return Err(self.wrong(message));
        }
        Ok(Scalar {
            name,
            ty: self.ty,
            default,
            others,
        })
    }

    fn alias(&self, value: Attribute<'c>) -> Result<String, PassError<'c>> {
        norma_dialects::string(value).map(str::to_owned).map_err(|_| {
            self.wrong(format!(
                "expected norm.may_alias to be an argument's name, got {value}"
            ))
        })
    }

    /// Refuses a buffer that, by its static extents and strides alone, spans 2^63 bytes or more or has that many bytes of elements.
    fn check_span(&self, buffer: Type<'c>) -> Result<(), PassError<'c>> {
        let bytes = types::element_bytes(types::element(buffer)).unwrap_or(1);
        let measure = |(count, end): (i64, i64), (extent, stride): (Option<i64>, Option<i64>)| {
            let (extent, stride) = (extent.unwrap_or(1).max(1), stride.unwrap_or(1));
            Some((
                count.checked_mul(extent)?,
                end.checked_add(extent.checked_mul(stride)?.checked_mul(bytes)?)?,
            ))
        };
        match extents_and_strides(buffer)
            .into_iter()
            .try_fold((bytes, 0), measure)
        {
            Some(_) => Ok(()),
            None => Err(self.wrong(format!("expected a buffer of less than 2^63 bytes, got {buffer}"))),
        }
    }

    fn contiguous(&self) -> Result<Type<'c>, PassError<'c>> {
        let shape = types::shape(self.ty).unwrap_or_default();
        types::memref(&shape, types::element(self.ty), None, None).ok_or(PassError::Reported)
    }

    fn name(&self, value: Attribute<'c>) -> Result<String, PassError<'c>> {
        norma_dialects::string(value)
            .ok()
            .filter(|name| is_identifier(name))
            .map(str::to_owned)
            .ok_or_else(|| self.wrong(format!("expected norm.name to be an identifier, got {value}")))
    }

    /// Reads `norm.buffer`: a memref of the tensor's shape and element type in the default memory space, which begins at its base
    /// address and whose strides are not negative.
    fn buffer(&self, value: Attribute<'c>) -> Result<Type<'c>, PassError<'c>> {
        let memref = TypeAttribute::try_from(value).map(|value| value.value()).ok();
        let Some(memref) = memref.filter(|ty| types::is_memref(*ty)) else {
            return Err(self.wrong(format!("expected norm.buffer to be a memref, got {value}")));
        };
        let element = types::element(self.ty);
        if types::shape(memref) != types::shape(self.ty) || types::element(memref) != element {
            return Err(self.wrong(format!("expected norm.buffer to hold {}, got {memref}", self.ty)));
        }
        if types::memory_space(memref).is_some() {
            let message = format!("{memref} for {self}; supported: buffers in the default memory space");
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        let Some((strides, offset)) = types::strides_and_offset(memref) else {
            return Err(self.wrong(format!("expected norm.buffer to have strides, got {memref}")));
        };
        if offset != Some(0) {
            let message = format!("{memref} for {self}; supported: buffers that begin at their base address");
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        if strides.iter().flatten().any(|stride| *stride < 0) {
            return Err(self.wrong(format!("expected strides that are not negative, got {memref}")));
        }
        Ok(memref)
    }

    fn alignment(&self, value: Attribute<'c>) -> Result<i64, PassError<'c>> {
        let bytes = IntegerAttribute::try_from(value).map(|value| value.value()).ok();
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0 && bytes & (bytes - 1) == 0) else {
            return Err(self.wrong(format!("expected norm.align to be a power of two, got {value}")));
        };
        if bytes > LARGEST_ALIGNMENT {
            return Err(self.wrong(format!("expected norm.align to be at most 2^31, got {value}")));
        }
        let element = types::element(self.ty);
        if types::element_bytes(element).is_some_and(|element| bytes < element) {
            return Err(self.wrong(format!(
                "expected norm.align to be at least the size of {element}, got {bytes} bytes"
            )));
        }
        Ok(bytes)
    }
}

/// The extent and the stride of each axis, outermost first; `None` where it is dynamic.
fn extents_and_strides(buffer: Type<'_>) -> Vec<(Option<i64>, Option<i64>)> {
    let shape = types::shape(buffer).unwrap_or_default();
    let strides = types::strides_and_offset(buffer).map(|(strides, _)| strides);
    shape.into_iter().zip(strides.unwrap_or_default()).collect()
}

/// Whether two elements of a buffer may have the same address, as far as static strides tell: the stride of an axis is shorter than
/// what the axes of shorter strides span. An axis of dynamic extent counts as one of two elements.
fn overlaps(buffer: Type<'_>) -> bool {
    let dims = extents_and_strides(buffer).into_iter();
    let mut dims = dims
        .map(|(extent, stride)| (stride.unwrap_or(i64::MAX), extent.unwrap_or(2)))
        .filter(|(stride, extent)| *extent > 1 && *stride != i64::MAX)
        .collect::<Vec<_>>();
    dims.sort_unstable();
    let mut span = 1_i64;
    dims.into_iter().any(|(stride, extent)| {
        let is_short = stride < span;
        span = span.saturating_add((extent - 1).saturating_mul(stride));
        is_short
    })
}
