//! The formats of reports, and the errors of reports that do not support a format.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text for a terminal.
    #[default]
    Terminal,
    /// A self-contained HTML page.
    Html,
    /// The figures; for a run one row for each raw sample.
    Csv,
    /// The figures with all metadata.
    Json,
    /// Tables in GitHub's Markdown.
    Markdown,
    /// The phases of bonnie in the CSV format of bonnie++.
    BonnieCsv,
    /// Times in the JSON format of Bencher.
    Bencher,
    /// Times in the text format of Prometheus.
    OpenMetrics,
}

impl Format {
    /// All formats, in the order in which they are listed.
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

    /// The formats that all kinds of reports support. Only runs support the others.
    pub const OF_ALL_REPORTS: [Self; 5] = [
        Self::Terminal,
        Self::Html,
        Self::Csv,
        Self::Json,
        Self::Markdown,
    ];

    /// The name on the command line.
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

impl Format {
    /// The format of a file with this name, by its extension. `None` for other extensions.
    pub fn of_file(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "txt" => Some(Self::Terminal),
            "html" | "htm" => Some(Self::Html),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
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
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum ReportError {
    /// No format has this name.
    #[error("unknown report format `{name}`: use one of {}", names(&Format::ALL))]
    UnknownFormat {
        /// The name on the command line.
        name: String,
    },
    /// Only runs support this format.
    #[error(
        "cannot write {what} as {format}, which shows the figures of one run: use one of {}",
        names(&Format::OF_ALL_REPORTS)
    )]
    OnlyRuns { what: String, format: Format },
    /// A value has no representation in JSON, for example a path that is not UTF-8.
    #[error("cannot write {what} as JSON; every other format can show it")]
    Json {
        what: String,
        source: serde_json::Error,
    },
    /// The rows could not be written.
    #[error("cannot write {what} as CSV")]
    Csv { what: String, source: csv::Error },
    /// A published table cannot be read.
    #[error("cannot read the published table {table}: {why}")]
    Published { table: String, why: String },
    /// The run has no data for this format.
    #[error(
        "cannot write run {run} as bonnie-csv: it has no figures of a phase of bonnie. Use another \
         format"
    )]
    NotBonnie { run: String },
}
