//! Bars as inline SVG: the median as a bar, every sample as a dot, the spread as a whisker.
//! Only numbers go in, so that nothing needs escaping. Lengths are percentages: the bars stretch
//! with the page, the dots stay round.

use crate::table::{Line, Measure, PhaseTable, Value};
use std::fmt::Write as _;

/// The part of the width that the longest time takes; the rest leaves room for its dot.
const LONGEST_PERCENT: f64 = 97.0;
/// Pixels from one bar to the next.
const PITCH: u32 = 13;

/// The bars of contender `at`: to return above, to durable below. All contenders of a phase
/// share one scale that begins at zero.
pub fn bars(phase: &PhaseTable, at: usize) -> String {
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
    }
    svg.push_str("</svg>");
    svg
}

fn bar(svg: &mut String, measure: Measure, value: &Value, top: u32, longest: f64) {
    let x = |time_ns: f64| format!("{:.1}%", time_ns / longest * LONGEST_PERCENT);
    let summary = value.summary;
    let (class, y, middle) = (measure.name(), top + 1, top + 7);
    let _ = write!(
        svg,
        r#"<g class="{class}"><rect y="{y}" width="{}" height="12"/>"#,
        x(summary.median)
    );
    if summary.n > 1 {
        let (min, max) = (x(summary.min), x(summary.max));
        let (above, below) = (middle - 3, middle + 3);
        let _ = write!(
            svg,
            r#"<line x1="{min}" x2="{max}" y1="{middle}" y2="{middle}"/><line x1="{min}" x2="{min}" y1="{above}" y2="{below}"/><line x1="{max}" x2="{max}" y1="{above}" y2="{below}"/>"#,
        );
    }
    for (_, time) in &value.times {
        let _ = write!(svg, r#"<circle cx="{}" cy="{middle}" r="2.25"/>"#, x(*time));
    }
    svg.push_str("</g>");
}
