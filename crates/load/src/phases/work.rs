//! The phase `work`: performs a workload that a file describes ([`crate::work`]). The operations of
//! all workers are drawn before the clock starts, unless workers end by time.

mod perform;
mod ready;

pub(crate) use perform::WorkPhase;
pub(crate) use ready::prepare;

use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::work::{Call, Settings, Summary, Work};
use fsdyno_model::capability::Required;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Bytes;
use fsdyno_model::{Form, Parameter};
use std::collections::BTreeMap;
use std::ffi::CStr;

/// The directory of its files, below the work directory.
pub(crate) const HOME: &CStr = c"work";

/// The parameter with the file.
pub const FILE: &str = "file";
/// The parameter with the text of the file.
pub const TEXT: &str = "text";
/// The parameter with the seed of all draws.
pub const SEED: &str = "seed";

/// The kind of phase.
pub static KIND: PhaseKind = PhaseKind::standalone(
    "work",
    "performs a workload that a file describes (--work)",
    &[
        Parameter::new(
            FILE,
            "workload file, or a personality of Filebench",
            Form::File,
        ),
        Parameter::new(
            TEXT,
            "text of a workload; fsdyno stores that of the file here",
            Form::Text,
        ),
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

/// The workload of a phase and its settings, with this seed unless it has one; none if it is another phase. The error is the reason
/// why it is not valid.
pub fn planned(phase: &PhasePlan, seed: u64) -> Result<Option<(Work, Settings)>, LoadError> {
    if !is_one(&phase.kind) {
        return Ok(None);
    }
    let wrong = |reason: String| LoadError::Parameters {
        kind: KIND.name,
        reason,
    };
    let text = phase.parameters.get(TEXT);
    let text = text.ok_or_else(|| wrong("it has no workload: name one with --work FILE".into()))?;
    let work: Work = text
        .parse()
        .map_err(|error: crate::work::WorkError| wrong(error.to_string()))?;
    Ok(Some((work, settings(&phase.parameters, seed))))
}

/// The settings of a phase. Plans are validated, so every value is a number.
fn settings(parameters: &BTreeMap<String, String>, seed: u64) -> Settings {
    let number = |name: &str| parameters.get(name).and_then(|text| text.parse().ok());
    let usual = Settings::default();
    Settings {
        seed: number(SEED).unwrap_or(seed),
        permille: number("permille").unwrap_or(usual.permille),
        operations: number("operations"),
    }
}

/// The space on the device of its files; none if it is another phase.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    let (work, settings) = planned(phase, Settings::default().seed).ok()??;
    let summary = Summary::of(&work, &settings);
    // Workers that end by time do an unknown number of operations.
    let more = summary.time.map_or(0, |_| 1 << 30);
    Some(Bytes(summary.space.0 + more))
}

/// The capabilities that it requires of a file system; none if it is another phase.
pub fn required(phase: &PhasePlan) -> Option<Vec<Required>> {
    let (work, _) = planned(phase, Settings::default().seed).ok()??;
    let mut required = Vec::new();
    if work.does(|step| step.call == Call::Link) {
        required.push(Required::HardLinks);
    }
    if work.does(|step| step.direct) {
        required.push(Required::DirectIo);
    }
    let largest = work.largest_file();
    if largest >= 1 << 30 {
        required.push(Required::FileOf(Bytes(largest)));
    }
    Some(required)
}
