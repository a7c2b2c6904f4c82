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
//! | `norm.output` | buffers | a kernel writes it | kernels only read it |
//!
//! A function on buffers, which launches kernels, says the same of them, but for `norm.buffer`; its outputs stand for results.

mod buffer;
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

use crate::mlir::{
    diagnostic::Diagnostic,
    interval::Interval,
    pass::{PassError, PassResult},
    types,
};

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
    /// Whether kernels write it: it is a result, or has `norm.output`.
    pub(super) is_output: bool,
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
            Argument::Tensor(tensor) => tensor.attributes(context),
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
    pub(super) fn attributes(&self, context: &'c Context) -> Attribute<'c> {
        let mut attributes = self.others.clone();
        let mut add =
            |name: &str, value: Attribute<'c>| attributes.push((Identifier::new(context, name), value));
        add(tensor::NAME, StringAttribute::new(context, &self.name).into());
        if self.is_output {
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

/// The arguments of a function on tensors, and the tensors that it returns.
pub(super) fn read<'c>(
    function: OperationRef<'c, '_>,
) -> Result<(Vec<Argument<'c>>, Vec<Tensor<'c>>), PassError<'c>> {
    let ty = function_type(function)?;
    let mut reader = Reader::of(function);
    let arguments = (0..ty.input_count())
        .map(|index| reader.argument(Kind::Argument, index, ty.input(index)?))
        .collect::<Result<_, _>>()?;
    let outputs = (0..ty.result_count())
        .map(|index| reader.result(index, ty.result(index)?))
        .collect::<Result<_, _>>()?;
    Ok((arguments, outputs))
}

/// The arguments of a function on buffers.
pub(super) fn read_buffers<'c>(function: OperationRef<'c, '_>) -> Result<Vec<Argument<'c>>, PassError<'c>> {
    let ty = function_type(function)?;
    let mut reader = Reader::of(function);
    (0..ty.input_count())
        .map(|index| reader.argument(Kind::Buffer, index, ty.input(index)?))
        .collect()
}

fn function_type<'c>(function: OperationRef<'c, '_>) -> Result<FunctionType<'c>, PassError<'c>> {
    let ty = TypeAttribute::try_from(function.attribute("function_type")?)?.value();
    Ok(FunctionType::try_from(ty)?)
}

/// Reads arguments and results of a function one after the other, and refuses a name that an earlier one has.
struct Reader<'c, 'a> {
    function: OperationRef<'c, 'a>,
    names: Vec<String>,
}

impl<'c, 'a> Reader<'c, 'a> {
    fn of(function: OperationRef<'c, 'a>) -> Self {
        Self {
            function,
            names: Vec::new(),
        }
    }

    fn argument(&mut self, kind: Kind, index: usize, ty: Type<'c>) -> Result<Argument<'c>, PassError<'c>> {
        let place = self.place(kind, index, ty);
        let attributes = self.attributes("arg_attrs", index)?;
        let argument = if SCALARS.contains(&ty.to_string().as_str()) {
            Argument::Scalar(place.scalar(attributes)?)
        } else {
            Argument::Tensor(place.tensor(attributes)?)
        };
        self.add(&place, argument.name())?;
        Ok(argument)
    }

    fn result(&mut self, index: usize, ty: Type<'c>) -> Result<Tensor<'c>, PassError<'c>> {
        let place = self.place(Kind::Result, index, ty);
        let tensor = place.tensor(self.attributes("res_attrs", index)?)?;
        self.add(&place, &tensor.name)?;
        Ok(tensor)
    }

