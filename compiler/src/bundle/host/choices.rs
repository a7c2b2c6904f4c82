//! Launches that depend on sizes: the branches of `affine.if`, and the condition of each.

use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike};
use norma_bundle::Expression;
use norma_bundle::condition::{Condition, Relation};
use norma_dialects::inequality;
use norma_dialects::norm::LaunchOp;
use norma_passes::mlir::linear_form::LinearForm;
use norma_passes::mlir::walk;

use super::{Launch, Reader, affine, unsupported};
use crate::error::Result;

impl Reader {
    /// Appends the launches of a block, in order; the block runs for the sizes that satisfy `when`.
    pub(super) fn launches(
        &self,
        block: BlockRef,
        when: &[[Expression; 2]],
        all: &mut Vec<Launch>,
    ) -> Result<()> {
        for op in walk::in_block(block) {
            if let Some(launch) = LaunchOp::from_op(op) {
                let mut launch = self.launch(launch)?;
                launch.when = when.to_vec();
                all.push(launch);
            } else if walk::has_name(op, "affine.if") {
                let [holds, fails] = self.choice(op)?;
                for (region, sides) in [holds, fails].into_iter().enumerate() {
                    let branch = op.region(region).ok().and_then(|region| region.first_block());
                    let when = [when, &[sides]].concat();
                    let before = all.len();
                    if let Some(branch) = branch {
                        self.launches(branch, &when, all)?;
                    }
                    if all.len() == before {
                        let message = "a branch without a launch; supported: affine.if whose branches both launch kernels";
                        return Err(unsupported(op.location(), message.to_owned()));
                    }
                }
            } else if !walk::named(op, LaunchOp::NAME).is_empty() && op.region_count() > 0 {
                let name = norma_dialects::op_name(op);
                let message = format!("launches within '{name}'; supported: branches of affine.if");
                return Err(unsupported(op.location(), message));
            }
        }
        Ok(())
    }

    /// The conditions of the two branches of an `affine.if`, as pairs `left >= right`.
    fn choice(&self, op: OperationRef) -> Result<[[Expression; 2]; 2]> {
        let refuse = || {
            let message = "a choice that no manifest can state; supported: affine.if with one inequality over sizes and \
                           norm.num_sms, and such choices within each other";
            unsupported(op.location(), message.to_owned())
        };
        let condition = op.attribute("condition").ok().ok_or_else(refuse)?;
        let (constraint, num_dims) = inequality(condition).ok_or_else(refuse)?;
        let operands = op.operands().map(|operand| self.size(operand));
        let operands = operands.collect::<Option<Vec<_>>>().ok_or_else(refuse)?;
        let (dims, symbols) = operands.split_at(num_dims.min(operands.len()));
        let zero = Expression::Integer(0);
        // Terms with a negative sign move to the other side.
        let sides = LinearForm::of(constraint, dims.len(), symbols.len()).map(|form| {
            let mut sides = [zero.clone(), zero.clone()];
            let coefficients = form.dims.iter().chain(&form.symbols);
            let mut add = |term: Expression, is_positive: bool| {
                let side = &mut sides[usize::from(!is_positive)];
                *side = std::mem::replace(side, Expression::Integer(0)) + term;
            };
            for (coefficient, size) in coefficients
                .zip(&operands)
                .filter(|(coefficient, _)| **coefficient != 0)
            {
                let factor = i64::try_from(coefficient.unsigned_abs()).unwrap_or(i64::MAX);
                add(size.clone() * factor, *coefficient > 0);
            }
            let constant = i64::try_from(form.constant.unsigned_abs()).unwrap_or(i64::MAX);
            add(Expression::Integer(constant), form.constant >= 0);
            sides
        });
        let sides = match sides {
            Some(sides) => sides,
            None => [
                affine::expression(constraint, dims, symbols).ok_or_else(refuse)?,
                zero,
            ],
        };
        let condition = Condition {
            left: sides[0].clone(),
            relation: Relation::AtLeast,
            right: sides[1].clone(),
            text: String::new(),
        };
        let other = condition.negated().ok_or_else(refuse)?;
        Ok([sides, [other.left, other.right]])
    }
}
