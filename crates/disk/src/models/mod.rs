//! Timing models compute when a command completes and when its write is on the medium. Each model
//! is one file or folder. Models know extents and nanoseconds, neither contents nor faults.
//!
//! Times are whole nanoseconds since power-on. Submissions and advances never run backwards, and a
//! model depends on these alone. So equal commands at equal times take equal times on any machine.

pub mod flash;
pub mod hdd;
pub mod null;
pub(crate) mod paced;
pub mod volume;

use crate::request::{Causes, Kind, SECTOR};
pub use fsdyno_model::disk_use::Work;

/// A request in the form for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Place in the order of submissions.
    pub order: u64,
    pub kind: Kind,
    /// For a write: it completes when it is on the medium.
    pub fua: bool,
    /// For a flush: the device acknowledges it and does nothing.
    pub hollow: bool,
    /// First sector.
    pub sector: u64,
    pub sectors: u64,
    /// Submission time. Latency counts from here.
    pub submitted: u64,
}

impl Command {
    /// Bytes of the extent.
    pub fn bytes(&self) -> u64 {
        self.sectors * SECTOR
    }

    /// The sector after the last one.
    pub fn end(&self) -> u64 {
        self.sector + self.sectors
    }

    /// Breakdown of the time up to `now`: the given causes, and queueing for the rest.
    pub fn causes(&self, now: u64, named: Causes) -> Causes {
        let rest = (now - self.submitted).saturating_sub(named.total());
        Causes {
            queue: named.queue + rest,
            ..named
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelEvent {
    /// A command's write is on the medium.
    Landed {
        /// The command.
        order: u64,
    },
    /// A command's write never reaches the medium, because a later write superseded it in the
    /// cache.
    Superseded {
        /// The command.
        order: u64,
    },
    Done {
        /// The command.
        order: u64,
        at: u64,
        /// Breakdown of the time since submission.
        causes: Causes,
    },
}

pub trait Model: Send {
    /// A command enters the device at `now`.
    fn submit(&mut self, now: u64, command: Command);

    /// Time of the next internal event, or none.
    fn next_event(&self) -> Option<u64>;

    /// Processes all events that are due by `now`. The caller advances to each event in turn, so
    /// that events are not reported late.
    fn advance(&mut self, now: u64, happened: &mut Vec<ModelEvent>);

    fn work(&self) -> Work;

    /// Writes in transfer to the medium, which may be there in part.
    fn landing(&self) -> Vec<u64>;

    /// A power cut at `now`: drops all commands and empties the caches.
    fn power_cycle(&mut self, now: u64);

    /// Turns the platters before the first command, by this share of a revolution in units of 2^-32.
    /// No effect without platters.
    fn turn(&mut self, _share: u32) {}

    /// Whether writes are on the medium at submission.
    fn is_immediate(&self) -> bool {
        false
    }
}
