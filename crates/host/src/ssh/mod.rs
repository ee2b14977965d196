//! Other machines, reached by ssh(1): starting it, talking to a shell at its other end
//! ([`Session`]), and sending files there ([`Parcel`]).
//!
//! What is said to that shell is the business of the lab. Nothing is installed there, and what ssh
//! asks of its user (a password, whether a key is the right one) is never answered for him.

mod parcel;
mod session;

pub use parcel::Parcel;
pub use session::{How, ScriptOutput, Session};

use crate::probe;
use fsdyno_model::Need;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The program.
const PROGRAM: &str = "ssh";
/// The Debian package that holds it.
const PACKAGE: &str = "openssh-client";

/// What is said to ssh beside its user's configuration: it asks nothing, takes no unknown key,
/// notices silence, and leaves no process behind that others would share.
const OPTIONS: [&str; 6] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "ControlMaster=no",
];

/// Why another machine does not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// There is no ssh here.
    #[error("no program `{PROGRAM}` on the path; apt-get install {PACKAGE}")]
    NoProgram,
    /// A program could not be started here, or not be spoken to.
    #[error("cannot {act}: {cause}")]
    Local {
        /// What was attempted.
        act: String,
        /// Why it did not work.
        #[source]
        cause: io::Error,
    },
    /// There is no connection, or it broke.
    #[error("{destination}: {words}{way_out}")]
    Lost {
        /// The other machine.
        destination: String,
        /// The last words of ssh.
        words: String,
        /// What its user can do.
        way_out: String,
    },
    /// What comes back is no answer.
    #[error("{destination} answers `{output}`, which is no answer of its shell; is its disk full?")]
    Garbled {
        /// The other machine.
        destination: String,
        /// What it said.
        output: String,
    },
    /// Something went wrong there.
    #[error("{destination}: {act}: {words}")]
    There {
        /// The other machine.
        destination: String,
        /// What was attempted.
        act: String,
        /// What its programs said.
        words: String,
    },
    /// Fsdyno was asked to stop.
    #[error("stopped on request")]
    Stopped,
}

/// Another machine, and how it is reached.
#[derive(Debug, Clone)]
pub struct Ssh {
    program: PathBuf,
    destination: String,
}

/// What talking to another machine needs here.
pub fn need() -> Need {
    Need::Program {
        name: PROGRAM.to_owned(),
        package: PACKAGE.to_owned(),
    }
}

impl Ssh {
    /// The machine that ssh reaches by that destination.
    pub fn to(destination: &str) -> Result<Self, SshError> {
        Ok(Self {
            program: probe::program(PROGRAM).ok_or(SshError::NoProgram)?,
            destination: destination.to_owned(),
        })
    }

    /// What ssh takes as its destination.
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// The words that run a line there. The line is read by whatever shell its user has: it holds
    /// nothing but what all shells read alike.
    fn words(&self, line: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["-T".into()];
        for option in OPTIONS {
            words.extend(["-o".into(), option.into()]);
        }
        words.extend(["--".into(), self.destination.clone().into(), line.into()]);
        words
    }

    /// A connection that is not, or no longer, there: what ssh said of it.
    fn lost(&self, printed: &[String]) -> SshError {
        let words = if printed.is_empty() {
            "the connection ended without a word".to_owned()
        } else {
            printed.join("; ")
        };
        SshError::Lost {
            way_out: way_out(&words, &self.destination),
            destination: self.destination.clone(),
            words,
        }
    }
}

/// A text as one word of a shell, in which nothing means anything: scripts hold variables that are
/// read where they are run.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What helps against what ssh says.
fn way_out(words: &str, destination: &str) -> String {
    if words.contains("Host key verification failed") {
        format!(
            "; no key is taken unseen: run `ssh {destination} true` once, and look at what it asks"
        )
    } else if words.contains("Permission denied") {
        format!(
            "; no password is asked for here: use a key or an agent (`ssh-copy-id {destination}`)"
        )
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ssh_refusal_is_reported_with_a_remedy() {
        let ssh = Ssh {
            program: "ssh".into(),
            destination: "root@bsd".into(),
        };
        for (printed, expected) in [
            ("Host key verification failed.", "`ssh root@bsd true`"),
            ("root@bsd: Permission denied (publickey).", "an agent"),
            ("ssh: Could not resolve hostname bsd", "resolve"),
        ] {
            let reported = ssh.lost(&[printed.to_owned()]).to_string();
            assert!(
                reported.starts_with("root@bsd: ") && reported.contains(printed),
                "{reported}"
            );
            assert!(reported.contains(expected), "{reported}");
        }
        assert!(ssh.lost(&[]).to_string().contains("without a word"));
        assert_eq!(quoted("a 'b' $LOOP0"), r"'a '\''b'\'' $LOOP0'");
        let words = ssh.words("true");
        let place = words.iter().position(|word| word == "--").unwrap();
        assert_eq!(words[place + 1..], ["root@bsd", "true"]);
    }
}
