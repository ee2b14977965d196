//! Phases that were measured with several numbers of workers, and their rates.

use fsdyno_model::ResultSet;
use fsdyno_model::scaling::{differ_only_in_workers, workers};

/// The figure with the rate of a phase, and its unit.
const RATE: (&str, &str) = ("rate", "1/s");

/// A phase that was measured with several numbers of workers.
#[derive(Debug, Clone)]
pub struct Scaling {
    /// Its place in its workloads.
    pub phase: usize,
    /// The numbers of workers, ascending, each with its workload.
    pub numbers: Vec<(u32, usize)>,
}

/// All phases with several numbers of workers, over workloads that differ only in that number.
pub fn phases(set: &ResultSet) -> Vec<Scaling> {
    let planned = &set.run.plan.workloads;
    let mut all = Vec::new();
    let mut seen = vec![false; planned.len()];
    for first in 0..planned.len() {
        if seen[first] {
            continue;
        }
        let those: Vec<usize> = (first..planned.len())
            .filter(|at| differ_only_in_workers(&planned[first], &planned[*at]))
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
                all.push(Scaling { phase, numbers });
            }
        }
    }
    all
}

impl Scaling {
    /// The rates of one contender in one workload, each with its block.
    pub fn rates(&self, set: &ResultSet, contender: usize, workload: usize) -> Vec<(u32, f64)> {
        let samples = set.samples(contender, workload, self.phase).into_iter();
        let rate = samples.filter_map(|(block, sample)| {
            let mut figures = sample.figures.iter();
            let reported = figures.find(|one| (one.name.as_str(), one.unit.as_str()) == RATE);
            // A phase without that figure processes the files of a tree, the same number each time.
            let seconds = sample.return_ns.0.max(1) as f64 / 1e9;
            let rate = reported.map_or(sample.tally.files as f64 / seconds, |one| one.value);
            (rate > 0.0).then_some((block, rate))
        });
        rate.collect()
    }
}
