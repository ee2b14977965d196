//! The guest of the crash explorer: it performs programs on a recorded disk, and recovers the states
//! that a power cut can leave. One guest serves thousands of states: the host replaces the contents
//! of its disk between two mounts, in memory.

mod check;
mod recording;
mod running;

pub use crate::explorer_messages::{ApplicationCheck, RecoveryReport, Trial};
pub use check::{CheckError, Checker, CheckerReport};
pub use fsdyno_disk::{Base, Contents, Delta, SectorSet};
pub use fsdyno_load::crash::FailedOperation;
pub use running::{AfterRecovery, GuestFailure};

use super::{GuestLab, GuestLabError};
use crate::explorer_messages::{Answer, Command};
use fsdyno_crash::{Operation, Program, Trace, Tree, content};
use fsdyno_model::{Bytes, Contender, ModelDisk, Nanos};
use running::{NoReply, Reply, Running};
use std::collections::BTreeSet;

/// A new file system, which programs begin with.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The contents of its disk. Unwritten bytes are [`content::fill_free`].
    pub base: Base,
    pub tree: Tree,
}

/// A performed program, or an application that has ended.
#[derive(Debug, Clone)]
pub struct Performed {
    /// The contents of the disk when the recording began: everything before is on the medium.
    pub base: Base,
    /// The requests and marks, until the file system was unmounted and the disk flushed.
    pub trace: Trace,
    /// The operation that failed and so ended the program, if one did. If it is one of the setup,
    /// nothing was recorded.
    pub failed: Option<FailedOperation>,
    /// The lines that an application printed.
    pub lines: Vec<String>,
    /// From the first operation until the last had returned, virtual time.
    pub elapsed: Nanos,
    /// Warnings of the kernel, and worse.
    pub kernel: Vec<String>,
}

/// How a crash state is recovered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryOptions {
    /// Mount it a second time, compare the files, delete them, and use their names again.
    pub thorough: bool,
    /// Record the requests of the first mount and of the programs before it, for power cuts during
    /// the recovery. The marks of operation 0 enclose the programs.
    pub recorded: bool,
    /// Run the repair program of the recipe before the mount, instead of the checks of a boot.
    pub repair: bool,
    /// Mount it without the disk of this number, which failed.
    pub without: Option<usize>,
    /// Also try what a user of the disk does.
    pub trial: Option<Trial>,
    /// Only run the check of an application.
    pub check: Option<ApplicationCheck>,
}

#[derive(Debug, Clone)]
pub struct Recovered {
    /// The report of the guest, or how its kernel crashed or hung.
    pub end: Result<Box<RecoveryReport>, GuestFailure>,
    /// The sectors that the recovery read, in the order of their first reads, without those that it
    /// had written before: of those that [`Contents::log_only`] selects.
    pub reads: Vec<u64>,
    pub written: SectorSet,
    /// The contents after the first unmount, as changes of the base of the given contents.
    pub changes: Delta,
    /// The requests, if they were recorded. They begin with the given contents
    /// ([`Contents::snapshot`]), as if all of these were on the medium.
    pub trace: Trace,
}

/// Files on the disks of a contender, unmounted.
#[derive(Debug, Clone)]
pub struct Filled {
    /// The contents of each disk before, and the requests to it since.
    pub disks: Vec<(Base, Trace)>,
    /// The operation that failed, if one did.
    pub failed: Option<FailedOperation>,
}

/// What was found on the disks of a contender.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The report of the guest, or how its kernel crashed or hung.
    pub end: Result<Box<RecoveryReport>, GuestFailure>,
    /// Each disk after the first unmount.
    pub disks: Vec<AfterRecovery>,
}

/// A guest for one contender. It is used by one thread, on one processor; it is started when it is
/// needed, and again after it has died.
pub struct ExplorerGuest<'a> {
    lab: &'a GuestLab,
    contender: Contender,
    model: ModelDisk,
    empty: Base,
    /// The paths of a new file system.
    kept: BTreeSet<String>,
    running: Option<Running>,
    /// Whether the guest has received a command.
    used: bool,
    /// Whether the last performed program divides units of content, so that files are read exactly.
    exact: bool,
    about: String,
}

