//! A program to run for a phase, and the record of one that ran. Nothing is run here.

use fsdyno_model::units::Nanos;
use std::ffi::OsString;
use std::path::PathBuf;

/// A program to run for a phase.
#[derive(Debug, Default)]
pub(crate) struct ToolRun {
    /// How reports describe it.
    pub method: &'static str,
    pub argv: Vec<OsString>,
    /// The Debian package that holds the program, where one is known.
    pub package: Option<&'static str>,
    /// Each line it prints counts as a match; else its output goes to `/dev/null`.
    pub counts_lines: bool,
    /// The highest exit status that is no failure.
    pub highest_status: i32,
    /// Whether any text on standard error is a failure: its exit status reports none.
    pub fails_on_stderr: bool,
    /// A directory that must exist, made before the clock starts.
    pub makes: Option<PathBuf>,
    /// The directory it starts in; that of fsdyno where none is named.
    pub current_dir: Option<PathBuf>,
    /// Its standard input, smaller than a pipe's buffer; empty where none.
    pub input: Option<Vec<u8>>,
    /// Bytes kept of the end of its standard output; not used with `counts_lines`.
    pub keeps: usize,
    /// Whether it gets the user's environment, rather than a path and the C locale.
    pub user_environment: bool,
    /// One more variable of its environment, by name and value.
    pub mark: Option<(&'static str, String)>,
}

impl ToolRun {
    pub fn new<const N: usize>(method: &'static str, argv: [&str; N]) -> Self {
        Self {
            method,
            argv: argv.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    pub fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.argv.push(word.into());
        self
    }

    pub fn args<const N: usize>(mut self, words: [&str; N]) -> Self {
        self.argv.extend(words.into_iter().map(Into::into));
        self
    }
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCommand {
    /// Program and arguments (bytes that are not UTF-8 are replaced).
    pub argv: Vec<String>,
    /// The exit status; none where a signal ended it.
    pub status: Option<i32>,
    /// How long it took.
    pub took: Nanos,
    /// The end of its standard output; empty where it was not kept.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}
