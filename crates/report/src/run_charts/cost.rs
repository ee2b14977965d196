//! The cost of a phase: a panel for each kind, a bar for each contender. Kinds with only unknown or
//! zero values are omitted.

use super::Place;
use super::samples::time;
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Row, Scale, Series, Unit};
use crate::comparison::extents::Found;
use crate::comparison::{Cost, PhaseTable};
use crate::terms::{self, grouped};
use fsdyno_model::{Bytes, DeviceUse};

/// A kind of cost: its name, unit, and figure.
type Column = (&'static str, Unit, fn(&Cost) -> Option<f64>);

const COLUMNS: [Column; 9] = [
    ("user time", Unit::Nanoseconds, |c| Some(c.user.0 as f64)),
    ("system time", Unit::Nanoseconds, |c| {
        Some(c.system.0 as f64)
    }),
    ("busy processors", Unit::Nanoseconds, |c| {
        Some(c.machine_busy.0 as f64)
    }),
    ("read", Unit::Bytes, |c| device(c, |d| d.read_bytes.0)),
    ("written", Unit::Bytes, |c| device(c, |d| d.written_bytes.0)),
    ("reads", Unit::Count, |c| device(c, |d| d.reads)),
    ("writes", Unit::Count, |c| device(c, |d| d.writes)),
    ("flushes", Unit::Count, |c| device(c, |d| d.flushes)),
    ("space taken", Unit::Bytes, |c| Some(c.space as f64)),
];

fn device(cost: &Cost, of: fn(&DeviceUse) -> u64) -> Option<f64> {
    cost.device.as_ref().map(|device| of(device) as f64)
}

pub(super) fn chart(
    place: &Place<'_>,
    (workload, phase): (&str, &PhaseTable),
    at: (usize, usize),
) -> Option<Chart> {
    let mut chart = place.chart(Kind::Cost, Some((workload, phase)));
    let name = place.name(workload, &phase.label);
    chart.title = format!("{name}: cost");
    for (title, unit, of) in COLUMNS {
        let of = |contender: usize| phase.costs.get(contender)?.as_ref().and_then(of);
        chart.panels.extend(panel(place, title, unit, of));
    }
    let extents_per_file = |contender| extents_per_file(place, at, contender);
    let counted = panel(place, "extents per file", Unit::Count, extents_per_file);
    chart.panels.extend(counted);
    if chart.panels.is_empty() {
        return None;
    }
    chart.about = format!("What {name} cost, medians.");
    chart.describe(|_| true);
    chart.notes.push(
        "Medians. User and system time are of the workers until return; busy processors and the \
         devices are counted until durable."
            .to_owned(),
    );
    Some(chart)
}

/// Extents per file after that phase.
fn extents_per_file(place: &Place<'_>, at: (usize, usize), contender: usize) -> Option<f64> {
    let mut phases = place.comparison.extents.phases.iter();
    let counted = phases.find(|counted| (counted.workload, counted.phase) == at)?;
    let mut found = counted.contenders.iter();
    match found.find(|(whose, _)| *whose == contender)? {
        (_, Found::Counted(counted)) => counted.per_file,
        (_, Found::Unavailable(_)) => None,
    }
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
