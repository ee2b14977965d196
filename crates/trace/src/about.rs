//! The descriptions at the start and at the end of a recording.

use serde::{Deserialize, Serialize};

/// How operations were observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorder {
    /// Programs in the kernel, at its tracepoints.
    Ebpf,
    /// `strace`, with ptrace(2).
    Strace,
}

impl Recorder {
    /// The name as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ebpf => "ebpf",
            Self::Strace => "strace",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Version of fsdyno that recorded.
    pub fsdyno: String,
    /// How operations were observed.
    pub recorder: Recorder,
    /// Version of the recorder's tool, as `strace -- version 6.1`. Empty if there is none.
    #[serde(default)]
    pub tool: String,
    /// Release of the kernel, as `uname -r` prints it.
    pub kernel: String,
    /// Type of the file system of the recorded tree, as `ext4`.
    pub filesystem: String,
    /// The recorded tree, absolute. Empty in an anonymous recording. For display only: nothing is
    /// opened by this name.
    pub root: String,
    /// What was recorded: the command, or `pid 12`, `cgroup /x`. Empty in an anonymous recording.
    pub recorded: Vec<String>,
    /// Start of the recording, seconds since 1970.
    pub started_unix_s: u64,
    /// Whether names are hashes.
    pub anonymous: bool,
    /// What this recording cannot contain, one sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
}

impl About {
    /// A description without content: a placeholder until one is read, and the start of others.
    pub fn empty() -> Self {
        Self {
            fsdyno: String::new(),
            recorder: Recorder::Strace,
            tool: String::new(),
            kernel: String::new(),
            filesystem: String::new(),
            root: String::new(),
            recorded: Vec::new(),
            started_unix_s: 0,
            anonymous: false,
            limits: Vec::new(),
        }
    }
}

/// The cost of recording.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Processor time that the recorder's part in the kernel used at returns of calls, ns.
    pub kernel_ns: u64,
    /// Processor time that the recorder's own processes used, ns.
    pub recorder_ns: u64,
    /// Processor time of the recorded programs, without `kernel_ns` where that is known, ns.
    pub programs_ns: u64,
    /// Processor time for the lists of the tree, before the programs started and after they ended,
    /// ns. 0 in recordings of 0.1.
    #[serde(default)]
    pub manifest_ns: u64,
}

/// The calls on files in a log of strace that was made elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// Those whose files are known.
    pub understood: u64,
    pub seen: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// Length of the recording, ns.
    pub duration_ns: u64,
    pub operations: u64,
    /// Events that were lost, at least.
    pub lost: u64,
    /// Operations outside the recorded tree, of which nothing is kept.
    pub outside: u64,
    /// Operations on the tree that could not be interpreted, and are not in the recording.
    pub unknown: u64,
    /// The reason why the recording is not complete, one sentence each. Empty if it is complete.
    #[serde(default)]
    pub incomplete: Vec<String>,
    /// What was observed but cannot be expressed, one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The cost of recording, if it was measured.
    #[serde(default)]
    pub overhead: Option<Overhead>,
    /// How much of a log of strace the recording has; none if it was recorded by fsdyno.
    #[serde(default)]
    pub explained: Option<Explained>,
    /// Exit status of the recorded command, as in a shell; none if there was no command.
    #[serde(default)]
    pub exit_status: Option<i32>,
}

impl Ending {
    /// Whether everything that happened on the tree is in the recording.
    pub fn complete(&self) -> bool {
        self.lost == 0 && self.unknown == 0 && self.incomplete.is_empty()
    }
}
