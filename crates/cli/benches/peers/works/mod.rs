//! The works, as data: how each is prepared, and which programs do it by which commands.
//!
//! Words in braces: `{d}` is the file system, `{n}` so many files, `{many}` three times
//! as many, `{k}` as many in units of 1024,
//! `{mib}` the size of large files, `{ops}` operations at random offsets of one, `{few}` a sixteenth of them, `{opskib}`
//! and `{fewkib}` their bytes in KiB, `{tree}`
//! the scale of the tree, `{fs}` the name of the file system, `{mkfs}` what makes one on `{image}`,
//! `{base}` the directory of images, `{store}` a temporary store of runs.

mod large;
mod many;
mod programs;
mod trees;

use crate::measure::By;

/// One work on one file system.
#[derive(Debug)]
pub struct Work {
    pub name: &'static str,
    pub about: &'static str,
    /// Prepares the work once: lines of a shell.
    pub setup: &'static str,
    /// Runs untimed before each run.
    pub before: &'static str,
    /// What fsdyno runs.
    pub ours: &'static str,
    pub others: &'static [Other],
}

/// Another program that does the same work.
#[derive(Debug)]
pub struct Other {
    pub name: &'static str,
    pub command: &'static str,
    /// What fsdyno runs for this comparison, if it differs.
    pub ours: Option<&'static str>,
    /// What fsdyno also runs, and whose time is subtracted.
    pub less: Option<&'static str>,
    /// The maximum of pairs, if one takes long.
    pub pairs: usize,
    pub by: By,
    pub goals: &'static [Goal],
}

/// An upper limit that fsdyno should reach.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    pub of: Of,
    pub most: Most,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Cpu,
    Wall,
}

/// The limit.
#[derive(Debug, Clone, Copy)]
pub enum Most {
    /// A share of the other's.
    Ratio(f64),
    /// Seconds more than the other's.
    More(f64),
}

/// A limit of processor time, as a share of the other's.
const fn cpu(most: f64) -> Goal {
    Goal {
        of: Of::Cpu,
        most: Most::Ratio(most),
    }
}

/// A limit of wall time, as a share of the other's.
const fn wall(most: f64) -> Goal {
    Goal {
        of: Of::Wall,
        most: Most::Ratio(most),
    }
}

const fn other(name: &'static str, command: &'static str, goals: &'static [Goal]) -> Other {
    Other {
        name,
        command,
        ours: None,
        less: None,
        pairs: usize::MAX,
        by: By::Process,
        goals,
    }
}

/// A program that times its operations itself. `ours` makes fsdyno do the same.
const fn by_own_clocks(
    name: &'static str,
    command: &'static str,
    ours: &'static str,
    goals: &'static [Goal],
) -> Other {
    Other {
        ours: Some(ours),
        by: By::OwnClocks,
        ..other(name, command, goals)
    }
}

/// Removes what the previous work left.
pub const CLEAR: &str = "find {d} -mindepth 1 -maxdepth 1 -exec rm -rf {} + ; sync -f {d}";

/// All works, in the order of the page.
pub fn all() -> impl Iterator<Item = &'static Work> {
    let lists = [many::WORKS, large::WORKS, trees::WORKS, programs::WORKS];
    lists.into_iter().flatten()
}

/// Programs that are not compared, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    (
        "dbench",
        "it replays a mix of recorded calls with pauses; fsdyno runs \
         it as a workload, and has no other phase that does the same",
    ),
    (
        "elbencho, mdtest, fs_mark",
        "no package of the distribution has them",
    ),
    (
        "GNU cp, rsync and GNU rm with two workers",
        "they have one worker; fsdyno with two workers is compared with it",
    ),
];
