//! A series of comparable figures, and the figures of one run in it.

use fsdyno_model::{Contender, FigureName, Plan, Provenance};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The facts of a run.
#[derive(Debug)]
pub(super) struct RunFacts {
    pub id: String,
    pub started_unix_ns: u64,
    pub provenance: Provenance,
    pub commit: Option<String>,
}

/// The figures of one run in one series.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub run: Rc<RunFacts>,
    /// The kernel under test.
    pub kernel: String,
    /// Its build, which distinguishes kernels of the same version.
    pub build: String,
    pub commit: Option<String>,
    /// Whether the figures have no noise.
    pub exact: bool,
    /// The margin of the plan.
    pub margin: f64,
    /// What all user code adds to the cost of the followed figure; none if it adds nothing.
    pub user_code: Option<f64>,
    /// The samples by figure.
    pub figures: BTreeMap<FigureName, Vec<f64>>,
    /// Its place on the axis.
    pub place: usize,
}

/// A series that is being collected.
#[derive(Debug)]
pub(super) struct Collected {
    pub contender: Contender,
    pub workload: String,
    pub phase: String,
    /// The plan with only this contender and this workload, without its kernel.
    pub plan: Plan,
    /// Whether the work of the kernel is charged as the plan requires: a kernel that does not count
    /// is not charged.
    pub counted: bool,
    pub observations: Vec<Observation>,
}
