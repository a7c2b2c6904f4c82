//! Addresses, loads, stores and atomic operations of the LLVM dialect.

use super::{GLOBAL, I, J, SHARED, X, code, decodes, problems};
use crate::program::*;

#[test]
fn element_addresses_add_up_constants() {
    decodes! {
        "%0 = llvm.getelementptr %global[%j, 1, 2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, \
         !llvm.struct<(i8, array<4 x f32>)>" => [Instruction::Constant { value: 12, to: 12 },
            Instruction::Address { to: 11, a: GLOBAL, b: J, bits: 64, scale: 20 },
            Instruction::Address { a: 11, b: 12, bits: 64, scale: 1, .. }];
        "%0 = llvm.getelementptr %global[0, %i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<8 x bf16>" => [Instruction::Address { a: GLOBAL, b: I, bits: 32, scale: 2, .. }];
        "%c = llvm.mlir.constant(-3 : i32) : i32
         %0 = llvm.getelementptr %global[%c] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>" => [Instruction::Constant { value: 0xffff_ffff_ffff_ffd0, .. },
            Instruction::Address { a: GLOBAL, scale: 1, .. }];
    }
}

#[test]
fn loads_and_stores() {
    decodes! {
        "%0 = llvm.load %global : !llvm.ptr<1> -> f32" => [Instruction::Load {
            space: Space::Global,
            order: MemoryOrder { strong: false, .. },
            invariant: false,
            bytes: 4,
            address: GLOBAL,
            align: 4,
            guard: None,
            ..
        }];
        "%0 = llvm.load %global invariant {alignment = 2 : i64} : !llvm.ptr<1> -> f32" => [Instruction::Load { invariant: true, align: 2, .. }];
        "%0 = llvm.load volatile %generic : !llvm.ptr -> i8" => [Instruction::Load { space: Space::Generic, order: MemoryOrder { strong: true, .. }, bytes: 1, .. }];
        "%0 = llvm.load %shared atomic syncscope(\"block\") acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32" => [Instruction::Load {
                space: Space::Shared,
                order: MemoryOrder { acquire: true, release: false, strong: true, cta: true },
                ..
            }];
        "llvm.store %x, %cluster : f32, !llvm.ptr<7>" => [Instruction::Store { space: Space::Cluster, bytes: 4, address: SHARED, align: 4, .. }];
        "llvm.store %i, %global atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>" => [Instruction::Store { order: MemoryOrder { acquire: false, release: true, strong: true, cta: false }, .. }];
    }
}

#[test]
fn masked_accesses_are_guarded_component_by_component() {
    decodes! {
        "%m = llvm.mlir.constant(dense<true> : vector<2xi1>) : vector<2xi1>
         %v = llvm.bitcast %j : i64 to vector<2xf32>
         %0 = llvm.intr.masked.load %global, %m, %v {alignment = 4 : i32} \
         : (!llvm.ptr<1>, vector<2xi1>, vector<2xf32>) -> vector<2xf32>" => [
            Instruction::Load { address: GLOBAL, bytes: 4, guard: Some(_), .. },
            Instruction::Address { a: GLOBAL, .. },
            Instruction::Copy { to: kept, .. },
            Instruction::Load { to, guard: Some(_), .. }
        ] if to[..] == [*kept];
        "%m = llvm.mlir.constant(dense<true> : vector<1xi1>) : vector<1xi1>
         %v = llvm.bitcast %x : f32 to vector<1xf32>
         llvm.intr.masked.store %v, %global, %m {alignment = 2 : i32} \
         : vector<1xf32>, vector<1xi1> into !llvm.ptr<1>" =>
            [Instruction::Store { from, align: 2, guard: Some(_), .. }] if from[..] == [X];
    }
}

/// Whether the loads of a kernel with a pointer of those attributes are invariant.
fn invariant(attributes: &str, body: &str) -> Vec<bool> {
    let text = format!(
        "llvm.func @kernel(%a: !llvm.ptr<1> {{{attributes}}}, %x: f32) attributes {{nvvm.kernel}} {{
           %b = llvm.getelementptr %a[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
           {body}
           llvm.return
         }}"
    );
    let program = super::parse(&text, "invariant.mlir").unwrap_or_else(|error| unreachable!("{error}"));
    program.kernels[0]
        .code
        .iter()
        .filter_map(|instruction| match instruction {
            Instruction::Load { invariant, .. } => Some(*invariant),
            _ => None,
        })
        .collect()
}

