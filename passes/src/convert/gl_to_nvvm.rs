//! `convert-gl-to-nvvm`: one CTA's program on tiles becomes one thread's program.
//!
//! A tile becomes the vector of the registers that its layout gives a thread, `index` becomes i64, a buffer becomes a pointer.
//! `function` rebuilds the kernel around its body. The rest is a dialect conversion with one pattern for each op, in the file
//! of its topic. Structured control flow is kept, and the values that it carries are converted. Ops that have no pattern yet
//! are rejected by name.

mod access;
mod affine;
mod async_copy;
mod buffer;
mod bulk;
mod cluster;
mod covering;
mod draw;
mod elementwise;
mod emit;
mod empty_groups;
mod float8;
mod form;
mod function;
mod gather;
mod global;
mod guards;
mod mbarrier;
mod narrow;
mod packed;
mod params;
mod partitions;
mod places;
mod reduce;
mod redux;
mod reshape;
mod scan;
mod scatter;
mod shared;
mod shuffle;
mod tensor;
mod threads;
mod tile;
mod words;

use std::collections::BTreeSet;

use melior::ir::{Attribute, OperationRef, Type, ValueLike, operation::OperationLike, r#type::IntegerType};
use norma_dialects::{
    attributes::kernel as kernel_attribute,
    gl::{MBarrierType, MemDescType, TensorMapType, WarpSpecializeOp},
};
use norma_targets::Target;

use crate::{
    mlir::{
        address_space,
        builder::Builder,
        conversion::{Conversion, Rejection},
        diagnostic::Diagnostic,
        pass::{PassContext, PassResult},
        types, walk,
    },
    table::ConvertGlToNvvm,
};

use emit::{Emit, Value};

/// A pattern: the op, its converted operands, and a builder before the op.
type Pattern =
    for<'c, 'a> fn(OperationRef<'c, 'a>, &[Value<'c, 'a>], &Builder<'c, 'a>) -> Result<(), Rejection<'c>>;

/// A pattern that depends on the target.
type TargetPattern = for<'c, 'a> fn(
    OperationRef<'c, 'a>,
    &[Value<'c, 'a>],
    &Builder<'c, 'a>,
    &Target,
) -> Result<(), Rejection<'c>>;

const PATTERNS: [(&str, Pattern); 51] = [
    ("gl.load", global::load),
    ("gl.gather", gather::gather),
    ("gl.store", global::store),
    ("gl.scatter", scatter::scatter),
    ("gl.scan", scan::scan),
    ("gl.broadcast", reshape::broadcast),
    ("gl.convert_layout", reshape::convert_layout),
    ("gl.coordinates", reshape::coordinates),
    ("gl.mask", reshape::mask),
    ("gl.optimization_barrier", reshape::optimization_barrier),
    ("gl.local_alloc", |op, _, b| shared::alloc(op, b)),
    ("gl.memdesc_index", shared::memdesc_index),
    ("gl.memdesc_reshape", |op, operands, b| {
        b.replace(op, operands);
        Ok(())
    }),
    ("gl.local_store", shared::local_store),
    ("gl.local_load", shared::local_load),
    ("gl.barrier", |op, _, b| shared::barrier(op, b)),
    ("gl.mbarrier_alloc", |op, _, b| shared::alloc(op, b)),
    ("gl.mbarrier_init", mbarrier::init),
    ("gl.mbarrier_expect", mbarrier::expect),
    ("gl.mbarrier_arrive", mbarrier::arrive),
    ("gl.mbarrier_wait", mbarrier::wait),
    ("gl.fence_mbarrier_init", |op, _, b| mbarrier::fence_init(op, b)),
    ("gl.async_copy", async_copy::copy),
    ("gl.async_commit", |op, _, b| async_copy::commit(op, b)),
    ("gl.async_wait", |op, _, b| async_copy::wait(op, b)),
    ("gl.bulk_load", bulk::load),
    ("gl.tail_load", bulk::load_tail),
    ("gl.bulk_store", bulk::store),
    ("gl.bulk_commit", |op, _, b| bulk::commit(op, b)),
    ("gl.bulk_wait", |op, _, b| bulk::wait(op, b)),
    ("gl.fence_async", |op, _, b| bulk::fence(op, b)),
    ("gl.draw_tile", draw::draw),
    ("gl.await_tile", draw::wait),
    ("gl.tensor_map", |op, _, b| tensor::map(op, b)),
    ("gl.tensor_load", tensor::load),
    ("gl.tensor_store", tensor::store),
    ("gl.cluster_rank", |op, _, b| cluster::rank(op, b)),
    ("gl.cluster_arrive", |op, _, b| cluster::arrive(op, b)),
    ("gl.cluster_wait", |op, _, b| cluster::wait(op, b)),
    ("gl.remote_store", cluster::remote_store),
    ("gl.remote_arrive", cluster::remote_arrive),
    ("gl.grid_dependency_wait", |op, _, b| {
        grid_dependency(op, "wait", b)
    }),
    ("gl.grid_dependency_launch", |op, _, b| {
        grid_dependency(op, "launch_dependents", b)
    }),
    ("tensor.splat", reshape::splat),
    ("tensor.extract", reshape::extract),
    ("affine.apply", affine::apply),
    ("gpu.block_id", |op, _, b| block_id(op, b)),
    ("gpu.return", |op, _, b| {
        b.op("llvm.return", &[], &[]);
        b.erase(op);
        Ok(())
    }),
    ("memref.dim", |op, _, b| dim(op, b)),
    ("arith.index_cast", elementwise::elementwise),
    ("arith.index_castui", elementwise::elementwise),
];

const TARGET_PATTERNS: [(&str, TargetPattern); 2] = [
    ("gl.reduce", reduce::reduce),
    ("gl.warp_reduce", reduce::warp_reduce),
];

/// The ops of structured control flow that carry values, whose types are converted.
const LOOPS_AND_BRANCHES: [&str; 3] = ["scf.for", "scf.if", "scf.while"];

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, ConvertGlToNvvm>) -> PassResult<'c> {
    let target = &cx.options().target;
    let target = Target::parse(target).map_err(|error| Diagnostic::user(module.location(), &error))?;
    let kernels = walk::named(module, "gpu.func");
    for kernel in &kernels {
        reject_unsupported(*kernel)?;
    }
    for kernel in kernels {
        if let Ok(warps) = kernel
            .attribute(kernel_attribute::NUM_WARPS)
            .and_then(norma_dialects::integer)
        {
            partitions::lower(kernel, warps)?;
        }
        narrow::reductions(kernel)?;
        function::lower(kernel, target)?;
    }
    let int = |bits| -> Type<'c> { IntegerType::new(cx.context(), bits).into() };
    let convert = move |ty: Type<'c>| {
        if types::is_index(ty) || types::is_float8(ty) {
            Some(tile::llvm_element(ty, int))
        } else if types::is_memref(ty) {
            Some(melior::dialect::llvm::r#type::pointer(
                cx.context(),
                address_space::GLOBAL,
            ))
        } else if MemDescType::from_type(ty).is_some() || MBarrierType::from_type(ty).is_some() {
            Some(melior::dialect::llvm::r#type::pointer(
                cx.context(),
                address_space::SHARED,
            ))
        } else if TensorMapType::from_type(ty).is_some() {
            Some(melior::dialect::llvm::r#type::pointer(
                cx.context(),
                address_space::GENERIC,
            ))
        } else if types::is_tensor(ty) {
            tile::converted(ty, int)
        } else {
            Some(ty)
        }
    };
    let is_lowered = move |op: OperationRef<'c, '_>| {
        let legal = |ty: Type<'c>| convert(ty) == Some(ty);
        op.operands().all(|operand| legal(operand.r#type()))
            && op.results().all(|result| legal(result.r#type()))
    };
    let mut conversion = Conversion::new(cx);
    conversion.type_rule(convert);
    for dialect in ["gl", "gpu", "tensor", "memref", "affine"] {
        conversion.illegal_dialect(dialect);
    }
    for op in ["gpu.module", "builtin.unrealized_conversion_cast"] {
        conversion.legal_op(op);
    }
    for dialect in ["llvm", "nvvm", "vector"] {
        conversion.legal_dialect(dialect);
    }
    for dialect in ["arith", "math"] {
        conversion.legal_dialect_if(dialect, is_lowered);
    }
    conversion.structured_control_flow();
    for name in LOOPS_AND_BRANCHES {
        // Upstream checks the types of results only, but an induction variable is an index too.
        conversion.legal_op_if(name, is_lowered);
    }
    for (name, pattern) in PATTERNS {
        conversion.pattern(name, pattern);
    }
    for (name, pattern) in TARGET_PATTERNS {
        conversion.pattern(name, move |op, operands, b| pattern(op, operands, b, target));
    }
    for name in elementwise_names(module) {
        conversion.pattern(name, elementwise::elementwise);
    }
    conversion.apply(module)?;
    for kernel in walk::named(module, "llvm.func") {
        partitions::count_threads_from_partitions(kernel)?;
        empty_groups::erase(walk::entry_block(kernel)?)?;
    }
    Ok(())
}

/// The ops that have a pattern.
fn with_pattern() -> impl Iterator<Item = &'static str> {
    let names = PATTERNS.iter().map(|(name, _)| *name);
    names.chain(TARGET_PATTERNS.iter().map(|(name, _)| *name))
}

/// The ops of arith and math in use, which all lower the same way.
fn elementwise_names<'c>(module: OperationRef<'c, '_>) -> BTreeSet<&'c str> {
    walk::pre_order(module)
        .into_iter()
        .map(norma_dialects::op_name)
        .filter(|name| name.starts_with("arith.") || name.starts_with("math."))
        .filter(|name| with_pattern().all(|special| special != *name))
        .collect()
}

/// Reports an op that is declared but not lowered yet.
fn reject_unsupported<'c>(kernel: OperationRef<'c, '_>) -> Result<(), Diagnostic<'c>> {
    for op in walk::pre_order(kernel) {
        let name = norma_dialects::op_name(op);
        let lowered =
            with_pattern().any(|known| known == name) || ["gl.yield", WarpSpecializeOp::NAME].contains(&name);
        let foreign = name.starts_with("cf.")
            || name.starts_with("scf.")
                && !LOOPS_AND_BRANCHES.contains(&name)
                && !["scf.yield", "scf.condition"].contains(&name);
        if (name.starts_with("gl.") && !lowered) || foreign {
            let known = with_pattern()
                .filter(|known| known.starts_with("gl."))
                .collect::<Vec<_>>();
            return Err(Diagnostic::unsupported(
                op.location(),
                format!(
                    "expected an op that is lowered to NVVM ({}), got {name}",
                    known.join(", ")
                ),
            ));
        }
    }
    Ok(())
}

fn block_id<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let dimension = op.attribute("dimension")?.to_string();
    if !dimension.contains('x') {
        return Err(e
            .unsupported(format!(
                "expected a one-dimensional grid, got block_id along {dimension}"
            ))
            .into());
    }
    let id = b.value("nvvm.read.ptx.sreg.ctaid.x", &[], e.int(32));
    b.replace(op, &[e.widen(id)]);
    Ok(())
}

fn grid_dependency<'c, 'a>(
    op: OperationRef<'c, 'a>,
    action: &str,
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let kind = Attribute::parse(b.context(), &format!("#nvvm<grid_dep_action {action}>"))
        .ok_or("expected an action of a dependent launch")?;
    b.replace_by(op, "nvvm.griddepcontrol", &[("kind", kind)]);
    Ok(())
}

fn dim<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let axis = params::constant_index(op.operand(1)?).ok_or("expected a constant axis")?;
    let size = buffer::Buffer::of(&e, op, op.operand(0)?)?.size(&e, axis as usize)?;
    b.replace(op, &[size]);
    Ok(())
}
