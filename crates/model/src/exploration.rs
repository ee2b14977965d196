//! An exploration of crash states as stored: programs of operations on some contenders, each with
//! the states that a power cut can leave, and what was found.

use crate::contender::Contender;
use crate::lab::GuestSize;
use crate::model_disk::ModelDisk;
use crate::names::short_hash;
use crate::provenance::Provenance;
use crate::result::StopReason;
use crate::shard::Shard;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One exploration, whole.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Exploration {
    /// The version of this structure, as JSON carries it.
    #[schemars(extend("const" = Exploration::SCHEMA))]
    pub schema: u32,
    /// Its settings and its machine.
    pub info: ExplorationInfo,
    /// The explored programs, in order of execution.
    pub programs: Vec<ExploredProgram>,
}

/// An exploration without its programs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExplorationInfo {
    /// Its name, like that of a run.
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended, if it did.
    pub ended_unix_ns: Option<u64>,
    /// Why it ended, if it did.
    pub stop: Option<StopReason>,
    /// The tested contenders, each with a label of its own.
    pub contenders: Vec<Contender>,
    /// What decides which programs and states are explored.
    pub search: Search,
    /// The time after which no further program begins; none if all programs are explored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
    /// The part of the programs that this exploration executes; none if all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The size of its guests.
    pub guest: GuestSize,
    /// The model disk that records.
    pub disk: ModelDisk,
    /// The directory of kept images.
    pub work_dir: PathBuf,
    /// The machine, its devices and programs.
    pub provenance: Provenance,
    /// The command line that began it.
    pub command_line: Vec<String>,
}

/// What decides which programs and states are explored. Equal values explore the same.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Search {
    /// Where the programs come from.
    pub programs: ProgramSource,
    /// The strongest class of states.
    pub class: StateClass,
    /// The most states of one window that are recovered.
    pub states: u64,
    /// Whether the power is also cut during the recovery.
    pub nested: bool,
    /// The seed of samples.
    pub seed: u64,
}

/// Where programs come from.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramSource {
    /// All sequences of one and two operations, then a sample of those with three.
    Generated {
        /// The most operations of a program.
        operations: u32,
        /// How many programs of three operations.
        sampled: u32,
    },
    /// These programs, in their text form.
    Given {
        /// The programs.
        programs: Vec<String>,
    },
    /// An application, with a command that checks its data.
    Application {
        /// The command of the application, run in the file system.
        command: String,
        /// The command that checks the recovered files.
        check: String,
    },
}

/// How much of the rules a disk uses at a power cut, from the least on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum StateClass {
    /// The first writes in the order of submission are on the medium.
    C0,
    /// Whole epochs between two flushes are.
    C1,
    /// Any subset of the writes that no flush made durable.
    C2,
    /// Any subset of the sectors of these writes.
    C3,
    /// As C2, and one sector of a write in flight cannot be read.
    C4,
    /// A flush was acknowledged and did nothing: a fault of the device, never of a file system.
    C5,
}

impl StateClass {
    /// All classes.
    pub const ALL: [Self; 6] = [Self::C0, Self::C1, Self::C2, Self::C3, Self::C4, Self::C5];

    /// The displayed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::C0 => "C0",
            Self::C1 => "C1",
            Self::C2 => "C2",
            Self::C3 => "C3",
            Self::C4 => "C4",
            Self::C5 => "C5",
        }
    }
}

/// One program on one contender: the states that a power cut can leave, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExploredProgram {
    /// The contender, by its label.
    pub contender: String,
    /// Its number among the programs, from 0.
    pub number: u32,
    /// The program, in its text form.
    pub program: String,
    /// Why it could not be explored; none if it was.
    pub failed: Option<String>,
    /// How many states.
    pub states: StateCounts,
    /// What its promises cost.
    pub cost: ProgramCost,
    /// What was found, one for each signature.
    pub findings: Vec<Finding>,
}

/// How many states a program has, and how many were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StateCounts {
    /// Windows: times between two moments at which data becomes durable.
    pub windows: u64,
    /// By class.
    pub classes: BTreeMap<StateClass, ClassCount>,
    /// States with an image of their own; each was mounted or equals a mounted one in all that its
    /// recovery reads.
    pub distinct: u64,
    /// States that were mounted, the tree read and judged.
    pub recovered: u64,
    /// States that equal a mounted one in all sectors that its recovery and check read.
    pub equivalent: u64,
    /// States of a power cut during the recovery that were mounted.
    pub nested: u64,
    /// Distinct recovered trees; the checker ran on each.
    pub trees: u64,
}

/// The states of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ClassCount {
    /// Legal states, over all windows; none where they are more than 2^63.
    pub legal: Option<u64>,
    /// Checked states.
    pub checked: u64,
}

impl ClassCount {
    /// Whether all legal states were checked.
    pub fn is_complete(&self) -> bool {
        self.legal == Some(self.checked)
    }
}

/// What the promises of a program cost, from its recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProgramCost {
    /// Acknowledged operations, syncs included.
    pub operations: u64,
    /// From the first operation until the last had returned, virtual time.
    pub took_ns: Nanos,
    /// Flushes, and writes with FUA.
    pub flushes: u64,
    /// Bytes that were written to the disk.
    pub bytes_written: u64,
    /// Bytes that the program wrote.
    pub bytes_requested: u64,
}

/// What kind of promise was broken.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Violation {
    /// It could not be mounted.
    Mount,
    /// The kernel crashed or hung on it.
    Kernel,
    /// An acknowledged file or name is gone.
    Missing,
    /// A removed file or an old name is back.
    Returned,
    /// Acknowledged content is not what was written.
    Content,
    /// A file shows bytes that were never written to it.
    Foreign,
    /// Attributes, links or sizes are wrong.
    Metadata,
    /// An atomic operation is half done.
    Atomic,
    /// The checker found errors after the recovery.
    Checker,
    /// A second mount changed something.
    Unstable,
    /// A file could not be deleted or its name not be used again.
    Unusable,
    /// An extra promise, beyond POSIX: scored apart.
    Extra,
}

/// What was found: violations with the same signature.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// What the violations have in common.
    pub signature: String,
    /// The promise.
    pub violation: Violation,
    /// The weakest class that shows it.
    pub class: StateClass,
    /// What is wrong, in words.
    pub message: String,
    /// The first state that shows it, for `--again`.
    pub state: String,
    /// How many checked states show it.
    pub count: u64,
    /// The least that shows it; none if it was not minimised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimal: Option<Minimal>,
    /// What the kernel reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<String>,
    /// What the checker reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
}

/// The least that shows a finding.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Minimal {
    /// The program, in its text form.
    pub program: String,
    /// The number of its operations.
    pub operations: u64,
    /// The state.
    pub state: String,
    /// The requests from the last durable moment on: kept, dropped or torn. They prove the state
    /// legal.
    pub requests: Vec<String>,
    /// The kept image, and the script that shows the finding on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<PathBuf>,
}

impl ExplorationInfo {
    /// The name of what its shards have in common.
    pub fn hash(&self) -> String {
        let text =
            serde_json::to_string(&(&self.contenders, &self.search, &self.guest, &self.disk));
        // Plain data: serialisation cannot fail.
        short_hash(&text.unwrap_or_default())
    }
}

impl Exploration {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 1;

    /// The name of an exploration in its id, where a run has its suite.
    pub const NAME: &'static str = "explore";
}
