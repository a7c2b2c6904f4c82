//! Concise building and rewriting of IR at an insertion point.
//!
//! A [`Builder`] inserts through MLIR's rewriter, so that a driver with a listener (dialect conversion, greedy rewriting) is notified of
//! every change. `'a` is the lifetime of the IR that is edited.

use std::marker::PhantomData;

use melior::{
    Context, StringRef,
    ir::{
        Attribute, AttributeLike, BlockLike, BlockRef, Identifier, Location, Operation, OperationRef, Region,
        Type, TypeLike, Value, ValueLike,
        attribute::{FloatAttribute, IntegerAttribute},
        operation::OperationLike,
        r#type::IntegerType,
    },
};
use mlir_sys::{
    MlirNamedAttribute, MlirRewriterBase, MlirType, MlirValue, mlirIRRewriterCreate, mlirIRRewriterDestroy,
    mlirNamedAttributeGet, mlirOperationCreate, mlirOperationGetAttribute, mlirOperationGetNumAttributes,
    mlirOperationGetResult, mlirOperationRemoveAttributeByName, mlirOperationSetAttributeByName,
    mlirOperationSetOperands, mlirOperationStateAddAttributes, mlirOperationStateAddOperands,
    mlirOperationStateAddOwnedRegions, mlirOperationStateAddResults, mlirOperationStateGet,
    mlirRewriterBaseEraseOp, mlirRewriterBaseInsert, mlirRewriterBaseReplaceAllUsesWith,
    mlirRewriterBaseReplaceOpWithValues, mlirRewriterBaseSetInsertionPointAfter,
    mlirRewriterBaseSetInsertionPointBefore, mlirRewriterBaseSetInsertionPointToEnd,
    mlirRewriterBaseSetInsertionPointToStart,
};
use norma_dialects::op_name;

use super::{context, types, values::is_unused};

/// Builds ops at an insertion point, which moves behind each new op.
#[derive(Debug)]
pub struct Builder<'c, 'a> {
    raw: MlirRewriterBase,
    owned: bool,
    context: &'c Context,
    location: Location<'c>,
    ir: PhantomData<&'a ()>,
}

impl<'c, 'a> Builder<'c, 'a> {
    /// Inserts before `op`, at its location.
    pub fn before(op: OperationRef<'c, 'a>) -> Self {
        let mut builder = Self::detached(op.location());
        builder.move_before(op);
        builder
    }

    /// Inserts after `op`, at its location.
    pub fn after(op: OperationRef<'c, 'a>) -> Self {
        let mut builder = Self::detached(op.location());
        builder.move_after(op);
        builder
    }

    /// Inserts at the start of `block`.
    pub fn at_start(block: BlockRef<'c, 'a>, location: Location<'c>) -> Self {
        let mut builder = Self::detached(location);
        builder.move_to_start(block);
        builder
    }

    /// Inserts at the end of `block`.
    pub fn at_end(block: BlockRef<'c, 'a>, location: Location<'c>) -> Self {
        let mut builder = Self::detached(location);
        builder.move_to_end(block);
        builder
    }

    fn detached(location: Location<'c>) -> Self {
        let context = context::of(location);
        // SAFETY: the context is alive, and the builder destroys the rewriter.
        let raw = unsafe { mlirIRRewriterCreate(context.to_raw()) };
        Self {
            raw,
            owned: true,
            context,
            location,
            ir: PhantomData,
        }
    }

    /// Builds through a rewriter that a driver owns.
    ///
    /// # Safety
    ///
    /// `raw` must be alive for `'a` and belong to the location's context.
    pub unsafe fn over(raw: MlirRewriterBase, location: Location<'c>) -> Self {
        Self {
            raw,
            owned: false,
            context: context::of(location),
            location,
            ir: PhantomData,
        }
    }

    /// The underlying rewriter, for operations that have no method here.
    pub fn to_raw(&self) -> MlirRewriterBase {
        self.raw
    }

