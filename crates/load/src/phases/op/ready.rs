//! Creates, untimed, the input of a phase. A phase without preceding phases, or after phases with
//! other parameters, gets the files that its predecessors would have left.

use super::files::{self, DIRECTORY, FILE, LINK, MADE};
use super::names::{Directory, File};
use super::parameters::Fsync;
use super::worker::{Limits, Work, home, large};
use super::workers::Op;
use super::{HOME, Parameters, Phase};
use crate::engines::sync::{SyncEngine, SystemCalls};
use crate::error::LoadError;
use crate::phases::Job;
use crate::phases::ready::{below, unless_absent, with_path};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

/// Creates the input of a phase.
pub(crate) fn prepare(
    phase: Phase,
    parameters: &Parameters,
    job: &Job<'_>,
) -> Result<(), LoadError> {
    let inputs = Inputs::new(phase, parameters, job, 0..parameters.workers)?;
    if phase.on_data() {
        inputs.data()
    } else {
        inputs.files()
    }
}

/// Creates the directories, or removes the large files, that these workers need for a phase which
/// creates files. Other processes do the same for their workers at the same time. All other input
/// is what an earlier phase left.
pub(crate) fn prepare_share(
    phase: Phase,
    parameters: &Parameters,
    job: &Job<'_>,
    workers: Range<usize>,
) -> Result<(), LoadError> {
    let first = workers.start == 0;
    let inputs = Inputs::new(phase, parameters, job, workers)?;
    match phase {
        Phase::Create => inputs.make_directories(),
        Phase::Write if first || !parameters.shared => inputs.data(),
        _ => Ok(()),
    }
}

/// The parameters for files that are created untimed: without a rate, and durable only at the end.
fn untimed(parameters: &Parameters) -> Parameters {
    Parameters {
        rate: None,
        fsync: Fsync::AtEnd,
        dsync: false,
        ..*parameters
    }
}

/// The required files.
struct Inputs<'a> {
    phase: Phase,
    parameters: &'a Parameters,
    job: &'a Job<'a>,
    top: PathBuf,
    /// The workers whose input it is.
    workers: Range<usize>,
}

impl<'a> Inputs<'a> {
    /// Creates the directory of all phases.
    fn new(
        phase: Phase,
        parameters: &'a Parameters,
        job: &'a Job<'a>,
        workers: Range<usize>,
    ) -> Result<Self, LoadError> {
        let top = below(job.root, HOME);
        with_path("mkdir", &top, fs::create_dir_all(&top))?;
        Ok(Self {
            phase,
            parameters,
            job,
            top,
            workers,
        })
    }

    /// The workers that have their own directories.
    fn places(&self) -> Range<usize> {
        if self.parameters.shared {
            0..1
        } else {
            self.workers.clone()
        }
    }

    /// Creates large files of the right size, or removes them before they are written.
    fn data(&self) -> Result<(), LoadError> {
        let size = self.parameters.blocks() * self.parameters.block as u64;
        for worker in self.places() {
            let path = self.top.join(large(self.parameters, worker));
            let complete = fs::metadata(&path).is_ok_and(|meta| meta.len() == size);
            if self.phase == Phase::Write || !complete {
                with_path("unlink", &path, unless_absent(fs::remove_file(&path)))?;
                if self.parameters.shared || self.parameters.sparse {
                    let file = with_path("create", &path, fs::File::create(&path))?;
                    if self.parameters.sparse {
                        with_path("ftruncate", &path, file.set_len(size))?;
                    }
                }
            }
        }
        let first = self.top.join(large(self.parameters, 0));
        let written = fs::metadata(&first).is_ok_and(|meta| meta.len() == size);
        if self.phase == Phase::Write || written {
            return Ok(());
        }
        self.run(Phase::Write, untimed(self.parameters))
    }

    fn run(&self, phase: Phase, parameters: Parameters) -> Result<(), LoadError> {
        let mut op = Op::new::<SyncEngine>(phase, parameters);
        op.run::<SyncEngine>(&mut SystemCalls::default(), self.job)
            .map(|_| ())
    }

