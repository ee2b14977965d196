//! Pools: devices that the tools of a file system import under a name and mount themselves. If the
//! kernel does not do their work, a daemon runs for them. A recipe defines these programs.

use crate::shell::shell_line;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A pool that the tools of a file system imported, under a unique name.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pool {
    /// The file system whose recipe gave the commands. Empty in stores of version 0.1.
    #[serde(default)]
    pub filesystem: String,
    /// Its mount point.
    pub target: PathBuf,
    /// The command that exits with status 0 while the pool is imported.
    pub held: Vec<String>,
    /// The command that unmounts the pool and releases its devices.
    pub release: Vec<String>,
    /// The PID file of the daemon that fsdyno starts for it, if any.
    #[serde(default)]
    pub pid_file: Option<PathBuf>,
}

/// The daemon that the tools of a file system need, unless the kernel has a module for it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Daemon {
    /// The command that loads the kernel module which replaces the daemon, if there is one.
    pub load: Vec<String>,
    /// The option of a kernel that replaces the daemon without a module: `CONFIG_X=y`.
    #[serde(default)]
    pub built_in: String,
    /// The command that starts the daemon. It exits when the daemon responds.
    pub argv: Vec<String>,
    /// The command that starts it in a guest in virtual time, with less memory; empty for `argv`.
    #[serde(default)]
    pub in_virtual_time: Vec<String>,
    /// The command that lists the imported pools, one a line. It exits with status 0 if the daemon
    /// or the kernel module responds.
    pub pools: Vec<String>,
    /// Its PID file. Only a daemon that fsdyno started writes this file.
    pub pid_file: PathBuf,
    /// The directory it needs for its locks.
    pub locks: PathBuf,
    /// The file that lists the pools of the user. The daemon imports them when it starts.
    pub takes_up: PathBuf,
    /// The type under which the kernel mounts its file systems.
    pub mounts_by: String,
    /// The memory that it needs, its own cache included.
    pub memory: Bytes,
    /// The least memory of a guest whose kernel replaces it.
    #[serde(default)]
    pub memory_of_kernel: Bytes,
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

    /// The line that stops the daemon, if fsdyno started it and no pool is imported.
    pub(crate) fn stop_line(&self) -> String {
        let file = shell_line(&[self.pid_file.display().to_string()]);
        let pools = shell_line(&self.pools);
        format!(
            "if test -e {file} && test -z \"$({pools})\"; then kill -9 \"$(cat {file})\"; \
             rm -f {file}; fi"
        )
    }
}
