//! Bars as inline SVG: the median as a bar, every sample as a dot, the spread as a whisker; where
//! there are very many samples, a dot for all that lie close together. Only numbers and words of ours
//! go in, so that nothing needs escaping. Lengths are percentages: the bars stretch with the page,
//! the dots stay round.

use crate::table::{Comparison, Line, Measure, PhaseTable, Value};
use crate::terms::Scale;
use std::fmt::Write as _;

/// The part of the width that the longest time takes; the rest leaves room for its dot.
const LONGEST_PERCENT: f64 = 97.0;
/// Pixels from one bar to the next.
const PITCH: u32 = 13;
/// So many dots one lab may have before they are drawn by bins.
const DOTS: usize = 4_000;
/// The fewest stretches of a scale that tell of a distribution.
const FEWEST_BINS: usize = 5;
/// The radius of the dot of one sample, and of the fullest bin, pixels.
const RADIUS: (f64, f64) = (2.25, 4.5);

/// How the samples of a lab are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// A dot for each.
    Each,
    /// The scale is divided into so many stretches, each of which has one dot.
    Bins(usize),
    /// Not at all: there are too many bars for as many as tell anything.
    None,
}

impl Dots {
    /// A dot for each sample, unless they are too many for a page.
    pub fn of(comparison: &Comparison) -> Self {
        let values = || {
            comparison
                .lines()
                .flat_map(|line| line.values.iter().flatten())
        };
        let samples: usize = values().map(|value| value.times.len()).sum();
        match DOTS / values().count().max(1) {
            _ if samples <= DOTS => Self::Each,
            0..FEWEST_BINS => Self::None,
            bins => Self::Bins(bins.min(48)),
        }
    }
}

/// The bars of contender `at`: to return above, to durable below. All contenders of a phase
/// share one scale that begins at zero.
pub fn bars(phase: &PhaseTable, at: usize, scale: Scale, dots: Dots) -> String {
    let values: Vec<(&Line, &Value)> = phase
        .lines
        .iter()
        .filter_map(|line| Some((line, line.values[at].as_ref()?)))
        .collect();
    if values.is_empty() {
        return String::new();
    }
    let longest = phase
        .lines
        .iter()
        .flat_map(|l| l.values.iter().flatten())
        .map(|v| v.summary.max)
        .fold(1.0, f64::max);
    let height = PITCH * u32::try_from(phase.lines.len()).unwrap_or(2) + 1;
    let mut svg = format!(r#"<svg height="{height}" aria-hidden="true">"#);
    for (row, (line, value)) in (0_u32..).zip(values) {
        bar(&mut svg, line.measure, value, row * PITCH, longest);
        let middle = row * PITCH + 7;
        match dots {
            Dots::Each => each(&mut svg, value, middle, longest, scale),
            Dots::Bins(bins) => binned(&mut svg, value, middle, (longest, bins), scale),
            Dots::None => {}
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

fn x(time_ns: f64, longest: f64) -> String {
    format!("{:.1}%", time_ns / longest * LONGEST_PERCENT)
}

fn bar(svg: &mut String, measure: Measure, value: &Value, top: u32, longest: f64) {
    let summary = value.summary;
    let (class, y, middle) = (measure.name(), top + 1, top + 7);
    let _ = write!(
        svg,
        r#"<g class="{class}"><rect y="{y}" width="{}" height="12"/>"#,
        x(summary.median, longest)
    );
    if summary.n > 1 {
        let (min, max) = (x(summary.min, longest), x(summary.max, longest));
        let _ = write!(
            svg,
            r#"<line x1="{min}" x2="{max}" y1="{middle}" y2="{middle}"/>"#,
        );
    }
}

fn each(svg: &mut String, value: &Value, middle: u32, longest: f64, scale: Scale) {
    for (block, time) in &value.times {
        let _ = write!(
            svg,
            r#"<circle cx="{}" cy="{middle}" r="{}" data-tip="block {}: {} {}"/>"#,
            x(*time, longest),
            RADIUS.0,
            block + 1,
            scale.show(*time),
            scale.unit(),
        );
    }
}

fn binned(
    svg: &mut String,
    value: &Value,
    middle: u32,
    (longest, bins): (f64, usize),
    scale: Scale,
) {
    let mut counts = vec![0_usize; bins];
    for (_, time) in &value.times {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are between zero and the longest"
        )]
        let bin = (time / longest * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1;
    }
    let fullest = counts.iter().copied().max().unwrap_or(1) as f64;
    let stretch = longest / bins as f64;
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let from = bin as f64 * stretch;
        let radius = RADIUS.1 * (*count as f64 / fullest).sqrt();
        let _ = write!(
            svg,
            r#"<circle cx="{}" cy="{middle}" r="{:.1}" data-tip="{} {}: {count} of {}"/>"#,
            x(from + stretch / 2.0, longest),
            radius.max(1.0),
            scale.span(from, from + stretch, "\u{2013}"),
            scale.unit(),
            crate::terms::count(value.times.len(), "sample"),
        );
    }
}
