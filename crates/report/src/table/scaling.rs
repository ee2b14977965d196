//! How phases scale: operations a second by the number of workers, over workloads that differ in
//! nothing else.

use crate::terms;
use fsdyno_model::scaling::{alike, workers};
use fsdyno_model::{ResultSet, units::three_digits};
use fsdyno_stats::Summary;

/// What heads the section.
pub const HEADING: &str = "By the number of workers";
/// How it is to be read.
pub const ABOUT: &str = "Operations, or files, a second by all workers together: medians; x is how many times \
                         those of the fewest workers of the same contender in the same block.";

/// The figure that phases tell, and its unit.
const RATE: (&str, &str) = ("rate", "1/s");

/// One phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Its label.
    pub phase: String,
    /// A row for each number of workers, the fewest first.
    pub rows: Vec<ScalingRow>,
}

/// One number of workers.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingRow {
    /// How many.
    pub workers: u32,
    /// What each contender reached, where it was measured.
    pub values: Vec<Option<Reached>>,
}

/// What a contender reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reached {
    /// Operations a second: the median.
    pub rate: f64,
    /// The median of the ratios to the fewest workers; none for these, and where no block has both.
    pub speedup: Option<f64>,
}

impl ScalingRow {
    /// The number, in words.
    pub fn name(&self) -> String {
        match self.workers {
            1 => "1 worker".to_owned(),
            many => format!("{many} workers"),
        }
    }
}

impl Reached {
    /// The rate.
    pub fn rate_in_words(&self) -> String {
        three_digits(self.rate)
    }

    /// Both: `1234 1.93x`.
    pub fn in_words(&self) -> String {
        let both = [self.rate_in_words(), self.speedup_in_words()];
        both.join(" ").trim_end().to_owned()
    }

    /// How many times that of the fewest: `1.93x`; nothing for these.
    pub fn speedup_in_words(&self) -> String {
        self.speedup
            .map_or_else(String::new, |times| format!("{}x", terms::ratio(times)))
    }
}

/// All phases that were done by several numbers of workers.
pub fn scaling(set: &ResultSet) -> Vec<Scaling> {
    let planned = &set.run.plan.workloads;
    let mut all = Vec::new();
    let mut seen = vec![false; planned.len()];
    for first in 0..planned.len() {
        if seen[first] {
            continue;
        }
        let those: Vec<usize> = (first..planned.len())
            .filter(|at| alike(&planned[first], &planned[*at]))
            .collect();
        for at in &those {
            seen[*at] = true;
        }
        for phase in 0..planned[first].phases.len() {
            let mut numbers: Vec<(u32, usize)> = those
                .iter()
                .filter_map(|at| Some((workers(&planned[*at].phases[phase])?, *at)))
                .collect();
            numbers.sort_unstable();
            numbers.dedup_by_key(|(workers, _)| *workers);
            if numbers.len() > 1 {
                all.extend(of_phase(set, &numbers, phase));
            }
        }
    }
    all
}

/// One phase, where it was measured at all.
fn of_phase(set: &ResultSet, numbers: &[(u32, usize)], phase: usize) -> Option<Scaling> {
    let contenders = 0..set.run.plan.contenders.len();
    let rates = |contender: usize, workload: usize| -> Vec<(u32, f64)> {
        let samples = set.samples(contender, workload, phase).into_iter();
        let rate = samples.filter_map(|(block, sample)| {
            let mut figures = sample.figures.iter();
            let told = figures.find(|one| (one.name.as_str(), one.unit.as_str()) == RATE);
            // Who tells none works on files of a tree, as many of them each time.
            let seconds = sample.return_ns.0.max(1) as f64 / 1e9;
            let rate = told.map_or(sample.tally.files as f64 / seconds, |told| told.value);
            (rate > 0.0).then_some((block, rate))
        });
        rate.collect()
    };
    let fewest: Vec<_> = contenders.clone().map(|c| rates(c, numbers[0].1)).collect();
    let rows: Vec<ScalingRow> = numbers
        .iter()
        .enumerate()
        .map(|(place, (workers, workload))| ScalingRow {
            workers: *workers,
            values: contenders
                .clone()
                .map(|at| reached(&rates(at, *workload), (place > 0).then_some(&fewest[at])))
                .collect(),
        })
        .collect();
    let measured = rows.iter().flat_map(|row| &row.values).flatten().count() > 0;
    measured.then(|| Scaling {
        phase: terms::printable(&set.run.plan.workloads[numbers[0].1].phases[phase].label),
        rows,
    })
}

fn reached(own: &[(u32, f64)], fewest: Option<&Vec<(u32, f64)>>) -> Option<Reached> {
    let median = |values: Vec<f64>| Summary::of(&values).map(|summary| summary.median);
    let times = fewest.map(|fewest| {
        let pairs = own.iter().filter_map(|(block, rate)| {
            let (_, base) = fewest.iter().find(|(other, _)| other == block)?;
            (*base > 0.0).then(|| rate / base)
        });
        pairs.collect()
    });
    Some(Reached {
        rate: median(own.iter().map(|(_, rate)| *rate).collect())?,
        speedup: times.and_then(median),
    })
}
