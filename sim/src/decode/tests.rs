//! Tests of decoding: small modules, and the code that they decode to.

use super::{DecodeError, Problem, ProblemKind, parse};
use crate::program::*;

mod llvm;
mod memory;
mod nvvm;
mod ptx;

/// A module with one kernel of that body, whose arguments and variables it may name.
fn kernel_text(body: &str) -> String {
    format!(
        "llvm.mlir.global internal @shared() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<8 x i64>
         llvm.func @kernel(%global: !llvm.ptr<1> {{llvm.align = 16 : i64}}, %generic: !llvm.ptr, %i: i32, %j: i64, \
         %h: i16, %p: i1, %x: f32, %y: f32, %d: f64, \
         %map: !llvm.ptr {{llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant, llvm.align = 64 : i64}}) \
         attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 64>, nvvm.minctasm = 16 : i32}} {{
         %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
         %cluster = llvm.addrspacecast %shared : !llvm.ptr<3> to !llvm.ptr<7>
         {body}
         }}"
    )
}

// The registers of the arguments.
const GLOBAL: Register = 0;
const GENERIC: Register = 1;
const I: Register = 2;
const J: Register = 3;
const H: Register = 4;
const P: Register = 5;
const X: Register = 6;
const Y: Register = 7;
const D: Register = 8;
const MAP: Register = 9;
/// The address of the variable in shared memory, which is 0 and so also the register of that constant.
const SHARED: Register = 10;

fn decode(body: &str) -> Result<Program, DecodeError> {
    parse(&kernel_text(body), "kernel.mlir")
}

/// The instructions of a body, constants first and without the `llvm.return` that is added.
fn code(body: &str) -> Vec<Instruction> {
    let program = decode(&format!("{body}\nllvm.return")).unwrap_or_else(|error| unreachable!("{error}"));
    let mut code = program.kernels[0].code.clone();
    assert_eq!(code.pop(), Some(Instruction::Return));
    code
}

/// The problems in a body.
fn problems(body: &str) -> Vec<Problem> {
    match decode(&format!("{body}\nllvm.return")) {
        Err(DecodeError::Problems(problems)) => problems,
        other => unreachable!("{body}: {other:?}"),
    }
}

/// Asserts that each text is decoded to code that ends with instructions of those patterns.
macro_rules! decodes {
    ($($text:expr => [$($pattern:pat),+] $(if $guard:expr)?;)+) => { $({
        let code = $crate::decode::tests::code($text);
        assert!(matches!(&code[..], [.., $($pattern),+] $(if $guard)?), "{}\n{code:#?}", $text);
    })+ };
}
use decodes;

#[test]
fn a_kernel_has_its_parameters_and_bounds() {
    let program = decode("llvm.return").unwrap_or_default();
    let kernel = &program.kernels[0];
    assert_eq!(kernel.required_block, Some([64, 1, 1]));
    assert_eq!(
        kernel.entry_registers,
        Some(64),
        "a sixteenth of 65536 for each of 64 threads"
    );
    let kinds: Vec<_> = kernel.parameters.iter().map(|parameter| parameter.kind).collect();
    assert_eq!(
        kinds[..3],
        [
            ParameterKind::Pointer { align: 16 },
            ParameterKind::Pointer { align: 1 },
            ParameterKind::Scalar { bits: 32 },
        ]
    );
    assert_eq!(kinds[9], ParameterKind::TensorMap);
    assert_eq!(kernel.parameters[9].register, MAP);
}

