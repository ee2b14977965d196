//! Programs as workloads: what people run already, under the discipline of a phase. One file a
//! program, and one line in [`ALL`].
//!
//! A program reports which commands are run, which of them is timed, and how its figures are read
//! from what it printed. They run in `command`; the clock is in `measure`.

pub mod bonnie;
pub mod dbench;
pub mod exec;
pub mod fio;
#[cfg(test)]
mod outputs;
pub mod postmark;
mod printed;
mod shell;
pub mod sysbench;

use crate::error::{LoadError, Unread};
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::Needs;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::requirement::{Need, Requirement};
use fsdyno_model::sample::Figure;
use fsdyno_model::units::Bytes;
use fsdyno_model::warning::Warning;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program that can be a phase.
#[derive(Debug)]
pub struct Program {
    /// The kind of phase it is, with its name and title.
    pub kind: PhaseKind,
    /// The executable and the Debian package that holds it; none where the user names it.
    pub executable: Option<(&'static str, &'static str)>,
    /// The command that reports its version; empty where it has none.
    pub version: &'static [&'static str],
    /// The commands of a phase.
    pub(crate) commands: fn(&Task<'_>) -> Result<Commands, LoadError>,
    /// Reads its report from what the timed command printed.
    pub(crate) read: fn(&str, &Task<'_>) -> Result<ProgramReport, Unread>,
    /// How it is described in reports.
    pub(crate) describe: fn(&Task<'_>) -> String,
    /// The bytes of data it works on, where its parameters report.
    pub(crate) data: fn(&BTreeMap<String, String>) -> Option<Bytes>,
}

/// All programs.
pub static ALL: &[&Program] = &[
    &exec::EXEC,
    &fio::FIO,
    &bonnie::BONNIE,
    &dbench::DBENCH,
    &postmark::POSTMARK,
    &sysbench::SYSBENCH,
];

/// How a package reports its version, where its program does not.
const VERSION_FORM: &str = "--showformat=${Package} ${Version}\n";

/// The program of that name.
pub fn find(name: &str) -> Option<&'static Program> {
    ALL.iter()
        .find(|program| program.kind.name == name)
        .copied()
}

/// One phase of a program, as it is planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// The directory it works in.
    pub directory: &'a Path,
    /// The newest tree, where one is.
    pub tree: Option<&'a Path>,
    /// What it was given, by name.
    pub parameters: &'a BTreeMap<String, String>,
}

impl Task<'_> {
    /// What was given by that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }
}

/// What is run for one phase.
#[derive(Debug)]
pub(crate) struct Commands {
    /// Untimed, before the state of the caches is set up.
    pub before: Vec<ToolRun>,
    /// Timed.
    pub timed: ToolRun,
}

/// What a program reported of itself.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ProgramReport {
    pub figures: Vec<Figure>,
    pub warnings: Vec<Warning>,
}

impl Program {
    /// What it needs to run.
    pub fn requirement(&self) -> Option<Requirement> {
        let (name, package) = self.executable?;
        let need = Need::Program {
            name: name.to_owned(),
            package: package.to_owned(),
        };
        Some(Requirement::new(
            need,
            format!("the workload {}", self.kind.name),
        ))
    }

    /// Where it works, below the work directory: a command of the user's in the work directory itself.
    fn directory(&self, root: &Path, phase: &PhasePlan) -> PathBuf {
        if self.executable.is_none() {
            return root.to_owned();
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let name = phase.label.replace(|c| !plain(c), "_");
        root.join(format!("program-{name}"))
    }
}

/// The bytes of data that the program of a phase works on, where it is one and that is known.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    (find(&phase.kind)?.data)(&phase.parameters)
}

/// Refuses what the program of a phase cannot do with what it was given, before anything is made.
pub fn check(phase: &PhasePlan) -> Result<(), LoadError> {
    let nowhere = Path::new("/");
    Planned::of(phase, nowhere, Some(nowhere)).map(|_| ())
}

/// What a phase needs to exist in the work directory: what its kind does, or the tree it speaks of.
pub fn needs(phase: &PhasePlan, of_kind: Needs) -> Needs {
    let speaks = phase
        .parameters
        .values()
        .any(|text| text.contains("{tree}"));
    if of_kind == Needs::Nothing && speaks {
        return Needs::Tree;
    }
    of_kind
}

/// A phase of a program in its work directory: what is run, and where.
pub(crate) struct Planned {
    pub program: &'static Program,
    /// Where it works.
    pub directory: PathBuf,
    pub tree: Option<PathBuf>,
    pub commands: Commands,
}

impl Planned {
    /// What is run for a phase, where it is one of a program.
    pub fn of(
        phase: &PhasePlan,
        root: &Path,
        tree: Option<&Path>,
    ) -> Result<Option<Self>, LoadError> {
        let Some(program) = find(&phase.kind) else {
            return Ok(None);
        };
        if tree.is_none() && needs(phase, Needs::Nothing) == Needs::Tree {
            return Err(LoadError::NoTree(phase.kind.clone()));
        }
        let directory = program.directory(root, phase);
        let task = Task {
            directory: &directory,
            tree,
            parameters: &phase.parameters,
        };
        let mut commands = (program.commands)(&task)?;
        if let Some((name, package)) = program.executable {
            for run in commands.before.iter_mut().chain([&mut commands.timed]) {
                run.package = (run.argv[0] == name).then_some(package);
            }
        }
        Ok(Some(Self {
            program,
            tree: tree.map(Path::to_owned),
            commands,
            directory,
        }))
    }

    /// What its parameters are read with.
    pub fn task<'a>(&'a self, phase: &'a PhasePlan) -> Task<'a> {
        Task {
            directory: &self.directory,
            tree: self.tree.as_deref(),
            parameters: &phase.parameters,
        }
    }
}

/// The lines for a shell that do what a phase of a program does: first those before the state of
/// the caches, then the timed one. None where the phase is none of a program.
pub fn lines(
    phase: &PhasePlan,
    root: &Path,
    tree: Option<&Path>,
) -> Result<Option<(Vec<String>, String)>, LoadError> {
    let Some(planned) = Planned::of(phase, root, tree)? else {
        return Ok(None);
    };
    let mut before = Vec::new();
    if planned.directory != root {
        let mkdir = ["mkdir".to_owned(), planned.directory.display().to_string()];
        before.push(fsdyno_model::step::shell_line(&mkdir));
    }
    before.extend(planned.commands.before.iter().map(shell::line));
    Ok(Some((before, shell::line(&planned.commands.timed))))
}
