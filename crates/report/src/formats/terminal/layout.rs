//! The layout of a table's columns: names, widths, and the number of lines of a figure.

use super::super::cells::{Parts, Style};
use super::paint::{width, wrap};
use crate::document::{Label, Overflow, Row, Table};

/// Blank columns before each column.
pub const GAP: usize = 2;
/// Up to this width, the name of a row takes precedence over columns.
const NAME: usize = 20;
/// The largest width of row names if columns are split.
const SPLIT_NAME: usize = 28;

/// The number of lines of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Median, spread, ratio and its interval.
    One,
    /// Median and ratio on the first line; the rest on the second.
    Two,
    /// Each on its own line.
    Three,
}

/// The largest width of each part of a column's cells.
#[derive(Debug, Clone, Copy, Default)]
pub struct Widths {
    pub value: usize,
    pub spread: usize,
    pub ratio: usize,
    pub interval: usize,
}

/// A column with its position.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Its index in the table.
    pub at: usize,
    /// Its heading, in lines.
    pub heading: Vec<String>,
    /// The widths of its parts.
    pub parts: Widths,
    /// Its width.
    pub width: usize,
}

/// The layout of tables that have the same columns.
#[derive(Debug)]
pub struct Layout {
    pub level: Level,
    /// The width of the names of rows.
    pub stub: usize,
    /// The largest width of a name that is printed in full.
    pub name_room: usize,
    /// Columns side by side; several lists if they do not fit.
    pub runs: Vec<Vec<Placed>>,
}

impl Widths {
    fn take(&mut self, parts: &Parts) {
        let value = width(&marked_value(parts));
        self.value = self.value.max(value);
        self.spread = self.spread.max(width(&parts.spread));
        self.ratio = self.ratio.max(width(&marked_ratio(parts)));
        self.interval = self.interval.max(width(&parts.interval));
    }

    fn has_parts(self) -> bool {
        self.spread + self.ratio + self.interval > 0
    }

    /// The width of a figure, columns.
    fn at(self, level: Level) -> usize {
        let below = self.spread.max(self.interval);
        let with = |columns: usize, more: usize| if columns > 0 { columns + more } else { 0 };
        match level {
            Level::One => {
                self.value + with(self.spread, 3) + with(self.ratio, 1) + with(self.interval, 3)
            }
            Level::Two => (self.value + with(self.ratio, 1)).max(below),
            Level::Three => self.value.max(self.ratio).max(below),
        }
    }
}

/// The ratio, with the mark of a cell that has no quantity: `*0.71x`.
pub fn marked_ratio(parts: &Parts) -> String {
    let mark = if parts.best && parts.value.is_empty() {
        "*"
    } else {
        ""
    };
    format!("{mark}{}", parts.ratio)
}

/// The quantity with its marks: `!*1.04`.
pub fn marked_value(parts: &Parts) -> String {
    if parts.value.is_empty() {
        return String::new();
    }
    let mark = |is: bool, mark| if is { mark } else { "" };
    let (warned, best) = (mark(parts.warned, "!"), mark(parts.best, "*"));
    let sensitive = mark(parts.sensitive, "^");
    format!("{warned}{sensitive}{best}{}", parts.value)
}

/// The form of a label that fits into this width.
pub fn fitting(label: &Label, room: usize) -> &str {
    match &label.short {
        Some(short) if width(&label.full) > room.max(width(short)) => short,
        _ => &label.full,
    }
}

/// The indentation of the name of a row.
pub fn indent(table: &Table, row: &Row) -> usize {
    usize::from(table.is_grouped()) * 2 + usize::from(row.detail.is_some()) * 2
}

/// The name of a row, fitted into this width.
pub fn row_name(row: &Row, room: usize) -> &str {
    match &row.detail {
        Some(detail) => detail,
        None => fitting(&row.label, room),
    }
}

impl Layout {
    /// The widest layout for tables with the same columns.
    pub fn of(tables: &[&Table], columns: usize, style: Style) -> Self {
        let first = tables[0];
        let widths = widths(tables, style);
        let has_parts = widths.iter().any(|one| one.has_parts());
        let levels: &[Level] = if has_parts {
            &[Level::One, Level::Two, Level::Three]
        } else {
            &[Level::One]
        };
        for level in levels {
            for short in [false, true] {
                let layout = Self::at(tables, &widths, *level, (short, usize::MAX));
                if layout.total(&layout.runs[0]) <= columns {
                    return layout;
                }
            }
        }
        let last = levels[levels.len() - 1];
        match first.overflow {
            Overflow::Drop => {
                Self::at(tables, &widths, last, (true, NAME)).dropped(tables, columns)
            }
            Overflow::Split | Overflow::SplitWithBaseline => {
                let repeat = first.overflow == Overflow::SplitWithBaseline;
                Self::at(tables, &widths, last, (true, SPLIT_NAME)).split(columns, repeat)
            }
        }
    }

