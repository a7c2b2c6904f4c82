//! Functions of several ops: named ops, `arith` and `math` on tensors, and `linalg`, as users write them.

use norma_bundle::Element;

use crate::case::Program;

/// A function of several ops.
///
/// In its text `$N` stands for the extent of a row, `$H` for half of it, `$X` and `$Y` for the element types of `x` and `y`, `$WIDEN` and
/// `$NARROW` for the ops that convert between these and f32.
/// Every dynamic extent is the number of rows of a run.
#[derive(Debug, PartialEq)]
pub struct Graph {
    /// Its name within a case's name.
    pub name: &'static str,
    /// The number of kernels it is compiled to.
    pub kernels: usize,
    /// The function `f`.
    pub text: &'static str,
}

/// The text for a program's row length and types.
pub fn text(program: &Program, graph: &Graph) -> String {
    let row = program.row();
    let text = converted(graph.text, "$WIDEN", program.x, "arith.extf");
    converted(&text, "$NARROW", program.y, "arith.truncf")
        .replace("$N", &row.to_string())
        .replace("$H", &(row / 2).to_string())
        .replace("$X", program.x.name())
        .replace("$Y", program.y.name())
}

/// The text with `op` for each line `%result = $NAME %value : ...`; for elements of f32, which need none, with the value for the result.
fn converted(text: &str, name: &str, element: Element, op: &str) -> String {
    if element != Element::F32 {
        return text.replace(name, op);
    }
    let mut left = text.to_owned();
    while let Some(line) = left.lines().find(|line| line.contains(name)) {
        let mut words = line.split_whitespace().filter(|word| word.starts_with('%'));
        let (result, value) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        left = left.replace(&format!("{line}\n"), "").replace(result, value);
    }
    left
}

/// The residual is added, returned, and normalized.
pub const ADD_RMS_NORM: Graph = Graph {
    name: "add, rms_norm",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %r: tensor<?x$Nx$X> {norm.name = "r"}, %w: tensor<$Nx$X> {norm.name = "w"})
    -> (tensor<?x$Nx$X> {norm.name = "h"}, tensor<?x$Nx$Y> {norm.name = "y"}) {
  %h = arith.addf %x, %r : tensor<?x$Nx$X>
  %y = norm.rms_norm %h weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$Y>
  return %h, %y : tensor<?x$Nx$X>, tensor<?x$Nx$Y>
}
"#,
};

/// The same with the sum written over the residual; the norm reads it again.
pub const ADD_RMS_NORM_IN_PLACE: Graph = Graph {
    name: "add, rms_norm in place",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %r: tensor<?x$Nx$X> {norm.name = "r"}, %w: tensor<$Nx$X> {norm.name = "w"})
    -> (tensor<?x$Nx$X> {norm.name = "h", norm.may_alias = "r"}, tensor<?x$Nx$Y> {norm.name = "y"}) {
  %h = arith.addf %x, %r : tensor<?x$Nx$X>
  %y = norm.rms_norm %h weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$Y>
  return %h, %y : tensor<?x$Nx$X>, tensor<?x$Nx$Y>
}
"#,
};

/// A loss whose gradient is written over the logits, one of which the loss reads.
pub const CROSS_ENTROPY_IN_PLACE: Graph = Graph {
    name: "cross_entropy in place",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %l: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}, tensor<?x$Nx$X> {norm.name = "dlogits", norm.may_alias = "x"}) {
  %loss, %d = norm.cross_entropy %x labels(%l : tensor<?xi64>) : tensor<?x$Nx$X> -> tensor<?xf32> dlogits(tensor<?x$Nx$X>)
  return %loss, %d : tensor<?xf32>, tensor<?x$Nx$X>
}
"#,
};

