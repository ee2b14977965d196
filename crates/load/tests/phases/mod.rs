//! Running a phase on a ground.

use fsdyno_load::ground::Ground;
use fsdyno_load::measure::{self, LoadError, Measured, Request};
use fsdyno_model::disk_use::Point;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::{CopyMethod, PhasePlan};
use fsdyno_model::stop::Stop;

/// A phase of that kind.
pub fn phase(kind: &str) -> PhasePlan {
    PhasePlan {
        label: kind.to_owned(),
        kind: kind.to_owned(),
        cache: CacheState::AsLeft,
        pattern: None,
        parameters: std::collections::BTreeMap::new(),
    }
}

/// Runs a phase on a ground.
pub fn run(ground: &mut Ground, engine: &str, phase: &PhasePlan) -> Result<Measured, LoadError> {
    run_by(ground, engine, phase, CopyMethod::ReadWrite)
}

/// Runs a phase on a ground, with a copy method.
pub fn run_by(
    ground: &mut Ground,
    engine: &str,
    phase: &PhasePlan,
    copy_method: CopyMethod,
) -> Result<Measured, LoadError> {
    let mut marks = Vec::new();
    let measured = measure::run(Request {
        phase,
        engine,
        copy_method,
        ground,
        facts: None,
        durable: true,
        handicap_permille: 0,
        each_file: true,
        stop: &Stop::new(),
        mark: &mut |point| marks.push(point),
    })?;
    assert_eq!(marks, [Point::Begins, Point::Returned], "{}", phase.kind);
    Ok(measured)
}
