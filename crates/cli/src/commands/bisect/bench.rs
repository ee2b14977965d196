//! The commits of a search, each built and measured once. A recorded commit is not measured again.

use super::kept::{Attempt, AttemptResult, Kept};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_disk::record::first_difference_of_files;
use fsdyno_model::{FigureName, printable};
use fsdyno_run::bisect::{Bench, Change, Figures, Judged, Role, Step, Tried, is_paired};
use std::fs;
use std::path::Path;

/// An interface that builds and measures kernels. Tests have their own implementation.
pub trait Machine {
    /// The commits that may be the first bad one, those that halve the rest first.
    fn candidates(&mut self, bad: &str, good: &[String]) -> Result<Vec<String>, CliError>;

    /// Builds and measures a commit, with block traces in a directory if one is named.
    fn measure(&mut self, commit: &str, traces: Option<&Path>) -> Result<Attempt, CliError>;

    /// A commit as a line of text.
    fn name(&self, commit: &str) -> String;
}

/// A machine, and the files of the search.
pub struct Recorded<'a, M> {
    pub machine: M,
    pub kept: &'a Kept,
    pub metric: FigureName,
    /// The number of steps so far.
    pub steps: u32,
}

/// The directories of the block traces of the good commit.
const TRACES: [&str; 2] = ["traces-first", "traces-again"];

impl<M: Machine> Recorded<'_, M> {
    fn attempt(&mut self, commit: &str, role: Role) -> Result<Attempt, CliError> {
        if let Some(attempt) = self.kept.attempt(commit)? {
            return Ok(attempt);
        }
        let traces = match role {
            Role::Good if !is_paired(&self.metric) && !self.kept.is_repeated()? => {
                Some(self.traces(0)?)
            }
            _ => None,
        };
        let attempt = self.machine.measure(commit, traces.as_deref())?;
        self.kept.record(&attempt)?;
        Ok(attempt)
    }

    /// An empty directory of block traces.
    fn traces(&self, number: usize) -> Result<std::path::PathBuf, CliError> {
        let folder = self.kept.folder().join(TRACES[number]);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    fn describe(&self, step: &Step) -> Result<String, CliError> {
        let attempt = self.kept.attempt(&step.commit)?;
        let mut times = Vec::new();
        if let Some(attempt) = attempt {
            times.push(attempt.built_ns.map_or_else(
                || "the kernel existed".to_owned(),
                |time| format!("build {}", time.clock()),
            ));
            times.extend(
                attempt
                    .measured_ns
                    .map(|time| format!("cell {}", time.clock())),
            );
        }
        let judged = match step.judged {
            Judged::Good => "good",
            Judged::Bad => "bad",
            Judged::Skipped => "skipped",
        };
        let result = match &step.tried {
            Tried::Measured(figures) => super::summary::figure(figures, &self.metric),
            Tried::Skipped(why) => printable(why),
        };
        let left = match step.left {
            0 => String::new(),
            left => format!("; one of {left} commits"),
        };
        Ok(format!(
            "step {}: {}: {judged}: {result} ({}){left}",
            self.steps,
            self.machine.name(&step.commit),
            times.join(", "),
        ))
    }
}

impl<M: Machine> Bench for Recorded<'_, M> {
    type Error = CliError;

    fn candidates(&mut self, bad: &str, good: &[String]) -> Result<Vec<String>, CliError> {
        self.machine.candidates(bad, good)
    }

    fn measure(&mut self, commit: &str, role: Role) -> Result<Tried, CliError> {
        Ok(self.attempt(commit, role)?.tried())
    }

    fn repeat(&mut self, commit: &str) -> Result<Option<String>, CliError> {
        if is_paired(&self.metric) {
            return Ok(differs_from_itself(&self.attempt(commit, Role::Good)?));
        }
        if self.kept.is_repeated()? {
            return Ok(None);
        }
        let first = self.attempt(commit, Role::Good)?;
        let traces = self.traces(1)?;
        let again = self.machine.measure(commit, Some(&traces))?;
        if let Some(difference) = difference(&first.result, &again.result) {
            let request = first_request(self.kept.folder());
            return Ok(Some(format!("{difference}{request}")));
        }
        self.kept.record_repeat(&again)?;
        for name in TRACES {
            fs::remove_dir_all(self.kept.folder().join(name)).or_else(|error| {
                match error.kind() {
                    std::io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                }
            })?;
        }
        output::note("fsdyno: the good commit, measured twice, has the same figures and requests");
        Ok(None)
    }

    fn report(&mut self, step: &Step) {
        self.steps += 1;
        match self.describe(step) {
            Ok(text) => output::note(format_args!("fsdyno: {text}")),
            Err(error) => output::error(format_args!("fsdyno: {error}")),
        }
    }
}

/// The comparison of the good commit with itself, unless it shows no difference.
fn differs_from_itself(attempt: &Attempt) -> Option<String> {
    let AttemptResult::Measured { figures, .. } = &attempt.result else {
        return None;
    };
    let paired = figures
        .paired
        .filter(|paired| paired.change != Change::None)?;
    Some(paired.to_string())
}

/// The first figure in which two measurements of the same commit differ.
fn difference(first: &AttemptResult, again: &AttemptResult) -> Option<String> {
    let (figures, digest) = match (first, again) {
        (
            AttemptResult::Measured {
                figures, digest, ..
            },
            AttemptResult::Measured {
                figures: other,
                digest: other_digest,
                ..
            },
        ) => ((figures, other), (digest, other_digest)),
        (_, AttemptResult::Skipped { why }) => {
            return Some(format!("the repeat failed: {why}"));
        }
        (AttemptResult::Skipped { .. }, _) => return None,
    };
    let (one, other): (&Figures, &Figures) = figures;
    if let Some((counter, before, now)) = one.moved(other).first() {
        return Some(format!("{} was {before}, and then {now}", counter.name));
    }
    (digest.0 != digest.1).then(|| "the requests to the disks differ".to_owned())
}

/// The first request in which the block traces of the two measurements differ, as text.
fn first_request(folder: &Path) -> String {
    let [first, again] = TRACES.map(|name| folder.join(name));
    let mut names: Vec<_> = fs::read_dir(&first)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    for name in names {
        let found = first_difference_of_files(&first.join(&name), &again.join(&name));
        if let Ok(Some(found)) = found {
            let name = name.to_string_lossy();
            return format!("; the block traces {name} differ first in {found}");
        }
    }
    format!("; the block traces in {} do not differ", folder.display())
}

pub fn interrupted(name: &str) -> CliError {
    CliError::new(
        Code::Interrupted,
        format!(
            "interrupted; measured commits are kept. Resume with: fsdyno bisect --resume {name}"
        ),
    )
}
