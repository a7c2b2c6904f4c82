//! `nvvm-contract-sums`: decides which sums of products become fma, so that nothing later decides it again.
//!
//! Matches an `arith.addf` or `arith.subf` of f32 or f64 that adds or subtracts a product which nothing else uses: an
//! `arith.mulf`, or an element of a vector of products that `vector.to_elements` takes apart. By `fp-contract=fast` all of them
//! become fma, by `on` those with the flag `contract`. If both operands are products, the right one is fused, since that is where
//! a reduction's chains have the next element. The flag is then removed from every op. A product with other users has to be
//! computed anyway, so that fusing it would save nothing and keep its factors alive. The difference of two products stays: if they
//! are equal it is 0, as whoever subtracts means of equal elements expects, and by an fma it would be the rounding of one of them. For the
//! same reason a product stays that `norm-round-products` has marked.

use std::{collections::HashMap, fmt, str::FromStr};

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};

use norma_dialects::attributes::op::ROUNDED;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        fast_math::{self, CONTRACT, FLAGS},
        pass::{PassContext, PassError, PassResult},
        types,
        values::{definition, key, result_number, uses},
        walk,
    },
    table::{NvvmContractSums, NvvmContractSumsStatistic},
};

/// Which sums and differences of a product are computed by an fma, which rounds once, in place of a product and a sum, which round
/// twice. The names are those of clang's `-ffp-contract`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FpContract {
    /// All of them.
    #[default]
    Fast,
    /// Those whose addition has the flag `contract`.
    On,
}

impl FpContract {
    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::On => "on",
        }
    }
}

impl FromStr for FpContract {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Fast, Self::On]
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("expected fp-contract to be 'fast' or 'on', got '{name}'"))
    }
}

impl fmt::Display for FpContract {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NvvmContractSums>) -> PassResult<'c> {
    let mode = cx.options().fp_contract.parse::<FpContract>();
    let mode = mode.map_err(|error| Diagnostic::user(op.location(), error))?;
    let mut factors = Factors::default();
    for op in walk::post_order(op) {
        let mut flags = fast_math::flags(op);
        let may_contract = flags.contains(&CONTRACT);
        if may_contract {
            flags.retain(|flag| *flag != CONTRACT);
            fast_math::set_flags(&Builder::before(op), op, &flags);
        }
        if !may_contract && mode == FpContract::On {
            continue;
        }
        let Some(sum) = Sum::of(op)? else {
            continue;
        };
        if let Some([a, b, c]) = factors.of_sum(op, sum)? {
            let flags: Vec<_> = op
                .attribute(FLAGS)
                .map(|flags| (FLAGS, flags))
                .into_iter()
                .collect();
            let builder = Builder::before(op);
            let fused = builder.value_with("math.fma", &[a, b, c], c.r#type(), &flags);
            builder.replace(op, &[fused]);
            cx.count(NvvmContractSumsStatistic::NumFused, 1);
        }
    }
    for marked in walk::post_order(op) {
        if marked.attribute(ROUNDED).is_ok() {
            Builder::before(marked).remove_attribute(marked, ROUNDED);
        }
    }
    Ok(())
}

/// What an addition or a subtraction does with its right operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    Added,
    Subtracted,
}

impl Sum {
    /// `None` for an op that is neither, or of a type whose fma not every target has.
    fn of(op: OperationRef<'_, '_>) -> Result<Option<Self>, melior::Error> {
        if !walk::has_name(op, "arith.addf") && !walk::has_name(op, "arith.subf") {
            return Ok(None);
        }
        let element = types::element(op.result(0)?.r#type());
        if types::bit_width(element).is_none_or(|bits| bits < 32) {
            return Ok(None);
        }
        Ok(Some(match walk::has_name(op, "arith.addf") {
            true => Self::Added,
            false => Self::Subtracted,
        }))
    }
}

/// What a value is the product of.
struct Multiplied<'c, 'a> {
    /// The `arith.mulf`.
    multiplication: OperationRef<'c, 'a>,
    /// Which element of its vector the value is; `None` for all of it.
    element: Option<usize>,
}

/// The multiplication that a value is the result of, or an element of the result.
fn product<'c: 'a, 'a>(value: Value<'c, 'a>) -> Result<Option<Multiplied<'c, 'a>>, melior::Error> {
    let Some(op) = definition(value) else {
        return Ok(None);
    };
    let (multiplication, element) = match walk::has_name(op, "vector.to_elements") {
        true => (definition(op.operand(0)?), result_number(value)),
        false => (Some(op), None),
    };
    let multiplication = multiplication.filter(|op| walk::has_name(*op, "arith.mulf"));
    Ok(multiplication.map(|multiplication| Multiplied {
        multiplication,
        element,
    }))
}

