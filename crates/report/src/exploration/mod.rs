//! An exploration of crash states: what each file system recovers from the states that a power cut
//! can leave, and what its promises cost.

mod totals;

use crate::document::{Cell, Column, Document, Group, Label, Row, Table};
use crate::terms;
use fsdyno_model::{Contender, Exploration, Score, StateClass};
use totals::Totals;

/// The exploration: the answer, the states, the costs and the findings.
pub fn document(exploration: &Exploration) -> Document {
    let info = &exploration.info;
    let date = terms::date(info.started_unix_ns);
    let title = format!("fsdyno: crash states of {date}, exploration {}", info.id);
    Document {
        blocks: vec![figures(exploration).into()],
        ..Document::new(title)
    }
}

/// All figures: a row for each contender.
pub fn figures(exploration: &Exploration) -> Table {
    let columns = [
        "programs",
        "failed_programs",
        "complete",
        "states",
        "recovered",
        "equivalent",
        "nested",
        "trees",
        "violations",
        "findings",
        "states_with_extra",
        "states_with_disk_fault",
        "operations",
        "operations_per_virtual_second",
        "flushes",
        "flushes_per_operation",
        "written_bytes",
        "requested_bytes",
        "bytes_written_per_byte",
    ];
    let mut columns: Vec<Column> = columns.into_iter().map(Column::new).collect();
    for class in StateClass::ALL {
        for what in ["checked", "legal"] {
            columns.push(Column::new(format!("{class}_{what}")));
        }
    }
    let contenders = exploration.info.contenders.iter();
    let totals = Totals::of_contenders(exploration);
    let rows = contenders.zip(&totals).map(|(contender, of)| {
        let number = |value: Option<f64>| Cell::known(value, Cell::Number);
        let mut cells = vec![
            Cell::Count(of.programs),
            Cell::Count(of.failed),
            Cell::Text(if of.is_complete() { "yes" } else { "no" }.to_owned()),
            Cell::Count(of.states),
            Cell::Count(of.recovered),
            Cell::Count(of.equivalent),
            Cell::Count(of.nested),
            Cell::Count(of.trees),
            Cell::Count(of.states_with(Score::Violation)),
            Cell::Count(of.scored(Score::Violation).count() as u64),
            Cell::Count(of.states_with(Score::Extra)),
            Cell::Count(of.states_with(Score::Disk)),
            Cell::Count(of.cost.operations),
            number(of.rate()),
            Cell::Count(of.cost.flushes),
            number(of.flushes()),
            Cell::Count(of.cost.bytes_written),
            Cell::Count(of.cost.bytes_requested),
            number(of.amplification()),
        ];
        for class in StateClass::ALL {
            let count = of.classes.get(&class);
            cells.push(Cell::known(count.map(|one| one.checked), Cell::Count));
            cells.push(Cell::known(count.and_then(|one| one.legal), Cell::Count));
        }
        Row::new(label(contender), cells)
    });
    Table {
        name: "Crash states".to_owned(),
        rows_are: "contender",
        columns,
        groups: vec![Group {
            rows: rows.collect(),
            ..Group::default()
        }],
        ..Table::default()
    }
}

fn label(contender: &Contender) -> Label {
    Label {
        full: terms::printable(&contender.label),
        short: None,
        is_contender: true,
    }
}
