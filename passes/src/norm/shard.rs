//! `norm-shard`: splits a function whose tensors are sharded over several devices into functions that each device runs, with collectives
//! between them.
//!
//! The function is first lowered to computes. The dims that devices share follow from the axes that are sharded ([`axes`]). Each reduction
//! over such a dim is split into one over a device's share and one over the devices ([`reductions`]); the partial results in between,
//! called states, are exchanged by the devices with an all-gather ([`exchanges`]). The function becomes a sequence of *runs*. For each
//! round of exchanges there is one that ends with the states of the round, and a last one takes the states of all rounds and computes the
//! results. Each run has the ops that it needs ([`needs`], [`emit`]), on shards ([`function`]).
//!
//! Each device combines the states of all devices, in the same order and by the same kernel, so all get the same bits. A run recomputes
//! what it needs of the values of an earlier run: only states cross between runs.

mod axes;
mod emit;
mod exchanges;
mod function;
mod needs;
mod reductions;

use axes::Axes;
use function::Sharded;
use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::{
    attributes::{function::GRADIENT, tensor::DEVICES},
    symbol_name,
};

use super::host_function::{self, Tensors, check_is_free, to_computes};
use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormShard, NormShardStatistic},
};

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, NormShard>) -> PassResult<'c> {
    for function in walk::named(module, "func.func") {
        if let Some((devices, asked)) = axes::asked(function)? {
            if function.attribute(GRADIENT).is_ok() {
                let message = format!(
                    "expected norm-differentiate to have run on a function with {GRADIENT} and {DEVICES}"
                );
                return Err(Diagnostic::user(function.location(), message).into());
            }
            // After CSE, equal states are exchanged once.
            let to_computes = to_computes(cx.options().batch_invariant);
            cx.run_pipeline(&format!("{to_computes},canonicalize,cse"), function)?;
            shard(module, function, devices, &asked)?;
            cx.count(NormShardStatistic::NumSharded, 1);
        }
    }
    Ok(())
}

/// Replaces a function by its runs on one device.
fn shard<'c>(
    module: OperationRef<'c, '_>,
    function: OperationRef<'c, '_>,
    devices: i64,
    asked: &[axes::Asked],
) -> PassResult<'c> {
    let body = host_function::body(function, "shards of a function")?;
    let axes = Axes::of(function, &body, devices, asked)?;
    let mut dims = Vec::new();
    for (compute, shared) in body.computes.iter().zip(&axes.dims) {
        let of_devices = match shared {
            Some(shared) => reductions::take_apart(*compute, *shared, devices)?,
            None => None,
        };
        dims.push((*shared, of_devices));
    }
    let programs = exchanges::programs(&body, &dims)?;
    let exchanges = exchanges::exchanges(&programs)?;
    let Some(rounds) = exchanges.iter().map(|exchange| exchange.round).max() else {
        let message = format!(
            "expected a reduction over an axis with {DEVICES}, got a function in which no device needs what others have; compile it \
             for the shape of a shard"
        );
        return Err(Diagnostic::user(function.location(), message).into());
    };
    let sharded = Sharded {
        function,
        body: &body,
        axes: &axes,
        programs: &programs,
        exchanges: &exchanges,
        tensors: &Tensors::of(function)?,
    };
    sharded.check_names()?;
    let own = symbol_name(function)
        .ok_or_else(|| PassError::Internal("expected a function with a name".to_owned()))?;
    let rounds = (1..=rounds).map(Some).chain([None]);
    for round in rounds {
        let name = run_name(own, round);
        check_is_free(module, function, &name, "a run of this function on one device")?;
        sharded.run(&name, round)?;
    }
    Builder::before(function).erase(function);
    Ok(())
}

/// The name of the run that ends with the states of a round, or, with `None`, of the last run.
fn run_name(function: &str, round: Option<usize>) -> String {
    match round {
        Some(1) => format!("{function}_partial"),
        Some(round) => format!("{function}_partial{round}"),
        None => format!("{function}_rest"),
    }
}
