//! The flags of `arith` and `math` that allow a result to differ from that of its op rounded once.

use melior::ir::{Attribute, OperationRef, operation::OperationLike};

use super::builder::Builder;

/// The attribute that the ops keep their flags in.
pub const FLAGS: &str = "fastmath";

/// The flag of a sum that may be computed together with a product, without rounding the product.
pub const CONTRACT: &str = "contract";

/// The flag of a division that may be computed by way of the divisor's reciprocal.
pub const RECIPROCAL: &str = "arcp";

/// The flag of an op that an approximation of it may replace.
pub const APPROXIMATE: &str = "afn";

/// All flags, which `fast` stands for, in the order in which MLIR prints them.
const FAST: [&str; 7] = ["reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"];

/// The flags of an op, in the order in which MLIR prints them.
pub fn flags(op: OperationRef<'_, '_>) -> Vec<&'static str> {
    let text = op
        .attribute(FLAGS)
        .map(|flags| flags.to_string())
        .unwrap_or_default();
    let given = text
        .strip_prefix("#arith.fastmath<")
        .and_then(|text| text.strip_suffix('>'));
    let given = given
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .collect::<Vec<_>>();
    let is_given = |flag: &&str| given.contains(flag) || given == ["fast"];
    FAST.into_iter().filter(is_given).collect()
}

/// Replaces the flags of an op.
pub fn set_flags<'c>(b: &Builder<'c, '_>, op: OperationRef<'c, '_>, flags: &[&str]) {
    let list = if flags.is_empty() {
        "none".to_owned()
    } else {
        flags.join(",")
    };
    // A list of flags always parses.
    if let Some(attribute) = Attribute::parse(b.context(), &format!("#arith.fastmath<{list}>")) {
        b.set_attribute(op, FLAGS, attribute);
    }
}
