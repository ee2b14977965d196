//! Requests, completions and their latency breakdown.

use fsdyno_model::Nanos;
pub use fsdyno_model::disk_use::Causes;
use std::fmt;

/// Bytes of a sector, the unit of addresses.
pub const SECTOR: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
    /// Write zeroes, without a payload.
    WriteZeroes,
    /// Discard. The sectors read as zeros afterwards.
    Discard,
    /// Flush: acknowledged writes go to the medium.
    Flush,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::WriteZeroes,
        Self::Discard,
        Self::Flush,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteZeroes => "write-zeroes",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }

    /// Whether it changes the contents of sectors.
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::WriteZeroes | Self::Discard)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Identifier that the transport chooses. The completion repeats it.
    pub id: u64,
    pub kind: Kind,
    /// Force unit access (FUA): the write is on the medium before it completes.
    pub fua: bool,
    /// First sector; 0 for a flush.
    pub sector: u64,
    /// Number of sectors; 0 for a flush.
    pub sectors: u64,
}

impl Request {
    /// Creates a request for an extent.
    pub fn new(id: u64, kind: Kind, sector: u64, sectors: u64) -> Self {
        Self {
            id,
            kind,
            fua: false,
            sector,
            sectors,
        }
    }

    pub fn flush(id: u64) -> Self {
        Self::new(id, Kind::Flush, 0, 0)
    }

    #[must_use]
    pub fn with_fua(self) -> Self {
        Self { fua: true, ..self }
    }

    /// Bytes of the extent.
    pub fn bytes(&self) -> u64 {
        self.sectors * SECTOR
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub request: Request,
    /// Place in the order of submissions, from 0. Unique for the lifetime of the disk.
    pub order: u64,
    pub submitted: Nanos,
    pub completed: Nanos,
    pub result: Result<(), Failure>,
    /// Latency breakdown. The sum of its parts equals the latency.
    pub causes: Causes,
}

impl Completion {
    /// Latency: time from submission to completion.
    pub fn latency(&self) -> Nanos {
        Nanos(self.completed.0 - self.submitted.0)
    }
}

/// Cause of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A medium error: these sectors cannot be read or written.
    #[error("the medium failed at sector {sector}; a configured fault")]
    Medium {
        /// First failed sector.
        sector: u64,
    },
}
