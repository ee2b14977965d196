//! Files and directories that fsdyno makes for itself: sparse images, scratch directories.
//!
//! Both are guards: removed on drop, and in the journal before they exist. Neither is ever made
//! over something that is there. A name is looked up once: in the descriptor of a directory that no
//! other user can change. What was made is held open, and only that is used and removed.

use crate::journal::{Entry, Journal, JournalError, Kind};
use crate::place::{HeldFile, Place, PlaceError};
use crate::removal::remove_made;
use fsdyno_model::Bytes;
use rustix::fs::{AtFlags, OFlags, SeekFrom, fstat, ftruncate, linkat, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The reason why an image or a scratch directory could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// Something of that name is there already.
    #[error("{} exists already; remove it or choose another directory", path.display())]
    Exists { path: PathBuf },
    #[error("cannot {act} {}: {cause}", path.display())]
    Refused {
        act: String,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Another user could exchange what is made there.
    #[error("cannot {act} {}: {cause}", path.display())]
    Place {
        act: String,
        path: PathBuf,
        #[source]
        cause: PlaceError,
    },
    /// It could not be written down first.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

#[derive(Debug)]
pub struct Image {
    made: Made,
}

/// A directory for the time of a run, removed with its contents.
#[derive(Debug)]
pub struct Scratch {
    made: Made,
}

impl Image {
    /// Makes a sparse file of that size, which must not exist.
    pub fn create(path: &Path, size: Bytes, journal: &Journal) -> Result<Self, ImageError> {
        let act = format!("make an image of {size} at");
        let made = Made::new(path, Kind::Image, journal, &act, |place| {
            place.create(OFlags::WRONLY)
        })?;
        // A failure drops it, and so removes the file.
        ftruncate(&made.held, size.0).map_err(|errno| ImageError::Refused {
            act,
            path: made.place.path().to_owned(),
            cause: errno.into(),
        })?;
        Ok(Self { made })
    }

    /// Copies an image file to one of that name, which must not exist; holes stay holes.
    pub fn copy(original: &Path, path: &Path, journal: &Journal) -> Result<Self, ImageError> {
        let refused = |cause| ImageError::Refused {
            act: "copy".to_owned(),
            path: original.to_owned(),
            cause,
        };
        let from = File::open(original).map_err(refused)?;
        let size = from.metadata().map_err(refused)?.len();
        let copy = Self::create(path, Bytes(size), journal)?;
        let to = copy.made.held.try_clone().map_err(refused)?;
        copy_data(&from, &File::from(to)).map_err(refused)?;
        Ok(copy)
    }

    pub fn path(&self) -> &Path {
        self.made.place.path()
    }

    /// The very file, for a loop device.
    pub fn file(&self) -> io::Result<HeldFile> {
        let held = self.made.held.try_clone()?;
        Ok(HeldFile::new(self.path().to_owned(), held))
    }

    pub fn occupied(&self) -> Result<Bytes, ImageError> {
        let about = fstat(&self.made.held).map_err(|errno| ImageError::Refused {
            act: "examine".to_owned(),
            path: self.path().to_owned(),
            cause: errno.into(),
        })?;
        Ok(Bytes(about.st_blocks.cast_unsigned() * 512))
    }

    /// Moves it to another name for the user; the name must be free.
    pub fn keep(mut self, name: &Path) -> Result<(), ImageError> {
        let act = "keep an image as";
        let to = place_of(name, &Kind::Image, act)?;
        let from = &self.made.place;
        // A link, and not a rename: nothing is ever written over.
        let moved = match linkat(from, from.name(), &to, to.name(), AtFlags::empty()) {
            Err(Errno::XDEV) => copy_new(from, &to),
            linked => linked.map_err(io::Error::from),
        };
        moved
            .and_then(|()| Ok(from.unlink()?))
            .map_err(|cause| ImageError::Refused {
                act: act.to_owned(),
                path: name.to_owned(),
                cause,
            })?;
        if let Some(entry) = self.made.entry.take() {
            entry.done()?;
        }
        Ok(())
    }
}

impl Scratch {
    /// Makes a directory of fsdyno's own, which must not exist; its parent must.
    pub fn create(path: &Path, journal: &Journal) -> Result<Self, ImageError> {
        Self::new(path, Kind::Directory, journal)
    }

    /// The same inside a directory of the user's: what a plain directory is compared in.
    pub fn inside(path: &Path, journal: &Journal) -> Result<Self, ImageError> {
        Self::new(path, Kind::Tree, journal)
    }

    fn new(path: &Path, kind: Kind, journal: &Journal) -> Result<Self, ImageError> {
        let act = "make the directory";
        let made = Made::new(path, kind, journal, act, Place::create_dir)?;
        Ok(Self { made })
    }

    pub fn path(&self) -> &Path {
        self.made.place.path()
    }
}

/// Copies a file to a new one, with its holes. Nothing is left if that fails.
fn copy_new(original: &Place, copy: &Place) -> io::Result<()> {
    let from = File::from(original.open(OFlags::RDONLY)?);
    let to = File::from(copy.create(OFlags::WRONLY)?);
    let copied = to.set_len(from.metadata()?.len());
    let copied = copied.and_then(|()| copy_data(&from, &to));
    if copied.is_err() {
        let _ = copy.unlink();
    }
    copied
}

/// Copies all data extents to the same offsets of another file.
fn copy_data(from: &File, to: &File) -> io::Result<()> {
    let mut end = 0;
    loop {
        let begin = match seek(from, SeekFrom::Data(end)) {
            Ok(begin) => begin,
            // The rest of the file is a hole.
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        end = seek(from, SeekFrom::Hole(begin))?;
        seek(from, SeekFrom::Start(begin))?;
        seek(to, SeekFrom::Start(begin))?;
        let (mut reader, mut writer) = (from.take(end - begin), to);
        let copied = io::copy(&mut reader, &mut writer)?;
        if copied < end - begin {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Something at a path, removed on drop.
#[derive(Debug)]
struct Made {
    place: Place,
    /// The very thing.
    held: OwnedFd,
    entry: Option<Entry>,
}

impl Made {
    /// Declares and creates it. Its path is absolute and has no symbolic links, so that the journal
    /// is valid in every working directory.
    fn new(
        path: &Path,
        kind: Kind,
        journal: &Journal,
        act: &str,
        make: impl FnOnce(&Place) -> rustix::io::Result<OwnedFd>,
    ) -> Result<Self, ImageError> {
        let place = place_of(path, &kind, act)?;
        let path = place.path().to_owned();
        // Before it is declared: a file of the user must never be in the journal.
        if place.is_taken() {
            return Err(ImageError::Exists { path });
        }
        let entry = journal.declare(kind.at(&path))?;
        match make(&place) {
            Ok(held) => Ok(Self {
                place,
                held,
                entry: Some(entry),
            }),
            Err(errno) => {
                entry.done()?;
                Err(match errno {
                    Errno::EXIST => ImageError::Exists { path },
                    _ => ImageError::Refused {
                        act: act.to_owned(),
                        path,
                        cause: errno.into(),
                    },
                })
            }
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // If it cannot be removed, it stays in the journal. A kept image has no entry.
        if let Some(entry) = self.entry.take()
            && remove_made(&self.place, &self.held).is_ok()
        {
            let _ = entry.done();
        }
    }
}

fn place_of(path: &Path, kind: &Kind, act: &str) -> Result<Place, ImageError> {
    let place = match kind {
        Kind::Tree => Place::of_user(path),
        _ => Place::trusted(path),
    };
    place.map_err(|cause| ImageError::Place {
        act: act.to_owned(),
        path: path.to_owned(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn an_image_is_sparse_journalled_and_gone_on_drop() {
        let work_dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(&work_dir.path().join("state")).unwrap();
        let path = work_dir.path().join("image");
        let image = Image::create(&path, Bytes(1 << 30), &journal).unwrap();
        let metadata = std::fs::metadata(image.path()).unwrap();
        assert_eq!(metadata.len(), 1 << 30);
        assert!(metadata.blocks() * 512 < 1 << 20);
        let written = std::fs::read_to_string(journal.path()).unwrap();
        assert!(written.contains(" image "), "{written}");
        drop(image);
        assert!(!path.exists());
        assert_eq!(std::fs::read_to_string(journal.path()).unwrap(), "");
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_holes() {
        let work_dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(&work_dir.path().join("state")).unwrap();
        let original = work_dir.path().join("original");
        let file = File::create(&original).unwrap();
        file.set_len(64 << 20).unwrap();
        // At the beginning, twice in the midst, and with a hole at the end.
        for (at, text) in [(0, "first"), (3 << 20, "second"), ((40 << 20) + 7, "third")] {
            file.write_all_at(text.as_bytes(), at).unwrap();
        }
        let copy = Image::copy(&original, &work_dir.path().join("copy"), &journal).unwrap();
        assert!(std::fs::read(&original).unwrap() == std::fs::read(copy.path()).unwrap());
        let blocks = std::fs::metadata(copy.path()).unwrap().blocks();
        assert!(blocks * 512 < 1 << 20, "{blocks}");
        let error = Image::copy(&original, copy.path(), &journal).unwrap_err();
        assert!(matches!(error, ImageError::Exists { .. }), "{error}");
    }

    #[test]
    fn nothing_of_the_users_is_taken_over() {
        let work_dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(&work_dir.path().join("state")).unwrap();
        let path = work_dir.path().join("mine");
        std::fs::write(&path, "mine").unwrap();
        let error = Image::create(&path, Bytes(4096), &journal).unwrap_err();
        assert!(matches!(error, ImageError::Exists { .. }), "{error}");
        let error = Scratch::create(&path, &journal).unwrap_err();
        assert!(matches!(error, ImageError::Exists { .. }), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        assert_eq!(std::fs::read(journal.path()).unwrap(), b"");
    }

    #[test]
    fn an_impossible_size_leaves_nothing() {
        let work_dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(&work_dir.path().join("state")).unwrap();
        let path = work_dir.path().join("image");
        let error = Image::create(&path, Bytes(u64::MAX), &journal).unwrap_err();
        assert!(matches!(error, ImageError::Refused { .. }), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_scratch_directory_goes_with_all_it_holds() {
        let work_dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(&work_dir.path().join("state")).unwrap();
        let path = work_dir.path().join("scratch");
        let scratch = Scratch::create(&path, &journal).unwrap();
        std::fs::create_dir(scratch.path().join("deep")).unwrap();
        std::fs::write(scratch.path().join("deep/file"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
