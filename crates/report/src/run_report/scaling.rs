//! Scaling of phases: operations per second by the number of workers, over workloads that differ
//! only in that number.

use super::Lab;
use crate::document::{Block, Cell, Column, Figure, Group, Overflow, RatioTo, Row, Section, Table};
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_model::scaling::{differ_only_in_workers, workers};
use fsdyno_stats::Summary;

/// The figure with the rate of a phase, and its unit.
const RATE: (&str, &str) = ("rate", "1/s");

/// The section; `None` if the run has only one number of workers.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let groups = scaling(lab.set);
    if groups.is_empty() {
        return None;
    }
    let table = Table {
        name: "By the number of workers".to_owned(),
        groups_are: "phase",
        rows_are: "workers",
        columns: lab.labels().into_iter().map(Column::new).collect(),
        groups,
        overflow: Overflow::Split,
        ..Table::default()
    };
    Some(
        Section::new("scaling", "By the number of workers")
            .with(Block::Legend(
                "Operations, or files, a second by all workers together: medians. The ratio is to \
                 the fewest workers of the same contender in the same block."
                    .into(),
            ))
            .with(table),
    )
}

/// All phases measured with several numbers of workers.
fn scaling(set: &ResultSet) -> Vec<Group> {
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
                all.extend(of_phase(set, &numbers, phase));
            }
        }
    }
    all
}

/// The rows of one phase; `None` if it was not measured.
fn of_phase(set: &ResultSet, numbers: &[(u32, usize)], phase: usize) -> Option<Group> {
    let contenders = 0..set.run.plan.contenders.len();
    let rates = |contender: usize, workload: usize| -> Vec<(u32, f64)> {
        let samples = set.samples(contender, workload, phase).into_iter();
        let rate = samples.filter_map(|(block, sample)| {
            let mut figures = sample.figures.iter();
            let reported = figures.find(|one| (one.name.as_str(), one.unit.as_str()) == RATE);
            // A phase without that figure processes the files of a tree, the same number each time.
            let seconds = sample.return_ns.0.max(1) as f64 / 1e9;
            let rate = reported.map_or(sample.tally.files as f64 / seconds, |one| one.value);
            (rate > 0.0).then_some((block, rate))
        });
        rate.collect()
    };
    let fewest: Vec<_> = contenders.clone().map(|c| rates(c, numbers[0].1)).collect();
    let rows = numbers
        .iter()
        .enumerate()
        .map(|(place, (workers, workload))| {
            let cells = contenders.clone().map(|at| {
                let fewest = (place > 0).then_some(&fewest[at]);
                Cell::known(reached(&rates(at, *workload), fewest), Cell::from)
            });
            Row::new(terms::count(*workers as usize, "worker"), cells.collect())
        });
    let rows: Vec<Row> = rows.collect();
    let mut cells = rows.iter().flat_map(|row| &row.cells);
    cells.any(|cell| !cell.is_unknown()).then(|| Group {
        heading: terms::printable(&set.run.plan.workloads[numbers[0].1].phases[phase].label),
        rows: rows.clone(),
        ..Group::default()
    })
}

fn reached(own: &[(u32, f64)], fewest: Option<&Vec<(u32, f64)>>) -> Option<Figure> {
    let median = |values: Vec<f64>| Summary::of(&values).map(|summary| summary.median);
    let speedup = fewest.and_then(|fewest| {
        let pairs = own.iter().filter_map(|(block, rate)| {
            let (_, base) = fewest.iter().find(|(other, _)| other == block)?;
            (*base > 0.0).then(|| rate / base)
        });
        median(pairs.collect())
    });
    Some(Figure {
        ratio: speedup.map_or(RatioTo::None, |middle| RatioTo::Of {
            middle,
            interval: None,
            outcome: None,
        }),
        ..Figure::of(median(own.iter().map(|(_, rate)| *rate).collect())?)
    })
}