/// A normalized row times the SiLU of a gate, by ops on whole tensors.
pub const SILU_GATE: Graph = Graph {
    name: "rms_norm, silu gate",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %g: tensor<?x$Nx$X> {norm.name = "g"}, %w: tensor<$Nx$X> {norm.name = "w"})
    -> (tensor<?x$Nx$Y> {norm.name = "y"}) {
  %n = norm.rms_norm %x weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$X>
  %gate = arith.extf %g : tensor<?x$Nx$X> to tensor<?x$Nxf32>
  %minus = arith.negf %gate : tensor<?x$Nxf32>
  %e = math.exp %minus : tensor<?x$Nxf32>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%m] : tensor<?x$Nxf32>
  %d = arith.addf %e, %ones : tensor<?x$Nxf32>
  %silu = arith.divf %gate, %d : tensor<?x$Nxf32>
  %wide = arith.extf %n : tensor<?x$Nx$X> to tensor<?x$Nxf32>
  %p = arith.mulf %wide, %silu : tensor<?x$Nxf32>
  %y = arith.truncf %p : tensor<?x$Nxf32> to tensor<?x$Nx$Y>
  return %y : tensor<?x$Nx$Y>
}
"#,
};

/// GELU of a normalized row, as a `linalg.generic`.
pub const GELU: Graph = Graph {
    name: "layer_norm, gelu",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %w: tensor<$Nx$X> {norm.name = "w"}, %b: tensor<$Nx$X> {norm.name = "b"})
    -> (tensor<?x$Nx$Y> {norm.name = "y"}) {
  %n = norm.layer_norm %x weight(%w : tensor<$Nx$X>) bias(%b : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nxf32>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %e = tensor.empty(%m) : tensor<?x$Nx$Y>
  %root = arith.constant 0.70710678 : f32
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<?x$Nxf32>) outs(%e : tensor<?x$Nx$Y>) {
  ^bb0(%v: f32, %o: $Y):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %0 = arith.mulf %v, %root : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %v, %half : f32
    %4 = arith.mulf %3, %2 : f32
    %5 = arith.truncf %4 : f32 to $Y
    linalg.yield %5 : $Y
  } -> tensor<?x$Nx$Y>
  return %y : tensor<?x$Nx$Y>
}
"#,
};

/// Heads are normalized and their halves rotated: the second compute reads the result of the first at two places.
pub const QK_NORM_ROTARY: Graph = Graph {
    name: "qk norm, rotary",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x3x$Nx$X> {norm.name = "x"}, %w: tensor<$Nx$X> {norm.name = "w"},
             %cos: tensor<?x$Hxf32> {norm.name = "cos"}, %sin: tensor<?x$Hxf32> {norm.name = "sin"})
    -> (tensor<?x3x$Nx$Y> {norm.name = "y"}) {
  %n = norm.rms_norm %x weight(%w : tensor<$Nx$X>) {eps = 1.0e-6 : f32} : tensor<?x3x$Nx$X> -> tensor<?x3x$Nx$X>
  %y = norm.compute(%a = %n : tensor<?x3x$Nx$X>, %c = %cos : tensor<?x$Hxf32>, %s = %sin : tensor<?x$Hxf32>)
      -> (%o : tensor<?x3x$Nx$Y>) space(%t = dim(%a, 0), %h = 3, %k = $H) {
    %0 = norm.read %a[%t, %h, %k] : tensor<?x3x$Nx$X>
    %1 = norm.read %a[%t, %h, %k + $H] : tensor<?x3x$Nx$X>
    %2 = norm.read %c[%t, %k] : tensor<?x$Hxf32>
    %3 = norm.read %s[%t, %k] : tensor<?x$Hxf32>
    %4 = arith.extf %0 : $X to f32
    %5 = arith.extf %1 : $X to f32
    %6 = arith.mulf %4, %2 : f32
    %7 = arith.mulf %5, %3 : f32
    %8 = arith.subf %6, %7 : f32
    %9 = arith.mulf %5, %2 : f32
    %10 = arith.mulf %4, %3 : f32
    %11 = arith.addf %9, %10 : f32
    %12 = arith.truncf %8 : f32 to $Y
    %13 = arith.truncf %11 : f32 to $Y
    norm.write %12, %o[%t, %h, %k] : tensor<?x3x$Nx$Y>
    norm.write %13, %o[%t, %h, %k + $H] : tensor<?x3x$Nx$Y>
  }
  return %y : tensor<?x3x$Nx$Y>
}
"#,
};

