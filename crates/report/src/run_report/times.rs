//! The times of each phase: to return, and to durable if it writes.

use super::Lab;
use crate::comparison::{PhaseTable, WorkloadTable};
use crate::document::{Block, Cell, Group, Overflow, Row, Section, Table, Text};

/// The section; `None` if nothing was measured.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    if !lab.comparison.measured() {
        return None;
    }
    let mut section = Section::new("times", "Time").with(Block::Legend(legend(lab)));
    let measured = lab.comparison.workloads.iter().filter(|one| one.measured());
    for workload in measured {
        let heading = if workload.name == workload.dataset {
            workload.name.clone()
        } else {
            format!("{}, on {}", workload.name, workload.dataset)
        };
        let table = table(lab, workload);
        section
            .blocks
            .push(Section::new("", heading).with(table).into());
    }
    Some(section)
}

fn table(lab: &Lab<'_>, workload: &WorkloadTable) -> Table {
    let groups = workload.measured_phases();
    let groups = groups.map(|phase| group(lab, workload, phase));
    let name = workload.name.as_str();
    Table {
        overflow: Overflow::SplitWithBaseline,
        bars: true,
        ..Table::grouped(name, ["phase", "time to"], lab.columns(), groups)
    }
}

fn group(lab: &Lab<'_>, workload: &WorkloadTable, phase: &PhaseTable) -> Group {
    let rows = phase.lines.iter().map(|line| {
        let cells =
            line.values.iter().enumerate().map(|(at, value)| {
                Cell::known(value.as_ref(), |value| lab.figure(value, at).into())
            });
        Row::new(line.measure.name(), cells.collect())
    });
    let is_of_it = |chart: &&crate::charts::Chart| {
        chart.workload.as_ref() == Some(&workload.name)
            && chart.phase.as_ref() == Some(&phase.label)
    };
    Group {
        heading: phase.label.clone(),
        about: phase.about(),
        place: Some(lab.comparison.place(workload, phase)),
        scale: Some(phase.scale()),
        rows: rows.collect(),
        note: None,
        charts: lab.charts.iter().filter(is_of_it).cloned().collect(),
    }
}

fn legend(lab: &Lab<'_>) -> Text {
    let comparison = lab.comparison;
    let spread = if comparison.repeated() {
        ", with min-max"
    } else {
        ""
    };
    let text = Text::from(format!("{}{spread}. ", comparison.figures()))
        .term("return")
        .plain(": the time until the work returned; ")
        .term("durable")
        .plain(": until syncfs returned as well.");
    let mut text = lab.explain_marks(text);
    if comparison.intervals() {
        text = text.plain(" In brackets: its interval at 95 % or more.");
    }
    if comparison.judged() && comparison.compares() {
        text = text.plain(format!(" {}", comparison.verdicts_text()));
    }
    text
}
