//! The model of a dialect, read from TableGen's JSON records.
//!
//! Only what generation needs is kept, in ODS order. An unknown construct is refused here, so that the writers need not fail.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Error;

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
}

/// A named operand, result or region of an op: one, at most one, or many.
pub struct Group {
    pub name: String,
    pub summary: String,
    pub arity: Arity,
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

/// Reads the dialect `name` from the records; `inferring` are the classes of ops that infer their result types.
pub fn read(name: &str, records: &Value, inferring: &BTreeSet<String>) -> Result<Dialect, Error> {
    let reader = Reader {
        records,
        dialect: name,
    };
    let attrs = reader.in_dialect("AttrDef", "dialect")?;
    let types = reader.in_dialect("TypeDef", "dialect")?;
    let namespace = reader.namespace()?;
    let mut enums = Vec::new();
    for record in reader.instances("EnumInfo")? {
        if record.text("cppNamespace")? == namespace {
            enums.push(reader.enumeration(&record)?);
        }
    }
    let known = Known {
        enums: enums.iter().map(|e| e.class.clone()).collect(),
        attrs: attrs
            .iter()
            .map(|a| a.text("cppClassName"))
            .collect::<Result<_, _>>()?,
        types: types
            .iter()
            .map(|t| t.text("cppClassName"))
            .collect::<Result<_, _>>()?,
        namespace,
    };
    let ops = reader.in_dialect("Op", "opDialect")?;
    Ok(Dialect {
        name: name.to_owned(),
        ops: ops
            .iter()
            .map(|op| reader.op(op, &known, inferring))
            .collect::<Result<_, _>>()?,
        attrs: attrs
            .iter()
            .map(|attr| reader.definition(attr, &known))
            .collect::<Result<_, _>>()?,
        types: types
            .iter()
            .map(|ty| reader.definition(ty, &known))
            .collect::<Result<_, _>>()?,
        enums,
    })
}

/// The dialect's own classes, which parameters and attributes may name.
struct Known {
    namespace: String,
    enums: BTreeSet<String>,
    attrs: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl Known {
    /// The class that C++ text names, when it is one of this dialect: `::mlir::norm::ScheduleAttr` or `ScheduleAttr`.
    fn class<'t>(&self, cpp: &'t str) -> &'t str {
        let bare = cpp.trim().trim_start_matches("::");
        let namespace = self.namespace.trim_start_matches("::");
        let last_namespace = namespace.rsplit("::").next().unwrap_or(namespace);
        [namespace, last_namespace]
            .iter()
            .find_map(|prefix| bare.strip_prefix(prefix)?.strip_prefix("::"))
            .unwrap_or(bare)
    }

    fn element(&self, cpp: &str) -> Option<Element> {
        let class = self.class(cpp);
        if self.enums.contains(class) {
            return Some(Element::Enum(class.to_owned()));
        }
        if self.attrs.contains(class) {
            return Some(Element::OwnAttribute(class.to_owned()));
        }
        if self.types.contains(class) {
            return Some(Element::OwnType(class.to_owned()));
        }
        let bare = class
            .trim_start_matches("mlir::")
            .trim_start_matches("llvm::")
            .trim_start_matches("std::");
        Some(match bare {
            "int64_t" => Element::I64,
            "int32_t" | "int" => Element::I32,
            "unsigned" | "uint32_t" => Element::U32,
            "bool" => Element::Bool,
            "StringRef" | "string" => Element::Str,
            "AffineMap" => Element::AffineMap,
            _ if bare.ends_with("Attribute") || bare.ends_with("Attr") => Element::Attribute,
            _ if bare.ends_with("Type") => Element::Type,
            _ => return None,
        })
    }

