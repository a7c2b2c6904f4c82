//! What a function of tensors says about its buffers: `norm.name`, `norm.buffer` and `norm.align`.
//!
//! | attribute | means | without it |
//! |---|---|---|
//! | `norm.name` | the tensor's name in the bundle, an identifier, once in a function | `arg<i>`, `result<i>` |
//! | `norm.buffer` | the memref with its strides | contiguous, row by row |
//! | `norm.align` | bytes; the base address and every dynamic stride are multiples | 16 |

use melior::{
    Context,
    ir::{
        Attribute, Identifier, Location, OperationRef, Type,
        attribute::{ArrayAttribute, DictionaryAttribute, IntegerAttribute, StringAttribute, TypeAttribute},
        operation::OperationLike,
        r#type::FunctionType,
    },
};

use norma_dialects::attributes::tensor;

use crate::mlir::{diagnostic::Diagnostic, pass::PassError, types};

/// The alignment that is presumed where none is given: what one 128-bit access needs.
const DEFAULT_ALIGNMENT: i64 = 16;
/// The largest alignment, in bytes, that LLVM IR can say of a pointer.
const LARGEST_ALIGNMENT: i64 = 1 << 32;

/// A tensor of the function and the buffer that holds it.
pub(super) struct Tensor<'c> {
    /// The memref.
    pub(super) buffer: Type<'c>,
    /// Bytes.
    pub(super) alignment: i64,
    name: String,
    /// Attributes that are none of ours.
    others: Vec<(Identifier<'c>, Attribute<'c>)>,
}

impl<'c> Tensor<'c> {
    /// The attributes of the argument that holds the buffer.
    pub(super) fn attributes(&self, context: &'c Context, is_output: bool) -> Attribute<'c> {
        let mut attributes = self.others.clone();
        let name = StringAttribute::new(context, &self.name);
        attributes.push((Identifier::new(context, tensor::NAME), name.into()));
        if is_output {
            attributes.push((Identifier::new(context, tensor::OUTPUT), Attribute::unit(context)));
        }
        DictionaryAttribute::new(context, &attributes).into()
    }
}

/// The tensors among a function's arguments and results. All are: anything else is an error.
pub(super) fn read<'c>(
    function: OperationRef<'c, '_>,
) -> Result<(Vec<Tensor<'c>>, Vec<Tensor<'c>>), PassError<'c>> {
    let location = function.location();
    let ty = TypeAttribute::try_from(function.attribute("function_type")?)?.value();
    let ty = FunctionType::try_from(ty)?;
    let mut names = Vec::<String>::new();
    let mut tensors = |count: usize, kind: &'static str, attributes: &str| {
        let attributes = function
            .attribute(attributes)
            .ok()
            .map(ArrayAttribute::try_from)
            .transpose()?;
        let mut tensors = Vec::new();
        for index in 0..count {
            let ty = if kind == "argument" {
                ty.input(index)?
            } else {
                ty.result(index)?
            };
            let attributes = attributes.map(|all| all.element(index)).transpose()?;
            let place = Place {
                location,
                kind,
                index,
                ty,
            };
            let tensor = place.tensor(attributes)?;
            if names.contains(&tensor.name) {
                let message = format!(
                    "expected names that differ, got '{}' for {place} too",
                    tensor.name
                );
                return Err(PassError::from(Diagnostic::user(location, message)));
            }
            names.push(tensor.name.clone());
            tensors.push(tensor);
        }
        Ok(tensors)
    };
    let inputs = tensors(ty.input_count(), "argument", "arg_attrs")?;
    let outputs = tensors(ty.result_count(), "result", "res_attrs")?;
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
    Ok((inputs, outputs))
}

/// An argument or a result of the function.
struct Place<'c> {
    location: Location<'c>,
    kind: &'static str,
    index: usize,
    ty: Type<'c>,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind, self.index)
    }
}

impl<'c> Place<'c> {
    fn wrong(&self, message: impl std::fmt::Display) -> PassError<'c> {
        Diagnostic::user(self.location, format!("{message} for {self}")).into()
    }

    fn tensor(&self, attributes: Option<Attribute<'c>>) -> Result<Tensor<'c>, PassError<'c>> {
        if !types::is_tensor(self.ty) || types::encoding(self.ty).is_some() {
            let message = format!(
                "{} as {self}; supported: ranked tensors without encoding",
                self.ty
            );
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        let default_name = format!(
            "{}{}",
            if self.kind == "argument" { "arg" } else { "result" },
            self.index
        );
        let mut tensor = Tensor {
            buffer: self.contiguous()?,
            alignment: DEFAULT_ALIGNMENT,
            name: default_name,
            others: Vec::new(),
        };
        let Some(attributes) = attributes else {
            self.check_span(tensor.buffer)?;
            return Ok(tensor);
        };
        let attributes = DictionaryAttribute::try_from(attributes)?;
        for index in 0..attributes.len() {
            let (key, value) = attributes.element(index)?;
            match key.as_string_ref().as_str().unwrap_or_default() {
                tensor::NAME => tensor.name = self.name(value)?,
                tensor::BUFFER => tensor.buffer = self.buffer(value)?,
                tensor::ALIGN => tensor.alignment = self.alignment(value)?,
                own if own.starts_with("norm.") => {
                    return Err(self.wrong(format!(
                        "expected norm.name, norm.buffer or norm.align, got {own}"
                    )));
                }
                _ => tensor.others.push((key, value)),
            }
        }
        self.check_span(tensor.buffer)?;
        Ok(tensor)
    }

    /// Refuses a buffer whose static extents and strides alone lead past the last address, or have more elements.
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

    /// The buffer's strides may be anything that addresses the tensor's elements from the base address on.
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
            return Err(self.wrong(format!("expected norm.align to be at most 2^32, got {value}")));
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

/// The extent and the stride of each dim, outermost first; `None` where only the run knows.
fn extents_and_strides(buffer: Type<'_>) -> Vec<(Option<i64>, Option<i64>)> {
    let shape = types::shape(buffer).unwrap_or_default();
    let strides = types::strides_and_offset(buffer).map(|(strides, _)| strides);
    shape.into_iter().zip(strides.unwrap_or_default()).collect()
}

/// Whether two elements of a buffer have one address as far as is static: a dim's stride is shorter than what the dims
/// of shorter strides span. A dim of dynamic extent is taken to have two points.
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

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
