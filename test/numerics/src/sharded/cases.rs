//! Functions with a sharded axis. The compiler has to find which other tensors are sharded.

/// A function, and how its tensors are sharded.
pub(super) struct Case {
    /// The text, with `$` for the number of devices along the sharded axis.
    pub(super) text: &'static str,
    /// The sharded tensors, each with its axis, including those that the compiler has to find.
    pub(super) sharded: &'static [(&'static str, usize)],
    /// The extent of the sharded axis.
    pub(super) columns: i64,
    /// The number of rounds of communication.
    pub(super) rounds: usize,
}

pub(super) const RMS_NORM: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x1024xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %w: tensor<1024xf32> {norm.name = "w"})
    -> (tensor<?x1024xbf16> {norm.name = "y"}, tensor<?xf32> {norm.name = "rstd"}) {
  %y, %rstd = norm.rms_norm %x weight(%w : tensor<1024xf32>) : tensor<?x1024xbf16> -> tensor<?x1024xbf16>, tensor<?xf32>
  return %y, %rstd : tensor<?x1024xbf16>, tensor<?xf32>
}
"#,
    sharded: &[("x", 1), ("w", 0), ("y", 1)],
    columns: 1024,
    rounds: 1,
};

pub(super) const LAYER_NORM: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x328xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %w: tensor<328xf32> {norm.name = "w"},
             %b: tensor<328xf32> {norm.name = "b"}) -> (tensor<?x328xf32> {norm.name = "y"}) {
  %y = norm.layer_norm %x weight(%w : tensor<328xf32>) bias(%b : tensor<328xf32>) : tensor<?x328xf32> -> tensor<?x328xf32>
  return %y : tensor<?x328xf32>
}
"#,
    sharded: &[("x", 1), ("w", 0), ("b", 0), ("y", 1)],
    columns: 328,
    rounds: 1,
};

pub(super) const SOFTMAX: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x512xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}) -> (tensor<?x512xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
"#,
    sharded: &[("x", 1), ("y", 1)],
    columns: 512,
    rounds: 1,
};

pub(super) const CROSS_ENTROPY: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x1000xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %labels: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}) {
  %loss = norm.cross_entropy %x labels(%labels : tensor<?xi64>) : tensor<?x1000xbf16> -> tensor<?xf32>
  return %loss : tensor<?xf32>
}
"#,
    sharded: &[("x", 1)],
    columns: 1000,
    rounds: 1,
};

/// The number of classes is not a multiple of any number of devices.
pub(super) const OPEN_CROSS_ENTROPY: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x?xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %labels: tensor<?xi32> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}) {
  %loss = norm.cross_entropy %x labels(%labels : tensor<?xi32>) : tensor<?x?xf32> -> tensor<?xf32>
  return %loss : tensor<?xf32>
}
"#,
    sharded: &[("x", 1)],
    columns: 1003,
    rounds: 1,
};

/// Rows of dynamic length: the number of elements is counted.
pub(super) const OPEN_RMS_NORM: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x?xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %w: tensor<?xf32> {norm.name = "w"})
    -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = norm.rms_norm %x weight(%w : tensor<?xf32>) : tensor<?x?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
"#,
    sharded: &[("x", 1), ("w", 0), ("y", 1)],
    columns: 77,
    rounds: 1,
};

/// The gradient of the weight is a sum over rows, all of which every device has.
pub(super) const RMS_NORM_GRAD: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x512xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %dy: tensor<?x512xbf16> {norm.name = "dy"},
             %w: tensor<512xbf16> {norm.name = "w"}, %rstd: tensor<?xf32> {norm.name = "rstd"})
    -> (tensor<?x512xbf16> {norm.name = "dx"}, tensor<512xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x512xbf16>) weight(%w : tensor<512xbf16>) rstd(%rstd : tensor<?xf32>)
             : tensor<?x512xbf16> -> tensor<?x512xbf16> dweight(tensor<512xf32>)
  return %dx, %dw : tensor<?x512xbf16>, tensor<512xf32>
}
"#,
    sharded: &[("x", 1), ("dy", 1), ("w", 0), ("dx", 1), ("dw", 0)],
    columns: 512,
    rounds: 1,
};

/// The sums of the gradient depend on mean and variance, which are computed again first.
pub(super) const LAYER_NORM_GRAD: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x256xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %dy: tensor<?x256xf32> {norm.name = "dy"})
    -> (tensor<?x256xf32> {norm.name = "dx"}) {
  %dx = norm.layer_norm_grad %x dy(%dy : tensor<?x256xf32>) : tensor<?x256xf32> -> tensor<?x256xf32>
  return %dx : tensor<?x256xf32>
}
"#,
    sharded: &[("x", 1), ("dy", 1), ("dx", 1)],
    columns: 256,
    rounds: 2,
};

pub(super) const SOFTMAX_GRAD: Case = Case {
    text: r#"
func.func @f(%y: tensor<?x512xf16> {norm.name = "y", norm.devices = array<i64: 1, $>}, %dy: tensor<?x512xf16> {norm.name = "dy"})
    -> (tensor<?x512xf16> {norm.name = "dx"}) {
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x512xf16>) : tensor<?x512xf16> -> tensor<?x512xf16>
  return %dx : tensor<?x512xf16>
}
"#,
    sharded: &[("y", 1), ("dy", 1), ("dx", 1)],
    columns: 512,
    rounds: 1,
};

/// A tuple with an integer in a reduction whose combiner is a region: the position must be that in the whole row.
pub(super) const ARGMAX: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x640xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}) -> (tensor<?xi64> {norm.name = "place"}) {
  %place = norm.reduce_axes argmax %x : tensor<?x640xf32> -> tensor<?xi64>
  return %place : tensor<?xi64>
}
"#,
    sharded: &[("x", 1)],
    columns: 640,
    rounds: 1,
};

/// Two computes: the input of the second is sharded because the first one's result is.
pub(super) const ADDED: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x256xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %r: tensor<?x256xbf16> {norm.name = "r"})
    -> (tensor<?x256xbf16> {norm.name = "h"}, tensor<?x256xbf16> {norm.name = "y"}) {
  %h = arith.addf %x, %r : tensor<?x256xbf16>
  %y = norm.rms_norm %h : tensor<?x256xbf16> -> tensor<?x256xbf16>
  return %h, %y : tensor<?x256xbf16>, tensor<?x256xbf16>
}
"#,
    sharded: &[("x", 1), ("r", 1), ("h", 1), ("y", 1)],
    columns: 256,
    rounds: 1,
};

/// All of them.
pub(super) const ALL: &[&Case] = &[
    &RMS_NORM,
    &LAYER_NORM,
    &SOFTMAX,
    &CROSS_ENTROPY,
    &OPEN_CROSS_ENTROPY,
    &OPEN_RMS_NORM,
    &RMS_NORM_GRAD,
    &LAYER_NORM_GRAD,
    &SOFTMAX_GRAD,
    &ARGMAX,
    &ADDED,
];
