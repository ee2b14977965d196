//! The works, as data: how each is laid out, and who does it by which command.
//!
//! Words in braces: `{d}` is the file system, `{n}` so many files, `{many}` three times
//! as many, `{k}` as many in units of 1024,
//! `{mib}` the size of large files, `{ops}` operations all over one, `{few}` a sixteenth of them, `{opskib}`
//! and `{fewkib}` their bytes in KiB, `{tree}`
//! the scale of the tree, `{fs}` the name of the file system, `{mkfs}` what makes one on `{image}`,
//! `{base}` where images lie, `{store}` a store of runs that goes away.

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
    /// What is laid once, by lines of a shell.
    pub lay: &'static str,
    /// What is done untimed before each run.
    pub before: &'static str,
    /// What fsdyno runs.
    pub ours: &'static str,
    pub others: &'static [Other],
}

/// Somebody else who does the same.
#[derive(Debug)]
pub struct Other {
    pub name: &'static str,
    pub command: &'static str,
    /// What fsdyno runs against this one, where it is something else.
    pub ours: Option<&'static str>,
    /// What fsdyno runs as well and is taken off.
    pub less: Option<&'static str>,
    /// So many pairs at most, where each takes long.
    pub pairs: usize,
    pub by: By,
    pub goals: &'static [Goal],
}

/// What is to be reached.
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

/// How much it may be.
#[derive(Debug, Clone, Copy)]
pub enum Most {
    /// So much of the other's.
    Ratio(f64),
    /// So many seconds more than the other's.
    More(f64),
}

/// Of processor time, so much of the other's.
const fn cpu(most: f64) -> Goal {
    Goal {
        of: Of::Cpu,
        most: Most::Ratio(most),
    }
}

/// Of wall time, so much of the other's.
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

/// One that tells by its own clocks how long its operations took; so does fsdyno, by this command.
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

/// Before each work: nothing is left of the one before.
pub const CLEAR: &str = "find {d} -mindepth 1 -maxdepth 1 -exec rm -rf {} + ; sync -f {d}";

/// All works, in the order of the page.
pub fn all() -> impl Iterator<Item = &'static Work> {
    let lists = [many::WORKS, large::WORKS, trees::WORKS, programs::WORKS];
    lists.into_iter().flatten()
}

/// Who is not held beside fsdyno, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    (
        "dbench",
        "it plays a file of recorded calls, of many kinds mixed and with pauses of its own; fsdyno runs \
         it as a workload, and has no other phase that does the same",
    ),
    (
        "elbencho, mdtest, fs_mark",
        "no package of the distribution has them",
    ),
    (
        "GNU cp, rsync and GNU rm with two workers",
        "they have one; with two, fsdyno is held beside the one they have",
    ),
];
