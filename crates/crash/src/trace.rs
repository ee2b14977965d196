//! The recorded requests of a disk, with the marks of the workload, in one order.

use std::sync::Arc;

/// Bytes of a sector, the unit of addresses.
pub const SECTOR: usize = 512;

/// Everything that reached the disk from the first operation of a program on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The events in the order in which the disk saw them.
    pub events: Vec<TraceEvent>,
}

/// The content of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Bytes of whole sectors.
    Bytes(Arc<[u8]>),
    /// Zeros: a write of zeros without a payload.
    Zeros {
        /// Number of sectors.
        sectors: u64,
    },
    /// A discard: the sectors hold their old content, zeros or garbage.
    Discarded {
        /// Number of sectors.
        sectors: u64,
    },
}

impl Data {
    /// Number of sectors.
    pub fn sectors(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => (bytes.len() / SECTOR) as u64,
            Self::Zeros { sectors } | Self::Discarded { sectors } => *sectors,
        }
    }
}

/// One event. Requests are named by their place in the order of submissions, which is unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEvent {
    /// A write, a write of zeros or a discard was submitted.
    Write {
        /// Place in the order of submissions.
        order: u64,
        /// First sector.
        sector: u64,
        /// Its content.
        data: Data,
        /// Whether it is on the medium when it completes.
        fua: bool,
    },
    /// A flush was submitted.
    Flush {
        /// Place in the order of submissions.
        order: u64,
    },
    /// A write, discard or flush completed.
    Completed {
        /// Its place in the order of submissions.
        order: u64,
    },
    /// An operation of the program began.
    Began {
        /// Its number.
        operation: u32,
    },
    /// An operation returned without an error: it is acknowledged.
    Returned {
        /// Its number.
        operation: u32,
    },
}
