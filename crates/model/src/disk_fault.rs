//! Faults of a disk that were injected under file systems, and what came of them.

use crate::block_role::BlockRole;
use crate::contender::Contender;
use crate::full_disk::FullDisk;
use crate::lab::GuestSize;
use crate::model_disk::ModelDisk;
use crate::names::short_hash;
use crate::provenance::Provenance;
use crate::result::StopReason;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a disk does wrong.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum DiskFault {
    /// One bit of a sector changes.
    BitFlip,
    /// A write is acknowledged and is not on the disk.
    LostWrite,
    /// A write is acknowledged, and only its first sectors are on the disk.
    TornWrite,
    /// A write is at the place of another write.
    MisdirectedWrite,
    /// A sector cannot be read until it is written.
    ReadError,
    /// One read of a sector fails.
    TransientReadError,
    /// A disk of several fails all requests.
    DeadDisk,
    /// A disk of several fails all requests from some moment on, while it is in use.
    DyingDisk,
    /// A disk of several has none of the writes since some moment.
    OldDisk,
    /// A disk of several fails all requests from some moment on. It returns after the others were written, and
    /// is rebuilt or scrubbed.
    ReturnedDisk,
    /// Each request to a disk takes [`DiskFault::SLOWNESS`] times as long from some moment on.
    SlowDisk,
}

impl DiskFault {
    /// Those of a sector or of a write.
    pub const OF_SECTORS: [Self; 6] = [
        Self::BitFlip,
        Self::LostWrite,
        Self::TornWrite,
        Self::MisdirectedWrite,
        Self::ReadError,
        Self::TransientReadError,
    ];

    /// Those of a whole disk.
    pub const OF_DISKS: [Self; 5] = [
        Self::DeadDisk,
        Self::DyingDisk,
        Self::OldDisk,
        Self::ReturnedDisk,
        Self::SlowDisk,
    ];

    /// How many times as long a slow disk takes for all that it does.
    pub const SLOWNESS: u64 = 20;

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::OF_SECTORS.into_iter().chain(Self::OF_DISKS)
    }

    /// Those that need no time: requests are served at once.
    pub fn untimed() -> Vec<Self> {
        let is_timed = |one: &Self| matches!(one, Self::ReturnedDisk | Self::SlowDisk);
        Self::all().filter(|one| !is_timed(one)).collect()
    }

    /// Whether a disk is gone.
    pub fn is_loss_of_disk(self) -> bool {
        matches!(self, Self::DeadDisk | Self::DyingDisk)
    }

    /// Its name in JSON and on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Self::BitFlip => "bit-flip",
            Self::LostWrite => "lost-write",
            Self::TornWrite => "torn-write",
            Self::MisdirectedWrite => "misdirected-write",
            Self::ReadError => "read-error",
            Self::TransientReadError => "transient-read-error",
            Self::DeadDisk => "dead-disk",
            Self::DyingDisk => "dying-disk",
            Self::OldDisk => "old-disk",
            Self::ReturnedDisk => "returned-disk",
            Self::SlowDisk => "slow-disk",
        }
    }

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::BitFlip => "bit flip",
            Self::LostWrite => "lost write",
            Self::TornWrite => "torn write",
            Self::MisdirectedWrite => "misdirected write",
            Self::ReadError => "read error",
            Self::TransientReadError => "transient read error",
            Self::DeadDisk => "dead disk",
            Self::DyingDisk => "disk that dies in use",
            Self::OldDisk => "disk with old contents",
            Self::ReturnedDisk => "disk that dies, returns",
            Self::SlowDisk => "disk that slows down",
        }
    }
}

