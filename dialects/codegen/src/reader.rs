//! Reads the model of a dialect from TableGen's JSON records, in ODS order.
//!
//! A construct that the model cannot express is refused with the record's name.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    Error,
    ods::{
        Arity, Attribute, AttributeKind, Case, Definition, Dialect, Element, Enum, Group, Op, Param,
        ParamKind, Presence, Shape,
    },
};

/// The ODS class of ops on tensors that users write by name.
const NAMED_OP: &str = "Norm_NamedOp";

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
            let mut argument =
                self.record(&reference(value).ok_or_else(|| record.malformed("arguments"))?)?;
            let mut effects = Vec::new();
            if argument.is_a("OpVariable") {
                effects = argument
                    .array("decorators")?
                    .iter()
                    .filter_map(reference)
                    .collect();
                argument = self.record(&argument.reference("constraint")?)?;
            }
            if argument.is_a("AttrConstraint") {
                attributes.push(self.attribute(name, &argument, known)?);
            } else if argument.is_a("TypeConstraint") {
                let has = |effect: &str| effects.iter().any(|name| name == effect);
                operands.push(Group {
                    is_read: has("MemRead"),
                    is_written: has("MemWrite"),
                    ..self.group(name, &argument)?
                });
            } else {
                return Err(record.unsupported(&format!("the property {name}")));
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
            is_named: record.is_a(NAMED_OP),
            shapes: self.shapes(record)?,
            usual: record.strings("usual"),
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

    /// The shape rules of a named op's operands and results.
    fn shapes(&self, record: &Record<'j>) -> Result<Vec<(String, Shape)>, Error> {
        if !record.is_a(NAMED_OP) {
            return Ok(Vec::new());
        }
        let mut shapes = Vec::new();
        for (value, name) in record.dag("shapes")? {
            let rule = self.record(&reference(value).ok_or_else(|| record.malformed("shapes"))?)?;
            let shape = Shape::Rule {
                name: rule.text("shapeRule")?,
                attributes: rule.strings("shapeAttributes"),
            };
            shapes.push((name, shape));
        }
        Ok(shapes)
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
            is_read: false,
            is_written: false,
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

    /// A list of strings; none where there is no such field.
    fn strings(&self, field: &str) -> Vec<String> {
        let list = self.fields[field].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> Known {
        Known {
            namespace: "::mlir::norm".to_owned(),
            enums: BTreeSet::from(["Kind".to_owned()]),
            attrs: BTreeSet::from(["ScheduleAttr".to_owned()]),
            types: BTreeSet::new(),
        }
    }

    #[test]
    fn parameters_are_told_by_their_cpp_type() {
        let param = |cpp| known().param(cpp, false);
        assert_eq!(param("int64_t"), Some(ParamKind::Scalar(Element::I64)));
        assert_eq!(
            param("::mlir::norm::Kind"),
            Some(ParamKind::Scalar(Element::Enum("Kind".to_owned())))
        );
        assert_eq!(
            param("::llvm::ArrayRef<norm::ScheduleAttr>"),
            Some(ParamKind::Slice(Element::OwnAttribute("ScheduleAttr".to_owned())))
        );
        assert_eq!(
            param("::mlir::MemRefType"),
            Some(ParamKind::Scalar(Element::Type))
        );
        assert_eq!(
            known().param("Attribute", true),
            Some(ParamKind::Nullable(Element::Attribute))
        );
    }

    #[test]
    fn nested_arrays_have_no_rust_form() {
        assert_eq!(
            known().param("::llvm::ArrayRef<::llvm::ArrayRef<int64_t>>", false),
            None
        );
    }

    #[test]
    fn an_op_with_a_property_is_refused_by_name() {
        let dag = |args: Value| json!({ "args": args });
        let records = json!({
            "!instanceof": { "Dialect": ["D"], "Op": ["Norm_XOp"] },
            "D": { "name": "norm", "cppNamespace": "::mlir::norm" },
            "IntProp": { "!superclasses": ["Property"] },
            "Norm_XOp": {
                "opDialect": { "def": "D" },
                "opName": "x",
                "arguments": dag(json!([[{ "def": "IntProp" }, "n"]])),
            },
        });
        let error = read("norm", &records, &BTreeSet::new())
            .err()
            .map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("record Norm_XOp: the property n has no generated Rust form")
        );
    }
}
