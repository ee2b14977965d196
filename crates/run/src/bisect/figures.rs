//! The figures of a phase that a search compares.

use fsdyno_model::{Counter as SampleCounter, CounterUnit, KernelWork, Point, ResultSet, Sample};
use fsdyno_stats::{Rule, Summary, Verdict, judge, ratio_paired};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// Processor time, in real time.
    Cpu,
}

impl Metric {
    pub const ALL: [Self; 8] = [
        Self::Durable,
        Self::Blocks,
        Self::Flushes,
        Self::Requests,
        Self::Bytes,
        Self::Seeks,
        Self::Extents,
        Self::Cpu,
    ];

    /// Whether it has noise: two kernels are then compared by pairs, in blocks of one run.
    pub fn is_paired(self) -> bool {
        self == Self::Cpu
    }

    /// Whether it is a time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Durable | Self::Cpu)
    }

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
            Self::Cpu => "cpu",
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
            Self::Cpu => CPU,
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
const CPU: &str = "cpu";

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub name: String,
    /// Its value: nanoseconds, bytes, or a count.
    pub value: u64,
    /// Whether it is a time in nanoseconds.
    #[serde(default)]
    pub is_time: bool,
}

/// Whether a figure differs from that of the good commit, by more than the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is larger.
    Rises,
    /// It is smaller.
    Falls,
    /// The difference is within the threshold.
    None,
    /// The comparison is inconclusive.
    Undecided,
}

/// The comparison of a commit with the good one, by the blocks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The result.
    pub change: Change,
    /// The ratio of the commit to the good one.
    pub ratio: f64,
    /// The confidence interval of the ratio; none with fewer than 6 blocks.
    pub interval: Option<(f64, f64)>,
    /// The number of blocks with both.
    pub blocks: usize,
}

impl fmt::Display for Paired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ratio {:.3}", self.ratio)?;
        if let Some((low, high)) = self.interval {
            write!(f, " ({low:.3} to {high:.3})")?;
        }
        write!(f, ", {} blocks", self.blocks)
    }
}

/// All figures of a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The figures, in their order: of one cell, or medians over blocks.
    pub counters: Vec<Counter>,
    /// The comparison with the good commit, if the figures have noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
}

impl Figures {
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

    /// The figures of the second contender of a run, compared with the first by the deciding
    /// figure. None if the plan names none, or if it was not measured in a common block.
    pub fn of_pairs(set: &ResultSet) -> Option<Self> {
        let plan = &set.run.plan;
        let (workload, figures) = set
            .deciding_lines(plan.decides.as_ref()?)
            .into_iter()
            .next()?;
        let [good, commit] = figures.as_slice() else {
            return None;
        };
        let ratio = ratio_paired(commit, good)?;
        let change = match judge(commit, good, &Rule::of(&set.run)) {
            Some(Verdict::Slower) => Change::Rises,
            Some(Verdict::Faster) => Change::Falls,
            Some(Verdict::Equivalent) => Change::None,
            Some(Verdict::Inconclusive) | None => Change::Undecided,
        };
        let mut phase = plan.workloads[workload].phases.iter();
        let phase =
            phase.position(|one| Some(&one.label) == plan.decides.as_ref().map(|d| &d.phase));
        Some(Self {
            counters: medians(&set.samples(1, workload, phase?)),
            paired: Some(Paired {
                change,
                ratio: ratio.middle,
                interval: ratio.interval.map(|interval| (interval.low, interval.high)),
                blocks: ratio.pairs,
            }),
        })
    }

    /// The figure that decides; none if it was not measured.
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

/// The medians of all counters that were measured.
fn medians(samples: &[(u32, &Sample)]) -> Vec<Counter> {
    let median = |counter: SampleCounter| {
        let figures = samples.iter();
        let figures = figures.filter_map(|(_, sample)| counter.of(sample).map(|ns| ns as f64));
        let summary = Summary::of(&figures.collect::<Vec<_>>())?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a median of counts"
        )]
        let value = summary.median.round() as u64;
        Some(Counter {
            name: counter.name().to_owned(),
            value,
            is_time: counter.unit() == CounterUnit::Nanoseconds,
        })
    };
    SampleCounter::ALL.into_iter().filter_map(median).collect()
}

/// The work until all is durable, or else until the work returned.
fn whole(kernel: &[KernelWork]) -> Option<&KernelWork> {
    let durable = kernel.iter().find(|work| work.until == Point::Durable);
    durable.or(kernel.first())
}
