//! What a power cut interrupts: a program of operations, or an application of the user.

use fsdyno_crash::{Operation, Program};
use std::collections::BTreeSet;
use std::fmt;

/// In how many parts the windows of an application are explored. Each is stored when it is complete,
/// and may be explored in another guest or on another machine.
pub(super) const PARTS: u32 = 16;

/// One case of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Case {
    /// A program.
    Program(Program),
    /// A part of the states of an application.
    Application(Application),
}

/// A part of the states of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Its shell command. Each line that it prints acknowledges what it did before.
    pub command: String,
    /// The shell command that checks the recovered files. It reads the acknowledged lines.
    pub check: String,
    /// The number of this part.
    pub part: u32,
}

impl Case {
    /// The program; none of an application.
    pub fn program(&self) -> Option<&Program> {
        match self {
            Self::Program(program) => Some(program),
            Self::Application(_) => None,
        }
    }

    /// The kinds of operations under test.
    pub(super) fn kinds(&self) -> Vec<String> {
        let words: BTreeSet<&str> = match self {
            Self::Program(program) => program.operations.iter().map(Operation::word).collect(),
            Self::Application(_) => BTreeSet::from(["application"]),
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Whether the window of this place in the recording is part of the case.
    pub(super) fn has_window(&self, place: usize) -> bool {
        match self {
            Self::Program(_) => true,
            Self::Application(application) => place % PARTS as usize == application.part as usize,
        }
    }

    /// The number of its first operation: those of the setup have numbers too.
    pub(super) fn first(&self) -> u32 {
        self.program().map_or(0, Program::first)
    }

    /// The bytes that it writes, as far as they are known.
    pub(super) fn bytes_requested(&self) -> u64 {
        let operations = self
            .program()
            .map_or(&[][..], |program| &program.operations);
        let written = operations.iter().map(|operation| match operation {
            Operation::Write { length, .. } => *length,
            _ => 0,
        });
        written.sum()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(program) => program.fmt(f),
            Self::Application(application) => {
                write!(
                    f,
                    "exec {}\ncheck {}",
                    application.command, application.check
                )
            }
        }
    }
}
