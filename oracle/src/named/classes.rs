//! The shared part of the cross-entropy loss and its gradient: logits of classes, and the label of each row.

use norma_bundle::Element;

use super::Call;
use super::logits::{Exponentials, exponentials, softcapped};
use super::rows::{Operand, Rows};
use crate::scaled::{Scaled, sum};

/// The operands and attributes that a loss and its gradient share.
pub struct Classes<'a> {
    /// A row for each label.
    pub rows: Rows,
    logits: Operand<'a>,
    labels: Operand<'a>,
    weight: Option<Operand<'a>>,
    ignored: i64,
    smoothing: f64,
    z_loss: f64,
    softcap: Scaled,
}

/// The meaning of a row's label.
enum Label {
    /// The label is `ignore_index`: the row contributes nothing.
    Ignored,
    /// There is no such class: the row's results are NaN.
    NoClass,
    /// The class of that number.
    Class(usize),
}

/// A row of logits with the values derived from it.
pub struct Row {
    /// The logits before the softcap.
    logits: Vec<Scaled>,
    /// The logits after the softcap.
    pub capped: Vec<Scaled>,
    /// The exponentials of the capped logits.
    pub exponentials: Exponentials,
    weights: Vec<Scaled>,
    label: Label,
}

impl<'a> Classes<'a> {
    /// Binds the operands and attributes of a call.
    pub fn bind(call: &Call<'a>) -> Result<Self, String> {
        let logits = call.operand("logits")?;
        let rows = Rows::along(&[call.integer("axis")?], &logits.layout.shape)?;
        let labels = call.optional_integers("labels")?;
        let labels = labels.ok_or("expected an operand 'labels'")?;
        let weight = call.optional("weight")?;
        Ok(Classes {
            logits: rows.whole("logits", logits)?,
            labels: rows.of_rows("labels", labels)?,
            weight: weight.map(|weight| rows.of_row("weight", weight)).transpose()?,
            ignored: call.integer("ignore_index")?,
            smoothing: call.float("label_smoothing")?,
            z_loss: call.float("z_loss")?,
            softcap: Scaled::exact(call.float("softcap")?),
            rows,
        })
    }

    /// How many ulp a kernel may be off.
    pub fn ulps(&self) -> f64 {
        self.rows.ulps().max(self.logits.ulps())
    }

    /// Whether logits are capped.
    pub fn is_capped(&self) -> bool {
        self.softcap.value != 0.0
    }

    /// Whether the row's label is `ignore_index`, so that it contributes nothing.
    pub fn is_ignored(&self, row: &Row) -> bool {
        matches!(row.label, Label::Ignored)
    }

    /// The weight of a row in a mean of losses.
    pub fn weight_of_row(&self, row: &Row) -> Scaled {
        match row.label {
            Label::Ignored => Scaled::exact(0.0),
            Label::NoClass => Scaled::exact(f64::NAN),
            Label::Class(class) => row.weights[class],
        }
    }

    /// The row at `index`.
    pub fn row(&self, index: &[i64]) -> Row {
        let logits = self.logits.row(&self.rows, index);
        let capped: Vec<Scaled> = logits.iter().map(|x| softcapped(*x, self.softcap)).collect();
        let label = self.labels.integer_at(&self.rows, index);
        Row {
            exponentials: exponentials(&capped),
            capped,
            weights: match &self.weight {
                Some(weight) => weight.row(&self.rows, index),
                None => vec![Scaled::exact(1.0); logits.len()],
            },
            label: match usize::try_from(label) {
                _ if label == self.ignored => Label::Ignored,
                Ok(class) if class < logits.len() => Label::Class(class),
                _ => Label::NoClass,
            },
            logits,
        }
    }

    /// Whether a result of the row takes the difference of two infinities in some kernels: an infinite weight is a factor of a sum whose
    /// terms a kernel may multiply one by one.
    fn is_open(&self, row: &Row, label: usize) -> bool {
        match self.smoothing {
            0.0 => row.weights[label].value.is_infinite(),
            _ => row.weights.iter().any(|weight| weight.value.is_infinite()),
        }
    }

