//! A table: columns, rows in groups, and cells. The renderer chooses the layout.

use super::Cell;
use crate::charts::Chart;
use crate::terms::Scale;

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Its subject, short.
    pub name: String,
    /// The kind of its groups: `phase`; empty if there are none.
    pub groups_are: &'static str,
    /// The kind of its rows: `contender`; empty if rows have no names.
    pub rows_are: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub groups: Vec<Group>,
    /// The summary rows.
    pub summary: Vec<Row>,
    /// The handling of columns that do not fit.
    pub overflow: Overflow,
    /// Whether the page draws the figures of a group as bars.
    pub bars: bool,
}

/// A column.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its heading.
    pub label: Label,
    /// The order in which columns are dropped if they do not fit; 0: never, higher values first.
    pub gives_way: u8,
    /// Whether it contains text, which is left-aligned.
    pub is_text: bool,
}

/// A column with the function that makes its cells: its heading, the order in which it is dropped
/// ([`Column::gives_way`]), and its cell.
pub type Quantity<T> = (&'static str, u8, fn(&T) -> Cell);

/// The handling of columns that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The least important columns are dropped.
    #[default]
    Drop,
    /// They follow in a second table.
    Split,
    /// They follow in further tables, each with the first column, which is the baseline.
    SplitWithBaseline,
}

/// The name of a column or a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub full: String,
    /// Its name in a narrow table. The renderer then prints a legend of both names.
    pub short: Option<String>,
    /// Whether it is a contender, which the page can hide.
    pub is_contender: bool,
    /// The page of a site about it, relative to this page.
    pub page: Option<String>,
}

/// Rows under one heading.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The heading; empty for none.
    pub heading: String,
    /// The meaning of the heading.
    pub about: String,
    /// Its phase.
    pub place: Option<String>,
    /// The unit of all its times.
    pub scale: Option<Scale>,
    /// The rows.
    pub rows: Vec<Row>,
    /// A conclusion below the rows.
    pub note: Option<String>,
    /// Charts of the same phase.
    pub charts: Vec<Chart>,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Its name.
    pub label: Label,
    /// A second part of the name: `durable`, `disk 1`.
    pub detail: Option<String>,
    /// Its phase.
    pub place: Option<String>,
    /// The cells, one for each column.
    pub cells: Vec<Cell>,
    /// The reason why there are no cells.
    pub instead: Option<String>,
}

impl Group {
    /// The rows of a phase.
    pub fn of_phase(place: String, rows: Vec<Row>) -> Self {
        Self {
            heading: place.clone(),
            place: Some(place),
            rows,
            ..Self::default()
        }
    }
}

impl Label {
    /// A contender's label.
    pub fn contender(full: impl Into<String>) -> Self {
        Self {
            full: full.into(),
            is_contender: true,
            ..Self::default()
        }
    }

    /// The label with a link to a page of the same site.
    #[must_use]
    pub fn on_page(self, page: impl Into<String>) -> Self {
        Self {
            page: Some(page.into()),
            ..self
        }
    }

    /// The label with a short form.
    #[must_use]
    pub fn with_short(self, short: impl Into<String>) -> Self {
        Self {
            short: Some(short.into()),
            ..self
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
    /// A column that is never dropped.
    pub fn new(label: impl Into<Label>) -> Self {
        Self::giving_way(label, 0)
    }

    /// A column that can be dropped. Higher values of `gives_way` are dropped first.
    pub fn giving_way(label: impl Into<Label>, gives_way: u8) -> Self {
        Self {
            label: label.into(),
            gives_way,
            is_text: false,
        }
    }

    /// A text column.
    pub fn of_text(label: impl Into<Label>) -> Self {
        Self {
            is_text: true,
            ..Self::new(label)
        }
    }

    /// The columns of quantities.
    pub fn of_quantities<T>(quantities: &[Quantity<T>]) -> impl Iterator<Item = Self> {
        let columns = quantities.iter();
        columns.map(|(heading, gives_way, _)| Self::giving_way(*heading, *gives_way))
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

    /// A row of quantities.
    pub fn of_quantities<T>(label: impl Into<Label>, all: &[Quantity<T>], of: &T) -> Self {
        Self::new(label, all.iter().map(|(_, _, cell)| cell(of)).collect())
    }

    /// Sets the cells.
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
    /// A table without groups.
    pub fn new(
        name: impl Into<String>,
        rows_are: &'static str,
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        let group = Group {
            rows: rows.into_iter().collect(),
            ..Group::default()
        };
        Self::grouped(name, ["", rows_are], columns, [group])
    }

    /// A table with the kinds of its groups and of its rows.
    pub fn grouped(
        name: impl Into<String>,
        [groups_are, rows_are]: [&'static str; 2],
        columns: impl IntoIterator<Item = Column>,
        groups: impl IntoIterator<Item = Group>,
    ) -> Self {
        Self {
            name: name.into(),
            groups_are,
            rows_are,
            columns: columns.into_iter().collect(),
            groups: groups.into_iter().collect(),
            ..Self::default()
        }
    }

    /// All rows, with the summary.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.grouped_rows().map(|(_, row)| row)
    }

    /// All rows with their groups; the summary is last.
    pub fn grouped_rows(&self) -> impl Iterator<Item = (Option<&Group>, &Row)> {
        let groups = self.groups.iter();
        let rows = groups.flat_map(|group| group.rows.iter().map(move |row| (Some(group), row)));
        rows.chain(self.summary.iter().map(|row| (None, row)))
    }

    /// The headings of the columns for groups and rows, for a table without group headings.
    pub fn names(&self) -> Vec<&'static str> {
        let groups = self.is_grouped().then_some(self.groups_are);
        let rows = (!self.rows_are.is_empty()).then_some(self.rows_are);
        groups.into_iter().chain(rows).collect()
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.rows.is_empty())
    }

    /// Whether a group has a heading.
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

    /// The unit of its times; `m:ss` with `clock`.
    pub fn scale_as(&self, clock: bool) -> Option<Scale> {
        self.scale.map(|scale| {
            if clock && scale.is_of_times() {
                Scale::Clock
            } else {
                scale
            }
        })
    }
}
