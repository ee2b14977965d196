//! Bars as inline SVG: the median as a bar, every sample as a dot, the spread as a whisker. For
//! large numbers of samples, a dot represents all samples of a bin. The SVG contains only numbers
//! and fixed text, so nothing is escaped. Lengths are percentages: the bars stretch with the page,
//! the dots stay round.

use super::bar_tables;
use crate::document::{Block, Cell, Figure, Group};
use crate::terms::Scale;
use std::fmt::Write as _;

/// The length of the longest bar, as a part of the width; the rest is room for its dot.
const MAX_BAR_PERCENT: f64 = 97.0;
/// The height of one bar with its gap, pixels.
const PITCH: u32 = 13;
/// Above this number of dots on a page, samples are drawn in bins.
const DOTS: usize = 4_000;
/// The smallest number of bins that shows a distribution.
const MIN_BINS: usize = 5;
/// The radius of the dot of one sample, and of the largest bin, pixels.
const RADIUS: (f64, f64) = (2.25, 4.5);

/// The representation of samples in bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// A dot for each sample.
    Each,
    /// The scale is divided into this number of bins, each with one dot.
    Bins(usize),
    /// No samples: there are too many bars.
    None,
}

impl Dots {
    /// A dot for each sample, or bins if a page has too many samples.
    pub fn of(blocks: &[Block]) -> Self {
        let tables = bar_tables(blocks);
        let cells = tables.iter().flat_map(|table| table.rows());
        let figures: Vec<&Figure> = cells
            .flat_map(|row| row.cells.iter().filter_map(Cell::figure))
            .collect();
        let samples: usize = figures.iter().map(|figure| figure.samples.len()).sum();
        match DOTS / figures.len().max(1) {
            _ if samples <= DOTS => Self::Each,
            0..MIN_BINS => Self::None,
            bins => Self::Bins(bins.min(48)),
        }
    }
}

/// The bars of the contender in column `at`: to return above, to durable below. All contenders of a
/// phase share a scale from zero.
pub fn bars(group: &Group, at: usize, scale: Scale, dots: Dots) -> String {
    let figures = group.rows.iter();
    let figures =
        figures.filter_map(|row| Some((row.label.full.as_str(), row.cells[at].figure()?)));
    let figures: Vec<(&str, &Figure)> = figures.collect();
    if figures.is_empty() {
        return String::new();
    }
    let all = group
        .rows
        .iter()
        .flat_map(|row| row.cells.iter().filter_map(Cell::figure));
    let longest = all.map(|figure| range(figure).1).fold(1.0, f64::max);
    let height = PITCH * u32::try_from(group.rows.len()).unwrap_or(2) + 1;
    let mut svg = format!(r#"<svg height="{height}" aria-hidden="true">"#);
    for (row, (measure, figure)) in (0_u32..).zip(figures) {
        bar(&mut svg, measure, figure, row * PITCH, longest);
        let middle = row * PITCH + 7;
        match dots {
            Dots::Each => each(&mut svg, figure, middle, longest, scale),
            Dots::Bins(bins) => binned(&mut svg, figure, middle, (longest, bins), scale),
            Dots::None => {}
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

/// The minimum and the maximum.
fn range(figure: &Figure) -> (f64, f64) {
    figure.spread.unwrap_or((figure.value, figure.value))
}

fn x(time_ns: f64, longest: f64) -> String {
    format!("{:.1}%", time_ns / longest * MAX_BAR_PERCENT)
}

fn bar(svg: &mut String, class: &str, figure: &Figure, top: u32, longest: f64) {
    let (y, middle) = (top + 1, top + 7);
    let _ = write!(
        svg,
        r#"<g class="{class}"><rect y="{y}" width="{}" height="12"/>"#,
        x(figure.value, longest)
    );
    if let Some((min, max)) = figure.spread {
        let (min, max) = (x(min, longest), x(max, longest));
        let _ = write!(
            svg,
            r#"<line x1="{min}" x2="{max}" y1="{middle}" y2="{middle}"/>"#,
        );
    }
}

fn each(svg: &mut String, figure: &Figure, middle: u32, longest: f64, scale: Scale) {
    for (block, time) in &figure.samples {
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
    figure: &Figure,
    middle: u32,
    (longest, bins): (f64, usize),
    scale: Scale,
) {
    let mut counts = vec![0_usize; bins];
    for (_, time) in &figure.samples {
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
            crate::terms::count(figure.samples.len(), "sample"),
        );
    }
}
