//! Panels with two axes. Lines have the dash pattern and the marker of their contenders. The legend
//! is above; if there is room, names are also at the ends of the lines.

use super::canvas::{
    Canvas, LETTERS, LINE, SMALL, columns, dashes, has_short_parts, n, symbol, width, wrapped_name,
};
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
/// The smallest distance of horizontal ticks, and of vertical ones, pixels.
const TICKS: (f64, f64) = (50.0, 26.0);
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
            lowest = lowest.max(field.bottom + AXIS + field.names.more);
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
        let lines = wrapped_name(name, canvas.wide - SAMPLE, LETTERS);
        let widest = lines.iter().map(|line| width(line, LETTERS));
        let wide = (SAMPLE + widest.fold(0.0, f64::max) + 14.0).min(canvas.wide);
        if x > 0.0 && x + wide > canvas.wide {
            x = 0.0;
            canvas.down(18.0);
        }
        let y = canvas.y - 4.0;
        canvas.open(at, name);
        let path = format!("M{} {}h24", n(x), n(y - 4.0));
        canvas.stroke(&path, dashes(at), name);
        canvas.shape("m", &symbol(at, (x + 12.0, y - 4.0), 4.0), name);
        canvas.lines((x + SAMPLE, y), "", &lines);
        canvas.close();
        x += wide;
        canvas.down(LINE * (lines.len() - 1) as f64);
    }
    canvas.down(6.0);
}

