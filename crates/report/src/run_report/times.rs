//! The times of each phase: to return, and to durable if it writes.

use super::Lab;
use crate::comparison::{Line, PhaseTable, WorkloadTable};
use crate::document::{Block, Cell, Group, Overflow, Row, Section, Table, Text};
use crate::terms::printable;

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
    let phases = workload.measured_phases();
    let groups = phases.flat_map(|phase| {
        let judged = phase.lines.iter().filter(|line| !line.is_time());
        let judged = judged.map(|line| judged_group(lab, phase, line));
        let mut groups: Vec<Group> = judged.collect();
        groups.push(group(lab, workload, phase));
        groups
    });
    let name = workload.name.as_str();
    Table {
        overflow: Overflow::SplitWithBaseline,
        bars: true,
        ..Table::grouped(name, ["phase", "time to"], lab.columns(), groups)
    }
}

/// The figure that a phase is judged by, if it is no time.
fn judged_group(lab: &Lab<'_>, phase: &PhaseTable, line: &Line) -> Group {
    Group {
        heading: phase.label.clone(),
        about: format!(
            "judged by {}: {}",
            line.label(),
            printable(&line.figure.about())
        ),
        scale: line.scale(),
        rows: vec![row(lab, line, &line.name())],
        ..Group::default()
    }
}

fn row(lab: &Lab<'_>, line: &Line, name: &str) -> Row {
    let cells = line
        .values
        .iter()
        .enumerate()
        .map(|(at, value)| Cell::known(value.as_ref(), |value| lab.figure(value, at).into()));
    Row::new(name, cells.collect())
}

fn group(lab: &Lab<'_>, workload: &WorkloadTable, phase: &PhaseTable) -> Group {
    let times = phase.lines.iter().filter(|line| line.is_time());
    let rows = times.map(|line| row(lab, line, line.figure.as_str()));
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
