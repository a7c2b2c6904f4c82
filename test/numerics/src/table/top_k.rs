//! Top-k of each row: various k, edge lengths, and the types that can be ordered in 32 bits.

use norma_bundle::Element::{BF16, F16, F32, I8, I32, I64};
use norma_oracle::Fill;

use super::plain;
use crate::case::{Case, Op};
use crate::source::graphs::Graph;
use crate::source::named::Call;

/// Row lengths that equal the number of rows, and may be less than k.
const OF_DYNAMIC_ROWS: Call = Call {
    name: "top 5 of dynamic rows",
    op: "top_k",
    x: "?x?xX",
    attributes: "k = 5",
    results: &[("values", "?x5xX"), ("indices", "?x5xi64")],
    ..Call::PLAIN
};

/// Along an axis that is not the innermost.
const OF_COLUMNS: Call = Call {
    name: "top 3 of the middle axis",
    op: "top_k",
    x: "?xNx6xX",
    attributes: "k = 3, axis = 1",
    results: &[("values", "?x3x6xX"), ("indices", "?x3x6xi32")],
    ..Call::PLAIN
};

const ONE: Call = Call {
    name: "top 1",
    op: "top_k",
    attributes: "k = 1",
    results: &[("values", "?x1xX"), ("indices", "?x1xi64")],
    ..Call::PLAIN
};

const EIGHT: Call = Call {
    name: "top 8",
    op: "top_k",
    attributes: "k = 8",
    results: &[("values", "?x8xX"), ("indices", "?x8xi32")],
    ..Call::PLAIN
};

const SIXTY_FOUR: Call = Call {
    name: "top 64",
    op: "top_k",
    attributes: "k = 64",
    results: &[("values", "?x64xX"), ("indices", "?x64xi32")],
    ..Call::PLAIN
};

const HUNDRED_AND_TWENTY_EIGHT: Call = Call {
    name: "top 128",
    op: "top_k",
    attributes: "k = 128",
    results: &[("values", "?x128xX"), ("indices", "?x128xi32")],
    ..Call::PLAIN
};

/// Mappings of rows of 1000 onto a CTA: held by a warp, by several warps and by a cluster, several rows side by side, and in a
/// loop.
const SCHEDULED: [Call; 5] = [
    of_schedule("spread = [[grid, warp(4)], [register(4), lane(32), vector(8)], [loop]]"),
    of_schedule("spread = [[grid], [register(2), warp(2), lane(32), vector(8)], [loop]]"),
    of_schedule("spread = [[grid], [register(4), cluster(2), lane(32), vector(4)], [loop]]"),
    of_schedule("spread = [[grid, register(2), lane(4)], [register(16), lane(8), vector(8)], [loop]]"),
    of_schedule("spread = [[grid], [loop, warp(2), lane(32), vector(2)], [loop]]"),
];

/// A CTA walks over rows, and for each row over an odd number of ranks, with warps that exchange through two buffers in turn.
const WALKING: Call = Call {
    name: "top 3 of rows that a CTA walks over",
    schedule: Some("spread = [[loop, grid(2)], [register(2), warp(2), lane(32), vector(8)], [loop]]"),
    attributes: "k = 3",
    results: &[("values", "?x3xX"), ("indices", "?x3xi32")],
    ..EIGHT
};

const fn of_schedule(schedule: &'static str) -> Call {
    Call {
        name: "top 8 as scheduled",
        schedule: Some(schedule),
        ..EIGHT
    }
}

/// Gradients, which scatter one or many values back to rows.
const GRADIENTS: [Call; 3] = [
    Call {
        name: "gradient of top 8",
        op: "top_k_grad",
        x: "?x8xX",
        operands: &[("indices", "?x8xi32")],
        attributes: "elements = $N",
        results: &[("dx", "?xNxY")],
        ..Call::PLAIN
    },
    Call {
        name: "gradient of top 1",
        op: "top_k_grad",
        x: "?x1xX",
        operands: &[("indices", "?x1xi64")],
        attributes: "elements = $N",
        results: &[("dx", "?xNxY")],
        ..Call::PLAIN
    },
    Call {
        name: "gradient of top 5 of the middle axis",
        op: "top_k_grad",
        x: "?x5x6xX",
        operands: &[("indices", "?x5x6xi32")],
        attributes: "elements = $N, axis = 1",
        results: &[("dx", "?xNx6xY")],
        ..Call::PLAIN
    },
];

/// In kernel form: the five smallest distinct values of each row, and their sum.
const SMALLEST: Graph = Graph {
    name: "smallest five",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<?x5x$X> {norm.name = "y"}, tensor<?x$X> {norm.name = "s"}) {
  %y, %s = norm.compute(%a = %x : tensor<?x$Nx$X>) -> (%o : tensor<?x5x$X>, %p : tensor<?x$X>)
      space(%m = dim(%a, 0), %n = $N, %j = 5) {
    %0 = norm.read %a[%m, %n] : tensor<?x$Nx$X>
    %1 = norm.reduce min %0 over(%n) nth(%j) : $X
    norm.write %1, %o[%m, %j] : tensor<?x5x$X>
    %2 = norm.reduce add %1 over(%j) : $X
    norm.write %2, %p[%m] : tensor<?x$X>
  }
  return %y, %s : tensor<?x5x$X>, tensor<?x$X>
}
"#,
};