#[test]
fn loads_of_memory_that_is_only_read_are_invariant() {
    let load = "%0 = llvm.load %b : !llvm.ptr<1> -> f32";
    let both = "%0 = llvm.load %b : !llvm.ptr<1> -> f32
                llvm.store %x, %a : f32, !llvm.ptr<1>";
    assert_eq!(invariant("llvm.noalias, llvm.readonly", load), [true]);
    assert_eq!(invariant("llvm.noalias", load), [true]);
    assert_eq!(invariant("llvm.noalias", both), [false]);
    // LLVM expands a masked load into loads before it looks for invariant ones.
    let masked = "%m = llvm.mlir.constant(dense<true> : vector<1xi1>) : vector<1xi1>
                  %v = llvm.bitcast %x : f32 to vector<1xf32>
                  %0 = llvm.intr.masked.load %b, %m, %v {alignment = 4 : i32} \
                  : (!llvm.ptr<1>, vector<1xi1>, vector<1xf32>) -> vector<1xf32>";
    assert_eq!(invariant("llvm.noalias", masked), [true]);
    let stored = format!("{masked}\n llvm.store %x, %a : f32, !llvm.ptr<1>");
    assert_eq!(invariant("llvm.noalias", &stored), [false]);
    assert_eq!(invariant("llvm.readonly", load), [false]);
    let volatile = "%0 = llvm.load volatile %b : !llvm.ptr<1> -> f32";
    assert_eq!(invariant("llvm.noalias, llvm.readonly", volatile), [false]);
}

/// The components, bytes per component and alignment of the accesses of a load.
fn pieces(ty: &str, align: u32) -> Vec<(usize, u8, u32)> {
    code(&format!(
        "%0 = llvm.load %global {{alignment = {align} : i64}} : !llvm.ptr<1> -> {ty}"
    ))
    .iter()
    .filter_map(|instruction| match instruction {
        Instruction::Load { to, bytes, align, .. } => Some((to.len(), *bytes, *align)),
        _ => None,
    })
    .collect()
}

#[test]
fn wide_values_are_accessed_in_pieces_that_their_alignment_allows() {
    assert_eq!(pieces("vector<16xbf16>", 32), [(8, 2, 32), (8, 2, 16)]);
    assert_eq!(pieces("vector<4xf32>", 8), [(2, 4, 8), (2, 4, 8)]);
    assert_eq!(pieces("vector<3xf32>", 16), [(2, 4, 16), (1, 4, 8)]);
    assert_eq!(pieces("vector<2xf32>", 2), [(1, 4, 2), (1, 4, 2)]);
    assert_eq!(pieces("!llvm.struct<(i8, f64)>", 8), [(1, 1, 8), (1, 8, 8)]);
}

#[test]
fn vectors_of_bits_are_not_accessed() {
    let found = problems("%0 = llvm.load %global : !llvm.ptr<1> -> vector<8xi1>");
    assert!(found[0].message.contains("8 components of 1 bits"), "{found:?}");
}

#[test]
fn atomic_operations() {
    decodes! {
        "%0 = llvm.atomicrmw fadd %global, %x monotonic : !llvm.ptr<1>, f32" => [Instruction::Atomic {
            space: Space::Global,
            order: MemoryOrder { strong: true, acquire: false, release: false, cta: false },
            op: AtomicOp::Add,
            format: AtomicFormat::Float(Format::F32),
            to: Some(_),
            address: GLOBAL,
            operand: X,
            expected: None,
            guard: None,
        }];
        "%0 = llvm.atomicrmw max %global, %i acq_rel : !llvm.ptr<1>, i32" => [Instruction::Atomic {
            order: MemoryOrder { acquire: true, release: true, .. },
            op: AtomicOp::Max,
            format: AtomicFormat::Signed(32),
            ..
        }];
        "%0 = llvm.atomicrmw umin %global, %i monotonic : !llvm.ptr<1>, i32" => [Instruction::Atomic { op: AtomicOp::Min, format: AtomicFormat::Unsigned(32), .. }];
        "%0 = llvm.atomicrmw sub %global, %i monotonic : !llvm.ptr<1>, i32" => [Instruction::Integer { op: IntegerOp::Sub, bits: 32, a: SHARED, b: I, .. },
            Instruction::Atomic { op: AtomicOp::Add, format: AtomicFormat::Unsigned(32), .. }];
        "%v = llvm.bitcast %i : i32 to vector<2xbf16>
         %0 = llvm.atomicrmw fadd %global, %v monotonic : !llvm.ptr<1>, vector<2xbf16>" => [Instruction::Repack { to_bits: 32, .. },
            Instruction::Atomic { op: AtomicOp::Add, format: AtomicFormat::Pair(Format::BF16), .. },
            Instruction::Repack { to_bits: 16, .. }];
        "%0 = llvm.cmpxchg %global, %i, %i acq_rel monotonic : !llvm.ptr<1>, i32" => [Instruction::Atomic { op: AtomicOp::CompareAndSwap, expected: Some(I), operand: I, .. },
            Instruction::CompareInteger { predicate: IntegerPredicate::Eq, b: I, .. }];
        "llvm.fence syncscope(\"block\") acq_rel" => [Instruction::Fence(Fence::AcquireRelease { cta: true })];
        "llvm.fence seq_cst" => [Instruction::Fence(Fence::AcquireRelease { cta: false })];
    }
    assert_eq!(
        problems("%0 = llvm.atomicrmw nand %global, %i monotonic : !llvm.ptr<1>, i32").len(),
        1
    );
}

#[test]
fn memory_of_a_thread_is_not_modelled() {
    assert_eq!(
        problems("%0 = llvm.alloca %i x i32 : (i32) -> !llvm.ptr<5>").len(),
        1
    );
}
