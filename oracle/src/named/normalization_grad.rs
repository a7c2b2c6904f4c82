//! Gradients of normalizations of rows: of `y = h * (weight + weight_offset) + bias` with `h = (x - mean) * rstd`.

use super::broadcast_grad::BroadcastGrad;
use super::lengths::{Lengths, whole};
use super::rows::{Operand, Rows};
use super::{Call, Formula, of_rows::OfRows, of_rows::Span};
use crate::scaled::{Scaled, sum};

/// Computes the statistics of a row, given it and `eps`: the mean it is centred by, `None` if it is not, and rstd.
type Statistics = fn(&[Scaled], Scaled) -> (Option<Scaled>, Scaled);

/// The gradient of a normalization, with its operands bound.
pub struct NormalizationGrad<'a> {
    rows: Rows,
    x: Operand<'a>,
    dy: Operand<'a>,
    weight: Option<Operand<'a>>,
    offset: Scaled,
    mean: Option<Operand<'a>>,
    rstd: Option<Operand<'a>>,
    residual: Option<Operand<'a>>,
    eps: Scaled,
    lengths: Lengths<'a>,
    statistics: Statistics,
}

impl<'a> NormalizationGrad<'a> {
    /// Binds a call of an op whose forward op normalizes by `statistics`.
    pub fn bind(call: &Call<'a>, statistics: Statistics) -> Result<Box<dyn Formula + 'a>, String> {
        let (rows, x) = call.rows("x")?;
        let weight = call.optional("weight")?;
        let weight_shape = weight.as_ref().map(|weight| weight.layout.shape.clone());
        let broadcast = weight_shape.filter(|shape| *shape != rows.row_shape());
        let of_rows = |name: &str| {
            let tensor = call.optional(name)?;
            tensor.map(|tensor| rows.of_rows(name, tensor)).transpose()
        };
        let residual = call.optional("residual")?;
        let grad = NormalizationGrad {
            dy: rows.whole("dy", call.operand("dy")?)?,
            weight: weight
                .map(|weight| rows.of_row_or_broadcast("weight", weight))
                .transpose()?,
            offset: Scaled::exact(call.float("weight_offset")?),
            mean: of_rows("mean")?,
            rstd: of_rows("rstd")?,
            residual: residual
                .map(|tensor| rows.whole("residual", tensor))
                .transpose()?,
            eps: Scaled::exact(call.float("eps")?),
            lengths: Lengths::bind(call, &rows)?,
            rows,
            x,
            statistics,
        };
        Ok(match broadcast {
            Some(shape) => Box::new(BroadcastGrad::new(grad, shape)),
            None => Box::new(grad),
        })
    }

    /// The mean and rstd of a row: the operands if they are given, otherwise computed.
    fn statistics(&self, row: &[Scaled], index: &[i64]) -> (Option<Scaled>, Scaled) {
        let given = |operand: &Option<Operand>| Some(operand.as_ref()?.number_at(&self.rows, index));
        match given(&self.rstd) {
            Some(rstd) => (given(&self.mean), rstd),
            None => (self.statistics)(row, self.eps),
        }
    }
}

impl OfRows for NormalizationGrad<'_> {
    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        match result {
            "dx" => Some(Span::Elements),
            "dweight" | "dbias" => Some(Span::SumsOverRows),
            _ => None,
        }
    }

    fn ulps(&self) -> f64 {
        behind_two_sums(&self.rows).max(self.x.ulps()).max(self.dy.ulps())
    }

    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled> {
        let existing = |operand: &Operand| self.lengths.row_of(operand, &self.rows, index);
        let dy = existing(&self.dy);
        if result == "dbias" {
            return whole(&self.rows, dy);
        }
        let x = existing(&self.x);
        let (mean, rstd) = self.statistics(&x, index);
        let centred = x.iter().map(|x| mean.map_or(*x, |mean| *x - mean));
        let centred: Vec<Scaled> = centred.collect();
        if result == "dweight" {
            let terms = dy.iter().zip(&centred);
            let terms = terms.map(|(dy, centred)| *dy * (*centred * rstd));
            return whole(&self.rows, terms.collect());
        }
        let g = match &self.weight {
            Some(weight) => {
                let weight = weight.row(&self.rows, index).into_iter();
                dy.iter()
                    .zip(weight)
                    .map(|(dy, weight)| *dy * (weight + self.offset))
                    .collect()
            }
            None => dy,
        };
        let moments = (mean.is_some(), rstd);
        let dx = whole(
            &self.rows,
            input_gradient(&g, &centred, moments, OfRows::ulps(self)),
        );
        let residual = self.residual.as_ref();
        with_residual(dx, residual.map(|residual| residual.row(&self.rows, index)))
    }
}

/// How many ulp a kernel may be off where a sum over a row combines with values normalized by another sum over it: both errors
/// add.
pub fn behind_two_sums(rows: &Rows) -> f64 {
    2.0 * rows.ulps()
}

/// The gradient with respect to elements that share statistics, from the gradient `g` with respect to the normalized elements.
/// They were multiplied by `rstd`, and centred first if `is_centred`. A kernel may be off by `ulps`.
pub fn input_gradient(
    g: &[Scaled],
    centred: &[Scaled],
    (is_centred, rstd): (bool, Scaled),
    ulps: f64,
) -> Vec<Scaled> {
    let count = Scaled::exact(g.len() as f64);
    let products: Vec<Scaled> = g.iter().zip(centred).map(|(g, centred)| *g * *centred).collect();
    let share = sum(&products) / count * rstd;
    let mean = is_centred.then(|| sum(g) / count);
    let elements = g.iter().zip(centred).map(|(g, centred)| {
        let h = *centred * rstd;
        let mut along = h * share;
        // If all elements are alike both factors vanish, and only the product of their errors is left.
        let errors = ulps * f64::from(f32::EPSILON) * h.scale * share.scale;
        if errors.is_finite() {
            along.scale = along.scale.max(errors);
        }
        if let Some(mean) = mean {
            along = along + mean;
        }
        (*g - along) * rstd
    });
    elements.collect()
}

/// Adds to the gradient with respect to elements that which reaches them along a residual path, if there is one.
pub fn with_residual(dx: Vec<Scaled>, residual: Option<Vec<Scaled>>) -> Vec<Scaled> {
    match residual {
        Some(residual) => dx
            .into_iter()
            .zip(residual)
            .map(|(dx, residual)| dx + residual)
            .collect(),
        None => dx,
    }
}
