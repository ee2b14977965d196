//! The cost of each phase besides time: processors, devices, space.

use super::Lab;
use crate::comparison::Cost;
use crate::document::{Block, Cell, Column, Group, Quantity, Row, Section, Table};
use fsdyno_model::{Bytes, DeviceUse};

const KINDS: [Quantity<Cost>; 20] = [
    ("user", 0, |c| Cell::Duration(c.user)),
    ("sys", 0, |c| Cell::Duration(c.system)),
    ("machine", 3, |c| Cell::Duration(c.machine_busy)),
    ("steal", 8, |c| Cell::Duration(c.steal)),
    ("charged", 6, |c| Cell::known(c.charged, Cell::Duration)),
    ("blocks", 6, |c| Cell::known(c.blocks, Cell::Count)),
    ("kthreads", 6, |c| Cell::known(c.thread_blocks, Cell::Count)),
    ("user instr", 6, |c| Cell::known(c.events[0], Cell::Count)),
    ("sys instr", 6, |c| Cell::known(c.events[1], Cell::Count)),
    ("cycles", 6, |c| Cell::known(cycles(c), Cell::Count)),
    ("read", 0, |c| device(c, |d| Cell::Size(d.read_bytes))),
    ("written", 0, |c| device(c, |d| Cell::Size(d.written_bytes))),
    ("written/data", 9, |c| {
        Cell::known(c.written_per_data, Cell::Ratio)
    }),
    ("reads", 1, |c| device(c, |d| Cell::Count(d.reads))),
    ("writes", 1, |c| device(c, |d| Cell::Count(d.writes))),
    ("flushes", 2, |c| device(c, |d| Cell::Count(d.flushes))),
    ("discarded", 10, |c| {
        device(c, |d| Cell::Size(d.discarded_bytes))
    }),
    ("busy", 7, |c| device(c, |d| Cell::Duration(d.busy_ns))),
    ("space", 4, |c| Cell::SpaceChange(c.space)),
    ("space/data", 5, |c| {
        Cell::known(c.space_per_data, Cell::Ratio)
    }),
];

/// The places of the kernel's blocks and of the processors' counts among the kinds.
const BLOCKS: usize = 5;
const INSTRUCTIONS: usize = 7;

/// User and kernel cycles together.
fn cycles(cost: &Cost) -> Option<u64> {
    Some(cost.events[2]? + cost.events[3]?)
}

fn device(cost: &Cost, cell: fn(&DeviceUse) -> Cell) -> Cell {
    Cell::known(cost.device.as_ref(), cell)
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
                Some(Row::of_quantities(lab.label(at), &KINDS, cost))
            });
            groups.push(Group::of_phase(place, rows.collect()));
        }
    }
    let has = |at: usize| {
        let mut rows = groups.iter().flat_map(|group| &group.rows);
        rows.any(|row| !row.cells[at].is_unknown())
    };
    let instructions = if has(INSTRUCTIONS) {
        "user instr, sys instr, cycles: instructions and cycles of the workload from the first to \
         the last reading of the clock, as the processors counted them; kernel threads are not part \
         of them. "
    } else if lab.set.run.plan.in_virtual_time() {
        ""
    } else {
        "Instructions and cycles were not counted: no hardware counters (fsdyno doctor). "
    };
    let counted = if has(BLOCKS) {
        "charged: what virtual time advanced for the kernel's work until durable, counted in basic \
         blocks, and for the bytes that fsdyno searched; kthreads: those of kernel threads. User code \
         of external programs is charged a constant for each system call. "
    } else {
        ""
    };
    let columns = Column::of_quantities(&KINDS);
    let table = Table::grouped("Cost", ["phase", "contender"], columns, groups);
    Some(
        Section::new("costs", "Cost")
            .with(Block::Legend(
                format!(
                    "Medians. user, sys: processor time of the workers until return. machine: all \
                 processors until durable, kernel threads included. {counted}{instructions}read to busy: at the \
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
