//! The model of a dialect: the part of its ODS that generation needs.
//!
//! The reader refuses constructs that this model cannot express, so that the writers need not fail.

/// A dialect: what ODS defines under one name.
pub struct Dialect {
    /// `norm`.
    pub name: String,
    /// The ops, in record-name order.
    pub ops: Vec<Op>,
    /// `AttrDef`s, including those that `EnumAttr` defines.
    pub attrs: Vec<Definition>,
    /// `TypeDef`s.
    pub types: Vec<Definition>,
    /// Enums in the dialect's C++ namespace.
    pub enums: Vec<Enum>,
}

/// An integer enum.
pub struct Enum {
    /// The C++ class, also the Rust name: `CombineKind`.
    pub class: String,
    pub summary: String,
    pub cases: Vec<Case>,
}

/// A case of an enum.
pub struct Case {
    /// The C++ enumerator.
    pub symbol: String,
    pub value: u32,
    /// The keyword printed in assembly.
    pub keyword: String,
    pub summary: String,
}

/// An `AttrDef` or a `TypeDef`.
pub struct Definition {
    /// The C++ class, also the Rust name: `ScheduleAttr`.
    pub class: String,
    /// `::mlir::norm::ScheduleAttr`.
    pub cpp: String,
    /// `schedule`.
    pub mnemonic: String,
    pub summary: String,
    pub description: String,
    pub params: Vec<Param>,
    /// Whether the class verifies its parameters (`genVerifyDecl`).
    pub verified: bool,
}

/// A parameter of an attribute or type.
pub struct Param {
    pub name: String,
    pub summary: String,
    /// The C++ type, as written in ODS.
    pub cpp: String,
    pub kind: ParamKind,
}

/// How a parameter crosses from C++ to Rust.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamKind {
    Scalar(Element),
    /// `ArrayRef<element>`: lives in the context's storage.
    Slice(Element),
    /// A null attribute or type when absent (`OptionalParameter`).
    Nullable(Element),
}

/// A parameter, or an element of an array parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    I64,
    I32,
    U32,
    Bool,
    Str,
    AffineMap,
    /// An enum of the dialect, by class.
    Enum(String),
    /// An attribute with no class of this dialect.
    Attribute,
    /// A type with no class of this dialect.
    Type,
    /// An attribute of this dialect, by class.
    OwnAttribute(String),
    /// A type of this dialect, by class.
    OwnType(String),
}

/// An op.
pub struct Op {
    /// The C++ class, also the Rust name: `ReadOp`.
    pub class: String,
    /// `norm.read`.
    pub name: String,
    pub summary: String,
    pub description: String,
    pub operands: Vec<Group>,
    pub results: Vec<Group>,
    pub regions: Vec<Group>,
    pub attributes: Vec<Attribute>,
    /// `operandSegmentSizes` says where the operand groups lie.
    pub operand_segments: bool,
    /// `resultSegmentSizes` says where the result groups lie.
    pub result_segments: bool,
    pub infers_types: bool,
    /// Whether it is one of the ops on tensors that users write by name.
    pub is_named: bool,
    /// Of a named op: the shapes that differ from the first operand's, by the name of the operand or result.
    pub shapes: Vec<(String, Shape)>,
    /// Of a named op: the optional operands and results that it has unless one says otherwise.
    pub usual: Vec<String>,
}

/// The shape of a named op's operand or result.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// The shape of the first operand.
    Same,
    /// The shape that a rule of ODS (`Norm_ShapeRule`) derives from the first operand's and from some attributes.
    Rule {
        /// The rule's name.
        name: String,
        /// The attributes' names.
        attributes: Vec<String>,
    },
}

/// A named operand, result or region of an op: one, at most one, or many.
pub struct Group {
    pub name: String,
    pub summary: String,
    pub arity: Arity,
    /// Whether the op reads memory through an operand (`Arg<..., [MemRead]>`).
    pub is_read: bool,
    /// Whether the op writes memory through an operand (`Arg<..., [MemWrite]>`).
    pub is_written: bool,
}

/// How many values a group holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arity {
    Single,
    Optional,
    Variadic,
}

/// A named attribute of an op.
pub struct Attribute {
    pub name: String,
    pub summary: String,
    pub kind: AttributeKind,
    pub presence: Presence,
}

/// Whether an op's attribute must be given.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    Required,
    Optional,
    /// Filled in by the op when not given; the text is C++.
    Default(String),
}

/// What an op's attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeKind {
    /// An integer of this many bits.
    Integer(u32),
    Index,
    /// A float of this many bits: 32 or 64.
    Float(u32),
    Bool,
    Unit,
    Str,
    Symbol,
    DenseI64,
    DenseI32,
    Array,
    Type,
    AffineMap,
    /// An enum stored as a plain integer attribute.
    IntegerEnum(String),
    /// An enum stored in an attribute of the dialect: the attribute's class, and the enum's.
    OwnEnum {
        attribute: String,
        r#enum: String,
    },
    /// An attribute of the dialect, by class.
    Own(String),
    /// Anything else.
    Any,
}
