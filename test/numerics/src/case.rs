//! A case: what is compiled, and what it is run on.

use std::fmt;

use norma_bundle::Element;
use norma_oracle::Fill;

/// What is compiled and how it is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is compiled.
    pub program: Program,
    /// What it is run on.
    pub run: Run,
}

/// A function of one op, for one shape and schedule. The number of rows is left to the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What it computes.
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
    /// What the addresses of `x` and `y` are multiples of, in bytes, if that is
    /// more than an element has; 16 where not said.
    pub align: Option<i64>,
    /// The schedule, where it is not left to the compiler.
    pub schedule: Option<Schedule>,
}

/// The inputs of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The dynamic extent.
    pub rows: i64,
    /// What the inputs hold.
    pub fill: Fill,
    /// The seed of the inputs and of the first of the runs.
    pub seed: u64,
    /// How many runs, each in an order of its own.
    pub seeds: u64,
}

/// What a program computes along each row.
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
        /// Whether the reciprocal root is a result too.
        rstd: bool,
    },
    /// Mean first, then the squares of what is left.
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
    /// The logarithm of a sum of exponentials less the row's labelled element.
    CrossEntropy,
    /// Rows scaled to length 1.
    L2Norm,
    /// The largest magnitude of a row.
    Amax,
    /// The largest element and the first place where it is.
    ArgMax,
    /// The smallest element.
    Min,
    /// The largest of the elements with their signs turned: below zero where `x` is above.
    MaxNegated,
    /// The sum of a row, in its own type.
    Sum,
    /// The product of a row.
    Product,
    /// The bits that all integers of a row have.
    And,
    /// The bits that any integer of a row has.
    Or,
    /// Rows scaled to length 1 and their halves rotated: two reads and two writes of one buffer, half a row apart.
    RotateHalves,
    /// The row less its mean: two phases, no special functions.
    Centre,
    /// Variance and largest magnitude, two results of one input.
    VarianceAndAmax,
    /// A scalar program drawn at random.
    Drawn {
        /// What it is drawn from.
        seed: u64,
        /// How many of its steps are there; a program with fewer is the beginning of this one.
        steps: u32,
    },
}

/// How `x` lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row after row.
    Dense,
    /// Rows with so many elements between them.
    Padded(i64),
    /// Column after column.
    Transposed,
    /// All rows are one.
    Broadcast,
}

/// A schedule that is forced, less what follows from the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// As in `#norm.schedule`.
    pub rows_per_cta: i64,
    /// As in `#norm.schedule`.
    pub threads_per_row: i64,
    /// As in `#norm.schedule`.
    pub vector: i64,
    /// As in `#norm.schedule`.
    pub rows_per_thread: i64,
    /// `cache = none` in place of registers.
    pub reread: bool,
    /// `eviction = streaming`.
    pub streaming: bool,
    /// As in `#norm.schedule`.
    pub early_reads: bool,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            rows_per_cta: 1,
            threads_per_row: 32,
            vector: 1,
            rows_per_thread: 1,
            reread: false,
            streaming: false,
            early_reads: false,
        }
    }
}

impl Op {
    /// The name in a case's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::RmsNorm { .. } => "rms_norm",
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
            Self::Drawn { .. } => "drawn",
        }
    }

    /// Whether the op writes a row for each row.
    pub fn writes_rows(self) -> bool {
        matches!(
            self,
            Self::RmsNorm { .. }
                | Self::LayerNorm { .. }
                | Self::LayerNormWelford
                | Self::Softmax
                | Self::L2Norm
                | Self::RotateHalves
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

    /// The schedule as the attribute that `--schedule` takes.
    pub fn schedule_text(&self) -> Option<String> {
        let schedule = self.schedule?;
        let chunk = self
            .row()
            .unsigned_abs()
            .next_power_of_two()
            .max(schedule.vector.unsigned_abs());
        let mut text = format!(
            "rows_per_cta = {}, threads_per_row = {}, vector = {}, chunk = {chunk}, rows_per_thread = {}",
            schedule.rows_per_cta, schedule.threads_per_row, schedule.vector, schedule.rows_per_thread
        );
        for (is_set, option) in [
            (schedule.reread, ", cache = none"),
            (schedule.streaming, ", eviction = streaming"),
            (schedule.early_reads, ", early_reads = true"),
        ] {
            if is_set {
                text += option;
            }
        }
        Some(format!("#norm.schedule<{text}>"))
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
        if let Some(schedule) = program.schedule_text() {
            write!(f, " {schedule}")?;
        }
        if run.fill != Fill::Normal {
            write!(f, " {:?}", run.fill)?;
        }
        Ok(())
    }
}
