//! Runs on another machine: it must be the one that a run was begun on, and a device there is
//! erased only where the user says so of it by name.

use crate::exit::{CliError, Code};
use fsdyno_host::journal::Journal;
use fsdyno_host::ssh::SshError;
use fsdyno_lab::{Preflight, SshLab, SshLabError};
use fsdyno_model::{CancelToken, CellRecord, DeviceChoice, Effective, Plan};

/// The lab of that machine; the one that measured these cells before, where there are any.
pub fn lab(
    plan: &Plan,
    destination: &str,
    (preflight, journal, stop): (Preflight, Journal, CancelToken),
    before: Option<&[CellRecord]>,
) -> Result<SshLab, CliError> {
    let lab = SshLab::new(plan, destination, preflight, journal, stop).map_err(trouble)?;
    let of = SshLab::build_of;
    let there = format!(", on ssh:{destination}:");
    let told = before.into_iter().flatten().flat_map(|r| &r.effective);
    let then = told
        .filter(|one| one.source == Effective::GUEST && one.text.contains(&there))
        .map(|one| of(&one.text));
    match then.into_iter().find(|then| *then != of(lab.about())) {
        None => Ok(lab),
        Some(then) => Err(CliError::usage(format!(
            "the run was begun when ssh:{destination} was {then}; it is {}: figures of the two \
             cannot be compared within one run: begin a new one",
            of(lab.about())
        ))),
    }
}

fn trouble(error: SshLabError) -> CliError {
    let code = match &error {
        SshLabError::Ssh(SshError::Stopped) => Code::Interrupted,
        SshLabError::Ssh(SshError::NoProgram)
        | SshLabError::NoProgram { .. }
        | SshLabError::NoClock { .. } => Code::Missing,
        SshLabError::Directory { .. } => Code::Usage,
        _ => Code::Failure,
    };
    CliError::new(code, error)
}

/// Whether the devices of a plan are those of another machine, each named once more as one that
/// may be erased: the device guard of this machine cannot look there.
pub fn devices(plan: &Plan, erase: &[String]) -> Result<bool, CliError> {
    let DeviceChoice::Block { paths } = &plan.device else {
        return Ok(false);
    };
    let far = plan
        .contenders
        .iter()
        .filter(|c| c.lab.is_elsewhere())
        .count();
    if far == 0 {
        return Ok(false);
    }
    if far < plan.contenders.len() {
        return Err(CliError::usage(
            "--on names devices of one machine, and the contenders are on several: run them apart",
        ));
    }
    let named = |path: &std::path::PathBuf| erase.iter().any(|text| path.as_os_str() == &text[..]);
    match paths.iter().find(|path| !named(path)) {
        None => Ok(true),
        Some(path) => {
            let path = path.display();
            Err(CliError::new(
                Code::Refused,
                format!(
                    "{path} is a device of another machine, which the device guard cannot look \
                     into; what is on it would be lost: say so with --erase {path}"
                ),
            ))
        }
    }
}