/// Adaptive LayerNorm: a scale and a shift for each sample.
pub const ADALN: Graph = Graph {
    name: "adaln",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x5x$Nx$X> {norm.name = "x"}, %scale: tensor<?x$Nx$X> {norm.name = "scale"},
             %shift: tensor<?x$Nx$X> {norm.name = "shift"}) -> (tensor<?x5x$Nx$Y> {norm.name = "y"}) {
  %n = norm.layer_norm %x {eps = 1.0e-6 : f32} : tensor<?x5x$Nx$X> -> tensor<?x5x$Nxf32>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x5x$Nx$X>
  %e = tensor.empty(%m) : tensor<?x5x$Nx$Y>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, c) -> (b, s, c)>, affine_map<(b, s, c) -> (b, c)>,
                                        affine_map<(b, s, c) -> (b, c)>, affine_map<(b, s, c) -> (b, s, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n, %scale, %shift : tensor<?x5x$Nxf32>, tensor<?x$Nx$X>, tensor<?x$Nx$X>) outs(%e : tensor<?x5x$Nx$Y>) {
  ^bb0(%v: f32, %sc: $X, %sh: $X, %o: $Y):
    %one = arith.constant 1.0 : f32
    %0 = arith.extf %sc : $X to f32
    %1 = arith.extf %sh : $X to f32
    %2 = arith.addf %0, %one : f32
    %3 = arith.mulf %v, %2 : f32
    %4 = arith.addf %3, %1 : f32
    %5 = arith.truncf %4 : f32 to $Y
    linalg.yield %5 : $Y
  } -> tensor<?x5x$Nx$Y>
  return %y : tensor<?x5x$Nx$Y>
}
"#,
};

/// Logits that are scaled by a number and masked by a broadcast tensor.
pub const MASKED_SOFTMAX: Graph = Graph {
    name: "scale, mask, softmax",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x3x$Nxf32> {norm.name = "x"}, %mask: tensor<?x$Nxf32> {norm.name = "mask"},
             %scale: f32 {norm.name = "scale", norm.default = 0.125 : f32}) -> (tensor<?x3x$Nx$Y> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x3x$Nxf32>
  %s = tensor.splat %scale[%m] : tensor<?x3x$Nxf32>
  %0 = arith.mulf %x, %s : tensor<?x3x$Nxf32>
  %e = tensor.empty(%m) : tensor<?x3x$Nxf32>
  %b = linalg.broadcast ins(%mask : tensor<?x$Nxf32>) outs(%e : tensor<?x3x$Nxf32>) dimensions = [1]
  %1 = arith.addf %0, %b : tensor<?x3x$Nxf32>
  %y = norm.softmax %1 : tensor<?x3x$Nxf32> -> tensor<?x3x$Nx$Y>
  return %y : tensor<?x3x$Nx$Y>
}
"#,
};

/// Normalized rows as 8-bit floats, with one scale per row.
pub const QUANTIZED: Graph = Graph {
    name: "rms_norm, fp8 by row",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %w: tensor<$Nx$X> {norm.name = "w"})
    -> (tensor<?x$Nxf8E4M3FN> {norm.name = "q"}, tensor<?xf32> {norm.name = "scale"}) {
  %n = norm.rms_norm %x weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$X>
  %f = arith.extf %n : tensor<?x$Nx$X> to tensor<?x$Nxf32>
  %a = math.absf %f : tensor<?x$Nxf32>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %tiny = arith.constant 1.0e-12 : f32
  %e = tensor.empty(%m) : tensor<?xf32>
  %least = linalg.fill ins(%tiny : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %amax = linalg.reduce {arith.maximumf} ins(%a : tensor<?x$Nxf32>) outs(%least : tensor<?xf32>) dimensions = [1]
  %most = arith.constant 448.0 : f32
  %mosts = tensor.splat %most[%m] : tensor<?xf32>
  %scale = arith.divf %amax, %mosts : tensor<?xf32>
  %to = tensor.empty(%m) : tensor<?x$Nxf32>
  %sb = linalg.broadcast ins(%scale : tensor<?xf32>) outs(%to : tensor<?x$Nxf32>) dimensions = [1]
  %d = arith.divf %f, %sb : tensor<?x$Nxf32>
  %q = arith.truncf %d : tensor<?x$Nxf32> to tensor<?x$Nxf8E4M3FN>
  return %q, %scale : tensor<?x$Nxf8E4M3FN>, tensor<?xf32>
}
"#,
};

