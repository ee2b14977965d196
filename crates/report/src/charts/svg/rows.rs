//! Panels of rows. Labels are in a column at the left, or above their rows if they are long or the
//! chart is narrow. Panels share a line if there is room.

use super::canvas::{Canvas, LETTERS, LINE, SMALL, columns, n, symbol, width, wrapped_name};
use super::scale::PlacedScale;
use crate::charts::{Chart, Mark, Panel, Row, Scale};
use std::fmt::Write as _;

/// The horizontal gap between panels, pixels.
const GAP: f64 = 22.0;
/// The width of the marker before a label, pixels.
const SYMBOL: f64 = 16.0;
/// The height of the title above a panel, pixels.
const HEAD: f64 = 20.0;
/// The height of a group heading, pixels.
const GROUP: f64 = 20.0;
/// The height of a label of one line above its row, pixels.
const ABOVE: f64 = 16.0;
/// The height of the axis below a panel with a label of one line, pixels.
const AXIS: f64 = 34.0;
/// The smallest distance of ticks, pixels.
const TICKS: f64 = 54.0;

/// The dimensions of the panels, pixels.
struct Layout {
    /// The width of the label column; zero if labels are above their rows.
    gutter: f64,
    columns: usize,
    /// The width of a panel with its figures.
    field: f64,
    /// The width of the column of figures.
    figures: f64,
    /// The height of a row, the same in all panels because they share the labels.
    tall: f64,
}

impl Layout {
    fn of(wide: f64, chart: &Chart) -> Self {
        let rows = || chart.panels.iter().flat_map(|panel| &panel.rows);
        let widest = |of: &dyn Fn(&Row) -> f64| rows().map(of).fold(0.0, f64::max);
        let label = widest(&|row| width(&chart.contenders[row.contender], LETTERS)) + SYMBOL + 8.0;
        let figures = widest(&|row| width(&row.value, LETTERS)) + 10.0;
        let label_column = label <= 0.34 * wide;
        let gutter = if label_column { label } else { 0.0 };
        let figures = if label_column { figures } else { 0.0 };
        let bars = chart.panels.iter().all(is_of_bars);
        let series = chart.panels.iter().flat_map(|panel| &panel.series);
        let mut marks = series.flat_map(|one| &one.marks);
        let many = marks.any(|m| matches!(m, Mark::Dot { .. } | Mark::Bin { .. }));
        let has_ticks = |panel: &Panel| panel.x.scale == Scale::Log;
        let plot = match bars {
            true if chart.panels.iter().any(has_ticks) => 120.0,
            true => 50.0,
            false => 170.0,
        };
        let least = if label_column {
            plot + figures
        } else {
            label.min(wide)
        };
        let columns = columns(chart, wide - gutter, least, GAP);
        let field = (wide - gutter - GAP * (columns - 1) as f64) / columns as f64;
        Self {
            gutter,
            columns,
            field,
            figures,
            tall: if many { 32.0 } else { 20.0 },
        }
    }
}

impl Layout {
    /// The name of a row, wrapped if it is above its row.
    fn name_lines(&self, chart: &Chart, row: &Row) -> Vec<String> {
        let name = &chart.contenders[row.contender];
        if self.gutter > 0.0 {
            return vec![name.clone()];
        }
        let room = self.field - width(&row.value, LETTERS) - SYMBOL - 6.0;
        wrapped_name(name, room, LETTERS)
    }

    /// The heading of a group, wrapped.
    fn group_lines(&self, group: &str) -> Vec<String> {
        wrapped_name(group, self.field + self.gutter, LETTERS)
    }
}

/// The height of the lines of a text after the first one.
fn more_lines(lines: &[String]) -> f64 {
    LINE * lines.len().saturating_sub(1) as f64
}

/// Draws the panels of a chart.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart) {
    let layout = Layout::of(canvas.wide, chart);
    for line in chart.panels.chunks(layout.columns) {
        let top = canvas.y;
        let mut lowest = top;
        for (column, panel) in line.iter().enumerate() {
            let left = layout.gutter + (layout.field + GAP) * column as f64;
            let field = Field::of(&layout, chart, panel, (left, top));
            lowest = field.draw(canvas, column == 0).max(lowest);
        }
        canvas.y = lowest + 4.0;
    }
}

