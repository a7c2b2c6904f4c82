//! The gate's table: what each op of the `nvvm` level needs.
//!
//! The entries were found by generating code for each op and target with LLVM 22.1; the tests of this crate repeat that.

use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, ValueLike};
use norma_passes::mlir::{address_space, types};

use super::Need;
use super::Need::{Never, Nothing};
use crate::target::Feature;

const CP_ASYNC: Need = Need::Feature(Feature::CpAsync);
const MBARRIER: Need = Need::Feature(Feature::Mbarrier);
const TRANSACTIONS: Need = Need::Feature(Feature::MbarrierTransactions);
const BULK: Need = Need::Feature(Feature::BulkCopy);
const TMA: Need = Need::Feature(Feature::Tma);
const CLUSTERS: Need = Need::Feature(Feature::Clusters);
const CONVERT_F8: Need = Need::Feature(Feature::ConvertF8);
const CONVERT_F4: Need = Need::Feature(Feature::ConvertF4);

const UNLISTED: Need = Never("it is not among the operations this compiler generates code for");
const FOREIGN: Need = Never("only the llvm and nvvm dialects reach code generation");
const NOT_LOWERED: Need =
    Never("no pass lowers it on these types; dialects/norm/norm.md lists the scalar ops of kernels");
const NO_LIBRARY: Need = Never("there is no device library; use an approximation of the nvvm intrinsics");
const NOT_FAST: Need = Never("only its approximation exists; it needs fastmath<afn> and f32");

/// NVVM ops, without their `nvvm.`: those of every target, then those that need a feature. A name that ends in `.` is a
/// prefix.
const NVVM: &[(&str, Need)] = &[
    ("bar.warp.sync", Nothing),
    ("barrier", Nothing),
    ("barrier0", Nothing),
    ("barrier.arrive", Nothing),
    ("breakpoint", Nothing),
    ("convert.float.to.tf32", Nothing),
    ("exit", Nothing),
    ("match.sync", Nothing),
    ("memory.barrier", Nothing),
    ("nanosleep", Nothing),
    ("prmt", Nothing),
    ("rcp.approx.ftz.f", Nothing),
    ("read.ptx.sreg.cluster.", CLUSTERS),
    ("read.ptx.sreg.clusterid.", CLUSTERS),
    ("read.ptx.sreg.nclusterid.", CLUSTERS),
    ("read.ptx.sreg.aggr.smem.size", CLUSTERS),
    ("read.ptx.sreg.", Nothing),
    ("shfl.sync", Nothing),
    ("vote.sync", Nothing),
    ("cp.async.shared.global", CP_ASYNC),
    ("cp.async.commit.group", CP_ASYNC),
    ("cp.async.wait.group", CP_ASYNC),
    ("cp.async.mbarrier.arrive", MBARRIER),
    ("mbarrier.init", MBARRIER),
    ("mbarrier.inval", MBARRIER),
    ("mbarrier.arrive", MBARRIER),
    ("mbarrier.arrive.nocomplete", MBARRIER),
    ("mbarrier.test.wait", MBARRIER),
    ("mbarrier.arrive.expect_tx", TRANSACTIONS),
    ("mbarrier.expect_tx", TRANSACTIONS),
    ("mbarrier.complete_tx", TRANSACTIONS),
    ("mbarrier.try_wait", TRANSACTIONS),
    ("mbarrier.try_wait.parity", TRANSACTIONS),
    ("fence.mbarrier.init", TRANSACTIONS),
    ("fence.proxy", TRANSACTIONS),
    ("cp.async.bulk.tensor.", TMA),
    ("cp.async.bulk.", BULK),
    ("cluster.", CLUSTERS),
    ("fence.sc.cluster", CLUSTERS),
    ("mapa", CLUSTERS),
    ("elect.sync", Need::Feature(Feature::ElectSync)),
    ("griddepcontrol", Need::Feature(Feature::DependentLaunch)),
    ("setmaxregister", Need::Feature(Feature::SetMaxRegisters)),
    ("convert.f16x2.to.f8x2", CONVERT_F8),
    ("convert.f8x2.to.f16x2", CONVERT_F8),
    ("convert.bf16x2.to.f8x2", CONVERT_F4),
    ("convert.f32x2.to.f6x2", CONVERT_F4),
    ("convert.f32x2.to.f4x2", CONVERT_F4),
    ("convert.f32x2.to.f16x2", Nothing),
    ("convert.f32x2.to.bf16x2", Nothing),
];

/// Ops of the LLVM dialect that every target supports.
const LLVM: &str = "\
    add addrspacecast alloca and ashr bitcast br call cond_br extractelement extractvalue fadd fcmp fdiv \
    fmul fneg fpext fptosi fptoui fptrunc freeze fsub getelementptr icmp insertelement insertvalue \
    inttoptr load lshr mlir.addressof mlir.constant mlir.global mlir.poison mlir.undef mlir.zero mul or \
    ptrtoint return sdiv select sext shl shufflevector sitofp srem store sub switch trunc udiv uitofp \
    unreachable urem xor zext";

