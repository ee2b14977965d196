//! The figures of a phase that a search compares.

use fsdyno_model::figures::NANOSECONDS;
use fsdyno_model::{FigureDefinition, FigureName, Reading, ResultSet, Sample};
use fsdyno_stats::{Rule, Summary, Verdict, judge, ratio_paired};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether a figure has noise: two kernels are then compared by pairs, in blocks of one run.
pub fn is_paired(metric: &FigureName) -> bool {
    !metric.is_exact_in_virtual_time()
}

/// The figures that a search can follow, by name.
pub fn metrics() -> impl Iterator<Item = FigureName> {
    let may_decide = |name: &FigureName| {
        let definition = name.definition();
        definition.is_some_and(FigureDefinition::may_be_judged)
    };
    FigureName::all().filter(may_decide)
}

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
    Rises,
    Falls,
    /// The difference is within the threshold.
    None,
    /// The comparison is inconclusive.
    Undecided,
}

/// The comparison of a commit with the good one, by the blocks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
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

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The figures, in their order: of one cell, or medians over blocks.
    pub counters: Vec<Counter>,
    /// The comparison with the good commit, if the figures have noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// The time of user code, which virtual time does not count, ns; none if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_code: Option<u64>,
}

impl Figures {
    pub fn of_sample(sample: &Sample) -> Self {
        let mut all = Self::default();
        for metric in metrics().filter(FigureName::is_exact_in_virtual_time) {
            if let Some(reading) = metric.read(sample) {
                all.add(metric.as_str(), reading);
            }
        }
        if let Some(work) = sample.whole_kernel_work() {
            all.count("blocks of processes", work.process_blocks);
            all.count("blocks of kernel threads", work.kthread_blocks);
            all.count("blocks of interrupts", work.interrupt_blocks);
            all.count("copied bytes", work.copied.0);
            all.count("cleared bytes", work.cleared.0);
            all.count("bytes of checksums", work.checksummed.0);
            all.time("processor time", work.charged_ns.0);
            for thread in &work.threads {
                all.count(&format!("blocks of {}", thread.name), thread.blocks);
            }
        }
        all
    }

    /// The figures of the second contender of a run, compared with the first by the deciding
    /// figure. None if the plan names none, or if it was not measured in a common block.
    pub fn of_pairs(set: &ResultSet) -> Option<Self> {
        let plan = &set.run.plan;
        let lines = set.deciding_lines(plan.decides.as_ref()?);
        let line = lines.into_iter().next()?;
        let [good, commit] = line.figures.as_slice() else {
            return None;
        };
        let ratio = ratio_paired(commit, good)?;
        let change = match judge(commit, good, &Rule::of(&set.run)) {
            Some(Verdict::Slower) => Change::Rises,
            Some(Verdict::Faster) => Change::Falls,
            Some(Verdict::Equivalent) => Change::None,
            Some(Verdict::Inconclusive) | None => Change::Undecided,
        };
        Some(Self {
            counters: medians(&set.samples(1, line.workload, line.phase)),
            paired: Some(Paired {
                change,
                ratio: ratio.middle,
                interval: ratio.interval.map(|interval| (interval.low, interval.high)),
                blocks: ratio.pairs,
            }),
            user_code: None,
        })
    }

    /// The figure that decides; none if it was not measured.
    pub fn of(&self, metric: &FigureName) -> Option<u64> {
        self.value(metric.as_str())
    }

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

    fn add(&mut self, name: &str, reading: Reading<'_>) {
        self.counters.push(Counter {
            name: name.to_owned(),
            value: whole(reading.value),
            is_time: reading.unit == NANOSECONDS,
        });
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

/// The medians of all figures that were measured.
fn medians(samples: &[(u32, &Sample)]) -> Vec<Counter> {
    let mut medians = Figures::default();
    for metric in metrics() {
        let readings = || samples.iter().filter_map(|(_, sample)| metric.read(sample));
        let values: Vec<f64> = readings().map(|reading| reading.value).collect();
        if let (Some(first), Some(summary)) = (readings().next(), Summary::of(&values)) {
            let value = summary.median;
            medians.add(metric.as_str(), Reading { value, ..first });
        }
    }
    medians.counters
}

/// The nearest whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures that decide are not negative, and `as` saturates"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
