//! `file:FILE`: one file of the user, created as a tree that contains only this file.

use crate::copying::Copier;
use crate::entry;
use crate::survey::is_sparse;
use crate::tree::lost_warnings;
use crate::work_dir::{SOURCE, WorkDir};
use crate::{Dataset, DatasetError, Facts, Form, shown};
use fsdyno_model::{CancelToken, Warning};
use rustix::fd::AsFd;
use rustix::fs::{self, CWD, FileType, Mode, OFlags};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One file of the user.
#[derive(Debug)]
pub struct SingleFile {
    directory: PathBuf,
    name: CString,
    facts: Facts,
}

impl SingleFile {
    /// Finds the file, through symbolic links, and checks that it is readable.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let io =
            |operation| move |errno: rustix::io::Errno| DatasetError::io(operation, path, errno);
        let stat = fs::stat(path).map_err(io("find"))?;
        if entry::kind(&stat) != FileType::RegularFile {
            return Err(DatasetError::WrongKind {
                path: path.to_owned(),
                is: "no regular file",
                wanted: "a file",
                remedy: "for a directory write tree:DIR",
            });
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(CWD, path, flags, Mode::empty()).map_err(io("open"))?;
        let size = entry::size(&stat);
        let data = if is_sparse(&stat) {
            entry::data_of(&file, size).map_err(io("read"))?
        } else {
            size
        };
        let mut facts = Facts {
            about: format!("the file {}", shown(path)),
            ..Facts::default()
        };
        facts.add_sparse(size, data);
        let whole = path
            .canonicalize()
            .map_err(|error| DatasetError::io("find", path, error))?;
        let (Some(directory), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(io("find")(rustix::io::Errno::INVAL));
        };
        Ok(Self {
            directory: directory.to_owned(),
            // The path of an open file contains no zero byte.
            name: CString::new(name.as_bytes()).unwrap_or_default(),
            facts,
        })
    }
}

impl Dataset for SingleFile {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn create(
        &self,
        work_dir: &mut WorkDir,
        form: Form,
        stop: &CancelToken,
    ) -> Result<Vec<Warning>, DatasetError> {
        if form == Form::Archive {
            let name = self.name.to_string_lossy();
            return Err(DatasetError::NoArchive {
                name: format!("file:{name}"),
            });
        }
        let to = work_dir.root.join(SOURCE);
        let (mut copier, roots) = Copier::open(&self.directory, &to, work_dir.stores, stop)?;
        copier.copy_entry(roots.from.as_fd(), roots.to.as_fd(), &self.name)?;
        fs::fchmod(&roots.to, Mode::from_raw_mode(0o755))
            .map_err(|errno| DatasetError::io("set the mode of", &to, errno))?;
        let (lost, left_out) = (copier.lost, copier.left_out);
        work_dir.trees.push(to);
        let mut warnings = lost_warnings(lost);
        warnings.extend(left_out.warning());
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{Bytes, Capabilities};

    #[test]
    fn a_file_is_created_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a b\n");
        std::fs::write(&file, "content").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let dataset = SingleFile::open(&link).unwrap();
        assert_eq!((dataset.facts().files, dataset.facts().bytes.0), (1, 7));
        let mut work_dir = WorkDir::new(place.path());
        let warnings = dataset
            .create(&mut work_dir, Form::Tree, &CancelToken::new())
            .unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let created = work_dir.newest().unwrap().join("a b\n");
        let dates = |path: &Path| path.metadata().unwrap().modified().unwrap();
        assert_eq!(std::fs::read(&created).unwrap(), b"content");
        assert_eq!(dates(&created), dates(&file));
        assert!(
            dataset
                .create(&mut work_dir, Form::Archive, &CancelToken::new())
                .is_err()
        );
    }

    #[test]
    fn a_file_that_the_file_system_cannot_store_is_left_out_with_a_warning() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("film");
        std::fs::write(&file, "content").unwrap();
        let small = |largest| Capabilities {
            largest_file: Some(Bytes(largest)),
            ..Capabilities::ALL
        };
        for (largest, left_out) in [(7, 0), (6, 1)] {
            let home = tempfile::tempdir().unwrap();
            let mut work_dir = WorkDir::new(home.path());
            work_dir.stores = small(largest);
            let warnings = SingleFile::open(&file)
                .unwrap()
                .create(&mut work_dir, Form::Tree, &CancelToken::new())
                .unwrap();
            let created = work_dir.newest().unwrap().join("film");
            assert_eq!(created.exists(), left_out == 0);
            let messages: Vec<&str> = warnings.iter().map(|one| &*one.message).collect();
            assert_eq!(messages.len(), left_out, "{messages:?}");
            assert!(
                messages
                    .iter()
                    .all(|text| text.contains("film, a file that is too large")),
                "{messages:?}"
            );
        }
    }

    #[test]
    fn a_path_that_is_not_a_file_is_refused() {
        let error = SingleFile::open(Path::new("/")).unwrap_err();
        assert!(error.to_string().contains("tree:DIR"), "{error}");
        let error = SingleFile::open(Path::new("/no/such/file")).unwrap_err();
        assert_eq!(error.errno(), Some(2));
    }
}
