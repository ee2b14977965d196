//! A result set to bytes: terminal, HTML, CSV, JSON, Markdown.
//!
//! What lives here: the model of comparison all formats share ([`table`]), its wording, published
//! tables and what a run is beside them ([`published`]), their reruns ([`reruns`]), runs beside each
//! other ([`compare`]), charts as values and as pictures ([`charts`]), and one module per format. What does not: SQL, clocks, terminal detection.
//! Everything a report depends on is passed in, so that the same result set and options give the same
//! bytes.

pub mod charts;
pub mod compare;
mod figures;
pub mod formats;
pub mod published;
pub mod reruns;
pub mod schemas;
pub mod table;
mod terms;
pub mod why;

pub use formats::why::why as render_why;
pub use formats::{
    Format, ablation as render_ablation, against as render_comparison,
    published as render_published,
};
use fsdyno_model::{Contender, ResultSet};

/// What the slower of two contenders, which stands first, may try against a cause of their difference,
/// as recipes know it.
pub type Advice = fn([&Contender; 2], why::cause::Cause) -> Option<String>;

/// How a report is to look.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Columns a line of the terminal may have; below 60, 60 is taken.
    pub width: usize,
    /// Whether the terminal understands colour.
    pub color: bool,
    /// Times as `m:ss`, like the published tables, instead of figures with a unit.
    pub clock: bool,
    /// What is told against causes of differences.
    pub advice: Advice,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            clock: false,
            advice: |_, _| None,
        }
    }
}

/// A report that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No format has that name.
    #[error("`{name}` is no report format; there are {}", formats::names())]
    UnknownFormat {
        /// What was typed.
        name: String,
    },
    /// A value has no form in JSON: a path of the plan that is not UTF-8.
    #[error("the run {run} has no JSON form; every other format can show it")]
    Json {
        /// The run.
        run: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The rows could not be written.
    #[error("the run {run} has no CSV form")]
    Csv {
        /// The run.
        run: String,
        /// Why.
        source: csv::Error,
    },
    /// A published table, or a run beside one, could not be written.
    #[error("the published table {table} cannot be written as {format}: {why}")]
    Published {
        /// The table.
        table: String,
        /// The format.
        format: Format,
        /// Why.
        why: String,
    },
    /// The difference between two contenders has no such form.
    #[error("the difference between two contenders of {run} cannot be written as {format}: {why}")]
    Why {
        /// The run.
        run: String,
        /// The format.
        format: Format,
        /// Why.
        why: String,
    },
    /// There is nothing for this format to show.
    #[error(
        "the run {run} has no figures of a phase of bonnie, and bonnie-csv shows nothing else: \
         choose another format"
    )]
    NotBonnie {
        /// The run.
        run: String,
    },
    /// The page could not be filled in.
    #[error("the page of run {run} could not be made")]
    Page {
        /// The run.
        run: String,
        /// Why.
        source: minijinja::Error,
    },
}

/// Writes a report of `set`.
pub fn render(set: &ResultSet, format: Format, options: &Options) -> Result<Vec<u8>, ReportError> {
    format.render(set, options)
}
