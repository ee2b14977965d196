//! A table: columns, rows in groups, and cells. How it is laid out is up to the renderer.

use super::Cell;
use crate::charts::Chart;
use crate::terms::Scale;

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it shows, in few words.
    pub name: String,
    /// What the groups are: `phase`; empty where there are none.
    pub groups_are: &'static str,
    /// What the rows are: `contender`; empty where they have no names.
    pub rows_are: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub groups: Vec<Group>,
    /// Rows that sum up the others.
    pub summary: Vec<Row>,
    /// What happens to columns for which there is no room.
    pub overflow: Overflow,
    /// Whether the page draws the figures of a group as bars.
    pub bars: bool,
}

/// A column.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its heading.
    pub label: Label,
    /// How soon it is left out where there is no room for all (0: never).
    pub gives_way: u8,
    /// Whether it holds words, which begin at the left.
    pub is_text: bool,
}

/// What happens to columns for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// Those that matter least are left out.
    #[default]
    Drop,
    /// They follow below.
    Split,
    /// They follow below, each time behind the first column, which is the baseline.
    SplitWithBaseline,
}

/// The name of a column or a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub full: String,
    /// What a narrow table calls it; the renderer then prints both as a legend.
    pub short: Option<String>,
    /// Whether it is a contender, which the page can hide.
    pub is_contender: bool,
}

/// Rows under one heading.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The heading; empty for none.
    pub heading: String,
    /// What the heading stands for.
    pub about: String,
    /// The phase that it is about.
    pub place: Option<String>,
    /// The unit of all its times.
    pub scale: Option<Scale>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What can be read off, below the rows.
    pub note: Option<String>,
    /// Charts of the same phase.
    pub charts: Vec<Chart>,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Its name.
    pub label: Label,
    /// Which of several rows of that name it is: `durable`, `disk 1`.
    pub detail: Option<String>,
    /// The phase that it is about.
    pub place: Option<String>,
    /// The cells, one for each column.
    pub cells: Vec<Cell>,
    /// Why there are no cells.
    pub instead: Option<String>,
}

impl Label {
    /// The name of a contender, and a short one.
    pub fn contender(full: impl Into<String>, short: impl Into<String>) -> Self {
        Self {
            full: full.into(),
            short: Some(short.into()),
            is_contender: true,
        }
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Label {
    fn from(full: String) -> Self {
        Self {
            full,
            ..Self::default()
        }
    }
}

impl Column {
    /// A column that is never left out.
    pub fn new(label: impl Into<Label>) -> Self {
        Self::giving_way(label, 0)
    }

    /// A column that is left out the sooner, the larger `gives_way` is.
    pub fn giving_way(label: impl Into<Label>, gives_way: u8) -> Self {
        Self {
            label: label.into(),
            gives_way,
            is_text: false,
        }
    }

    /// A column of words.
    pub fn of_text(label: impl Into<Label>) -> Self {
        Self {
            is_text: true,
            ..Self::new(label)
        }
    }
}

impl Row {
    /// A row.
    pub fn new(label: impl Into<Label>, cells: Vec<Cell>) -> Self {
        Self {
            label: label.into(),
            cells,
            ..Self::default()
        }
    }

    /// The same row with these cells.
    #[must_use]
    pub fn with_cells(mut self, cells: Vec<Cell>) -> Self {
        self.cells = cells;
        self
    }

    /// A row without cells, for this reason.
    pub fn without_cells(label: impl Into<Label>, reason: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            instead: Some(reason.into()),
            ..Self::default()
        }
    }

    /// The name on one line: `copy, durable`.
    pub fn name(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}, {detail}", self.label.full),
            None => self.label.full.clone(),
        }
    }
}

impl Table {
    /// All rows, the summary included.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.grouped_rows().map(|(_, row)| row)
    }

    /// All rows with their groups, the summary last.
    pub fn grouped_rows(&self) -> impl Iterator<Item = (Option<&Group>, &Row)> {
        let groups = self.groups.iter();
        let rows = groups.flat_map(|group| group.rows.iter().map(move |row| (Some(group), row)));
        rows.chain(self.summary.iter().map(|row| (None, row)))
    }

    /// The headings of the columns that name groups and rows, for a table without group headings.
    pub fn names(&self) -> Vec<&'static str> {
        let groups = self.is_grouped().then_some(self.groups_are);
        let rows = (!self.rows_are.is_empty()).then_some(self.rows_are);
        groups.into_iter().chain(rows).collect()
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.rows.is_empty())
    }

    /// Whether some group has a heading.
    pub fn is_grouped(&self) -> bool {
        self.groups.iter().any(|group| !group.heading.is_empty())
    }
}

impl Group {
    /// The heading with the unit of the times below it: `copy, ms`.
    pub fn heading_with_unit(&self, clock: bool) -> String {
        match self.scale_as(clock) {
            Some(scale) => format!("{}, {}", self.heading, scale.unit()),
            None => self.heading.clone(),
        }
    }

    /// The unit of its times; minutes and seconds where those are preferred.
    pub fn scale_as(&self, clock: bool) -> Option<Scale> {
        self.scale
            .map(|scale| if clock { Scale::Clock } else { scale })
    }
}
