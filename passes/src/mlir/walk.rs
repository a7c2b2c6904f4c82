//! Collecting nested ops, and finding enclosing ones.
//!
//! melior's `walk` passes ops of an unnameable lifetime, which cannot be kept. These functions collect ops first, which also makes it safe
//! to rewrite while iterating over the result, as long as no collected op is erased before its turn.

use std::ffi::c_void;

use melior::ir::{BlockLike, BlockRef, OperationRef, RegionLike, operation::OperationLike};
use mlir_sys::{
    MlirOperation, MlirWalkOrder, MlirWalkOrder_MlirWalkPostOrder, MlirWalkOrder_MlirWalkPreOrder,
    MlirWalkResult, MlirWalkResult_MlirWalkResultAdvance, mlirOperationWalk,
};

use super::diagnostic::Diagnostic;

/// `root` and everything nested in it, each op before what it contains.
pub fn pre_order<'c, 'a>(root: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    collect(root, MlirWalkOrder_MlirWalkPreOrder)
}

/// Everything nested in `root` and `root`, each op after what it contains.
pub fn post_order<'c, 'a>(root: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    collect(root, MlirWalkOrder_MlirWalkPostOrder)
}

/// The ops of one name in `root`, outermost first.
pub fn named<'c, 'a>(root: OperationRef<'c, 'a>, name: &str) -> Vec<OperationRef<'c, 'a>> {
    let mut ops = pre_order(root);
    ops.retain(|op| has_name(*op, name));
    ops
}

/// The ops in `root` that a view takes, outermost first: `walk::all(module, KernelOp::from_op)`.
pub fn all<'c, 'a, T>(
    root: OperationRef<'c, 'a>,
    view: impl Fn(OperationRef<'c, 'a>) -> Option<T>,
) -> Vec<T> {
    pre_order(root).into_iter().filter_map(view).collect()
}

/// Whether an op has the full name given (`"arith.addf"`).
pub fn has_name(op: OperationRef<'_, '_>, name: &str) -> bool {
    norma_dialects::op_name(op) == name
}

/// The ops of a block, without those nested in them, in order.
pub fn in_block<'c, 'a>(block: BlockRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    std::iter::successors(block.first_operation(), |op| op.next_in_block()).collect()
}

/// The first block of an op's first region.
///
/// # Errors
///
/// Internal: the op has no region, or an empty one.
pub fn entry_block<'c, 'a>(op: OperationRef<'c, 'a>) -> Result<BlockRef<'c, 'a>, Diagnostic<'c>> {
    op.region(0)
        .ok()
        .and_then(|region| region.first_block())
        .ok_or_else(|| {
            let name = norma_dialects::op_name(op);
            Diagnostic::internal(op.location(), format!("expected {name} to have a body"))
        })
}

/// The innermost op of one name that is `op` or contains it.
pub fn enclosing<'c, 'a>(op: OperationRef<'c, 'a>, name: &str) -> Option<OperationRef<'c, 'a>> {
    std::iter::successors(Some(op), |op| op.parent_operation()).find(|op| has_name(*op, name))
}

fn collect<'c, 'a>(root: OperationRef<'c, 'a>, order: MlirWalkOrder) -> Vec<OperationRef<'c, 'a>> {
    unsafe extern "C" fn push(op: MlirOperation, ops: *mut c_void) -> MlirWalkResult {
        // SAFETY: `ops` is the vector below, which nothing else touches during the walk.
        unsafe { (*ops.cast::<Vec<MlirOperation>>()).push(op) };
        MlirWalkResult_MlirWalkResultAdvance
    }
    let mut ops: Vec<MlirOperation> = Vec::new();
    // SAFETY: the callback gets the pointer it expects and does not change the IR.
    unsafe { mlirOperationWalk(root.to_raw(), Some(push), (&raw mut ops).cast(), order) };
    // SAFETY: the ops are nested in `root`, so they live as long as it does unless erased.
    ops.into_iter()
        .map(|op| unsafe { OperationRef::from_raw(op) })
        .collect()
}

/// Whether `op` is `outer` or inside of it.
pub fn is_within<'c, 'a>(op: OperationRef<'c, 'a>, outer: OperationRef<'c, 'a>) -> bool {
    std::iter::successors(Some(op), |op| op.parent_operation()).any(|around| around == outer)
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{BlockLike, Module, OperationRef},
    };
    use norma_dialects::op_name;

    use super::{enclosing, entry_block, in_block, named, post_order, pre_order};

    fn names<'c>(ops: &[OperationRef<'c, '_>]) -> Vec<&'c str> {
        ops.iter().map(|op| op_name(*op)).collect()
    }

    #[test]
    fn an_op_encloses_itself() {
        let context = Context::new();
        let Some(module) = Module::parse(&context, "module { module @inner {} }") else {
            unreachable!("the text is valid")
        };
        let root = module.as_operation();
        let Some(inner) = module.body().first_operation() else {
            unreachable!("the module has an op")
        };
        assert_eq!(enclosing(inner, "builtin.module"), Some(inner));
        assert_eq!(enclosing(inner, "func.func"), None);
        assert_eq!(entry_block(root).ok(), Some(module.body()));
        assert_eq!(in_block(module.body()), [inner]);
    }

    #[test]
    fn orders_differ_in_when_a_parent_comes() {
        let context = Context::new();
        let Some(module) = Module::parse(&context, "module { module @inner {} }") else {
            unreachable!("the text is valid")
        };
        let root = module.as_operation();
        assert_eq!(names(&pre_order(root)), ["builtin.module", "builtin.module"]);
        assert_eq!(pre_order(root)[0], root);
        assert_eq!(post_order(root)[1], root);
        assert_eq!(named(root, "builtin.module").len(), 2);
        assert!(named(root, "func.func").is_empty());
    }
}
