//! External programs as phases: one file for each program, and one line in [`ALL`].
//!
//! A [`Program`] defines the commands of a phase, which of them is timed, and how its output is
//! parsed. `command` runs them, and `measure` reads the clock.

pub mod app;
pub mod apps;
pub mod bonnie;
pub mod dbench;
pub mod exec;
pub mod fio;
#[cfg(test)]
mod outputs;
mod own_figures;
pub mod postmark;
mod printed;
mod shell;
pub mod sysbench;

use crate::error::{LoadError, Unread};
use crate::phase_kind::PhaseKind;
use crate::tool_run::{ToolRun, User};
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::requirement::{Need, Requirement};
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::Bytes;
use fsdyno_model::warning::Warning;
use fsdyno_model::{FigureName, Needs, NoFigure, suggestion};
pub(crate) use own_figures::FigureSpec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Completes the parameters of a phase. The error is the reason and the remedy.
type Complete = fn(&mut BTreeMap<String, String>) -> Result<(), String>;

/// The names of the figures of a phase with these parameters. The error is what is wrong with them.
type Names = fn(&BTreeMap<String, String>) -> Result<Vec<String>, String>;

/// A program that can be a phase.
#[derive(Debug)]
pub struct Program {
    /// The kind of phase it is, with its name and title.
    pub kind: PhaseKind,
    /// The executable and the Debian package that contains it; none if the user names it.
    pub executable: Option<(&'static str, &'static str)>,
    /// The command that prints its version; empty if there is none.
    pub version: &'static [&'static str],
    /// Completes the parameters with what only this machine and its user know: files and variables.
    complete: Option<Complete>,
    commands: fn(&Task<'_>) -> Result<Commands, LoadError>,
    /// Parses the output of the timed command. The error is the expected text, and the text found.
    read: fn(&str) -> Result<ProgramReport, String>,
    describe: fn(&Task<'_>) -> String,
    /// The bytes of data it works on, if its parameters define them.
    data: fn(&BTreeMap<String, String>) -> Option<Bytes>,
    /// The name of the reported figure that its work is judged by, if its parameters fix the
    /// duration. None if it ends with its work, and is judged by its time.
    judged: fn(&BTreeMap<String, String>) -> Option<String>,
    /// The names of the figures that it can report: `*` is the rest of a word. The error says what
    /// is wrong with its parameters.
    figures: Names,
}

pub static ALL: &[&Program] = &[
    &exec::EXEC,
    &app::APP,
    &fio::FIO,
    &bonnie::BONNIE,
    &dbench::DBENCH,
    &postmark::POSTMARK,
    &sysbench::SYSBENCH,
];

/// The format of a package's version, for a program that does not print its own.
const VERSION_FORM: &str = "--showformat=${Package} ${Version}\n";

pub fn find(name: &str) -> Option<&'static Program> {
    ALL.iter()
        .find(|program| program.kind.name == name)
        .copied()
}

/// One phase of a program, as it is planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    pub directory: &'a Path,
    /// The newest tree, if there is one.
    pub tree: Option<&'a Path>,
    pub parameters: &'a BTreeMap<String, String>,
}

impl Task<'_> {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Its value; empty if it is absent.
    fn value(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}

#[derive(Debug)]
pub(crate) struct Commands {
    /// Untimed, before the cache state is set.
    pub before: Vec<ToolRun>,
    /// What runs beside the timed command.
    pub service: Option<Service>,
    pub timed: ToolRun,
}

/// A program that runs while another one is timed.
#[derive(Debug)]
pub(crate) struct Service {
    /// Runs until the service ends.
    pub start: ToolRun,
    /// Succeeds when the service is ready; none if it is at once.
    pub ready: Option<ToolRun>,
    /// Makes the service end; it is killed if there is none.
    pub stop: Option<ToolRun>,
}

impl Commands {
    fn all(&mut self) -> impl Iterator<Item = &mut ToolRun> {
        let service = self.service.iter_mut().flat_map(|service| {
            let others = service.ready.iter_mut().chain(service.stop.as_mut());
            [&mut service.start].into_iter().chain(others)
        });
        self.before
            .iter_mut()
            .chain(service)
            .chain([&mut self.timed])
    }
}

impl From<ToolRun> for Commands {
    fn from(timed: ToolRun) -> Self {
        Self {
            before: Vec::new(),
            service: None,
            timed,
        }
    }
}

/// The parsed output of a program.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ProgramReport {
    pub figures: Vec<Figure>,
    pub warnings: Vec<Warning>,
}

impl Program {
    /// The requirement that it is installed; none if the user or an application names the command.
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

    /// Parses the output of a known program.
    pub(crate) fn parse(&self, text: &str) -> Result<ProgramReport, Unread> {
        (self.read)(text).map_err(|missing| self.unread(missing))
    }

