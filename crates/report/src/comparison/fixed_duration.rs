//! Commands whose duration seems to be fixed: all contenders take the same time, and do a different
//! amount of work.

use super::{Comparison, Line};
use crate::figures::summary;
use crate::terms;
use fsdyno_model::{FigureLine, FigureName, ResultSet, Sample};

/// Times differ by no more than this part.
const SAME: f64 = 0.01;
/// The ratio from which on work differs by far.
const FAR: f64 = 1.5;
/// Less work is noise: nanoseconds of processor time, requests, bytes.
const WORK: [(&str, f64); 3] = [("cpu", 1e7), ("requests", 100.0), ("bytes", 1e6)];

/// The sentence about such commands; empty without one.
pub(super) fn sentence(comparison: &Comparison, set: &ResultSet) -> String {
    let mut found = Vec::new();
    for (at, (workload, planned)) in
        (comparison.workloads.iter().zip(&set.run.plan.workloads)).enumerate()
    {
        for (number, (phase, of_plan)) in workload.phases.iter().zip(&planned.phases).enumerate() {
            let line = phase
                .lines
                .last()
                .filter(|line| line.is_time() && has_same_times(line));
            if of_plan.kind != "exec" || of_plan.judge.is_some() || line.is_none() {
                continue;
            }
            if let Some(work) = different_work(&set.samples_of_all(at, number)) {
                found.push(format!("{} ({work})", comparison.place(workload, phase)));
            }
        }
    }
    if found.is_empty() {
        return String::new();
    }
    format!(
        " All contenders take the same time, and do different amounts of work, in {}: the duration \
         seems to be fixed, so that the time decides nothing. Judge a figure that the command \
         prints: --figure 'NAME=REGEX' --judge NAME.",
        terms::list(&found)
    )
}

fn has_same_times(line: &Line) -> bool {
    let values = line.values.iter().flatten();
    let medians: Vec<f64> = values.map(|value| value.summary.median).collect();
    let negligible = line.values.iter().flatten().any(|value| value.negligible);
    medians.len() > 1 && !negligible && spread(&medians).is_some_and(|ratio| ratio <= 1.0 + SAME)
}

/// The work that differs by far: `cpu differs by 3.1 times`.
fn different_work(samples: &[Vec<(u32, &Sample)>]) -> Option<String> {
    WORK.into_iter().find_map(|(name, least)| {
        let line = FigureLine::of(&FigureName::new(name), samples)?;
        let medians = line
            .figures
            .iter()
            .filter_map(|of| Some(summary(of)?.median));
        let medians: Vec<f64> = medians.map(|median| median.max(least)).collect();
        let ratio = spread(&medians).filter(|ratio| medians.len() > 1 && *ratio >= FAR)?;
        Some(format!("{name} differs by {} times", terms::ratio(ratio)))
    })
}

fn spread(values: &[f64]) -> Option<f64> {
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some(most / least)
}