impl fmt::Display for DiskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a user of the file system sees of a fault: the worst that applies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum FaultOutcome {
    /// Wrong data, files or names, and neither an error nor a message of the kernel.
    WrongData,
    /// Wrong data, files or names. An error of another file, or the log of the kernel, has a trace.
    WrongDataLogged,
    /// It cannot be mounted, also after the repair program of its recipe, if it has one.
    Unmountable,
    /// It can be mounted after a repair, and files are damaged or gone.
    Damaged,
    /// The kernel crashes.
    Crash,
    /// The kernel hangs, or cannot unmount it.
    Hang,
    /// It becomes read-only.
    ReadOnly,
    /// A system call fails; everything else is right.
    Error,
    /// Everything is right after the rebuild or scrub of a disk, but not without another disk.
    Unprotected,
    /// It cannot be mounted until the repair program restores all of it.
    Repaired,
    /// It cannot be mounted until it is mounted as one without the disk. Then everything is right.
    MountedDegraded,
    /// Everything is right without the disk.
    Degraded,
    /// Everything is right, and takes longer. The log of the kernel has a message.
    SlowLogged,
    /// Everything is right, and takes longer. Nothing reports why.
    Slow,
    /// Everything is right. Only the log of the kernel has a message.
    Warning,
    /// Everything is right. Only the checker or a scrub finds the bad block.
    FoundByCheck,
    /// Everything is right after the rebuild or scrub of a disk, also without another disk.
    Rebuilt,
    /// Everything is right, and a scrub restores the block.
    HealedByScrub,
    /// Everything is right, and the block is restored.
    Healed,
    /// Everything is right, and nothing finds a bad block.
    NoEffect,
}

impl FaultOutcome {
    /// All of them, the worst first.
    pub const ALL: [Self; 20] = [
        Self::WrongData,
        Self::WrongDataLogged,
        Self::Unmountable,
        Self::Damaged,
        Self::Crash,
        Self::Hang,
        Self::ReadOnly,
        Self::Error,
        Self::Unprotected,
        Self::Repaired,
        Self::MountedDegraded,
        Self::Degraded,
        Self::SlowLogged,
        Self::Slow,
        Self::Warning,
        Self::FoundByCheck,
        Self::Rebuilt,
        Self::HealedByScrub,
        Self::Healed,
        Self::NoEffect,
    ];

    /// Whether data are wrong, gone or out of reach, or the kernel stops.
    pub fn is_loss(self) -> bool {
        self <= Self::Hang
    }
}

/// A fault of one disk, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InjectedFault {
    /// What the disk did wrong.
    pub fault: DiskFault,
    /// What the file system keeps in the sector; none if the fault is of a whole disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<BlockRole>,
    /// The disk, counted from 0.
    pub disk: u32,
    /// The sector of 512 bytes; that of a lost, torn or misdirected write is one of those that it
    /// wrote. Of a whole disk: the requests until it dies or slows down, or the writes that it has.
    pub sector: u64,
    /// The worst that a user sees.
    pub outcome: FaultOutcome,
    /// Whether wrong data are found by the checker or a scrub.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// The first wrong file, error or message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How long work took; only with a slow disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowWork>,
    /// How long the rebuild or the scrub of the disk took, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt_ns: Option<Nanos>,
}

/// Work with a slow disk and without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SlowWork {
    /// With the slow disk.
    pub with: DiskWork,
    /// The same work on disks without a fault.
    pub without: DiskWork,
}

/// How long work takes, and what it reads of the disk that is slow, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DiskWork {
    /// Reading all files after the mount.
    pub reading_ns: Nanos,
    /// Writing files of 4 KiB, each with fsync.
    pub writing_ns: Nanos,
    /// The read requests to that disk.
    pub reads: u64,
    /// The read requests to all disks.
    pub reads_of_all: u64,
}

impl SlowWork {
    /// How many times as long reading and writing take.
    pub fn ratios(&self) -> (f64, f64) {
        let ratio = |with: Nanos, without: Nanos| with.0 as f64 / without.0.max(1) as f64;
        (
            ratio(self.with.reading_ns, self.without.reading_ns),
            ratio(self.with.writing_ns, self.without.writing_ns),
        )
    }
}

impl InjectedFault {
    /// Whether it concerns blocks other than those of the content of files.
    pub fn is_of_metadata(&self) -> bool {
        self.role.is_some_and(|role| role != BlockRole::Data)
    }
}