/// The size of a disk that is large enough for a file system, and small enough that its checker is
/// fast.
pub fn disk_size(contender: &Contender) -> Bytes {
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    let smallest = recipe.map_or(Bytes(0), fsdyno_recipes::Filesystem::smallest_bytes);
    // An array uses a part of each disk.
    let of_array = fsdyno_recipes::layouts::below(contender).map_or(0, |_| MIN_DISK.0);
    Bytes(smallest.0 + of_array).max(MIN_DISK)
}

/// The smallest disk: room for the files of a program.
const MIN_DISK: Bytes = Bytes(64 << 20);

impl<'a> ExplorerGuest<'a> {
    /// Starts a guest with disks of this model and size.
    pub fn start(
        lab: &'a GuestLab,
        contender: &Contender,
        model: &ModelDisk,
        size: Bytes,
    ) -> Result<Self, GuestLabError> {
        if !fsdyno_recipes::on_blocks(contender) {
            let what = format!("cannot explore {}: it has no device", contender.label);
            return Err(GuestLabError::Died { what });
        }
        let mut guest = Self {
            lab,
            contender: contender.clone(),
            model: model.clone(),
            empty: Base::unwritten(size.0, content::fill_free),
            kept: BTreeSet::new(),
            running: None,
            used: false,
            exact: false,
            about: String::new(),
        };
        guest.running()?;
        guest.used = false;
        Ok(guest)
    }

    pub fn contender(&self) -> &Contender {
        &self.contender
    }

    /// Its kernel: name, release and version.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Makes the file system on an unwritten disk. A new guest makes it, so that it is always the
    /// same.
    pub fn prepare(&mut self) -> Result<Prepared, GuestLabError> {
        let (tree, disks) = self.make()?;
        let base = first(disks).unwrap_or_else(|| self.empty.clone());
        self.keep(&tree);
        Ok(Prepared { base, tree })
    }

    /// Makes the file system on unwritten disks, in a new guest.
    fn make(&mut self) -> Result<(Tree, Vec<Base>), GuestLabError> {
        let devices = self.contender.layout.devices as usize;
        let contents = vec![Contents::of(self.empty.clone()); devices];
        let reply = self.succeed(&Command::Prepare, contents, false)?;
        match reply.answer {
            Answer::Prepared { tree } => Ok((tree, reply.bases)),
            answer => Err(unexpected(answer)),
        }
    }

    /// Makes the file system, and performs a program without a setup on it.
    pub fn fill(&mut self, program: &Program) -> Result<Filled, GuestLabError> {
        let (_, disks) = self.make()?;
        let contents = disks.into_iter().map(Contents::of).collect();
        let program = program.clone();
        let reply = self.succeed(&Command::Perform { program }, contents, false)?;
        match reply.answer {
            Answer::Performed { failed, .. } => Ok(Filled {
                disks: reply.bases.into_iter().zip(reply.traces).collect(),
                failed,
            }),
            answer => Err(unexpected(answer)),
        }
    }

    /// Uses a file system that another guest prepared.
    pub fn adopt(&mut self, prepared: &Prepared) {
        self.keep(&prepared.tree);
    }

    fn keep(&mut self, tree: &Tree) {
        self.kept = tree.entries.keys().cloned().collect();
    }

    /// Performs a program on the file system with these contents. A new guest performs it, so that
    /// the trace depends on nothing that was done before.
    pub fn perform(
        &mut self,
        prepared: &Base,
        program: &Program,
    ) -> Result<Performed, GuestLabError> {
        let program = program.clone();
        self.exact = content::divides_units(&program);
        self.recorded(prepared, &Command::Perform { program }, false)
    }

    /// Recovers a crash state, and performs the rest of its program; the first operation has this
    /// number. Everything is recorded, from the first request of the recovery on.
    pub fn perform_rest(
        &mut self,
        state: &Base,
        (first, operations): (u32, &[Operation]),
    ) -> Result<Performed, GuestLabError> {
        let operations = operations.to_vec();
        self.recorded(state, &Command::Continue { first, operations }, true)
    }

    /// Runs an application on the file system with these contents, in a new guest, after a command
    /// that prepares it. With `frozen`, the application stops at each line, and the file system is
    /// frozen when the line is reported.
    pub fn execute(
        &mut self,
        prepared: &Base,
        (prepare, command): (Option<&str>, &str),
        frozen: bool,
    ) -> Result<Performed, GuestLabError> {
        let command = Command::Execute {
            prepare: prepare.map(str::to_owned),
            shell: command.to_owned(),
            frozen,
        };
        self.recorded(prepared, &command, false)
    }

