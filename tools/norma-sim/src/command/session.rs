//! One run of the tool, from the command line's options to the results.

use std::collections::BTreeMap;

use norma_bundle::manifest::Chosen;
use norma_oracle::outputs::{self, Agreement};
use norma_oracle::sharded::ShardedProblem;

use super::input;
use super::options::Options;
use super::progress::Bar;
use crate::Error;
use crate::judge::{Judgement, judge, judge_sharded};

/// The function that was run, and the results.
pub struct Session {
    /// The function.
    pub function: String,
    /// The number of devices, if the function is sharded.
    pub devices: Option<usize>,
    /// The target of its kernels.
    pub target: String,
    /// The sizes it ran with.
    pub sizes: BTreeMap<String, i64>,
    /// The results.
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
/// See [`Error`]. Errors of the kernels are not an error, but part of the session.
pub fn run(options: &Options, diagnostics: &mut String) -> Result<Session, Error> {
    let bundle = input::bundle(options, diagnostics)?;
    let chosen = options.run.choose(&bundle.manifest)?;
    let function = chosen.function();
    let mut problem = input::problem(options, function)?;
    let request = input::request(options);
    let mut bar = Bar::new(options.seeds);
    let mut tell = |number, at| bar.tell(number, at);
    let mut devices = None;
    let judgement = match chosen {
        Chosen::Function(_) => judge(&bundle, &problem, &request, &mut tell)?,
        Chosen::Sharded(sharded) => {
            let shared = ShardedProblem::new(&bundle.manifest, sharded, problem)?;
            devices = Some(shared.devices());
            let judgement = judge_sharded(&bundle, &shared, &request, &mut tell)?;
            problem = shared.whole;
            judgement
        }
    };
    if let Some(directory) = &options.write_tensors {
        let images = &judgement.images;
        outputs::write(directory, &problem, images, images)?;
    }
    let agreements = options
        .compare_outputs
        .as_ref()
        .map(|directory| outputs::compare(directory, &problem, &judgement.images))
        .transpose()?;
    Ok(Session {
        function: function.name.clone(),
        devices,
        target: bundle.manifest.target_name().to_owned(),
        sizes: problem.sizes.clone(),
        judgement,
        agreements,
    })
}
