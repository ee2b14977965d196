//! The tables of costs: one row per contender and phase, one column per kind of cost.

use super::Page;
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::costs::grouped;
use crate::table::{Comparison, Cost};
use crate::terms;
use fsdyno_model::DeviceUse;
use std::fmt::Write as _;

/// A kind of cost: its heading, how soon it gives way where the terminal is narrow (0: never),
/// its text.
struct Column {
    heading: &'static str,
    gives_way: u8,
    show: fn(&Cost) -> String,
}

/// The heading of the space taken for each byte of file data.
const PER_DATA: &str = "space/data";

const COLUMNS: [Column; 10] = [
    Column::new("user+sys", 0, |c| c.workers.to_string()),
    Column::new("machine", 2, |c| c.machine_busy.to_string()),
    Column::new("steal", 5, |c| c.steal.to_string()),
    Column::new("read", 0, |c| device(c, |d| d.read_bytes.to_string())),
    Column::new("written", 0, |c| device(c, |d| d.written_bytes.to_string())),
    Column::new("requests", 1, |c| {
        c.requests.map_or_else(|| "-".to_owned(), grouped)
    }),
    Column::new("flushes", 3, |c| device(c, |d| grouped(d.flushes))),
    Column::new("busy", 6, |c| device(c, |d| d.busy_ns.to_string())),
    Column::new("space", 4, Cost::space_in_words),
    Column::new(PER_DATA, 7, |c| {
        c.space_per_data
            .map_or_else(|| "-".to_owned(), |of| format!("{}x", terms::ratio(of)))
    }),
];

/// The widest label that is not abbreviated to make room for a column.
const LABEL: usize = 20;

impl Column {
    const fn new(heading: &'static str, gives_way: u8, show: fn(&Cost) -> String) -> Self {
        Self {
            heading,
            gives_way,
            show,
        }
    }

    /// The columns that fit beside labels, each with its width.
    fn fitting(comparison: &Comparison, room: usize) -> Vec<(&'static Self, usize)> {
        let mut columns: Vec<(&Self, usize)> = COLUMNS
            .iter()
            .map(|column| (column, widest(column, comparison)))
            .collect();
        while columns.iter().map(|(_, w)| w + 2).sum::<usize>() > room {
            let first = columns
                .iter()
                .enumerate()
                .max_by_key(|(_, (c, _))| c.gives_way);
            match first {
                Some((at, (column, _))) if column.gives_way > 0 => columns.remove(at),
                _ => break,
            };
        }
        columns
    }
}

fn device(cost: &Cost, show: fn(&DeviceUse) -> String) -> String {
    cost.device.as_ref().map_or_else(|| "-".to_owned(), show)
}

/// Writes one table of costs for all workloads, with the same columns throughout.
pub fn tables(page: &mut Page, comparison: &Comparison, names: &Names) {
    if comparison.lines().next().is_none() {
        return;
    }
    let all = 0..comparison.contenders.len();
    let called = |room| {
        all.clone()
            .map(move |c| names.fitting(c, room))
            .collect::<Vec<_>>()
    };
    let stub = |called: &[&str]| 2 + called.iter().map(|name| width(name)).max().unwrap_or(0);
    let columns = Column::fitting(comparison, page.width.saturating_sub(stub(&called(LABEL))));
    let figures: usize = columns.iter().map(|(_, w)| w + 2).sum();
    let called = called(page.width.saturating_sub(figures + 2));
    let stub = stub(&called);

    page.heading("Cost");
    let mut about = "Medians. user+sys: processor time of the workers until return; machine: all \
                     processors until durable, kernel threads included; read, written, requests, \
                     flushes: at the devices until durable"
        .to_owned();
    if columns.iter().any(|(column, _)| column.heading == PER_DATA) {
        let _ = write!(
            about,
            "; {PER_DATA}: space taken for each byte of file data"
        );
    }
    page.paragraph(&format!("{about}."), 0);
    let shortened = called.iter().map(|name| (*name).to_owned());
    names.legend(page, shortened);
    page.line("");
    let mut head = left("", stub);
    for (column, columns) in &columns {
        let _ = write!(head, "  {}", right(column.heading, *columns));
    }
    let head = page.paint.bold(&head);
    page.line(&head);
    let rule = page.paint.dim(&"-".repeat(stub + figures));
    page.line(&rule);
    for workload in &comparison.workloads {
        for phase in workload.phases.iter().filter(|p| !p.lines.is_empty()) {
            let title = terms::phase(comparison.workloads.len(), &workload.name, &phase.label);
            page.paragraph(&title, 4);
            for (name, cost) in called.iter().zip(&phase.costs) {
                let Some(cost) = cost else { continue };
                let mut line = left(&format!("  {name}"), stub);
                for (column, columns) in &columns {
                    let _ = write!(line, "  {}", right(&(column.show)(cost), *columns));
                }
                page.line(&line);
            }
        }
    }
}

fn widest(column: &Column, comparison: &Comparison) -> usize {
    comparison
        .workloads
        .iter()
        .flat_map(|w| &w.phases)
        .flat_map(|p| p.costs.iter().flatten())
        .map(|cost| width(&(column.show)(cost)))
        .max()
        .unwrap_or(0)
        .max(width(column.heading))
}
