//! How a report is made and printed.

use crate::why::cause::Cause;
use fsdyno_model::Contender;

/// What the slower of two contenders, which is the first, may try against a cause of their
/// difference, as recipes know it.
pub type Advice = fn([&Contender; 2], Cause) -> Option<String>;

/// How a report is made and printed.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Columns of the terminal; at least 60 are used.
    pub width: usize,
    /// Whether the terminal understands colour.
    pub color: bool,
    /// Times as `m:ss`, like the published tables, instead of figures with a unit.
    pub clock: bool,
    /// What to try against causes of differences.
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
