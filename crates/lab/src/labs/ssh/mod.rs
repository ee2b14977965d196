//! The labs of another system: run each cell as scripts in its shell with its programs, over ssh. It
//! is another machine, or a virtual machine of this one that boots an image. Nothing is installed
//! there. All resources created there are removed when the session ends.

mod clock;
mod dataset;
mod devices;
mod dialects;
mod executor;
#[doc(hidden)]
pub mod fuzz;
mod guest;
mod machine;
mod phases;
mod remote;
mod stages;

use crate::job::Job;
use crate::labs::limit::run_cell;
use crate::labs::{Lab, Surveyed};
use crate::missing::Missing;
use crate::notes::Notes;
use crate::preflight::Preflight;
use crate::procedure::{self, CellEnd};
use executor::{Sent, SshExecutor};
use fsdyno_guests::vm::VmError;
use fsdyno_host::image::ImageError;
use fsdyno_host::journal::Journal;
use fsdyno_host::place::PlaceError;
use fsdyno_host::ssh::{How, Session, Ssh, SshError};
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Bytes, CancelToken, Cell, CellRecord, Effective, Event, LabChoice, Outcome, Plan,
};
use fsdyno_recipes::fs::bsd_only;
use guest::{Guest, WORK_DIR_THERE};
use machine::Machine;
use remote::{DryRunShell, Line, RemoteShell};
use std::path::{Path, PathBuf};

/// The reason why a plan cannot be run on another machine.
#[derive(Debug, thiserror::Error)]
pub enum SshLabError {
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error("on {place} the programs that every cell needs are missing: {}", programs.join(", "))]
    NoProgram {
        place: String,
        programs: Vec<String>,
    },
    /// No program there prints the time precisely enough.
    #[error(
        "on {place} no program prints the time more precisely than in seconds: its date has no \
        %N, and there is neither perl nor a time(1) with -p"
    )]
    NoClock { place: String },
    /// Its clock program printed text that is not a time.
    #[error("the clock program there printed `{printed}`, which is no time")]
    NoTime { printed: String },
    /// A directory under test does not exist there, or is not writable.
    #[error("on {place} the directory {} cannot be written to: {why}", path.display())]
    Directory {
        place: String,
        path: PathBuf,
        why: String,
    },
    /// A different machine responds.
    #[error("{place} is `{now}`, and was `{before}`: figures of two machines are not compared")]
    Another {
        place: String,
        before: String,
        now: String,
    },
    /// A plan without an image for its virtual machine.
    #[error("the lab vm boots an image, and the plan names none: --image FILE")]
    NoImage,
    /// The uncompressed image does not fit.
    #[error(
        "the uncompressed image has {needed}, and {} has {free}; choose another directory with \
         --work-dir, or uncompress it", directory.display()
    )]
    NoRoom {
        directory: PathBuf,
        free: Bytes,
        needed: Bytes,
    },
    /// Another user could exchange the files of the virtual machine.
    #[error("cannot start a virtual machine: {0} (--work-dir)")]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Vm(#[from] VmError),
    /// No random name could be generated.
    #[error("cannot read random bytes: {0}")]
    Random(#[source] std::io::Error),
}

/// The system that runs the cells.
pub enum Remote<'a> {
    /// Another machine, by what ssh(1) takes as its destination.
    Machine(&'a str),
    /// The virtual machine of the plan's image.
    Guest,
}

/// How the system is reached.
enum Way {
    Machine(Ssh),
    Guest(Box<Guest>),
}

/// Runs cells on another system.
pub struct SshLab {
    // Dropped before the session, which need not clean up in a machine that ends.
    way: Way,
    /// The directory there for the directories of this run.
    base: PathBuf,
    preflight: Preflight,
    journal: Journal,
    stop: CancelToken,
    place: String,
    machine: Machine,
    missing: Missing,
    connection: Option<Connection>,
}

struct Connection {
    ssh: Ssh,
    session: Session,
    directory: String,
    sent: Vec<Sent>,
}

