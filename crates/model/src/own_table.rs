//! Figures of the user, to show next to those of a run.

/// A table of the user.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnTable {
    /// The name of its file.
    pub name: String,
    /// Its figures.
    pub figures: Vec<OwnFigure>,
}

/// A figure of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnFigure {
    /// Its contender.
    pub contender: String,
    /// Its phase.
    pub phase: OwnPhase,
    /// Its name, as in the list of figures or as a program reports it.
    pub name: String,
    /// Its value, in the unit of [`normalised`](crate::figure_unit::normalised) values.
    pub value: f64,
    /// That unit.
    pub unit: String,
}

/// The phase of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnPhase {
    /// The phase with this label.
    Named(String),
    /// Each phase that reports the figure.
    Reporting,
    /// The phase that runs this command.
    Command(String),
}
