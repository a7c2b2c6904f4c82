//! The generated views, over ops that were parsed and ops that they built.

use std::sync::mpsc::channel;

use melior::{
    Context,
    dialect::DialectRegistry,
    ir::{
        Attribute, Block, BlockLike, Location, Module, OperationRef, RegionLike, Type, ValueLike,
        attribute::{ArrayAttribute, DenseI64ArrayAttribute},
        operation::OperationLike,
    },
    utility::register_all_dialects,
};
use norma_dialects::{
    gl, norm,
    norm::{CachePlace, Level, ReduceKind, ScheduleAttr},
};

const KERNEL: &str = "
  norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
    %0 = norm.read %x[%m, %n] : memref<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %y[%m] : memref<?xf32>
  }";

fn context() -> Context {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    norma_dialects::register(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context
}

/// The ops of the kernel's block.
fn body_of<'c, 'a>(kernel: norm::KernelOp<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let mut ops = Vec::new();
    let mut next = kernel
        .body()
        .ok()
        .and_then(|body| body.first_block())
        .and_then(|block| block.first_operation());
    while let Some(op) = next {
        ops.push(op);
        next = op.next_in_block();
    }
    ops
}

#[test]
fn a_view_reads_operands_attributes_and_regions() {
    let context = context();
    let module = Module::parse(&context, KERNEL).unwrap();
    let kernel = norm::KernelOp::from_op(module.body().first_operation().unwrap()).unwrap();
    assert_eq!(kernel.sym_name(), Ok("sum"));
    assert_eq!(kernel.sizes(), Ok(vec![0, 0]));
    assert_eq!(kernel.extents().unwrap().result_count(), 2);
    assert_eq!(kernel.schedule(), None);

    let ops = body_of(kernel);
    let read = norm::ReadOp::from_op(ops[0]).unwrap();
    assert_eq!(read.indices().len(), 2);
    let reduce = norm::ReduceOp::from_op(ops[1]).unwrap();
    assert_eq!(reduce.kind(), Some(ReduceKind::Add));
    assert_eq!(reduce.values(), vec![read.result().unwrap()]);
    assert_eq!(reduce.dims(), read.indices()[1..]);
    let write = norm::WriteOp::from_op(ops[2]).unwrap();
    assert_eq!(write.value().unwrap(), reduce.results()[0]);
}

#[test]
fn a_view_is_of_its_own_op_only() {
    let context = context();
    let module = Module::parse(&context, KERNEL).unwrap();
    assert_eq!(
        norm::ReadOp::from_op(module.body().first_operation().unwrap()),
        None
    );
}

#[test]
fn a_builder_makes_ops_that_verify_and_infers_their_types() {
    let context = context();
    let location = Location::unknown(&context);
    let f32 = Type::float32(&context);
    let block = Block::new(&[(f32, location)]);
    let value = block.argument(0).unwrap().into();
    let cache = norm::CacheOp::build(location, value, CachePlace::Shared).unwrap();
    assert!(cache.verify());
    let cache = norm::CacheOp::from_op(block.append_operation(cache)).unwrap();
    assert_eq!(cache.place(), Ok(CachePlace::Shared));
    assert_eq!(cache.result().unwrap().r#type(), f32);
}

#[test]
fn a_builder_sets_segment_sizes_and_leaves_defaults_to_the_op() {
    let context = context();
    let location = Location::unknown(&context);
    let row = Type::parse(&context, "tensor<8x16xf32>").unwrap();
    let bias = Type::parse(&context, "tensor<16xf32>").unwrap();
    let block = Block::new(&[(row, location), (bias, location)]);
    let (x, b) = (
        block.argument(0).unwrap().into(),
        block.argument(1).unwrap().into(),
    );
    let op = norm::RMSNormOp::build(
        location,
        x,
        None,
        Some(b),
        None,
        None,
        None,
        Some(1.0e-5),
        None,
        row,
        None,
    )
    .unwrap();
    assert!(op.verify());
    let op = norm::RMSNormOp::from_op(block.append_operation(op)).unwrap();
    assert_eq!((op.weight(), op.bias(), op.axes()), (None, Some(b), Ok(vec![-1])));
    assert!((op.eps().unwrap() - 1.0e-5).abs() < 1.0e-9);
}

#[test]
fn attributes_round_trip_their_parameters() {
    let context = context();
    // Pairs of level and size for each dim; 0 for no size.
    let grid = DenseI64ArrayAttribute::new(&context, &[Level::Grid as i64, 0]);
    let row = DenseI64ArrayAttribute::new(&context, &[Level::Loop as i64, 0, Level::Lane as i64, 32]);
    let spread = ArrayAttribute::new(&context, &[grid.into(), row.into()]).into();
    let schedule = ScheduleAttr::get(
        &context,
        spread,
        &[CachePlace::Register as i64, CachePlace::L2 as i64],
        norm::CopyMechanism::Load,
        1,
        64,
        3,
        0,
        0,
        1,
        norm::HandOut::Static,
        true,
        false,
        &[Level::Cluster as i64, Level::Loop as i64],
        4,
        -1,
    );
    assert_eq!(
        schedule.to_string(),
        "#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [register, l2], unroll_bytes = 64, held_steps = 3, \
         dependent_launch = true, merge_reductions = [cluster, loop], min_ctas_per_sm = 4>"
    );
    let parsed =
        ScheduleAttr::try_from(melior::ir::Attribute::parse(&context, &schedule.to_string()).unwrap());
    assert_eq!(parsed, Ok(schedule));
    assert_eq!(schedule.spread(), spread);
    assert_eq!(schedule.keep(), &[1, 4]);
    assert_eq!(
        (
            schedule.dependent_launch(),
            schedule.early_reads(),
            schedule.merge_reductions(),
            schedule.min_ctas_per_sm()
        ),
        (true, false, &[2, 3][..], 4)
    );

    let blocked = gl::BlockedAttr::get(&context, &[1, 8], &[1, 32], &[1, 4], &[1, 0], &[]);
    assert_eq!(
        (blocked.size_per_thread(), blocked.ctas_per_cluster()),
        (&[1, 8][..], &[][..])
    );
    let memory = gl::MemDescType::get(
        &context,
        &[4, 8],
        Type::float32(&context),
        gl::PlainAttr::get(&context, &[1, 0], 0, 0).into(),
    );
    assert_eq!(
        (memory.shape(), memory.element_type()),
        (&[4, 8][..], Type::float32(&context))
    );
}

#[test]
fn bad_parameters_give_no_attribute_and_say_why() {
    let context = context();
    let (said, hear) = channel();
    context.attach_diagnostic_handler(move |diagnostic| said.send(diagnostic.to_string()).is_ok());
    let location = Location::unknown(&context);
    let blocked = gl::BlockedAttr::get_checked(location, &[1, 3], &[1, 32], &[1, 4], &[1, 0], &[]);
    assert_eq!(blocked, None);
    assert_eq!(hear.try_recv().unwrap(), "expected powers of two, got 3");
}

#[test]
fn operands_and_results_are_found_by_their_names() {
    let context = context();
    let source = "
      %x, %b = \"test.values\"() : () -> (tensor<4x8xf32>, tensor<8xf32>)
      %y, %rstd = norm.rms_norm %x bias(%b : tensor<8xf32>) : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf32>";
    context.set_allow_unregistered_dialects(true);
    let module = Module::parse(&context, source).unwrap();
    let values = module.body().first_operation().unwrap();
    let op = values.next_in_block().unwrap();
    let operands = norm::operands_by_name(op).unwrap();
    let found: Vec<_> = operands
        .iter()
        .map(|(name, values)| (*name, values.len()))
        .collect();
    let expected = [
        ("x", 1),
        ("weight", 0),
        ("bias", 1),
        ("lengths", 0),
        ("runtime_eps", 0),
    ];
    assert_eq!(found, expected);
    assert_eq!(operands[2].1[0], values.result(1).unwrap().into());
    let results = norm::results_by_name(op).unwrap();
    assert_eq!(
        results.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["y", "rstd"]
    );
    assert_eq!(norm::operands_by_name(values), None);
}

// What C and C++ build an attribute by, which take any number for an enum.
unsafe extern "C" {
    fn normaGlCacheAttrGet(context: mlir_sys::MlirContext, l1: u32, l2: u32) -> mlir_sys::MlirAttribute;
}

#[test]
fn a_number_that_an_enum_has_no_case_for_is_an_error() {
    let context = context();
    // SAFETY: the context is alive, and numbers are all that the attribute holds.
    let cache = unsafe { Attribute::from_raw(normaGlCacheAttrGet(context.to_raw(), 2, 99)) };
    let cache = gl::CacheAttr::from_attribute(cache).unwrap();
    assert_eq!(cache.l1(), Ok(gl::EvictionPolicy::Last));
    assert!(cache.l2().is_err());
}