    /// The context.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// The location that built ops get.
    pub fn location(&self) -> Location<'c> {
        self.location
    }

    /// Sets the location that built ops get.
    pub fn set_location(&mut self, location: Location<'c>) {
        self.location = location;
    }

    /// Moves the insertion point before `op`.
    pub fn move_before(&mut self, op: OperationRef<'c, 'a>) {
        // SAFETY: both are alive.
        unsafe { mlirRewriterBaseSetInsertionPointBefore(self.raw, op.to_raw()) }
    }

    /// Moves the insertion point after `op`.
    pub fn move_after(&mut self, op: OperationRef<'c, 'a>) {
        // SAFETY: both are alive.
        unsafe { mlirRewriterBaseSetInsertionPointAfter(self.raw, op.to_raw()) }
    }

    /// Moves the insertion point to the start of `block`.
    pub fn move_to_start(&mut self, block: BlockRef<'c, 'a>) {
        // SAFETY: both are alive.
        unsafe { mlirRewriterBaseSetInsertionPointToStart(self.raw, block.to_raw()) }
    }

    /// Moves the insertion point to the end of `block`.
    pub fn move_to_end(&mut self, block: BlockRef<'c, 'a>) {
        // SAFETY: both are alive.
        unsafe { mlirRewriterBaseSetInsertionPointToEnd(self.raw, block.to_raw()) }
    }

    /// Runs `build` with the insertion point at the end of `block`, which is in a region of `op`; then moves the insertion point behind
    /// `op`.
    pub fn within<T>(
        &self,
        op: OperationRef<'c, 'a>,
        block: BlockRef<'c, 'a>,
        build: impl FnOnce() -> T,
    ) -> T {
        // SAFETY: all are alive; the insertion point is the rewriter's.
        unsafe { mlirRewriterBaseSetInsertionPointToEnd(self.raw, block.to_raw()) }
        let built = build();
        // SAFETY: as above.
        unsafe { mlirRewriterBaseSetInsertionPointAfter(self.raw, op.to_raw()) }
        built
    }

    /// Builds an op from its full name, operands and result types.
    pub fn op(&self, name: &str, operands: &[Value<'c, 'a>], results: &[Type<'c>]) -> OperationRef<'c, 'a> {
        self.op_with(name, operands, results, &[], Vec::new())
    }

    /// Builds an op with attributes and regions as well. An op with variadic operand groups needs its `operandSegmentSizes` among the
    /// attributes.
    pub fn op_with(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        results: &[Type<'c>],
        attributes: &[(&str, Attribute<'c>)],
        regions: Vec<Region<'c>>,
    ) -> OperationRef<'c, 'a> {
        let attributes = attributes
            .iter()
            // SAFETY: identifier and attribute are alive by their lifetimes.
            .map(|(name, attribute)| unsafe {
                mlirNamedAttributeGet(Identifier::new(self.context, name).to_raw(), attribute.to_raw())
            })
            .collect::<Vec<_>>();
        self.create(name, operands, results, &attributes, regions)
    }

    /// Builds a copy of an op without regions, on other operands and with other result types.
    pub fn rebuild(
        &self,
        op: OperationRef<'c, '_>,
        operands: &[Value<'c, 'a>],
        results: &[Type<'c>],
    ) -> OperationRef<'c, 'a> {
        // SAFETY: the op is alive, and only attributes that it has are asked for.
        let attributes = unsafe {
            (0..mlirOperationGetNumAttributes(op.to_raw()))
                .map(|index| mlirOperationGetAttribute(op.to_raw(), index))
                .collect::<Vec<_>>()
        };
        self.create(op_name(op), operands, results, &attributes, Vec::new())
    }

    fn create(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        results: &[Type<'c>],
        attributes: &[MlirNamedAttribute],
        regions: Vec<Region<'c>>,
    ) -> OperationRef<'c, 'a> {
        let operands = operands.iter().map(ValueLike::to_raw).collect::<Vec<_>>();
        let results = results.iter().map(TypeLike::to_raw).collect::<Vec<MlirType>>();
        let regions = regions.into_iter().map(Region::into_raw).collect::<Vec<_>>();
        // SAFETY: the arrays outlive the calls, which copy them; the regions' ownership passes to the op. Without
        // type inference creation cannot fail. The rewriter owns the op through the block it inserts into.
        unsafe {
            let mut state = mlirOperationStateGet(StringRef::new(name).to_raw(), self.location.to_raw());
            mlirOperationStateAddOperands(&mut state, operands.len() as isize, operands.as_ptr());
            mlirOperationStateAddResults(&mut state, results.len() as isize, results.as_ptr());
            mlirOperationStateAddAttributes(&mut state, attributes.len() as isize, attributes.as_ptr());
            mlirOperationStateAddOwnedRegions(&mut state, regions.len() as isize, regions.as_ptr());
            OperationRef::from_raw(mlirRewriterBaseInsert(self.raw, mlirOperationCreate(&mut state)))
        }
    }

    /// Inserts an op that has been built already, for instance by a typed view's `build`.
    pub fn insert(&self, op: Operation<'c>) -> OperationRef<'c, 'a> {
        // SAFETY: the rewriter takes ownership of the op through the block it inserts into.
        unsafe { OperationRef::from_raw(mlirRewriterBaseInsert(self.raw, op.into_raw())) }
    }

    /// Builds an op with one result and returns the result.
    pub fn value(&self, name: &str, operands: &[Value<'c, 'a>], result: Type<'c>) -> Value<'c, 'a> {
        self.value_with(name, operands, result, &[])
    }

    /// Builds an op with one result and with attributes; returns the result.
    pub fn value_with(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        result: Type<'c>,
        attributes: &[(&str, Attribute<'c>)],
    ) -> Value<'c, 'a> {
        let op = self.op_with(name, operands, &[result], attributes, Vec::new());
        // SAFETY: the op has been built with one result.
        unsafe { Value::from_raw(mlirOperationGetResult(op.to_raw(), 0)) }
    }

    /// A 64-bit integer attribute.
    pub fn i64_attribute(&self, value: i64) -> Attribute<'c> {
        IntegerAttribute::new(IntegerType::new(self.context, 64).into(), value).into()
    }

    /// `arith.constant` of an integer or index type.
    pub fn integer(&self, ty: Type<'c>, value: i64) -> Value<'c, 'a> {
        self.constant(IntegerAttribute::new(ty, value).into(), ty)
    }

    /// `arith.constant` of type `index`.
    pub fn index(&self, value: i64) -> Value<'c, 'a> {
        self.integer(Type::index(self.context), value)
    }

    /// `arith.constant` of a floating-point type, rounded from `value`.
    pub fn float(&self, ty: Type<'c>, value: f64) -> Value<'c, 'a> {
        self.constant(FloatAttribute::new(self.context, ty, value).into(), ty)
    }

    /// `arith.constant` of zero, of an integer, index or floating-point type.
    pub fn zero(&self, ty: Type<'c>) -> Value<'c, 'a> {
        match types::is_float(ty) {
            true => self.float(ty, 0.0),
            false => self.integer(ty, 0),
        }
    }

    /// `arith.constant` of any typed attribute.
    pub fn constant(&self, value: Attribute<'c>, ty: Type<'c>) -> Value<'c, 'a> {
        self.value_with("arith.constant", &[], ty, &[("value", value)])
    }

    /// Replaces every result of `op` and erases it.
    pub fn replace(&self, op: OperationRef<'c, 'a>, values: &[Value<'c, 'a>]) {
        let values = values.iter().map(ValueLike::to_raw).collect::<Vec<MlirValue>>();
        // SAFETY: all are alive; one value for each result is the caller's contract with MLIR, as its types are.
        unsafe {
            mlirRewriterBaseReplaceOpWithValues(
                self.raw,
                op.to_raw(),
                values.len() as isize,
                values.as_ptr(),
            );
        }
    }

    /// Replaces an op by a new one of another name; neither has operands or results.
    pub fn replace_by(&self, op: OperationRef<'c, 'a>, name: &str, attributes: &[(&str, Attribute<'c>)]) {
        self.op_with(name, &[], &[], attributes, Vec::new());
        self.erase(op);
    }

    /// Replaces every use of one value by another.
    pub fn replace_all_uses(&self, from: Value<'c, 'a>, to: Value<'c, 'a>) {
        // SAFETY: both are alive.
        unsafe { mlirRewriterBaseReplaceAllUsesWith(self.raw, from.to_raw(), to.to_raw()) }
    }

    /// Sets an attribute of `op`, inherent or not.
    pub fn set_attribute(&self, op: OperationRef<'c, 'a>, name: &str, attribute: Attribute<'c>) {
        // SAFETY: both are alive; the name is copied.
        unsafe {
            mlirOperationSetAttributeByName(op.to_raw(), StringRef::new(name).to_raw(), attribute.to_raw());
        }
    }

    /// Removes an attribute of `op`; returns whether `op` had it.
    pub fn remove_attribute(&self, op: OperationRef<'c, 'a>, name: &str) -> bool {
        // SAFETY: the op is alive.
        unsafe { mlirOperationRemoveAttributeByName(op.to_raw(), StringRef::new(name).to_raw()) }
    }

    /// Replaces the operands of `op`. An op with variadic groups needs its `operandSegmentSizes` set as well.
    pub fn set_operands(&self, op: OperationRef<'c, 'a>, operands: &[Value<'c, 'a>]) {
        let operands = operands.iter().map(ValueLike::to_raw).collect::<Vec<MlirValue>>();
        // SAFETY: all are alive, and the array outlives the call, which copies it.
        unsafe { mlirOperationSetOperands(op.to_raw(), operands.len() as isize, operands.as_ptr()) }
    }

    /// Erases an op whose results have no uses left.
    pub fn erase(&self, op: OperationRef<'c, 'a>) {
        // SAFETY: the op is alive; no reference to it may be used after this.
        unsafe { mlirRewriterBaseEraseOp(self.raw, op.to_raw()) }
    }

    /// Erases those of `ops`, given in the order of their block, that have results which nothing uses, or nothing but what is erased.
    pub fn erase_unused(&self, ops: impl DoubleEndedIterator<Item = OperationRef<'c, 'a>>)
    where
        'c: 'a,
    {
        for op in ops.rev() {
            if is_unused(op) {
                self.erase(op);
            }
        }
    }
}

impl Drop for Builder<'_, '_> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: `detached` created it.
            unsafe { mlirIRRewriterDestroy(self.raw) }
        }
    }
}
