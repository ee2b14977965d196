//! Pools: devices that the programs of a file system hold under a name and mount by themselves. If
//! the kernel does not do their work, a daemon runs for them. A recipe defines these programs.

use crate::shell::shell_line;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Devices held by programs under a name that nothing else has.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pool {
    /// The file system whose recipe gave the commands. Empty in stores of version 0.1.
    #[serde(default)]
    pub filesystem: String,
    /// Where these programs mount it.
    pub target: PathBuf,
    /// What ends with status 0 while it is held.
    pub held: Vec<String>,
    /// What unmounts it and lets go of its devices.
    pub release: Vec<String>,
    /// The PID file of the daemon that fsdyno starts for it, if any.
    #[serde(default)]
    pub pid_file: Option<PathBuf>,
}

/// A daemon without which the programs of a file system do nothing, unless the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Daemon {
    /// What loads the module of a kernel that does its work, where the kernel has one.
    pub load: Vec<String>,
    /// What starts it, and ends when it answers.
    pub argv: Vec<String>,
    /// What starts it in a guest in virtual time, where a process has little memory, if not `argv`.
    #[serde(default)]
    pub in_virtual_time: Vec<String>,
    /// What ends with status 0 where something answers, be it the daemon or the kernel, and prints
    /// a line for each pool that is held.
    pub pools: Vec<String>,
    /// Where it writes down its process number. Only a daemon that fsdyno started does it there.
    pub pid_file: PathBuf,
    /// The directory it needs for its locks.
    pub locks: PathBuf,
    /// The file of pools that it takes up when it starts: those of the user.
    pub takes_up: PathBuf,
    /// The file system of the kernel that it mounts through.
    pub mounts_by: String,
    /// The memory that it needs, its own cache included.
    pub memory: Bytes,
}

impl Daemon {
    /// The daemon with its options for virtual time.
    #[must_use]
    pub fn for_virtual_time(mut self) -> Self {
        if !self.in_virtual_time.is_empty() {
            self.argv = std::mem::take(&mut self.in_virtual_time);
        }
        self
    }

    /// The line that starts the daemon, if none responds and it would not import a pool of the
    /// user.
    pub(crate) fn start_line(&self) -> String {
        let word = |path: &PathBuf| shell_line(&[path.display().to_string()]);
        format!(
            "answers() {{ {} > /dev/null 2>&1; }}; answers || {{ {} > /dev/null 2>&1; answers; }} \
             || {{ test ! -e {} && mkdir -p {} && rm -f {} && {}; }}",
            shell_line(&self.pools),
            shell_line(&self.load),
            word(&self.takes_up),
            word(&self.locks),
            word(&self.pid_file),
            shell_line(&self.argv),
        )
    }

    /// The line that stops the daemon, if fsdyno started it and no pool is held.
    pub(crate) fn stop_line(&self) -> String {
        let file = shell_line(&[self.pid_file.display().to_string()]);
        let pools = shell_line(&self.pools);
        format!(
            "if test -e {file} && test -z \"$({pools})\"; then kill -9 \"$(cat {file})\"; \
             rm -f {file}; fi"
        )
    }
}
