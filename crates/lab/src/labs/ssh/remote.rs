//! Shells that run scripts: one on another machine, or a dry run that only collects the scripts.

use fsdyno_host::ssh::{How, Parcel, ScriptOutput, Session, Ssh, SshError, quoted};
use fsdyno_model::CancelToken;

/// A shell on the other machine.
pub(super) trait RemoteShell {
    fn run_script(&mut self, how: How, script: &str) -> Result<ScriptOutput, SshError>;
    /// Registers the line that undoes the next action.
    fn undo(&mut self, line: &str);
    /// Runs all registered undo lines, the newest first.
    fn undo_all(&mut self) -> Result<ScriptOutput, SshError>;
    /// Sends data to a script.
    fn send(&mut self, parcel: Parcel<'_>, script: &str) -> Result<(), SshError>;
    /// Whether this is a dry run, whose output is empty.
    fn is_dry_run(&self) -> bool;
}

/// A connection to another machine.
pub(super) struct Line<'a> {
    pub ssh: &'a Ssh,
    pub session: &'a mut Session,
    pub stop: &'a CancelToken,
    /// The undo line of the next script, registered before it runs.
    undo: String,
}

impl<'a> Line<'a> {
    pub fn new(ssh: &'a Ssh, session: &'a mut Session, stop: &'a CancelToken) -> Self {
        Self {
            ssh,
            session,
            stop,
            undo: String::new(),
        }
    }
}

impl RemoteShell for Line<'_> {
    fn run_script(&mut self, how: How, script: &str) -> Result<ScriptOutput, SshError> {
        let before = std::mem::take(&mut self.undo);
        if !before.is_empty() {
            // Runs in the session's shell itself: a subshell would lose it.
            self.session.run_script(How::Here, &before, self.stop)?;
        }
        self.session.run_script(how, script, self.stop)
    }

    fn undo(&mut self, line: &str) {
        self.undo.push_str("undo ");
        self.undo.push_str(&quoted(line));
        self.undo.push('\n');
    }

    fn undo_all(&mut self) -> Result<ScriptOutput, SshError> {
        self.run_script(How::Here, "undo_cell")
    }

    fn send(&mut self, parcel: Parcel<'_>, script: &str) -> Result<(), SshError> {
        let line = format!("exec sh -c {}", quoted(script));
        self.ssh.send(parcel, &line, self.stop)
    }

    fn is_dry_run(&self) -> bool {
        false
    }
}

/// The collected scripts.
#[derive(Default)]
pub(super) struct DryRunShell {
    pub lines: Vec<String>,
    undo: Vec<String>,
}

impl RemoteShell for DryRunShell {
    fn run_script(&mut self, how: How, script: &str) -> Result<ScriptOutput, SshError> {
        let lines = script.lines().map(str::to_owned);
        match how {
            How::Job if script.contains('\n') => {
                self.lines.push("(".to_owned());
                self.lines.extend(lines);
                self.lines.push(")".to_owned());
            }
            _ => self.lines.extend(lines),
        }
        Ok(ScriptOutput::default())
    }

    fn undo(&mut self, line: &str) {
        self.undo.insert(0, line.to_owned());
    }

    fn undo_all(&mut self) -> Result<ScriptOutput, SshError> {
        self.lines.push("R=0".to_owned());
        self.lines.append(&mut self.undo);
        Ok(ScriptOutput::default())
    }

    fn send(&mut self, _: Parcel<'_>, script: &str) -> Result<(), SshError> {
        // Data goes over a separate connection, so the dry run prints this as comments.
        self.lines
            .extend(script.lines().map(|line| format!("# {line}")));
        Ok(())
    }

    fn is_dry_run(&self) -> bool {
        true
    }
}
