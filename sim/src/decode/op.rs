//! Access to an op's attributes by name.
//!
//! NVVM's enum attributes have no accessor in MLIR's C API; they are read from their text, as in `#nvvm<shfl_kind bfly>`.

use melior::ir::{
    Attribute, AttributeLike, Location, OperationRef, Type, Value, ValueLike, operation::OperationLike,
};
use mlir_sys::*;

use super::error::{Result, internal, unsupported};
use crate::program::{self, Site};

/// An op that is being decoded.
#[derive(Clone, Copy)]
pub(super) struct Op<'c, 'a> {
    pub raw: OperationRef<'c, 'a>,
    /// Its full name, such as `llvm.add`.
    pub name: &'c str,
}

impl<'c, 'a> Op<'c, 'a> {
    pub fn new(raw: OperationRef<'c, 'a>) -> Self {
        let name = norma_dialects::op_name(raw);
        Self { raw, name }
    }

    pub fn operands(&self) -> usize {
        self.raw.operand_count()
    }

    pub fn operand(&self, index: usize) -> Result<Value<'c, 'a>> {
        Ok(self.raw.operand(index)?)
    }

    pub fn operand_type(&self, index: usize) -> Result<Type<'c>> {
        Ok(self.raw.operand(index)?.r#type())
    }

    pub fn results(&self) -> usize {
        self.raw.result_count()
    }

    pub fn result_type(&self, index: usize) -> Result<Type<'c>> {
        Ok(self.raw.result(index)?.r#type())
    }

    /// The operands of segment `index` of an op with several variadic operands.
    pub fn segment(&self, index: usize) -> Result<std::ops::Range<usize>> {
        let sizes = self
            .integers("operandSegmentSizes")
            .ok_or_else(|| internal("has no operand segments"))?;
        let begin = sizes.iter().take(index).sum::<i64>() as usize;
        let size = sizes
            .get(index)
            .ok_or_else(|| internal("lacks an operand segment"))?;
        Ok(begin..begin + *size as usize)
    }

    /// The operand of a segment that has one or none.
    pub fn optional(&self, index: usize) -> Result<Option<usize>> {
        Ok(self.segment(index)?.next())
    }

    pub fn attribute(&self, name: &str) -> Option<Attribute<'c>> {
        self.raw.attribute(name).ok()
    }

    /// An integer attribute.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(integer)
    }

    /// An integer attribute that must be there.
    pub fn need_integer(&self, name: &str) -> Result<i64> {
        self.integer(name)
            .ok_or_else(|| internal(format!("lacks its integer attribute '{name}'")))
    }

    /// Whether a unit attribute is there, or a boolean one is true.
    pub fn flag(&self, name: &str) -> bool {
        self.attribute(name)
            .is_some_and(|attribute| !matches!(attribute.to_string().as_str(), "false" | "0 : i1"))
    }

    /// A string, or the name of a symbol.
    pub fn text(&self, name: &str) -> Option<&'c str> {
        let raw = self.attribute(name)?.to_raw();
        // SAFETY: the attribute is alive, of the kind its accessor is for, and the context keeps its text.
        unsafe {
            let text = if mlirAttributeIsAString(raw) {
                mlirStringAttrGetValue(raw)
            } else if mlirAttributeIsAFlatSymbolRef(raw) {
                mlirFlatSymbolRefAttrGetValue(raw)
            } else {
                return None;
            };
            characters(text)
        }
    }

    /// A string that must be there.
    pub fn need_text(&self, name: &str) -> Result<&'c str> {
        self.text(name)
            .ok_or_else(|| internal(format!("lacks its text attribute '{name}'")))
    }

    /// The value of an enum attribute.
    pub fn keyword(&self, name: &str) -> Option<String> {
        self.attribute(name).map(keyword)
    }

    /// The value of an enum attribute that must be there.
    pub fn need_keyword(&self, name: &str) -> Result<String> {
        self.keyword(name)
            .ok_or_else(|| internal(format!("lacks its attribute '{name}'")))
    }

    /// An array of integers.
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).and_then(integers)
    }

    /// Fails unless the enum attribute `name` is absent or has the one value that is modelled.
    pub fn only(&self, name: &str, value: &str) -> Result<()> {
        match self.keyword(name) {
            Some(other) if other != value => Err(unsupported(format!(
                "has {name} = {other}; only {value} is modelled"
            ))),
            _ => Ok(()),
        }
    }

    /// The site of its instructions.
    pub fn site(&self) -> Site {
        Site {
            op: self.name.to_owned(),
            location: place(self.raw.location()),
            in_module: None,
        }
    }
}