/// Two norms of one input.
pub const TWO_NORMS: Graph = Graph {
    name: "two norms of one input",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %w: tensor<$Nx$X> {norm.name = "w"}, %v: tensor<$Nx$X> {norm.name = "v"})
    -> (tensor<?x$Nx$Y> {norm.name = "y"}, tensor<?x$Nx$X> {norm.name = "z"}) {
  %y = norm.rms_norm %x weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$Y>
  %z = norm.layer_norm %x weight(%v : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$X>
  return %y, %z : tensor<?x$Nx$Y>, tensor<?x$Nx$X>
}
"#,
};

/// A normalized matrix, transposed.
pub const TRANSPOSED: Graph = Graph {
    name: "rms_norm, transposed",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<$Nx?x$Y> {norm.name = "y"}) {
  %n = norm.rms_norm %x {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$Y>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %e = tensor.empty(%m) : tensor<$Nx?x$Y>
  %y = linalg.transpose ins(%n : tensor<?x$Nx$Y>) outs(%e : tensor<$Nx?x$Y>) permutation = [1, 0]
  return %y : tensor<$Nx?x$Y>
}
"#,
};

/// A softmax written out as one op per step.
pub const SOFTMAX_BY_HAND: Graph = Graph {
    name: "softmax by hand",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nxf32> {norm.name = "x"}) -> (tensor<?x$Nxf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nxf32>
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m) : tensor<?x$Nxf32>
  %f = linalg.fill ins(%least : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %max = linalg.reduce {arith.maximumf} ins(%x : tensor<?x$Nxf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  %maxes = linalg.broadcast ins(%max : tensor<?xf32>) outs(%whole : tensor<?x$Nxf32>) dimensions = [1]
  %d = arith.subf %x, %maxes : tensor<?x$Nxf32>
  %e = math.exp %d : tensor<?x$Nxf32>
  %z = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce {arith.addf} ins(%e : tensor<?x$Nxf32>) outs(%z : tensor<?xf32>) dimensions = [1]
  %sums = linalg.broadcast ins(%sum : tensor<?xf32>) outs(%whole : tensor<?x$Nxf32>) dimensions = [1]
  %y = arith.divf %e, %sums : tensor<?x$Nxf32>
  return %y : tensor<?x$Nxf32>
}
"#,
};

/// Means over the rows, whose number only a run knows.
pub const MEANS_BY_SIZE: Graph = Graph {
    name: "columns less their means, by the number of rows",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nxf32> {norm.name = "x"}) -> (tensor<?x$Nxf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nxf32>
  %zero = arith.constant dense<0.0> : tensor<$Nxf32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<?x$Nxf32>) outs(%zero : tensor<$Nxf32>) dimensions = [0]
  %integer = arith.index_cast %m : index to i64
  %count = arith.sitofp %integer : i64 to f32
  %counts = tensor.splat %count : tensor<$Nxf32>
  %mean = arith.divf %sum, %counts : tensor<$Nxf32>
  %whole = tensor.empty(%m) : tensor<?x$Nxf32>
  %means = linalg.broadcast ins(%mean : tensor<$Nxf32>) outs(%whole : tensor<?x$Nxf32>) dimensions = [0]
  %y = arith.subf %x, %means : tensor<?x$Nxf32>
  return %y : tensor<?x$Nxf32>
}
"#,
};

/// Every row needs a sum over all rows, so that the part that waits for it is a kernel of its own.
pub const COLUMNS_COME_BACK: Graph = Graph {
    name: "rms_norm less its columns' sums",
    kernels: 2,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<?x$Nxf32> {norm.name = "y"}) {
  %n = norm.rms_norm %x {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nxf32>
  %zero = arith.constant dense<0.0> : tensor<$Nxf32>
  %s = linalg.reduce {arith.addf} ins(%n : tensor<?x$Nxf32>) outs(%zero : tensor<$Nxf32>) dimensions = [0]
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %to = tensor.empty(%m) : tensor<?x$Nxf32>
  %b = linalg.broadcast ins(%s : tensor<$Nxf32>) outs(%to : tensor<?x$Nxf32>) dimensions = [0]
  %y = arith.subf %n, %b : tensor<?x$Nxf32>
  return %y : tensor<?x$Nxf32>
}
"#,
};