    /// Performs a command, and returns what was recorded: from its beginning, or since its setup.
    fn recorded(
        &mut self,
        prepared: &Base,
        command: &Command,
        whole: bool,
    ) -> Result<Performed, GuestLabError> {
        let contents = Contents::of(prepared.clone());
        let reply = self.succeed(command, vec![contents], whole)?;
        let Answer::Performed {
            failed,
            lines,
            elapsed,
            kernel,
        } = reply.answer
        else {
            return Err(unexpected(reply.answer));
        };
        Ok(Performed {
            // None if its setup failed, or if everything was recorded.
            base: first(reply.bases).unwrap_or_else(|| prepared.clone()),
            trace: first(reply.traces).unwrap_or_default(),
            failed,
            lines,
            elapsed,
            kernel,
        })
    }

    /// Recovers a crash state: these contents. The crash of the guest's kernel is a result.
    pub fn recover(
        &mut self,
        state: Contents,
        options: RecoveryOptions,
    ) -> Result<Recovered, GuestLabError> {
        let examined = self.examine(vec![state], options)?;
        let after = first(examined.disks).unwrap_or_default();
        Ok(Recovered {
            end: examined.end,
            reads: after.reads,
            written: after.written,
            changes: after.changes,
            trace: after.trace,
        })
    }

    /// Recovers these contents of each disk, and reads the files. The crash of the guest's kernel is
    /// a result.
    pub fn examine(
        &mut self,
        states: Vec<Contents>,
        options: RecoveryOptions,
    ) -> Result<Examined, GuestLabError> {
        if options.trial.is_some_and(Trial::is_timed) && self.used {
            self.running = None;
        }
        let command = Command::Recover {
            repair: options.repair,
            without: options.without,
            thorough: options.thorough,
            trial: options.trial,
            kept: self.kept.clone(),
            check: options.check,
            exact: self.exact,
        };
        let stop = self.lab.stop.clone();
        let running = self.running()?;
        let (end, disks) = match running.command(&command, states, options.recorded, &stop) {
            Ok(reply) => match reply.answer {
                Answer::Recovered { report } => {
                    let mut disks = reply.after;
                    if disks.is_empty() {
                        disks = running.state_after_recovery();
                    }
                    for (disk, trace) in disks.iter_mut().zip(reply.traces) {
                        if disk.trace.events.is_empty() {
                            disk.trace = trace;
                        }
                    }
                    (Ok(report), disks)
                }
                answer => return Err(unexpected(answer)),
            },
            Err(NoReply::Stopped) => {
                self.running = None;
                return Err(GuestLabError::Stopped);
            }
            Err(NoReply::Died(death)) => (Err(death), running.state_after_recovery()),
        };
        // After a kernel that cannot unmount, the next state needs a new one.
        if end.as_ref().map_or(true, |report| report.stuck.is_some()) {
            self.running = None;
        }
        Ok(Examined { end, disks })
    }

    fn running(&mut self) -> Result<&mut Running, GuestLabError> {
        self.used = true;
        if self.running.is_none() {
            let started = Running::start(self.lab, &self.contender, &self.model, &self.empty);
            let (running, about) = started?;
            self.about = about;
            return Ok(self.running.insert(running));
        }
        self.running.as_mut().ok_or(GuestLabError::Stopped)
    }

    /// Performs a command that does not end the guest, in a guest that has performed no other.
    fn succeed(
        &mut self,
        command: &Command,
        contents: Vec<Contents>,
        records: bool,
    ) -> Result<Reply, GuestLabError> {
        if self.used {
            self.running = None;
        }
        let stop = self.lab.stop.clone();
        let running = self.running()?;
        let reply = running.command(command, contents, records, &stop);
        if reply.is_err() {
            self.running = None;
        }
        reply.map_err(|why| match why {
            NoReply::Stopped => GuestLabError::Stopped,
            NoReply::Died(death) => GuestLabError::Died {
                what: death.words(),
            },
        })
    }
}

/// That of the only disk.
fn first<T>(of_disks: Vec<T>) -> Option<T> {
    of_disks.into_iter().next()
}

/// A reply that is not that of the command.
fn unexpected(answer: Answer) -> GuestLabError {
    let what = match answer {
        Answer::Refused { reason } => format!("refused: {reason}"),
        answer => format!("sent {answer:?}"),
    };
    GuestLabError::Died { what }
}
