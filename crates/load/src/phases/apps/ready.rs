//! Creates, untimed, the input of a phase: the directories of its family, and the files that the
//! phases before it leave. A record in the directory names the phase that last changed the files.

use super::build::PER_DIRECTORY;
use super::workers::App;
use super::{Family, Parameters, Phase};
use crate::engines::sync::SystemCalls;
use crate::error::LoadError;
use crate::phases::Job;
use crate::phases::ready::{below, unless_absent, with_path};
use fsdyno_model::sample::Tally;
use std::fs;
use std::path::{Path, PathBuf};

/// The record of the files: the last phase that changed them, and its parameters.
const RECORD: &str = ".state";

fn record(root: &Path, family: Family) -> PathBuf {
    below(root, family.home()).join(RECORD)
}

fn state(phase: Phase, parameters: &Parameters) -> String {
    format!("{} {parameters:?}", phase.name())
}

/// Records that a phase has changed the files of its family.
pub(crate) fn record_state(
    phase: Phase,
    parameters: &Parameters,
    root: &Path,
) -> Result<(), LoadError> {
    if phase.writes() {
        let path = record(root, phase.family());
        with_path("write", &path, fs::write(&path, state(phase, parameters)))?;
    }
    Ok(())
}

/// Creates the input of a phase. Files of other phases or parameters are removed.
pub(crate) fn prepare(
    phase: Phase,
    parameters: &Parameters,
    job: &Job<'_>,
) -> Result<(), LoadError> {
    let path = record(job.root, phase.family());
    let found = fs::read_to_string(&path).unwrap_or_default();
    let follows = phase.follows();
    if !follows.iter().any(|one| state(*one, parameters) == found) {
        match follows.first() {
            None => directories(phase, parameters, job.root)?,
            Some(before) => {
                prepare(*before, parameters, job)?;
                run(*before, parameters, job)?;
            }
        }
    }
    if phase.writes() {
        // An interrupted phase leaves files in no known state.
        with_path("unlink", &path, unless_absent(fs::remove_file(&path)))?;
    }
    Ok(())
}

/// Runs a phase untimed.
pub(super) fn run(
    phase: Phase,
    parameters: &Parameters,
    job: &Job<'_>,
) -> Result<Tally, LoadError> {
    let tally = App::new(phase, *parameters).run(&mut SystemCalls::default(), job)?;
    record_state(phase, parameters, job.root)?;
    Ok(tally)
}

/// Creates the empty directories of a family, in place of all that is there.
fn directories(phase: Phase, parameters: &Parameters, root: &Path) -> Result<(), LoadError> {
    let home = below(root, phase.family().home());
    with_path("unlink", &home, unless_absent(fs::remove_dir_all(&home)))?;
    let numbered = |prefix: &str, count: usize, suffix: &str| {
        let name = |number| format!("{prefix}{number:07}{suffix}");
        (0..count).map(name).collect::<Vec<_>>()
    };
    let items = parameters.items;
    let names = match phase.family() {
        Family::Mail => ["/tmp", "/new", "/cur"]
            .iter()
            .flat_map(|part| numbered("b", parameters.groups, part))
            .collect(),
        Family::Web => numbered("d", items.div_ceil(100), ""),
        Family::Photos => {
            let mut names = numbered("d", items.div_ceil(50), "");
            names.push("thumbnails".to_owned());
            names
        }
        Family::Build => {
            let mut names = numbered("src/d", items.div_ceil(PER_DIRECTORY), "");
            names.extend(numbered("include/d", (items / 4).max(1).div_ceil(50), ""));
            names
        }
        Family::Database => vec![String::new()],
        Family::Containers => vec!["objects".to_owned()],
    };
    for name in names {
        let path = home.join(name);
        with_path("mkdir", &path, fs::create_dir_all(&path))?;
    }
    Ok(())
}
