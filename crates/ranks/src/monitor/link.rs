//! The link of rank 0 to its monitor: it starts the monitor and sends it events.

use super::lines::line;
use super::{Answer, Order};
use crate::group::Halt;
use fsdyno_files::programs;
use fsdyno_model::Event;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// The argument of the program that makes it a monitor.
pub const MONITOR: &str = "--monitor";

/// How long the monitor may take to end after the last event.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Receives the events of a run, in order.
pub trait Record {
    fn event(&mut self, event: &Event) -> Result<(), Halt>;
}

impl Record for Vec<Event> {
    fn event(&mut self, event: &Event) -> Result<(), Halt> {
        self.push(event.clone());
        Ok(())
    }
}

#[derive(Debug)]
pub struct Link {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub port: u16,
    /// The name of the run, once it has begun.
    pub run: Option<String>,
}

fn broken(what: &str, error: impl std::fmt::Display) -> Halt {
    Halt::Broken(format!("the monitor {what}: {error}"))
}

impl Link {
    /// Starts a monitor: this program with another argument.
    pub(crate) fn start(program: &Path, order: &Order) -> Result<Self, Halt> {
        let mut child = programs::at(program)
            .arg(MONITOR)
            // A directory on the file system under test would prevent its unmount.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| broken("did not start", error))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken("did not start", "it has no pipes"));
        };
        let mut link = Self {
            child,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            port: 0,
            run: None,
        };
        link.write(order)?;
        match link.answer()? {
            Answer::Listening { port } => link.port = port,
            other => return Err(broken("did not start", format!("{other:?}"))),
        }
        Ok(link)
    }

    fn write(&mut self, message: &impl serde::Serialize) -> Result<(), Halt> {
        let stdin = self.stdin.as_mut();
        let stdin = stdin.ok_or_else(|| broken("has ended", "no more events are recorded"))?;
        let line = line(message).map_err(|error| broken("gets no message", error))?;
        stdin
            .write_all(&line)
            .map_err(|error| broken("does not read", error))
    }

    fn answer(&mut self) -> Result<Answer, Halt> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line);
        read.map_err(|error| broken("does not answer", error))?;
        match serde_json::from_str(&line) {
            Ok(Answer::Refused { message }) => Err(Halt::Broken(message)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(broken("ended", "its messages are on standard error")),
        }
    }

    /// Waits until everything is recorded.
    pub fn end(&mut self) -> Result<(), Halt> {
        self.answer().map(|_| ())
    }

    /// Waits for the end of the monitor, which waits until all ranks have left.
    pub fn join(mut self) -> Result<(), Halt> {
        self.stdin = None;
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) => break,
                Err(error) => return Err(broken("cannot be awaited", error)),
            }
        }
        Ok(())
    }
}

impl Record for Link {
    fn event(&mut self, event: &Event) -> Result<(), Halt> {
        self.write(event)?;
        if let Event::RunStarted { .. } = event {
            match self.answer()? {
                Answer::Begun { run } => self.run = Some(run),
                other => return Err(broken("did not begin the run", format!("{other:?}"))),
            }
        }
        Ok(())
    }
}

/// A secret for one run.
pub(crate) fn token() -> io::Result<String> {
    Ok(format!(
        "{:032x}",
        u128::from_le_bytes(fsdyno_files::random()?)
    ))
}