/// A router: the probabilities of the six most likely experts, which then add up to 1.
const ROUTER: Graph = Graph {
    name: "softmax, top 6, renormalized",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<?x6xf32> {norm.name = "y"}, tensor<?x6xi32> {norm.name = "experts"}) {
  %p = norm.softmax %x : tensor<?x$Nx$X> -> tensor<?x$Nxf32>
  %v, %i = norm.top_k %p {k = 6} : tensor<?x$Nxf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %y = norm.compute(%a = %v : tensor<?x6xf32>) -> (%o : tensor<?x6xf32>) space(%m = dim(%a, 0), %j = 6) {
    %0 = norm.read %a[%m, %j] : tensor<?x6xf32>
    %1 = norm.reduce add %0 over(%j) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%m, %j] : tensor<?x6xf32>
  }
  return %y, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
"#,
};

/// A router with a bias that decides which experts are chosen, and is no part of their weights: the sigmoids at the places that were found
/// are gathered, and add up to 2.5. It also returns all sigmoids.
const BIASED_ROUTER: Graph = Graph {
    name: "sigmoid, bias, top 8, gather, renormalized",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nxf32> {norm.name = "x"}, %bias: tensor<$Nxf32> {norm.name = "bias"})
    -> (tensor<?x8xf32> {norm.name = "y"}, tensor<?x8xi32> {norm.name = "experts"}, tensor<?x$Nxf32> {norm.name = "scores"}) {
  %s = norm.compute(%a = %x : tensor<?x$Nxf32>) -> (%o : tensor<?x$Nxf32>) space(%m = dim(%a, 0), %n = $N) {
    %0 = norm.read %a[%m, %n] : tensor<?x$Nxf32>
    %1 = arith.negf %0 : f32
    %2 = math.exp %1 : f32
    %one = arith.constant 1.0 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.divf %one, %3 : f32
    norm.write %4, %o[%m, %n] : tensor<?x$Nxf32>
  }
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x$Nxf32>
  %e = tensor.empty(%rows) : tensor<?x$Nxf32>
  %b = linalg.broadcast ins(%bias : tensor<$Nxf32>) outs(%e : tensor<?x$Nxf32>) dimensions = [0]
  %biased = arith.addf %s, %b : tensor<?x$Nxf32>
  %v, %i = norm.top_k %biased {k = 8} : tensor<?x$Nxf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %y = norm.compute(%a = %s : tensor<?x$Nxf32>, %p = %i : tensor<?x8xi32>) -> (%o : tensor<?x8xf32>)
      space(%m = dim(%a, 0), %n = $N, %j = 8) {
    %0 = norm.read %a[%m, %n] : tensor<?x$Nxf32>
    %1 = norm.read %p[%m, %j] : tensor<?x8xi32>
    %2 = arith.index_cast %n : index to i32
    %3 = arith.cmpi eq, %1, %2 : i32
    %zero = arith.constant 0.0 : f32
    %4 = arith.select %3, %0, %zero : f32
    %5 = norm.reduce add %4 over(%n) : f32
    %6 = norm.reduce add %5 over(%j) : f32
    %factor = arith.constant 2.5 : f32
    %7 = arith.mulf %5, %factor : f32
    %8 = arith.divf %7, %6 : f32
    norm.write %8, %o[%m, %j] : tensor<?x8xf32>
  }
  return %y, %i, %s : tensor<?x8xf32>, tensor<?x8xi32>, tensor<?x$Nxf32>
}
"#,
};

/// Sums in the type of the rows, many of which are equal once they are rounded to it: the first of these come first.
const ROUNDED: Graph = Graph {
    name: "sum, top 8",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %b: tensor<?x$Nx$X> {norm.name = "b"})
    -> (tensor<?x8x$X> {norm.name = "y"}, tensor<?x8xi32> {norm.name = "places"}) {
  %s = arith.addf %x, %b : tensor<?x$Nx$X>
  %y, %i = norm.top_k %s {k = 8} : tensor<?x$Nx$X> -> tensor<?x8x$X>, tensor<?x8xi32>
  return %y, %i : tensor<?x8x$X>, tensor<?x8xi32>
}
"#,
};

/// The softmax of the five largest elements alone, along an axis that is not the innermost.
const SOFTMAX_OF_LARGEST: Graph = Graph {
    name: "top 5 of the middle axis, softmax",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx6x$X> {norm.name = "x"}) -> (tensor<?x5x6xf32> {norm.name = "y"}, tensor<?x5x6xi64> {norm.name = "places"}) {
  %v, %i = norm.top_k %x {k = 5, axis = 1} : tensor<?x$Nx6x$X> -> tensor<?x5x6x$X>, tensor<?x5x6xi64>
  %y = norm.softmax %v {axes = array<i64: 1>} : tensor<?x5x6x$X> -> tensor<?x5x6xf32>
  return %y, %i : tensor<?x5x6xf32>, tensor<?x5x6xi64>
}
"#,
};

