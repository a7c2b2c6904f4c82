//! A function on tensors, before these become buffers: its computes, and the types and attributes of its arguments and results.

use melior::ir::{
    Attribute, BlockLike, BlockRef, Identifier, OperationRef, RegionLike, Type,
    attribute::{ArrayAttribute, DictionaryAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::FunctionType,
};
use norma_dialects::{attributes::tensor, norm::ComputeOp, op_name};

use crate::mlir::{
    builder::Builder,
    context,
    diagnostic::Diagnostic,
    pass::{PassError, PassResult},
    walk,
};

/// The passes after which a function consists of computes alone; with `any_rows`, of computes that do not depend on the number of rows.
pub(super) fn to_computes(any_rows: bool) -> String {
    format!("norm-decompose,norm-form-computes,norm-fuse-computes{{batch-invariant={any_rows}}}")
}

/// The body of a function that consists of computes.
pub(super) struct Body<'c, 'a> {
    pub(super) block: BlockRef<'c, 'a>,
    /// In order.
    pub(super) computes: Vec<ComputeOp<'c, 'a>>,
    /// The `func.return`.
    pub(super) end: OperationRef<'c, 'a>,
}

/// Reads the body of a function; `wanted` is what messages call that which is to be made of it.
///
/// # Errors
///
/// Unsupported: the function has ops other than computes, control flow or no body.
pub(super) fn body<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    wanted: &str,
) -> Result<Body<'c, 'a>, PassError<'c>> {
    let refused = |at: OperationRef<'c, 'a>, what: &str| {
        let message =
            format!("{wanted} with {what}; supported: functions of one block, of what becomes norm.compute");
        PassError::from(Diagnostic::unsupported(at.location(), message))
    };
    let block = function.region(0)?.first_block();
    let block = block.ok_or_else(|| refused(function, "no body"))?;
    let mut computes = Vec::new();
    for op in walk::in_block(block) {
        if let Some(compute) = ComputeOp::from_op(op) {
            computes.push(compute);
        } else if walk::has_name(op, "func.return") && block.next_in_region().is_none() {
            let end = op;
            return Ok(Body { block, computes, end });
        } else {
            return Err(refused(op, &format!("'{}'", op_name(op))));
        }
    }
    Err(refused(function, "control flow"))
}

/// An argument or a result of a function.
#[derive(Clone, Debug)]
pub(super) struct Tensor<'c> {
    /// Its name in the bundle.
    pub(super) name: String,
    pub(super) ty: Type<'c>,
    pub(super) attributes: DictionaryAttribute<'c>,
}

/// The arguments and the results of a function.
pub(super) struct Tensors<'c> {
    pub(super) arguments: Vec<Tensor<'c>>,
    pub(super) results: Vec<Tensor<'c>>,
}

impl<'c> Tensors<'c> {
    pub(super) fn of(function: OperationRef<'c, '_>) -> Result<Self, PassError<'c>> {
        let ty = TypeAttribute::try_from(function.attribute("function_type")?)?.value();
        let ty = FunctionType::try_from(ty)?;
        let arguments = (0..ty.input_count()).map(|index| {
            let attributes = attributes(function, "arg_attrs", index)?;
            Ok(named(attributes, &tensor::argument_name(index), ty.input(index)?))
        });
        let results = (0..ty.result_count()).map(|index| {
            let attributes = attributes(function, "res_attrs", index)?;
            Ok(named(attributes, &tensor::result_name(index), ty.result(index)?))
        });
        Ok(Self {
            arguments: arguments.collect::<Result<_, PassError<'c>>>()?,
            results: results.collect::<Result<_, PassError<'c>>>()?,
        })
    }

    /// Sets the type of a function, whose block has the arguments already, and the attributes of its arguments and results.
    pub(super) fn set(&self, function: OperationRef<'c, '_>) {
        let b = Builder::before(function);
        let context = b.context();
        let types = |tensors: &[Tensor<'c>]| tensors.iter().map(|tensor| tensor.ty).collect::<Vec<_>>();
        let attributes = |tensors: &[Tensor<'c>]| {
            let attributes = tensors.iter().map(|tensor| tensor.attributes.into());
            ArrayAttribute::new(context, &attributes.collect::<Vec<_>>()).into()
        };
        let ty = FunctionType::new(context, &types(&self.arguments), &types(&self.results));
        b.set_attribute(function, "function_type", TypeAttribute::new(ty.into()).into());
        b.set_attribute(function, "arg_attrs", attributes(&self.arguments));
        b.set_attribute(function, "res_attrs", attributes(&self.results));
    }
}

/// The attributes of a dictionary, each with its name.
pub(super) fn entries<'c>(
    attributes: DictionaryAttribute<'c>,
) -> impl Iterator<Item = (Identifier<'c>, Attribute<'c>)> {
    (0..attributes.len()).filter_map(move |index| attributes.element(index).ok())
}

/// Refuses a name for a function that is derived from `function`, if a symbol of the module has it already. `meaning` follows "which
/// is the name of" in the message.
pub(super) fn check_is_free<'c>(
    module: OperationRef<'c, '_>,
    function: OperationRef<'c, '_>,
    name: &str,
    meaning: &str,
) -> PassResult<'c> {
    let same = |op: &OperationRef<'c, '_>| norma_dialects::symbol_name(*op) == Some(name);
    if let Some(other) = walk::pre_order(module).into_iter().find(same) {
        let message = format!("expected no other '{name}', which is the name of {meaning}");
        return Err(Diagnostic::user(function.location(), message)
            .note(other.location(), "it is here")
            .into());
    }
    Ok(())
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