/// Rows normalized as a whole, then scaled in blocks by the largest magnitude of each block.
pub const QUANTIZED_BLOCKS: Graph = Graph {
    name: "rms_norm, fp8 by block",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"})
    -> (tensor<?x$Nxf8E4M3FN> {norm.name = "q"}, tensor<?x2xf32> {norm.name = "scale"}) {
  %n = norm.rms_norm %x {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nxf32>
  %q, %scale = norm.compute(%a = %n : tensor<?x$Nxf32>) -> (%o : tensor<?x$Nxf8E4M3FN>, %s : tensor<?x2xf32>)
      space(%m = dim(%a, 0), %b = 2, %k = $H) {
    %0 = norm.read %a[%m, %b * $H + %k] : tensor<?x$Nxf32>
    %1 = math.absf %0 : f32
    %2 = norm.reduce max %1 over(%k) : f32
    %most = arith.constant 448.0 : f32
    %tiny = arith.constant 1.0e-12 : f32
    %3 = arith.maximumf %2, %tiny : f32
    %4 = arith.divf %3, %most : f32
    %5 = arith.divf %0, %4 : f32
    %6 = arith.truncf %5 : f32 to f8E4M3FN
    norm.write %6, %o[%m, %b * $H + %k] : tensor<?x$Nxf8E4M3FN>
    norm.write %4, %s[%m, %b] : tensor<?x2xf32>
  }
  return %q, %scale : tensor<?x$Nxf8E4M3FN>, tensor<?x2xf32>
}
"#,
};

/// Normalized rows of 80 columns in blocks of 32, the last of which has 16.
pub const QUANTIZED_LAST_BLOCK: Graph = Graph {
    name: "rms_norm, fp8 by blocks that do not divide a row",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %w: tensor<$Nx$X> {norm.name = "w"})
    -> (tensor<?x$Nxf8E4M3FN> {norm.name = "q"}, tensor<?x3xf8E8M0FNU> {norm.name = "s"}, tensor<?x$Nxf32> {norm.name = "y"}) {
  %n = norm.rms_norm %x weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$X>
  %q, %s = norm.quantize %n {block = array<i64: 1, 32>} : tensor<?x$Nx$X> -> tensor<?x$Nxf8E4M3FN> scale(tensor<?x3xf8E8M0FNU>)
  %y = norm.dequantize %q scale(%s : tensor<?x3xf8E8M0FNU>) {block = array<i64: 1, 32>} : tensor<?x$Nxf8E4M3FN> -> tensor<?x$Nxf32>
  return %q, %s, %y : tensor<?x$Nxf8E4M3FN>, tensor<?x3xf8E8M0FNU>, tensor<?x$Nxf32>
}
"#,
};

/// Blocks of 32 along rows and along columns from one read, whatever the number of rows.
pub const QUANTIZED_BOTH_WAYS: Graph = Graph {
    name: "fp8 by blocks of rows and of columns",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"})
    -> (tensor<?x$Nxf8E4M3FN> {norm.name = "q"}, tensor<?x2xf8E8M0FNU> {norm.name = "s"},
        tensor<?x$Nxf8E4M3FN> {norm.name = "q_columns"}, tensor<?x$Nxf8E8M0FNU> {norm.name = "s_columns", norm.sizes = ["blocks", ""]}) {
  %q, %s = norm.quantize %x {block = array<i64: 1, $H>, round_down}
      : tensor<?x$Nx$X> -> tensor<?x$Nxf8E4M3FN> scale(tensor<?x2xf8E8M0FNU>)
  %qc, %sc = norm.quantize %x {block = array<i64: 32, 1>, round_down}
      : tensor<?x$Nx$X> -> tensor<?x$Nxf8E4M3FN> scale(tensor<?x$Nxf8E8M0FNU>)
  return %q, %s, %qc, %sc : tensor<?x$Nxf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<?x$Nxf8E4M3FN>, tensor<?x$Nxf8E8M0FNU>
}
"#,
};

