//! The error of a workload, with its place in the text.

use std::ops::Range;

/// A workload that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", help.as_ref().map_or_else(String::new, |help| format!(" ({help})")))]
pub struct WorkError {
    /// The place: a range of bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// The remedy, if it is not in the message.
    pub help: Option<String>,
}

impl WorkError {
    pub(crate) fn new(
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let help = help.into();
        Self {
            span,
            message: message.into(),
            help: (!help.is_empty()).then_some(help),
        }
    }
}
