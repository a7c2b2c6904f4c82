//! What the gradient of a function takes and gives: the function's arguments, then the gradients with respect to its results; and the
//! gradients with respect to its arguments. Each is of the type of its tensor, contiguous, and has the same sizes.

use melior::{
    Context,
    ir::{
        Attribute, AttributeLike, Identifier, OperationRef, Type,
        attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute, TypeAttribute},
        operation::OperationLike,
        r#type::FunctionType,
    },
};
use norma_dialects::attributes::tensor;

use crate::mlir::{builder::Builder, context, diagnostic::Diagnostic, pass::PassError, types};

/// What a gradient has in common with the tensor that it is with respect to.
const SHARED: [&str; 4] = [tensor::ALIGN, tensor::MULTIPLES, tensor::MIN, tensor::MAX];

/// An argument or a result of a function.
#[derive(Clone, Debug)]
pub(super) struct Tensor<'c> {
    /// Its name in the bundle.
    pub(super) name: String,
    pub(super) ty: Type<'c>,
    attributes: DictionaryAttribute<'c>,
}

/// The arguments and the results of a function.
pub(super) struct Tensors<'c> {
    pub(super) arguments: Vec<Tensor<'c>>,
    pub(super) results: Vec<Tensor<'c>>,
}

impl<'c> Tensor<'c> {
    /// The gradient with respect to it.
    pub(super) fn gradient(&self, context: &'c Context) -> Self {
        let name = format!("d{}", self.name);
        let shared = entries(self.attributes).filter(|(key, _)| {
            let key = key.as_string_ref();
            key.as_str().is_ok_and(|key| SHARED.contains(&key))
        });
        let own = (
            Identifier::new(context, tensor::NAME),
            StringAttribute::new(context, &name).into(),
        );
        let attributes = shared.chain([own]).collect::<Vec<_>>();
        Self {
            name,
            ty: self.ty,
            attributes: DictionaryAttribute::new(context, &attributes),
        }
    }
}

impl<'c> Tensors<'c> {
    pub(super) fn of(function: OperationRef<'c, '_>) -> Result<Self, PassError<'c>> {
        let ty = TypeAttribute::try_from(function.attribute("function_type")?)?.value();
        let ty = FunctionType::try_from(ty)?;
        let arguments = (0..ty.input_count()).map(|index| {
            let attributes = attributes(function, "arg_attrs", index)?;
            Ok(named(attributes, &format!("arg{index}"), ty.input(index)?))
        });
        let results = (0..ty.result_count()).map(|index| {
            let attributes = attributes(function, "res_attrs", index)?;
            Ok(named(attributes, &format!("result{index}"), ty.result(index)?))
        });
        Ok(Self {
            arguments: arguments.collect::<Result<_, PassError<'c>>>()?,
            results: results.collect::<Result<_, PassError<'c>>>()?,
        })
    }

    /// Gives the function, whose block has the arguments by now, another type.
    pub(super) fn set(
        self,
        function: OperationRef<'c, '_>,
        further: Vec<Tensor<'c>>,
        results: Vec<Tensor<'c>>,
    ) {
        let b = Builder::before(function);
        let context = b.context();
        let arguments = [self.arguments, further].concat();
        let types = |tensors: &[Tensor<'c>]| tensors.iter().map(|tensor| tensor.ty).collect::<Vec<_>>();
        let attributes = |tensors: &[Tensor<'c>]| {
            let attributes = tensors.iter().map(|tensor| tensor.attributes.into());
            ArrayAttribute::new(context, &attributes.collect::<Vec<_>>()).into()
        };
        let ty = FunctionType::new(context, &types(&arguments), &types(&results));
        b.set_attribute(function, "function_type", TypeAttribute::new(ty.into()).into());
        b.set_attribute(function, "arg_attrs", attributes(&arguments));
        b.set_attribute(function, "res_attrs", attributes(&results));
    }
}

/// The positions of the arguments that a function asks for the gradient with respect to.
///
/// # Errors
///
/// User: what is asked for is no tensor of floats of the function.
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

fn named<'c>(attributes: DictionaryAttribute<'c>, default: &str, ty: Type<'c>) -> Tensor<'c> {
    let name = entries(attributes).find(|(key, _)| key.as_string_ref().as_str() == Ok(tensor::NAME));
    let name = name.and_then(|(_, name)| norma_dialects::string(name).ok().map(str::to_owned));
    Tensor {
        name: name.unwrap_or_else(|| default.to_owned()),
        ty,
        attributes,
    }
}

fn entries<'c>(attributes: DictionaryAttribute<'c>) -> impl Iterator<Item = (Identifier<'c>, Attribute<'c>)> {
    (0..attributes.len()).filter_map(move |index| attributes.element(index).ok())
}

/// The attributes of an argument or a result.
fn attributes<'c>(
    function: OperationRef<'c, '_>,
    list: &str,
    index: usize,
) -> Result<DictionaryAttribute<'c>, PassError<'c>> {
    let Ok(list) = function.attribute(list) else {
        return Ok(DictionaryAttribute::new(context::of(function.location()), &[]));
    };
    Ok(DictionaryAttribute::try_from(
        ArrayAttribute::try_from(list)?.element(index)?,
    )?)
}
