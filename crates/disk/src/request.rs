//! What a disk is asked, and what it answers: requests, completions, and where their time went.

use fsdyno_model::Nanos;
pub use fsdyno_model::disk_use::Causes;
use std::fmt;

/// Bytes of a sector, the unit of addresses.
pub const SECTOR: u64 = 512;

/// What is asked of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Sectors are read.
    Read,
    /// Sectors are written, with a payload.
    Write,
    /// Sectors are written with zeros, which nobody sends.
    WriteZeroes,
    /// Sectors are no longer needed; they read as zeros from then on.
    Discard,
    /// What was acknowledged before goes to the medium.
    Flush,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::WriteZeroes,
        Self::Discard,
        Self::Flush,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteZeroes => "write-zeroes",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }

    /// Whether sectors hold something else afterwards.
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::WriteZeroes | Self::Discard)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The front end's own name for it, which the completion bears; the disk never looks at it.
    pub id: u64,
    /// What is asked.
    pub kind: Kind,
    /// Of a write: it is on the medium before it completes.
    pub fua: bool,
    /// The first sector; of a flush, nothing.
    pub sector: u64,
    /// How many sectors; of a flush, none.
    pub sectors: u64,
}

impl Request {
    /// A request for an extent.
    pub fn new(id: u64, kind: Kind, sector: u64, sectors: u64) -> Self {
        Self {
            id,
            kind,
            fua: false,
            sector,
            sectors,
        }
    }

    /// A flush.
    pub fn flush(id: u64) -> Self {
        Self::new(id, Kind::Flush, 0, 0)
    }

    /// The same, on the medium before it completes.
    #[must_use]
    pub fn with_fua(self) -> Self {
        Self { fua: true, ..self }
    }

    /// Bytes of its extent.
    pub fn bytes(&self) -> u64 {
        self.sectors * SECTOR
    }
}

/// A request that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub request: Request,
    /// Its place in the order of submissions, from 0; unique for the life of the disk.
    pub order: u64,
    /// When it was submitted.
    pub submitted: Nanos,
    /// When it came to its end.
    pub completed: Nanos,
    /// Whether it was done.
    pub result: Result<(), Failure>,
    /// Where the time between went; the parts add up to it exactly.
    pub causes: Causes,
}

impl Completion {
    /// From submission to completion.
    pub fn latency(&self) -> Nanos {
        Nanos(self.completed.0 - self.submitted.0)
    }
}

/// Why a request was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The medium gives these sectors back no more, or takes them no more.
    #[error("the medium failed at sector {sector}; a fault that the disk was told to have")]
    Medium {
        /// The first such sector.
        sector: u64,
    },
}
