//! Code emission of hand-written modules at the `nvvm` level, for every target.

use melior::Context;
use melior::ir::{BlockLike, Module, OperationRef};
use norma_compiler::emit::llvm_ir::LlvmContext;
use norma_compiler::emit::{Assembler, Cubin, gate, ptx};
use norma_compiler::target::{Feature, TARGETS};
use norma_compiler::{Kind, Result, Target, registry};

/// A context that discards diagnostics.
fn context() -> Context {
    let context = Context::new_with_registry(&registry::dialects(), false);
    context.attach_diagnostic_handler(|_| true);
    context
}

/// A kernel whose body is statements over `%x`, a global pointer, and `%s`, a shared one. ptxas knows its registers at entry, as
/// `setmaxnreg` needs it.
fn kernel(body: &str) -> String {
    format!(
        "gpu.module @m {{
           llvm.mlir.global internal @shared() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<64 x i32>
           llvm.func @k(%x: !llvm.ptr<1>, %f: f32, %i: i32) attributes {{gpu.kernel, nvvm.kernel,
               nvvm.maxnreg = 128 : i32, nvvm.reqntid = array<i32: 128>}} {{
             %s = llvm.mlir.addressof @shared : !llvm.ptr<3>
             {body}
             llvm.return
           }}
         }}"
    )
}

fn emit(module: OperationRef, target: &Target) -> Result<String> {
    gate::check(module, target)?;
    let llvm = LlvmContext::new();
    let machine = ptx::target_machine(target)?;
    let translated = llvm.translate(module, "m", &machine)?;
    let optimised = llvm.optimize(translated, &machine, target)?;
    ptx::generate(&llvm, &optimised, &machine)
}

fn assemble(ptx: &str, target: &Target) -> Result<Cubin> {
    Assembler::locate(None, target)?.assemble(ptx, "m", target)
}

const ADD_ONE: &str = "
    %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %r = llvm.fadd %v, %f : f32
    llvm.store %r, %x {alignment = 4 : i64} : f32, !llvm.ptr<1>";

#[test]
fn a_kernel_becomes_a_cubin_for_every_target() {
    let context = context();
    let source = kernel(ADD_ONE);
    let module = Module::parse(&context, &source).unwrap();
    let module = module.body().first_operation().unwrap();
    for target in TARGETS {
        let ptx = emit(module, target).unwrap();
        assert!(
            ptx.contains(&format!(".target {}", target.architecture())),
            "{ptx}"
        );
        let cubin = assemble(&ptx, target).unwrap();
        assert!(cubin.bytes.starts_with(b"\x7fELF"));
        assert_eq!(cubin.kernels[0].symbol, "k");
        assert!(cubin.kernels[0].registers > 0);
        assert_eq!(cubin.kernels[0].spill_bytes, 0);
    }
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    let target = Target::parse("sm_90a").unwrap();
    let emit_once = || {
        let context = context();
        let source = kernel(ADD_ONE);
        let module = Module::parse(&context, &source).unwrap();
        assemble(
            &emit(module.body().first_operation().unwrap(), target).unwrap(),
            target,
        )
        .unwrap()
    };
    assert!(
        emit_once().bytes == emit_once().bytes,
        "two cubins of one module differ"
    );
}

#[test]
fn ptx_that_does_not_assemble_is_an_error_with_the_log() {
    let target = Target::parse("sm_90a").unwrap();
    let error = assemble(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.entry k() { nonsense; }\n",
        target,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "internal compiler error: the PTX of 'm' does not assemble for sm_90a"
    );
    assert!(
        error.notes().iter().any(|note| note.contains("nonsense")),
        "{:?}",
        error.notes()
    );
}