/// Intrinsic ops of the LLVM dialect, without their `intr.`, that every target supports.
const INTRINSICS: &str = "\
    abs assume bitreverse bswap ceil copysign ctlz ctpop cttz expect fabs floor fma fmuladd fshl fshr \
    lifetime.end lifetime.start maximum maxnum memcpy memset minimum minnum nearbyint rint roundeven \
    sadd.with.overflow smax smin smul.with.overflow sqrt ssub.with.overflow trunc uadd.with.overflow \
    umax umin umul.with.overflow usub.with.overflow vector.reduce.add vector.reduce.and \
    vector.reduce.fadd vector.reduce.fmax vector.reduce.fmaximum vector.reduce.fmin \
    vector.reduce.fminimum vector.reduce.fmul vector.reduce.mul vector.reduce.or vector.reduce.smax \
    vector.reduce.smin vector.reduce.umax vector.reduce.umin vector.reduce.xor";

/// Intrinsics of `llvm.call_intrinsic`. A name that ends in `.` is a prefix.
const CALLED: &[(&str, Need)] = &[
    ("llvm.nvvm.add.rn.", Nothing),
    ("llvm.nvvm.cos.approx.", Nothing),
    ("llvm.nvvm.div.approx.", Nothing),
    ("llvm.nvvm.div.full", Nothing),
    ("llvm.nvvm.div.full.", Nothing),
    ("llvm.nvvm.ex2.approx.", Nothing),
    ("llvm.nvvm.fma.rn.", Nothing),
    ("llvm.nvvm.fmax.", Nothing),
    ("llvm.nvvm.fmin.", Nothing),
    ("llvm.nvvm.lg2.approx.", Nothing),
    ("llvm.nvvm.mul.rn.", Nothing),
    ("llvm.nvvm.prmt", Nothing),
    ("llvm.nvvm.rcp.approx.", Nothing),
    ("llvm.nvvm.rsqrt.approx.", Nothing),
    ("llvm.nvvm.sin.approx.", Nothing),
    ("llvm.nvvm.sqrt.approx.", Nothing),
    ("llvm.nvvm.sqrt.rn.", Nothing),
];

/// Instructions in inline assembly. LLVM does not look at them; listing them here replaces ptxas's complaint about a line of
/// PTX by a diagnostic at a line of the source.
const INLINE: &[(&str, Need)] = &[
    ("cp.async.bulk.tensor", TMA),
    ("cp.async.bulk", BULK),
    ("griddepcontrol", Need::Feature(Feature::DependentLaunch)),
    ("setmaxnreg", Need::Feature(Feature::SetMaxRegisters)),
    ("elect.sync", Need::Feature(Feature::ElectSync)),
    ("mbarrier.try_wait", TRANSACTIONS),
    ("st.async", CLUSTERS),
    ("shared::cluster", CLUSTERS),
    (".f32x2", Need::Feature(Feature::PackedF32)),
    (".v8.b32", Need::Feature(Feature::WideAccess)),
    (".v8.f32", Need::Feature(Feature::WideAccess)),
    (".v4.b64", Need::Feature(Feature::WideAccess)),
];

/// The needs of an op: that of its kind, and those of its attributes and types.
pub(super) fn of(op: OperationRef) -> Vec<Need> {
    let name = norma_dialects::op_name(op);
    let kind = match name.split_once('.') {
        _ if matches!(name, "nvvm.inline_ptx" | "llvm.inline_asm") => return of_assembly_op(op, name),
        Some(("nvvm", name)) => of_nvvm(op, name),
        Some(("llvm", name)) => of_llvm(op, name),
        _ if matches!(name, "gpu.module" | "builtin.module" | "gpu.module_end") => Nothing,
        Some(("arith" | "math", _)) => NOT_LOWERED,
        _ => FOREIGN,
    };
    let mut needs = vec![kind];
    if kind == Nothing && touches_cluster(op) {
        needs.push(CLUSTERS);
    }
    needs
}

/// The needs of inline assembly: those of all its instructions, and that of its operands.
fn of_assembly_op(op: OperationRef, name: &str) -> Vec<Need> {
    let attribute = match name {
        "nvvm.inline_ptx" => "ptxCode",
        _ => "asm_string",
    };
    let mut needs = text(op, attribute).map_or_else(|| vec![UNLISTED], of_assembly);
    if touches_cluster(op) && !needs.contains(&CLUSTERS) {
        needs.push(CLUSTERS);
    }
    needs
}

