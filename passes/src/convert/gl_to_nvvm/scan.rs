//! Lowers `gl.scan` with blocks that double in each step, by the bits of a coordinate from the lowest on. The upper half of a
//! block takes in the total of the lower half; if the order is reversed, the lower half takes in that of the upper half.
//!
//! A step between registers is arithmetic, one between lanes a butterfly shuffle of the blocks' totals; elements themselves
//! stay where they are. Warps come last: `gl-expand-reductions` has brought the total of each warp to every thread, which
//! starts with the totals of the warps before its own.

use melior::ir::{BlockRef, OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::gl::ScanOp;
use norma_layout::{HardwareDim, LinearLayout, ReductionPlan, ScanStep};

use crate::mlir::{
    builder::Builder, combiner, comparison::IntegerPredicate, conversion::Rejection, diagnostic::Diagnostic,
    walk,
};

use super::{
    emit::{Emit, Value},
    shuffle::{self, Source},
    tile::Tile,
};

/// Lowers `gl.scan`.
pub(super) fn scan<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let scan = ScanOp::from_op(op).ok_or("expected gl.scan")?;
    let axis = scan.axis()? as usize;
    let layout = Tile::of(&e, scan.tile()?.r#type())?.layout;
    let steps = layout.scan(axis).map_err(|error| e.unsupported(error))?;
    let plan = layout.reduction(axis).map_err(|error| e.unsupported(error))?;
    let gathered = operands.get(1).copied();
    let steps = steps_within_warp(&e, &layout, &steps, &plan, gathered.is_some())?;
    let elements = e.elements(operands[0])?;
    let first = match scan.identity() {
        Some(identity) => {
            let element = Tile::of(&e, scan.tile()?.r#type())?.element;
            vec![b.constant(identity, element); elements.len()]
        }
        None => elements.clone(),
    };
    let mut state = Scan {
        e: &e,
        block: walk::entry_block(op)?,
        reverse: scan.reverse(),
        prefixes: first,
        totals: elements,
    };
    for step in steps {
        state.step(step)?;
    }
    let mut totals = plan
        .registers
        .iter()
        .map(|group| state.totals[group[0]])
        .collect::<Vec<_>>();
    if let Some(gathered) = gathered {
        let expected = layout.gathered_layout(axis, HardwareDim::Warp);
        let expected = expected.map_err(|error| e.internal(error))?;
        let of_warps = scan.gathered().ok_or("expected what warps come to")?;
        let found = Tile::of(&e, of_warps.r#type())?.layout;
        if found != expected {
            let message = format!("expected what each warp comes to in layout {expected}, got {found}");
            return Err(Diagnostic::user(op.location(), message).into());
        }
        totals = state.behind(&e.elements(gathered)?, &plan)?;
    }
    b.replace(op, &[e.pack(&state.prefixes)?, e.pack(&totals)?]);
    Ok(())
}

/// The steps between registers and lanes. Those between warps come last; the gathered totals of the warps take their place.
fn steps_within_warp<'c>(
    e: &Emit<'_, 'c, '_>,
    layout: &LinearLayout,
    steps: &[ScanStep],
    plan: &ReductionPlan,
    is_gathered: bool,
) -> Result<Vec<ScanStep>, Diagnostic<'c>> {
    let is_within = |step: &&ScanStep| matches!(step.dim, HardwareDim::Register | HardwareDim::Lane);
    let count = steps.iter().take_while(is_within).count();
    let (within, across) = steps.split_at(count);
    let is_of_warps = |step: &ScanStep| step.dim == HardwareDim::Warp;
    let masks = across.iter().map(|step| step.mask).collect::<Vec<_>>();
    if !across.iter().all(is_of_warps) || masks != plan.warp_masks {
        return Err(e.unsupported(format!(
            "a scan along an axis whose highest bits are not those of warps, in their order: {layout}"
        )));
    }
    if across.is_empty() == is_gathered {
        return Err(Diagnostic::user(
            e.b.location(),
            format!(
                "expected what each warp comes to exactly where warps share the axis; run gl-expand-reductions first on {layout}"
            ),
        ));
    }
    Ok(within.to_vec())
}

/// A scan of blocks that grow with each step.
struct Scan<'e, 'b, 'c, 'a> {
    e: &'e Emit<'b, 'c, 'a>,
    block: BlockRef<'c, 'a>,
    /// Whether the elements are in the opposite order.
    reverse: bool,
    /// For each register, the result within its block.
    prefixes: Vec<Value<'c, 'a>>,
    /// For each register, the total of its block.
    totals: Vec<Value<'c, 'a>>,
}

impl<'c, 'a> Scan<'_, '_, 'c, 'a> {
    fn step(&mut self, step: ScanStep) -> Result<(), Diagnostic<'c>> {
        match step.dim {
            HardwareDim::Register => self.between_registers(step.mask),
            _ => self.between_lanes(step.mask),
        }
    }

    fn between_registers(&mut self, mask: usize) -> Result<(), Diagnostic<'c>> {
        for lower in (0..self.totals.len()).filter(|register| register & mask == 0) {
            let upper = lower | mask;
            let (first, second) = match self.reverse {
                false => (lower, upper),
                true => (upper, lower),
            };
            let (before, own) = (self.totals[first], self.totals[second]);
            self.prefixes[second] = self.combine(before, self.prefixes[second])?;
            let both = self.combine(before, own)?;
            (self.totals[first], self.totals[second]) = (both, both);
        }
        Ok(())
    }

    fn between_lanes(&mut self, mask: usize) -> Result<(), Diagnostic<'c>> {
        let e = self.e;
        let bit = e.andi(e.lane_id(), e.i32(mask as i64));
        let of_second = match self.reverse {
            false => IntegerPredicate::NotEqual,
            true => IntegerPredicate::Equal,
        };
        let is_second = e.compare(of_second, bit, e.i32(0));
        // Registers of one block have one total.
        let mut known: Vec<(Value<'c, 'a>, [Value<'c, 'a>; 2])> = Vec::new();
        for register in 0..self.totals.len() {
            let own = self.totals[register];
            let [other, both] = match known.iter().find(|(total, _)| *total == own) {
                Some((_, pair)) => *pair,
                None => {
                    let other = shuffle::from_lane(e, own, Source::Xor(mask))?;
                    // The combiner is commutative, so that both lanes compute the same total.
                    let pair = [other, self.combine(own, other)?];
                    known.push((own, pair));
                    pair
                }
            };
            let prefix = self.prefixes[register];
            let behind = self.combine(other, prefix)?;
            self.prefixes[register] = e.select(is_second, behind, prefix);
            self.totals[register] = both;
        }
        Ok(())
    }

    /// Puts the totals of the warps before the thread's own ahead of its elements. Returns the total of all warps, for each
    /// register of the total.
    fn behind(
        &mut self,
        gathered: &[Value<'c, 'a>],
        plan: &ReductionPlan,
    ) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        let e = self.e;
        let own = own_number(e, &plan.warp_masks, self.reverse);
        let is_own = (1..plan.warps())
            .map(|warp| e.compare(IntegerPredicate::Equal, own, e.i32(warp as i64)))
            .collect::<Vec<_>>();
        let mut all = Vec::new();
        for (group, of_warps) in plan.registers.iter().zip(gathered.chunks(plan.warps())) {
            let mut of_warps = of_warps.to_vec();
            if self.reverse {
                of_warps.reverse();
            }
            // `sum` is the total of the warps up to each one, and `before` that of the warps before the thread's own.
            let (first, others) = of_warps
                .split_first()
                .ok_or_else(|| e.internal("expected a warp"))?;
            let (mut sum, mut before) = (*first, *first);
            for (number, warp) in others.iter().enumerate() {
                before = e.select(is_own[number], sum, before);
                sum = self.combine(sum, *warp)?;
            }
            let is_first = e.compare(IntegerPredicate::Equal, own, e.i32(0));
            for register in group {
                let prefix = self.prefixes[*register];
                let behind = self.combine(before, prefix)?;
                self.prefixes[*register] = e.select(is_first, prefix, behind);
            }
            all.push(sum);
        }
        Ok(all)
    }

    fn combine(&self, lhs: Value<'c, 'a>, rhs: Value<'c, 'a>) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let combined = combiner::inline(self.e.b, self.block, &[lhs, rhs])?;
        let combined = combined.first().copied();
        combined.ok_or_else(|| self.e.internal("expected a combiner that yields one value"))
    }
}

/// The number of the thread's warp among those that share an axis, i32: the masks say which bits of the warp's id are its bits.
/// In the opposite order the last warp has the number 0.
fn own_number<'c, 'a>(e: &Emit<'_, 'c, 'a>, masks: &[usize], reverse: bool) -> Value<'c, 'a> {
    let bits = masks.iter().enumerate().map(|(bit, mask)| {
        let set = e.andi(e.warp_id(), e.i32(*mask as i64));
        let is_set = e.compare(IntegerPredicate::NotEqual, set, e.i32(0));
        let (zero, one) = (e.i32(0), e.i32(1 << bit));
        match reverse {
            false => e.select(is_set, one, zero),
            true => e.select(is_set, zero, one),
        }
    });
    e.sum(bits).unwrap_or_else(|| e.i32(0))
}
