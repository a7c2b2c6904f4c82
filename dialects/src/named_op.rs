//! The form of the table of named ops, which is generated from ODS: [`crate::norm::NAMED_OPS`].

/// A named op: its operands, results and attributes.
#[derive(Debug, PartialEq)]
pub struct NamedOp {
    /// Its name behind the dialect's: `rms_norm`.
    pub mnemonic: &'static str,
    /// What it computes, in a line.
    pub summary: &'static str,
    /// Its operands, in order; the first one's shape decides the others'.
    pub operands: &'static [Tensor],
    /// Its attributes, in the order of ODS.
    pub choices: &'static [Choice],
    /// Its results, in order.
    pub results: &'static [Tensor],
    /// Whether it has the attribute `operandSegmentSizes`.
    pub operand_segments: bool,
    /// Whether it has the attribute `resultSegmentSizes`.
    pub result_segments: bool,
}

/// An operand or a result of a named op.
#[derive(Debug, PartialEq)]
pub struct Tensor {
    /// The name that ODS gives it.
    pub name: &'static str,
    /// The element types that it may have, as MLIR spells them, in the order of ODS.
    pub elements: &'static [&'static str],
    /// Whether it may be left out.
    pub is_optional: bool,
    /// Whether a tool writes it by default, although it may be left out.
    pub is_usual: bool,
    /// How its shape follows from the first operand's.
    pub shape: Shape,
}

/// How the shape of an operand or result follows from that of the op's first operand. The strings name the attributes that decide
/// it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// The shape of the first operand.
    Same,
    /// The axes that the attribute names, in the order of the operand.
    NamedAxes(&'static [&'static str]),
    /// The axes that the first attribute does not name. If there is a second attribute and it is set, the named axes stay, with one
    /// element each.
    OtherAxes(&'static [&'static str]),
    /// The axes that the first attribute does not name; none if the second one, an enum, is not its first case.
    ReducedRows(&'static [&'static str]),
    /// All axes, of which the one that the first attribute names has as many elements as the second says.
    AxisOf(&'static [&'static str]),
    /// The first axis, unless the second attribute names that, and one of as many elements as the first attribute says.
    BatchAndGroups(&'static [&'static str]),
    /// The axes whose number in the first attribute is not 0, each divided by that number; no axes if the attribute is empty. If
    /// there is a second attribute and it is set, the last axis of the operand counts as twice as long.
    Blocks(&'static [&'static str]),
    /// The axes of [`Self::Blocks`], by the first attribute and, if there is one, the third, in the layout that the second one, an enum,
    /// says: as they are, the last two exchanged, or in tiles of 128 by 4.
    Scales(&'static [&'static str]),
    /// All axes; if the attribute is set, the last one has half as many elements.
    Packed(&'static [&'static str]),
    /// All axes; if the attribute is set, the last one has twice as many elements.
    Unpacked(&'static [&'static str]),
    /// No axes.
    OneNumber(&'static [&'static str]),
    /// No tensor, but a scalar that takes the place of the attribute.
    InPlaceOf(&'static [&'static str]),
}

/// An attribute of a named op.
#[derive(Debug, PartialEq)]
pub struct Choice {
    /// The name that ODS gives it.
    pub name: &'static str,
    /// The default, as a user writes it; empty for an empty list, and for a required attribute.
    pub default: &'static str,
    /// Whether it has to be given.
    pub is_required: bool,
    /// The kind of its value.
    pub kind: ChoiceKind,
}

/// The kind of an attribute's value.
#[derive(Debug, PartialEq)]
pub enum ChoiceKind {
    /// A number, kept in f32.
    Number,
    /// An integer of 64 bits.
    Integer,
    /// A list of integers of 64 bits.
    Integers,
    /// A unit attribute, set or not.
    Flag,
    /// One of these keywords, which stand for 0, 1, ...
    Keyword(&'static [&'static str]),
}

impl NamedOp {
    /// The op of this name.
    pub fn find(mnemonic: &str) -> Option<&'static Self> {
        crate::norm::NAMED_OPS.iter().find(|op| op.mnemonic == mnemonic)
    }

    /// Its operands and results.
    pub fn tensors(&self) -> impl Iterator<Item = &'static Tensor> {
        self.operands.iter().chain(self.results)
    }
}
