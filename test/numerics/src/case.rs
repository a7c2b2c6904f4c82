//! A case of the suite: the program that is compiled, and the inputs that it runs on.

use std::fmt;

use norma_bundle::{Element, ScalarOp};
use norma_oracle::Fill;

use crate::source::FUNCTION;
use crate::source::differentiated::Gradient;
use crate::source::graphs::Graph;
use crate::source::named::Call;

/// The lanes of a warp.
const WARP: i64 = 32;

/// A program and its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The program that is compiled.
    pub program: Program,
    /// The inputs that it is run on.
    pub run: Run,
}

/// A function of one op, for one shape and schedule. The number of rows is left to the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The op that it computes.
    pub op: Op,
    /// The element type of `x`.
    pub x: Element,
    /// The element type of `y`, where the op writes rows.
    pub y: Element,
    /// Rows of one leading index: 1 for a matrix, more for a tensor of rank 3.
    pub heads: i64,
    /// The extents of the axes that are reduced: one or two.
    pub columns: Vec<i64>,
    /// How `x` lies in memory.
    pub layout: Layout,
    /// The alignment in bytes of the addresses of `x` and `y`, if that is more than an element's size; 16 if not given.
    pub align: Option<i64>,
    /// The schedule, unless the compiler chooses it.
    pub schedule: Option<Schedule>,
}

/// The inputs of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The dynamic extent.
    pub rows: i64,
    /// The values of the inputs.
    pub fill: Fill,
    /// The seed of the inputs and of the first of the runs.
    pub seed: u64,
    /// How many runs there are, each with an execution order of its own.
    pub seeds: u64,
}

/// The op that a program computes along each row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// `norm.rms_norm`.
    RmsNorm {
        /// The type of the weight, if there is one.
        weight: Option<Element>,
        /// Whether 1 is added to the weight.
        offset: bool,
        /// The type of the bias, if there is one.
        bias: Option<Element>,
        /// Whether the reciprocal root is a result as well.
        rstd: bool,
    },
    /// Any other named op.
    Named(&'static Call),
    /// Several ops.
    Graph(&'static Graph),
    /// The derived gradient of a function.
    Gradient(&'static Gradient),
    /// The mean first, then the squared deviations from it.
    LayerNorm {
        /// The type of weight and bias, if there are any.
        affine: Option<Element>,
    },
    /// Mean and variance in one reduction of three values.
    LayerNormWelford,
    /// `exp(x - max) / sum`.
    Softmax,
    /// `max + log(sum(exp(x - max)))`, one value a row.
    LogSumExp,
    /// The logarithm of the sum of exponentials minus the element that the row's label names.
    CrossEntropy,
    /// Rows scaled to length 1.
    L2Norm,
    /// The largest magnitude of a row.
    Amax,
    /// The largest element and its first position.
    ArgMax,
    /// The smallest element.
    Min,
    /// The largest of the negated elements: below zero if all of `x` is above.
    MaxNegated,
    /// The sum of a row, in its own type.
    Sum,
    /// The product of a row.
    Product,
    /// The bits that all integers of a row have in common.
    And,
    /// The bits that are set in any integer of a row.
    Or,
    /// Rows scaled to length 1 and their halves rotated: two reads and two writes of one buffer, half a row apart.
    RotateHalves,
    /// The row minus its mean: two passes, no special functions.
    Centre,
    /// Variance and largest magnitude, two results of one input.
    VarianceAndAmax,
    /// One op of the table of scalar ops, for each element, and the sum of a row's results.
    Scalar {
        /// The op.
        op: ScalarOp,
        /// The index of one of the op's choices of types.
        signature: usize,
    },
    /// The transpose of the matrix: reads run along its rows, and writes along its columns.
    Transpose {
        /// The `spread` of a schedule that is forced, over rows and columns.
        spread: Option<&'static str>,
    },
    /// Blocks of 32 elements of a row, each divided by a scale of its own and rounded to the type of `y`.
    QuantizeBlocks {
        /// Whether `x` is stored as a matrix of its own, column after column.
        is_transposed: bool,
        /// The `spread` of a schedule that is forced, over rows, blocks and the elements of a block.
        spread: Option<&'static str>,
    },
    /// A scalar program drawn at random.
    Drawn {
        /// The seed that it is drawn from.
        seed: u64,
        /// How many of its steps are kept; a program with fewer is the beginning of this one.
        steps: u32,
    },
}

/// How `x` lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row after row.
    Dense,
    /// Rows with a gap of that many elements between them.
    Padded(i64),
    /// Column after column.
    Transposed,
    /// All rows are the same memory.
    Broadcast,
}

/// Bytes that drawn schedules unroll: a step or two, several, and more than a row has.
pub const UNROLLED_BYTES: [i64; 3] = [32, 64, 512];

/// A forced schedule, without what follows from the program's dims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Rows that a CTA holds at a time.
    pub rows_per_cta: i64,
    /// CTAs of a cluster that share a row.
    pub ctas_per_row: i64,
    /// Threads of a CTA that share a row.
    pub threads_per_row: i64,
    /// Elements of one access.
    pub vector: i64,
    /// Rows of which each thread holds a part; divides `rows_per_cta`.
    pub rows_per_thread: i64,
    /// Accesses of a thread in one step of a loop over the row; without it the CTA holds the whole row.
    pub chunk: Option<i64>,
    /// Where the row lives between its uses.
    pub keep: Keep,
    /// As in `#norm.schedule`.
    pub early_reads: bool,
    /// Whether a loop over the row loads the next step's part ahead.
    pub prefetches: bool,
    /// As in `#norm.schedule`, for a loop over the row.
    pub unroll_bytes: i64,
    /// As in `#norm.schedule`, for a loop over the row.
    pub held_steps: i64,
    /// Whether the row's tile is shifted to where vectors are aligned. This needs vectors of several elements, and all rows of
    /// a CTA to be in the same threads.
    pub is_aligned: bool,
    /// CTAs that split a row between them; reductions that depend on one another are then merged.
    pub parts: i64,
}

