//! The survey of another machine: its system, its clock, its programs, and missing requirements of
//! a plan.

use super::SshLabError;
use super::clock::{COUNTER, Clock, PERL};
use super::dialects::{self, Dialect};
use super::guest::Guest;
use super::remote::RemoteShell;
use crate::missing::{Missing, MissingRequirement};
use fsdyno_host::ssh::How;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Availability, Bytes, Contender, FilesystemKind, Nanos, Need, Plan, Requirement,
};
use fsdyno_recipes::layouts;

/// The programs that every cell needs there.
const PROGRAMS: &str = "cp rm tar cat find grep ps wc tail df sync mkdir sleep uname id date";

#[derive(Clone)]
pub(super) struct Machine {
    /// None if there is no dialect for its system.
    pub dialect: Option<&'static Dialect>,
    pub system: String,
    pub root: bool,
    pub clock: Clock,
    /// The shortest time of a phase there.
    pub floor: Nanos,
    /// Whether its cp has options to share blocks, and not to.
    pub shares: bool,
    /// Its description: its kernel first, up to a comma.
    pub about: String,
    /// Whether its disks are those that this machine gives its virtual machine.
    pub disks_of_guest: bool,
}

/// The script of the survey.
fn questions() -> String {
    format!(
        "echo \"system=$(uname -s)\"\n\
         echo \"kernel=$(uname -s) $(uname -r) $(uname -m)\"\n\
         echo \"build=$(uname -v)\"\n\
         echo \"user=$(id -u)\"\n\
         for program in {PROGRAMS}; do\n\
         command -v \"$program\" >/dev/null || echo \"missing=$program\"; done\n\
         d=$(date +%s.%N); case $d in *[!0-9.]*) ;; *.?????????) echo clock=date;; esac\n\
         {COUNTER}\
         p=$({PERL} 2>/dev/null); case $p in *[!0-9.]*) ;; *.??????) echo perl=yes;; esac\n\
         ( time -p sh -c : ) >/dev/null 2>&1 && echo time=yes\n\
         cp --reflink=never /dev/null \"$D/probe\" >/dev/null 2>&1 && echo shares=yes\n\
         :"
    )
}

impl Machine {
    pub fn survey(
        remote: &mut dyn RemoteShell,
        directory: &str,
        place: &str,
        guest: Option<&Guest>,
    ) -> Result<Self, SshLabError> {
        let reported = remote.run_script(How::Here, &questions())?.stdout;
        let of = |name: &str| output(&reported, name);
        let system = of("system").unwrap_or_default();
        let lines = reported.lines();
        let programs: Vec<String> = lines
            .filter_map(|line| Some(line.strip_prefix("missing=")?.to_owned()))
            .collect();
        if !programs.is_empty() {
            return Err(SshLabError::NoProgram {
                place: place.to_owned(),
                programs,
            });
        }
        let counter = of("counter").and_then(|text| Clock::counter(&text));
        let timed = of("time").is_some();
        let clock = match (of("clock"), counter.filter(|_| timed), of("perl")) {
            (Some(_), ..) => Clock::Date,
            (None, Some(counter), _) => counter,
            (None, None, Some(_)) => Clock::Perl,
            (None, None, None) if timed => Clock::Time,
            (None, None, None) => {
                return Err(SshLabError::NoClock {
                    place: place.to_owned(),
                });
            }
        };
        let mut machine = Self {
            dialect: dialects::find(&system),
            root: of("user").as_deref() == Some("0"),
            system,
            floor: clock.resolution(),
            clock,
            shares: of("shares").is_some(),
            about: String::new(),
            disks_of_guest: guest.is_some(),
        };
        let least = least(remote, &machine.clock, directory)?;
        machine.floor = machine.floor.max(least);
        machine.about = machine.describe(remote, &reported, place, guest)?;
        Ok(machine)
    }

    pub fn for_dry_run(bsd: bool, guest: bool) -> Self {
        let dialect = dialects::assumed(bsd);
        Self {
            dialect: Some(dialect),
            system: dialect.system.to_owned(),
            root: true,
            clock: Clock::Date,
            floor: Nanos(0),
            shares: !bsd,
            about: String::new(),
            disks_of_guest: guest,
        }
    }

    fn describe(
        &self,
        remote: &mut dyn RemoteShell,
        reported: &str,
        place: &str,
        guest: Option<&Guest>,
    ) -> Result<String, SshLabError> {
        let facts = match self.dialect {
            Some(dialect) => remote.run_script(How::Here, dialect.facts)?.stdout,
            None => String::new(),
        };
        let fact = |name: &str| output(&facts, name).unwrap_or_else(|| "unknown".to_owned());
        let memory = fact("memory")
            .parse()
            .map_or("unknown".to_owned(), |bytes| Bytes(bytes).to_string());
        Ok(format!(
            "{}{}, build {}, on {place}: {} processors ({}), {memory} of memory, disks {}; done by its \
             own programs{}, timed there by {} (an empty phase \
             takes {}), durable when sync(1) has returned, which waits for all file systems there{}",
            output(reported, "kernel").unwrap_or_default(),
            guest.map_or(String::new(), |guest| format!(" in {}", guest.kind())),
            output(reported, "build").unwrap_or_default(),
            fact("processors"),
            fact("processor"),
            fact("disks"),
            if self.root { " as root" } else { "" },
            self.clock.name(),
            self.floor,
            guest.map_or(String::new(), |guest| format!(
                "; image {}",
                guest.image().display()
            )),
        ))
    }

