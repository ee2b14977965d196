//! Files sent to another machine: over a connection of their own, whose end is the end of them.

use super::{Ssh, SshError};
use crate::last_lines::LastLines;
use fsdyno_files::programs;
use fsdyno_files::programs::die_with_parent;
use fsdyno_model::CancelToken;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How many last lines of ssh are reported.
const LAST_LINES: usize = 3;

#[derive(Debug, Clone, Copy)]
pub enum Parcel<'a> {
    /// A directory with all that is in it, as a stream of tar: this directory, in that one.
    Tree {
        inside: &'a Path,
        name: &'a str,
    },
    File(&'a Path),
}

/// Programs that end with this.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ssh {
    /// Sends something to the standard input of a line for the shell there.
    pub fn send(&self, parcel: Parcel<'_>, line: &str, stop: &CancelToken) -> Result<(), SshError> {
        let (input, packer) = open(parcel)?;
        let mut command = programs::at(&self.program);
        command
            .args(self.words(line))
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut carrier = start(command, &self.program)?;
        let mut printed = match carrier.0.stderr.take() {
            Some(stderr) => LastLines::of(stderr),
            None => LastLines::of(io::empty()),
        };
        let ended = wait(&mut carrier, stop)?;
        if ended.code() == Some(255) {
            return Err(self.lost(&printed.last(LAST_LINES)));
        }
        if !ended.success() {
            return Err(SshError::There {
                destination: self.destination.clone(),
                act: "taking the dataset".to_owned(),
                words: printed.last(LAST_LINES).join("; "),
            });
        }
        let Some(mut packer) = packer else {
            return Ok(());
        };
        let ended = wait(&mut packer, stop)?;
        if ended.success() {
            return Ok(());
        }
        Err(SshError::Local {
            act: "pack the dataset".to_owned(),
            cause: io::Error::other(format!("tar ended with {ended}")),
        })
    }
}

/// The standard input of ssh, and the process that writes it.
fn open(parcel: Parcel<'_>) -> Result<(Stdio, Option<Ending>), SshError> {
    match parcel {
        Parcel::File(path) => {
            let file = File::open(path).map_err(|cause| SshError::Local {
                act: format!("open {}", path.display()),
                cause,
            })?;
            Ok((file.into(), None))
        }
        Parcel::Tree { inside, name } => {
            let program = Path::new("tar");
            let mut command = programs::command(program).map_err(|cause| SshError::Local {
                act: "pack the dataset".to_owned(),
                cause,
            })?;
            command
                .args(["--numeric-owner", "-cf", "-", "-C"])
                .arg(inside)
                .args(["--", name])
                .stdin(Stdio::null())
                .stdout(Stdio::piped());
            let mut packer = start(command, program)?;
            let stream = packer.0.stdout.take();
            Ok((stream.map_or_else(Stdio::null, Stdio::from), Some(packer)))
        }
    }
}

fn start(mut command: Command, program: &Path) -> Result<Ending, SshError> {
    // Ctrl-C in a terminal reaches fsdyno alone, which ends them.
    command.process_group(0);
    die_with_parent(&mut command);
    command
        .spawn()
        .map(Ending)
        .map_err(|cause| SshError::Local {
            act: format!("start {}", program.display()),
            cause,
        })
}

fn wait(child: &mut Ending, stop: &CancelToken) -> Result<ExitStatus, SshError> {
    loop {
        if stop.requested() {
            return Err(SshError::Stopped);
        }
        let status = child.0.try_wait().map_err(|cause| SshError::Local {
            act: "wait for a program".to_owned(),
            cause,
        })?;
        match status {
            Some(status) => return Ok(status),
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
}
