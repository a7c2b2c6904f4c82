//! The helpers of the generated op views: operand groups, and attributes as Rust values.
//!
//! A view presumes an op that its verifier accepts. On another one accessors return errors or nothing, and never panic.

use std::ops::Range;

use melior::{
    Context, ContextRef, Error,
    ir::{
        AffineExpr, AffineMap, Attribute, AttributeLike, Identifier, Type, Value,
        attribute::{
            ArrayAttribute, BoolAttribute, DenseI32ArrayAttribute, DenseI64ArrayAttribute, FloatAttribute,
            IntegerAttribute, TypeAttribute,
        },
        operation::{OperationBuilder, OperationLike, OperationRef},
        r#type::IntegerType,
    },
};
use mlir_sys::MlirStringRef;

/// How many values an ODS operand or result stands for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Arity {
    /// Exactly one.
    Single,
    /// None or one.
    Optional,
    /// Any number.
    Variadic,
}

/// The keyword of an enum's value, if it has such a case.
pub(crate) type Keyword = fn(u32) -> Option<&'static str>;

/// The ODS names of the operands and results of an op.
pub(crate) struct Groups {
    /// The op's full name.
    pub op: &'static str,
    /// In order, with how many values each stands for.
    pub operands: &'static [(&'static str, Arity)],
    /// Whether the op has `operandSegmentSizes`.
    pub operand_segments: bool,
    /// In order, with how many values each stands for.
    pub results: &'static [(&'static str, Arity)],
    /// Whether the op has `resultSegmentSizes`.
    pub result_segments: bool,
    /// The attributes that are enums, with the keyword of each value.
    pub enums: &'static [(&'static str, Keyword)],
    /// The operands through which the op accesses global memory: whether it reads, and whether it writes.
    pub effects: &'static [(&'static str, bool, bool)],
}

/// An operand through which an op accesses global memory.
#[derive(Clone, Copy, Debug)]
pub struct GlobalEffect<'c, 'a> {
    /// The buffer, or what stands for it, such as a tensor map.
    pub operand: Value<'c, 'a>,
    /// Whether the op reads.
    pub is_read: bool,
    /// Whether the op writes.
    pub is_written: bool,
}

/// Values under the name that ODS gives their group.
pub(crate) type Named<'c, 'a> = Vec<(&'static str, Vec<Value<'c, 'a>>)>;

/// A context, or melior's reference to one: what an operation, a location or a type gives as its context.
///
/// melior's `ContextRef::to_ref` does not serve: the reference it makes points to the `ContextRef`, not to the context.
pub trait ContextLike<'c> {
    /// The raw context.
    fn to_raw_context(&self) -> mlir_sys::MlirContext;
}

impl<'c> ContextLike<'c> for &'c Context {
    fn to_raw_context(&self) -> mlir_sys::MlirContext {
        self.to_raw()
    }
}

impl<'c> ContextLike<'c> for ContextRef<'c> {
    fn to_raw_context(&self) -> mlir_sys::MlirContext {
        // SAFETY: the reference is used while `self` is borrowed.
        unsafe { self.to_ref() }.to_raw()
    }
}

/// Whether `op` is the op called `name`.
pub(crate) fn is_named(op: OperationRef, name: &str) -> bool {
    op_name(op) == name
}

/// The full name of an op (`arith.addf`); empty where it is not UTF-8.
pub fn op_name<'c>(op: OperationRef<'c, '_>) -> &'c str {
    // SAFETY: the op is alive, and the context keeps the names of ops.
    unsafe {
        str_from_raw(mlir_sys::mlirIdentifierStr(mlir_sys::mlirOperationGetName(
            op.to_raw(),
        )))
    }
    .unwrap_or_default()
}

/// The name of an op that is a symbol; an unnamed one has none.
pub fn symbol_name<'c>(op: OperationRef<'c, '_>) -> Option<&'c str> {
    op.attribute("sym_name").and_then(string).ok()
}

/// The operands that the ODS operand `index` stands for.
pub(crate) fn operand_group<'c, 'a>(
    op: OperationRef<'c, 'a>,
    arities: &[Arity],
    index: usize,
    segmented: bool,
) -> Vec<Value<'c, 'a>> {
    let sizes = segmented.then(|| segment_sizes(op, "operandSegmentSizes"));
    let range = group(arities, index, op.operand_count(), sizes.as_deref());
    range.filter_map(|index| op.operand(index).ok()).collect()
}

