//! `show --latencies`: the latency of single operations by phase.

use crate::exit::CliError;
use crate::output;
use fsdyno_model::{Effective, LatencyDistribution, Nanos, ResultSet};
use serde::Serialize;

/// The possible reasons why there are no latencies, if no cell records a reason.
const NOTHING: &str = "no latencies are recorded: no phase was measured, the phases run programs (which report \
    no latencies), or an older fsdyno made the run\n";

/// The operations of one kind of one contender in one phase, over all its repeats.
#[derive(Debug, Serialize)]
struct Latency<'a> {
    workload: &'a str,
    phase: &'a str,
    contender: &'a str,
    /// Number of samples that contain them.
    samples: usize,
    distribution: LatencyDistribution,
}

pub(super) fn show(set: &ResultSet, json: bool) -> Result<(), CliError> {
    let all = of_run(set);
    if json {
        return output::json(&all);
    }
    let not_timed = not_timed(set);
    if all.is_empty() && not_timed.is_empty() {
        return output::bytes(NOTHING.as_bytes());
    }
    let mut rows = vec![output::words([
        "PHASE",
        "CONTENDER",
        "EACH",
        "COUNT",
        "P50",
        "P99",
        "P99.9",
        "MAX",
    ])];
    rows.extend(all.iter().map(|one| row(set, one)));
    output::rows(&rows, output::width())?;
    for line in not_timed {
        output::bytes(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

/// All latencies of a run, in the order of the plan.
fn of_run(set: &ResultSet) -> Vec<Latency<'_>> {
    let plan = &set.run.plan;
    let mut all = Vec::new();
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            for (c, contender) in plan.contenders.iter().enumerate() {
                let samples = set.samples(c, w, p);
                let latencies = samples.iter().flat_map(|(_, sample)| &sample.latencies);
                let mut kinds: Vec<(usize, LatencyDistribution)> = Vec::new();
                for one in latencies {
                    match kinds
                        .iter_mut()
                        .find(|(_, of)| of.operation == one.operation)
                    {
                        Some((samples, of)) => {
                            *samples += 1;
                            of.add(one);
                        }
                        None => kinds.push((1, one.clone())),
                    }
                }
                all.extend(kinds.into_iter().map(|(samples, distribution)| Latency {
                    workload: &workload.name,
                    phase: &phase.label,
                    contender: &contender.label,
                    samples,
                    distribution,
                }));
            }
        }
    }
    all
}

fn row(set: &ResultSet, one: &Latency<'_>) -> Vec<String> {
    let phase = if set.run.plan.workloads.len() > 1 {
        format!("{}: {}", one.workload, one.phase)
    } else {
        one.phase.to_owned()
    };
    let of = &one.distribution;
    let mut row = vec![
        phase,
        one.contender.to_owned(),
        of.operation.clone(),
        of.count.to_string(),
    ];
    let shares = [0.5, 0.99, 0.999].map(|share| of.at(share));
    let time = |ns: Option<u64>| ns.map_or_else(String::new, |ns| Nanos(ns).to_string());
    row.extend(shares.into_iter().chain([Some(of.max_ns)]).map(time));
    row
}

/// The reasons why files were not timed, with their contenders; each reason once.
fn not_timed(set: &ResultSet) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for record in &set.cells {
        let label = &set.run.plan.contenders[record.cell.contender as usize].label;
        let effective = record.effective.iter();
        for why in effective.filter(|one| one.source == Effective::CLOCK) {
            let line = format!("{label}: {}", why.text);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}
