//! Options of a report.

use crate::why::cause::Cause;
use fsdyno_model::Contender;

/// Returns a remedy for a cause of the difference between two contenders. The first is the slower
/// one.
pub type Advice = fn([&Contender; 2], Cause) -> Option<String>;

/// Options of a report.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Columns of the terminal; values below 60 count as 60.
    pub width: usize,
    /// Whether the terminal supports colour.
    pub color: bool,
    /// Whether times are printed as `m:ss`, as in the published tables, instead of with a unit.
    pub clock: bool,
    /// Whether the report of a run on a terminal has all sections, instead of the first screen.
    pub long: bool,
    /// The largest number of lines of a first screen.
    pub lines: usize,
    /// Returns the remedy for a cause of a difference.
    pub advice: Advice,
    /// The place of the style sheet and the script of a page.
    pub assets: Assets,
}

/// The place of the style sheet and the script of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assets {
    /// They are in the page, which loads nothing.
    #[default]
    Inline,
    /// They are in files of a site.
    Shared {
        /// The path from the page to the root of the site: empty, or with a slash at its end.
        root: &'static str,
    },
}

/// The usual largest number of lines of a first screen.
pub const LINES: usize = 40;

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            clock: false,
            long: false,
            lines: LINES,
            advice: |_, _| None,
            assets: Assets::default(),
        }
    }
}