/// A normalized row in blocks of half of it, whose scales are in tiles of 128 rows and 4 columns with padding, and back.
pub const SWIZZLED: Graph = Graph {
    name: "rms_norm, fp8 with swizzled scales, and back",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"})
    -> (tensor<?x$Nxf8E4M3FN> {norm.name = "q"}, tensor<?x1x32x4x4xf8E8M0FNU> {norm.name = "s", norm.sizes = ["tiles", "", "", "", ""]},
        tensor<?x$Nxf32> {norm.name = "y"}) {
  %n = norm.rms_norm %x {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$X>
  %q, %s = norm.quantize %n scale_layout(swizzled_128x4) {block = array<i64: 1, $H>, round_down}
      : tensor<?x$Nx$X> -> tensor<?x$Nxf8E4M3FN> scale(tensor<?x1x32x4x4xf8E8M0FNU>)
  %y = norm.dequantize %q scale(%s : tensor<?x1x32x4x4xf8E8M0FNU>) scale_layout(swizzled_128x4) {block = array<i64: 1, $H>}
      : tensor<?x$Nxf8E4M3FN> -> tensor<?x$Nxf32>
  return %q, %s, %y : tensor<?x$Nxf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>, tensor<?x$Nxf32>
}
"#,
};

/// Maxima of rows in tiles of 8, in kernel form: what the last tile has beyond the rows is not written.
pub const TILES: Graph = Graph {
    name: "maxima of rows in tiles with padding",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<?x8x$X> {norm.name = "y", norm.sizes = ["tiles", ""]}) {
  %y = norm.compute(%a = %x : tensor<?x$Nx$X>) -> (%o : tensor<?x8x$X>) space(%m = dim(%a, 0), %n = $N) {
    %0 = norm.read %a[%m, %n] : tensor<?x$Nx$X>
    %1 = norm.reduce max %0 over(%n) : $X
    norm.write %1, %o[%m floordiv 8, %m mod 8] {partial} : tensor<?x8x$X>
  }
  return %y : tensor<?x8x$X>
}
"#,
};

/// Rows split into heads that are normalized separately and joined again, as exporters write it.
pub const HEADS: Graph = Graph {
    name: "heads, rms_norm, joined",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %w: tensor<$Hx$X> {norm.name = "w"}, %g: tensor<?x$Nx$X> {norm.name = "g"})
    -> (tensor<?x$Nx$Y> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %heads = tensor.expand_shape %x [[0], [1, 2]] output_shape [%m, 2, $H] : tensor<?x$Nx$X> into tensor<?x2x$Hx$X>
  %n = norm.rms_norm %heads weight(%w : tensor<$Hx$X>) {eps = 1.0e-6 : f32} : tensor<?x2x$Hx$X> -> tensor<?x2x$Hx$Y>
  %joined = tensor.collapse_shape %n [[0], [1, 2]] : tensor<?x2x$Hx$Y> into tensor<?x$Nx$Y>
  %gate = arith.addf %g, %g : tensor<?x$Nx$X>
  %y = arith.mulf %joined, %gate : tensor<?x$Nx$Y>
  return %y : tensor<?x$Nx$Y>
}
"#,
};

/// LayerNorm of a slice of each row, and softmax of a slice with step 3.
pub const SLICES: Graph = Graph {
    name: "slices, layer_norm and softmax",
    kernels: 2,
    text: r#"
func.func @f(%x: tensor<?x5x$Nx$X> {norm.name = "x"}) -> (tensor<?x$Hx$Y> {norm.name = "y"}, tensor<?x2x$Nx$Y> {norm.name = "p"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x5x$Nx$X>
  %a = tensor.extract_slice %x[0, 1, $H] [%m, 1, $H] [1, 1, 1] : tensor<?x5x$Nx$X> to tensor<?x$Hx$X>
  %y = norm.layer_norm %a {eps = 1.0e-5 : f32} : tensor<?x$Hx$X> -> tensor<?x$Hx$Y>
  %b = tensor.extract_slice %x[0, 0, 0] [%m, 2, $N] [1, 3, 1] : tensor<?x5x$Nx$X> to tensor<?x2x$Nx$X>
  %p = norm.softmax %b : tensor<?x2x$Nx$X> -> tensor<?x2x$Nx$Y>
  return %y, %p : tensor<?x$Hx$Y>, tensor<?x2x$Nx$Y>
}
"#,
};

/// Rows given as two axes and joined for the norm.
pub const JOINED_ROWS: Graph = Graph {
    name: "joined axes, layer_norm",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x2x$Hx$X> {norm.name = "x"}, %w: tensor<$Nx$X> {norm.name = "w"}) -> (tensor<?x$Nx$Y> {norm.name = "y"}) {
  %rows = tensor.collapse_shape %x [[0], [1, 2]] : tensor<?x2x$Hx$X> into tensor<?x$Nx$X>
  %y = norm.layer_norm %rows weight(%w : tensor<$Nx$X>) {eps = 1.0e-5 : f32} : tensor<?x$Nx$X> -> tensor<?x$Nx$Y>
  return %y : tensor<?x$Nx$Y>
}
"#,
};