/// One op for each feature, as the target gate maps them.
const GATED: &[(Feature, &str)] = &[
    (Feature::CpAsync, "nvvm.cp.async.shared.global %s, %x, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>"),
    (Feature::Mbarrier, "nvvm.mbarrier.init %s, %i : !llvm.ptr<3>, i32"),
    (Feature::ReduxInteger, "%r = nvvm.redux.sync add %i, %i : i32 -> i32 llvm.store %r, %x : i32, !llvm.ptr<1>"),
    (
        Feature::ConvertF8,
        "%r = nvvm.convert.f32x2.to.f8x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>}
           : i16 (f8E4M3FN)
         llvm.store %r, %x : i16, !llvm.ptr<1>",
    ),
    (
        Feature::ConvertF8,
        "%b = llvm.mlir.constant(dense<1> : vector<2xi8>) : vector<2xi8>
         %r = nvvm.convert.f8x2.to.f16x2 %b : vector<2xi8> (f8E5M2) -> vector<2xf16>
         llvm.store %r, %x : vector<2xf16>, !llvm.ptr<1>",
    ),
    (Feature::MbarrierTransactions, "nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32"),
    (
        Feature::MbarrierTransactions,
        "%r = nvvm.mbarrier.try_wait %s, %i : !llvm.ptr<3>, i32 -> i1 llvm.store %r, %x : i1, !llvm.ptr<1>",
    ),
    (Feature::MbarrierTransactions, "nvvm.fence.mbarrier.init"),
    (
        Feature::MbarrierTransactions,
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
    ),
    (
        Feature::BulkCopy,
        "nvvm.cp.async.bulk.shared.cluster.global %s, %x, %s, %i : !llvm.ptr<3>, !llvm.ptr<1>",
    ),
    (Feature::BulkCopy, "nvvm.cp.async.bulk.global.shared.cta %x, %s, %i : !llvm.ptr<1>, !llvm.ptr<3>"),
    (Feature::BulkCopy, "nvvm.cp.async.bulk.commit.group nvvm.cp.async.bulk.wait_group 0 {read}"),
    (
        Feature::Tma,
        "%g = llvm.addrspacecast %x : !llvm.ptr<1> to !llvm.ptr
         nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %g, %s, box[%i, %i] {isCTAOnly = true}
           : !llvm.ptr<3>, !llvm.ptr",
    ),
    (
        Feature::Tma,
        "%g = llvm.addrspacecast %x : !llvm.ptr<1> to !llvm.ptr nvvm.prefetch tensormap, %g : !llvm.ptr",
    ),
    (Feature::Clusters, "nvvm.cluster.arrive.relaxed {aligned} nvvm.cluster.wait {aligned}"),
    (
        Feature::Clusters,
        "%r = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<7> llvm.store %f, %r : f32, !llvm.ptr<7>",
    ),
    (
        Feature::Clusters,
        "%r = nvvm.read.ptx.sreg.cluster.ctarank : i32 llvm.store %r, %x : i32, !llvm.ptr<1>",
    ),
    (Feature::ElectSync, "%r = nvvm.elect.sync -> i1 llvm.store %r, %x : i1, !llvm.ptr<1>"),
    (Feature::DependentLaunch, "nvvm.griddepcontrol wait"),
    (Feature::SetMaxRegisters, "nvvm.setmaxregister decrease 24"),
    (
        Feature::PackedF32,
        "%r = llvm.inline_asm \"add.rn.f32x2 $0, $1, $1;\", \"=l,l\" %w : (i64) -> i64
         llvm.store %r, %x : i64, !llvm.ptr<1>",
    ),
    (
        Feature::ReduxF32,
        "%m = llvm.mlir.constant(-1 : i32) : i32
         %r = nvvm.redux.sync fmax %f, %m : f32 -> f32 llvm.store %r, %x : f32, !llvm.ptr<1>",
    ),
    (
        Feature::ConvertF4,
        "%r = nvvm.convert.f32x2.to.f4x2 %f, %f : i8 (f4E2M1FN) llvm.store %r, %x : i8, !llvm.ptr<1>",
    ),
    (
        Feature::ConvertF4,
        "%r = nvvm.convert.f32x2.to.f8x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>}
           : i16 (f8E8M0FNU)
         llvm.store %r, %x : i16, !llvm.ptr<1>",
    ),
];

#[test]
fn every_gated_op_is_generated_where_the_table_has_it_and_refused_elsewhere() {
    let context = context();
    for (feature, body) in GATED {
        let source = kernel(&format!("%w = llvm.zext %i : i32 to i64 {body}"));
        let module = Module::parse(&context, &source).unwrap_or_else(|| panic!("does not parse: {body}"));
        let module = module.body().first_operation().unwrap();
        for target in TARGETS {
            let result = emit(module, target);
            if target.has(*feature) {
                let ptx = result.unwrap_or_else(|error| panic!("{} on {}: {error}", body, target.name));
                assemble(&ptx, target)
                    .unwrap_or_else(|error| panic!("{body} on {}: {:?}", target.name, error.notes()));
            } else {
                assert_eq!(
                    result.unwrap_err().kind(),
                    Kind::Unsupported,
                    "{body} on {}",
                    target.name
                );
            }
        }
    }
}

/// Ops on which LLVM would end the process for any target.
const REFUSED: &[&str] = &[
    "%r = llvm.intr.tanh(%f) : (f32) -> f32 llvm.store %r, %x : f32, !llvm.ptr<1>",
    "%r = llvm.intr.exp(%f) : (f32) -> f32 llvm.store %r, %x : f32, !llvm.ptr<1>",
    "%r = llvm.intr.log2(%f) : (f32) -> f32 llvm.store %r, %x : f32, !llvm.ptr<1>",
    "%r = llvm.frem %f, %f : f32 llvm.store %r, %x : f32, !llvm.ptr<1>",
    "%r = llvm.atomicrmw fadd %x, %f syncscope(\"workgroup\") monotonic : !llvm.ptr<1>, f32",
];

#[test]
fn what_the_backend_cannot_select_is_refused_on_every_target() {
    let context = context();
    for body in REFUSED {
        let source = kernel(body);
        let module = Module::parse(&context, &source).unwrap_or_else(|| panic!("does not parse: {body}"));
        for target in TARGETS {
            let error = emit(module.body().first_operation().unwrap(), target).unwrap_err();
            assert_eq!(error.kind(), Kind::Unsupported, "{body} on {}", target.name);
        }
    }
}