/// Where a row lives between its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// In registers; not possible for a row that passes in a loop.
    Register,
    /// In L1.
    L1,
    /// In L2.
    L2,
    /// In shared memory, by bulk copies: the row's bytes are a multiple of 16, and it does not pass in a loop.
    Shared,
    /// In shared memory, as boxes of a tensor map: the row begins at a multiple of 16 bytes, and does not pass in a loop.
    SharedByBoxes,
    /// In shared memory, by copies of the threads, for rows of any number of bytes; the row does not pass in a loop.
    SharedByThreads,
    /// In shared memory, where the threads leave the run of memory that the rows of a CTA form; no cluster shares a row, and it does
    /// not pass in a loop.
    SharedAsRuns,
    /// Nowhere: it is read from memory again.
    Nowhere,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            rows_per_cta: 1,
            ctas_per_row: 1,
            threads_per_row: 32,
            vector: 1,
            rows_per_thread: 1,
            chunk: None,
            keep: Keep::Register,
            early_reads: false,
            prefetches: false,
            unroll_bytes: 0,
            held_steps: 0,
            is_aligned: false,
            parts: 1,
        }
    }
}

impl Schedule {
    /// The schedule as `#norm.schedule` of a kernel with `kept` dims and one reduced dim, which is last.
    fn mapping(&self, kept: usize, row: i64) -> String {
        let lanes = self.threads_per_row.min(WARP);
        let beside = self.rows_per_cta / self.rows_per_thread;
        let lanes_beside = beside.min(WARP / lanes);
        let is_aligned = self.is_aligned && self.vector > 1 && beside == 1;
        let points = if is_aligned { row + self.vector - 1 } else { row };
        let points = points.unsigned_abs().div_ceil(self.parts.unsigned_abs());
        let threads = self.ctas_per_row * self.threads_per_row;
        let accesses = (points.next_power_of_two() as i64 / (threads * self.vector)).max(1);
        let mut dims = vec!["[grid]".to_owned(); kept.saturating_sub(1)];
        dims.push(factors(&[
            Some("grid".to_owned()),
            factor("register", self.rows_per_thread),
            factor("warp", beside / lanes_beside),
            factor("lane", lanes_beside),
            // Rows that are this far apart have the same alignment.
            factor("grid", if is_aligned { self.vector } else { 1 }),
        ]));
        dims.push(factors(&[
            self.chunk.map(|_| "loop".to_owned()),
            factor("split", self.parts),
            factor("register", self.chunk.unwrap_or(accesses)),
            factor("cluster", self.ctas_per_row),
            factor("warp", self.threads_per_row / lanes),
            factor("lane", lanes),
            factor("vector", self.vector),
        ]));
        let mut text = format!("spread = [{}]", dims.join(", "));
        text += match self.keep {
            Keep::Register => "",
            Keep::L1 => ", keep = [l1]",
            Keep::L2 => ", keep = [l2]",
            Keep::Shared => ", keep = [shared], bring = bulk",
            Keep::SharedByBoxes => ", keep = [shared], bring = tensor",
            Keep::SharedByThreads => ", keep = [shared], bring = cp_async",
            Keep::SharedAsRuns => ", keep = [shared], bring = load",
            Keep::Nowhere => ", keep = [none]",
        };
        if self.early_reads {
            text += ", early_reads = true";
        }
        if self.prefetches && self.chunk.is_some() {
            text += ", stages = 2";
        }
        if self.unroll_bytes > 0 && self.chunk.is_some() {
            text += &format!(", unroll_bytes = {}", self.unroll_bytes);
        }
        if self.held_steps > 0 && self.chunk.is_some() {
            text += &format!(", held_steps = {}", self.held_steps);
        }
        if self.parts > 1 {
            let of_loop = if self.chunk.is_some() { ", loop" } else { "" };
            text += &format!(", merge_reductions = [split{of_loop}]");
        }
        if is_aligned {
            text += &format!(", aligned_dim = {kept}");
        }
        format!("#norm.schedule<{text}>")
    }
}

