//! The messages between a host and a guest that explores crash states. They pass over a disk of the
//! guest, so that they have their place among the requests to the disk under test.

use fsdyno_crash::{Operation, Program, Tree};
use fsdyno_load::crash::FailedOperation;
use fsdyno_model::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub(crate) enum Command {
    /// Make the file system, and let it finish its work in the background.
    Prepare,
    /// Mount it, perform a program, and unmount it.
    Perform { program: Program },
    /// Recover it after a power cut, perform more operations of a program, and unmount it. The first
    /// has this number.
    Continue {
        first: u32,
        operations: Vec<Operation>,
    },
    /// Mount it, run an application in its root, and unmount it. Each line that the application
    /// prints is an operation that has returned.
    Execute {
        /// Runs first. Its result is durable when the recording begins.
        prepare: Option<String>,
        shell: String,
        /// Stop the application at each line, and freeze the file system before the line is
        /// reported.
        frozen: bool,
    },
    /// Recover it after a power cut, and read its files. The marks of operation 0 enclose the
    /// programs that run before the mount.
    Recover {
        /// Repair it before the mount, instead of the checks of a boot.
        repair: bool,
        /// The number of a disk that failed, and without which it is mounted.
        without: Option<usize>,
        /// Also mount it again, and delete and create its files.
        thorough: bool,
        /// Also try what a user of the disk does.
        trial: Option<Trial>,
        /// The paths that a new file system has.
        kept: BTreeSet<String>,
        check: Option<ApplicationCheck>,
        /// Read also parts of units and moved units.
        exact: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationCheck {
    /// Its shell command. It runs in the root of the recovered file system.
    pub command: String,
    /// Its standard input: what the application had printed before the power cut.
    pub acknowledged: Vec<String>,
}

/// What a user of a disk does, besides reading all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trial {
    /// Make a file after the others were read.
    Use,
    /// The same; before, run the checker of the unmounted file system, and the scrub of the mounted
    /// one.
    Audit,
    /// Make a file some times, and time this and the reading.
    Timed,
    /// Rebuild or scrub before the files are read, because the disk of this number has old contents; make
    /// no file.
    Rebuild(usize),
}

impl Trial {
    /// Whether requests take time. They are then those of a new guest: what was done before changes nothing.
    pub(crate) fn is_timed(self) -> bool {
        matches!(self, Self::Timed | Self::Rebuild(_))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub(crate) enum Answer {
    Ready {
        /// Its kernel, release and version, from uname(2).
        about: String,
    },
    /// The setup of the program is complete and synced: the recording begins.
    SetUp,
    Began {
        operation: u32,
    },
    Returned {
        operation: u32,
    },
    /// The recovered file system is unmounted for the first time.
    Unmounted,
    /// The file system is made.
    Prepared {
        tree: Tree,
    },
    /// The program has ended, and the file system is unmounted.
    Performed {
        failed: Option<FailedOperation>,
        /// The lines that an application printed.
        #[serde(default)]
        lines: Vec<String>,
        /// The time of its operations.
        elapsed: Nanos,
        /// Warnings of the kernel, and worse.
        kernel: Vec<String>,
    },
    /// The file system was recovered, or could not be.
    Recovered {
        report: Box<RecoveryReport>,
    },
    /// The command could not be performed.
    Refused {
        reason: String,
    },
}

/// The report of a guest on the recovery of a crash state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// The reason why it cannot be mounted, if it cannot.
    pub refused: Option<String>,
    /// The program of the boot that corrected it, if one did.
    pub corrected_by: Option<String>,
    /// The recovered files; none if it cannot be mounted.
    pub tree: Option<Tree>,
    /// The errno of a new file after all files were read; only in a trial.
    #[serde(default)]
    pub no_new_file: Option<String>,
    /// The complaint of its checker or its scrub; only after an audit.
    #[serde(default)]
    pub audit: Option<String>,
    /// The changes of a second mount, or its error; only after a thorough recovery.
    pub unstable: Option<String>,
    /// The error of deleting its files or of using their names again; only after a thorough
    /// recovery.
    pub unusable: Option<String>,
    /// The result of the check of the application.
    #[serde(default)]
    pub application: Option<String>,
    /// How long reading all files took, and making files; only in a timed trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<(Nanos, Nanos)>,
    /// How long the rebuild or the scrub took, and why it failed if it did; only in such a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<(Nanos, Option<String>)>,
    /// The reason why it cannot be unmounted, if it cannot.
    pub stuck: Option<String>,
    /// The first warnings of the kernel, and worse.
    pub kernel: Vec<String>,
}
