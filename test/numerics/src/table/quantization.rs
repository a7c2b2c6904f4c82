//! Quantization as a named op: every way to share a scale, every type of values and of scales; and dequantization.

use norma_bundle::Element::{BF16, F16, F32};
use norma_oracle::Fill;

use super::{plain, rows_of_some_ctas};
use crate::case::{Case, Op};
use crate::source::named::Call;

/// A quantization whose results are requested by name, as a base for others.
const PLAIN: Call = Call {
    op: "quantize",
    by_keyword: true,
    ..Call::PLAIN
};

/// Calls on rows of any length.
const ROWS: &[Call] = &[
    Call {
        name: "quantize by a static scale",
        operands: &[("static_scale", "f32")],
        results: &[("q", "?xNxf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "quantize integers by a static scale for each row",
        operands: &[("static_scale", "?xf32")],
        attributes: "block = array<i64: 1, 0>",
        results: &[("q", "?xNxi8"), ("amax", "?xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize the whole tensor",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "f32"), ("amax", "f32")],
        ..PLAIN
    },
    Call {
        name: "quantize rows",
        attributes: "block = array<i64: 1, 0>",
        results: &[("q", "?xNxf8E5M2"), ("scale", "?xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize rows to integers",
        attributes: "block = array<i64: 1, 0>",
        results: &[("q", "?xNxi8"), ("scale", "?xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize rows by powers of two",
        attributes: "block = array<i64: 1, 0>, power_of_two",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?xf32")],
        ..PLAIN
    },
    Call {
        name: "dequantize rows",
        op: "dequantize",
        x: "?xNxi8",
        operands: &[("scale", "?xf32")],
        attributes: "block = array<i64: 1, 0>",
        ..PLAIN
    },
];

/// Calls on rows of whole blocks.
const BLOCKS: &[Call] = &[
    Call {
        name: "quantize blocks of 32 with E8M0",
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x4xi8")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 to integers with E8M0",
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxi8"), ("scale", "?x4xi8"), ("amax", "?x4xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 as MXFP8",
        attributes: "block = array<i64: 1, 32>, round_down",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x4xf8E8M0FNU")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 to f8E5M2 as MXFP8",
        attributes: "block = array<i64: 1, 32>, round_down",
        results: &[
            ("q", "?xNxf8E5M2"),
            ("scale", "?x4xf8E8M0FNU"),
            ("amax", "?x4xf32"),
        ],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 to integers, rounded down",
        attributes: "block = array<i64: 1, 32>, round_down, power_of_two",
        results: &[("q", "?xNxi8"), ("scale", "?x4xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 with f8E8M0FNU, rounded up",
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x4xf8E8M0FNU")],
        ..PLAIN
    },
    Call {
        name: "dequantize MXFP8",
        op: "dequantize",
        x: "?xNxf8E4M3FN",
        operands: &[("scale", "?x4xf8E8M0FNU")],
        attributes: "block = array<i64: 1, 32>",
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 128",
        attributes: "block = array<i64: 1, 128>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x1xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize squares of 128",
        x: "256xNxX",
        attributes: "block = array<i64: 128, 128>",
        results: &[("q", "256xNxf8E5M2"), ("scale", "2x1xf32")],
        ..PLAIN
    },
    Call {
        name: "dequantize blocks of 32 with E8M0",
        op: "dequantize",
        x: "?xNxf8E4M3FN",
        operands: &[("scale", "?x4xi8")],
        attributes: "block = array<i64: 1, 32>",
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 16 as NVFP4",
        operands: &[("tensor_scale", "f32")],
        attributes: "block = array<i64: 1, 16>, e2m1",
        results: &[("q", "?x64xi8"), ("scale", "?x8xf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 16 as NVFP4 without a scale of the tensor",
        attributes: "block = array<i64: 1, 16>, e2m1",
        results: &[("q", "?x64xi8"), ("scale", "?x8xf8E4M3FN"), ("amax", "?x8xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 as MXFP4",
        attributes: "block = array<i64: 1, 32>, round_down, e2m1",
        results: &[("q", "?x64xi8"), ("scale", "?x4xf8E8M0FNU")],
        ..PLAIN
    },
    Call {
        name: "quantize rows to 4 bits by a static scale",
        operands: &[("static_scale", "?xf32")],
        attributes: "block = array<i64: 1, 0>, e2m1",
        results: &[("q", "?x64xi8"), ("amax", "?xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize the whole tensor to 4 bits",
        attributes: "e2m1",
        results: &[("q", "?x64xi8"), ("scale", "f32")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 by scales of f8E4M3FN",
        operands: &[("tensor_scale", "f32")],
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxf8E5M2"), ("scale", "?x4xf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "quantize squares of 16 by scales of f8E4M3FN",
        x: "32xNxX",
        operands: &[("tensor_scale", "f32")],
        attributes: "block = array<i64: 16, 16>, e2m1",
        results: &[("q", "32x64xi8"), ("scale", "2x8xf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "dequantize NVFP4",
        op: "dequantize",
        x: "?x64xi8",
        operands: &[("scale", "?x8xf8E4M3FN"), ("tensor_scale", "f32")],
        attributes: "block = array<i64: 1, 16>, e2m1",
        ..PLAIN
    },
    Call {
        name: "dequantize MXFP4",
        op: "dequantize",
        x: "?x64xi8",
        operands: &[("scale", "?x4xf8E8M0FNU")],
        attributes: "block = array<i64: 1, 32>, e2m1",
        ..PLAIN
    },
    Call {
        name: "dequantize squares of 128",
        op: "dequantize",
        x: "256xNxf8E5M2",
        operands: &[("scale", "2x1xf32")],
        attributes: "block = array<i64: 128, 128>",
        results: &[("y", "256xNxY")],
        ..PLAIN
    },
];

/// Calls on blocks of several rows, with a dynamic number of rows.
const BLOCKS_OF_ROWS: &[Call] = &[
    Call {
        name: "quantize columns in blocks of 32 as MXFP8",
        attributes: "block = array<i64: 32, 1>, round_down",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?xNxf8E8M0FNU")],
        ..PLAIN
    },
    Call {
        name: "quantize squares of 32 of any number of rows",
        attributes: "block = array<i64: 32, 32>",
        results: &[("q", "?xNxi8"), ("scale", "?x4xf32"), ("amax", "?x4xf32")],
        ..PLAIN
    },
];

/// Calls on rows of 100 numbers, in blocks that do not divide them.
const PARTIAL_BLOCKS: &[Call] = &[
    Call {
        name: "quantize rows that end in a shorter block as MXFP8",
        attributes: "block = array<i64: 1, 32>, round_down",
        results: &[
            ("q", "?xNxf8E4M3FN"),
            ("scale", "?x4xf8E8M0FNU"),
            ("amax", "?x4xf32"),
        ],
        ..PLAIN
    },
    Call {
        name: "quantize rows that end in a shorter block to integers",
        attributes: "block = array<i64: 1, 64>",
        results: &[("q", "?xNxi8"), ("scale", "?x2xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize rows that end in a shorter block by given scales",
        operands: &[("static_scale", "?x3xf32")],
        attributes: "block = array<i64: 1, 48>",
        results: &[("q", "?xNxf8E5M2"), ("amax", "?x3xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize rows that end in a shorter block by scales of f8E4M3FN",
        operands: &[("tensor_scale", "f32")],
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxf8E5M2"), ("scale", "?x4xf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "quantize rows that end in a shorter block as NVFP4",
        operands: &[("tensor_scale", "f32")],
        attributes: "block = array<i64: 1, 16>, e2m1",
        results: &[("q", "?x50xi8"), ("scale", "?x7xf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "quantize rows shorter than a block",
        attributes: "block = array<i64: 1, 128>, power_of_two",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x1xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize squares that end in shorter ones",
        x: "72xNxX",
        attributes: "block = array<i64: 32, 32>",
        results: &[("q", "72xNxf8E4M3FN"), ("scale", "3x4xi8"), ("amax", "3x4xf32")],
        ..PLAIN
    },
    Call {
        name: "dequantize rows that end in a shorter block",
        op: "dequantize",
        x: "?xNxf8E4M3FN",
        operands: &[("scale", "?x4xf8E8M0FNU")],
        attributes: "block = array<i64: 1, 32>",
        ..PLAIN
    },
    Call {
        name: "dequantize squares that end in shorter ones",
        op: "dequantize",
        x: "576xNxi8",
        operands: &[("scale", "5x1xf32")],
        attributes: "block = array<i64: 128, 128>",
        results: &[("y", "576xNxY")],
        ..PLAIN
    },
    Call {
        name: "dequantize rows that end in a shorter block of NVFP4",
        op: "dequantize",
        x: "?x50xi8",
        operands: &[("scale", "?x7xf8E4M3FN"), ("tensor_scale", "f32")],
        attributes: "block = array<i64: 1, 16>, e2m1",
        results: &[("y", "?xNxY")],
        ..PLAIN
    },
];

/// Blocks of 128 in 576 rows or columns, as models have them that quantize all they multiply.
const BLOCKS_OF_576: &[Call] = &[
    Call {
        name: "quantize 576 columns in blocks of 128",
        attributes: "block = array<i64: 1, 128>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x5xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize squares of 128 of 576 columns and any number of rows",
        attributes: "block = array<i64: 128, 128>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x5xf32")],
        ..PLAIN
    },
];

/// Scales in other layouts, of rows of 128 elements.
const LAYOUTS: &[Call] = &[
    Call {
        name: "quantize blocks of 32 with scales by columns",
        keywords: "scale_layout(column_major)",
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "4x?xf32"), ("amax", "?x4xf32")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 32 as MXFP8 with swizzled scales",
        keywords: "scale_layout(swizzled_128x4)",
        attributes: "block = array<i64: 1, 32>, round_down",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x1x32x4x4xf8E8M0FNU")],
        ..PLAIN
    },
    Call {
        name: "quantize blocks of 16 as NVFP4 with swizzled scales",
        operands: &[("tensor_scale", "f32")],
        keywords: "scale_layout(swizzled_128x4)",
        attributes: "block = array<i64: 1, 16>, e2m1",
        results: &[("q", "?x64xi8"), ("scale", "?x2x32x4x4xf8E4M3FN")],
        ..PLAIN
    },
    Call {
        name: "dequantize by scales by columns",
        op: "dequantize",
        x: "?xNxf8E4M3FN",
        operands: &[("scale", "2x?xf32")],
        keywords: "scale_layout(column_major)",
        attributes: "block = array<i64: 1, 64>",
        ..PLAIN
    },
];

/// Scales whose tiles have padding along rows and columns, of rows of 192 elements.
const PADDED: &[Call] = &[
    Call {
        name: "quantize blocks of 32 with scales in tiles that have padding",
        keywords: "scale_layout(swizzled_128x4)",
        attributes: "block = array<i64: 1, 32>",
        results: &[("q", "?xNxf8E4M3FN"), ("scale", "?x2x32x4x4xi8")],
        ..PLAIN
    },
    Call {
        name: "quantize a batch with scales in tiles that have padding",
        x: "2x200xNxX",
        keywords: "scale_layout(swizzled_128x4)",
        attributes: "block = array<i64: 1, 1, 64>",
        results: &[("q", "2x200xNxi8"), ("scale", "2x2x1x32x4x4xi8")],
        ..PLAIN
    },
    Call {
        name: "dequantize by scales in tiles that have padding",
        op: "dequantize",
        x: "300xNxf8E4M3FN",
        operands: &[("scale", "3x2x32x4x4xi8")],
        keywords: "scale_layout(swizzled_128x4)",
        attributes: "block = array<i64: 1, 32>",
        results: &[("y", "300xNxY")],
        ..PLAIN
    },
];

/// Every case of quantization.
pub fn cases(cases: &mut Vec<Case>) {
    for call in ROWS {
        for (columns, x) in [(1, F32), (7, BF16), (33, F16), (1000, BF16), (4096, BF16)] {
            cases.push(plain(Op::Named(call), x, columns));
        }
        for rows in [0, 1] {
            let mut case = plain(Op::Named(call), BF16, 1000);
            case.run.rows = rows;
            cases.push(case);
        }
        fills(cases, call, 769);
    }
    for call in BLOCKS {
        for x in [BF16, F16, F32] {
            cases.push(plain(Op::Named(call), x, 128));
        }
        fills(cases, call, 128);
    }
    layouts(cases);
    for call in BLOCKS_OF_ROWS {
        for (rows, x) in [(0, BF16), (32, F16), (160, F32), (1, BF16), (45, F32)] {
            let mut case = plain(Op::Named(call), x, 128);
            case.run.rows = rows;
            cases.push(case);
        }
    }
    for call in PARTIAL_BLOCKS {
        for x in [BF16, F16, F32] {
            cases.push(plain(Op::Named(call), x, 100));
        }
        fills(cases, call, 100);
    }
    for call in BLOCKS_OF_576 {
        for (rows, x) in [(0, BF16), (1, F32), (130, BF16), (256, F16)] {
            let mut case = plain(Op::Named(call), x, 576);
            case.run.rows = rows;
            cases.push(case);
        }
    }
}

/// Every layout of scales, with full tiles and with tiles that have padding.
fn layouts(cases: &mut Vec<Case>) {
    for (calls, columns) in [(LAYOUTS, 128), (PADDED, 192)] {
        for call in calls {
            for (rows, x) in [(0, BF16), (1, F32), (100, BF16), (128, F16), (300, BF16)] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = rows;
                cases.push(case);
            }
        }
    }
}

/// Every kind of input, in rows of that many columns.
fn fills(cases: &mut Vec<Case>, call: &'static Call, columns: i64) {
    for fill in Fill::GENERAL {
        let mut case = plain(Op::Named(call), F32, columns);
        case.run.fill = fill;
        case.run.rows = rows_of_some_ctas(columns);
        cases.push(case);
    }
}