#[test]
fn shared_variables_lie_in_the_order_of_the_module_and_dynamic_memory_after_them() {
    let text = |ops: &str| {
        format!(
            "llvm.mlir.global internal @a() {{addr_space = 3 : i32}} : !llvm.array<3 x i8>
             llvm.mlir.global internal @unused() {{addr_space = 3 : i32}} : !llvm.array<64 x i8>
             llvm.mlir.global internal @b() {{addr_space = 3 : i32, alignment = 8 : i64}} : f32
             llvm.mlir.global external @dynamic() {{addr_space = 3 : i32, alignment = 128 : i64}} : !llvm.array<0 x i8>
             llvm.func @kernel() attributes {{nvvm.kernel}} {{ {ops} llvm.return }}"
        )
    };
    let name = |name: &str| format!("%{name} = llvm.mlir.addressof @{name} : !llvm.ptr<3>\n");
    let ops = name("dynamic") + &name("b") + &name("a");
    let program = parse(&text(&ops), "shared.mlir").unwrap_or_default();
    let kernel = &program.kernels[0];
    let places: Vec<_> = kernel
        .shared
        .iter()
        .map(|variable| (variable.name.as_str(), variable.offset, variable.bytes))
        .collect();
    assert_eq!(places, [("a", 0, 3), ("b", 136, 4), ("dynamic", 384, 0)]);
    assert_eq!(
        (kernel.static_shared_bytes, kernel.packed_shared_bytes),
        (140, 128)
    );
}

#[test]
fn an_empty_variable_of_the_module_is_no_dynamic_memory() {
    let text = "llvm.mlir.global internal @empty() {addr_space = 3 : i32} : !llvm.array<0 x i8>
        llvm.func @kernel() attributes {nvvm.kernel} {
          %0 = llvm.mlir.addressof @empty : !llvm.ptr<3>
          llvm.return
        }";
    let program = parse(text, "empty.mlir").unwrap_or_default();
    assert_eq!(program.kernels[0].shared[0].bytes, 1);
}

#[test]
fn variables_outside_of_shared_memory_are_refused() {
    let text = "llvm.mlir.global internal constant @table(dense<1> : tensor<4xi32>) : !llvm.array<4 x i32>
        llvm.func @kernel() attributes {nvvm.kernel} {
          %0 = llvm.mlir.addressof @table : !llvm.ptr
          llvm.return
        }";
    let error = parse(text, "table.mlir").err().map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some(
            "table.mlir:3:16: 'llvm.mlir.addressof' op names 'table' in Generic memory; only variables in shared \
             memory are modelled"
        )
    );
}

#[test]
fn blocks_get_their_arguments_on_edges() {
    let program = decode(
        "llvm.cond_br %p, ^one(%x : f32), ^two
         ^one(%a: f32):
           llvm.br ^one(%a : f32)
         ^two:
           llvm.return",
    )
    .unwrap_or_default();
    let code = &program.kernels[0].code;
    let Some(Instruction::ConditionalBranch {
        condition: P,
        yes,
        no,
    }) = code
        .iter()
        .find(|instruction| matches!(instruction, Instruction::ConditionalBranch { .. }))
    else {
        unreachable!("{code:?}")
    };
    let again = Edge {
        target: yes.target,
        moves: vec![],
    };
    assert_eq!(code[yes.target as usize], Instruction::Branch(again));
    assert_eq!(code[no.target as usize], Instruction::Return);
    assert!(matches!(yes.moves[..], [(_, X)]));
}

/// As many blocks as unrolled code has.
#[test]
fn a_kernel_may_have_a_long_chain_of_blocks() {
    let count = 20_000;
    let blocks: String = (0..count)
        .map(|number| format!("^b{number}:\n llvm.br ^b{}\n", number + 1))
        .collect();
    let program = decode(&format!("llvm.br ^b0\n{blocks}^b{count}:\n llvm.return")).unwrap_or_default();
    let code = &program.kernels[0].code;
    let branches = code
        .iter()
        .enumerate()
        .filter_map(|(pc, instruction)| match instruction {
            Instruction::Branch(edge) => Some((pc, edge.target as usize)),
            _ => None,
        });
    assert!(branches.clone().all(|(pc, target)| target == pc + 1));
    assert_eq!(branches.count(), count + 1);
}

