//! Tables for a terminal.

use super::super::cells::Parts;
use super::Screen;
use super::layout::{
    GAP, Layout, Level, Placed, Widths, indent, marked_ratio, marked_value, row_name,
};
use super::paint::{left, right, width, wrap};
use crate::document::{Group, Row, Table, Tone};

/// A line of a row, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Whole,
    ValueAndRatio,
    Value,
    Spread,
    Ratio,
    Interval,
}

impl Line {
    fn name(self) -> &'static str {
        match self {
            Self::Whole | Self::ValueAndRatio | Self::Value => "",
            Self::Spread => "min-max",
            Self::Ratio => "ratio",
            Self::Interval => "95 %",
        }
    }

    /// Whether some cell has content for it.
    fn is_in(self, cells: &[Parts]) -> bool {
        cells.iter().any(|parts| match self {
            Self::Whole | Self::ValueAndRatio | Self::Value => true,
            Self::Spread => !parts.spread.is_empty(),
            Self::Ratio => !parts.ratio.is_empty(),
            Self::Interval => !parts.interval.is_empty(),
        })
    }
}

impl Screen<'_> {
    /// Prints a table. Tables of one section with the same columns are aligned.
    pub(super) fn table(&mut self, table: &Table) {
        let columns = table.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| column.is_text);
        self.text_columns = columns.map(|(at, _)| at).collect();
        let mut tables = vec![table];
        let peers = self.peers.iter().copied();
        tables.extend(peers.filter(|other| {
            !std::ptr::eq(*other, table)
                && other.overflow == table.overflow
                && other.columns.len() == table.columns.len()
                && other
                    .columns
                    .iter()
                    .zip(&table.columns)
                    .all(|(one, other)| one.label == other.label)
        }));
        let layout = Layout::of(&tables, self.width, self.style);
        self.explain(table, &layout);
        self.gap();
        for (at, run) in layout.runs.iter().enumerate() {
            if at > 0 {
                self.line("");
            }
            self.head(&layout, run);
            for group in &table.groups {
                self.group(table, group, &layout, run);
            }
            for row in &table.summary {
                self.row(table, None, row, &layout, run);
            }
        }
    }

    /// Prints the legend of the short names.
    fn explain(&mut self, table: &Table, layout: &Layout) {
        let heads = layout.runs.iter().flatten();
        let heads = heads.map(|one| (&table.columns[one.at].label, one.heading.concat()));
        let rows = table.rows().filter(|row| row.detail.is_none());
        let rows = rows.map(|row| (&row.label, row_name(row, layout.name_room).to_owned()));
        let mut lines = Vec::new();
        for (label, shown) in heads.chain(rows) {
            if shown != label.full && label.short.as_ref() == Some(&shown) {
                let line = format!("{shown} = {}", label.full);
                let new = self.explained.insert(shown.clone());
                lines.extend(new.then_some((line, width(&shown) + 3)));
            }
        }
        if !lines.is_empty() {
            self.below_heading = false;
        }
        for (line, hang) in lines {
            self.wrapped(&line, hang, Tone::Plain);
        }
    }

    fn head(&mut self, layout: &Layout, run: &[Placed]) {
        let lines = run.iter().map(|one| one.heading.len()).max().unwrap_or(0);
        if run.iter().all(|one| one.heading.concat().is_empty()) {
            return;
        }
        for at in 0..lines {
            let mut line = left("", layout.stub);
            for one in run {
                // Headings with fewer lines are aligned to the last line.
                let skipped = lines - one.heading.len();
                let text = at.checked_sub(skipped).map_or("", |at| &one.heading[at]);
                line += &" ".repeat(GAP);
                line += &self.aligned(text, one);
            }
            let line = self.paint.bold(&line);
            self.line(&line);
        }
        let rule = self
            .paint
            .dim(&"-".repeat(layout.total(run).min(self.width)));
        self.line(&rule);
    }

    fn aligned(&self, text: &str, one: &Placed) -> String {
        if self.text_columns.contains(&one.at) {
            left(text, one.width)
        } else {
            right(text, one.width)
        }
    }

    fn group(&mut self, table: &Table, group: &Group, layout: &Layout, run: &[Placed]) {
        if group.rows.is_empty() {
            return;
        }
        if !group.heading.is_empty() {
            let mut heading = group.heading_with_unit(self.style.clock);
            if !group.about.is_empty() {
                heading = format!("{heading}: {}", group.about);
            }
            self.wrapped(&heading, 4, Tone::Plain);
        }
        for row in &group.rows {
            self.row(table, Some(group), row, layout, run);
        }
        if let Some(note) = &group.note {
            self.wrapped(&format!("  {note}"), 4, Tone::Soft);
        }
    }

    fn row(
        &mut self,
        table: &Table,
        group: Option<&Group>,
        row: &Row,
        layout: &Layout,
        run: &[Placed],
    ) {
        let blank = " ".repeat(indent(table, row));
        let name = row_name(row, layout.name_room);
        if let Some(reason) = &row.instead {
            let name = left(&format!("{blank}{name}"), layout.stub);
            self.wrapped(&format!("{name}  {reason}"), 4, Tone::Plain);
            return;
        }
        let cells = self.style.row(group, row);
        if layout.runs.len() > 1 && run.iter().all(|one| row.cells[one.at].is_unknown()) {
            return;
        }
        let mut stub = format!("{blank}{name}");
        if width(&stub) > layout.stub {
            // A name that does not fit has its own line.
            self.wrapped(&stub, blank.len() + 4, Tone::Plain);
            stub = String::new();
        }
        for line in lines(layout.level, &cells) {
            if !line.name().is_empty() {
                stub = format!("{blank}  {}", line.name());
            }
            let mut text = left(&stub, layout.stub);
            let mut below: Vec<String> = Vec::new();
            for (at, one) in run.iter().enumerate() {
                let is_last = at + 1 == run.len();
                let parts = &cells[one.at];
                text += &" ".repeat(GAP);
                if self.text_columns.contains(&one.at) && is_last {
                    let mut wrapped = wrap(&parts.value, one.width, 0).into_iter();
                    text += &wrapped.next().unwrap_or_default();
                    below = wrapped.collect();
                } else if self.text_columns.contains(&one.at) {
                    text += &left(&parts.value, one.width);
                } else {
                    text += &self.cell(parts, line, one);
                }
            }
            self.line(&text);
            let indent = run.last().map_or(0, |last| layout.total(run) - last.width);
            for line in below {
                self.line(&format!("{}{line}", " ".repeat(indent)));
            }
        }
    }

    /// A ratio, coloured if it has the mark of the best.
    fn ratio(&self, parts: &Parts, columns: usize) -> String {
        let text = right(&marked_ratio(parts), columns);
        if parts.best && parts.value.is_empty() {
            return self.paint.good(&text);
        }
        if parts.one_draw {
            return self.paint.dim(&text);
        }
        text
    }

    /// A line of a cell, coloured, and padded to its column.
    fn cell(&self, parts: &Parts, line: Line, one: &Placed) -> String {
        let Widths {
            value,
            spread,
            ratio,
            interval,
        } = one.parts;
        let shown = |columns| {
            let text = right(&marked_value(parts), columns);
            match (parts.best, parts.warned) {
                (true, _) => self.paint.good(&text),
                (_, true) => self.paint.tone(&text, Tone::Warning),
                _ if parts.one_draw => self.paint.dim(&text),
                _ => text,
            }
        };
        let with_ratio = |columns: usize| {
            if ratio == 0 {
                return shown(columns);
            }
            let value = shown(columns.saturating_sub(ratio + 1));
            format!("{value} {}", self.ratio(parts, ratio))
        };
        match line {
            Line::Whole => {
                let bracketed = |open, text: &str, close| {
                    if text.is_empty() {
                        String::new()
                    } else {
                        format!("{open}{text}{close}")
                    }
                };
                let mut text = String::new();
                if spread > 0 {
                    let brackets = bracketed("(", &parts.spread, ")");
                    text += " ";
                    text += &self.paint.dim(&right(&brackets, spread + 2));
                }
                if ratio > 0 {
                    text += " ";
                    text += &self.ratio(parts, ratio);
                }
                if interval > 0 {
                    let brackets = bracketed("[", &parts.interval, "]");
                    text += &self.paint.dim(&right(&brackets, interval + 3));
                }
                let taken = usize::from(spread > 0) * (spread + 3)
                    + usize::from(ratio > 0) * (ratio + 1)
                    + usize::from(interval > 0) * (interval + 3);
                let columns = one.width.saturating_sub(taken).max(value);
                shown(columns) + &text
            }
            Line::ValueAndRatio => with_ratio(one.width),
            Line::Value => shown(one.width),
            Line::Spread => self.paint.dim(&right(&parts.spread, one.width)),
            Line::Ratio => self.ratio(parts, one.width),
            Line::Interval => self.paint.dim(&right(&parts.interval, one.width)),
        }
    }
}

/// The lines of a row, without empty ones.
fn lines(level: Level, cells: &[Parts]) -> impl Iterator<Item = Line> {
    let lines: &[Line] = match level {
        Level::One => &[Line::Whole],
        Level::Two => &[Line::ValueAndRatio, Line::Spread, Line::Interval],
        Level::Three => &[Line::Value, Line::Spread, Line::Ratio, Line::Interval],
    };
    lines.iter().copied().filter(|line| line.is_in(cells))
}