    fn unread(&self, missing: String) -> Unread {
        Unread {
            program: self.executable.map_or(self.kind.name, |(name, _)| name),
            missing,
        }
    }

    /// The directory it works in, below the work directory. A command of the user works in the work
    /// directory itself.
    fn directory(&self, root: &Path, phase: &PhasePlan) -> PathBuf {
        if self.executable.is_none() {
            return root.to_owned();
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let name = phase.label.replace(|c| !plain(c), "_");
        root.join(format!("program-{name}"))
    }
}

/// The requirement of a phase that is a program, if one of its programs may be missing.
pub fn requirement(phase: &PhasePlan) -> Option<Requirement> {
    let of_program = find(&phase.kind)?.requirement();
    of_program.or_else(|| app::requirement(phase))
}

/// The user that runs the program of a phase. None if it is that of fsdyno,
/// which only root can change.
pub fn user(phase: &PhasePlan) -> Result<Option<User>, LoadError> {
    if rustix::process::geteuid().is_root() {
        return app::user(phase);
    }
    Ok(None)
}

/// Whether a phase is a program that may write only the contender.
pub fn is_confined(phase: &PhasePlan) -> bool {
    let everywhere = phase.parameters.get(exec::EVERYWHERE);
    find(&phase.kind).is_some() && everywhere.is_none_or(|set| set != "yes")
}

/// Whether the program of a phase gets a private directory of temporary files: a command of the user.
pub fn has_temporary_files(phase: &PhasePlan) -> bool {
    find(&phase.kind).is_some_and(|program| program.executable.is_none())
}

/// The bytes of data that the program of a phase works on; none if unknown or no program.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    (find(&phase.kind)?.data)(&phase.parameters)
}

/// Completes the parameters of a phase of that kind with files and variables of the user. The error
/// is the reason and the remedy.
pub fn complete(kind: &str, parameters: &mut BTreeMap<String, String>) -> Result<(), String> {
    let completes = find(kind).and_then(|program| program.complete);
    completes.map_or(Ok(()), |complete| complete(parameters))
}

/// The reason why contenders cannot be judged by a figure of a phase, and what to write; none if they
/// can.
pub fn refuse_judged(phase: &PhasePlan, figure: &FigureName) -> Result<(), String> {
    if let Some(definition) = figure.definition() {
        return if definition.may_be_judged() {
            Ok(())
        } else {
            Err(neither(figure))
        };
    }
    let kind = &phase.kind;
    let Some(program) = find(kind) else {
        let error = NoFigure {
            name: figure.to_string(),
        };
        return Err(format!(
            "{error}; `{kind}` is no program with figures of its own"
        ));
    };
    if program.executable.is_none() {
        return refuse_own(&own_figures(phase)?, figure);
    }
    let names = (program.figures)(&phase.parameters)?;
    if names.iter().any(|name| fits(name, figure.as_str())) {
        return Ok(());
    }
    let near = suggestion(figure.as_str(), known(names.iter().map(String::as_str)));
    Err(format!("unknown figure `{figure}` of {kind}: {near}"))
}

/// The names that a figure can have: these, and those of all defined figures.
fn known<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
) -> impl Iterator<Item = &'n str> + Clone {
    FigureName::defined()
        .map(|name| -> &str { name })
        .chain(names)
}

fn neither(figure: &FigureName) -> String {
    format!("neither a higher nor a lower `{figure}` is better")
}

/// As [`refuse_judged`], for a command with these figures of its own.
fn refuse_own(specs: &[FigureSpec], figure: &FigureName) -> Result<(), String> {
    let own = specs.iter().find(|spec| spec.name == figure.as_str());
    match own {
        Some(spec) if spec.better == Some(Better::Neither) => Err(neither(figure)),
        Some(_) => Ok(()),
        None => {
            let names = specs.iter().map(|spec| spec.name.as_str());
            let near = suggestion(figure.as_str(), known(names));
            Err(format!(
                "unknown figure `{figure}`: {near}; a command's own needs --figure '{figure}=REGEX'"
            ))
        }
    }
}

/// Whether a name is one of those that a form with `*` stands for.
fn fits(form: &str, name: &str) -> bool {
    let (mut forms, mut words) = (form.split(' '), name.split(' '));
    forms.by_ref().zip(words.by_ref()).all(|(form, word)| {
        let start = form.strip_suffix('*');
        start.map_or(form == word, |start| word.starts_with(start))
    }) && form.split(' ').count() == name.split(' ').count()
}

/// Checks the specified figures of a command. The error says what to write.
pub fn check_figures(phase: &PhasePlan) -> Result<(), String> {
    own_figures(phase).map(|_| ())
}

