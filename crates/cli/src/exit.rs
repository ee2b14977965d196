//! Errors and exit codes. Every error has one clear message and a documented exit code.

use fsdyno_guests::kernels::GitError;
use fsdyno_host::command::CommandError;
use fsdyno_store::StoreError;
use std::fmt;
use std::process::ExitCode;

/// The exit codes, as `--help` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Success.
    Ok = 0,
    /// An operation failed.
    Failure = 1,
    /// The command line or the plan is wrong.
    Usage = 2,
    Refused = 3,
    /// A capability is missing.
    Missing = 4,
    /// A comparison is beyond a threshold that the user set.
    Beyond = 5,
    /// Another process measures on this machine.
    Busy = 6,
    /// No commit of a bisection can be named.
    Undecided = 7,
    /// The commit of a bisection step cannot be judged.
    Skip = 125,
    /// Interrupted by the user.
    Interrupted = 130,
    /// A bisection step failed for another reason than its commit.
    Abort = 255,
}

impl Code {
    /// The code of an error of git; `otherwise` for one of a repository.
    pub fn of_git(error: &GitError, otherwise: Self) -> Self {
        match error {
            GitError::NoRevision { .. } => Self::Usage,
            GitError::Run(_) => Self::Missing,
            GitError::Command(error) => Self::of_command(error, otherwise),
            GitError::Failed { .. } => otherwise,
        }
    }

    /// The code of a program that did not run to its end; `otherwise` for other reasons than that it is
    /// missing or the user ended it.
    pub fn of_command(error: &CommandError, otherwise: Self) -> Self {
        match error {
            CommandError::NotFound { .. } => Self::Missing,
            CommandError::Stopped { .. } => Self::Interrupted,
            _ => otherwise,
        }
    }

    /// Success, or failure of a check that ran to its end.
    pub fn ok_if(passed: bool) -> Self {
        if passed { Self::Ok } else { Self::Failure }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

#[derive(Debug)]
pub struct CliError {
    pub code: Code,
    message: String,
}

impl CliError {
    /// An error with its exit code.
    pub fn new(code: Code, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Code::Usage, message)
    }

    pub fn interrupted() -> Self {
        Self::new(Code::Interrupted, "interrupted")
    }

    pub fn failure(message: impl fmt::Display) -> Self {
        Self::new(Code::Failure, message)
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<StoreError> for CliError {
    /// A name that no run or store has is a usage error. A store that cannot be read or written is
    /// a failure in every command.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoStore { .. }
            | StoreError::NoSuchRun { .. }
            | StoreError::OnlyRunning { .. }
            | StoreError::Ambiguous { .. }
            | StoreError::BadId { .. } => Self::usage(error),
            _ => Self::failure(error),
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::failure(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_the_user_ended_is_an_interruption_and_no_failure() {
        let of = |error| Code::of_git(&GitError::Command(error), Code::Failure);
        let command = "git rev-list".to_owned();
        assert_eq!(of(CommandError::Stopped { command }), Code::Interrupted);
        let (program, path) = ("git".to_owned(), "/bin".to_owned());
        assert_eq!(of(CommandError::NotFound { program, path }), Code::Missing);
    }
}