    fn param(&self, cpp: &str, nullable: bool) -> Option<ParamKind> {
        let array = cpp
            .trim()
            .trim_start_matches("::")
            .trim_start_matches("llvm::")
            .strip_prefix("ArrayRef<");
        if let Some(element) = array {
            return match self.element(element.strip_suffix('>')?)? {
                Element::Str | Element::AffineMap => None,
                element => Some(ParamKind::Slice(element)),
            };
        }
        Some(match self.element(cpp)? {
            element @ (Element::Attribute
            | Element::Type
            | Element::OwnAttribute(_)
            | Element::OwnType(_))
                if nullable =>
            {
                ParamKind::Nullable(element)
            }
            element => ParamKind::Scalar(element),
        })
    }
}

/// Reads records of one dialect.
struct Reader<'j> {
    records: &'j Value,
    dialect: &'j str,
}

impl<'j> Reader<'j> {
    fn record(&self, name: &str) -> Result<Record<'j>, Error> {
        let fields = self.records.get(name).ok_or_else(|| Error::Malformed {
            record: name.to_owned(),
            expected: "a record of this name".to_owned(),
        })?;
        Ok(Record {
            name: name.to_owned(),
            fields,
        })
    }

    /// All records that derive from `class`.
    fn instances(&self, class: &str) -> Result<Vec<Record<'j>>, Error> {
        let names = self.records["!instanceof"][class]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        names
            .iter()
            .filter_map(Value::as_str)
            .map(|name| self.record(name))
            .collect()
    }

    /// The records deriving from `class` whose `field` names this dialect.
    fn in_dialect(&self, class: &str, field: &str) -> Result<Vec<Record<'j>>, Error> {
        let mut found = Vec::new();
        for record in self.instances(class)? {
            if self.record(&record.reference(field)?)?.text("name")? == self.dialect {
                found.push(record);
            }
        }
        Ok(found)
    }

    fn namespace(&self) -> Result<String, Error> {
        for record in self.instances("Dialect")? {
            if record.text("name")? == self.dialect {
                return record.text("cppNamespace");
            }
        }
        Err(Error::Malformed {
            record: self.dialect.to_owned(),
            expected: "a dialect of this name".to_owned(),
        })
    }

    fn enumeration(&self, record: &Record<'j>) -> Result<Enum, Error> {
        if record.is_a("BitEnumAttrBase") || record.is_a("BitEnum") {
            return Err(record.unsupported("a bit enum"));
        }
        if record.integer("bitwidth").unwrap_or(32) != 32 {
            return Err(record.unsupported("an enum that is not 32 bits wide"));
        }
        let mut cases = Vec::new();
        for case in record.array("enumerants")? {
            let case = self.record(&reference(case).ok_or_else(|| record.malformed("enumerants"))?)?;
            let value = case.integer("value").and_then(|value| u32::try_from(value).ok());
            cases.push(Case {
                symbol: case.text("symbol")?,
                value: value.ok_or_else(|| case.malformed("a non-negative 32-bit value"))?,
                keyword: case.text("str")?,
                summary: case.text("summary").unwrap_or_default(),
            });
        }
        Ok(Enum {
            class: record.text("className")?,
            summary: record.text("summary")?,
            cases,
        })
    }

    fn definition(&self, record: &Record<'j>, known: &Known) -> Result<Definition, Error> {
        if record.integer("skipDefaultBuilders") == Some(1) {
            return Err(record.unsupported("a definition without its default builder"));
        }
        let class = record.text("cppClassName")?;
        let mut params = Vec::new();
        for (value, name) in record.dag("parameters")? {
            let (cpp, summary, nullable) = match value.as_str() {
                Some(cpp) => (cpp.to_owned(), String::new(), false),
                None => {
                    let param =
                        self.record(&reference(value).ok_or_else(|| record.malformed("parameters"))?)?;
                    let nullable = param.is_a("OptionalParameter") || param.is_a("DefaultValuedParameter");
                    (
                        param.text("cppType")?,
                        param.text("summary").unwrap_or_default(),
                        nullable,
                    )
                }
            };
            let kind = known
                .param(&cpp, nullable)
                .ok_or_else(|| record.unsupported(&format!("parameter {name} of C++ type {cpp}")))?;
            params.push(Param {
                name,
                summary,
                cpp,
                kind,
            });
        }
        Ok(Definition {
            cpp: format!("{}::{class}", known.namespace),
            class,
            mnemonic: record.text("mnemonic").unwrap_or_default(),
            summary: record.text("summary").unwrap_or_default(),
            description: record.text("description").unwrap_or_default(),
            params,
            verified: record.integer("genVerifyDecl") == Some(1),
        })
    }

    fn op(&self, record: &Record<'j>, known: &Known, inferring: &BTreeSet<String>) -> Result<Op, Error> {
        let mut operands = Vec::new();
        let mut attributes = Vec::new();
        for (value, name) in record.dag("arguments")? {
            let argument = self.record(&reference(value).ok_or_else(|| record.malformed("arguments"))?)?;
            if argument.is_a("AttrConstraint") {
                attributes.push(self.attribute(name, &argument, known)?);
            } else if argument.is_a("TypeConstraint") {
                operands.push(self.group(name, &argument)?);
            } else {
                return Err(record.unsupported(&format!("argument {name}, a property")));
            }
        }
        let groups = |field: &str| {
            record
                .dag(field)?
                .into_iter()
                .map(|(value, name)| {
                    let item = self.record(&reference(value).ok_or_else(|| record.malformed(field))?)?;
                    self.group(name, &item)
                })
                .collect::<Result<Vec<_>, Error>>()
        };
        if !record.dag("successors")?.is_empty() {
            return Err(record.unsupported("a successor"));
        }
        let traits: Vec<String> = record.array("traits")?.iter().filter_map(reference).collect();
        let has = |name: &str| traits.iter().any(|t| t == name);
        if has("SameVariadicOperandSize") || has("SameVariadicResultSize") {
            return Err(record.unsupported("SameVariadicOperandSize or SameVariadicResultSize"));
        }
        // mlir-tblgen's own rule: the record's name without what precedes the first underscore.
        let class = record
            .name
            .split_once('_')
            .map_or(record.name.as_str(), |(_, class)| class)
            .to_owned();
        let op = Op {
            name: format!("{}.{}", self.dialect, record.text("opName")?),
            summary: record.text("summary").unwrap_or_default(),
            description: record.text("description").unwrap_or_default(),
            operands,
            results: groups("results")?,
            regions: groups("regions")?,
            attributes,
            operand_segments: has("AttrSizedOperandSegments"),
            result_segments: has("AttrSizedResultSegments"),
            infers_types: inferring.contains(&class),
            class,
        };
        for (groups, segments) in [
            (&op.operands, op.operand_segments),
            (&op.results, op.result_segments),
        ] {
            if !segments && groups.iter().filter(|group| group.arity != Arity::Single).count() > 1 {
                return Err(record.malformed("a segment-sizes trait for several variable-length groups"));
            }
        }
        Ok(op)
    }

    fn group(&self, name: String, record: &Record<'j>) -> Result<Group, Error> {
        let arity = if record.is_a("Optional") {
            Arity::Optional
        } else if record.is_a("Variadic") || record.is_a("VariadicRegion") {
            Arity::Variadic
        } else if record.is_a("VariadicOfVariadic") {
            return Err(record.unsupported("a variadic of variadics"));
        } else {
            Arity::Single
        };
        Ok(Group {
            name,
            summary: record.text("summary").unwrap_or_default(),
            arity,
        })
    }

    fn attribute(&self, name: String, record: &Record<'j>, known: &Known) -> Result<Attribute, Error> {
        let optional = record.integer("isOptional") == Some(1) || record.is_a("OptionalAttr");
        let default = record.text("defaultValue").unwrap_or_default();
        let presence = if optional || record.is_a("DefaultValuedOptionalAttr") {
            Presence::Optional
        } else if default.is_empty() {
            Presence::Required
        } else {
            Presence::Default(default)
        };
        // OptionalAttr and friends wrap the attribute that has the enum or the value type.
        let mut base = self.record(&record.name)?;
        while let Ok(inner) = base.reference("baseAttr") {
            base = self.record(&inner)?;
        }
        let bits = || {
            let ty = self.record(&base.reference("valueType")?)?;
            ty.integer("bitwidth")
                .and_then(|bits| u32::try_from(bits).ok())
                .ok_or_else(|| base.unsupported("an attribute without a fixed width"))
        };
        let storage = record.text("storageType")?;
        let class = known.class(&storage);
        let kind = if base.is_a("EnumInfo") {
            AttributeKind::IntegerEnum(base.text("className")?)
        } else if base.is_a("EnumAttr") {
            let of = self.record(&base.reference("enum")?)?.text("className")?;
            AttributeKind::OwnEnum {
                attribute: class.to_owned(),
                r#enum: of,
            }
        } else if known.attrs.contains(class) {
            AttributeKind::Own(class.to_owned())
        } else {
            match class.trim_start_matches("mlir::") {
                "IntegerAttr" if base.reference("valueType")? == "Index" => AttributeKind::Index,
                "IntegerAttr" => AttributeKind::Integer(bits()?),
                "FloatAttr" => AttributeKind::Float(bits()?),
                "BoolAttr" => AttributeKind::Bool,
                "UnitAttr" => AttributeKind::Unit,
                "StringAttr" => AttributeKind::Str,
                "FlatSymbolRefAttr" => AttributeKind::Symbol,
                "DenseI64ArrayAttr" => AttributeKind::DenseI64,
                "DenseI32ArrayAttr" => AttributeKind::DenseI32,
                "ArrayAttr" => AttributeKind::Array,
                "TypeAttr" => AttributeKind::Type,
                "AffineMapAttr" => AttributeKind::AffineMap,
                _ => AttributeKind::Any,
            }
        };
        let presence = if kind == AttributeKind::Unit {
            Presence::Optional
        } else {
            presence
        };
        Ok(Attribute {
            name,
            summary: record.text("summary").unwrap_or_default(),
            kind,
            presence,
        })
    }
}

