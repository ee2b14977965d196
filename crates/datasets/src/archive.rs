//! `tar:FILE`: an archive of the user, plain or compressed with gzip, xz or zstd.
//!
//! The first bytes determine the compression, not the name. An archive is read completely before
//! anything is created. An archive that is damaged, too large, or that would write outside of its
//! target directory is refused.

use crate::unpack::unpack;
use crate::work_dir::{SOURCE, WorkDir, make_root};
use crate::{Dataset, DatasetError, Facts, Form, scan, shown};
use fsdyno_model::{Bytes, CancelToken, Warning};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    facts: Facts,
}

impl Archive {
    /// Reads the whole archive once; an error if it does not fit into `room`.
    pub fn open(
        path: &Path,
        room: Option<Bytes>,
        stop: &CancelToken,
    ) -> Result<Self, DatasetError> {
        let stat =
            std::fs::metadata(path).map_err(|error| DatasetError::io("find", path, error))?;
        if !stat.is_file() {
            return Err(DatasetError::WrongKind {
                path: path.to_owned(),
                is: if stat.is_dir() {
                    "a directory"
                } else {
                    "no regular file"
                },
                wanted: "an archive",
                remedy: "for a directory write tree:DIR",
            });
        }
        let mut facts = scan::scan(path, room, stop)?;
        facts.about = format!("the archive {}", shown(path));
        Ok(Self {
            path: path.to_owned(),
            facts,
        })
    }

    fn copy(&self, to: &Path, stop: &CancelToken) -> Result<(), DatasetError> {
        let mut from = fsdyno_files::input::open(&self.path)
            .map_err(|error| DatasetError::io("open", &self.path, error))?;
        let mut into = File::create_new(to).map_err(|error| DatasetError::io("make", to, error))?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            stop.check()?;
            let length = from
                .read(&mut buffer)
                .map_err(|error| DatasetError::io("read", &self.path, error))?;
            if length == 0 {
                return Ok(());
            }
            into.write_all(&buffer[..length])
                .map_err(|error| DatasetError::io("write to", to, error))?;
        }
    }
}

impl Dataset for Archive {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn create(
        &self,
        work_dir: &mut WorkDir,
        form: Form,
        stop: &CancelToken,
    ) -> Result<Vec<Warning>, DatasetError> {
        match form {
            Form::Archive => {
                let name = self.path.file_name().unwrap_or("archive.tar".as_ref());
                let to = work_dir.root.join(name);
                self.copy(&to, stop)?;
                work_dir.archive = Some(to);
            }
            Form::Tree => {
                let to = work_dir.root.join(SOURCE);
                let root = make_root(&to)?;
                // The default mode of `mkdir`, for an archive without a member for it.
                rustix::fs::fchmod(&root, rustix::fs::Mode::from_raw_mode(0o755))
                    .map_err(|errno| DatasetError::io("set the mode of", &to, errno))?;
                let warnings = unpack(&self.path, &to, &root, work_dir.stores, stop)?;
                work_dir.trees.push(to);
                return Ok(warnings);
            }
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