/// A panel with its position.
struct Field<'a> {
    chart: &'a Chart,
    panel: &'a Panel,
    x: PlacedScale<'a>,
    y: PlacedScale<'a>,
    /// The title above the panel.
    title: Vec<String>,
    /// The labels of the named positions.
    names: Names,
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
        let head = |label: &str| {
            let title = if label.starts_with(&panel.title) {
                label.to_owned()
            } else {
                format!("{}: {label}", panel.title)
            };
            wrapped_name(&title, wide, LETTERS)
        };
        let scale = |top: f64| PlacedScale::of(up, marks().flat_map(Mark::ys), top + tall, top);
        let title = head(&scale(0.0).label());
        let top = origin.1 + HEAD + LINE * (title.len() - 1) as f64;
        let (y, bottom) = (scale(top), top + tall);
        let values = y.ticks(TICKS.1).into_iter();
        let values = values
            .map(|(_, text)| width(&text, SMALL))
            .fold(0.0, f64::max);
        let left = origin.0 + values + 10.0;
        let drawn = panel.series.iter().filter(|one| !one.marks.is_empty());
        let widths = drawn.map(|one| width(&chart.contenders[one.contender], SMALL));
        let widest = widths.fold(0.0, f64::max) + 10.0;
        let ends = (wide >= MIN_PANEL_WIDTH && widest <= 0.3 * wide).then_some(widest);
        let right = origin.0 + wide - ends.unwrap_or(6.0);
        let x = PlacedScale::of(
            &panel.x,
            marks().flat_map(Mark::xs),
            left + 4.0,
            right - 4.0,
        );
        let (x, names) = if panel.x.names.is_empty() {
            let x = x.with_labels_inside(origin.0, origin.0 + wide, TICKS.0);
            (x, Names::default())
        } else {
            Names::place(&panel.x.names, x, (origin.0, origin.0 + wide))
        };
        Self {
            chart,
            panel,
            x,
            y,
            title,
            names,
            origin,
            left,
            right,
            top,
            bottom,
            ends,
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        canvas.lines((self.origin.0, self.origin.1 + 13.0), "p", &self.title);
        for (y, text) in self.y.ticks(TICKS.1) {
            canvas.line("g", (self.left, y), (self.right, y));
            canvas.anchored((self.left - 5.0, y + 4.0), "k", "end", &text);
        }
        for (x, text) in self.names.ticks(&self.x) {
            canvas.line("g", (x, self.bottom), (x, self.bottom + 4.0));
            self.names.draw(canvas, (x, self.bottom), &text);
        }
        canvas.line("g", (self.left, self.bottom), (self.right, self.bottom));
        let middle = f64::midpoint(self.left, self.right);
        let below = self.bottom + 30.0 + self.names.more;
        canvas.anchored((middle, below), "k", "middle", &self.x.label());
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

/// The labels of named positions: wrapped below their ticks, or turned if that is too wide.
#[derive(Default)]
struct Names {
    /// The lines of each label, from the first position on; empty for an axis of quantities.
    labels: Vec<Vec<String>>,
    /// The angle of turned labels, degrees.
    angle: Option<f64>,
    /// Every which position has a label, counted from the last one.
    every: usize,
    /// The height in addition to a label of one line, pixels.
    more: f64,
}

impl Names {
    /// The smallest distance of turned labels, pixels.
    const TURNED: f64 = 14.0;
    /// The most lines of a label that is not turned.
    const LINES: usize = 3;
    const SLANT: f64 = -45.0;

    /// Places these names below a scale between two limits. The scale shrinks until the labels at
    /// its ends fit.
    fn place<'a>(
        names: &[String],
        scale: PlacedScale<'a>,
        (left, right): (f64, f64),
    ) -> (PlacedScale<'a>, Self) {
        let place = |scale: &PlacedScale<'_>, at: usize| scale.at(at as f64);
        let distance = |scale: &PlacedScale<'_>| match (place(scale, 0), place(scale, 1)) {
            (Some(one), Some(next)) if names.len() > 1 => next - one,
            _ => right - left,
        };
        let slot = distance(&scale) - 8.0;
        let widest = |lines: &[String]| {
            lines
                .iter()
                .map(|line| width(line, SMALL))
                .fold(0.0, f64::max)
        };
        let labels: Vec<Vec<String>> = names
            .iter()
            .map(|name| wrapped_name(name, slot, SMALL))
            .collect();
        let lines = labels.iter().map(Vec::len).max().unwrap_or(1);
        let is_flat =
            lines <= Self::LINES && names.iter().all(|name| has_short_parts(name, slot, SMALL));
        if is_flat {
            let half = |label: Option<&Vec<String>>| label.map_or(0.0, |one| widest(one) / 2.0);
            let (first, last) = (place(&scale, 0), place(&scale, labels.len() - 1));
            let before = first.map_or(0.0, |x| left - (x - half(labels.first())));
            let after = last.map_or(0.0, |x| x + half(labels.last()) - right);
            let scale = scale.shortened(before, after);
            let names = Self {
                labels,
                angle: None,
                every: 1,
                more: LINE * (lines - 1) as f64,
            };
            return (scale, names);
        }
        let slanted = Self::SLANT.to_radians();
        let fits = |(at, name): (usize, &String)| {
            place(&scale, at).is_none_or(|x| x - width(name, SMALL) * slanted.cos() >= left)
        };
        let angle = if names.iter().enumerate().all(fits) {
            Self::SLANT
        } else {
            -90.0
        };
        let longest = widest(names);
        let every = (Self::TURNED / distance(&scale)).ceil().max(1.0);
        let names = Self {
            labels: names.iter().map(|name| vec![name.clone()]).collect(),
            angle: Some(angle),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive number, and `as` saturates"
            )]
            every: every as usize,
            more: (longest * angle.to_radians().sin().abs() - 4.0).max(0.0),
        };
        (scale, names)
    }

    /// The ticks of a scale with their labels.
    fn ticks(&self, scale: &PlacedScale<'_>) -> Vec<(f64, Vec<String>)> {
        if self.labels.is_empty() {
            let ticks = scale.ticks(TICKS.0).into_iter();
            return ticks.map(|(x, text)| (x, vec![text])).collect();
        }
        let labels = self.labels.iter().enumerate().rev();
        let labels = labels.step_by(self.every.max(1));
        let placed = labels.filter_map(|(at, label)| Some((scale.at(at as f64)?, label.clone())));
        placed.collect()
    }

    fn draw(&self, canvas: &mut Canvas, (x, y): (f64, f64), label: &[String]) {
        match self.angle {
            None => canvas.centred((x, y + 16.0), "k", label),
            Some(angle) => {
                for line in label {
                    canvas.turned((x + 4.0, y + 10.0), "k", angle, line);
                }
            }
        }
    }
}