/// Whether a value of the op is a pointer to the cluster's shared memory.
fn touches_cluster(op: OperationRef) -> bool {
    let is_of_cluster = |ty| types::address_space(ty) == Some(address_space::CLUSTER_SHARED);
    op.operands().any(|value| is_of_cluster(value.r#type()))
        || op.results().any(|value| is_of_cluster(value.r#type()))
        || op.has_attribute("nvvm.cluster_dim")
}

fn of_nvvm(op: OperationRef, name: &str) -> Need {
    match name {
        "redux.sync" if op.result(0).is_ok_and(|result| types::is_f32(result.r#type())) => {
            Need::Feature(Feature::ReduxF32)
        }
        "redux.sync" => Need::Feature(Feature::ReduxInteger),
        "convert.f32x2.to.f8x2" => match attribute(op, "dstTy") {
            Some(scale) if scale.contains("f8E8M0") => CONVERT_F4,
            _ => CONVERT_F8,
        },
        "prefetch" if op.has_attribute("tensormap") => TMA,
        "prefetch" => Nothing,
        _ => look_up(NVVM, name),
    }
}

fn of_llvm(op: OperationRef, name: &str) -> Need {
    match name {
        "func" => Nothing,
        "call_intrinsic" => text(op, "intrin").map_or(UNLISTED, |intrinsic| look_up(CALLED, intrinsic)),
        "atomicrmw" | "cmpxchg" | "fence" => of_scope(op),
        _ => match name.strip_prefix("intr.") {
            Some(intrinsic) => of_intrinsic(op, intrinsic),
            None if listed(LLVM, name) => Nothing,
            None => UNLISTED,
        },
    }
}

fn of_intrinsic(op: OperationRef, name: &str) -> Need {
    match name {
        "tanh" | "sin" | "cos" => match attribute(op, "fastmathFlags") {
            Some(flags) if is_f32(op) && (flags.contains("afn") || flags.contains("<fast>")) => Nothing,
            _ => NOT_FAST,
        },
        "exp2" if is_f32(op) => Nothing,
        "exp" | "exp2" | "exp10" | "log" | "log2" | "log10" | "pow" | "powi" | "tan" | "asin" | "acos"
        | "atan" | "atan2" | "sinh" | "cosh" | "round" => NO_LIBRARY,
        _ if listed(INTRINSICS, name) => Nothing,
        _ => UNLISTED,
    }
}

/// The NVPTX backend aborts on scopes other than its own.
fn of_scope(op: OperationRef) -> Need {
    match text(op, "syncscope") {
        None | Some("" | "block" | "device" | "singlethread") => Nothing,
        Some("cluster") => CLUSTERS,
        Some(_) => Never("expected syncscope block, cluster, device or none"),
    }
}

fn of_assembly(code: &str) -> Vec<Need> {
    let present = INLINE.iter().filter(|(mnemonic, _)| code.contains(mnemonic));
    let present: Vec<_> = present.collect();
    // A mnemonic that begins another one's says nothing that the longer one does not.
    let is_begun = |mnemonic: &str| {
        present
            .iter()
            .any(|(other, _)| *other != mnemonic && other.starts_with(mnemonic))
    };
    let mut needs = Vec::new();
    for (mnemonic, need) in &present {
        if !is_begun(mnemonic) && !needs.contains(need) {
            needs.push(*need);
        }
    }
    needs
}

fn is_f32(op: OperationRef) -> bool {
    op.result(0)
        .is_ok_and(|result| types::is_f32(types::element(result.r#type())))
}

fn look_up(table: &[(&str, Need)], name: &str) -> Need {
    let entry = table
        .iter()
        .find(|(entry, _)| *entry == name || (entry.ends_with('.') && name.starts_with(entry)));
    entry.map_or(UNLISTED, |(_, need)| *need)
}

fn listed(names: &str, name: &str) -> bool {
    names.split(' ').any(|listed| listed == name)
}

fn text<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<&'c str> {
    op.attribute(name).and_then(norma_dialects::string).ok()
}

fn attribute(op: OperationRef, name: &str) -> Option<String> {
    op.attribute(name)
        .ok()
        .map(|attribute: Attribute| attribute.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assembly_needs_what_each_of_its_instructions_needs() {
        assert_eq!(of_assembly("mov.u32 $0, %laneid;"), []);
        assert_eq!(
            of_assembly("griddepcontrol.wait; setmaxnreg.inc.sync.aligned.u32 240;"),
            [
                Need::Feature(Feature::DependentLaunch),
                Need::Feature(Feature::SetMaxRegisters)
            ]
        );
        assert_eq!(
            of_assembly("st.async.shared::cluster.b32 [$0], $1, [$2]; fma.rn.f32x2 $3, $4, $5, $6;"),
            [CLUSTERS, Need::Feature(Feature::PackedF32)]
        );
        assert_eq!(
            of_assembly("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$1, $2}], [$3];"),
            [TMA]
        );
        assert_eq!(
            of_assembly("ld.global.v8.b32 {$0}, [$1]; ld.global.v8.f32 {$2}, [$3];").len(),
            1
        );
    }
}
