//! A process that waits for our end, and then ends what a phase started: all that carries its
//! mark. When we end in order there is nothing left for it to do.
//!
//! The kernel kills a program with the thread that started it where it was asked to
//! (`PR_SET_PDEATHSIG`), but nothing that the program starts, and forgets about it where the program
//! becomes another user, as bonnie++ does (prctl(2)).

use crate::error::LoadError;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// It reads until we are gone: nobody writes. A process that is dead has no environment; one that
/// cannot die at once is given ten seconds.
const SCRIPT: &str = "trap '' HUP INT TERM
read -r _
turns=0
while [ $turns -lt 100 ]; do
    found=$(grep -lzxFe \"$1\" /proc/[0-9]*/environ 2>/dev/null)
    [ -n \"$found\" ] || exit 0
    for one in $found; do
        one=${one#/proc/}
        kill -KILL \"${one%/environ}\" 2>/dev/null
    done
    turns=$((turns + 1))
    sleep 0.1
done";

/// The process, and the pipe that reports it of our end.
#[derive(Debug)]
pub(crate) struct Guardian(Child);

impl Guardian {
    /// Begins to wait. `entry` is what those it ends have in their environment.
    pub fn start(entry: &str) -> Result<Self, LoadError> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "fsdyno-guardian", entry])
            .env_clear()
            .env("LC_ALL", "C")
            .env("PATH", super::path())
            // Our end of the pipe is closed in all that we start: it closes with us alone.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not on what is to be unmounted, nor in the group that a terminal interrupts.
            .current_dir("/")
            .process_group(0);
        let child = command.spawn();
        child
            .map(Self)
            .map_err(|source| LoadError::io("execve", "sh", source))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // It looks once more, and ends.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