fn is_of_bars(panel: &Panel) -> bool {
    let mut marks = panel.series.iter().flat_map(|one| &one.marks);
    marks.all(|mark| matches!(mark, Mark::Bar { .. }))
}

/// A panel with its position.
struct Field<'a> {
    layout: &'a Layout,
    chart: &'a Chart,
    panel: &'a Panel,
    left: f64,
    top: f64,
    x: PlacedScale<'a>,
    /// The top of each row.
    rows: Vec<f64>,
    tall: f64,
    /// Whether all marks are bars on a linear scale, which need no ticks.
    plain_bars: bool,
}

impl<'a> Field<'a> {
    fn of(layout: &'a Layout, chart: &'a Chart, panel: &'a Panel, (left, top): (f64, f64)) -> Self {
        let marks = || panel.series.iter().flat_map(|one| &one.marks);
        let tall = layout.tall;
        let mut rows = Vec::with_capacity(panel.rows.len());
        let mut y = top + if panel.title.is_empty() { 0.0 } else { HEAD };
        let mut group = "";
        for row in &panel.rows {
            if row.group != group {
                y += GROUP + more_lines(&layout.group_lines(&row.group));
                group = &row.group;
            }
            if layout.gutter == 0.0 {
                y += ABOVE + more_lines(&layout.name_lines(chart, row));
            }
            rows.push(y);
            y += tall;
        }
        let to = left + layout.field - layout.figures;
        let xs = || marks().flat_map(Mark::xs);
        let mut x = PlacedScale::of(&panel.x, xs(), left, to);
        let bars = is_of_bars(panel);
        if bars {
            x = x.for_bars(xs());
        }
        let plain_bars = bars && !x.is_log();
        if !plain_bars {
            x = x.with_labels_inside(left, left + layout.field, TICKS);
        }
        Self {
            layout,
            chart,
            panel,
            left,
            top,
            x,
            rows,
            tall,
            plain_bars,
        }
    }

    fn bottom(&self) -> f64 {
        self.rows.last().map_or(self.top + HEAD, |y| y + self.tall)
    }

    /// The label of the axis, wrapped to the width of the panel.
    fn axis_lines(&self) -> Vec<String> {
        wrapped_name(&self.x.label(), self.layout.field, SMALL)
    }