/// The value of an integer attribute of at most 64 bits.
pub(super) fn integer(attribute: Attribute<'_>) -> Option<i64> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive and an integer; wider ones would fail an assertion of MLIR.
    unsafe {
        if !mlirAttributeIsAInteger(raw) {
            return None;
        }
        let ty = mlirAttributeGetType(raw);
        if !mlirTypeIsAInteger(ty) {
            return Some(mlirIntegerAttrGetValueInt(raw));
        }
        match mlirIntegerTypeGetWidth(ty) {
            0 | 65.. => None,
            _ if mlirIntegerTypeIsSigned(ty) => Some(mlirIntegerAttrGetValueSInt(raw)),
            _ if mlirIntegerTypeIsUnsigned(ty) => Some(mlirIntegerAttrGetValueUInt(raw) as i64),
            _ => Some(mlirIntegerAttrGetValueInt(raw)),
        }
    }
}

/// The integers of a dense array, or of dense elements of i32 or i64.
pub(super) fn integers(attribute: Attribute<'_>) -> Option<Vec<i64>> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, each accessor is for its kind, and indices are below its count.
    unsafe {
        if mlirAttributeIsADenseI32Array(raw) {
            let count = mlirDenseArrayGetNumElements(raw);
            return Some(
                (0..count)
                    .map(|index| i64::from(mlirDenseI32ArrayGetElement(raw, index)))
                    .collect(),
            );
        }
        if mlirAttributeIsADenseI64Array(raw) {
            let count = mlirDenseArrayGetNumElements(raw);
            return Some(
                (0..count)
                    .map(|index| mlirDenseI64ArrayGetElement(raw, index))
                    .collect(),
            );
        }
    }
    None
}

/// The last word of an enum attribute's text: `bfly` of `#nvvm<shfl_kind bfly>` or `#nvvm.shfl_kind<bfly>`.
pub(super) fn keyword(attribute: Attribute<'_>) -> String {
    let text = attribute.to_string();
    text.trim_end_matches('>')
        .rsplit([' ', '<'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The text of a string of MLIR's; `None` if it is not UTF-8.
///
/// # Safety
///
/// The text must live as long as the result.
unsafe fn characters<'t>(text: MlirStringRef) -> Option<&'t str> {
    if text.length == 0 {
        return Some("");
    }
    // SAFETY: MLIR's strings are valid for their length.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(text.data.cast(), text.length) }).ok()
}

/// The innermost source position of a location.
pub(super) fn place(location: Location<'_>) -> Option<program::Location> {
    if location.is_file_line_col_range() {
        let name = location.file_line_col_range_filename().to_raw();
        // SAFETY: the context keeps identifiers.
        let file = unsafe { characters(mlirIdentifierStr(name)) };
        return Some(program::Location {
            file: file.unwrap_or_default().to_owned(),
            line: location.file_line_col_range_start_line() as u32,
            column: location.file_line_col_range_start_column() as u32,
        });
    }
    if location.is_name() {
        return place(location.name_child_location());
    }
    if location.is_call_site() {
        return place(location.call_site_callee()).or_else(|| place(location.call_site_caller()));
    }
    if location.is_fused() {
        return (0..location.fused_num_locations()).find_map(|index| place(location.fused_location(index)));
    }
    None
}
