//! Errors of the resolver. All of them are errors of the user's input, with their place.

use super::config_error::ConfigError;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("{argument}: {config_error}{}", help_in_brackets(config_error.help().as_deref()))]
    Argument {
        /// The argument, as it is typed (`--fs`).
        argument: Cow<'static, str>,
        #[source]
        config_error: ConfigError,
    },
    /// A plan file that cannot be read.
    #[error("cannot read the plan {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot read the workload {}: {source}", path.display())]
    Workload {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Plan(#[from] PlanFileError),
}

impl ResolveError {
    /// Adds the argument to an error, for `map_err`.
    pub fn argument<E: Into<ConfigError>>(
        argument: impl Into<Cow<'static, str>>,
    ) -> impl Fn(E) -> Self {
        let argument = argument.into();
        move |error| Self::Argument {
            argument: argument.clone(),
            config_error: error.into(),
        }
    }
}

/// An error in a plan file, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFileError {
    /// The path of the file as the user named it.
    pub path: String,
    pub text: String,
    /// The position: a range of bytes.
    pub span: Range<usize>,
    pub message: String,
    /// The remedy, if it is not in the message.
    pub help: Option<String>,
}

impl PlanFileError {
    /// The line of the position, from 1.
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// The column of the position in characters, from 1.
    pub fn column(&self) -> usize {
        let before = self.before();
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        before[line..].chars().count() + 1
    }

    /// The whole line of the position, without its line ending.
    pub fn line_text(&self) -> &str {
        let start = self.before().rfind('\n').map_or(0, |newline| newline + 1);
        self.text[start..].lines().next().unwrap_or_default()
    }

    /// The text before the position.
    fn before(&self) -> &str {
        let mut end = self.span.start.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        &self.text[..end]
    }
}

impl fmt::Display for PlanFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.line(), self.column());
        write!(f, "{}:{line}:{column}: {}", self.path, self.message)?;
        f.write_str(&help_in_brackets(self.help.as_deref()))
    }
}

impl std::error::Error for PlanFileError {}

/// The help in brackets, such as ` (did you mean ext4?)`, or an empty text.
fn help_in_brackets(help: Option<&str>) -> String {
    help.map_or_else(String::new, |help| format!(" ({help})"))
}
