//! The lab of another machine: runs each cell as scripts in its shell with its programs, over ssh.
//! Nothing is installed there. All resources created there are removed when the session ends.

mod clock;
mod dataset;
mod devices;
mod dialects;
mod executor;
#[doc(hidden)]
pub mod fuzz;
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
use fsdyno_host::journal::Journal;
use fsdyno_host::ssh::{How, Session, Ssh, SshError};
use fsdyno_model::step::shell_line;
use fsdyno_model::{CancelToken, Cell, CellRecord, Effective, Event, Outcome, Plan};
use fsdyno_recipes::fs::bsd_only;
use machine::Machine;
use remote::{DryRunShell, Line, RemoteShell};
use std::path::{Path, PathBuf};

/// The reason why a plan cannot be run on another machine.
#[derive(Debug, thiserror::Error)]
pub enum SshLabError {
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error("on {place} there is no program `{program}`, which every cell needs")]
    NoProgram { place: String, program: String },
    /// No program there prints the time precisely enough.
    #[error(
        "on {place} no program prints the time more precisely than in seconds: its date has no \
        %N, and there is no time(1)"
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
    /// No random name could be generated.
    #[error("cannot read random bytes: {0}")]
    Random(#[source] std::io::Error),
}

/// Runs cells on another machine.
pub struct SshLab {
    preflight: Preflight,
    journal: Journal,
    stop: CancelToken,
    ssh: Ssh,
    place: String,
    machine: Machine,
    missing: Missing,
    connection: Option<Connection>,
}

struct Connection {
    session: Session,
    directory: String,
    sent: Vec<Sent>,
}

impl SshLab {
    /// A lab for one plan: connects, and surveys the machine.
    pub fn new(
        plan: &Plan,
        destination: &str,
        preflight: Preflight,
        journal: Journal,
        stop: CancelToken,
    ) -> Result<Self, SshLabError> {
        let ssh = Ssh::to(destination)?;
        let place = format!("ssh:{destination}");
        let mut connection = connect(&ssh, &preflight.scratch, &stop)?;
        let mut line = Line::new(&ssh, &mut connection.session, &stop);
        let machine = Machine::survey(&mut line, &connection.directory, &place)?;
        for contender in &plan.contenders {
            if let Some(path) = &contender.directory
                && contender.lab.is_remote()
            {
                may_write(&mut line, path, &place)?;
            }
        }
        let missing = machine.missing(&mut line, plan)?;
        Ok(Self {
            preflight,
            journal,
            stop,
            ssh,
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
        about.split(", on ssh:").next().unwrap_or(about)
    }

    /// Connects again if the connection broke; the same machine must respond.
    fn reconnect(&mut self) -> Result<(), SshLabError> {
        if let Some(connection) = &mut self.connection
            && connection.session.is_running()
        {
            return Ok(());
        }
        self.connection = None;
        let mut connection = connect(&self.ssh, &self.preflight.scratch, &self.stop)?;
        let mut line = Line::new(&self.ssh, &mut connection.session, &self.stop);
        let machine = Machine::survey(&mut line, &connection.directory, &self.place)?;
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
            SshLabError::Ssh(SshError::Stopped) => CellEnd::Stopped,
            other => notes.halt(other.to_string(), None),
        })?;
        let Some(connection) = &mut self.connection else {
            return Err(notes.halt("there is no connection", None));
        };
        notes.effective(Effective::GUEST, self.machine.about.clone());
        let job = Job::new(plan, &self.preflight, cell);
        let mut line = Line::new(&self.ssh, &mut connection.session, &self.stop);
        let mut executor = SshExecutor::new(
            notes,
            &mut line,
            &self.machine,
            (&connection.directory, &mut connection.sent),
            Some(&self.journal),
            &self.stop,
        );
        let result = procedure::run(&mut executor, &job);
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
                if let Some(connection) = self.connection.take()
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

fn connect(ssh: &Ssh, base: &Path, stop: &CancelToken) -> Result<Connection, SshLabError> {
    // Other machines may use that one at the same time.
    let bytes = fsdyno_files::random().map_err(SshLabError::Random)?;
    let tag = format!("{:016x}", u64::from_ne_bytes(bytes));
    let directory = base.join(format!("fsdyno-{tag}")).display().to_string();
    Ok(Connection {
        session: Session::start(ssh, &tag, &directory, stop)?,
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
    let bsd = bsd_only(job.recipe);
    let machine = Machine::for_dry_run(bsd);
    let directory = preflight.scratch.join("fsdyno-dry").display().to_string();
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