/// The tests of one contender with faulty or full disks.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FaultTest {
    /// The label of the contender.
    pub contender: String,
    /// The kernel of its guests: name, release and version.
    pub guest: String,
    /// The faults.
    pub faults: Vec<InjectedFault>,
    /// Its life on full disks, by seed, if that was tested instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub full: Vec<FullDisk>,
}

/// The disks of tests that fill them, or the quota of a user.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Filling {
    /// The size of each disk.
    pub size: Bytes,
    /// The model disk.
    pub disk: ModelDisk,
    /// The quota of the user who fills it; none if the disks are filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Bytes>,
}

/// Tests of some contenders with faulty or full disks (`fsdyno lose`).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FaultTests {
    /// The version of this structure, as JSON carries it.
    #[schemars(extend("const" = FaultTests::SCHEMA))]
    pub schema: u32,
    /// Their settings and their machine.
    pub info: FaultTestsInfo,
    /// The tests, in order of the contenders.
    pub tests: Vec<FaultTest>,
}

/// The settings and the machine of tests with faulty or full disks.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FaultTestsInfo {
    /// Their name, like that of a run.
    pub id: String,
    /// When they began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When they ended, if they did.
    pub ended_unix_ns: Option<u64>,
    /// The reason why they ended; none if they did not.
    pub stop: Option<StopReason>,
    /// The contenders to test, each with a label of its own.
    pub contenders: Vec<Contender>,
    /// The seed of the places, or of the first life on full disks.
    pub seed: u64,
    /// The largest number of faults of each kind in blocks of each role, or the number of lives.
    pub draws: u32,
    /// The kinds of faults.
    #[serde(default = "DiskFault::untimed", skip_serializing_if = "is_untimed")]
    pub kinds: Vec<DiskFault>,
    /// The disks that are filled; none if they are faulty instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filling: Option<Filling>,
    /// The size of the guests.
    pub guest: GuestSize,
    /// The machine, its devices and programs.
    pub provenance: Provenance,
    /// The command line that began them.
    pub command_line: Vec<String>,
}

fn is_untimed(kinds: &[DiskFault]) -> bool {
    kinds == DiskFault::untimed()
}

impl FaultTestsInfo {
    /// The name of the settings.
    pub fn hash(&self) -> String {
        let Self {
            contenders,
            seed,
            draws,
            filling,
            guest,
            kinds,
            ..
        } = self;
        // Plain data: serialisation cannot fail.
        let settings = (contenders, seed, draws, guest, filling);
        let mut text = serde_json::to_string(&settings).unwrap_or_default();
        if !is_untimed(kinds) {
            text += &serde_json::to_string(kinds).unwrap_or_default();
        }
        short_hash(&text)
    }

    /// Whether quotas of users are filled.
    pub fn fills_quotas(&self) -> bool {
        let filling = self.filling.as_ref();
        filling.is_some_and(|one| one.quota.is_some())
    }

    /// The position of a test; none if its contender is not one of them.
    pub fn place(&self, test: &FaultTest) -> Option<u64> {
        let mut contenders = self.contenders.iter();
        let place = contenders.position(|one| one.label == test.contender)?;
        u64::try_from(place).ok()
    }
}

impl FaultTests {
    /// The version of this structure.
    pub const SCHEMA: u32 = 5;

    /// Their name in their id, where a run has its suite.
    pub const NAME: &'static str = "lose";

    /// All faults, each with the label of its contender.
    pub fn faults(&self) -> impl Iterator<Item = (&str, &InjectedFault)> {
        let tests = self.tests.iter();
        tests.flat_map(|test| test.faults.iter().map(|fault| (&*test.contender, fault)))
    }

    /// The faults of a contender.
    pub fn of<'a>(&'a self, contender: &'a str) -> impl Iterator<Item = &'a InjectedFault> {
        let tests = self
            .tests
            .iter()
            .filter(move |test| test.contender == contender);
        tests.flat_map(|test| &test.faults)
    }
}
