//! The formats, one module each. A new one is a new file and a line in [`Format::ALL`].

mod ablation;
pub mod bencher;
pub mod bonnie;
pub mod compare;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod openmetrics;
mod published;
pub mod terminal;
pub mod why;

pub use ablation::write as ablation;
pub use published::{against, published};

use crate::{Options, ReportError};
use fsdyno_model::ResultSet;
use std::fmt;
use std::str::FromStr;

/// A form a report can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text for a terminal.
    Terminal,
    /// One page that needs nothing else.
    Html,
    /// Every raw sample, one row each.
    Csv,
    /// The result set, whole.
    Json,
    /// Tables as GitHub shows them.
    Markdown,
    /// The phases of bonnie as bonnie++ writes them.
    BonnieCsv,
    /// Times as Bencher takes them.
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

    pub(crate) fn render(self, set: &ResultSet, options: &Options) -> Result<Vec<u8>, ReportError> {
        match self {
            Self::Terminal => Ok(terminal::render(set, options)),
            Self::Html => html::render(set, options),
            Self::Csv => csv::render(set),
            Self::Json => json::render(set),
            Self::Markdown => Ok(markdown::render(set, options)),
            Self::BonnieCsv => bonnie::render(set),
            Self::Bencher => bencher::render(set),
            Self::OpenMetrics => Ok(openmetrics::render(set)),
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

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}
