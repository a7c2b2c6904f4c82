//! Scalar programs drawn at random, beyond what libraries have a name for.
//!
//! Values are clamped to between -8 and 8, so that none overflows in f32 that does not in f64. Only elements of the input are
//! compared with thresholds, because kernel and oracle have them to the bit; a computed value might lie on either side of a
//! threshold.

use norma_bundle::Element;
use norma_oracle::fill::Random;

use super::body::Body;
use crate::case::Program;

/// The largest magnitude of a value.
const LARGEST: f64 = 8.0;

/// Values to draw operands from.
struct Values {
    random: Random,
    /// Values with one element per column.
    elements: Vec<String>,
    /// Values with one element per row.
    rows: Vec<String>,
}

/// Writes that many steps. Returns the last value with one element for each of `x`, and the last with one for each row. There
/// is at least one reduction, as every kernel must have one.
pub fn steps(body: &mut Body, x: &str, program: &Program, seed: u64, steps: u32) -> (String, String) {
    let clamped = clamp(body, x);
    let mut values = Values {
        random: Random::new(seed),
        elements: vec![clamped],
        rows: Vec::new(),
    };
    if values.random.below(2) == 0 {
        let columns = body.columns.clone();
        let weight = body.read("w", &program.columns, Element::F32, &columns);
        let weight = clamp(body, &weight);
        values.elements.push(weight);
    }
    for _ in 0..steps {
        values.step(body, x, program.row());
    }
    if values.rows.is_empty() {
        values.reduce(body, program.row());
    }
    let row = values.rows.last().cloned().unwrap_or_default();
    // A weight is the same in every row; adding the first value makes the result differ by row.
    let first = values.elements[0].clone();
    let last = values.elements.last().cloned().unwrap_or_default();
    (body.op("arith.addf", &[&first, &last]), row)
}

impl Values {
    fn step(&mut self, body: &mut Body, x: &str, row: i64) {
        match self.random.below(10) {
            0 | 1 => self.reduce(body, row),
            // These map 0 to other values than 0, so that a lane without an element shows in a sum.
            8 => {
                let operand = self.element();
                let name = ["math.exp", "math.log", "math.sqrt"][self.random.below(3) as usize];
                let positive = body.op("math.absf", &[&operand]);
                let value = body.op(name, &[&positive]);
                let value = clamp(body, &value);
                self.elements.push(value);
            }
            9 => {
                let (one, other) = (self.element(), self.any());
                let value = body.op("arith.divf", &[&one, &other]);
                let value = clamp(body, &value);
                self.elements.push(value);
            }
            2 => {
                let operand = self.element();
                let name = ["math.absf", "arith.negf"][self.random.below(2) as usize];
                let value = body.op(name, &[&operand]);
                self.elements.push(value);
            }
            3 => {
                let (one, other) = (self.any(), self.any());
                let threshold = body.constant([-0.5, 0.0, 1.0][self.random.below(3) as usize]);
                let ty = body.compute.name();
                let condition = body.value(format!("arith.cmpf ogt, {x}, {threshold} : {ty}"));
                let value = body.value(format!("arith.select {condition}, {one}, {other} : {ty}"));
                self.elements.push(value);
            }
            _ => {
                let (one, other) = (self.element(), self.any());
                let names = [
                    "arith.addf",
                    "arith.subf",
                    "arith.mulf",
                    "arith.maximumf",
                    "arith.minimumf",
                ];
                let name = names[self.random.below(names.len() as u64) as usize];
                let value = body.op(name, &[&one, &other]);
                let value = clamp(body, &value);
                self.elements.push(value);
            }
        }
    }

    /// The mean or an extreme of a row.
    fn reduce(&mut self, body: &mut Body, row: i64) {
        let operand = self.element();
        let value = match self.random.below(3) {
            0 => body.reduce("max", &operand),
            1 => body.reduce("min", &operand),
            _ => {
                let sum = body.reduce("add", &operand);
                let share = body.constant(1.0 / row as f64);
                body.op("arith.mulf", &[&sum, &share])
            }
        };
        self.rows.push(value);
    }

    fn element(&mut self) -> String {
        self.elements[self.random.below(self.elements.len() as u64) as usize].clone()
    }

    fn any(&mut self) -> String {
        let count = (self.elements.len() + self.rows.len()) as u64;
        let index = self.random.below(count) as usize;
        let all = self.elements.iter().chain(&self.rows);
        all.into_iter().nth(index).cloned().unwrap_or_default()
    }
}

fn clamp(body: &mut Body, value: &str) -> String {
    let (low, high) = (body.constant(-LARGEST), body.constant(LARGEST));
    let above = body.op("arith.maximumf", &[value, &low]);
    body.op("arith.minimumf", &[&above, &high])
}
