//! The cost of each phase besides time: processors, devices, space.

use super::Lab;
use crate::document::{Block, Cell, Column, Group, Row, Section, Table};
use crate::terms;
use fsdyno_model::figures::{BYTES, NANOSECONDS, RATIO};
use fsdyno_model::{Better, Bytes, FigureDefinition, FigureName, Nanos};

/// The median of a figure, with the format of its unit.
#[expect(
    clippy::cast_possible_truncation,
    reason = "bytes below 2^53; `as` saturates"
)]
fn cell(figure: &FigureDefinition, median: f64) -> Cell {
    match (figure.unit, figure.better) {
        (NANOSECONDS, _) => Cell::Duration(Nanos(terms::whole(median))),
        (BYTES, Better::Neither) => Cell::SpaceChange(median as i64),
        (BYTES, _) => Cell::Size(Bytes(terms::whole(median))),
        (RATIO, _) => Cell::Ratio(median),
        _ => Cell::Count(terms::whole(median)),
    }
}

/// The section; `None` if nothing was measured.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let comparison = lab.comparison;
    if !comparison.measured() {
        return None;
    }
    let mut groups = Vec::new();
    for workload in &comparison.workloads {
        for phase in workload.measured_phases() {
            let place = comparison.place(workload, phase);
            let rows = phase.costs.iter().enumerate().filter_map(|(at, cost)| {
                let cost = cost.as_ref()?;
                let cells = FigureName::costs().map(|(figure, _)| {
                    let median = cost.median(&FigureName::new(figure.name));
                    Cell::known(median, |median| cell(figure, median))
                });
                Some(Row::new(lab.label(at), cells.collect()))
            });
            groups.push(Group::of_phase(place, rows.collect()));
        }
    }
    let phases = comparison
        .workloads
        .iter()
        .flat_map(|workload| &workload.phases);
    let costs = phases.flat_map(|phase| phase.costs.iter().flatten());
    let has = |figure: FigureName| costs.clone().any(|cost| cost.median(&figure).is_some());
    let instructions = if has(FigureName::new("user-instructions")) {
        "user instr, sys instr, cycles: instructions and cycles of the workload from the first to \
         the last reading of the clock, as the processors counted them; kernel threads are not part \
         of them. "
    } else if lab.set.run.plan.in_virtual_time() {
        ""
    } else {
        "Instructions and cycles were not counted: no hardware counters (fsdyno doctor). "
    };
    let counted = if has(FigureName::BLOCKS) {
        "charged: what virtual time advanced for the kernel's work until durable, counted in basic \
         blocks, and for the bytes that fsdyno searched; kthreads: those of kernel threads. User code \
         of external programs is charged a constant for each system call. "
    } else {
        ""
    };
    let columns = FigureName::costs();
    let columns = columns.map(|(_, column)| Column::giving_way(column.heading, column.gives_way));
    let table = Table::grouped("Cost", ["phase", "contender"], columns, groups);
    Some(
        Section::new("costs", "Cost")
            .with(Block::Legend(
                format!(
                    "Medians. user, sys: processor time of the workers until return. machine: all \
                 processors until durable, kernel threads included. {counted}{instructions}reads to busy: at the \
                 devices until durable. space: in use after, minus before; space/data: for each \
                 byte of file data."
                )
                .into(),
            ))
            .with(without_empty_columns(table)),
    )
}

/// Removes droppable columns in which all values are unknown or zero.
fn without_empty_columns(mut table: Table) -> Table {
    for at in (0..table.columns.len()).rev() {
        let is_empty = table.rows().all(|row| {
            row.cells.get(at).is_none_or(|cell| {
                cell.is_unknown()
                    || matches!(cell, Cell::Size(Bytes(0)) | Cell::Count(0))
                    || cell.sort_value() == Some(0.0)
            })
        });
        if is_empty && table.columns[at].gives_way > 5 {
            table.columns.remove(at);
            for row in table.groups.iter_mut().flat_map(|group| &mut group.rows) {
                if at < row.cells.len() {
                    row.cells.remove(at);
                }
            }
        }
    }
    table
}
