//! A session with a shell on another machine: it runs scripts one by one. Each returns its status
//! and both outputs, separated from other output by a random marker.

use super::{Ssh, SshError, quoted};
use crate::last_lines::LastLines;
use fsdyno_files::programs;
use fsdyno_files::programs::die_with_parent;
use fsdyno_model::{CancelToken, Nanos};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// The shell script that runs there.
const REMOTE_SHELL: &str = include_str!("remote.sh");
/// Starts it in a shell of any kind. Lines are collected by `read` until the mark, because `read`
/// takes no byte beyond the line, whereas a shell may read ahead of its commands.
const BOOT: &str = "exec 3<&0 </dev/null; N=$(printf \"\\012x\"); N=${N%x}; S=; \
    while IFS= read -r L <&3; do case $L in $MARK) eval \"$S\"; S=;; *) S=$S$L$N;; esac; done; bye";
/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How many last lines of ssh are reported.
const LAST_LINES: usize = 3;
/// How long the other machine may take to remove the resources of the session.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// In the shell itself: short, and its variables stay.
    Here,
    /// In a separate process, so that it can be ended.
    Job,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptOutput {
    pub status: i32,
    /// The last 64 KiB of its standard output; invalid UTF-8 is replaced.
    pub stdout: String,
    /// The last 64 KiB of its standard error; invalid UTF-8 is replaced.
    pub stderr: String,
    /// How long it took, measured here.
    pub elapsed: Nanos,
}

/// A shell on another machine. It removes its resources when the session ends for any reason.
#[derive(Debug)]
pub struct Session {
    ssh: Ssh,
    mark: String,
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Vec<u8>>,
    /// Output that was received and not parsed yet.
    received: Vec<u8>,
    printed: LastLines,
}

impl Session {
    /// Connects, and creates a directory there, which is removed when the session ends. `tag` is
    /// unique for the session.
    pub fn start(
        ssh: &Ssh,
        tag: &str,
        directory: &str,
        stop: &CancelToken,
    ) -> Result<Self, SshError> {
        let mark = format!("fsdyno-{tag}");
        let boot = format!("MARK={mark}; {BOOT}");
        let line = format!("exec sh -c '{boot}'");
        let not_started = |cause| SshError::Local {
            act: format!("start {}", ssh.program.display()),
            cause,
        };
        let mut command = programs::at(&ssh.program);
        command
            .args(ssh.words(&line))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(not_started)?;
        let from = read_stdout(child.stdout.take());
        let printed = match child.stderr.take() {
            Some(stderr) => LastLines::of(stderr),
            None => LastLines::of(std::io::empty()),
        };
        let mut session = Self {
            ssh: ssh.clone(),
            mark,
            to: child.stdin.take(),
            child,
            from,
            received: Vec::new(),
            printed,
        };
        let begin = format!("begin {}", quoted(directory));
        let output = session.exchange(&format!("{REMOTE_SHELL}\n{begin}"), stop)?;
        if output.status != 0 {
            return Err(SshError::There {
                destination: ssh.destination.clone(),
                act: format!("making {directory}"),
                words: format!(
                    "{}; choose another directory there with --work-dir",
                    output.stderr.trim()
                ),
            });
        }
        Ok(session)
    }

    /// Runs a script and returns its result.
    pub fn run_script(
        &mut self,
        how: How,
        script: &str,
        stop: &CancelToken,
    ) -> Result<ScriptOutput, SshError> {
        let verb = match how {
            How::Here => "here",
            How::Job => "job",
        };
        self.exchange(&format!("{verb} {}", quoted(script)), stop)
    }

    /// Whether ssh still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Leaves, and waits until the other machine has undone what was made there; whether it did.
    pub fn end(mut self) -> bool {
        self.leave()
    }

    fn leave(&mut self) -> bool {
        // Its end is what the shell there waits for.
        self.to = None;
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL / 5),
                _ => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return false;
                }
            }
        }
    }

    fn exchange(&mut self, text: &str, stop: &CancelToken) -> Result<ScriptOutput, SshError> {
        let start = Instant::now();
        let request = format!("{text}\n{}\n", self.mark);
        let written = match &mut self.to {
            Some(to) => to.write_all(request.as_bytes()).and_then(|()| to.flush()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        // The pipe is closed: report the messages of ssh.
        if written.is_err() {
            return Err(self.lost());
        }
        let header = self.header(stop)?;
        let mut numbers = header.split(' ').map(str::parse);
        let (Some(Ok(status)), Some(Ok(out)), Some(Ok(err)), None) = (
            numbers.next(),
            numbers.next(),
            numbers.next(),
            numbers.next(),
        ) else {
            return Err(SshError::Garbled {
                destination: self.ssh.destination.clone(),
                output: header,
            });
        };
        let (out, err): (i32, i32) = (out, err);
        let stdout = self.exactly(usize::try_from(out).unwrap_or(0), stop)?;
        let stderr = self.exactly(usize::try_from(err).unwrap_or(0), stop)?;
        Ok(ScriptOutput {
            status,
            stdout,
            stderr,
            elapsed: Nanos::from(start.elapsed()),
        })
    }

    /// The next line that begins with the marker, without it. Output of the login shell comes
    /// before the first.
    fn header(&mut self, stop: &CancelToken) -> Result<String, SshError> {
        loop {
            while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                if let Some(rest) = line.trim_end().strip_prefix(&self.mark) {
                    return Ok(rest.trim_start().to_owned());
                }
            }
            self.receive(stop)?;
        }
    }

    fn exactly(&mut self, length: usize, stop: &CancelToken) -> Result<String, SshError> {
        while self.received.len() < length {
            self.receive(stop)?;
        }
        let bytes: Vec<u8> = self.received.drain(..length).collect();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits for more.
    fn receive(&mut self, stop: &CancelToken) -> Result<(), SshError> {
        loop {
            if stop.requested() {
                return Err(SshError::Stopped);
            }
            match self.from.recv_timeout(POLL_INTERVAL) {
                Ok(bytes) => {
                    self.received.extend(bytes);
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
            }
        }
    }

    /// The messages of ssh as it ended.
    fn lost(&mut self) -> SshError {
        self.leave();
        self.ssh.lost(&self.printed.last(LAST_LINES))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Reads a stream to its end.
fn read_stdout(stdout: Option<ChildStdout>) -> Receiver<Vec<u8>> {
    let (sender, from) = sync_channel(64);
    std::thread::spawn(move || {
        let Some(mut stdout) = stdout else { return };
        let mut buffer = [0; 16 << 10];
        loop {
            match stdout.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(length) if length > 0 => {
                    if sender.send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    });
    from
}
