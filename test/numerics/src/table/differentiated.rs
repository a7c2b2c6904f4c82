//! Gradients that the compiler derives.

use norma_bundle::Element::{BF16, F16, F32, F64};
use norma_oracle::Fill;

use super::plain;
use crate::case::{Case, Op};
use crate::source::differentiated::{GRAPHS, GRAPHS_OF_F32, LOGITS, NAMED};

/// Every case of a derived gradient.
pub fn cases(cases: &mut Vec<Case>) {
    for gradient in NAMED.iter().chain(LOGITS).chain(GRAPHS) {
        for (columns, x) in [(4, BF16), (66, F16), (512, BF16)] {
            let mut case = plain(Op::Gradient(gradient), x, columns);
            case.run.rows = case.run.rows.min(33);
            cases.push(case);
        }
        for rows in [0, 1] {
            let mut case = plain(Op::Gradient(gradient), BF16, 258);
            case.run.rows = rows;
            cases.push(case);
        }
    }
    for gradient in NAMED.iter().chain(LOGITS).chain(GRAPHS_OF_F32) {
        for columns in [2, 66, 512] {
            let mut case = plain(Op::Gradient(gradient), F32, columns);
            case.run.rows = case.run.rows.min(33);
            cases.push(case);
        }
    }
    for gradient in NAMED {
        let mut case = plain(Op::Gradient(gradient), F64, 130);
        case.run.fill = Fill::Offset;
        cases.push(case);
    }
}