/// A factor of a dim, unless it is 1.
fn factor(level: &str, size: i64) -> Option<String> {
    (size != 1).then(|| format!("{level}({size})"))
}

fn factors(factors: &[Option<String>]) -> String {
    format!(
        "[{}]",
        factors.iter().flatten().cloned().collect::<Vec<_>>().join(", ")
    )
}

impl Op {
    /// The name in a case's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::RmsNorm { .. } => "rms_norm",
            Self::Named(call) => call.name,
            Self::Graph(graph) => graph.name,
            Self::Gradient(gradient) => gradient.name,
            Self::LayerNorm { .. } => "layer_norm",
            Self::LayerNormWelford => "layer_norm_welford",
            Self::Softmax => "softmax",
            Self::LogSumExp => "logsumexp",
            Self::CrossEntropy => "cross_entropy",
            Self::L2Norm => "l2_norm",
            Self::Amax => "amax",
            Self::ArgMax => "argmax",
            Self::Min => "min",
            Self::MaxNegated => "max_negated",
            Self::Sum => "sum",
            Self::Product => "product",
            Self::And => "and",
            Self::Or => "or",
            Self::RotateHalves => "rotate_halves",
            Self::Centre => "centre",
            Self::VarianceAndAmax => "variance_and_amax",
            Self::Scalar { op, .. } => op.row().name,
            Self::Transpose { .. } => "transpose",
            Self::QuantizeBlocks {
                is_transposed: false, ..
            } => "quantize_blocks",
            Self::QuantizeBlocks {
                is_transposed: true, ..
            } => "quantize_blocks_transposed",
            Self::Drawn { .. } => "drawn",
        }
    }

    /// Whether the oracle's tolerance covers the op's error on such inputs. Welford's combiner divides, so no input makes it
    /// exact: on whole numbers whose mean nearly cancels, its error is larger than that of a sum.
    pub fn is_judged_under(self, fill: Fill) -> bool {
        !(self == Self::LayerNormWelford && fill == Fill::Exact)
    }

    /// Whether the op writes an output row for each input row.
    pub fn writes_rows(self) -> bool {
        matches!(
            self,
            Self::RmsNorm { .. }
                | Self::Named(_)
                | Self::Graph(_)
                | Self::Gradient(_)
                | Self::LayerNorm { .. }
                | Self::LayerNormWelford
                | Self::Softmax
                | Self::L2Norm
                | Self::RotateHalves
                | Self::Scalar { .. }
                | Self::Transpose { .. }
                | Self::QuantizeBlocks { .. }
                | Self::Drawn { .. }
                | Self::Centre
        )
    }
}