/// The results that the ODS result `index` stands for.
pub(crate) fn result_group<'c, 'a>(
    op: OperationRef<'c, 'a>,
    arities: &[Arity],
    index: usize,
    segmented: bool,
) -> Vec<Value<'c, 'a>> {
    let sizes = segmented.then(|| segment_sizes(op, "resultSegmentSizes"));
    let range = group(arities, index, op.result_count(), sizes.as_deref());
    range
        .filter_map(|index| op.result(index).ok())
        .map(Into::into)
        .collect()
}

/// The operands of `op` by name, if the table has the op.
pub(crate) fn operands_by_name<'c, 'a>(table: &[Groups], op: OperationRef<'c, 'a>) -> Option<Named<'c, 'a>> {
    let row = table.iter().find(|row| is_named(op, row.op))?;
    let arities: Vec<Arity> = row.operands.iter().map(|(_, arity)| *arity).collect();
    let values = |index| operand_group(op, &arities, index, row.operand_segments);
    Some(
        row.operands
            .iter()
            .enumerate()
            .map(|(index, (name, _))| (*name, values(index)))
            .collect(),
    )
}

/// The operands through which `op` accesses global memory; none if the table does not have the op.
pub(crate) fn global_effects<'c, 'a>(
    table: &[Groups],
    op: OperationRef<'c, 'a>,
) -> Vec<GlobalEffect<'c, 'a>> {
    let Some(row) = table
        .iter()
        .find(|row| !row.effects.is_empty() && is_named(op, row.op))
    else {
        return Vec::new();
    };
    let effect = |name: &str| row.effects.iter().find(|(of, ..)| *of == name);
    let operands = operands_by_name(table, op).into_iter().flatten();
    operands
        .filter_map(|(name, values)| Some((effect(name)?, values)))
        .flat_map(|(&(_, is_read, is_written), values)| {
            values.into_iter().map(move |operand| GlobalEffect {
                operand,
                is_read,
                is_written,
            })
        })
        .collect()
}

/// The results of `op` by name, if the table has the op.
pub(crate) fn results_by_name<'c, 'a>(table: &[Groups], op: OperationRef<'c, 'a>) -> Option<Named<'c, 'a>> {
    let row = table.iter().find(|row| is_named(op, row.op))?;
    let arities: Vec<Arity> = row.results.iter().map(|(_, arity)| *arity).collect();
    let values = |index| result_group(op, &arities, index, row.result_segments);
    Some(
        row.results
            .iter()
            .enumerate()
            .map(|(index, (name, _))| (*name, values(index)))
            .collect(),
    )
}

/// The keyword of the attribute of that name, if the table has it as an enum of `op`.
pub(crate) fn enum_keyword(table: &[Groups], op: OperationRef, attribute: &str) -> Option<&'static str> {
    let row = table.iter().find(|row| is_named(op, row.op))?;
    let (name, keyword) = row.enums.iter().find(|(name, _)| *name == attribute)?;
    let value = op.attribute(name).and_then(integer).ok()?;
    keyword(u32::try_from(value).ok()?)
}

fn segment_sizes(op: OperationRef, name: &str) -> Vec<i32> {
    op.attribute(name).and_then(dense_i32).unwrap_or_default()
}

/// Returns where group `index` lies among `total` values: by `sizes`, or else at most one group varies and takes what the others
/// leave.
fn group(arities: &[Arity], index: usize, total: usize, sizes: Option<&[i32]>) -> Range<usize> {
    let varying = (total + 1).saturating_sub(arities.len());
    let size = |index: usize| match sizes {
        Some(sizes) => sizes
            .get(index)
            .map_or(0, |size| usize::try_from(*size).unwrap_or(0)),
        None if arities[index] == Arity::Single => 1,
        None => varying,
    };
    let start: usize = (0..index).map(size).sum();
    start..start + size(index)
}

/// Adds a segment-sizes attribute, which says where the groups of values lie.
pub(crate) fn set_segments<'c>(
    builder: OperationBuilder<'c>,
    context: &'c Context,
    name: &str,
    sizes: &[usize],
) -> OperationBuilder<'c> {
    let sizes: Vec<i32> = sizes.iter().map(|size| *size as i32).collect();
    let attribute = DenseI32ArrayAttribute::new(context, &sizes);
    builder.add_attributes(&[(Identifier::new(context, name), attribute.into())])
}

