//! Guests of kernels that are built while cells run on other kernels.

use super::{GuestLab, GuestLabError};
use crate::labs::{Lab, Surveyed};
use crate::missing::Missing;
use crate::notes::Notes;
use crate::preflight::ImageSizes;
use fsdyno_host::journal::Journal;
use fsdyno_model::{
    CancelToken, Cell, CellRecord, ContenderKernel, Event, Failure, LabChoice, Outcome, Plan, Stage,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a waiting cell checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The end of a build: the kernel exists, or why it does not.
type BuildResult = Result<(), String>;

/// The kernels of a plan that do not exist yet, by name. What builds them reports their ends, and
/// cells wait for them.
#[derive(Debug, Clone, Default)]
pub struct PendingKernels(Arc<Builds>);

#[derive(Debug, Default)]
struct Builds {
    ends: Mutex<BTreeMap<String, Option<BuildResult>>>,
    ended: Condvar,
}

impl PendingKernels {
    /// Kernels that are going to be built.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let ends = names.into_iter().map(|name| (name, None)).collect();
        Self(Arc::new(Builds {
            ends: Mutex::new(ends),
            ended: Condvar::new(),
        }))
    }

    /// Whether this kernel is one of them.
    pub fn contains(&self, name: &str) -> bool {
        self.ends().contains_key(name)
    }

    pub fn end(&self, name: &str, result: BuildResult) {
        self.ends().insert(name.to_owned(), Some(result));
        self.0.ended.notify_all();
    }

    /// Waits for the end of a build; none if cancellation was requested.
    fn wait(&self, name: &str, stop: &CancelToken) -> Option<BuildResult> {
        let mut ends = self.ends();
        loop {
            if let Some(Some(result)) = ends.get(name) {
                return Some(result.clone());
            }
            if stop.requested() {
                return None;
            }
            let waited = self.0.ended.wait_timeout(ends, POLL_INTERVAL);
            ends = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn ends(&self) -> MutexGuard<'_, BTreeMap<String, Option<BuildResult>>> {
        // A panic leaves complete entries.
        self.0.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lab of a kernel that is being built. Its first cell waits for the kernel; if the kernel cannot
/// be built or started, its cells fail.
#[derive(Clone)]
pub(crate) struct PendingLab {
    pub lab: LabChoice,
    pub kernel: ContenderKernel,
    pub scratch: PathBuf,
    pub images: ImageSizes,
    pub journal: Journal,
    pub stop: CancelToken,
    pub pending: PendingKernels,
    /// The lab, once the kernel exists.
    pub started: Option<GuestLab>,
}

/// The missing options of a kernel are unknown before it is built.
static UNKNOWN: Missing = Missing {
    substitutes: Vec::new(),
    contenders: Vec::new(),
    workloads: Vec::new(),
};

impl PendingLab {
    fn start(&self, plan: &Plan) -> Result<GuestLab, GuestLabError> {
        GuestLab::on_images(
            (&self.lab, Some(&self.kernel)),
            plan,
            (self.scratch.clone(), self.images.clone()),
            self.journal.clone(),
            self.stop.clone(),
        )
    }
}

impl Lab for PendingLab {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        let name = &self.kernel.name;
        if self.started.is_none() {
            let built = self.pending.wait(name, &self.stop)?;
            let started = built.and_then(|()| self.start(plan).map_err(|error| error.to_string()));
            match started {
                Ok(lab) => self.started = Some(lab),
                Err(_) if self.stop.requested() => return None,
                Err(why) => {
                    let failure = Failure {
                        stage: Stage::Device,
                        message: format!("no guest with the kernel {name}: {why}"),
                        errno: None,
                    };
                    let notes = Notes::new(cell, emit);
                    return Some(notes.into_record(Outcome::Failed(failure)));
                }
            }
        }
        self.started.as_mut()?.run_cell(plan, cell, emit)
    }
}

impl Surveyed for PendingLab {
    fn missing(&self) -> &Missing {
        &UNKNOWN
    }

    fn copy(&self, plan: &Plan, stop: &CancelToken) -> Option<Box<dyn Surveyed>> {
        plan.disk_in_virtual_time()?;
        Some(Box::new(Self {
            stop: stop.clone(),
            started: None,
            ..self.clone()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_cell_waits_for_its_kernel_and_not_for_another_one() {
        let pending = PendingKernels::new(["a".to_owned(), "b".to_owned()]);
        let stop = CancelToken::new();
        assert!(pending.contains("a") && !pending.contains("c"));
        pending.end("b", Err("no compiler".to_owned()));
        let failed = Some(Err("no compiler".to_owned()));
        assert_eq!(pending.wait("b", &stop), failed);
        let waiting = thread::spawn({
            let (pending, stop) = (pending.clone(), stop.clone());
            move || pending.wait("a", &stop)
        });
        pending.end("a", Ok(()));
        assert_eq!(waiting.join().unwrap(), Some(Ok(())));
        let never = PendingKernels::new(["a".to_owned()]);
        stop.request();
        assert_eq!(never.wait("a", &stop), None);
    }
}