#[test]
fn what_a_location_goes_back_to_is_the_place_of_an_instruction() {
    let program = decode(
        r#"%0 = llvm.add %i, %i : i32 loc(fused["deep.mlir":7:3, "other.mlir":1:1])
           %1 = llvm.add %i, %i : i32 loc("name"("named.mlir":8:4))
           %2 = llvm.add %i, %i : i32 loc(callsite("callee.mlir":9:5 at "caller.mlir":1:1))
           %3 = llvm.add %i, %i : i32 loc(unknown)
           llvm.return"#,
    )
    .unwrap_or_default();
    let kernel = &program.kernels[0];
    let sites: Vec<_> = kernel
        .code
        .iter()
        .zip(&kernel.sites)
        .filter(|(instruction, _)| matches!(instruction, Instruction::Integer { .. }))
        .map(|(_, site)| &program.sites[*site as usize])
        .collect();
    let texts = |place: fn(&Site) -> &Option<Location>| -> Vec<String> {
        let text = |site: &&Site| place(site).as_ref().map(ToString::to_string).unwrap_or_default();
        sites.iter().map(text).collect()
    };
    // The location of an op of unknown origin is its place in the module; the others have that place besides their
    // location.
    assert_eq!(
        texts(|site| &site.location),
        [
            "deep.mlir:7:3",
            "named.mlir:8:4",
            "callee.mlir:9:5",
            "kernel.mlir:8:17"
        ]
    );
    assert_eq!(
        texts(|site| &site.in_module),
        ["kernel.mlir:5:15", "kernel.mlir:6:17", "kernel.mlir:7:17", ""]
    );
}

#[test]
fn all_that_is_not_modelled_is_named_with_its_place() {
    let problems = problems(
        "%0 = llvm.intr.pow(%x, %y) : (f32, f32) -> f32
         %1 = llvm.fadd %0, %x : f32
         nvvm.breakpoint
         llvm.inline_asm \"mov.b32 $0, 1; frobnicate.b32 $0, $1;\", \"=r,r\" %i : (i32) -> i32",
    );
    let named: Vec<_> = problems
        .iter()
        .map(|problem| (problem.site.op.as_str(), problem.kind))
        .collect();
    assert_eq!(
        named,
        [
            ("llvm.intr.pow", ProblemKind::Unsupported),
            ("nvvm.breakpoint", ProblemKind::Unsupported),
            ("llvm.inline_asm", ProblemKind::Unsupported),
        ]
    );
    assert_eq!(
        problems[0].to_string(),
        "kernel.mlir:5:15: 'llvm.intr.pow' op is not modelled"
    );
    assert_eq!(
        problems[2].message,
        "has PTX `frobnicate.b32 $0, $1;`, which is not modelled"
    );
}

/// The ops that a table of decoders names.
fn names<'t>(table: &'t str, dialect: &str) -> Vec<&'t str> {
    table
        .split('"')
        .filter(|name| name.starts_with(dialect) && !name.ends_with('.'))
        .collect()
}

#[test]
fn every_op_that_is_decoded_is_tested() {
    let tables = [
        (include_str!("llvm.rs"), "llvm.", include_str!("tests/llvm.rs")),
        (include_str!("nvvm.rs"), "nvvm.", include_str!("tests/nvvm.rs")),
    ];
    let others = [
        include_str!("tests.rs"),
        include_str!("tests/memory.rs"),
        include_str!("tests/ptx.rs"),
    ]
    .concat();
    for (table, dialect, tests) in tables {
        let names = names(table, dialect);
        assert!(names.len() > 40);
        for name in names {
            assert!(
                tests.contains(name) || others.contains(name),
                "{name} is in no test"
            );
        }
    }
}

#[test]
fn a_text_that_is_no_module_says_why() {
    let Err(DecodeError::Syntax(notes)) = parse("llvm.func", "broken.mlir") else {
        unreachable!()
    };
    assert!(notes[0].starts_with("broken.mlir:1:"), "{notes:?}");
}

#[test]
fn a_module_without_kernels_is_refused() {
    assert_eq!(
        parse("module {}", "empty.mlir").err(),
        Some(DecodeError::NoKernel)
    );
}
