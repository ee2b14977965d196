//! The works as data: the preparation of each, and the commands of each program.
//!
//! Placeholders of commands: `{d}` is the file system, `{n}` a number of files, `{many}` three
//! times `{n}`, and `{k}` is `{n}` in units of 1024. `{mib}` is the size of large files, and
//! `{ops}` the number of operations at random offsets. `{few}` is a sixteenth of `{ops}`;
//! `{opskib}` and `{fewkib}` are their bytes in KiB. `{tree}` is the scale of the tree, `{fs}` the
//! name of the file system, `{mkfs}` its mkfs command for `{image}`. `{base}` is the directory of
//! images, and `{store}` a temporary store of runs.

mod large;
mod many;
mod programs;
mod trees;

/// The source of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The whole process, with start and exit.
    Process,
    /// The program's own clocks around its operations; fsdyno and fio print them as JSON.
    OwnClocks,
}

/// One work on one file system.
#[derive(Debug)]
pub struct Work {
    pub name: &'static str,
    pub about: &'static str,
    /// Shell lines that prepare the work once.
    pub setup: &'static str,
    /// Shell lines that run untimed before each run.
    pub before: &'static str,
    /// The command of fsdyno.
    pub ours: &'static str,
    pub others: &'static [Other],
}

/// Another program that does the same work.
#[derive(Debug)]
pub struct Other {
    pub name: &'static str,
    pub command: &'static str,
    /// The command of fsdyno for this comparison, if it differs.
    pub ours: Option<&'static str>,
    /// A command of fsdyno whose time is subtracted.
    pub less: Option<&'static str>,
    /// The maximum of pairs of a slow comparison.
    pub pairs: usize,
    pub by: By,
    pub goals: &'static [Goal],
}

/// An upper limit that fsdyno should meet.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    pub of: Of,
    pub most: Most,
}

/// The compared figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Cpu,
    Wall,
}

#[derive(Debug, Clone, Copy)]
pub enum Most {
    /// A ratio to the figure of the other program.
    Ratio(f64),
    /// A difference from the figure of the other program, in seconds.
    More(f64),
}

/// A limit of processor time, as a ratio.
const fn cpu(most: f64) -> Goal {
    Goal {
        of: Of::Cpu,
        most: Most::Ratio(most),
    }
}

/// A limit of wall time, as a ratio.
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

/// Removes the files of the previous work.
pub const CLEAR: &str = "find {d} -mindepth 1 -maxdepth 1 -exec rm -rf {} + ; sync -f {d}";

/// All works, in the order of the page.
pub fn all() -> impl Iterator<Item = &'static Work> {
    let lists = [many::WORKS, large::WORKS, trees::WORKS, programs::WORKS];
    lists.into_iter().flatten()
}

/// Programs that are not compared, with the reason.
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
