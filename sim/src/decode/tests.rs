//! Small modules and what they decode to.

use super::{DecodeError, ProblemKind, parse};
use crate::program::*;

/// A module with one kernel of that body, which may name the arguments below.
fn kernel_text(body: &str) -> String {
    format!(
        "llvm.mlir.global internal @shared() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<8 x i64>
         llvm.func @kernel(%global: !llvm.ptr<1> {{llvm.align = 16 : i64}}, %i: i32, %j: i64, %x: f32, %y: f32) \
         attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 64>}} {{
         {body}
         }}"
    )
}

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

const GLOBAL: Register = 0;
const I: Register = 1;
const J: Register = 2;
const X: Register = 3;

#[test]
fn a_kernel_has_its_parameters_and_bounds() {
    let program = decode("llvm.return").unwrap_or_default();
    let kernel = &program.kernels[0];
    assert_eq!(kernel.required_block, Some([64, 1, 1]));
    let kinds: Vec<_> = kernel.parameters.iter().map(|parameter| parameter.kind).collect();
    assert_eq!(
        kinds[..3],
        [
            ParameterKind::Pointer { align: 16 },
            ParameterKind::Scalar { bits: 32 },
            ParameterKind::Scalar { bits: 64 },
        ]
    );
    assert!(
        kernel.shared.is_empty(),
        "a variable that nothing names takes no memory"
    );
}

#[test]
fn element_addresses_add_up_constants() {
    let ty = "!llvm.struct<(i8, array<4 x f32>)>";
    let code = code(&format!(
        "%0 = llvm.getelementptr %global[%j, 1, 2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, {ty}"
    ));
    assert_eq!(
        code,
        [
            Instruction::Constant { to: 6, value: 12 },
            Instruction::Address {
                to: 5,
                a: GLOBAL,
                b: J,
                bits: 64,
                scale: 20
            },
            Instruction::Address {
                to: 7,
                a: 5,
                b: 6,
                bits: 64,
                scale: 1
            },
        ]
    );
}

#[test]
fn taking_a_vector_apart_and_together_makes_no_code() {
    let code = code(
        "%c = llvm.mlir.constant(1 : i32) : i32
         %p = llvm.mlir.poison : vector<2xf32>
         %a = llvm.insertelement %x, %p[%c : i32] : vector<2xf32>
         %b = llvm.shufflevector %a, %a [1, 1] : vector<2xf32>
         %d = llvm.fadd %b, %b : vector<2xf32>",
    );
    let add = |to| Instruction::Float {
        op: FloatOp::Add,
        format: Format::F32,
        flush: false,
        to,
        a: X,
        b: X,
    };
    assert_eq!(code[2..], [add(7), add(8)]);
}

#[test]
fn wide_vectors_are_accessed_in_pieces() {
    let code = code("%0 = llvm.load %global {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xbf16>");
    let sizes: Vec<_> = code
        .iter()
        .filter_map(|instruction| match instruction {
            Instruction::Load { to, bytes, align, .. } => Some((to.len(), *bytes, *align)),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [(8, 2, 16), (8, 2, 16)]);
}

#[test]
fn a_guarded_load_keeps_what_was_there() {
    let code = code(
        r#"%p = llvm.icmp "eq" %i, %i : i32
           %0 = llvm.inline_asm has_side_effects "mov.b32 $0, 0; @$2 ld.global.L1::no_allocate.b32 $0, [$1];",
             "=r,l,b" %global, %p : (!llvm.ptr<1>, i1) -> i32"#,
    );
    let [.., copy, load] = &code[..] else {
        unreachable!("{code:?}")
    };
    assert!(matches!(copy, Instruction::Copy { .. }));
    let guard = Some(Guard {
        register: 5,
        negated: false,
    });
    assert!(
        matches!(load, Instruction::Load { guard: found, align: 4, .. } if *found == guard),
        "{load:?}"
    );
}

#[test]
fn an_empty_text_is_its_tied_operands() {
    let code = code(
        r#"%0 = llvm.inline_asm has_side_effects "", "=r,0" %i : (i32) -> i32
           %1 = llvm.add %0, %0 : i32"#,
    );
    assert!(matches!(code[..], [Instruction::Integer { a: I, b: I, .. }]));
}

#[test]
fn blocks_get_their_arguments_on_edges() {
    let program = decode(
        r#"%c = llvm.icmp "eq" %i, %i : i32
           llvm.cond_br %c, ^one(%x : f32), ^two
         ^one(%a: f32):
           llvm.br ^one(%a : f32)
         ^two:
           llvm.return"#,
    )
    .unwrap_or_default();
    let code = &program.kernels[0].code;
    let Instruction::ConditionalBranch { yes, no, .. } = &code[1] else {
        unreachable!("{code:?}")
    };
    assert_eq!(
        code[yes.target as usize],
        Instruction::Branch(Edge {
            target: 3,
            moves: vec![]
        })
    );
    assert_eq!(code[no.target as usize], Instruction::Return);
    assert_eq!(yes.moves.len(), 1);
    assert_eq!(yes.moves[0].1, X);
}

#[test]
fn all_that_is_not_modelled_is_named_with_its_place() {
    let error = decode(
        "%0 = llvm.intr.pow(%x, %y) : (f32, f32) -> f32
         %1 = llvm.fadd %0, %x : f32
         nvvm.breakpoint
         llvm.inline_asm \"mov.b32 $0, 1; frobnicate.b32 $0, $1;\", \"=r,r\" %i : (i32) -> i32
         llvm.return",
    )
    .err();
    let Some(DecodeError::Problems(problems)) = error else {
        unreachable!("{error:?}")
    };
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
        "kernel.mlir:3:15: 'llvm.intr.pow' op is not modelled"
    );
    assert!(problems[2].message.contains("`frobnicate.b32 $0, $1;`"));
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