/// Functions that are one kernel where a CTA holds a row.
pub const FUSED: [&Graph; 4] = [&ROUTER, &BIASED_ROUTER, &ROUNDED, &SOFTMAX_OF_LARGEST];

/// The function and the columns of a row that no CTA holds; its kernels are counted.
pub const LONG: (&Graph, i64) = (
    &Graph {
        name: "softmax, top 6, renormalized, of long rows",
        kernels: 3,
        text: ROUTER.text,
    },
    70000,
);

/// Cases of functions that hold more than top-k.
fn fused(cases: &mut Vec<Case>) {
    for graph in FUSED {
        for (columns, x) in [(8, F32), (9, BF16), (64, F16), (100, F32), (384, BF16)] {
            cases.push(plain(Op::Graph(graph), x, columns));
        }
        for rows in [0, 1, 9] {
            let mut case = plain(Op::Graph(graph), BF16, 128);
            case.run.rows = rows;
            cases.push(case);
        }
        for fill in [Fill::Special, Fill::Offset, Fill::Exact] {
            let mut case = plain(Op::Graph(graph), BF16, 64);
            case.run.fill = fill;
            cases.push(case);
        }
    }
    // Rows that several warps hold, which exchange what each of them finds.
    for (graph, x) in [
        (&ROUTER, BF16),
        (&BIASED_ROUTER, F32),
        (&ROUNDED, BF16),
        (&ROUNDED, F16),
    ] {
        let mut case = plain(Op::Graph(graph), x, 4096);
        case.run.rows = 9;
        cases.push(case);
    }
    let (graph, columns) = LONG;
    let mut long = plain(Op::Graph(graph), BF16, columns);
    long.run.rows = 2;
    cases.push(long);
}

/// Every case of top-k.
pub fn cases(cases: &mut Vec<Case>) {
    for (columns, x) in [(1, F32), (33, F16), (1000, BF16), (31, I8)] {
        cases.push(plain(Op::Named(&ONE), x, columns));
    }
    for (columns, x) in [(8, F32), (64, BF16), (128, F32), (769, F16), (33, I8), (256, I32)] {
        cases.push(plain(Op::Named(&EIGHT), x, columns));
    }
    for (columns, x) in [(64, BF16), (100, F32), (4096, BF16)] {
        cases.push(plain(Op::Named(&SIXTY_FOUR), x, columns));
    }
    for (columns, x) in [(128, F32), (1000, BF16)] {
        cases.push(plain(Op::Named(&HUNDRED_AND_TWENTY_EIGHT), x, columns));
    }
    // A row longer than a CTA holds, with positions beyond 16 bits.
    let mut long = plain(Op::Named(&EIGHT), BF16, 70000);
    long.run.rows = 2;
    cases.push(long);
    // The longest rows that a CTA holds, and rows whose keys are a few more than it has registers for.
    for (columns, x) in [
        (32768, BF16),
        (33000, BF16),
        (50257, BF16),
        (16385, F32),
        (20000, F32),
        (65536, F32),
    ] {
        let mut case = plain(Op::Named(&EIGHT), x, columns);
        case.run.rows = 2;
        cases.push(case);
    }
    for call in &SCHEDULED {
        for x in [BF16, F32] {
            cases.push(plain(Op::Named(call), x, 1000));
        }
    }
    let mut walking = plain(Op::Named(&WALKING), BF16, 1000);
    walking.run.rows = 7;
    cases.push(walking);
    // A row of one element has a single value; the further results are the identity.
    for (columns, x) in [(1, I64), (4, I8), (37, I32), (1000, I64)] {
        cases.push(plain(Op::Graph(&SMALLEST), x, columns));
    }
    for rows in [0, 1, 3, 9] {
        for x in [F32, I32, I8] {
            let mut case = plain(Op::Named(&OF_DYNAMIC_ROWS), x, 1);
            case.run.rows = rows;
            cases.push(case);
        }
    }
    for (columns, x) in [(3, F32), (40, BF16)] {
        let mut case = plain(Op::Named(&OF_COLUMNS), x, columns);
        case.run.rows = 5;
        cases.push(case);
    }
    for call in &GRADIENTS {
        for (columns, x) in [(1, F32), (2, BF16), (100, F16), (128, BF16), (4096, BF16)] {
            let mut case = plain(Op::Named(call), x, columns);
            case.program.y = x;
            cases.push(case);
        }
        for rows in [0, 1] {
            let mut case = plain(Op::Named(call), BF16, 64);
            case.run.rows = rows;
            cases.push(case);
        }
    }
    fused(cases);
    for fill in Fill::GENERAL {
        let mut case = plain(Op::Named(&EIGHT), F32, 200);
        case.run.fill = fill;
        cases.push(case);
    }
}