/// The text of a raw string, which the context keeps.
///
/// melior's `StringRef::as_str` does this too, but indexes out of bounds on an empty string.
///
/// # Safety
///
/// The text must live for `'c`.
pub(crate) unsafe fn str_from_raw<'c>(raw: MlirStringRef) -> Result<&'c str, Error> {
    if raw.length == 0 {
        return Ok("");
    }
    // SAFETY: a string reference points to `length` bytes; the caller promises their life.
    let bytes = unsafe { std::slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    std::str::from_utf8(bytes).map_err(Error::Utf8)
}

/// The case of an enum that C++ gives the number of.
///
/// # Errors
///
/// The enum has no such case, which an attribute may hold that C or C++ has built from a number.
pub(crate) fn enumeration<T>(from_u32: fn(u32) -> Option<T>, raw: u32) -> Result<T, Error> {
    from_u32(raw).ok_or_else(|| Error::AttributeExpected("case of an enum", raw.to_string()))
}

/// The value of an integer attribute.
pub fn integer(attribute: Attribute) -> Result<i64, Error> {
    IntegerAttribute::try_from(attribute).map(|attribute| attribute.value())
}

/// The value of an op's integer attribute, if it has one of this name.
pub fn integer_of(op: OperationRef, name: &str) -> Option<i64> {
    op.attribute(name).and_then(integer).ok()
}

/// The value of a float attribute.
pub(crate) fn float(attribute: Attribute) -> Result<f64, Error> {
    FloatAttribute::try_from(attribute).map(|attribute| attribute.value())
}

/// The value of a boolean attribute.
pub(crate) fn boolean(attribute: Attribute) -> Result<bool, Error> {
    BoolAttribute::try_from(attribute).map(|attribute| attribute.value())
}

/// The text of a string attribute.
pub fn string<'c>(attribute: Attribute<'c>) -> Result<&'c str, Error> {
    if !attribute.is_string() {
        return Err(Error::AttributeExpected("string", attribute.to_string()));
    }
    // SAFETY: it is a string attribute, whose text the context keeps.
    unsafe { str_from_raw(mlir_sys::mlirStringAttrGetValue(attribute.to_raw())) }
}

/// The name in a flat symbol reference.
pub fn symbol<'c>(attribute: Attribute<'c>) -> Result<&'c str, Error> {
    if !attribute.is_flat_symbol_ref() {
        return Err(Error::AttributeExpected("flat symbol ref", attribute.to_string()));
    }
    // SAFETY: it is a flat symbol reference, whose text the context keeps.
    unsafe { str_from_raw(mlir_sys::mlirFlatSymbolRefAttrGetValue(attribute.to_raw())) }
}

/// The names in a symbol reference, outermost first.
pub fn symbol_path<'c>(attribute: Attribute<'c>) -> Result<Vec<&'c str>, Error> {
    if !attribute.is_symbol_ref() {
        return Err(Error::AttributeExpected("symbol ref", attribute.to_string()));
    }
    let raw = attribute.to_raw();
    // SAFETY: it is a symbol reference, whose texts the context keeps and whose nested references are flat ones.
    unsafe {
        let mut path = vec![str_from_raw(mlir_sys::mlirSymbolRefAttrGetRootReference(raw))?];
        for index in 0..mlir_sys::mlirSymbolRefAttrGetNumNestedReferences(raw) {
            let nested = mlir_sys::mlirSymbolRefAttrGetNestedReference(raw, index);
            path.push(symbol(Attribute::from_raw(nested))?);
        }
        Ok(path)
    }
}

/// The elements of a dense i64 array.
pub fn dense_i64(attribute: Attribute) -> Result<Vec<i64>, Error> {
    let array = DenseI64ArrayAttribute::try_from(attribute)?;
    (0..array.len()).map(|index| array.element(index)).collect()
}

/// The elements of a dense i32 array.
pub(crate) fn dense_i32(attribute: Attribute) -> Result<Vec<i32>, Error> {
    let array = DenseI32ArrayAttribute::try_from(attribute)?;
    (0..array.len()).map(|index| array.element(index)).collect()
}

/// The elements of an array attribute.
pub(crate) fn array<'c>(attribute: Attribute<'c>) -> Result<Vec<Attribute<'c>>, Error> {
    let array = ArrayAttribute::try_from(attribute)?;
    (0..array.len()).map(|index| array.element(index)).collect()
}

/// The type in a type attribute.
pub(crate) fn type_of<'c>(attribute: Attribute<'c>) -> Result<Type<'c>, Error> {
    TypeAttribute::try_from(attribute).map(|attribute| attribute.value())
}

/// The map in an affine map attribute.
pub fn affine_map<'c>(attribute: Attribute<'c>) -> Result<AffineMap<'c>, Error> {
    if !attribute.is_affine_map() {
        return Err(Error::AttributeExpected("affine map", attribute.to_string()));
    }
    // SAFETY: it is an affine map attribute.
    Ok(unsafe { AffineMap::from_raw(mlir_sys::mlirAffineMapAttrGetValue(attribute.to_raw())) })
}

