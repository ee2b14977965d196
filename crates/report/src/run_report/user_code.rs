//! The user code of programs in virtual time: its processor time on the host, and the verdicts that
//! depend on it.

use super::Lab;
use crate::document::{Block, Cell, Column, Row, Section, Table};
use crate::terms;
use fsdyno_model::Nanos;
use std::fmt::Write as _;

/// The section; `None` if no user code was measured.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let comparison = lab.comparison;
    let (mut rows, mut slower) = (Vec::new(), 1.0_f64);
    for (workload, phase) in comparison.phases() {
        let (Some(code), Some(line)) = (&phase.user_code, phase.lines.last()) else {
            continue;
        };
        slower = slower.max(code.factor);
        let time = code.time;
        let [median, min, max] =
            [time.median, time.min, time.max].map(|ns| Nanos::from_seconds(ns / 1e9));
        let load = format!("{median} ({min} to {max}, n = {})", time.n);
        let each = code.units.as_ref().map(|_| code.describe());
        let places = 0..comparison.contenders.len();
        let pairs = places.flat_map(|one| (0..one).map(move |other| (one, other)));
        let dependent = pairs.filter(|(one, other)| line.depends_on_user_code(*one, *other));
        let dependent = dependent.filter_map(|(one, other)| {
            let (a, b) = (line.values[one].as_ref()?, line.values[other].as_ref()?);
            let names = [one, other].map(|at| comparison.contenders[at].as_str());
            Some(format!(
                "{}: {}x without, {}x with all",
                names.join(" / "),
                terms::ratio(a.ratio_to(b)?.middle),
                terms::ratio(line.ratio_with_user_code(one, other)?),
            ))
        });
        let dependent: Vec<String> = dependent.collect();
        let dependent = match dependent.as_slice() {
            _ if !code.is_added => format!("not known: it is no time of {}", line.label()),
            [] => "none".to_owned(),
            some => some.join("; "),
        };
        let cells = vec![Cell::Text(load), Cell::text(each), Cell::Text(dependent)];
        rows.push(Row::new(comparison.place(workload, phase), cells));
    }
    if rows.is_empty() {
        return None;
    }
    let columns = ["of the load", "of a unit", "verdicts that depend on it"];
    let table = Table::new("User code", "phase", columns.map(Column::of_text), rows);
    let mut text = "Processor time in user mode of programs and services, measured on the host. Figures \
                    are without it. User code may overlap with waiting, and then adds nothing; at most \
                    it adds all, which is the highest measured time. A verdict must hold with none and \
                    with all of it, else it is inconclusive."
        .to_owned();
    if slower > 1.0 {
        let _ = write!(
            text,
            " The model processor is {} times slower than one of today, by the price of a block; all \
             of it is that many times the measured time.",
            terms::ratio(slower)
        );
    }
    let section = Section::new("user-code", "User code");
    Some(section.with(Block::paragraph(text)).with(table))
}
