//! A process that waits until fsdyno exits, and then kills the processes of a phase, which it finds
//! by their mark. After a regular exit there are none.
//!
//! With `PR_SET_PDEATHSIG` the kernel kills a program with the thread that started it, but not the
//! children of the program. The kernel clears the setting if the program changes its user, as
//! bonnie++ does (prctl(2)).

use crate::error::LoadError;
use fsdyno_files::programs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

/// The script reads until it gets a line or fsdyno has exited. A dead process has no environment, and
/// neither has one inside execve(2): if fsdyno was killed, only several searches without a process
/// end the script. A process that cannot die at once gets ten seconds.
const SCRIPT: &str = "trap '' HUP INT TERM
searches=5
read -r _ && searches=1
turns=0
empty=0
while [ $turns -lt 100 ]; do
    found=$(grep -lzxFe \"$1\" /proc/[0-9]*/environ 2>/dev/null)
    if [ -n \"$found\" ]; then empty=0; else empty=$((empty + 1)); fi
    [ $empty -lt $searches ] || exit 0
    for one in $found; do
        one=${one#/proc/}
        kill -KILL \"${one%/environ}\" 2>/dev/null
    done
    turns=$((turns + 1))
    sleep 0.1
done";

/// The process, with the pipe that closes when fsdyno exits.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Starts the process. `entry` is the environment entry of the processes to kill.
    pub fn start(entry: &str) -> Result<Self, LoadError> {
        let not_started = |source| LoadError::io("execve", "sh", source);
        let mut command = programs::command("sh").map_err(not_started)?;
        programs::clear_environment(&mut command);
        command
            .args(["-c", SCRIPT, "fsdyno-watchdog", entry])
            // All started programs close this end of the pipe, so it closes only when fsdyno exits.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Neither in a directory to be unmounted, nor in the process group that a terminal
            // interrupts.
            .current_dir("/")
            .process_group(0);
        let child = command.spawn();
        child.map(Self).map_err(not_started)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // A line makes it search once and exit.
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"\n");
        }
        let _ = self.0.wait();
    }
}
