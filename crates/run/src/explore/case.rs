//! A case that a power cut interrupts: a program of operations, a part of a long one, or an
//! application of the user.

use fsdyno_crash::{Operation, Program, sample_windows};
use std::collections::BTreeSet;
use std::fmt;

/// In how many parts the windows of an application or of a long program are explored. Each is stored when it is complete,
/// and may be explored in another guest or on another machine.
pub(super) const PARTS: u32 = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Case {
    Program(Program),
    /// A part of the states of a long program.
    Long(Long),
    /// A part of the states of an application.
    Application(Application),
}

/// A part of the states of a long program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Long {
    pub program: Program,
    /// The maximum number of windows that are explored, of all parts together.
    pub windows: u32,
    /// The seed of the sample of windows.
    pub seed: u64,
    pub part: u32,
}

/// A part of the states of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Its name and settings; none of a command of the user.
    pub name: Option<String>,
    /// A shell command whose result is durable before the application begins.
    pub prepare: Option<String>,
    /// Its shell command. Each line that it prints acknowledges what it did before.
    pub command: String,
    /// The shell command that checks the recovered files. It reads the acknowledged lines.
    pub check: String,
    pub part: u32,
}

impl Case {
    /// The program; none of an application.
    pub fn program(&self) -> Option<&Program> {
        match self {
            Self::Program(program) | Self::Long(Long { program, .. }) => Some(program),
            Self::Application(_) => None,
        }
    }

    /// The number of the power cut after which its program continues.
    pub(super) fn cut(&self) -> Option<u32> {
        self.program().and_then(Program::cut)
    }

    /// The kinds of operations under test.
    pub(super) fn kinds(&self) -> Vec<String> {
        let words: BTreeSet<&str> = match self.program() {
            Some(program) => program.operations.iter().map(Operation::word).collect(),
            None => BTreeSet::from(["application"]),
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// The explored windows of a recording with `count` windows, by their places, and how many of
    /// its share it skips.
    pub(super) fn windows(&self, count: usize) -> (Vec<usize>, u64) {
        let (chosen, part) = match self {
            Self::Program(_) => return ((0..count).collect(), 0),
            Self::Application(application) => ((0..count).collect(), application.part),
            Self::Long(long) => {
                let chosen = sample_windows(count, long.windows as usize, long.seed);
                (chosen, long.part)
            }
        };
        let share = |places: &mut dyn Iterator<Item = usize>| -> Vec<usize> {
            places.skip(part as usize).step_by(PARTS as usize).collect()
        };
        let skipped = share(&mut (0..count).filter(|place| !chosen.contains(place)));
        (share(&mut chosen.iter().copied()), skipped.len() as u64)
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
            Self::Program(program) | Self::Long(Long { program, .. }) => program.fmt(f),
            Self::Application(application) => {
                if let Some(name) = &application.name {
                    return f.write_str(name);
                }
                write!(
                    f,
                    "exec {}\ncheck {}",
                    application.command, application.check
                )
            }
        }
    }
}

impl Application {
    /// Its commands until its end.
    pub(super) fn commands(&self) -> (Option<&str>, &str) {
        (self.prepare.as_deref(), &self.command)
    }

    /// Its name in a sentence.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("the application")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_long_program_explore_its_sample_once_and_count_the_rest() {
        for (count, windows, explored) in [(100, 40, 40), (30, 40, 30), (5, 40, 5), (0, 4, 0)] {
            let mut all = Vec::new();
            let mut skipped = 0;
            for part in 0..PARTS {
                let case = Case::Long(Long {
                    program: Program::default(),
                    windows,
                    seed: 3,
                    part,
                });
                let (places, more) = case.windows(count);
                all.extend(places);
                skipped += more;
            }
            all.sort_unstable();
            all.dedup();
            assert_eq!((all.len(), skipped), (explored, (count - explored) as u64));
            assert!(count == 0 || all.contains(&(count - 1)));
        }
    }
}
