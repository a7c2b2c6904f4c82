//! One run of the tool, from the command line's options to what was found.

use std::collections::BTreeMap;

use norma_oracle::outputs::{self, Agreement};
use norma_sim::Error;
use norma_sim::judge::{Judgement, judge};

use crate::input;
use crate::options::Options;
use crate::progress::Bar;

/// What was run and what was found.
pub struct Session {
    /// The function.
    pub function: String,
    /// What its kernels are compiled for.
    pub target: String,
    /// The sizes it ran with.
    pub sizes: BTreeMap<String, i64>,
    /// What was found.
    pub judgement: Judgement,
    /// How each output compares with another run's, bit for bit, if asked for.
    pub agreements: Option<Vec<Agreement>>,
}

impl Session {
    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        let agree = |agreements: &Vec<Agreement>| agreements.iter().all(|agreement| agreement.different == 0);
        self.judgement.passed() && self.agreements.as_ref().is_none_or(agree)
    }
}

/// Compiles or loads the input and runs it. Diagnostics of the compiler are appended to `diagnostics`.
///
/// # Errors
/// See [`Error`]. What the kernels do wrong is no error, but part of the session.
pub fn run(options: &Options, diagnostics: &mut String) -> Result<Session, Error> {
    let bundle = input::bundle(options, diagnostics)?;
    let function = options.run.function(&bundle.manifest)?;
    let problem = input::problem(options, function)?;
    let request = input::request(options);
    let mut bar = Bar::new(options.seeds);
    let judgement = judge(&bundle, &problem, &request, &mut |number, at| {
        bar.tell(number, at)
    })?;
    let agreements = options
        .compare_outputs
        .as_ref()
        .map(|directory| outputs::compare(directory, &problem, &judgement.images))
        .transpose()?;
    Ok(Session {
        function: function.name.clone(),
        target: bundle.manifest.target.clone(),
        sizes: problem.sizes.clone(),
        judgement,
        agreements,
    })
}
