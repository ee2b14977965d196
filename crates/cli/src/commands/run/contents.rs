//! The content of the user's own inputs. It is read once before a run, recorded in the plan, and
//! compared with that plan when the run resumes.

use crate::exit::CliError;
use crate::output;
use fsdyno_datasets::DatasetError;
use fsdyno_datasets::identity::{self, Identity};
use fsdyno_model::{Bytes, CancelToken, DatasetContent, GuestSize, KernelChoice, Plan, RunInfo};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Interval of the progress messages of a long read.
const REPORT_EVERY: Duration = Duration::from_secs(5);

pub struct Read {
    /// The content of the datasets, as a plan records it.
    pub contents: BTreeMap<String, DatasetContent>,
    /// The datasets, to detect changes during the run.
    pub datasets: Vec<Identity>,
}

/// Reads each input of the user in a plan once.
pub fn read(plan: &Plan, stop: &CancelToken) -> Result<Read, CliError> {
    let (mut contents, mut datasets) = (BTreeMap::new(), Vec::new());
    for workload in &plan.workloads {
        let name = workload.dataset.to_string();
        if contents.contains_key(&name) {
            continue;
        }
        let mut reported = Instant::now();
        let mut progress = |files: u64, bytes: Bytes| {
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                let files = if files > 0 {
                    format!("{files} files, ")
                } else {
                    String::new()
                };
                output::note(format_args!(
                    "fsdyno: reading {name} to record its content: {files}{bytes} so far"
                ));
            }
        };
        let read = Identity::read(&workload.dataset, stop, &mut progress).map_err(with_code)?;
        if let Some(read) = read {
            contents.insert(name, read.content().clone());
            datasets.push(read);
        }
    }
    // The path of a kernel of sources names its content.
    let own = plan.contenders.iter().flat_map(|one| &one.kernel);
    let own = own.filter(|kernel| kernel.source.is_none());
    let kernels = own.map(|kernel| &kernel.program);
    for kernel in kernels.chain(plan.guest.as_ref().map(GuestSize::kernel)) {
        let KernelChoice::File(path) = kernel else {
            continue;
        };
        let name = format!("kernel:{}", path.display());
        if let Entry::Vacant(unread) = contents.entry(name) {
            unread.insert(identity::file_content(path, stop).map_err(with_code)?);
        }
    }
    Ok(Read { contents, datasets })
}

fn with_code(error: DatasetError) -> CliError {
    match error {
        DatasetError::Stopped => CliError::interrupted(),
        error => CliError::usage(error),
    }
}

/// Refuses to resume a run whose inputs changed since its start.
pub fn check(info: &RunInfo, now: &BTreeMap<String, DatasetContent>) -> Result<(), CliError> {
    let mut changed = String::new();
    for (name, now) in now {
        match info.plan.contents.get(name) {
            None => output::note(format_args!(
                "fsdyno: {}: the content of {name} was not recorded at the start of the run, so changes \
                 since then are unknown",
                info.id
            )),
            Some(then) if then == now => {}
            Some(then) => {
                let _ = write!(changed, "\n  {name}: {then}; now {now}");
            }
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "cannot resume {}: its inputs changed since it started, and figures of the two cannot be \
         compared within one run:{changed}\nRestore the inputs, or start a new run.",
        info.id
    )))
}
