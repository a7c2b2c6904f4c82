//! A trial: a case over rows, or one over a space of any rank.

use std::fmt;

use norma_bundle::manifest::Function;
use norma_compiler::CompileOptions;
use norma_compiler::target::SM_90A;
use norma_oracle::Fill;
use norma_sim::judge::Request;

use crate::case::Op;
use crate::check::{self, Bindings};
use crate::{case, reduce, source, space};

/// A program and what it is run on.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// A case of an op along rows.
    Rows(case::Case),
    /// A case over a space of any rank.
    Space(space::Case),
}

impl Trial {
    /// The program as a module at level `tensor`.
    pub fn text(&self) -> String {
        match self {
            Self::Rows(case) => source::text(&case.program),
            Self::Space(case) => space::text(&case.program),
        }
    }

    /// The name of the function that is run.
    pub fn function(&self) -> String {
        match self {
            Self::Rows(case) => match case.program.op {
                Op::Gradient(_) => source::differentiated::function(),
                _ => source::FUNCTION.to_owned(),
            },
            Self::Space(_) => source::FUNCTION.to_owned(),
        }
    }

    /// The schedules as the attributes that `--schedule` takes.
    pub fn schedules(&self) -> Vec<String> {
        match self {
            Self::Rows(case) => case.program.schedules(),
            Self::Space(case) => case.mapping.iter().map(space::Mapping::to_string).collect(),
        }
    }

    /// The options that the program is compiled with.
    pub fn options(&self) -> CompileOptions {
        CompileOptions {
            schedules: self.schedules(),
            ..CompileOptions::new(&SM_90A)
        }
    }

    /// The sizes and strides that the run binds.
    pub fn bindings(&self, function: &Function) -> Bindings {
        match self {
            Self::Rows(case) => check::bindings(function, &case.program, &case.run),
            Self::Space(case) => case.bindings(function),
        }
    }

    /// The values of the inputs.
    pub fn fill(&self) -> Fill {
        match self {
            Self::Rows(case) => case.run.fill,
            Self::Space(case) => case.fill,
        }
    }

    /// The seed of the inputs and of the first run, and how many runs there are.
    pub fn seeds(&self) -> (u64, u64) {
        match self {
            Self::Rows(case) => (case.run.seed, case.run.seeds),
            Self::Space(case) => (case.seed, case.seeds),
        }
    }

    /// A run with the given simulator options.
    pub fn request(&self, options: norma_simulator::Options) -> Request {
        let (seed, seeds) = self.seeds();
        Request {
            fill: self.fill(),
            seed,
            seeds,
            rows_checked: 0,
            options,
        }
    }

    /// Whether both have the same program and schedule, so that it is compiled once.
    pub fn is_same_program(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rows(one), Self::Rows(other)) => one.program == other.program,
            (Self::Space(one), Self::Space(other)) => {
                (&one.program, &one.mapping) == (&other.program, &other.mapping)
            }
            _ => false,
        }
    }

    /// Cases that are simpler by one step, the largest steps first.
    pub fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Rows(case) => reduce::smaller(case).into_iter().map(Self::Rows).collect(),
            Self::Space(case) => space::smaller(case).into_iter().map(Self::Space).collect(),
        }
    }
}

impl From<case::Case> for Trial {
    fn from(case: case::Case) -> Self {
        Self::Rows(case)
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(case) => case.fmt(f),
            Self::Space(case) => case.fmt(f),
        }
    }
}
