//! Runs a phase in a work directory.

use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_load::measure::{self, LoadError, Measured, Request};
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::disk_use::Point;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::{CopyMethod, PhasePlan};

pub fn phase(kind: &str) -> PhasePlan {
    PhasePlan {
        label: kind.to_owned(),
        kind: kind.to_owned(),
        cache: CacheState::AsIs,
        pattern: None,
        parameters: std::collections::BTreeMap::new(),
        judge: None,
    }
}

pub fn run(work_dir: &mut WorkDir, engine: &str, phase: &PhasePlan) -> Result<Measured, LoadError> {
    run_by(work_dir, engine, phase, CopyMethod::ReadWrite)
}

/// Runs a phase in a work directory, with a copy method.
pub fn run_by(
    work_dir: &mut WorkDir,
    engine: &str,
    phase: &PhasePlan,
    copy_method: CopyMethod,
) -> Result<Measured, LoadError> {
    let mut marks = Vec::new();
    let measured = measure::run(Request {
        phase,
        engine,
        copy_method,
        work_dir,
        facts: None,
        durable: true,
        handicap_permille: 0,
        each_file: true,
        confined: None,
        user_work: None,
        stop: &CancelToken::new(),
        share: None,
        mark: &mut |point| marks.push(point),
    })?;
    assert_eq!(marks, [Point::Begins, Point::Returned], "{}", phase.kind);
    Ok(measured)
}
