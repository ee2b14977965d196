//! The formats of reports, and why a report has not all of them.

use std::fmt;
use std::str::FromStr;

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text for a terminal.
    Terminal,
    /// One page that needs nothing else.
    Html,
    /// The figures: of a run every raw sample, one row each.
    Csv,
    /// The figures with everything they come from.
    Json,
    /// Tables as GitHub shows them.
    Markdown,
    /// The phases of bonnie as bonnie++ writes them.
    BonnieCsv,
    /// Times as Bencher reads them.
    Bencher,
    /// Times as Prometheus reads them.
    OpenMetrics,
}

impl Format {
    /// All formats, in the order they are listed.
    pub const ALL: [Self; 8] = [
        Self::Terminal,
        Self::Html,
        Self::Csv,
        Self::Json,
        Self::Markdown,
        Self::BonnieCsv,
        Self::Bencher,
        Self::OpenMetrics,
    ];

    /// The formats that reports of all kinds have; the others are of runs alone.
    pub const OF_ALL_REPORTS: [Self; 5] = [
        Self::Terminal,
        Self::Html,
        Self::Csv,
        Self::Json,
        Self::Markdown,
    ];

    /// The name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::BonnieCsv => "bonnie-csv",
            Self::Bencher => "bencher",
            Self::OpenMetrics => "openmetrics",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ReportError;

    fn from_str(name: &str) -> Result<Self, ReportError> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| ReportError::UnknownFormat {
                name: name.to_owned(),
            })
    }
}

fn names(formats: &[Format]) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    names.join(", ")
}

/// A report that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No format has that name.
    #[error("unknown report format `{name}`: use one of {}", names(&Format::ALL))]
    UnknownFormat {
        /// What was typed.
        name: String,
    },
    /// Only a run has this format.
    #[error(
        "cannot write {what} as {format}, which shows the figures of one run: use one of {}",
        names(&Format::OF_ALL_REPORTS)
    )]
    OnlyRuns {
        /// What the report is of.
        what: String,
        /// The format.
        format: Format,
    },
    /// A value has no form in JSON: a path of the plan that is not UTF-8.
    #[error("cannot write {what} as JSON; every other format can show it")]
    Json {
        /// What the report is of.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The rows could not be written.
    #[error("cannot write {what} as CSV")]
    Csv {
        /// What the report is of.
        what: String,
        /// Why.
        source: csv::Error,
    },
    /// A published table cannot be read.
    #[error("cannot read the published table {table}: {why}")]
    Published {
        /// The table.
        table: String,
        /// Why.
        why: String,
    },
    /// There is nothing for this format to show.
    #[error(
        "cannot write run {run} as bonnie-csv: it has no figures of a phase of bonnie. Use another \
         format"
    )]
    NotBonnie {
        /// The run.
        run: String,
    },
}
