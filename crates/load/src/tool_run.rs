//! A program to run for a phase, and the record of a run. This module runs nothing.

use fsdyno_model::capability::LeftOut;
use fsdyno_model::units::Nanos;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A program to run for a phase.
#[derive(Debug, Default)]
pub(crate) struct ToolRun {
    /// Its description in reports.
    pub method: &'static str,
    pub argv: Vec<OsString>,
    /// The Debian package that contains the program, if known.
    pub package: Option<&'static str>,
    /// Whether each printed line counts as a match; otherwise its output goes to `/dev/null`.
    pub counts_lines: bool,
    /// The highest exit status that is not a failure.
    pub highest_status: i32,
    /// Whether any text on standard error is a failure, because its exit status reports none.
    pub fails_on_stderr: bool,
    /// A directory that must exist, made before the clock starts.
    pub makes: Option<PathBuf>,
    /// Its working directory; none for that of fsdyno.
    pub current_dir: Option<PathBuf>,
    /// Its standard input, which it reads before it prints; may be empty.
    pub input: Option<Vec<u8>>,
    /// The number of bytes kept of the end of its standard output; not used with `counts_lines`.
    pub keeps: usize,
    /// Whether it gets the user's environment, instead of only a path and the C locale.
    pub user_environment: bool,
    /// Variables besides those, by name and value.
    pub environment: Vec<(String, OsString)>,
    /// Its name in messages, instead of its command.
    pub name: Option<String>,
    /// An additional environment variable, by name and value.
    pub mark: Option<(&'static str, String)>,
    /// The user that runs it; none for that of fsdyno.
    pub user: Option<User>,
    /// What confines it to the contender, if anything does.
    pub confined: Option<Confined>,
    /// Entries of the dataset that it omits, because the file system cannot store them.
    pub left_out: LeftOut,
}

/// A user of the system, by number, with the primary group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
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

/// What confines a program to the contender: called in its process before it is executed.
#[derive(Clone)]
pub struct Confined(Arc<dyn Fn() -> io::Result<()> + Send + Sync>);

impl Confined {
    /// This function moves the calling process to where it can write only the contender. It must not
    /// allocate or lock.
    pub fn by(enter: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(enter))
    }

    pub(crate) fn enter(&self) -> io::Result<()> {
        (self.0)()
    }
}

impl fmt::Debug for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Confined")
    }
}

/// The record of a program run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCommand {
    /// Program and arguments (bytes that are not UTF-8 are replaced).
    pub argv: Vec<String>,
    /// The exit status; none if a signal killed it.
    pub status: Option<i32>,
    pub elapsed: Nanos,
    /// The end of its standard output; empty if it was not kept.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}