/// An attribute that holds `map`.
pub fn affine_map_attribute<'c>(map: AffineMap<'c>) -> Attribute<'c> {
    // SAFETY: the attribute lives as long as the context, as the map does.
    unsafe { Attribute::from_raw(mlir_sys::mlirAffineMapAttrGet(map.to_raw())) }
}

/// Returns the constraint of an integer set attribute with one inequality, `constraint >= 0`, and the number of its dims, which are
/// the first operands that the set's op passes; `None` for any other attribute.
pub fn inequality<'c>(attribute: Attribute<'c>) -> Option<(AffineExpr<'c>, usize)> {
    // SAFETY: the attribute is of a live context, and asked for its set only if it holds one.
    let set = unsafe {
        let raw = attribute.to_raw();
        mlir_sys::mlirAttributeIsAIntegerSet(raw).then(|| mlir_sys::mlirIntegerSetAttrGetValue(raw))?
    };
    // SAFETY: the set lives as long as its context, and has a first constraint where it is asked for.
    unsafe {
        let is_one = mlir_sys::mlirIntegerSetGetNumConstraints(set) == 1
            && !mlir_sys::mlirIntegerSetIsConstraintEq(set, 0);
        is_one.then(|| {
            let constraint = AffineExpr::from_raw(mlir_sys::mlirIntegerSetGetConstraint(set, 0));
            (constraint, mlir_sys::mlirIntegerSetGetNumDims(set).unsigned_abs())
        })
    }
}

/// An integer set attribute of one constraint over `symbols` symbols, `constraint >= 0`.
pub fn inequality_attribute<'c>(constraint: AffineExpr<'c>, symbols: usize) -> Attribute<'c> {
    let (constraint, is_equality) = (constraint.to_raw(), false);
    // SAFETY: the expression is of a live context, which uniques the set, and one constraint and one flag are passed.
    unsafe {
        let context = mlir_sys::mlirAffineExprGetContext(constraint);
        let set = mlir_sys::mlirIntegerSetGet(
            context,
            0,
            symbols as isize,
            1,
            &raw const constraint,
            &raw const is_equality,
        );
        Attribute::from_raw(mlir_sys::mlirIntegerSetAttrGet(set))
    }
}

/// A signless integer attribute of `bits` bits.
pub(crate) fn integer_attribute<'c>(context: &'c Context, bits: u32, value: i64) -> Attribute<'c> {
    IntegerAttribute::new(IntegerType::new(context, bits).into(), value).into()
}

/// An index attribute.
pub(crate) fn index_attribute<'c>(context: &'c Context, value: i64) -> Attribute<'c> {
    IntegerAttribute::new(Type::index(context), value).into()
}

/// An f64 attribute for 64 bits, an f32 attribute otherwise.
pub(crate) fn float_attribute<'c>(context: &'c Context, bits: u32, value: f64) -> Attribute<'c> {
    let ty = if bits == 64 {
        Type::float64(context)
    } else {
        Type::float32(context)
    };
    FloatAttribute::new(context, ty, value).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &[Arity] = &[Arity::Single, Arity::Variadic, Arity::Single];

    #[test]
    fn the_varying_group_takes_what_the_others_leave() {
        assert_eq!(group(GROUPS, 0, 5, None), 0..1);
        assert_eq!(group(GROUPS, 1, 5, None), 1..4);
        assert_eq!(group(GROUPS, 2, 5, None), 4..5);
        assert_eq!(group(GROUPS, 1, 2, None), 1..1);
    }

    #[test]
    fn segment_sizes_place_the_groups() {
        let groups = &[Arity::Optional, Arity::Variadic, Arity::Optional];
        assert_eq!(group(groups, 1, 3, Some(&[0, 2, 1])), 0..2);
        assert_eq!(group(groups, 2, 3, Some(&[0, 2, 1])), 2..3);
    }

    #[test]
    fn missing_segment_sizes_make_empty_groups() {
        assert_eq!(group(GROUPS, 1, 5, Some(&[])), 0..0);
    }

    #[test]
    fn a_symbol_path_is_read_whatever_its_names_are() {
        let context = Context::new();
        let path = |text| Attribute::parse(&context, text).map(symbol_path);
        assert_eq!(path("@kernel"), Some(Ok(vec!["kernel"])));
        assert_eq!(path("@\"a::b\"::@c"), Some(Ok(vec!["a::b", "c"])));
    }

    #[test]
    fn an_empty_string_attribute_reads_as_empty() {
        let context = Context::new();
        let attribute = Attribute::parse(&context, "\"\"");
        assert_eq!(attribute.map(string), Some(Ok("")));
    }
}
