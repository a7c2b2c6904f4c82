//! Rows at ids that the kernel reads, and segments of packed batches: ids at both ends of the table and beyond them, segments that are
//! empty, at the end of the tensor, beyond it, and longer than the longest.

use norma_bundle::Element::{BF16, F32};
use norma_oracle::Fill;

use super::plain;
use crate::case::{Case, Op};
use crate::source::selected::{EMBEDDING, EMBEDDING_IN_STEPS, PACKED_HEADS, PACKED_SOFTMAX};

/// Every case of rows and segments at computed places.
pub fn cases(cases: &mut Vec<Case>) {
    // Ids are below 64, of which a table of fewer rows has only some; whole numbers are negative as well, and large ones far beyond.
    for (columns, x, rows, fill) in [
        (1, F32, 40, Fill::Normal),
        (7, BF16, 64, Fill::Exact),
        (33, F32, 1, Fill::Normal),
        (64, BF16, 0, Fill::Normal),
        (769, BF16, 5, Fill::Large),
        (1000, F32, 9, Fill::Exact),
        (4096, BF16, 30, Fill::Normal),
        (5120, BF16, 3, Fill::Ones),
    ] {
        for graph in [&EMBEDDING, &EMBEDDING_IN_STEPS] {
            let mut case = plain(Op::Graph(graph), x, columns);
            (case.run.rows, case.run.fill) = (rows, fill);
            cases.push(case);
        }
    }
    // Segments have up to 40 elements, a third of them none.
    for (graph, longest, x, rows) in [
        (&PACKED_SOFTMAX, 64, F32, 100),
        (&PACKED_SOFTMAX, 40, BF16, 2),
        (&PACKED_SOFTMAX, 20, F32, 50),
        (&PACKED_SOFTMAX, 1000, BF16, 33),
        (&PACKED_SOFTMAX, 4096, F32, 20),
        (&PACKED_HEADS, 64, BF16, 67),
        (&PACKED_HEADS, 33, F32, 40),
    ] {
        let mut case = plain(Op::Graph(graph), x, longest);
        (case.run.rows, case.run.fill) = (rows, Fill::Ascending);
        cases.push(case);
    }
}
