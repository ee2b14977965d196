//! Who does what is said: a shell on another machine, or, in a dry run, paper.

use fsdyno_host::ssh::{Answer, How, Parcel, Session, Ssh, SshError, quoted};
use fsdyno_model::CancelToken;

/// The other end.
pub(super) trait Far {
    /// Has a script done.
    fn ask(&mut self, how: How, script: &str) -> Result<Answer, SshError>;
    /// Notes what undoes the next act.
    fn undo(&mut self, line: &str);
    /// Undoes all that was noted, the newest first.
    fn undo_all(&mut self) -> Result<Answer, SshError>;
    /// Sends something to a script.
    fn send(&mut self, parcel: Parcel<'_>, script: &str) -> Result<(), SshError>;
    /// Whether nobody answers, so that nothing can be read from answers.
    fn is_paper(&self) -> bool;
}

/// A line to another machine.
pub(super) struct Line<'a> {
    pub ssh: &'a Ssh,
    pub session: &'a mut Session,
    pub stop: &'a CancelToken,
    /// What undoes the next act, to be said before it.
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

impl Far for Line<'_> {
    fn ask(&mut self, how: How, script: &str) -> Result<Answer, SshError> {
        let before = std::mem::take(&mut self.undo);
        if !before.is_empty() {
            // In the shell itself: what is noted beside it would be forgotten with it.
            self.session.ask(How::Here, &before, self.stop)?;
        }
        self.session.ask(how, script, self.stop)
    }

    fn undo(&mut self, line: &str) {
        self.undo.push_str("undo ");
        self.undo.push_str(&quoted(line));
        self.undo.push('\n');
    }

    fn undo_all(&mut self) -> Result<Answer, SshError> {
        self.ask(How::Here, "undo_cell")
    }

    fn send(&mut self, parcel: Parcel<'_>, script: &str) -> Result<(), SshError> {
        let line = format!("exec sh -c {}", quoted(script));
        self.ssh.send(parcel, &line, self.stop)
    }

    fn is_paper(&self) -> bool {
        false
    }
}

/// What would be said.
#[derive(Default)]
pub(super) struct Paper {
    pub lines: Vec<String>,
    undo: Vec<String>,
}

impl Far for Paper {
    fn ask(&mut self, how: How, script: &str) -> Result<Answer, SshError> {
        let lines = script.lines().map(str::to_owned);
        match how {
            How::Job if script.contains('\n') => {
                self.lines.push("(".to_owned());
                self.lines.extend(lines);
                self.lines.push(")".to_owned());
            }
            _ => self.lines.extend(lines),
        }
        Ok(Answer::default())
    }

    fn undo(&mut self, line: &str) {
        self.undo.insert(0, line.to_owned());
    }

    fn undo_all(&mut self) -> Result<Answer, SshError> {
        self.lines.push("R=0".to_owned());
        self.lines.append(&mut self.undo);
        Ok(Answer::default())
    }

    fn send(&mut self, _: Parcel<'_>, script: &str) -> Result<(), SshError> {
        // Of another connection, which is not in these hands.
        self.lines
            .extend(script.lines().map(|line| format!("# {line}")));
        Ok(())
    }

    fn is_paper(&self) -> bool {
        true
    }
}