impl SshLab {
    /// A lab for one plan: starts the virtual machine if it is one, connects, and surveys the
    /// system.
    pub fn new(
        plan: &Plan,
        remote: &Remote<'_>,
        preflight: Preflight,
        (journal, stop): (Journal, CancelToken),
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, SshLabError> {
        let (mut way, place, base) = match remote {
            Remote::Machine(destination) => (
                Way::Machine(Ssh::to(destination)?),
                format!("ssh:{destination}"),
                preflight.scratch.clone(),
            ),
            Remote::Guest => {
                let guest = Guest::new(plan, &preflight, &journal, &stop)?;
                if let Some(remark) = guest.remark() {
                    note(&remark);
                }
                let base = PathBuf::from(WORK_DIR_THERE);
                (Way::Guest(Box::new(guest)), LabChoice::Vm.to_string(), base)
            }
        };
        let ssh = way.ssh(&journal, &stop, note)?;
        let mut connection = connect(ssh, &base, &stop)?;
        let mut line = Line::new(&connection.ssh, &mut connection.session, &stop);
        let machine = Machine::survey(&mut line, &connection.directory, &place, way.guest())?;
        for contender in &plan.contenders {
            if let Some(path) = &contender.directory
                && remote.is_lab(&contender.lab)
            {
                may_write(&mut line, path, &place)?;
            }
        }
        let missing = machine.missing(&mut line, plan)?;
        Ok(Self {
            way,
            base,
            preflight,
            journal,
            stop,
            place,
            machine,
            missing,
            connection: Some(connection),
        })
    }

    /// The description of the machine: its kernel first, up to a comma.
    pub fn about(&self) -> &str {
        &self.machine.about
    }

    /// The kernel and its build, from [`SshLab::about`].
    pub fn build_of(about: &str) -> &str {
        let places = [", on ssh:", ", on vm:"].into_iter();
        let end = places.filter_map(|place| about.find(place)).min();
        &about[..end.unwrap_or(about.len())]
    }

    /// Connects again if the connection broke; the same machine must respond.
    fn reconnect(&mut self) -> Result<(), SshLabError> {
        if let Some(connection) = &mut self.connection
            && connection.session.is_running()
        {
            return Ok(());
        }
        self.connection = None;
        let ssh = self.way.ssh(&self.journal, &self.stop, &mut |_| ())?;
        let mut connection = connect(ssh, &self.base, &self.stop)?;
        let mut line = Line::new(&connection.ssh, &mut connection.session, &self.stop);
        let guest = self.way.guest();
        let machine = Machine::survey(&mut line, &connection.directory, &self.place, guest)?;
        let [before, now] = [&self.machine, &machine].map(|m| Self::build_of(&m.about).to_owned());
        if before != now {
            return Err(SshLabError::Another {
                place: self.place.clone(),
                before,
                now,
            });
        }
        self.connection = Some(connection);
        Ok(())
    }

    /// Runs a cell and removes its resources.
    fn run_on_machine(
        &mut self,
        notes: &mut Notes<'_>,
        plan: &Plan,
        cell: Cell,
    ) -> Result<(), CellEnd> {
        self.reconnect().map_err(|error| match error {
            SshLabError::Ssh(SshError::Stopped) | SshLabError::Vm(VmError::Stopped) => {
                CellEnd::Stopped
            }
            other => notes.halt(other.to_string(), None),
        })?;
        let Some(connection) = &mut self.connection else {
            return Err(notes.halt("there is no connection", None));
        };
        notes.effective(Effective::GUEST, self.machine.about.clone());
        let job = Job::new(plan, &self.preflight, cell);
        let mut line = Line::new(&connection.ssh, &mut connection.session, &self.stop);
        let mut executor = SshExecutor::new(
            notes,
            &mut line,
            &self.machine,
            (&connection.directory, &mut connection.sent),
            Some(&self.journal),
            &self.stop,
        );
        executor.guest = match &mut self.way {
            Way::Machine(_) => None,
            Way::Guest(guest) => Some(guest),
        };
        let mut result = procedure::run(&mut executor, &job);
        if let (Err(CellEnd::Failed(failure)), Way::Guest(guest)) = (&mut result, &mut self.way)
            && let Some(last) = guest.why_ended()
        {
            failure.message += "; the virtual machine ended; its console: ";
            failure.message += &last;
            self.connection = None;
            return result;
        }
        // Undone now, so that a failure to undo belongs to this cell.
        if result.is_err() && !self.stop.requested() && line.session.is_running() {
            let undone = line.undo_all();
            if !undone.is_ok_and(|output| output.status == 0) {
                // The end of the session tries again.
                self.connection = None;
            }
        }
        result
    }
}

impl Surveyed for SshLab {
    fn missing(&self) -> &Missing {
        &self.missing
    }
}

impl Lab for SshLab {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        let stop = self.stop.clone();
        run_cell(plan, cell, emit, &self.missing.clone(), &stop, |notes| {
            let result = self.run_on_machine(notes, plan, cell);
            if self.stop.requested() {
                // Processes of the cell there end, and its resources are removed, before this returns.
                if let Way::Guest(guest) = &mut self.way {
                    guest.end();
                    self.connection = None;
                } else if let Some(connection) = self.connection.take()
                    && !connection.session.end()
                {
                    eprintln!(
                        "fsdyno: {} did not confirm that it has removed everything; check {} there",
                        self.place,
                        fsdyno_model::printable(&connection.directory)
                    );
                }
            }
            result.map(|()| Outcome::Measured)
        })
    }
}