    /// Creates empty directories before files are created; otherwise all files with their names.
    fn files(&self) -> Result<(), LoadError> {
        let parameters = untimed(self.parameters);
        if self.phase == Phase::Create || !self.all_there(FILE) {
            self.directories()?;
            if self.phase == Phase::Create {
                return Ok(());
            }
            self.run(Phase::Create, parameters)?;
        }
        if self.phase != Phase::Rmdir && self.some_there(MADE) {
            self.clear(parameters, MADE)?;
        } else if self.phase == Phase::Rmdir && !self.some_there(MADE) {
            self.run(Phase::Mkdir, parameters)?;
        }
        if matches!(self.phase, Phase::Link | Phase::Unlink) && self.some_there(LINK) {
            self.clear(parameters, LINK)?;
        }
        Ok(())
    }

    /// Removes the names with one letter.
    fn clear(&self, parameters: Parameters, letter: u8) -> Result<(), LoadError> {
        let op = Op::new::<SyncEngine>(self.phase, parameters);
        for mut worker in op.into_workers() {
            let work = Work {
                phase: self.phase,
                parameters: &parameters,
                job: self.job,
                limits: Limits::default(),
                alone: true,
            };
            files::unlink_others(&mut SystemCalls::default(), work, &mut worker, letter)?;
        }
        Ok(())
    }

    /// The path of the file with this number under the name with this letter.
    fn path(&self, letter: u8, worker: usize, number: u64) -> PathBuf {
        let home = self.top.join(home(self.parameters, worker));
        let directory = Directory::new(DIRECTORY, number / self.parameters.files_per_dir);
        let name = File::new(letter, number);
        below(&below(&home, directory.as_c()), name.as_c())
    }

    /// Whether the first and the last file of each worker exist, and none after the last.
    fn all_there(&self, letter: u8) -> bool {
        let parameters = self.parameters;
        let size = parameters.bytes as u64;
        let complete = |worker, number| {
            let meta = fs::symlink_metadata(self.path(letter, worker, number));
            meta.is_ok_and(|meta| meta.len() == size)
        };
        let each = (0..parameters.workers).all(|worker| {
            let share = parameters.share(parameters.files, worker);
            share.is_empty() || complete(worker, share.start) && complete(worker, share.end - 1)
        });
        let beyond = self.path(letter, parameters.workers - 1, parameters.files);
        each && fs::symlink_metadata(beyond).is_err()
    }

    fn some_there(&self, letter: u8) -> bool {
        fs::symlink_metadata(self.path(letter, 0, 0)).is_ok()
    }

    /// Creates empty directories only.
    fn directories(&self) -> Result<(), LoadError> {
        for entry in with_path("open", &self.top, fs::read_dir(&self.top))? {
            let path = with_path("read", &self.top, entry)?.path();
            if path.is_dir() {
                with_path("unlink", &path, fs::remove_dir_all(&path))?;
            }
        }
        self.make_directories()
    }

    /// Creates the directories of the files of each worker.
    fn make_directories(&self) -> Result<(), LoadError> {
        let parameters = self.parameters;
        for worker in self.workers.clone() {
            let home = self.top.join(home(parameters, worker));
            with_path("mkdir", &home, fs::create_dir_all(&home))?;
            let share = parameters.share(parameters.files, worker);
            if share.is_empty() {
                continue;
            }
            let numbers =
                share.start / parameters.files_per_dir..=(share.end - 1) / parameters.files_per_dir;
            let mut name = Directory::new(DIRECTORY, *numbers.start());
            for _ in numbers {
                let path = below(&home, name.as_c());
                self.job.stop.check()?;
                // Two workers may share a directory at the boundary.
                with_path("mkdir", &path, fs::create_dir_all(&path))?;
                name.next();
            }
        }
        Ok(())
    }
}
