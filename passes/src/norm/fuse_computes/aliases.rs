//! Keeps programs apart that, fused, would violate `norm.may_alias`: a result may share the memory of an argument.
//!
//! `norm-form-kernels` refuses a program that reads such an argument at other points than those that write the result. A fused
//! program may do so even if the programs that it was made of do not.

use std::collections::BTreeSet;

use melior::{
    Error,
    ir::{
        BlockLike, BlockRef, OperationRef, Value,
        attribute::{ArrayAttribute, DictionaryAttribute},
        operation::OperationLike,
    },
};
use norma_dialects::attributes::tensor;

use super::{
    graph::{Graph, Kind, Program, dims_of},
    stop::Stop,
};

/// A result of a function, and the argument that it may be the same memory as.
#[derive(Clone, Debug)]
pub(super) struct Alias<'c, 'a> {
    pub(super) result: Value<'c, 'a>,
    pub(super) argument: Value<'c, 'a>,
    name: String,
}

/// Reads `norm.may_alias` of a function's results.
pub(super) fn of<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    block: BlockRef<'c, 'a>,
    returned: &[Value<'c, 'a>],
) -> Result<Vec<Alias<'c, 'a>>, Error> {
    let text = |list: &str, index: usize, name: &str| -> Option<String> {
        let list = ArrayAttribute::try_from(function.attribute(list).ok()?).ok()?;
        let attributes = DictionaryAttribute::try_from(list.element(index).ok()?).ok()?;
        (0..attributes.len()).find_map(|position| {
            let (key, value) = attributes.element(position).ok()?;
            let is_named = key.as_string_ref().as_str() == Ok(name);
            is_named
                .then(|| norma_dialects::string(value).ok().map(str::to_owned))
                .flatten()
        })
    };
    let mut aliases = Vec::new();
    for (position, result) in returned.iter().enumerate() {
        let Some(name) = text("res_attrs", position, tensor::MAY_ALIAS) else {
            continue;
        };
        for index in 0..block.argument_count() {
            let own = text("arg_attrs", index, tensor::NAME);
            if own.unwrap_or_else(|| tensor::argument_name(index)) == name {
                aliases.push(Alias {
                    result: *result,
                    argument: block.argument(index)?.into(),
                    name: name.clone(),
                });
            }
        }
    }
    Ok(aliases)
}

/// Checks that a program which makes such a result reads the argument only at the coordinates of the write, and that nothing that
/// depends on what it reads varies over other dims or is written at points of other dims: then a loop can write each element when it
/// reads it for the last time.
pub(super) fn check<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    program: &Program<'c, 'a>,
    aliases: &[Alias<'c, 'a>],
) -> Result<(), Stop> {
    let nodes = graph.nodes_of(program);
    for alias in aliases {
        for write in program.writes.iter().filter(|write| write.tensor == alias.result) {
            let is_read = |node: &&usize| match &graph.entry(**node).kind {
                Kind::Read(tensor, _) => *tensor == alias.argument,
                _ => false,
            };
            let reads = nodes.iter().filter(is_read).copied().collect::<BTreeSet<_>>();
            let elsewhere = reads.iter().any(|node| match &graph.entry(*node).kind {
                Kind::Read(_, at) => *at != write.at,
                _ => false,
            });
            let at = write.at.iter().flat_map(|at| dims_of(*at)).collect();
            let is_wider = nodes.iter().any(|node| {
                !graph.entry(*node).dims.is_subset(&at) && !graph.reachable([*node]).is_disjoint(&reads)
            });
            let is_spread = program.writes.iter().any(|other| {
                let mut dims = other.at.iter().flat_map(|at| dims_of(*at));
                dims.any(|dim| !at.contains(&dim)) && !graph.reachable([other.value.node]).is_disjoint(&reads)
            });
            if elsewhere || is_wider || is_spread {
                return Err(Stop::Alias(alias.name.clone()));
            }
        }
    }
    Ok(())
}
