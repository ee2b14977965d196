//! The mongo benchmark of namesys (2000), reimplemented: workers create trees of small files, and
//! copy, link, read, stat, rename, append to, modify and delete them, in rounds.
//!
//! A phase consists of sequential rounds. In each round, every worker works on its own tree, in
//! parallel with the others. A worker is a thread with its own descriptor table. The figure is the
//! wall time of all rounds, each as long as its slowest worker. With several workers, the time of
//! each worker is also reported. (The original timed only its first worker, and did not time the
//! deletion of the second tree by one worker.) This module does not plan or report phases.
//!
//! A workload file ([`crate::work`]) cannot describe them: all phases but the first walk what the
//! directories list.

mod change;
mod copy;
mod create;
mod follow;
mod parameters;
mod shape;
mod workers;

pub use follow::follow;
pub(crate) use workers::Mongo;
pub(crate) use workers::is_tree;

use super::Job;
use super::table::phases;
use crate::engines::Calls;
use crate::error::LoadError;
use fsdyno_model::Parameter;
use fsdyno_model::capability::Required;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;
pub(crate) use parameters::Parameters;

phases! {
    Create: "mongo-create", "creates trees of small files, one set per worker",
        "openat O_EXCL, write";
    Copy: "mongo-copy", "copies the trees as cp -r does", "read, openat O_EXCL, write";
    Symlinks: "mongo-symlinks", "creates a symbolic link to every file, and reads it",
        "symlinkat, newfstatat, readlinkat";
    Read: "mongo-read", "reads all trees; every worker reads all of them", "openat, read";
    Stats: "mongo-stats", "stats all entries; every worker stats all of them",
        "getdents64, newfstatat";
    Rename: "mongo-rename", "renames every file", "renameat";
    Append: "mongo-append", "appends half of its length to every file",
        "openat, fstat, lseek, write";
    Modify: "mongo-modify", "overwrites the middle tenth of every file",
        "openat, fstat, lseek, write";
    Delete: "mongo-delete", "deletes all trees", "unlinkat";
}

impl Phase {
    const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Stats)
    }

    #[expect(
        clippy::unused_self,
        reason = "phases of other families have different parameters"
    )]
    const fn parameters(self) -> &'static [Parameter] {
        parameters::ALL
    }

    pub fn run<E: Calls + Send>(
        self,
        engine: &mut E,
        job: &Job<'_>,
        mongo: &mut Mongo,
    ) -> Result<Tally, LoadError> {
        let work = match self {
            Self::Create => create::create,
            Self::Copy => copy::copy,
            Self::Symlinks => change::symlinks,
            Self::Read => change::read,
            Self::Stats => change::stats,
            Self::Rename => change::rename,
            Self::Append => change::append,
            Self::Modify => change::modify,
            Self::Delete => change::delete,
        };
        mongo.run(engine, job, work)
    }
}

/// The space on the device of the trees that a phase of mongo makes, including all rounds, workers
/// and later copies; none if it makes no trees.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    Phase::find(&phase.kind).filter(|phase| *phase == Phase::Create)?;
    let parameters = Parameters::read(&phase.parameters);
    let shape = shape::TreeShape::of(parameters.bytes, parameters.median);
    // A file takes whole blocks, an inode and a directory entry, and so does a link. Appending adds
    // half of its size.
    let file = |size: &u64| (size + size / 2).next_multiple_of(4096) + 2048;
    let tree: u64 = shape.sizes.iter().map(file).sum();
    let links = shape.sizes.len() as u64 * 6144;
    let trees = u64::from(parameters.rounds) * u64::from(parameters.processes);
    Some(Bytes((2 * tree + links).saturating_mul(trees)))
}