/// A TableGen record and its name, for messages.
struct Record<'j> {
    name: String,
    fields: &'j Value,
}

impl<'j> Record<'j> {
    fn is_a(&self, class: &str) -> bool {
        self.fields["!superclasses"]
            .as_array()
            .is_some_and(|classes| classes.iter().any(|c| c == class))
    }

    fn text(&self, field: &str) -> Result<String, Error> {
        self.fields[field]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| self.malformed(field))
    }

    fn integer(&self, field: &str) -> Option<i64> {
        self.fields[field].as_i64()
    }

    fn array(&self, field: &str) -> Result<&'j [Value], Error> {
        self.fields[field]
            .as_array()
            .map(Vec::as_slice)
            .ok_or_else(|| self.malformed(field))
    }

    fn reference(&self, field: &str) -> Result<String, Error> {
        reference(&self.fields[field]).ok_or_else(|| self.malformed(field))
    }

    /// The arguments of a dag with their names (empty where there is none).
    fn dag(&self, field: &str) -> Result<Vec<(&'j Value, String)>, Error> {
        let arguments = self.fields[field]["args"]
            .as_array()
            .ok_or_else(|| self.malformed(field))?;
        Ok(arguments
            .iter()
            .map(|pair| (&pair[0], pair[1].as_str().unwrap_or_default().to_owned()))
            .collect())
    }

    fn malformed(&self, expected: &str) -> Error {
        Error::Malformed {
            record: self.name.clone(),
            expected: expected.to_owned(),
        }
    }

    fn unsupported(&self, what: &str) -> Error {
        Error::Unsupported {
            record: self.name.clone(),
            what: what.to_owned(),
        }
    }
}

/// The record that a JSON value refers to.
fn reference(value: &Value) -> Option<String> {
    value["def"].as_str().map(str::to_owned)
}
