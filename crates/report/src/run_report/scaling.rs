//! Scaling of phases: operations per second by the number of workers, over workloads that differ
//! only in that number.

use super::Lab;
use crate::charts::Kind;
use crate::comparison::scaling::{self, Scaling};
use crate::document::{Block, Cell, Column, Figure, Group, Overflow, RatioTo, Row, Section, Table};
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::Summary;

/// The section; `None` if the run has only one number of workers.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let phases = scaling::phases(lab.set);
    let groups = phases.iter().filter_map(|one| of_phase(lab.set, one));
    let groups: Vec<Group> = groups.collect();
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
    let charts = lab
        .charts
        .iter()
        .filter(|chart| chart.kind == Kind::Scaling);
    Some(
        Section::new("scaling", "By the number of workers")
            .with(Block::Legend(
                "Operations, or files, a second by all workers together: medians. The ratio is to \
                 the fewest workers of the same contender in the same block."
                    .into(),
            ))
            .with(table)
            .with(Block::Charts(charts.cloned().collect())),
    )
}

/// The rows of one phase; `None` if it was not measured.
fn of_phase(set: &ResultSet, scaling: &Scaling) -> Option<Group> {
    let contenders = 0..set.run.plan.contenders.len();
    let (phase, numbers) = (scaling.phase, &scaling.numbers);
    let rates = |contender: usize, workload: usize| scaling.rates(set, contender, workload);
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
