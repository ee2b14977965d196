//! Bars as inline SVG: the median as a bar, every sample as a dot, the spread as a whisker. For
//! large numbers of samples, a dot represents all samples of a bin. Bars begin at zero, or at a round
//! time on a logarithmic scale if contenders differ by a large factor. The SVG contains only numbers
//! and fixed text, so nothing is escaped. Lengths are percentages: the bars stretch with the page,
//! the dots stay round.

use super::bar_tables;
use crate::charts::{Scale as AxisScale, round_below};
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

/// The scale of the bars of a phase, which all contenders and both times share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BarScale {
    /// The time at which bars begin on a logarithmic scale; `None` on a linear one from zero.
    begin: Option<f64>,
    longest: f64,
}

impl BarScale {
    /// The scale of a phase: logarithmic if one of its times differs by a large factor between
    /// contenders.
    pub fn of(group: &Group) -> Self {
        /// The length of the shortest bar, as a ratio of its time to the begin of the scale.
        const SHORTEST: f64 = 1.5;
        let far = group.rows.iter().any(|row| {
            let medians = row.cells.iter().filter_map(Cell::figure);
            AxisScale::of_values(medians.map(|figure| figure.value)) == AxisScale::Log
        });
        let cells = group.rows.iter().flat_map(|row| &row.cells);
        let ranges = cells.filter_map(Cell::figure).map(range);
        let least = ranges.clone().map(|(min, _)| min);
        let least = least.fold(f64::INFINITY, f64::min);
        Self {
            begin: (far && least > 0.0).then(|| round_below(least / SHORTEST, 1.0)),
            longest: ranges.map(|(_, max)| max).fold(1.0, f64::max),
        }
    }

    /// The position of a time, from 0 to 1.
    fn part(self, time_ns: f64) -> f64 {
        match self.begin {
            Some(begin) => (time_ns.max(begin) / begin).ln() / (self.longest / begin).ln(),
            None => time_ns / self.longest,
        }
    }

    /// The time at a position from 0 to 1.
    fn time(self, part: f64) -> f64 {
        match self.begin {
            Some(begin) => begin * (self.longest / begin).powf(part),
            None => self.longest * part,
        }
    }

    /// The position of a time as a percentage.
    fn x(self, time_ns: f64) -> String {
        format!("{:.1}%", self.part(time_ns) * MAX_BAR_PERCENT)
    }

    /// The description of a logarithmic scale.
    pub fn about(self) -> Option<String> {
        let begin = round_time(self.begin?);
        Some(format!("bars: log scale from {begin}"))
    }

    /// The ticks of a logarithmic scale: its begin, and powers of ten that have room for a label.
    fn ticks(self) -> Vec<f64> {
        /// The smallest distance of ticks, as a part of the width.
        const ROOM: f64 = 0.25;
        let Some(begin) = self.begin else {
            return Vec::new();
        };
        let mut ticks = vec![begin];
        let first = 10_f64.powf(begin.log10().ceil());
        let powers = (0..20).map(|power| first * 10_f64.powi(power));
        for power in powers.take_while(|power| *power <= self.longest) {
            let last = ticks.last().copied().unwrap_or(begin);
            if self.part(power) - self.part(last) >= ROOM {
                ticks.push(power);
            }
        }
        ticks
    }

    /// The labels of the ticks, above the bars; nothing on a linear scale.
    pub fn axis(self) -> String {
        let ticks = self.ticks().into_iter();
        let labels: Vec<String> = ticks
            .map(|time| {
                let (x, text) = (self.x(time), round_time(time));
                let anchor = match self.part(time) {
                    part if part < 0.05 => "start",
                    part if part > 0.9 => "end",
                    _ => "middle",
                };
                format!(r#"<text x="{x}" y="11" text-anchor="{anchor}">{text}</text>"#)
            })
            .collect();
        if labels.is_empty() {
            return String::new();
        }
        let labels = labels.concat();
        format!(r#"<svg class="ticks" height="14" aria-hidden="true">{labels}</svg>"#)
    }
}

/// A round time with its unit: `20 ms`.
fn round_time(time_ns: f64) -> String {
    // A power of ten may be slightly smaller than its unit.
    let scale = Scale::of_times(std::iter::once(time_ns * (1.0 + 1e-9)));
    format!("{:.0} {}", time_ns / scale.ns(), scale.unit())
}

/// The bars of the contender in column `at`: to return above, to durable below. `unit` is that of
/// the descriptions.
pub fn bars(group: &Group, at: usize, scale: BarScale, unit: Scale, dots: Dots) -> String {
    let figures = group.rows.iter();
    let figures =
        figures.filter_map(|row| Some((row.label.full.as_str(), row.cells[at].figure()?)));
    let figures: Vec<(&str, &Figure)> = figures.collect();
    if figures.is_empty() {
        return String::new();
    }
    let height = PITCH * u32::try_from(group.rows.len()).unwrap_or(2) + 1;
    let mut svg = format!(r#"<svg height="{height}" aria-hidden="true">"#);
    for tick in scale.ticks() {
        let x = scale.x(tick);
        let _ = write!(
            svg,
            r#"<rect class="tick" x="{x}" width="1" height="{height}"/>"#
        );
    }
    for (row, (measure, figure)) in (0_u32..).zip(figures) {
        bar(&mut svg, measure, figure, row * PITCH, scale);
        let middle = row * PITCH + 7;
        match dots {
            Dots::Each => each(&mut svg, figure, middle, scale, unit),
            Dots::Bins(bins) => binned(&mut svg, figure, middle, (scale, bins), unit),
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

fn bar(svg: &mut String, class: &str, figure: &Figure, top: u32, scale: BarScale) {
    let (y, middle) = (top + 1, top + 7);
    let _ = write!(
        svg,
        r#"<g class="{class}"><rect y="{y}" width="{}" height="12"/>"#,
        scale.x(figure.value)
    );
    if let Some((min, max)) = figure.spread {
        let (min, max) = (scale.x(min), scale.x(max));
        let _ = write!(
            svg,
            r#"<line x1="{min}" x2="{max}" y1="{middle}" y2="{middle}"/>"#,
        );
    }
}

fn each(svg: &mut String, figure: &Figure, middle: u32, scale: BarScale, unit: Scale) {
    for (block, time) in &figure.samples {
        let _ = write!(
            svg,
            r#"<circle cx="{}" cy="{middle}" r="{}" data-tip="block {}: {} {}"/>"#,
            scale.x(*time),
            RADIUS.0,
            block + 1,
            unit.show(*time),
            unit.unit(),
        );
    }
}

fn binned(
    svg: &mut String,
    figure: &Figure,
    middle: u32,
    (scale, bins): (BarScale, usize),
    unit: Scale,
) {
    let mut counts = vec![0_usize; bins];
    for (_, time) in &figure.samples {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are between zero and the longest"
        )]
        let bin = (scale.part(*time) * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1;
    }
    let fullest = counts.iter().copied().max().unwrap_or(1) as f64;
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let at = |bin: f64| scale.time(bin / bins as f64);
        let (from, middle_time, to) = (at(bin as f64), at(bin as f64 + 0.5), at((bin + 1) as f64));
        let radius = RADIUS.1 * (*count as f64 / fullest).sqrt();
        let _ = write!(
            svg,
            r#"<circle cx="{}" cy="{middle}" r="{:.1}" data-tip="{} {}: {count} of {}"/>"#,
            scale.x(middle_time),
            radius.max(1.0),
            unit.span(from, to, "\u{2013}"),
            unit.unit(),
            crate::terms::count(figure.samples.len(), "sample"),
        );
    }
}