    /// The loss of a row.
    pub fn loss(&self, row: &Row) -> Scaled {
        let label = match row.label {
            Label::Ignored => return Scaled::exact(0.0),
            Label::NoClass => return Scaled::exact(f64::NAN),
            Label::Class(class) => class,
        };
        let log = row.exponentials.sum.ln();
        // lse - s_c, which is NaN where the largest logit is infinite.
        let losses = row.exponentials.distances.iter().map(|distance| log - *distance);
        let losses: Vec<Scaled> = losses.collect();
        // Without smoothing an infinite weight has one factor, of which a kernel may not have the sign where it is close to 0.
        let is_signed = losses[label].value.abs() > losses[label].slack(self.ulps(), Element::F32);
        if self.is_open(row, label) && (self.smoothing != 0.0 || !is_signed) {
            return Scaled::undefined();
        }
        let losses: Vec<Scaled> = losses
            .into_iter()
            .zip(&row.weights)
            .map(|(loss, weight)| loss * *weight)
            .collect();
        let mut terms = Vec::new();
        if self.smoothing != 1.0 {
            terms.push(Scaled::exact(1.0 - self.smoothing) * losses[label]);
        }
        if self.smoothing != 0.0 {
            // A kernel may sum the logits apart from lse, so that its terms are as large as lse times the weights.
            let share = Scaled::exact(self.smoothing / losses.len() as f64);
            let lse = row.exponentials.log_sum_exp();
            let scale = lse.value.abs() * sum(&row.weights).rescaled().scale;
            let smooth = sum(&losses);
            let scale = if scale.is_finite() {
                smooth.scale.max(2.0 * scale)
            } else {
                smooth.scale
            };
            terms.push(share * Scaled { scale, ..smooth });
        }
        if self.z_loss != 0.0 {
            let lse = row.exponentials.log_sum_exp();
            terms.push(Scaled::exact(self.z_loss) * lse * lse);
        }
        terms.into_iter().fold(Scaled::exact(0.0), |sum, term| sum + term)
    }

    /// The gradient of a row's loss with respect to its logits, from the probability of each class and lse.
    pub fn dlogits(&self, row: &Row, probabilities: &[Scaled], lse: Scaled) -> Vec<Scaled> {
        let label = match row.label {
            Label::Ignored => return vec![Scaled::exact(0.0); row.logits.len()],
            Label::NoClass => return vec![Scaled::exact(f64::NAN); row.logits.len()],
            Label::Class(class) => class,
        };
        if self.is_open(row, label) {
            return vec![Scaled::undefined(); row.logits.len()];
        }
        let exact = Scaled::exact;
        let certain = exact(1.0 - self.smoothing) * row.weights[label];
        let share = exact(self.smoothing / row.logits.len() as f64);
        let weights = sum(&row.weights);
        let gradient = |class: usize| {
            let (p, weight) = (probabilities[class], row.weights[class]);
            let hit = exact(f64::from(u8::from(class == label)));
            let mut gradient = p * exact(0.0);
            if self.smoothing != 1.0 {
                gradient = gradient + certain * (p - hit);
            }
            if self.smoothing != 0.0 {
                gradient = gradient + share * (p * weights - weight);
            }
            if self.z_loss != 0.0 {
                gradient = gradient + exact(2.0 * self.z_loss) * lse * p;
            }
            if self.is_capped() {
                let tanh = (row.logits[class] / self.softcap).tanh();
                // The two factors of a square have the same error, so their errors add.
                let square = tanh.through(tanh.value * tanh.value, 2.0 * tanh.value);
                gradient = gradient * (exact(1.0) - square);
            }
            gradient
        };
        (0..row.logits.len()).map(gradient).collect()
    }
}
