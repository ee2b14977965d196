//! The work of the kernel that was counted in two samples, as text: basic blocks for each
//! operation, the share of kernel threads by name, and that of bytes.

use crate::compare::MARGIN_OF_COUNTS;
use crate::processor::Charge;
use crate::terms::{self, grouped};
use fsdyno_model::{Bytes, FigureName, KernelWork, Sample};
use fsdyno_stats::{Rule, Verdict, judge};
use std::fmt::Write as _;

/// From this size of an operation or a file on, work is divided by bytes.
const BYTES_FROM: u64 = 1 << 20;

/// The largest number of kernel threads in a sentence.
const MAX_THREADS: usize = 3;

/// The unit by which the work of a phase is divided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unit {
    /// `2 KiB write`, `file`, `MiB`; empty if it is not divided.
    pub name: String,
    /// The number of these units in a sample.
    pub count: f64,
}

impl Unit {
    /// The unit of a sample: its operations if they have names, else its files or directories; its
    /// bytes if one of them has many.
    pub fn of(sample: &Sample) -> Self {
        let tally = &sample.tally;
        let bytes = tally.bytes.0;
        let most = sample.latencies.iter().max_by_key(|of| of.count);
        let (name, count) = match most.filter(|of| of.count > 0) {
            Some(of) => (of.operation.as_str(), of.count),
            None if tally.files > 0 => ("file", tally.files),
            None => ("directory", tally.directories),
        };
        match bytes.checked_div(count) {
            None if bytes == 0 => Self {
                name: String::new(),
                count: 1.0,
            },
            Some(each) if each < BYTES_FROM => Self {
                name: if each > 0 && bytes.is_multiple_of(count) && name != "file" {
                    format!("{} {name}", size(each))
                } else {
                    terms::printable(name)
                },
                count: count as f64,
            },
            _ => Self {
                name: "MiB".to_owned(),
                count: bytes as f64 / BYTES_FROM as f64,
            },
        }
    }

    /// Those of two samples whose counts are compared: undivided if their units differ.
    pub fn common(units: [Self; 2]) -> [Self; 2] {
        if units[0].name == units[1].name {
            return units;
        }
        units.map(|_| Self {
            name: String::new(),
            count: 1.0,
        })
    }

    /// `for each 2 KiB write`, or `in the phase`.
    fn each(&self) -> String {
        if self.name.is_empty() {
            "in the phase".to_owned()
        } else {
            format!("for each {}", self.name)
        }
    }

    /// A number of blocks, divided.
    pub fn each_of(&self, blocks: u64) -> f64 {
        blocks as f64 / self.count
    }

    /// A number of blocks, divided, as text.
    pub fn divide(&self, blocks: u64) -> String {
        let each = self.each_of(blocks);
        if each >= 100.0 {
            return grouped(terms::whole(each));
        }
        terms::ratio(each)
    }

    /// The name of the row of the figures.
    pub fn row(&self) -> Option<String> {
        (!self.name.is_empty()).then(|| format!("kernel blocks {}", self.each()))
    }
}

/// A size without decimals if it has none.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1024) && bytes < BYTES_FROM => format!("{} KiB", bytes / 1024),
        _ => Bytes(bytes).to_string(),
    }
}

/// The counted work of two contenders in one phase.
pub(super) struct Counted<'a> {
    /// Their labels, escaped for printing.
    pub labels: [String; 2],
    /// Their compared samples.
    pub samples: [&'a Sample; 2],
    /// The charges of these samples.
    pub charges: [Option<Charge>; 2],
    /// All their samples, with blocks.
    pub all: [&'a [(u32, &'a Sample)]; 2],
    /// The rule of verdicts of the run.
    pub rule: &'a Rule,
}

impl Counted<'_> {
    /// The sentence; `None` if a contender has no counts.
    pub fn sentence(&self) -> Option<String> {
        let works = [0, 1].map(|at| self.samples[at].whole_kernel_work());
        let works = [works[0]?, works[1]?];
        let units = self.samples.map(Unit::of);
        let per = |at: usize| units[at].each_of(works[at].blocks());
        let more = usize::from(per(1) > per(0));
        let [a, b] = [more, 1 - more];
        let [long, short] = [a, b].map(|at| units[at].divide(works[at].blocks()));
        let [most, least] = [a, b].map(|at| self.labels[at].as_str());
        let each = units[a].each();
        let mut text = match self.verdict([a, b]) {
            Some(Verdict::Equivalent) => format!(
                "{most} and {least} execute equally many kernel blocks within {}: {long} and \
                 {short} {each}",
                terms::percent(self.margin())
            ),
            Some(Verdict::Slower) => format!(
                "{most} executes {long} kernel blocks {each}, {least} {short} ({}x)",
                terms::ratio(per(a) / per(b).max(f64::MIN_POSITIVE))
            ),
            _ => format!(
                "In these samples {most} executes {long} kernel blocks {each}, {least} {short}; \
                 the repeats do not show whether that is a difference"
            ),
        };
        let threads = [a, b].map(|at| threads(works[at]));
        if threads.iter().any(|of| of != NONE) {
            let _ = write!(
                text,
                "; of them in kernel threads: {} against {}",
                threads[0], threads[1]
            );
        }
        let bytes = [a, b].map(|at| bytes(self.charges[at].as_ref()));
        if let [Some(long), Some(short)] = bytes {
            let _ = write!(
                text,
                "; copies, clears and checksums are {long} of the charge against {short}"
            );
        }
        Some(text + ".")
    }

    fn margin(&self) -> f64 {
        self.rule.margin.min(MARGIN_OF_COUNTS)
    }

    /// The verdict of the run's rule on the counts of the first compared with the second.
    fn verdict(&self, [one, other]: [usize; 2]) -> Option<Verdict> {
        let rule = Rule {
            margin: self.margin(),
            ..self.rule.clone()
        };
        let figures = |at: usize| -> Vec<(u32, f64)> {
            let samples = self.all[at].iter();
            let each = samples.filter_map(|(block, sample)| {
                let blocks = FigureName::BLOCKS.value(sample)?;
                Some((*block, blocks / Unit::of(sample).count))
            });
            each.collect()
        };
        judge(&figures(one), &figures(other), &rule)
    }
}

const NONE: &str = "none";

/// The share of kernel threads, with the names of those that have 1 % or more: `40 % (jbd2 30 %,
/// kworker 10 %)`, `18 % (jbd2)`.
pub(super) fn threads(work: &KernelWork) -> String {
    if work.kthread_blocks == 0 {
        return NONE.to_owned();
    }
    let all = work.blocks();
    let whole = share(work.kthread_blocks, all);
    let busy = work.threads.iter().take(MAX_THREADS);
    let busy: Vec<_> = busy.filter(|thread| 100 * thread.blocks >= all).collect();
    match busy[..] {
        [] => whole,
        [one] => format!("{whole} ({})", terms::printable(&one.name)),
        _ => {
            let named = busy.iter().map(|thread| {
                let name = terms::printable(&thread.name);
                format!("{name} {}", share(thread.blocks, all))
            });
            format!("{whole} ({})", named.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The share of bytes in a charge.
pub(super) fn bytes(charge: Option<&Charge>) -> Option<String> {
    let charge = charge?;
    let all = charge.workload_ns + charge.kernel_threads_ns;
    charge
        .bytes_ns
        .filter(|_| all > 0)
        .map(|bytes| share(bytes, all))
}

fn share(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    if part > 0 && percent < 1.0 {
        return "below 1 %".to_owned();
    }
    format!("{percent:.0} %")
}
