//! `nvvm-contract-sums`: decides which sums of products become fma, so that nothing later decides it again.
//!
//! Matches an `arith.addf` that has `contract` and adds a product: an `arith.mulf`, or an element of a vector of products that
//! `vector.to_elements` takes apart. If both operands are products, the right one is fused, since that is where a reduction's
//! chains have the next element. The flag is then removed from every op. The factors are taken apart once for each vector, and
//! the product stays for its other users, so that no sum costs an instruction more than before.

use std::collections::HashMap;

use melior::ir::{
    Attribute, OperationRef, Value, ValueLike,
    operation::{OperationLike, OperationResult},
};

use crate::{
    mlir::{
        builder::Builder,
        pass::{PassContext, PassError, PassResult},
        types,
        values::key,
        walk,
    },
    table::{NvvmContractSums, NvvmContractSumsStatistic},
};

/// The attribute that `arith` and `math` keep their flags in.
const FLAGS: &str = "fastmath";

/// The flags that `fast` stands for, without `contract`.
const FAST_BUT_CONTRACT: &str = "reassoc,nnan,ninf,nsz,arcp,afn";

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NvvmContractSums>) -> PassResult<'c> {
    let mut factors = Factors::default();
    for op in walk::post_order(op) {
        let Some(flags) = flags_without_contract(op) else {
            continue;
        };
        let parse = |dialect: &str| {
            let text = format!("#{dialect}.fastmath<{flags}>");
            Attribute::parse(cx.context(), &text)
                .ok_or_else(|| PassError::Internal(format!("'{text}' are no flags")))
        };
        let b = Builder::before(op);
        if walk::has_name(op, "arith.addf")
            && let Some((product, addend)) = factors.of_sum(op)?
        {
            let operands = [product.0, product.1, addend];
            let flags = [("fastmathFlags", parse("llvm")?)];
            let fused = b.value_with("llvm.intr.fma", &operands, addend.r#type(), &flags);
            b.replace(op, &[fused]);
            cx.count(NvvmContractSumsStatistic::NumFused, 1);
        } else {
            b.set_attribute(op, FLAGS, parse("arith")?);
        }
    }
    Ok(())
}

/// The flags that an op with `contract` keeps, as the attributes spell them; `None` for an op without it.
fn flags_without_contract(op: OperationRef<'_, '_>) -> Option<String> {
    let text = op.attribute(FLAGS).ok()?.to_string();
    let flags = text.strip_prefix("#arith.fastmath<")?.strip_suffix('>')?;
    if flags == "fast" {
        return Some(FAST_BUT_CONTRACT.to_owned());
    }
    let (contract, kept): (Vec<_>, Vec<_>) = flags
        .split(',')
        .map(str::trim)
        .partition(|flag| *flag == "contract");
    match (contract.is_empty(), kept.is_empty()) {
        (true, _) => None,
        (false, true) => Some("none".to_owned()),
        (false, false) => Some(kept.join(",")),
    }
}

/// Two values that are multiplied.
type Product<'c, 'a> = (Value<'c, 'a>, Value<'c, 'a>);

/// The elements of vectors that are factors, by the vector and by the product before which the vector is taken apart.
#[derive(Default)]
struct Factors<'c, 'a>(HashMap<(usize, usize), Vec<Value<'c, 'a>>>);

impl<'c: 'a, 'a> Factors<'c, 'a> {
    /// The product among the operands of a sum, and the other operand.
    fn of_sum(
        &mut self,
        sum: OperationRef<'c, 'a>,
    ) -> Result<Option<(Product<'c, 'a>, Value<'c, 'a>)>, PassError<'c>> {
        let (lhs, rhs) = (sum.operand(0)?, sum.operand(1)?);
        if let Some(product) = self.of_value(rhs)? {
            return Ok(Some((product, lhs)));
        }
        Ok(self.of_value(lhs)?.map(|product| (product, rhs)))
    }

    fn of_value(&mut self, value: Value<'c, 'a>) -> Result<Option<Product<'c, 'a>>, PassError<'c>> {
        let Ok(result) = OperationResult::try_from(value) else {
            return Ok(None);
        };
        let op = result.owner();
        if walk::has_name(op, "arith.mulf") {
            return Ok(Some((op.operand(0)?, op.operand(1)?)));
        }
        if !walk::has_name(op, "vector.to_elements") {
            return Ok(None);
        }
        let Ok(vector) = OperationResult::try_from(op.operand(0)?) else {
            return Ok(None);
        };
        let product = vector.owner();
        if !walk::has_name(product, "arith.mulf") {
            return Ok(None);
        }
        let index = result.result_number();
        let mut element = |operand| -> Result<_, PassError<'c>> {
            let elements = self.elements(product.operand(operand)?, product);
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
