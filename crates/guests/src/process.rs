//! The process of a guest, with an entry in the journal until it has ended.

use fsdyno_files::programs::die_with_parent;
use fsdyno_host::guest_processes::NAME;
use fsdyno_host::journal::{Entry, Journal, JournalError, Kind};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

/// A process that leads a group of its own. Dropping it ends the group.
#[derive(Debug)]
pub(crate) struct GuestProcess {
    child: Child,
    entry: Option<Entry>,
}

impl GuestProcess {
    /// Starts the program of a guest that works in `scratch`. It ends with the thread that starts it.
    pub fn spawn<E: From<JournalError>>(
        command: &mut Command,
        scratch: &Path,
        journal: &Journal,
        not_started: impl FnOnce(&Command, io::Error) -> E,
    ) -> Result<Self, E> {
        command.process_group(0);
        die_with_parent(command);
        let entry = journal.declare(Kind::Guest.at(scratch.join(NAME)))?;
        match command.spawn() {
            Ok(child) => Ok(Self {
                child,
                entry: Some(entry),
            }),
            Err(cause) => {
                entry.done()?;
                Err(not_started(command, cause))
            }
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// How it ended; none if it runs.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Ends it by SIGKILL, with the processes of its group.
    pub fn kill(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
        if let Some(entry) = self.entry.take() {
            // If this fails, the entry stays in the journal, which does no harm.
            let _ = entry.done();
        }
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
