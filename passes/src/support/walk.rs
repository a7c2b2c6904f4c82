//! Collecting nested ops.
//!
//! melior's `walk` gives ops of an unnameable lifetime, so they cannot be kept. These functions collect first, which
//! also makes it safe to rewrite while going through the result, as long as no collected op is erased before its turn.

use std::ffi::c_void;

use melior::ir::{OperationRef, operation::OperationLike};
use mlir_sys::{
    MlirOperation, MlirWalkOrder, MlirWalkOrder_MlirWalkPostOrder, MlirWalkOrder_MlirWalkPreOrder,
    MlirWalkResult, MlirWalkResult_MlirWalkResultAdvance, mlirOperationWalk,
};

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

/// Whether an op has the full name given (`"arith.addf"`).
pub fn has_name(op: OperationRef<'_, '_>, name: &str) -> bool {
    op.name().as_string_ref().as_str() == Ok(name)
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

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{Module, operation::OperationLike},
    };

    use super::{named, post_order, pre_order};

    fn names(ops: &[melior::ir::OperationRef<'_, '_>]) -> Vec<String> {
        ops.iter()
            .filter_map(|op| op.name().as_string_ref().as_str().ok().map(str::to_owned))
            .collect()
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