impl Program {
    /// The elements of a row.
    pub fn row(&self) -> i64 {
        self.columns.iter().product()
    }

    /// The schedules as the attributes that `--schedule` takes.
    pub fn schedules(&self) -> Vec<String> {
        if let Op::Transpose { spread: Some(spread) }
        | Op::QuantizeBlocks {
            spread: Some(spread), ..
        } = self.op
        {
            return vec![format!("#norm.schedule<spread = {spread}>")];
        }
        if let Op::Named(Call {
            schedule: Some(schedule),
            finish,
            ..
        }) = self.op
        {
            let first = format!("{FUNCTION}_0=#norm.schedule<{schedule}>");
            let finish = finish.map(|finish| format!("{FUNCTION}_0_finish=#norm.schedule<{finish}>"));
            return [first].into_iter().chain(finish).collect();
        }
        // Dense axes merge into one dim; a gap after the leading index keeps it apart from the heads.
        let is_apart = self.heads != 1 && matches!(self.layout, Layout::Padded(_));
        let kept = if is_apart { 2 } else { 1 };
        let row = match self.op {
            // The op's space is over half a row.
            Op::RotateHalves => self.row() / 2,
            _ => self.row(),
        };
        let schedule = self.schedule.map(|schedule| schedule.mapping(kept, row));
        schedule.into_iter().collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, run) = (&self.program, &self.run);
        write!(f, "{}", program.op.name())?;
        if let Op::RmsNorm {
            weight,
            offset,
            bias,
            rstd,
        } = program.op
        {
            for (what, element) in [("w", weight), ("b", bias)] {
                if let Some(element) = element {
                    write!(f, " {what}:{}", element.name())?;
                }
            }
            f.write_str(if offset { " 1+w" } else { "" })?;
            f.write_str(if rstd { " rstd" } else { "" })?;
        }
        if let Op::Drawn { seed, steps } = program.op {
            write!(f, " {seed}, {steps} steps")?;
        }
        let columns: Vec<String> = program.columns.iter().map(i64::to_string).collect();
        write!(f, " {}", run.rows)?;
        if program.heads != 1 {
            write!(f, "x{}", program.heads)?;
        }
        write!(f, "x{} {}", columns.join("x"), program.x.name())?;
        if program.op.writes_rows() && program.y != program.x {
            write!(f, "->{}", program.y.name())?;
        }
        match program.layout {
            Layout::Dense => {}
            Layout::Padded(gap) => write!(f, " padded {gap}")?,
            Layout::Transposed => f.write_str(" transposed")?,
            Layout::Broadcast => f.write_str(" broadcast")?,
        }
        if let Some(align) = program.align {
            write!(f, " align {align}")?;
        }
        for schedule in program.schedules() {
            write!(f, " {schedule}")?;
        }
        if run.fill != Fill::Normal {
            write!(f, " {:?}", run.fill)?;
        }
        Ok(())
    }
}