    fn place(&self, kind: Kind, index: usize, ty: Type<'c>) -> Place<'c> {
        Place {
            location: self.function.location(),
            kind,
            index,
            ty,
        }
    }

    fn attributes(&self, list: &str, index: usize) -> Result<Option<DictionaryAttribute<'c>>, PassError<'c>> {
        let Ok(list) = self.function.attribute(list) else {
            return Ok(None);
        };
        let attributes = ArrayAttribute::try_from(list)?.element(index)?;
        Ok(Some(DictionaryAttribute::try_from(attributes)?))
    }

    fn add(&mut self, place: &Place<'c>, name: &str) -> PassResult<'c> {
        if self.names.iter().any(|known| known == name) {
            let message = format!("expected names that differ, got '{name}' for {place} too");
            return Err(Diagnostic::user(place.location, message).into());
        }
        self.names.push(name.to_owned());
        Ok(())
    }
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
    /// An argument of a function on tensors.
    Argument,
    /// A result of a function on tensors.
    Result,
    /// An argument of a function on buffers.
    Buffer,
}

impl Kind {
    /// The attributes of `norm` that a tensor may have there.
    fn attributes(self) -> &'static str {
        match self {
            Kind::Argument => {
                "norm.name, norm.buffer, norm.align, norm.multiples, norm.min, norm.max, norm.sizes or norm.dims"
            }
            Kind::Result => {
                "norm.name, norm.buffer, norm.align, norm.multiples, norm.min, norm.max, norm.sizes, norm.dims or norm.may_alias"
            }
            Kind::Buffer => {
                "norm.name, norm.align, norm.multiples, norm.min, norm.max, norm.sizes, norm.dims, norm.output or norm.may_alias"
            }
        }
    }
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Argument | Kind::Buffer => "argument",
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
            Kind::Argument | Kind::Buffer => tensor::argument_name(self.index),
            Kind::Result => tensor::result_name(self.index),
        }
    }

    fn unknown(&self, expected: &str, got: &str) -> PassError<'c> {
        self.wrong(format!("expected {expected}, got {got}"))
    }

    fn tensor(&self, attributes: Option<DictionaryAttribute<'c>>) -> Result<Tensor<'c>, PassError<'c>> {
        let buffer = self.contiguous_or_given()?;
        let mut tensor = Tensor {
            name: self.default_name(),
            buffer,
            alignment: DEFAULT_ALIGNMENT,
            multiples: Vec::new(),
            bounds: Vec::new(),
            sizes: None,
            dims: None,
            is_output: self.kind == Kind::Result,
            may_alias: None,
            others: Vec::new(),
        };
        let (mut least, mut most) = (None, None);
        for index in 0..attributes.map_or(0, |attributes| attributes.len()) {
            let Some(attributes) = attributes else { break };
            let (key, value) = attributes.element(index)?;
            match (key.as_string_ref().as_str().unwrap_or_default(), self.kind) {
                (tensor::NAME, _) => tensor.name = self.name(value)?,
                (tensor::BUFFER, Kind::Argument | Kind::Result) => tensor.buffer = self.buffer(value)?,
                (tensor::ALIGN, _) => tensor.alignment = self.alignment(value)?,
                (tensor::MULTIPLES, _) => tensor.multiples = self.multiples(value)?,
                (tensor::MIN, _) => least = Some(self.numbers(tensor::MIN, value)?),
                (tensor::MAX, _) => most = Some(self.numbers(tensor::MAX, value)?),
                (tensor::SIZES, _) => tensor.sizes = Some(self.size_names(tensor::SIZES, value)?),
                (tensor::DIMS, _) => tensor.dims = Some(self.size_names(tensor::DIMS, value)?),
                (tensor::OUTPUT, Kind::Buffer) => tensor.is_output = self.output(value)?,
                (tensor::MAY_ALIAS, Kind::Result | Kind::Buffer) => {
                    tensor.may_alias = Some(self.alias(value)?);
                }
                (own, kind) if own.starts_with("norm.") => {
                    return Err(self.unknown(kind.attributes(), own));
                }
                _ => tensor.others.push((key, value)),
            }
        }
        tensor.bounds = self.bounds(least, most)?;
        self.check_span(tensor.buffer)?;
        if tensor.may_alias.is_some() && !tensor.is_output {
            return Err(
                self.wrong("expected norm.may_alias on an argument with norm.output alone, got it without")
            );
        }
        if tensor.is_output {
            self.check_apart(tensor.buffer)?;
        }
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

    /// Reads `norm.output`, which says all by being there.
    fn output(&self, value: Attribute<'c>) -> Result<bool, PassError<'c>> {
        match value.is_unit() {
            true => Ok(true),
            false => Err(self.wrong(format!("expected norm.output to be a unit, got {value}"))),
        }
    }

    fn name(&self, value: Attribute<'c>) -> Result<String, PassError<'c>> {
        norma_dialects::string(value)
            .ok()
            .filter(|name| is_identifier(name))
            .map(str::to_owned)
            .ok_or_else(|| self.wrong(format!("expected norm.name to be an identifier, got {value}")))
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
