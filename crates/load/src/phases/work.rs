//! Phases that workload files describe ([`crate::work`]): `work` of a file of the user, and the phases
//! of the files of this program. The operations of all workers are drawn before the clock starts,
//! unless workers end by time.

mod perform;
mod ready;
mod shipped;

pub(crate) use perform::WorkPhase;
pub(crate) use ready::{prepare, record_state};
pub(crate) use shipped::kinds;
pub use shipped::works_in;

use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::work::{Call, Family, Settings, Summary, Values, Work};
use fsdyno_model::capability::{NameRule, Required};
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Bytes;
use fsdyno_model::{Form, Parameter};
use std::ffi::CStr;
use std::sync::Arc;

/// The directory of its files, below the work directory.
pub(crate) const HOME: &CStr = c"work";

/// The parameter with the file.
pub const FILE: &str = "file";
/// The parameter with the text of the file.
pub const TEXT: &str = "text";
/// The parameter with the phase.
pub const PHASE: &str = "phase";
/// The parameter with the seed of all draws.
pub const SEED: &str = "seed";

/// The kind of phase.
pub static KIND: PhaseKind = PhaseKind::standalone(
    "work",
    "performs a workload that a file describes (--work)",
    &[
        Parameter::new(
            FILE,
            "workload file, a personality of Filebench, or a job file of fio",
            Form::File,
        ),
        Parameter::new(
            TEXT,
            "text of a workload; fsdyno stores that of the file here",
            Form::Text,
        ),
        Parameter::new(PHASE, "phase of a file with several; the first", Form::Text),
        Parameter::number(
            "permille",
            "numbers of files and operations, thousandths of those in the file",
            1..=1_000_000,
        )
        .scaled(1000, 1),
        Parameter::number(
            "operations",
            "operations of each group of workers, instead of its end",
            1..=1 << 40,
        ),
        Parameter::number(
            SEED,
            "seed of sizes and choices; that of the datasets",
            0..=u64::MAX,
        ),
    ],
);

/// Whether a phase is a workload of a file.
pub fn is_one(kind: &str) -> bool {
    kind == KIND.name
}

/// A phase of a workload file, with its parameters.
#[derive(Debug)]
pub(crate) struct Planned {
    family: Arc<Family>,
    /// The directory of its files, below the work directory.
    pub home: &'static CStr,
    /// The phase; none if the file has only one.
    pub phase: Option<String>,
    values: Values,
    pub settings: Settings,
    names: NameRule,
    /// What its operations are, for reports.
    pub operation: String,
}

impl Planned {
    /// The workload of this phase.
    pub fn work(&self) -> Result<Work, LoadError> {
        self.work_of(self.phase.as_deref())
    }

    fn work_of(&self, phase: Option<&str>) -> Result<Work, LoadError> {
        let work = self.family.work(phase, &self.values);
        let mut work = work.map_err(|error| wrong(error.to_string()))?;
        work.adapt(&self.names);
        Ok(work)
    }

    /// The workloads that run one after the other until this phase has run.
    fn all(&self) -> Result<Vec<Work>, LoadError> {
        let mut all = vec![self.work()?];
        let mut phase = self.phase.as_deref();
        while let Some(before) = self.family.before(phase).next() {
            all.push(self.work_of(Some(before))?);
            phase = Some(before);
        }
        Ok(all)
    }
}

fn wrong(reason: String) -> LoadError {
    LoadError::Parameters {
        kind: KIND.name,
        reason,
    }
}

/// The workload of a phase, with this seed unless it has one, where names follow this rule; none if it
/// is another phase. The error is the reason why it is not valid.
pub(crate) fn planned(
    plan: &PhasePlan,
    seed: u64,
    names: NameRule,
) -> Result<Option<Planned>, LoadError> {
    let number = |name: &str| {
        let text = plan.parameters.get(name);
        text.and_then(|text| text.parse::<u64>().ok())
    };
    if let Some(shipped) = shipped::find(&plan.kind) {
        let usual = shipped.family.values(1000).into_iter();
        // Plans are validated, so every value is a number.
        let values = usual.map(|(name, usual)| {
            let value = number(&name).unwrap_or(usual);
            (name, value)
        });
        let operation = plan
            .kind
            .split_once('-')
            .map_or("", |(_, operation)| operation);
        return Ok(Some(Planned {
            family: Arc::clone(&shipped.family),
            home: shipped.home,
            phase: Some(plan.kind.clone()),
            values: values.collect(),
            settings: Settings::default(),
            names,
            operation: operation.to_owned(),
        }));
    }
    if !is_one(&plan.kind) {
        return Ok(None);
    }
    let text = plan.parameters.get(TEXT);
    let text = text.ok_or_else(|| wrong("it has no workload: name one with --work FILE".into()))?;
    let family: Family = text
        .parse()
        .map_err(|error: crate::work::WorkError| wrong(error.to_string()))?;
    let usual = Settings::default();
    let permille = number("permille").unwrap_or(usual.permille);
    let values = family.values(permille);
    let operation = "operation".to_owned();
    let first = family.phases().next().map(|(name, _)| name.to_owned());
    Ok(Some(Planned {
        home: HOME,
        phase: plan.parameters.get(PHASE).cloned().or(first),
        settings: Settings {
            seed: number(SEED).unwrap_or(seed),
            // Parameters already have the size.
            permille: if values.is_empty() {
                permille
            } else {
                usual.permille
            },
            operations: number("operations"),
        },
        family: Arc::new(family),
        values,
        names,
        operation,
    }))
}

fn valid(plan: &PhasePlan) -> Option<(Planned, Vec<Work>)> {
    let planned = planned(plan, Settings::default().seed, NameRule::BYTES).ok()??;
    let all = planned.all().ok()?;
    Some((planned, all))
}

/// The space on the device of its files; none if it is another phase.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    let (planned, all) = valid(phase)?;
    let space = |work: &Work| {
        let summary = Summary::of(&work.growth(), &planned.settings);
        // Workers that end by time do an unknown number of operations.
        let more = summary.time.map_or(0, |_| 1 << 30);
        summary.space.0 + more
    };
    Some(Bytes(all.iter().map(space).sum()))
}

/// The capabilities that it requires of a file system; none if it is another phase.
pub fn required(phase: &PhasePlan) -> Option<Vec<Required>> {
    let (_, all) = valid(phase)?;
    let does = |call: Call| all.iter().any(|work| work.does(|step| step.call == call));
    let mut required = Vec::new();
    if does(Call::Link) {
        required.push(Required::HardLinks);
    }
    if does(Call::Mknod) {
        required.push(Required::SpecialFiles);
    }
    if all.iter().any(|work| work.does(|step| step.direct)) {
        required.push(Required::DirectIo);
    }
    let largest = all.iter().map(Work::largest_file).max().unwrap_or(0);
    if largest >= 1 << 30 {
        required.push(Required::FileOf(Bytes(largest)));
    }
    Some(required)
}

#[cfg(test)]
mod tests;