impl Remote<'_> {
    fn is_lab(&self, lab: &LabChoice) -> bool {
        match (self, lab) {
            (Self::Machine(here), LabChoice::Ssh(there)) => here == there,
            (Self::Guest, LabChoice::Vm) => true,
            _ => false,
        }
    }
}

impl Way {
    fn ssh(
        &mut self,
        journal: &Journal,
        stop: &CancelToken,
        note: &mut dyn FnMut(&str),
    ) -> Result<Ssh, SshLabError> {
        match self {
            Self::Machine(ssh) => Ok(ssh.clone()),
            Self::Guest(guest) => guest.ssh(journal, stop, note),
        }
    }

    fn guest(&self) -> Option<&Guest> {
        match self {
            Self::Machine(_) => None,
            Self::Guest(guest) => Some(guest),
        }
    }
}

fn connect(ssh: Ssh, base: &Path, stop: &CancelToken) -> Result<Connection, SshLabError> {
    // Other machines may use that one at the same time.
    let bytes = fsdyno_files::random().map_err(SshLabError::Random)?;
    let tag = format!("{:016x}", u64::from_ne_bytes(bytes));
    let directory = base.join(format!("fsdyno-{tag}")).display().to_string();
    Ok(Connection {
        session: Session::start(&ssh, &tag, &directory, stop)?,
        ssh,
        directory,
        sent: Vec::new(),
    })
}

/// Whether a directory there is writable.
fn may_write(remote: &mut dyn RemoteShell, path: &Path, place: &str) -> Result<(), SshLabError> {
    let path_word = shell_line(&[path.display().to_string()]);
    let script =
        format!("cd {path_word} && {{ [ -w . ] || {{ echo 'no right to' >&2; false; }}; }}");
    let output = remote.run_script(How::Here, &script)?;
    if output.status == 0 {
        return Ok(());
    }
    Err(SshLabError::Directory {
        place: place.to_owned(),
        path: path.to_owned(),
        why: output.stderr.trim().replace('\n', "; "),
    })
}

/// All scripts of a cell, in order; runs and contacts nothing.
pub(crate) fn script(plan: &Plan, preflight: &Preflight, cell: Cell) -> Vec<String> {
    let job = Job::new(plan, preflight, cell);
    let guest = job.contender.lab == LabChoice::Vm;
    let machine = Machine::for_dry_run(bsd_only(job.recipe) || guest, guest);
    let base = if guest {
        Path::new(WORK_DIR_THERE)
    } else {
        &preflight.scratch
    };
    let directory = base.join("fsdyno-dry").display().to_string();
    let mut shell = DryRunShell::default();
    let mut sent = Vec::new();
    let mut no_listener = |_| {};
    let mut notes = Notes::new(cell, &mut no_listener);
    let stop = CancelToken::new();
    let there = (directory.as_str(), &mut sent);
    let mut executor = SshExecutor::new(&mut notes, &mut shell, &machine, there, None, &stop);
    // A dry run cannot fail.
    let _ = procedure::run(&mut executor, &job);
    let mut lines = vec![
        job.title(),
        format!(
            "# on {}, in the words of {}",
            job.contender.lab, machine.system
        ),
        shell_line(&["mkdir".to_owned(), directory.clone()]),
        "unmount() { umount \"$1\"; }".to_owned(),
    ];
    lines.append(&mut shell.lines);
    lines.push(shell_line(&["rm", "-rf", &directory].map(str::to_owned)));
    lines
}