/// Two values that are multiplied.
type Product<'c, 'a> = (Value<'c, 'a>, Value<'c, 'a>);

/// The elements of vectors that are factors, by the vector and by the product before which the vector is taken apart.
#[derive(Default)]
struct Factors<'c, 'a>(HashMap<(usize, usize), Vec<Value<'c, 'a>>>);

impl<'c: 'a, 'a> Factors<'c, 'a> {
    /// The factors and the addend of an fma in place of `op`; `None` if neither operand is a product that only `op` uses.
    fn of_sum(
        &mut self,
        op: OperationRef<'c, 'a>,
        sum: Sum,
    ) -> Result<Option<[Value<'c, 'a>; 3]>, PassError<'c>> {
        let (lhs, rhs) = (op.operand(0)?, op.operand(1)?);
        let b = Builder::before(op);
        let negated = |value: Value<'c, 'a>| match sum {
            Sum::Added => value,
            Sum::Subtracted => b.value("arith.negf", &[value], value.r#type()),
        };
        let (left, right) = (product(lhs)?, product(rhs)?);
        if sum == Sum::Subtracted && left.is_some() && right.is_some() {
            return Ok(None);
        }
        if let Some((x, y)) = self.of_product(op, rhs, right)? {
            return Ok(Some([negated(x), y, lhs]));
        }
        let factors = self.of_product(op, lhs, left)?;
        Ok(factors.map(|(x, y)| [x, y, negated(rhs)]))
    }

    /// The factors of a product that nothing but `sum` uses, and that is computed as often as `sum`: one from outside of a loop would
    /// save nothing there.
    fn of_product(
        &mut self,
        sum: OperationRef<'c, 'a>,
        value: Value<'c, 'a>,
        product: Option<Multiplied<'c, 'a>>,
    ) -> Result<Option<Product<'c, 'a>>, PassError<'c>> {
        let Some(product) = product else {
            return Ok(None);
        };
        let multiplication = product.multiplication;
        let is_used_once = uses(value) == 1 && uses(multiplication.result(0)?.into()) == 1;
        let is_rounded = multiplication.attribute(ROUNDED).is_ok();
        if !is_used_once || is_rounded || multiplication.block() != sum.block() {
            return Ok(None);
        }
        let Some(index) = product.element else {
            return Ok(Some((multiplication.operand(0)?, multiplication.operand(1)?)));
        };
        let mut element = |operand| -> Result<_, PassError<'c>> {
            let elements = self.elements(multiplication.operand(operand)?, multiplication);
            let element = elements.get(index).copied();
            element.ok_or_else(|| PassError::Internal(format!("expected an element {index}")))
        };
        Ok(Some((element(0)?, element(1)?)))
    }

    /// The elements of a factor of `product`.
    fn elements(&mut self, factor: Value<'c, 'a>, product: OperationRef<'c, 'a>) -> &[Value<'c, 'a>] {
        let place = (key(factor), product.to_raw().ptr as usize);
        self.0.entry(place).or_insert_with(|| {
            let ty = factor.r#type();
            let results = vec![types::element(ty); types::vector_len(ty)];
            let op = Builder::before(product).op("vector.to_elements", &[factor], &results);
            op.results().map(Into::into).collect()
        })
    }
}
