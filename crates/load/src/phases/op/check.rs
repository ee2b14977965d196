//! Checks what one worker of a phase left: the number of its files, and their sizes and contents.
//! The check reads through the file system only, so that another client can make it.

use super::data::{blocks_of, stamped, writer};
use super::files::{DIRECTORY, FILE, LINK, MADE};
use super::names::{Directory, File, Name};
use super::random::incompressible;
use super::worker::{home, large};
use super::{HOME, Parameters, Phase, planned};
use crate::error::LoadError;
use crate::phases::ready::{below, with_path};
use fsdyno_model::plan::PhasePlan;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The number and the size of the files that were checked and are correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckedFiles {
    /// Files and directories found.
    pub entries: u64,
    /// Bytes of data compared.
    pub bytes: u64,
}

/// Checks what a worker left, whose work ended after `most` files or blocks; `u64::MAX` for all.
pub(crate) fn check_share(
    phase: Phase,
    parameters: &Parameters,
    root: &Path,
    worker: usize,
    most: u64,
) -> Result<CheckedFiles, LoadError> {
    let place = Place {
        parameters,
        top: below(root, HOME),
        worker,
        most,
    };
    match phase {
        Phase::Unlink => place.entries(FILE, false),
        Phase::Rmdir => place.entries(MADE, false),
        Phase::Mkdir => place.entries(MADE, true),
        Phase::Link => place.entries(LINK, true),
        Phase::Create | Phase::Stat | Phase::Open | Phase::Rename => place.files(),
        Phase::Write => place.blocks(),
        Phase::Read | Phase::RandomWrite | Phase::RandomRead => place.size(),
    }
}

/// The operations of one worker of an `op` phase on at most this many files or blocks; none if the
/// phase is another one.
pub fn operations(plan: &PhasePlan, worker: usize, most: u64) -> Option<u64> {
    let (phase, parameters) = planned(plan)?;
    if phase.on_data() {
        return Some(blocks_of(phase, &parameters, worker).count.min(most));
    }
    let share = parameters.share(parameters.files, worker);
    let files = (share.end - share.start).min(most);
    Some(if phase == Phase::Rename {
        2 * files
    } else {
        files
    })
}

/// The bytes that this many operations of an `op` phase read if they find all files whole; none if
/// it reads none.
pub fn bytes_read(plan: &PhasePlan, operations: u64) -> Option<u64> {
    let (phase, parameters) = planned(plan)?;
    match phase {
        Phase::Open => Some(operations * parameters.bytes as u64),
        Phase::Read | Phase::RandomRead => Some(operations * parameters.block as u64),
        _ => None,
    }
}

/// The files of one worker.
struct Place<'a> {
    parameters: &'a Parameters,
    top: PathBuf,
    worker: usize,
    /// The maximum number of files or blocks that it made.
    most: u64,
}

impl Place<'_> {
    /// Calls `each` for every number of the worker with the directory of the file.
    fn each(
        &self,
        letter: u8,
        mut each: impl FnMut(&Path) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let parameters = self.parameters;
        let home = self.top.join(home(parameters, self.worker));
        let share = parameters.share(parameters.files, self.worker);
        for number in share.start..share.end.min(share.start.saturating_add(self.most)) {
            let directory = Directory::new(DIRECTORY, number / parameters.files_per_dir);
            let name: File = Name::new(letter, number);
            each(&below(&below(&home, directory.as_c()), name.as_c()))?;
        }
        Ok(())
    }

    /// Whether all entries with that letter exist, or none.
    fn entries(&self, letter: u8, exist: bool) -> Result<CheckedFiles, LoadError> {
        let mut checked = CheckedFiles::default();
        self.each(letter, |path| {
            let found = match fs::symlink_metadata(path) {
                Ok(_) => true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
                Err(error) => return Err(LoadError::io("stat", path, error)),
            };
            checked.entries += u64::from(found);
            match (found, exist) {
                (true, false) => Err(wrong(path, "it exists, and was removed")),
                (false, true) => Err(wrong(path, "it does not exist, and was created")),
                _ => Ok(()),
            }
        })?;
        self.listed(letter, checked.entries)?;
        Ok(checked)
    }

    /// Small files: their number, sizes and contents.
    fn files(&self) -> Result<CheckedFiles, LoadError> {
        let expected = incompressible(self.parameters.bytes.max(1));
        let expected = &expected[..self.parameters.bytes];
        let mut checked = CheckedFiles::default();
        self.each(FILE, |path| {
            let data = with_path("read", path, fs::read(path))?;
            if data.len() != expected.len() {
                let (found, size) = (data.len(), expected.len());
                return Err(wrong(
                    path,
                    &format!("it has {found} bytes instead of {size}"),
                ));
            }
            if data != expected {
                return Err(wrong(path, "its data are not those that were written"));
            }
            checked.entries += 1;
            checked.bytes += data.len() as u64;
            Ok(())
        })?;
        self.listed(FILE, checked.entries)?;
        Ok(checked)
    }

    /// Compares the listings of the directories with the number of entries. Directories that
    /// workers share contain the files of others, too.
    fn listed(&self, letter: u8, expected: u64) -> Result<(), LoadError> {
        if self.parameters.shared {
            return Ok(());
        }
        let home = self.top.join(home(self.parameters, self.worker));
        let mut found = 0;
        for directory in with_path("open", &home, fs::read_dir(&home))? {
            let directory = with_path("read", &home, directory)?.path();
            for entry in with_path("open", &directory, fs::read_dir(&directory))? {
                let entry = with_path("read", &directory, entry)?;
                found += u64::from(entry.file_name().as_encoded_bytes().first() == Some(&letter));
            }
        }
        if found == expected {
            return Ok(());
        }
        Err(wrong(
            &home,
            &format!("its directories list {found} entries instead of {expected}"),
        ))
    }

    fn large(&self) -> PathBuf {
        self.top.join(large(self.parameters, self.worker))
    }

    /// The size of the large file.
    fn size(&self) -> Result<CheckedFiles, LoadError> {
        let path = self.large();
        let size = self.parameters.blocks() * self.parameters.block as u64;
        let found = with_path("stat", &path, fs::metadata(&path))?.len();
        // A file whose workers ended early has no size of its own: an engine may set the whole size
        // first, and the end of a shared file is that of its last worker.
        if found > size || found < size && self.most == u64::MAX {
            return Err(wrong(
                &path,
                &format!("it has {found} bytes instead of {size}"),
            ));
        }
        Ok(CheckedFiles {
            entries: 1,
            bytes: 0,
        })
    }

    /// The written blocks of the worker: each has its own mark, and the data around it.
    fn blocks(&self) -> Result<CheckedFiles, LoadError> {
        let mut checked = self.size()?;
        let path = self.large();
        let file = with_path("open", &path, fs::File::open(&path))?;
        let block = self.parameters.block;
        let writer = writer(Phase::Write, self.worker);
        let mut data = vec![0; block];
        let sequence = blocks_of(Phase::Write, self.parameters, self.worker);
        for at in 0..sequence.count.min(self.most) {
            let offset = sequence.block(at) * block as u64;
            with_path("read", &path, file.read_exact_at(&mut data, offset))?;
            if !stamped(&data, writer, at) {
                let what = format!(
                    "block {at} of worker {}, at {offset}, has other data",
                    self.worker
                );
                return Err(wrong(&path, &what));
            }
            checked.bytes += block as u64;
        }
        Ok(checked)
    }
}

fn wrong(path: &Path, what: &str) -> LoadError {
    LoadError::Unexpected {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}
