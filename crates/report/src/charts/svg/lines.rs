//! Panels with two axes. Lines have the dash pattern and the marker of their contenders. The legend
//! is above; if there is room, names are also at the ends of the lines.

use super::canvas::{Canvas, LETTERS, SMALL, columns, dashes, fitting, n, symbol, width};
use super::scale::PlacedScale;
use crate::charts::{Axis, Chart, Mark, Panel, Series};
use std::fmt::Write as _;

/// The horizontal gap between panels, pixels.
const GAP: f64 = 28.0;
/// The smallest width of a panel that shares its line with others, pixels.
const MIN_PANEL_WIDTH: f64 = 330.0;
/// The height of the title above a panel, pixels.
const HEAD: f64 = 22.0;
/// The height of the axis below a panel, pixels.
const AXIS: f64 = 36.0;
/// The width of the legend sample before a name, pixels.
const SAMPLE: f64 = 30.0;

/// Draws the panels of a chart below the legend.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart) {
    names(canvas, chart);
    let columns = columns(chart, canvas.wide, MIN_PANEL_WIDTH, GAP);
    let wide = (canvas.wide - GAP * (columns - 1) as f64) / columns as f64;
    for line in chart.panels.chunks(columns) {
        let top = canvas.y;
        let mut lowest = top;
        for (column, panel) in line.iter().enumerate() {
            let left = (wide + GAP) * column as f64;
            let field = Field::of(chart, panel, (left, top), wide);
            field.draw(canvas);
            lowest = lowest.max(field.bottom + AXIS);
        }
        canvas.y = lowest;
    }
}

/// The legend: the contenders with their dash patterns and markers, wrapped to the width.
fn names(canvas: &mut Canvas, chart: &Chart) {
    let mut x = 0.0;
    canvas.down(18.0);
    for at in chart.drawn() {
        let name = &chart.contenders[at];
        let wide = (SAMPLE + width(name, LETTERS) + 14.0).min(canvas.wide);
        if x > 0.0 && x + wide > canvas.wide {
            x = 0.0;
            canvas.down(18.0);
        }
        let y = canvas.y - 4.0;
        canvas.open(at, name);
        let path = format!("M{} {}h24", n(x), n(y - 4.0));
        canvas.stroke(&path, dashes(at), name);
        canvas.shape("m", &symbol(at, (x + 12.0, y - 4.0), 4.0), name);
        canvas.label((x + SAMPLE, y), wide - SAMPLE, LETTERS, name);
        canvas.close();
        x += wide;
    }
    canvas.down(6.0);
}

/// A panel with its position.
struct Field<'a> {
    chart: &'a Chart,
    panel: &'a Panel,
    x: PlacedScale<'a>,
    y: PlacedScale<'a>,
    origin: (f64, f64),
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// The width reserved for names at the ends of lines; `None` if it is too small.
    ends: Option<f64>,
}