/// The capabilities that a phase of mongo requires of its file system; none if it is no such phase.
pub fn required(phase: &PhasePlan) -> Option<Vec<Required>> {
    let links = Phase::find(&phase.kind)? == Phase::Symlinks;
    Some(links.then_some(Required::Symlinks).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::sync::SystemCalls;
    use crate::phases::Job;
    use fsdyno_datasets::trees;
    use fsdyno_model::cancel::CancelToken;
    use fsdyno_model::sample::Tally;
    use std::fs;
    use std::path::Path;
    use workers::{Mongo, Worker};

    type Work = fn(&mut SystemCalls, &mut Worker<'_>) -> Result<Tally, crate::error::LoadError>;

    /// Runs a phase in a directory.
    fn phase(mongo: &mut Mongo, root: &Path, work: Work) -> Tally {
        let stop = CancelToken::new();
        let job = Job::bare(root, &stop);
        mongo.run(&mut SystemCalls::default(), &job, work).unwrap()
    }

    fn small(processes: u32) -> Mongo {
        Mongo::new(Parameters {
            bytes: 200_000,
            median: 300,
            processes,
            rounds: 2,
        })
    }

    fn names(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_worker_has_a_tree_in_every_round_and_nothing_is_left_at_the_end() {
        for processes in [1, 3] {
            let home = tempfile::tempdir().unwrap();
            let root = home.path();
            let mut mongo = small(processes);
            let trees = u64::from(processes) * 2;
            let (files, bytes) = (mongo.shape.sizes.len() as u64, mongo.shape.bytes());
            let made = phase(&mut mongo, root, create::create);
            assert_eq!((made.files, made.bytes.0), (trees * files, trees * bytes));
            assert_eq!(
                made.directories,
                trees * mongo.shape.directories.len() as u64
            );
            phase(&mut mongo, root, copy::copy);
            assert_eq!(names(root).len() as u64, 2 * trees);
            let stop = CancelToken::new();
            let same = |a: &str, b: &str| {
                trees::compare(&root.join(a), &root.join(b), &stop)
                    .unwrap()
                    .differences
            };
            let differences = same("testdir1-1-0", "testdir2-1-0");
            assert!(
                differences
                    .iter()
                    .all(|one| one.what.starts_with("changed at")),
                "{differences:?}"
            );
            let read = phase(&mut mongo, root, change::read);
            // Every worker reads all trees, in each round.
            assert_eq!(read.bytes.0, trees * 2 * trees * bytes);
            let looked = phase(&mut mongo, root, change::stats);
            assert_eq!(looked.files, trees * 2 * trees * files);
            assert_eq!(
                mongo.elapsed().filter(|elapsed| *elapsed > 0).count(),
                processes as usize
            );
            phase(&mut mongo, root, change::delete);
            assert_eq!(names(root), [""; 0]);
        }
    }

    #[test]
    fn links_point_to_their_files_until_these_are_renamed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let mut mongo = small(2);
        phase(&mut mongo, root, create::create);
        let files = 4 * mongo.shape.sizes.len() as u64;
        assert_eq!(phase(&mut mongo, root, change::symlinks).files, files);
        let link = root.join("testdir1-0-1/1.lnk");
        assert_eq!(fs::read_link(&link).unwrap(), root.join("testdir1-0-1/1"));
        assert!(link.exists());
        assert_eq!(phase(&mut mongo, root, change::rename).files, files);
        assert!(!link.exists() && root.join("testdir1-0-1/1.r").exists());
        phase(&mut mongo, root, change::delete);
        assert_eq!(names(root), [""; 0]);
    }

    #[test]
    fn appending_adds_half_and_modifying_keeps_the_size() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let mut mongo = small(1);
        phase(&mut mongo, root, create::create);
        let file = root.join("testdir1-0-0/1");
        let before = fs::read(&file).unwrap();
        phase(&mut mongo, root, change::append);
        let longer = fs::read(&file).unwrap();
        assert_eq!(longer.len(), before.len() + before.len().div_ceil(2));
        assert!(longer.starts_with(&before));
        phase(&mut mongo, root, change::modify);
        let other = fs::read(&file).unwrap();
        assert_eq!(other.len(), longer.len());
        assert!(before.is_empty() || other != longer);
    }

    #[test]
    fn all_files_are_different() {
        let home = tempfile::tempdir().unwrap();
        let mut mongo = small(2);
        phase(&mut mongo, home.path(), create::create);
        let mut seen = std::collections::HashSet::new();
        for tree in names(home.path()) {
            for entry in fs::read_dir(home.path().join(tree)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() && path.metadata().unwrap().len() > 64 {
                    let content = fs::read(&path).unwrap();
                    assert!(seen.insert(content[..64].to_vec()), "{}", path.display());
                }
            }
        }
        assert!(seen.len() > 40);
    }
}
