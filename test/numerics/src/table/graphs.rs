//! Functions of several ops: how many kernels each is compiled to, and what these compute.

use norma_bundle::Element::{BF16, F16};
use norma_oracle::Fill;

use super::plain;
use crate::case::{Case, Op};
use crate::source::graphs::{
    ADD_RMS_NORM_IN_PLACE, ALL, CROSS_ENTROPY_IN_PLACE, QUANTIZED_BOTH_WAYS, QUANTIZED_LAST_BLOCK, SWIZZLED,
    TILES,
};

/// Every case of a function of several ops.
pub fn cases(cases: &mut Vec<Case>) {
    for graph in ALL {
        for (columns, x) in [(2, BF16), (66, F16), (1024, BF16), (4096, BF16)] {
            let mut case = plain(Op::Graph(graph), x, columns);
            case.program.y = x;
            cases.push(case);
        }
        for rows in [0, 1] {
            let mut case = plain(Op::Graph(graph), BF16, 512);
            case.run.rows = rows;
            cases.push(case);
        }
        for fill in [Fill::Special, Fill::Offset, Fill::Exact] {
            let mut case = plain(Op::Graph(graph), BF16, 258);
            case.run.fill = fill;
            cases.push(case);
        }
    }
    for (columns, rows) in [(64, 64), (1024, 32), (64, 0), (64, 50), (1024, 1)] {
        let mut case = plain(Op::Graph(&QUANTIZED_BOTH_WAYS), BF16, columns);
        case.run.rows = rows;
        cases.push(case);
    }
    for rows in [0, 1, 33] {
        let mut case = plain(Op::Graph(&QUANTIZED_LAST_BLOCK), BF16, 80);
        case.run.rows = rows;
        cases.push(case);
    }
    for graph in [&SWIZZLED, &TILES] {
        for (columns, rows) in [(64, 5), (1024, 128), (258, 130), (64, 1), (64, 0)] {
            let mut case = plain(Op::Graph(graph), BF16, columns);
            case.run.rows = rows;
            cases.push(case);
        }
    }
    // Rows that are read twice in loops.
    for graph in [&ADD_RMS_NORM_IN_PLACE, &CROSS_ENTROPY_IN_PLACE] {
        let mut case = plain(Op::Graph(graph), BF16, 20000);
        case.run.rows = 3;
        cases.push(case);
    }
}

#[cfg(test)]
mod tests {
    use norma_compiler::compile::{Input, Outcome, lower};
    use norma_compiler::{CompileOptions, Level, target::SM_90A};

    use super::super::top_k;
    use super::{ALL, BF16, Op, QUANTIZED_BOTH_WAYS, SWIZZLED, TILES, plain};
    use crate::source;

    #[test]
    fn what_fits_is_one_kernel() {
        let others = [&QUANTIZED_BOTH_WAYS, &SWIZZLED, &TILES];
        let graphs = ALL.into_iter().chain(others).chain(top_k::FUSED);
        let graphs = graphs.map(|graph| (graph, 1024)).chain([top_k::LONG]);
        for (graph, columns) in graphs {
            let text = source::text(&plain(Op::Graph(graph), BF16, columns).program);
            let input = Input {
                name: graph.name,
                text: &text,
            };
            let mut outcome = Outcome::default();
            let options = CompileOptions::new(&SM_90A);
            let lowered = lower(input, Level::Kernel, &options, &mut outcome).unwrap();
            let lowered = String::from_utf8(lowered).unwrap();
            assert_eq!(
                lowered.matches("norm.kernel @").count(),
                graph.kernels,
                "{}\n{lowered}",
                graph.name
            );
        }
    }
}