/// The figures that a command is specified to print; none of a known program.
fn own_figures(phase: &PhasePlan) -> Result<Vec<FigureSpec>, String> {
    if find(&phase.kind).is_none_or(|program| program.executable.is_some()) {
        return Ok(Vec::new());
    }
    if app::is_one(&phase.kind) {
        return app::figures(phase);
    }
    let text = phase.parameters.get(exec::FIGURE);
    FigureSpec::parse_all(text.map_or("", String::as_str))
}

/// The name of the figure that the program of a phase is judged by, because its duration is fixed.
pub fn judged(phase: &PhasePlan) -> Option<String> {
    (find(&phase.kind)?.judged)(&phase.parameters)
}

/// Checks the parameters of a phase that is a program, before anything is created.
pub fn check(phase: &PhasePlan) -> Result<(), LoadError> {
    let nowhere = Path::new("/");
    Planned::of(phase, nowhere, Some(nowhere)).map(|_| ())
}

/// The input of a phase: that of its kind, or a tree if its parameters name one by `{tree}`.
pub fn needs(phase: &PhasePlan, of_kind: Needs) -> Needs {
    let mut texts = phase.parameters.values();
    if of_kind == Needs::Nothing && texts.any(|text| text.contains("{tree}")) {
        return Needs::Tree;
    }
    of_kind
}

/// A phase of a program in a work directory: its commands and its directory.
pub(crate) struct Planned {
    pub program: &'static Program,
    pub directory: PathBuf,
    pub commands: Commands,
    pub method: String,
    /// The figures that a command is specified to print.
    figures: Vec<FigureSpec>,
    /// The figure that its phase is judged by, if a program reports it.
    judged: Option<FigureName>,
}

impl Planned {
    /// Parses the output of the timed command. A figure that is specified or judged, and missing, is
    /// an error.
    pub fn parse(&self, text: &str) -> Result<ProgramReport, Unread> {
        let program = self.program;
        let report = match program.executable {
            Some(_) => program.parse(text)?,
            None => own_figures::read(&self.figures, text).map_err(|why| program.unread(why))?,
        };
        let Some(judged) = self.judged.as_ref().filter(|_| report.warnings.is_empty()) else {
            return Ok(report);
        };
        let mut figures = report.figures.iter();
        if let Some(figure) = figures.find(|one| one.name == judged.as_str()) {
            return match figure.better {
                Better::Neither => Err(program.unread(neither(judged))),
                _ => Ok(report),
            };
        }
        let names = report.figures.iter().map(|figure| figure.name.as_str());
        let names: Vec<&str> = names.collect();
        let wrong = format!("it has no figure `{judged}`, but {}", names.join(", "));
        Err(self.program.unread(wrong))
    }

    /// The commands of a phase; none if it is not a phase of a program.
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
        let user = user(phase)?;
        for run in commands.all() {
            run.user = user;
            let packaged = program.executable.filter(|(name, _)| run.argv[0] == *name);
            run.package = packaged.map(|(_, package)| package);
            run.current_dir = Some(directory.clone());
        }
        Ok(Some(Self {
            program,
            commands,
            method: (program.describe)(&task),
            figures: own_figures(phase).map_err(|missing| program.unread(missing))?,
            judged: phase.judge.clone().filter(|one| one.definition().is_none()),
            directory,
        }))
    }
}

/// The shell lines of a phase of a program: those before the cache state is set, and the timed one.
/// None if it is not a phase of a program.
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
    let Commands {
        before: preparing,
        service,
        timed,
    } = &planned.commands;
    before.extend(preparing.iter().map(shell::line));
    Ok(Some((before, shell::beside(service.as_ref(), timed))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::evidence::CacheState;

    #[test]
    fn all_commands_of_a_program_run_in_its_directory() {
        let served = apps::find("redis").unwrap();
        for program in ALL {
            let parameters: &[(&str, &str)] = if app::is_one(program.kind.name) {
                &[(apps::PHASE, "set"), (apps::TEXT, served)]
            } else {
                &[("size", "1048576"), ("files", "1")]
            };
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let phase = PhasePlan {
                label: "a/b".to_owned(),
                kind: program.kind.name.to_owned(),
                cache: CacheState::default(),
                pattern: None,
                parameters: parameters.iter().map(owned).collect(),
                judge: None,
            };
            let planned = Planned::of(&phase, Path::new("/mnt"), None).unwrap();
            let Planned { mut commands, .. } = planned.unwrap();
            let directory = match program.executable {
                Some(_) => "/mnt/program-a_b",
                None => "/mnt",
            };
            for run in commands.all() {
                assert_eq!(run.current_dir.as_deref(), Some(Path::new(directory)));
            }
        }
    }
}
