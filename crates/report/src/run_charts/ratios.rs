//! Ratios to the baseline with their intervals: for one phase, and for all with their geometric
//! mean.

use super::{Filter, Place};
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Row, Scale, Series, Unit};
use crate::comparison::{Comparison, Line};
use crate::document::Outcome;
use crate::terms;
use fsdyno_stats::PairedRatio;
use std::fmt::Write as _;

/// A forest plot of all phases.
pub(super) fn chart(place: &Place<'_>, filter: &Filter) -> Option<Chart> {
    let comparison = place.comparison;
    if !comparison.compares() {
        return None;
    }
    let mut chart = place.chart(Kind::Overview, None);
    let baseline = comparison.contenders.first()?;
    chart.title = format!("ratios to {baseline}");
    let mut rows = Rows::of(place);
    for (workload, phase, line) in comparison.whole_times() {
        if filter.takes(&workload.name, &phase.label) {
            let group = comparison.place(workload, phase);
            // The baseline has no row.
            for at in place.contenders().filter(|at| *at > 0) {
                rows.value(&group, at, line);
            }
        }
    }
    if filter.workload.is_none() && filter.phase.is_none() && !comparison.overall.ratios.is_empty()
    {
        let group = format!("geometric mean of {} phases", comparison.overall.phases);
        for at in place.contenders().filter(|at| *at > 0) {
            let ratio = comparison.overall.ratios.get(at).copied().flatten();
            rows.push(&group, at, ratio, None);
        }
    }
    let has_inconclusive = rows.has_inconclusive;
    chart.panels.push(rows.panel);
    chart.about = about(&chart, comparison);
    let mut note = if comparison.whole_times().all(|(_, _, line)| line.is_time()) {
        format!("Left of 1: a time below that of {baseline}.")
    } else {
        format!("Left of 1: better than {baseline}.")
    };
    if comparison.intervals() {
        note += " Thick: the interval at 95 % or more.";
    }
    if comparison.repeated() {
        note += " Thin: the ratios of all blocks.";
    }
    chart.notes.push(note);
    if has_inconclusive {
        chart
            .notes
            .push("? inconclusive: too few repeats, or too wide a spread.".to_owned());
    }
    Some(chart)
}

/// The ratios of one line of times, a row for each contender.
pub(super) fn of_line(place: &Place<'_>, line: &Line) -> Panel {
    let mut rows = Rows::of(place);
    for at in place.contenders() {
        rows.value("", at, line);
    }
    rows.panel.title.push_str("ratio");
    rows.panel
}

/// An axis of ratios to the baseline.
fn ratio_axis(baseline: &str) -> Axis {
    let mut axis = Axis::of(format!("time \u{f7} {baseline}"), Unit::Ratio, Scale::Log);
    axis.reference = Some(1.0);
    axis
}

fn about(chart: &Chart, comparison: &Comparison) -> String {
    let mut about = format!("Ratios of times, {}.", comparison.figures());
    for panel in &chart.panels {
        for (place, row) in (0_u32..).zip(&panel.rows) {
            let y = f64::from(place) + 0.5;
            let mut marks = panel.series.iter().flat_map(|one| &one.marks);
            let here = marks
                .find(|mark| matches!(mark, Mark::Middle { y: at, .. } if (at - y).abs() < 0.1));
            if let Some(mark) = here {
                let _ = write!(about, " {}: {}.", row.group, mark.label());
            }
        }
    }
    about
}

/// A panel of ratios during construction.
struct Rows<'a> {
    place: &'a Place<'a>,
    panel: Panel,
    has_inconclusive: bool,
}

impl<'a> Rows<'a> {
    fn of(place: &'a Place<'a>) -> Self {
        let baseline = place.comparison.contenders.first();
        let series = place.contenders().map(|contender| Series {
            contender,
            marks: Vec::new(),
        });
        Self {
            panel: Panel {
                title: String::new(),
                x: ratio_axis(baseline.map_or("", String::as_str)),
                y: None,
                rows: Vec::new(),
                series: series.collect(),
            },
            has_inconclusive: false,
            place,
        }
    }

    fn value(&mut self, group: &str, at: usize, line: &Line) {
        let value = line.values.get(at).and_then(Option::as_ref);
        let outcome = value.and_then(|value| value.outcome);
        self.push(group, at, value.and_then(|value| value.ratio), outcome);
    }

    fn push(
        &mut self,
        group: &str,
        at: usize,
        ratio: Option<PairedRatio>,
        outcome: Option<Outcome>,
    ) {
        let row = u32::try_from(self.panel.rows.len()).unwrap_or(u32::MAX);
        let y = f64::from(row) + 0.5;
        let mark = match outcome {
            Some(Outcome::Equivalent) => "\u{2248} ",
            Some(Outcome::TooFew | Outcome::Inconclusive) => "? ",
            _ => "",
        };
        self.has_inconclusive |= mark == "? ";
        let value = match ratio {
            Some(_) if at == 0 => "base".to_owned(),
            Some(ratio) if outcome == Some(Outcome::OneDraw) => {
                format!("({}\u{d7})", terms::ratio(ratio.middle))
            }
            Some(ratio) => format!("{mark}{}\u{d7}", terms::ratio(ratio.middle)),
            None => "\u{2013}".to_owned(),
        };
        self.panel.rows.push(Row {
            group: group.to_owned(),
            contender: at,
            value,
        });
        let labels = &self.place.comparison.contenders;
        let mut series = self.panel.series.iter_mut();
        let series = series.find(|one| one.contender == at);
        if let (Some(series), Some(ratio)) = (series, ratio) {
            let description = describe(&labels[at], at == 0, &ratio, outcome);
            series.marks.extend(marks(&ratio, y, at == 0, &description));
        }
    }
}

/// `xfs: 0.78 times, interval 0.74 to 0.81, 8 pairs`. // no contender
fn describe(label: &str, baseline: bool, ratio: &PairedRatio, outcome: Option<Outcome>) -> String {
    if baseline {
        return format!("{label}: the baseline");
    }
    let mut description = format!("{label}: {} times", terms::ratio(ratio.middle));
    if let Some(interval) = ratio.interval {
        let (low, high) = (terms::ratio(interval.low), terms::ratio(interval.high));
        let _ = write!(description, ", interval {low} to {high}");
    }
    let _ = write!(description, ", {}", terms::count(ratio.pairs, "pair"));
    description += match outcome {
        Some(Outcome::Equivalent) => ", equivalent",
        Some(Outcome::TooFew) => ", too few repeats to judge",
        Some(Outcome::Inconclusive) => ", inconclusive",
        Some(Outcome::OneDraw) => ", one draw",
        _ => "",
    };
    description
}

fn marks(ratio: &PairedRatio, y: f64, baseline: bool, description: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    if ratio.high > ratio.low && !baseline {
        let (low, high) = (terms::ratio(ratio.low), terms::ratio(ratio.high));
        marks.push(Mark::Range {
            low: ratio.low,
            high: ratio.high,
            y,
            label: format!("ratios of the blocks: {low} to {high}"),
        });
    }
    if let Some(interval) = ratio.interval.filter(|_| !baseline) {
        marks.push(Mark::Interval {
            low: interval.low,
            high: interval.high,
            y,
            label: description.to_owned(),
        });
    }
    marks.push(Mark::Middle {
        x: ratio.middle,
        y,
        label: description.to_owned(),
    });
    marks
}
