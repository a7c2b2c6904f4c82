//! The signature of a gradient. Its arguments are those of the function, followed by the gradients with respect to the function's results;
//! its results are the gradients with respect to the arguments. Each gradient has the type and sizes of its tensor, and is contiguous.

use melior::{
    Context,
    ir::{
        Attribute, AttributeLike, Identifier, OperationRef,
        attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute},
        operation::OperationLike,
    },
};
use norma_dialects::attributes::tensor;

use crate::{
    mlir::{diagnostic::Diagnostic, pass::PassError, types},
    norm::host_function::{Tensor, Tensors, entries},
};

/// The attributes that a gradient shares with the tensor that it is with respect to.
const SHARED: [&str; 5] = [
    tensor::ALIGN,
    tensor::MULTIPLES,
    tensor::MIN,
    tensor::MAX,
    tensor::SIZES,
];

/// Describes the gradient with respect to a tensor.
pub(super) fn gradient<'c>(of: &Tensor<'c>, context: &'c Context) -> Tensor<'c> {
    let name = format!("d{}", of.name);
    let shared = entries(of.attributes).filter(|(key, _)| {
        let key = key.as_string_ref();
        key.as_str().is_ok_and(|key| SHARED.contains(&key))
    });
    let own = (
        Identifier::new(context, tensor::NAME),
        StringAttribute::new(context, &name).into(),
    );
    let attributes = shared.chain([own]).collect::<Vec<_>>();
    Tensor {
        name,
        ty: of.ty,
        attributes: DictionaryAttribute::new(context, &attributes),
    }
}

/// The positions of the arguments with respect to which a function requests its gradient.
///
/// # Errors
///
/// User: the request is malformed, or names something other than an argument that is a tensor of floats.
pub(super) fn wanted<'c>(
    function: OperationRef<'c, '_>,
    asked: Attribute<'c>,
) -> Result<Vec<usize>, PassError<'c>> {
    let tensors = Tensors::of(function)?;
    let is_of_floats =
        |tensor: &Tensor<'c>| types::is_tensor(tensor.ty) && types::is_float(types::element(tensor.ty));
    let user = |message: String| PassError::from(Diagnostic::user(function.location(), message));
    let arguments = tensors.arguments.iter();
    if asked.is_unit() {
        let all = arguments.enumerate().filter(|(_, tensor)| is_of_floats(tensor));
        let all = all.map(|(position, _)| position).collect::<Vec<_>>();
        return match all.is_empty() {
            true => Err(user(
                "expected an argument that is a tensor of floats, got none".to_owned(),
            )),
            false => Ok(all),
        };
    }
    let names = ArrayAttribute::try_from(asked).ok();
    let names = names.and_then(|names| {
        let names = (0..names.len()).map(|index| norma_dialects::string(names.element(index).ok()?).ok());
        names.collect::<Option<Vec<_>>>()
    });
    let names = names.filter(|names| !names.is_empty());
    let names = names.ok_or_else(|| {
        user(format!(
            "expected norm.gradient to be an array of names of arguments, or nothing but itself, got {asked}"
        ))
    })?;
    let mut found = Vec::new();
    for name in names {
        let position = tensors.arguments.iter().position(|tensor| tensor.name == name);
        let position =
            position.ok_or_else(|| user(format!("expected the name of an argument, got '{name}'")))?;
        let ty = tensors.arguments[position].ty;
        if !is_of_floats(&tensors.arguments[position]) {
            return Err(user(format!(
                "expected an argument that is a tensor of floats, got '{name}' of {ty}"
            )));
        }
        if found.contains(&position) {
            return Err(user(format!("expected names that differ, got '{name}' again")));
        }
        found.push(position);
    }
    Ok(found)
}
