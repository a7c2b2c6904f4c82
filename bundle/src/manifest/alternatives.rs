//! Kernels that are launched for some sizes only: whether for every size there is exactly one of each choice.
//!
//! The kernels of one branch of a choice stand side by side, and those of the other behind them, as they do where the
//! choice is a branch of a program; both begin with the conditions under which the choice is made.

use crate::condition::Condition;

/// Checks the conditions of kernels, in launch order.
///
/// # Errors
/// The position of a kernel that stands for some sizes while none stands for the others, and its condition.
pub(super) fn check<'a>(kernels: &[&'a [Condition]]) -> Result<(), (usize, &'a Condition)> {
    branches(kernels, 0, 0)
}

/// Checks kernels that share their first `depth` conditions; the first is the one at `offset`.
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
        let (many, few) = (at_least("m", "264"), at_least("263", "m"));
        let (long, short) = (at_least("n", "10"), at_least("9", "n"));
        assert_eq!(missing(&[&[]]), None);
        assert_eq!(missing(&[&[many.clone()], &[few.clone()]]), None);
        // Two kernels in one branch, one in the other, and one for all sizes behind them.
        assert_eq!(
            missing(&[&[few.clone()], &[few.clone()], &[many.clone()], &[]]),
            None
        );
        let nested: [&[Condition]; 3] = [
            &[few.clone(), long.clone()],
            &[few.clone(), short.clone()],
            &[many],
        ];
        assert_eq!(missing(&nested), None);
        assert_eq!(missing(&nested[1..]), Some(0));
        assert_eq!(missing(&[&[], &[few.clone()]]), Some(1));
        assert_eq!(missing(&[&[few.clone()], &[long]]), Some(0));
    }

    #[test]
    fn an_equality_has_no_other() {
        let mut equal = at_least("m", "264");
        equal.relation = Relation::Equal;
        assert_eq!(missing(&[&[equal]]), Some(0));
    }
}
