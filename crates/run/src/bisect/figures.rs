//! The figures of a phase that a search compares.

use fsdyno_model::{KernelWork, Point, Sample};
use serde::{Deserialize, Serialize};

/// The figure that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Time until the work is durable; of a phase that only reads, until it returned.
    Durable,
    /// Basic blocks that the kernel executed.
    Blocks,
    /// Flushes of the disks.
    Flushes,
    /// Requests to the disks.
    Requests,
    /// Bytes read and written.
    Bytes,
    /// Requests that did not begin where the previous one ended.
    Seeks,
    /// Extents of the files.
    Extents,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 7] = [
        Self::Durable,
        Self::Blocks,
        Self::Flushes,
        Self::Requests,
        Self::Bytes,
        Self::Seeks,
        Self::Extents,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Blocks => "blocks",
            Self::Flushes => "flushes",
            Self::Requests => "requests",
            Self::Bytes => "bytes",
            Self::Seeks => "seeks",
            Self::Extents => "extents",
        }
    }

    /// The name of its counter in [`Figures`].
    pub fn counter(self) -> &'static str {
        match self {
            Self::Durable => DURABLE,
            Self::Blocks => BLOCKS,
            Self::Flushes => FLUSHES,
            Self::Requests => REQUESTS,
            Self::Bytes => BYTES,
            Self::Seeks => SEEKS,
            Self::Extents => EXTENTS,
        }
    }
}

const DURABLE: &str = "durable";
const BLOCKS: &str = "kernel blocks";
const FLUSHES: &str = "flushes";
const REQUESTS: &str = "requests";
const BYTES: &str = "bytes";
const SEEKS: &str = "seeks";
const EXTENTS: &str = "extents";

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// Its value: nanoseconds, bytes, or a count.
    pub value: u64,
    /// Whether it is a time in nanoseconds.
    #[serde(default)]
    pub is_time: bool,
}

/// All figures of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// The figures, in their order.
    pub counters: Vec<Counter>,
}

impl Figures {
    /// Those of a sample.
    pub fn of_sample(sample: &Sample) -> Self {
        let mut all = Self::default();
        all.time(DURABLE, sample.whole_ns().0);
        all.time("return", sample.return_ns.0);
        if let Some(disks) = sample.on_disks() {
            let kinds = [disks.reads, disks.writes, disks.discards, disks.flushes];
            all.count(REQUESTS, kinds.iter().map(|kind| kind.requests).sum());
            all.count(FLUSHES, disks.flushes.requests);
            all.count("writes", disks.writes.requests);
            all.count("reads", disks.reads.requests);
            all.count("discards", disks.discards.requests);
            all.count(BYTES, disks.reads.bytes + disks.writes.bytes);
            all.count("written bytes", disks.writes.bytes);
            all.count("read bytes", disks.reads.bytes);
            all.count(SEEKS, disks.seeks);
        }
        if let Some(work) = whole(&sample.kernel) {
            all.count(BLOCKS, work.blocks());
            all.count("blocks of processes", work.process_blocks);
            all.count("blocks of kernel threads", work.kthread_blocks);
            all.count("blocks of interrupts", work.interrupt_blocks);
            all.count("system calls", work.system_calls);
            all.count("copied bytes", work.copied.0);
            all.count("cleared bytes", work.cleared.0);
            all.count("bytes of checksums", work.checksummed.0);
            all.time("processor time", work.charged_ns.0);
            for thread in &work.threads {
                all.count(&format!("blocks of {}", thread.name), thread.blocks);
            }
        }
        let known = sample.fragmentation.as_ref();
        if let Some(files) = known.filter(|files| files.unavailable.is_none()) {
            all.count(EXTENTS, files.extents);
        }
        all
    }

    /// The figure that decides; none where it was not measured.
    pub fn of(&self, metric: Metric) -> Option<u64> {
        self.value(metric.counter())
    }

    /// The value of a counter.
    pub fn value(&self, name: &str) -> Option<u64> {
        let mut counters = self.counters.iter();
        Some(counters.find(|one| one.name == name)?.value)
    }

    /// The counters that differ, with both values; 0 where one has no such counter.
    pub fn moved<'a>(&'a self, now: &'a Self) -> Vec<(&'a Counter, u64, u64)> {
        let gone = self
            .counters
            .iter()
            .filter(|one| now.value(&one.name).is_none());
        let all = now.counters.iter().chain(gone);
        let both = all.map(|one| {
            let value = |figures: &Self| figures.value(&one.name).unwrap_or(0);
            (one, value(self), value(now))
        });
        both.filter(|(_, before, after)| before != after).collect()
    }

    fn count(&mut self, name: &str, value: u64) {
        self.counters.push(Counter {
            name: name.to_owned(),
            value,
            is_time: false,
        });
    }

    fn time(&mut self, name: &str, value: u64) {
        self.count(name, value);
        if let Some(last) = self.counters.last_mut() {
            last.is_time = true;
        }
    }
}

/// The work until all is durable, or else until the work returned.
fn whole(kernel: &[KernelWork]) -> Option<&KernelWork> {
    let durable = kernel.iter().find(|work| work.until == Point::Durable);
    durable.or(kernel.first())
}
