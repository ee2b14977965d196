//! The figures of one run in one series, and the name of a series.

use fsdyno_model::{Counter, Provenance};
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
    /// The samples by counter.
    pub figures: BTreeMap<Counter, Vec<f64>>,
    /// Its place on the axis.
    pub place: usize,
}

/// The name of a series.
pub(super) struct Place {
    pub contender: String,
    pub workload: String,
    pub phase: String,
    pub conditions: Vec<String>,
}
