//! Functions with the attribute that asks for a derived gradient.

use super::FUNCTION;
use super::graphs::{self, Graph};
use super::named::{self, Call};
use crate::case::Program;

/// A function, and the arguments that its gradient is asked for.
#[derive(Debug, PartialEq)]
pub struct Gradient {
    /// Its name within a case's name.
    pub name: &'static str,
    /// The function.
    pub of: Function,
    /// Names of arguments.
    pub wrt: &'static [&'static str],
}

/// A function that is differentiated.
#[derive(Debug, PartialEq)]
pub enum Function {
    /// One call.
    Call(Call),
    /// Several ops.
    Graph(&'static Graph),
}

/// The name of the gradient function.
pub fn function() -> String {
    format!("{FUNCTION}_grad")
}

/// The text of the function with the attribute that asks for its gradient.
pub fn text(program: &Program, gradient: &Gradient) -> String {
    let text = match &gradient.of {
        Function::Call(call) => named::text(program, call),
        Function::Graph(graph) => graphs::text(program, graph),
    };
    let names: Vec<String> = gradient.wrt.iter().map(|name| format!("\"{name}\"")).collect();
    let asked = format!(") attributes {{norm.gradient = [{}]}} {{\n", names.join(", "));
    text.replacen(") {\n", &asked, 1)
}

/// Named ops, each differentiated with respect to all its float operands.
pub const NAMED: &[Gradient] = &[
    Gradient {
        name: "gradient of rms_norm",
        of: Function::Call(Call {
            op: "rms_norm",
            operands: &[("weight", "NxX"), ("bias", "Nxf32")],
            attributes: "weight_offset = 1.0 : f32",
            ..Call::PLAIN
        }),
        wrt: &["x", "weight", "bias"],
    },
    Gradient {
        name: "gradient of layer_norm",
        of: Function::Call(Call {
            op: "layer_norm",
            operands: &[("weight", "NxX"), ("bias", "NxX")],
            ..Call::PLAIN
        }),
        wrt: &["x", "weight", "bias"],
    },
    Gradient {
        name: "gradient of layer_norm and its statistics",
        of: Function::Call(Call {
            op: "layer_norm",
            results: &[("y", "?xNxY"), ("mean", "?xA"), ("rstd", "?xA")],
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of l2_norm",
        of: Function::Call(Call {
            op: "l2_norm",
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of group_norm",
        of: Function::Call(Call {
            op: "group_norm",
            x: "?x8xNxX",
            operands: &[("weight", "8xX"), ("bias", "8xf32")],
            attributes: "groups = 4",
            results: &[("y", "?x8xNxY")],
            ..Call::PLAIN
        }),
        wrt: &["x", "weight", "bias"],
    },
    Gradient {
        name: "gradient of cumsum",
        of: Function::Call(Call {
            op: "cumsum",
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of cumsum of those behind",
        of: Function::Call(Call {
            op: "cumsum",
            attributes: "exclusive, reverse",
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of a variance",
        of: Function::Call(Call {
            op: "reduce_axes var",
            results: &[("y", "?xA")],
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
];

/// The same for ops whose functions exist up to f32 only.
pub const LOGITS: &[Gradient] = &[
    Gradient {
        name: "gradient of softmax",
        of: Function::Call(Call {
            op: "softmax",
            operands: &[("mask", "NxX")],
            attributes: "scale = 0.125 : f32",
            ..Call::PLAIN
        }),
        wrt: &["x", "mask"],
    },
    Gradient {
        name: "gradient of softmax, capped and causal",
        of: Function::Call(Call {
            op: "softmax",
            x: "?x4xNxX",
            attributes: "softcap = 4.0 : f32, causal = array<i64: -2, -1>",
            results: &[("y", "?x4xNxY")],
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of log_softmax",
        of: Function::Call(Call {
            op: "log_softmax",
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of logsumexp",
        of: Function::Call(Call {
            op: "logsumexp",
            results: &[("y", "?xf32")],
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of cross_entropy",
        of: Function::Call(Call {
            op: "cross_entropy",
            operands: &[("labels", "?xi64")],
            attributes: "ignore_index = 3",
            results: &[("loss", "?xf32")],
            by_keyword: true,
            ..Call::PLAIN
        }),
        wrt: &["x"],
    },
];

/// Functions of several ops that convert from 16-bit types.
pub const GRAPHS: &[Gradient] = &[
    Gradient {
        name: "gradient of add, rms_norm",
        of: Function::Graph(&graphs::ADD_RMS_NORM),
        wrt: &["x", "r", "w"],
    },
    Gradient {
        name: "gradient of rms_norm, silu gate",
        of: Function::Graph(&graphs::SILU_GATE),
        wrt: &["x", "g", "w"],
    },
    Gradient {
        name: "gradient of layer_norm, gelu",
        of: Function::Graph(&graphs::GELU),
        wrt: &["x", "b", "w"],
    },
    Gradient {
        name: "gradient of qk norm, rotary",
        of: Function::Graph(&graphs::QK_NORM_ROTARY),
        wrt: &["x", "w"],
    },
    Gradient {
        name: "gradient of adaln",
        of: Function::Graph(&graphs::ADALN),
        wrt: &["x", "scale", "shift"],
    },
    Gradient {
        name: "gradient of rms_norm, transposed",
        of: Function::Graph(&graphs::TRANSPOSED),
        wrt: &["x"],
    },
];

/// Functions of f32.
pub const GRAPHS_OF_F32: &[Gradient] = &[
    Gradient {
        name: "gradient of scale, mask, softmax",
        of: Function::Graph(&graphs::MASKED_SOFTMAX),
        wrt: &["x", "mask"],
    },
    Gradient {
        name: "gradient of softmax by hand",
        of: Function::Graph(&graphs::SOFTMAX_BY_HAND),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of broadcasts along every axis",
        of: Function::Graph(&BROADCASTS),
        wrt: &["x", "c", "r", "s"],
    },
    Gradient {
        name: "gradient of extremes and products",
        of: Function::Graph(&EXTREMES_AND_PRODUCTS),
        wrt: &["x"],
    },
    Gradient {
        name: "gradient of powers and quotients",
        of: Function::Graph(&POWERS_AND_QUOTIENTS),
        wrt: &["x", "b"],
    },
];

/// Tensors that vary over both axes, over either one, and over none.
const BROADCASTS: Graph = Graph {
    name: "broadcasts along every axis",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nxf32> {norm.name = "x"}, %c: tensor<$Nxf32> {norm.name = "c"}, %r: tensor<?xf32> {norm.name = "r"},
             %s: tensor<f32> {norm.name = "s"}) -> (tensor<?x$Nxf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x$Nxf32>, %b = %c : tensor<$Nxf32>, %d = %r : tensor<?xf32>, %e = %s : tensor<f32>)
      -> (%o : tensor<?x$Nxf32>) space(%m = dim(%a, 0), %n = $N) {
    %0 = norm.read %a[%m, %n] : tensor<?x$Nxf32>
    %1 = norm.read %b[%n] : tensor<$Nxf32>
    %2 = norm.read %d[%m] : tensor<?xf32>
    %3 = norm.read %e[] : tensor<f32>
    %7 = arith.mulf %0, %1 : f32
    %8 = arith.addf %7, %2 : f32
    %9 = math.tanh %8 : f32
    %10 = arith.mulf %9, %3 : f32
    norm.write %10, %o[%m, %n] : tensor<?x$Nxf32>
  }
  return %y : tensor<?x$Nxf32>
}
"#,
};

/// The largest, the smallest and the product of a row; the product is of cosines, which are near 1.
const EXTREMES_AND_PRODUCTS: Graph = Graph {
    name: "extremes and products",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nxf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x$Nxf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = $N) {
    %1 = norm.read %a[%m, %n] : tensor<?x$Nxf32>
    %2 = norm.reduce max %1 over(%n) : f32
    %3 = norm.reduce min %1 over(%n) : f32
    %4 = math.cos %1 : f32
    %5 = norm.reduce mul %4 over(%n) : f32
    %6 = arith.mulf %2, %3 : f32
    %7 = arith.addf %6, %5 : f32
    norm.write %7, %o[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
"#,
};

/// Powers and quotients of elements by elements, all of whose operands vary. Bases and divisors are 1 at least.
const POWERS_AND_QUOTIENTS: Graph = Graph {
    name: "powers and quotients",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nxf32> {norm.name = "x"}, %b: tensor<?x$Nxf32> {norm.name = "b"}) -> (tensor<?x$Nxf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x$Nxf32>, %c = %b : tensor<?x$Nxf32>) -> (%o : tensor<?x$Nxf32>)
      space(%m = dim(%a, 0), %n = $N) {
    %0 = norm.read %a[%m, %n] : tensor<?x$Nxf32>
    %1 = norm.read %c[%m, %n] : tensor<?x$Nxf32>
    %one = arith.constant 1.0 : f32
    %2 = arith.mulf %0, %0 : f32
    %3 = arith.addf %2, %one : f32
    %4 = math.powf %3, %1 : f32
    %5 = arith.mulf %1, %1 : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.divf %0, %6 : f32
    %8 = arith.addf %4, %7 : f32
    norm.write %8, %o[%m, %n] : tensor<?x$Nxf32>
  }
  return %y : tensor<?x$Nxf32>
}
"#,
};
