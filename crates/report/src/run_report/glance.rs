//! All phases of a workload in one compact table with one unit, the layout of published
//! comparisons. Spreads, amounts of work and methods are in the section of times.

use super::Lab;
use crate::comparison::extents::Found;
use crate::comparison::{Line, PhaseTable, WorkloadTable};
use crate::document::{Audience, Block, Cell, Figure, Group, Overflow, Row, Section, Table, Text};
use crate::resolution::RESOLUTION_NS;
use crate::terms::Scale;

/// From this number of phases on, text formats show the table of a workload too.
const MANY: usize = 4;

/// The section; only for the page if no workload has many phases.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let workloads = lab.comparison.workloads.iter().enumerate();
    let measured = workloads.filter(|(_, workload)| workload.measured());
    let groups: Vec<(bool, Group)> = measured
        .flat_map(|(at, workload)| {
            let is_long = workload.measured_phases().count() >= MANY;
            let judged = judged_groups(lab, workload);
            let groups = [group(lab, at, workload)].into_iter().chain(judged);
            groups
                .map(move |group| (is_long, group))
                .collect::<Vec<_>>()
        })
        .collect();
    if groups.is_empty() {
        return None;
    }
    let blocks = |groups: Vec<Group>| {
        let kinds = ["workload", "phase"];
        let table = Table {
            overflow: Overflow::SplitWithBaseline,
            ..Table::grouped("At a glance", kinds, lab.columns(), groups)
        };
        vec![Block::Legend(legend(lab)), table.into()]
    };
    let long = groups.iter().filter(|(is_long, _)| *is_long);
    let long: Vec<Group> = long.map(|(_, group)| group.clone()).collect();
    let mut section = Section::new("glance", "At a glance");
    if long.len() == groups.len() {
        section.blocks = blocks(long);
        return Some(section);
    }
    let all = groups.into_iter().map(|(_, group)| group).collect();
    let page = Block::Only(Audience::Page, blocks(all));
    if long.is_empty() {
        section.blocks.push(page);
        return Some(section);
    }
    section.blocks = vec![Block::Only(Audience::Text, blocks(long)), page];
    Some(section)
}

fn legend(lab: &Lab<'_>) -> Text {
    let text = Text::from(format!(
        "{}. A row for each phase, in the unit of its workload: the time to return and, where it \
         writes, to durable.{}",
        lab.comparison.figures(),
        lab.comparison.extents.note(),
    ));
    lab.explain_marks(text)
        .plain(" Spreads, amounts and methods are under Time.")
}

fn group(lab: &Lab<'_>, at: usize, workload: &WorkloadTable) -> Group {
    let mut rows = Vec::new();
    for (number, phase) in workload.phases.iter().enumerate() {
        let times = phase.lines.iter().filter(|line| line.is_time());
        let times = times.enumerate().map(|(place, line)| {
            let cells = cells(lab, line);
            (place > 0)
                .then(|| line.figure.as_str())
                .map_or_else(
                    || Row::new(phase.label.as_str(), Vec::new()),
                    |name| detail(&phase.label, name),
                )
                .with_cells(cells)
        });
        let mut times: Vec<Row> = times.collect();
        // Links and changes of names do not affect the extents of data.
        let stores = phase.costs.iter().flatten().any(|cost| cost.stores_data);
        let extents = extents(lab, at, number).filter(|_| stores);
        times.extend(
            extents.map(|cells| detail(&phase.label, "extents per file").with_cells(cells)),
        );
        for row in &mut times {
            row.place = Some(lab.comparison.place(workload, phase));
        }
        rows.append(&mut times);
    }
    let lines = workload.phases.iter().flat_map(|phase| &phase.lines);
    let lines = lines.filter(|line| line.is_time());
    let values = lines.flat_map(|line| line.values.iter().flatten());
    Group {
        heading: workload.name.clone(),
        scale: Some(one_unit(values.map(|value| value.summary.median))),
        rows,
        ..Group::default()
    }
}

/// The figures that phases are judged by, if they are no times, each in a unit of its own.
fn judged_groups(lab: &Lab<'_>, workload: &WorkloadTable) -> Vec<Group> {
    let phases = workload.phases.iter();
    let lines = phases.flat_map(|phase| phase.lines.iter().map(move |line| (phase, line)));
    let judged = lines.filter(|(_, line)| !line.is_time());
    let group = |(phase, line): (&PhaseTable, &Line)| Group {
        heading: workload.name.clone(),
        scale: line.scale(),
        rows: vec![detail(&phase.label, &line.name()).with_cells(cells(lab, line))],
        ..Group::default()
    };
    judged.map(group).collect()
}

fn cells(lab: &Lab<'_>, line: &Line) -> Vec<Cell> {
    let cells = line.values.iter().enumerate().map(|(at, value)| {
        let figure = |value| {
            let mut figure = Figure {
                spread: None,
                samples: Vec::new(),
                ..lab.figure(value, at)
            };
            figure.ratio = figure.ratio.without_interval();
            figure.into()
        };
        Cell::known(value.as_ref(), figure)
    });
    cells.collect()
}

fn detail(phase: &str, detail: &str) -> Row {
    Row {
        detail: Some(detail.to_owned()),
        ..Row::new(phase, Vec::new())
    }
}

/// The extents per file after a phase, by contender; `None` if they were not counted.
fn extents(lab: &Lab<'_>, workload: usize, phase: usize) -> Option<Vec<Cell>> {
    let mut counted = lab.comparison.extents.phases.iter();
    let counted = counted.find(|c| (c.workload, c.phase) == (workload, phase))?;
    let of = |contender| {
        let mut found = counted.contenders.iter();
        match found.find(|(at, _)| *at == contender) {
            Some((_, Found::Counted(counted))) => counted.per_file_cell(),
            _ => Cell::Unknown,
        }
    };
    Some((0..lab.comparison.contenders.len()).map(of).collect())
}

/// The unit of the longest time, or a smaller one in which the shortest has three digits. A
/// negligible time may have fewer.
fn one_unit(medians: impl Iterator<Item = f64> + Clone) -> Scale {
    let medians = medians.map(|median| median.max(RESOLUTION_NS));
    let shortest = medians.clone().fold(f64::INFINITY, f64::min);
    let longest = medians.clone().fold(0.0, f64::max);
    let unit = Scale::of_times(std::iter::once(longest));
    // Four decimals at most.
    if shortest >= 0.01 * unit.ns() {
        unit
    } else {
        Scale::of_times(medians)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_unless_the_shortest_needs_a_smaller_unit() {
        let unit = |times: &[f64]| one_unit(times.iter().copied()).unit();
        assert_eq!(unit(&[0.02e9, 150e9]), "s");
        assert_eq!(unit(&[0.02e9, 0.9e9]), "ms");
        assert_eq!(unit(&[0.002e9, 1.4e9]), "ms");
        assert_eq!(unit(&[300.0, 100e3]), "ms");
        assert_eq!(unit(&[0.0002e9, 150e9]), "s");
        assert_eq!(unit(&[]), "ns");
    }
}