    /// The vertical position of a row, or of a part of one.
    fn y(&self, y: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates, and rows are few"
        )]
        let row = (y.floor() as usize).min(self.rows.len().saturating_sub(1));
        let top = self.rows.get(row).copied().unwrap_or(self.top);
        top + (y - row as f64) * self.tall
    }

    /// Draws the panel and returns its bottom.
    fn draw(&self, canvas: &mut Canvas, first: bool) -> f64 {
        canvas.text((self.left, self.top + 12.0), "p", &self.panel.title);
        self.draw_background(canvas);
        self.labels(canvas, first);
        canvas.series(self.chart, self.panel, |canvas, one, mark| {
            self.mark(canvas, one.contender, mark)
        });
        let axis = if self.plain_bars {
            8.0
        } else {
            AXIS + more_lines(&self.axis_lines())
        };
        self.bottom() + axis
    }

    /// The background of the marks: ticks, reference line, zero line.
    fn draw_background(&self, canvas: &mut Canvas) {
        let bottom = self.bottom();
        if self.plain_bars {
            self.upright(canvas, "g", self.x.zero());
            return;
        }
        for (x, text) in self.x.ticks(TICKS) {
            self.upright(canvas, "g", x);
            canvas.anchored((x, bottom + 14.0), "k", "middle", &text);
        }
        if let Some(x) = self.panel.x.reference.and_then(|at| self.x.at(at)) {
            self.upright(canvas, "z", x);
        }
        let lines = self.axis_lines();
        let widest = lines.iter().map(|line| width(line, SMALL));
        let half = widest.fold(0.0, f64::max) / 2.0;
        let (from, to) = (self.left, self.left + self.layout.field);
        let middle = f64::midpoint(from, to - self.layout.figures);
        let middle = middle.max(from + half).min((to - half).max(from));
        canvas.centred((middle, bottom + 28.0), "k", &lines);
    }

    /// A vertical line through all rows that does not cross the labels between them.
    fn upright(&self, canvas: &mut Canvas, class: &str, x: f64) {
        let mut path = String::new();
        let mut end = f64::NEG_INFINITY;
        for top in &self.rows {
            if (top - end).abs() > 0.5 {
                if !path.is_empty() {
                    let _ = write!(path, "V{}", n(end));
                }
                let _ = write!(path, "M{} {}", n(x), n(*top));
            }
            end = top + self.tall;
        }
        let _ = write!(path, "V{}", n(end));
        if !self.rows.is_empty() {
            canvas.path(class, &path);
        }
    }

    fn labels(&self, canvas: &mut Canvas, first: bool) {
        let mut group = "";
        let label_column = self.layout.gutter > 0.0;
        for (row, top) in self.panel.rows.iter().zip(&self.rows) {
            let contender = &self.chart.contenders[row.contender];
            if row.group != group {
                group = &row.group;
                let lines = self.layout.group_lines(group);
                let mut y = top - 5.0 - more_lines(&lines);
                if !label_column {
                    let name = self.layout.name_lines(self.chart, row);
                    y -= ABOVE + more_lines(&name);
                }
                let x = if label_column { 0.0 } else { self.left };
                canvas.lines((x, y), "p", &lines);
            }
            let end = self.left + self.layout.field;
            let lines = self.layout.name_lines(self.chart, row);
            let y = if label_column {
                top + self.tall / 2.0 + 4.0
            } else {
                top - 3.0 - more_lines(&lines)
            };
            canvas.open(row.contender, contender);
            if first || !label_column {
                let x = if label_column { 0.0 } else { self.left };
                let at = (x + 5.0, y - 4.0);
                canvas.shape("m", &symbol(row.contender, at, 4.0), contender);
                canvas.lines((x + SYMBOL, y), "", &lines);
            }
            canvas.anchored((end, y), "", "end", &row.value);
            canvas.close();
        }
    }

    /// Draws a mark. `None` if it is outside the scale.
    fn mark(&self, canvas: &mut Canvas, style: usize, mark: &Mark) -> Option<()> {
        match mark {
            Mark::Dot { x, y, label } => canvas.dot((self.x.at(*x)?, self.y(*y)), label),
            Mark::Bin {
                low,
                high,
                y,
                part,
                label,
            } => {
                let (low, high, foot) = (self.x.at(*low)?, self.x.at(*high)?, self.y(*y));
                let tall = (part * self.tall * 0.64).max(1.0);
                let wide = (high - low).max(1.0);
                canvas.rect("h", (low, foot - tall), (wide, tall), label);
            }
            Mark::Range {
                low,
                high,
                y,
                label,
            } => {
                let (low, high, y) = (self.x.at(*low)?, self.x.at(*high)?, self.y(*y));
                let path = [
                    format!("M{} {}v6", n(low), n(y - 3.0)),
                    format!("M{} {}H{}", n(low), n(y), n(high)),
                    format!("M{} {}v6", n(high), n(y - 3.0)),
                ];
                canvas.shape("r", &path.concat(), label);
            }
            Mark::Interval {
                low,
                high,
                y,
                label,
            } => {
                let (low, high, y) = (self.x.at(*low)?, self.x.at(*high)?, self.y(*y));
                let (wide, tall) = ((high - low).max(1.0), 8.0);
                canvas.rect("i", (low, y - tall / 2.0), (wide, tall), label);
            }
            Mark::Middle { x, y, label } => {
                let at = (self.x.at(*x)?, self.y(*y));
                canvas.shape("m", &symbol(style, at, 5.0), label);
            }
            Mark::Bar { x, y, label } => {
                let (zero, y) = (self.x.zero(), self.y(*y));
                // A bar of zero has no length on any scale.
                let end = if *x == 0.0 { zero } else { self.x.at(*x)? };
                let (from, wide) = (end.min(zero), (end - zero).abs().max(0.5));
                canvas.rect("b", (from, y - 6.0), (wide, 12.0), label);
            }
            Mark::Line { points, label } => {
                let mut path = String::new();
                for (x, y) in points {
                    let letter = if path.is_empty() { 'M' } else { 'L' };
                    let (x, y) = (n(self.x.at(*x)?), n(self.y(*y)));
                    let _ = write!(path, "{letter}{x} {y}");
                }
                canvas.stroke(&path, super::canvas::dashes(style), label);
            }
        }
        Some(())
    }
}
