//! Checks that kernels with conditions form complete choices: for every size, exactly one branch of each choice is launched.
//!
//! The kernels of one branch are adjacent and are followed by those of the other branch, as they would be in a program. The
//! kernels of both branches begin with the conditions of the enclosing choices.

use crate::condition::Condition;

/// Checks the conditions of kernels, in launch order.
///
/// # Errors
/// The position of a kernel that is launched for some sizes while none is launched for the others, and its condition.
pub(super) fn check<'a>(kernels: &[&'a [Condition]]) -> Result<(), (usize, &'a Condition)> {
    branches(kernels, 0, 0)
}

/// Checks kernels that share their first `depth` conditions; `offset` is the position of the first of them.
fn branches<'a>(
    kernels: &[&'a [Condition]],
    depth: usize,
    offset: usize,
) -> Result<(), (usize, &'a Condition)> {
    let mut at = 0;
    while let Some(kernel) = kernels.get(at) {
        let Some(condition) = kernel.get(depth) else {
            at += 1;
            continue;
        };
        let other = condition.negated().ok_or((offset + at, condition))?;
        let run = |from: usize, condition: &Condition| {
            let is_under =
                |kernel: &&&[Condition]| kernel.get(depth).is_some_and(|other| other.is_same(condition));
            from + kernels[from..].iter().take_while(is_under).count()
        };
        let middle = run(at, condition);
        let end = run(middle, &other);
        if end == middle {
            return Err((offset + at, condition));
        }
        branches(&kernels[at..middle], depth + 1, offset + at)?;
        branches(&kernels[middle..end], depth + 1, offset + middle)?;
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Relation;
    use crate::expression::Expression;

    fn at_least(left: &str, right: &str) -> Condition {
        Condition {
            left: Expression::parse(left).unwrap(),
            relation: Relation::AtLeast,
            right: Expression::parse(right).unwrap(),
            text: String::new(),
        }
    }

    fn missing(kernels: &[&[Condition]]) -> Option<usize> {
        check(kernels).err().map(|(kernel, _)| kernel)
    }

    #[test]
    fn each_branch_has_its_other() {
        let many = [at_least("m", "264")];
        let few = [at_least("263", "m")];
        let few_and = |other: Condition| [few[0].clone(), other];
        let few_long = few_and(at_least("n", "10"));
        let few_short = few_and(at_least("9", "n"));
        assert_eq!(missing(&[&[]]), None);
        assert_eq!(missing(&[&many, &few]), None);
        // Two kernels in one branch, one in the other, and one for all sizes after them.
        assert_eq!(missing(&[&few, &few, &many, &[]]), None);
        assert_eq!(missing(&[&few_long, &few_short, &many]), None);
        assert_eq!(missing(&[&few_short, &many]), Some(0));
        assert_eq!(missing(&[&[], &few]), Some(1));
        assert_eq!(missing(&[&few, &few_long[1..]]), Some(0));
    }

    #[test]
    fn an_equality_has_no_other() {
        let mut equal = at_least("m", "264");
        equal.relation = Relation::Equal;
        assert_eq!(missing(&[&[equal]]), Some(0));
    }
}
