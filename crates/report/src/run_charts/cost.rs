//! The cost of a phase: a panel for each kind, a bar for each contender. Kinds with only unknown or
//! zero values are omitted.

use super::Place;
use super::samples::time;
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Row, Scale, Series, Unit};
use crate::comparison::PhaseTable;
use crate::terms::{self, grouped};
use fsdyno_model::{Bytes, FigureName};

pub(super) fn chart(place: &Place<'_>, (workload, phase): (&str, &PhaseTable)) -> Option<Chart> {
    let mut chart = place.chart(Kind::Cost, Some((workload, phase)));
    let name = place.name(workload, &phase.label);
    chart.title = format!("{name}: cost");
    for (definition, _) in FigureName::costs() {
        let figure = FigureName::new(definition.name);
        let of = |contender: usize| phase.costs.get(contender)?.as_ref()?.median(&figure);
        let unit = Unit::of(definition.unit);
        chart.panels.extend(panel(place, definition.name, unit, of));
    }
    if chart.panels.is_empty() {
        return None;
    }
    chart.about = format!("What {name} cost, medians.");
    chart.describe(|_| true);
    chart.notes.push(
        "Medians. user and system are of the workers until return; machine and the devices are \
         counted until durable."
            .to_owned(),
    );
    Some(chart)
}

fn panel(
    place: &Place<'_>,
    title: &str,
    unit: Unit,
    of: impl Fn(usize) -> Option<f64>,
) -> Option<Panel> {
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for (y, contender) in (0_u32..).zip(place.contenders()) {
        let figure = of(contender);
        let value = figure.map_or("\u{2013}".to_owned(), |x| describe(x, unit));
        let label = format!("{}: {value}", place.comparison.contenders[contender]);
        let bar = figure.map(|x| Mark::Bar {
            x,
            y: f64::from(y) + 0.5,
            label,
        });
        series.push(Series {
            contender,
            marks: bar.into_iter().collect(),
        });
        rows.push(Row {
            group: String::new(),
            contender,
            value,
        });
    }
    let all: Vec<f64> = place.contenders().filter_map(of).collect();
    // A bar of zero has no length on any scale.
    let scale = Scale::of_values(all.iter().copied().filter(|figure| *figure != 0.0));
    all.iter().any(|figure| *figure != 0.0).then(|| Panel {
        title: title.to_owned(),
        x: Axis::of(title, unit, scale),
        y: None,
        rows,
        series,
    })
}

fn describe(figure: f64, unit: Unit) -> String {
    let sign = if figure < 0.0 { "-" } else { "" };
    let whole = terms::whole(figure.abs());
    match unit {
        Unit::Nanoseconds => time(figure),
        Unit::Bytes => format!("{sign}{}", Bytes(whole)),
        _ if figure.fract() != 0.0 => terms::significant(figure),
        _ => format!("{sign}{}", grouped(whole)),
    }
}
