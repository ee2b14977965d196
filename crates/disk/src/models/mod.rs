//! Timing models: when a command is done, and when what it wrote is on the medium. One file or
//! folder each. They know extents and nanoseconds, neither contents nor faults.
//!
//! All times within models are whole nanoseconds since the disk was switched on. A model is told
//! of commands at moments that never run backwards, and advanced from event to event: what it does
//! depends on those alone, so that the same commands at the same moments take the same times on
//! any machine.

pub mod flash;
pub mod hdd;
pub mod null;
pub mod volume;

use crate::request::{Causes, Kind, SECTOR};
pub use fsdyno_model::disk_use::Work;

/// A request as a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Its place in the order of submissions.
    pub order: u64,
    /// What is asked.
    pub kind: Kind,
    /// Of a write: it completes once it is on the medium.
    pub fua: bool,
    /// Of a flush: acknowledge it and do nothing.
    pub hollow: bool,
    /// The first sector.
    pub sector: u64,
    /// How many.
    pub sectors: u64,
    /// When it was submitted: where its time begins to count.
    pub submitted: u64,
}

impl Command {
    /// Bytes of its extent.
    pub fn bytes(&self) -> u64 {
        self.sectors * SECTOR
    }

    /// The sector behind its last.
    pub fn end(&self) -> u64 {
        self.sector + self.sectors
    }

    /// The causes of its time up to `now`: those named, and waiting in the queue for the rest.
    pub fn causes(&self, now: u64, named: Causes) -> Causes {
        let rest = (now - self.submitted).saturating_sub(named.total());
        Causes {
            queue: named.queue + rest,
            ..named
        }
    }
}

/// Something that happened in a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// What a command wrote is on the medium.
    Landed {
        /// The command.
        order: u64,
    },
    /// What a command wrote will never be on the medium: a later one took its place in the cache.
    Superseded {
        /// The command.
        order: u64,
    },
    /// A command is done.
    Done {
        /// The command.
        order: u64,
        /// When.
        at: u64,
        /// Where its time went, from its submission on.
        causes: Causes,
    },
}

/// A timing model.
pub trait Model: Send {
    /// A command enters the device at `now`.
    fn submit(&mut self, now: u64, command: Command);

    /// The next moment at which something happens by itself; none where nothing will.
    fn next_event(&self) -> Option<u64>;

    /// Lets everything happen that is due by `now`. Whoever calls this advances to each event in
    /// turn, so that what happens at a moment is not told later.
    fn advance(&mut self, now: u64, happened: &mut Vec<Happening>);

    /// What the device has done so far.
    fn work(&self) -> Work;

    /// The writes that are just going to the medium, and may be there in part.
    fn landing(&self) -> Vec<u64>;

    /// The power went at `now` and is back: nothing is under way, and caches are empty.
    fn power_cycle(&mut self, now: u64);

    /// Whether writes are on the medium in the moment of their submission.
    fn is_immediate(&self) -> bool {
        false
    }
}