impl<'a> Field<'a> {
    fn of(chart: &'a Chart, panel: &'a Panel, origin: (f64, f64), wide: f64) -> Self {
        let marks = || panel.series.iter().flat_map(|one| &one.marks);
        let up: &Axis = panel.y.as_ref().unwrap_or(&panel.x);
        let tall = (wide * 0.48).clamp(130.0, 250.0);
        let (top, bottom) = (origin.1 + HEAD, origin.1 + HEAD + tall);
        let y = PlacedScale::of(up, marks().flat_map(Mark::ys), bottom, top);
        let values = y.ticks(26.0).into_iter();
        let values = values
            .map(|(_, text)| width(&text, SMALL))
            .fold(0.0, f64::max);
        let left = origin.0 + values + 10.0;
        let drawn = panel.series.iter().filter(|one| !one.marks.is_empty());
        let named = drawn.map(|one| width(&chart.contenders[one.contender], SMALL));
        let named = named.fold(0.0, f64::max) + 10.0;
        let ends = (wide >= MIN_PANEL_WIDTH && named <= 0.3 * wide).then_some(named);
        // The name of the last position is below the end of the axis.
        let last = panel.x.names.last().map_or(0.0, |name| width(name, SMALL));
        let right = origin.0 + wide - ends.unwrap_or(6.0).max(last.min(0.3 * wide) / 2.0 - 4.0);
        Self {
            x: PlacedScale::of(
                &panel.x,
                marks().flat_map(Mark::xs),
                left + 4.0,
                right - 4.0,
            ),
            y,
            chart,
            panel,
            origin,
            left,
            right,
            top,
            bottom,
            ends,
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let room = self.right - self.origin.0;
        let (title, label) = (&self.panel.title, self.y.label());
        let up = if label.starts_with(title) {
            label
        } else {
            format!("{title}: {label}")
        };
        canvas.text(
            (self.origin.0, self.origin.1 + 13.0),
            "p",
            &fitting(&up, room, LETTERS),
        );
        for (y, text) in self.y.ticks(26.0) {
            canvas.line("g", (self.left, y), (self.right, y));
            canvas.anchored((self.left - 5.0, y + 4.0), "k", "end", &text);
        }
        for (x, text) in self.x.ticks(50.0) {
            canvas.line("g", (x, self.bottom), (x, self.bottom + 4.0));
            canvas.anchored((x, self.bottom + 16.0), "k", "middle", &text);
        }
        canvas.line("g", (self.left, self.bottom), (self.right, self.bottom));
        let middle = f64::midpoint(self.left, self.right);
        canvas.anchored((middle, self.bottom + 30.0), "k", "middle", &self.x.label());
        canvas.series(self.chart, self.panel, |canvas, one, mark| {
            self.mark(canvas, one.contender, mark, one.marks.len() > 60)
        });
        if self.ends.is_some() {
            self.names_at_ends(canvas);
        }
    }

    /// Draws a mark. `None` if it is outside the scale.
    fn mark(&self, canvas: &mut Canvas, style: usize, mark: &Mark, small: bool) -> Option<()> {
        match mark {
            Mark::Line { points, label } => {
                let path = self.path(points);
                if path.is_empty() {
                    return None;
                }
                canvas.stroke(&path, dashes(style), label);
            }
            Mark::Dot { x, y, label }
            | Mark::Middle { x, y, label }
            | Mark::Bar { x, y, label } => {
                let at = (self.x.at(*x)?, self.y.at(*y)?);
                let r = if small { 2.0 } else { 3.6 };
                canvas.shape("m", &symbol(style, at, r), label);
            }
            Mark::Bin {
                low,
                high,
                y,
                label,
                ..
            }
            | Mark::Range {
                low,
                high,
                y,
                label,
            }
            | Mark::Interval {
                low,
                high,
                y,
                label,
            } => {
                let (low, high, y) = (self.x.at(*low)?, self.x.at(*high)?, self.y.at(*y)?);
                let path = format!("M{} {}H{}", n(low), n(y), n(high));
                canvas.shape("r", &path, label);
            }
        }
        Some(())
    }

    /// A line through the points inside the scale, with gaps at the others.
    fn path(&self, points: &[(f64, f64)]) -> String {
        let (mut path, mut pen) = (String::new(), 'M');
        for (x, y) in points {
            let (Some(x), Some(y)) = (self.x.at(*x), self.y.at(*y)) else {
                pen = 'M';
                continue;
            };
            let _ = write!(path, "{pen}{} {}", n(x), n(y));
            pen = 'L';
        }
        path
    }

    /// The names at the ends of the lines, moved so that they do not overlap.
    fn names_at_ends(&self, canvas: &mut Canvas) {
        const MIN_DISTANCE: f64 = 12.0;
        let end = |one: &Series| {
            let mut lines = one.marks.iter().filter_map(|mark| match mark {
                Mark::Line { points, .. } => points.last(),
                _ => None,
            });
            let y = lines.next_back().and_then(|(_, y)| self.y.at(*y))?;
            Some((y, one.contender))
        };
        let mut ends: Vec<(f64, usize)> = self.panel.series.iter().filter_map(end).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut lowest = self.top - MIN_DISTANCE;
        for (y, _) in &mut ends {
            *y = y.max(lowest + MIN_DISTANCE);
            lowest = *y;
        }
        // Names pushed below the panel move up again.
        let mut highest = self.bottom + MIN_DISTANCE;
        for (y, _) in ends.iter_mut().rev() {
            *y = y.min(highest - MIN_DISTANCE);
            highest = *y;
        }
        for (y, contender) in ends {
            let name = &self.chart.contenders[contender];
            canvas.open(contender, name);
            canvas.text((self.right + 4.0, y + 4.0), "k", name);
            canvas.close();
        }
    }
}
