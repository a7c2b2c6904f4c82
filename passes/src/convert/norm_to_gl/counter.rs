//! The counter that CTAs draw tiles from: an argument of the kernel behind its buffers, and scratch of the functions that launch it.
//!
//! Each launch leaves it zero, so that it is zeroed once, when it is allocated, and the kernels of a function share it.

use std::collections::HashMap;

use melior::ir::{
    Attribute, OperationRef, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType,
};
use norma_dialects::{attributes::scratch, norm::LaunchOp};

use crate::{
    kernel::scratch::allocate,
    mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, types, values::definition, walk},
};

/// The name of a function's counter in the bundle.
const NAME: &str = "tiles_drawn";

/// The type of a counter.
pub(super) fn ty<'c>(b: &Builder<'c, '_>) -> Result<Type<'c>, Diagnostic<'c>> {
    let number = IntegerType::new(b.context(), 64).into();
    types::memref(&[Some(1)], number, None, None)
        .ok_or_else(|| Diagnostic::internal(b.location(), "no memref of a counter"))
}

/// The counters of host functions.
#[derive(Default)]
pub(super) struct Counters<'c, 'a> {
    /// By the function's address.
    of_function: HashMap<usize, Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Counters<'c, 'a> {
    /// Passes the counter of the function around a launch to it, behind the buffers.
    pub(super) fn pass(&mut self, launch: LaunchOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let op = launch.op();
        let counter = self.of(op)?;
        let mut arguments = launch.arguments();
        let is_buffer = |argument: &Value<'c, 'a>| types::is_memref(argument.r#type());
        let buffers = arguments
            .iter()
            .take_while(|argument| is_buffer(argument))
            .count();
        arguments.insert(buffers, counter);
        Builder::before(op).set_operands(op, &arguments);
        Ok(())
    }

    /// The counter of the function around a launch, allocated at its start.
    fn of(&mut self, launch: OperationRef<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let function = walk::enclosing(launch, "func.func")
            .ok_or_else(|| Diagnostic::user(launch.location(), "expected a launch in a function"))?;
        let key = function.to_raw().ptr as usize;
        if let Some(counter) = self.of_function.get(&key) {
            return Ok(*counter);
        }
        let b = Builder::at_start(walk::entry_block(function)?, launch.location());
        let counter = allocate(&b, ty(&b)?, &[], NAME);
        if let Some(allocation) = definition(counter) {
            b.set_attribute(allocation, scratch::ZEROED, Attribute::unit(b.context()));
        }
        self.of_function.insert(key, counter);
        Ok(counter)
    }
}
