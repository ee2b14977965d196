//! `run --robust`: the variants of a run, each as a run of its own in the store. Variants that are
//! recorded completely are not repeated.

use super::{Execution, ExportArgs, fresh, resume};
use crate::exit::CliError;
use crate::output;
use fsdyno_model::{CancelToken, Contender, Plan, ResultSet, RunInfo, StopReason};
use fsdyno_run::RunOptions;
use fsdyno_run::remaining::remaining;
use fsdyno_run::variants::plans;
use fsdyno_store::Store;
use std::path::Path;
use std::time::{Duration, Instant};

/// The variants of a run that must be measured.
pub struct Variants<'a> {
    /// The settings of the execution, without report.
    pub execution: Execution,
    pub store: &'a Path,
    /// No variant begins if its end is expected after this time.
    pub until: Option<Instant>,
    pub stop: &'a CancelToken,
}

impl Variants<'_> {
    /// Measures the variants of a run with these contenders.
    pub fn measure(&self, run: &str, contenders: &[Contender]) -> Result<StopReason, CliError> {
        let store = Store::open_existing_read_only(self.store)?;
        let (set, variants) = (store.load(run)?, store.variants(run)?);
        drop(store);
        let plans = plans(&set, contenders).map_err(CliError::failure)?;
        let all = plans.len();
        let mut longest = Duration::ZERO;
        for (at, plan) in plans.into_iter().enumerate() {
            let recorded = recorded(&variants, &plan);
            if recorded.is_some_and(|one| remaining(&one.run, &one.cells).is_empty()) {
                continue;
            }
            let began = Instant::now();
            if self.until.is_some_and(|until| began + longest > until) {
                return Ok(StopReason::Budget);
            }
            if let Some(variant) = &plan.variant {
                output::note(format_args!(
                    "fsdyno: variant {} of {all}: {}",
                    at + 1,
                    variant.change
                ));
            }
            match recorded {
                Some(one) => {
                    let options = (&RunOptions::default(), false);
                    resume(&self.execution, &one.run.id, options, self.store, self.stop)?
                }
                None => fresh(plan, &self.execution, self.store, self.stop)?,
            };
            if self.stop.requested() {
                return Ok(StopReason::Interrupted);
            }
            longest = longest.max(began.elapsed());
        }
        Ok(StopReason::Complete)
    }
}

/// Measures all variants of a run that is recorded as robust.
pub fn measure_all(
    info: &RunInfo,
    execution: &Execution,
    store: &Store,
    stop: &CancelToken,
) -> Result<StopReason, CliError> {
    let variants = Variants {
        execution: Execution {
            silent: true,
            export: ExportArgs::default(),
            ..execution.clone()
        },
        store: store.path(),
        until: None,
        stop,
    };
    variants.measure(&info.id, &info.plan.contenders)
}

fn recorded<'a>(variants: &'a [ResultSet], plan: &Plan) -> Option<&'a ResultSet> {
    let mut variants = variants.iter();
    variants.find(|one| {
        let recorded = &one.run.plan;
        recorded.variant == plan.variant && recorded.contenders == plan.contenders
    })
}