    /// The requirements of a plan that are missing there.
    pub fn missing(
        &self,
        remote: &mut dyn RemoteShell,
        plan: &Plan,
    ) -> Result<Missing, SshLabError> {
        let mut contenders = Vec::new();
        for contender in &plan.contenders {
            contenders.push(self.missing_for(remote, contender)?);
        }
        Ok(Missing {
            substitutes: Vec::new(),
            contenders,
            workloads: vec![None; plan.workloads.len()],
        })
    }

    fn missing_for(
        &self,
        remote: &mut dyn RemoteShell,
        contender: &Contender,
    ) -> Result<MissingRequirement, SshLabError> {
        let Some(recipe) = fsdyno_recipes::find(&contender.filesystem) else {
            return Ok(None);
        };
        if recipe.kind() == FilesystemKind::Directory {
            return Ok(None);
        }
        let mut requirements = recipe.requirements();
        requirements.extend(layouts::requirements(contender));
        let mut first = None;
        let mut reasons: Vec<String> = Vec::new();
        for requirement in requirements {
            if let Some(reason) = self.reason(remote, &requirement.need)? {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
                first.get_or_insert(requirement);
            }
        }
        Ok(first.map(|first| missing(first, reasons.join(", "))))
    }

    /// The reason why a need is not met there; none if it is met.
    fn reason(
        &self,
        remote: &mut dyn RemoteShell,
        need: &Need,
    ) -> Result<Option<String>, SshLabError> {
        let Some(dialect) = self.dialect else {
            return Ok(Some(format!(
                "how {} attaches and mounts is written down nowhere in fsdyno: compare directories \
                 there (dir:PATH)",
                self.system
            )));
        };
        let (line, missed) = match need {
            Need::Root if self.root => return Ok(None),
            Need::Root => return Ok(Some("the user of the connection is not root".to_owned())),
            Need::BsdKernel if dialect.bsd => return Ok(None),
            Need::BsdKernel => return Ok(Some(format!("its kernel is {}", self.system))),
            Need::AnyOf(needs) => {
                let mut reasons = Vec::new();
                for one in needs {
                    match self.reason(remote, one)? {
                        None => return Ok(None),
                        Some(reason) => reasons.push(reason),
                    }
                }
                return Ok(Some(reasons.join(", and ")));
            }
            // The options of a kernel there cannot be read; their use shows them.
            Need::LoopDevices | Need::KernelOption { .. } => return Ok(None),
            Need::Program { name, .. } => (
                shell_line(&["command".to_owned(), "-v".to_owned(), name.clone()]),
                format!("there is no program `{name}`"),
            ),
            Need::KernelFilesystem(name) => (
                (dialect.has_filesystem)(name),
                format!("its kernel ({}) has no {name}", self.system),
            ),
            Need::KernelModule(name) => (
                (dialect.has_module)(name),
                format!("its kernel ({}) has no module {name}", self.system),
            ),
        };
        let output = remote.run_script(How::Here, &line)?;
        Ok((output.status != 0).then_some(missed))
    }
}

/// A requirement that is not met there, with the remedy.
fn missing(requirement: Requirement, reason: String) -> (Requirement, Availability) {
    let remedy = match &requirement.need {
        Need::Root => "log in there as root, or compare directories there (dir:PATH)".to_owned(),
        Need::Program { package, .. } => format!("install it there (in Debian: {package})"),
        Need::BsdKernel => requirement.need.remedy(),
        _ => "take another machine, or leave it out".to_owned(),
    };
    (requirement, Availability::Missing { reason, remedy })
}

/// The shortest time of some empty phases.
fn least(
    remote: &mut dyn RemoteShell,
    clock: &Clock,
    directory: &str,
) -> Result<Nanos, SshLabError> {
    let script = clock.script(":", None, directory);
    let mut least: Option<Nanos> = None;
    for _ in 0..5 {
        let printed = remote.run_script(How::Job, &script)?.stdout;
        let taken = clock
            .read(&printed, false)
            .map_err(|printed| SshLabError::NoTime { printed })?;
        least = Some(least.map_or(taken.wall, |known| known.min(taken.wall)));
    }
    Ok(least.unwrap_or_default())
}

/// The value after `NAME=` in a line, if it is not empty.
pub(super) fn output(reported: &str, name: &str) -> Option<String> {
    let mut lines = reported.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_value_is_read_by_its_name() {
        let reported = "kernel=FreeBSD 14.1 amd64\nkernels=2\nbuild=a  b\nempty=\n";
        assert_eq!(
            output(reported, "kernel").as_deref(),
            Some("FreeBSD 14.1 amd64")
        );
        assert_eq!(output(reported, "build").as_deref(), Some("a b"));
        assert_eq!(output(reported, "empty"), None);
        assert_eq!(output(reported, "user"), None);
    }
}
