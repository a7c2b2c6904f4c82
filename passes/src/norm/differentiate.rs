//! `norm-differentiate`: adds to each function that requests it a second function that computes its gradient.
//!
//! This is reverse-mode differentiation of kernel form. A copy of the function is decomposed, formed into computes and fused. After its
//! computes, from the last to the first, come their gradients ([`program`]), each again a `norm.compute` that later passes fuse, split and
//! schedule as any other. Forward values are recomputed from the function's arguments, so nothing has to be kept of the forward run. A
//! gradient is built from the scalar ops' table of derivatives ([`partial`]), from sums of products, which move factors out of reductions
//! and let terms cancel ([`sum`], [`algebra`]), and from the accesses of the function itself ([`places`]).

mod activity;
mod algebra;
mod function;
mod logistic;
mod partial;
mod places;
mod program;
mod prune;
mod reductions;
mod scans;
mod signature;
mod sum;
mod values;

use melior::ir::{
    OperationRef,
    attribute::StringAttribute,
    operation::{Operation, OperationLike},
};
use norma_dialects::{attributes::function::GRADIENT, symbol_name};

use super::host_function::{check_is_free, to_computes};
use crate::{
    mlir::{
        builder::Builder,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormDifferentiate, NormDifferentiateStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormDifferentiate>,
) -> PassResult<'c> {
    for function in walk::named(module, "func.func") {
        let Ok(asked) = function.attribute(GRADIENT) else {
            continue;
        };
        let wanted = signature::wanted(function, asked)?;
        let copy = copied(module, function)?;
        cx.run_pipeline(&to_computes(cx.options().batch_invariant), copy)?;
        function::differentiate(copy, &wanted)?;
        cx.count(NormDifferentiateStatistic::NumDifferentiated, 1);
    }
    Ok(())
}

/// Inserts a copy of a function after it, named as its gradient. Removes the request for a gradient from both.
fn copied<'c, 'a>(
    module: OperationRef<'c, 'a>,
    function: OperationRef<'c, 'a>,
) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let name = symbol_name(function)
        .ok_or_else(|| PassError::Internal("expected a function with a name".to_owned()))?;
    let name = format!("{name}_grad");
    check_is_free(module, function, &name, "this function's gradient")?;
    let b = Builder::after(function);
    b.remove_attribute(function, GRADIENT);
    // SAFETY: the function is alive, and the copy is the builder's from here on.
    let copy = b.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(function.to_raw())) });
    b.set_attribute(copy, "sym_name", StringAttribute::new(b.context(), &name).into());
    Ok(copy)
}
