//! Other machines over ssh(1): a shell session ([`Session`]) and file transfer ([`Parcel`]).
//!
//! The lab defines the scripts. Nothing is installed there, and prompts of ssh (a password, an
//! unknown host key) are never answered.

mod parcel;
mod session;

pub use parcel::Parcel;
pub use session::{How, ScriptOutput, Session};

use fsdyno_files::programs;
use fsdyno_files::programs::die_with_parent;
use fsdyno_model::Need;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = "ssh";
/// The Debian package of ssh.
const PACKAGE: &str = "openssh-client";

/// Options of ssh in addition to the user's configuration: no prompts, no unknown keys, keep-alive,
/// and no shared master process.
const OPTIONS: [&str; 6] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "ControlMaster=no",
];

/// The reason why another machine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// There is no ssh here.
    #[error("no program `{PROGRAM}` on the path; apt-get install {PACKAGE}")]
    NoProgram,
    /// A program could not be started here, or its pipes failed.
    #[error("cannot {act}: {cause}")]
    Local {
        act: String,
        #[source]
        cause: io::Error,
    },
    /// There is no connection, or it broke.
    #[error("{destination}: {words}{remedy}")]
    Lost {
        destination: String,
        words: String,
        remedy: String,
    },
    /// The output is not a valid reply.
    #[error(
        "{destination} sent `{output}`, which is no reply of its shell; check whether its disk is \
    full"
    )]
    Garbled { destination: String, output: String },
    /// Something went wrong there.
    #[error("{destination}: {act}: {words}")]
    There {
        destination: String,
        act: String,
        words: String,
    },
    #[error("stopped on request")]
    Stopped,
}

/// Another machine, and how it is reached.
#[derive(Debug, Clone)]
pub struct Ssh {
    program: PathBuf,
    destination: String,
    /// How a virtual machine is reached, instead of the configuration of the user.
    guest: Option<GuestLogin>,
}

/// The way of root into a virtual machine of this run, over the loopback interface.
#[derive(Debug, Clone)]
pub struct GuestLogin {
    /// The port that is forwarded to it.
    pub port: u16,
    /// The private key of the run.
    pub key: PathBuf,
    /// The file that holds the key of the machine since its first boot.
    pub known_hosts: PathBuf,
}

impl GuestLogin {
    /// The options of ssh: no configuration, agent or key of the user.
    fn options(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["-F", "none", "-p"].map(OsString::from).to_vec();
        words.push(self.port.to_string().into());
        let mut option = |name: &str, value: &OsStr| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            words.extend(["-o".into(), word]);
        };
        option("IdentityFile", &quoted_path(&self.key));
        option("UserKnownHostsFile", &quoted_path(&self.known_hosts));
        for (name, value) in [
            ("IdentitiesOnly", "yes"),
            ("IdentityAgent", "none"),
            ("GlobalKnownHostsFile", "none"),
            // Not its port, which differs each time.
            ("HostKeyAlias", "fsdyno"),
            ("LogLevel", "ERROR"),
        ] {
            option(name, OsStr::new(value));
        }
        words
    }
}

/// A path as a value in the syntax of `ssh_config(5)`: quoted, without expansion of `%`.
fn quoted_path(path: &Path) -> OsString {
    let mut bytes = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' => bytes.extend(*b"%%"),
            b'"' | b'\\' => bytes.extend([b'\\', *byte]),
            byte => bytes.push(*byte),
        }
    }
    bytes.push(b'"');
    OsString::from_vec(bytes)
}

/// The requirement of a connection on this machine.
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
            program: programs::find(PROGRAM).ok_or(SshError::NoProgram)?,
            destination: destination.to_owned(),
            guest: None,
        })
    }

    /// The virtual machine that is reached so.
    pub fn to_guest(login: &GuestLogin) -> Result<Self, SshError> {
        Ok(Self {
            guest: Some(login.clone()),
            ..Self::to("root@127.0.0.1")?
        })
    }

    /// A command for a machine that boots: the first key that it shows is pinned.
    pub fn first_command(&self, line: &str) -> Command {
        let mut command = programs::at(&self.program);
        command
            .args(["-o", "StrictHostKeyChecking=accept-new"])
            .args(self.words(line))
            .stdin(Stdio::null());
        die_with_parent(&mut command);
        command
    }

    /// The destination argument of ssh.
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// A command that runs a line there, without input. It ends with the thread that starts it.
    pub fn command(&self, line: &str) -> Command {
        let mut command = programs::at(&self.program);
        command.args(self.words(line)).stdin(Stdio::null());
        die_with_parent(&mut command);
        command
    }

    /// The arguments that run a line there. The user's login shell reads the line, so it contains
    /// only syntax that all shells share.
    fn words(&self, line: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["-T".into()];
        words.extend(self.guest.iter().flat_map(GuestLogin::options));
        for option in OPTIONS {
            words.extend(["-o".into(), option.into()]);
        }
        words.extend(["--".into(), self.destination.clone().into(), line.into()]);
        words
    }

    /// A connection that could not be made or was lost, with the messages of ssh.
    fn lost(&self, printed: &[String]) -> SshError {
        let words = if printed.is_empty() {
            "the connection ended without a word".to_owned()
        } else {
            printed.join("; ")
        };
        SshError::Lost {
            remedy: match &self.guest {
                Some(_) => String::new(),
                None => remedy(&words, &self.destination),
            },
            destination: self.destination.clone(),
            words,
        }
    }
}

/// A text quoted as one word of a shell, without any expansion.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A remedy for the message of ssh.
fn remedy(words: &str, destination: &str) -> String {
    if words.contains("Host key verification failed") {
        format!(
            "; unknown host keys are refused: run `ssh {destination} true` once and check the \
            key"
        )
    } else if words.contains("Permission denied") {
        format!(
            "; fsdyno does not prompt for passwords: use a key or an agent (`ssh-copy-id \
            {destination}`)"
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
            guest: None,
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
