//! Prints a module as text that can be parsed again, with the source location of each op.

use melior::ir::OperationRef;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};

use crate::error::{Error, Result};

/// Prints an op and all ops nested in it.
///
/// # Errors
///
/// Text of MLIR's that is not UTF-8.
pub fn located_text(op: OperationRef) -> Result<String> {
    let flags = OperationPrintingFlags::new().enable_debug_info(true, false);
    let text = op
        .to_string_with_flags(flags)
        .map_err(|error| Error::internal("a module cannot be printed").note(error.to_string()))?;
    let mut result = String::with_capacity(text.len());
    for line in text.lines() {
        match generic_barrier(line) {
            Some(line) => result.push_str(&line),
            None => result.push_str(line),
        }
        result.push('\n');
    }
    Ok(result)
}

/// Rewrites a line in generic form if its op is an `nvvm.barrier`: LLVM 22's parser takes the location after the short form
/// for the reduction attribute of a barrier, since both may follow the operands.
fn generic_barrier(line: &str) -> Option<String> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let (operands, location) = line
        .trim_start()
        .strip_prefix("nvvm.barrier ")?
        .split_once("loc(")?;
    let operand = |name: &str| {
        let (_, rest) = operands.split_once(name)?;
        rest.trim_start_matches([' ', '=']).split_whitespace().next()
    };
    let (id, threads) = (operand("id"), operand("number_of_threads"));
    let given: Vec<&str> = [id, threads].into_iter().flatten().collect();
    let segments = [id, threads].map(|operand| u8::from(operand.is_some()));
    Some(format!(
        "{indent}\"nvvm.barrier\"({}) <{{operandSegmentSizes = array<i32: {}, {}, 0>}}> : ({}) -> () loc({location}",
        given.join(", "),
        segments[0],
        segments[1],
        vec!["i32"; given.len()].join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use melior::Context;
    use melior::ir::Module;

    use super::located_text;
    use crate::registry;

    #[test]
    fn barriers_with_locations_parse_again() {
        let context = Context::new_with_registry(&registry::dialects(), false);
        context.load_all_available_dialects();
        let text = r#"llvm.func @k(%id: i32, %threads: i32) {
            nvvm.barrier
            %0 = llvm.add %id, %threads : i32
            nvvm.barrier id = %0 number_of_threads = %threads
            %1 = llvm.add %0, %0 : i32
            nvvm.barrier id = %id
            llvm.return
        }"#;
        let plain = |module: &Module| module.as_operation().to_string();
        let module = Module::parse(&context, text).unwrap();
        let located = located_text(module.as_operation()).unwrap();
        let again = Module::parse(&context, &located).unwrap();
        assert_eq!(plain(&module), plain(&again));
        assert_eq!(located.matches("nvvm.barrier").count(), 3);
        assert!(
            located
                .lines()
                .filter(|line| line.contains("nvvm.barrier"))
                .all(|line| line.contains("loc("))
        );
    }
}
