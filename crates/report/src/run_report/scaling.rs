//! Scaling of phases: operations per second by the number of workers, over workloads that differ
//! only in that number.

use super::Lab;
use crate::charts::Kind;
use crate::comparison::scaling::{self, Scaling};
use crate::document::{Block, Cell, Figure, Group, Overflow, RatioTo, Row, Section, Table};
use crate::figures::{Blocked, median_ratio, summary};
use crate::terms;
use fsdyno_model::ResultSet;

/// The section; `None` if the run has only one number of workers.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let phases = scaling::phases(lab.set);
    let groups = phases.iter().filter_map(|one| of_phase(lab.set, one));
    let groups: Vec<Group> = groups.collect();
    if groups.is_empty() {
        return None;
    }
    let name = "By the number of workers";
    let table = Table {
        overflow: Overflow::Split,
        ..Table::grouped(name, ["phase", "workers"], lab.columns(), groups)
    };
    let charts = lab
        .charts
        .iter()
        .filter(|chart| chart.kind == Kind::Scaling);
    Some(
        Section::new("scaling", name)
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

fn reached(own: &[Blocked], fewest: Option<&Vec<Blocked>>) -> Option<Figure> {
    Some(Figure {
        ratio: RatioTo::plain(fewest.and_then(|fewest| median_ratio(own, fewest))),
        ..Figure::of(summary(own)?.median)
    })
}