/// A slice whose offset is an argument of the call.
pub const PART_FROM: Graph = Graph {
    name: "rms_norm of a part from a number on",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %w: tensor<$Hx$X> {norm.name = "w"},
             %from: index {norm.name = "from", norm.default = 1 : index}) -> (tensor<?x$Hx$Y> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %part = tensor.extract_slice %x[0, %from] [%m, $H] [1, 1] : tensor<?x$Nx$X> to tensor<?x$Hx$X>
  %y = norm.rms_norm %part weight(%w : tensor<$Hx$X>) : tensor<?x$Hx$X> -> tensor<?x$Hx$Y>
  return %y : tensor<?x$Hx$Y>
}
"#,
};

/// One half of each row, chosen by an argument, to which the first half is added.
pub const HALF_BY_NUMBER: Graph = Graph {
    name: "softmax of a half by its number",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}, %half: index {norm.name = "half", norm.default = 1 : index})
    -> (tensor<?x$Hx$Y> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %h = arith.constant $H : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %from = arith.muli %half, %h : index
  %part = tensor.extract_slice %x[0, %from] [%m, $H] [1, 1] : tensor<?x$Nx$X> to tensor<?x$Hx$X>
  %first = tensor.extract_slice %x[0, 0] [%m, $H] [1, 1] : tensor<?x$Nx$X> to tensor<?x$Hx$X>
  %sum = arith.addf %part, %first : tensor<?x$Hx$X>
  %y = norm.softmax %sum : tensor<?x$Hx$X> -> tensor<?x$Hx$Y>
  return %y : tensor<?x$Hx$Y>
}
"#,
};

/// Argmax as another compiler writes it: a nest of two results.
pub const ARGMAX: Graph = Graph {
    name: "argmax as a nest",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}, tensor<?xi32> {norm.name = "place"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x$Nx$X>
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %row = tensor.empty(%m) : tensor<?xf32>
  %places = tensor.empty(%m) : tensor<?xi32>
  %none = linalg.fill ins(%least : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %first = linalg.fill ins(%zero : i32) outs(%places : tensor<?xi32>) -> tensor<?xi32>
  %y, %place = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x$Nx$X>) outs(%none, %first : tensor<?xf32>, tensor<?xi32>) {
  ^bb0(%in: $X, %out: f32, %out_place: i32):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i32
    %v = arith.extf %in : $X to f32
    %0 = arith.maximumf %v, %out : f32
    %1 = arith.cmpf ogt, %v, %out : f32
    %2 = arith.select %1, %here, %out_place : i32
    linalg.yield %0, %2 : f32, i32
  } -> (tensor<?xf32>, tensor<?xi32>)
  return %y, %place : tensor<?xf32>, tensor<?xi32>
}
"#,
};

/// Every function.
pub const ALL: [&Graph; 21] = [
    &ARGMAX,
    &MEANS_BY_SIZE,
    &ADD_RMS_NORM,
    &ADD_RMS_NORM_IN_PLACE,
    &CROSS_ENTROPY_IN_PLACE,
    &SILU_GATE,
    &GELU,
    &QK_NORM_ROTARY,
    &ADALN,
    &MASKED_SOFTMAX,
    &QUANTIZED,
    &TWO_NORMS,
    &TRANSPOSED,
    &SOFTMAX_BY_HAND,
    &COLUMNS_COME_BACK,
    &QUANTIZED_BLOCKS,
    &HEADS,
    &SLICES,
    &JOINED_ROWS,
    &PART_FROM,
    &HALF_BY_NUMBER,
];