    fn at(
        tables: &[&Table],
        widths: &[Widths],
        level: Level,
        (short, name_room): (bool, usize),
    ) -> Self {
        let placed = tables[0].columns.iter().zip(widths).enumerate();
        let placed = placed.map(|(at, (column, parts))| {
            let cells = parts.at(level);
            let room = if short { cells } else { usize::MAX };
            let heading = heading(&column.label, cells, room);
            let longest = heading.iter().map(|line| width(line)).max().unwrap_or(0);
            Placed {
                at,
                heading,
                parts: *parts,
                width: cells.max(longest),
            }
        });
        let below = level != Level::One && widths.iter().any(|one| one.has_parts());
        let mut layout = Self {
            level,
            stub: 0,
            name_room,
            runs: vec![placed.collect()],
        };
        layout.stub = stub(tables, name_room, below);
        layout
    }

    /// The width of a run of columns with the row names.
    pub fn total(&self, run: &[Placed]) -> usize {
        self.stub + run.iter().map(|one| GAP + one.width).sum::<usize>()
    }

    /// Drops columns that do not fit. The last text column is wrapped.
    fn dropped(mut self, tables: &[&Table], columns: usize) -> Self {
        while self.total(&self.runs[0]) > columns {
            let run = &mut self.runs[0];
            let gives_way = |one: &Placed| tables[0].columns[one.at].gives_way;
            let next = run
                .iter()
                .enumerate()
                .max_by_key(|(at, one)| (gives_way(one), *at));
            match next {
                Some((at, one)) if gives_way(one) > 0 => run.remove(at),
                _ => break,
            };
        }
        let over = self.total(&self.runs[0]).saturating_sub(columns);
        if over > 0
            && let Some(last) = self.runs[0].last_mut()
            && tables[0].columns[last.at].is_text
        {
            last.width = last.width.saturating_sub(over).max(12);
        }
        // The remaining width is for the row names.
        let figures = self.total(&self.runs[0]) - self.stub;
        self.name_room = columns
            .saturating_sub(figures + 2)
            .max(NAME.min(columns / 3));
        self.stub = stub(tables, self.name_room, false).min(columns.saturating_sub(figures));
        self
    }

    /// Splits the columns into runs that fit.
    fn split(mut self, columns: usize, repeat_first: bool) -> Self {
        let mut runs: Vec<Vec<Placed>> = Vec::new();
        for one in self.runs.remove(0) {
            let fits = runs.last().is_some_and(|run: &Vec<Placed>| {
                let least = usize::from(repeat_first && runs.len() > 1);
                run.len() <= least || self.total(run) + GAP + one.width <= columns
            });
            if fits && let Some(run) = runs.last_mut() {
                run.push(one);
            } else {
                let first = runs.first().filter(|_| repeat_first);
                let first = first.and_then(|run| run.first()).cloned();
                runs.push(first.into_iter().chain([one]).collect());
            }
        }
        self.runs = runs;
        self
    }
}

fn widths(tables: &[&Table], style: Style) -> Vec<Widths> {
    let mut widths = vec![Widths::default(); tables[0].columns.len()];
    for table in tables {
        for (group, row) in table.grouped_rows() {
            for (widths, parts) in widths.iter_mut().zip(style.row(group, row)) {
                widths.take(&parts);
            }
        }
    }
    widths
}

/// The heading of a column. The name of a contender is abbreviated if it does not fit, other text
/// is wrapped.
fn heading(label: &Label, cells: usize, room: usize) -> Vec<String> {
    if label.is_contender {
        return vec![fitting(label, room).to_owned()];
    }
    let word = label.full.split(' ').map(width).max().unwrap_or(0);
    wrap(&label.full, cells.max(word).max(1), 0)
}

/// The width of the row names.
fn stub(tables: &[&Table], room: usize, below: bool) -> usize {
    let mut stub = 0;
    for table in tables {
        let rows = table.rows().filter(|row| row.instead.is_none());
        for row in rows {
            let columns = indent(table, row) + width(row_name(row, room)).min(room);
            let parts = if below { indent(table, row) + 2 + 7 } else { 0 };
            stub = stub.max(columns).max(parts);
        }
    }
    stub
}
