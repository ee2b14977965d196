//! The path of a store, and whether only its user can change the file and its companion files.
//!
//! `SQLite` trusts the files `-wal`, `-shm` and `-journal` next to a database. A planted journal
//! changes the contents. The journal of a transaction over several databases names a file that
//! `SQLite` deletes (<https://sqlite.org/fileformat.html#the_rollback_journal>). So a store is
//! written only where nobody else can plant one. Any other store is read from a copy in memory.

use crate::StoreError;
use fsdyno_files::{TrustedDir, Untrusted};
use rustix::fs::{Mode, OFlags, open};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The suffixes of a database and of the files that `SQLite` keeps next to it.
const ALL: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// The smallest database: one page of the smallest size, bytes.
const SMALLEST: u64 = 512;

/// The largest store of another user that is read, bytes. It is copied to memory.
pub(crate) const LARGEST_COPY: u64 = 1 << 30;

/// The first bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The offsets of the write version and the read version in the header of a database: 2 for
/// write-ahead logging, 1 without.
const VERSIONS: [usize; 2] = [18, 19];

/// A place for a store that only its user can change.
pub(crate) struct Place {
    /// The path, absolute and without symbolic links.
    pub path: PathBuf,
    /// Whether a store exists there.
    pub taken: bool,
    directory: TrustedDir,
    name: OsString,
}

/// The users who can change an existing store.
pub(crate) enum Ownership {
    /// Only its user can change it.
    Own(Place),
    /// Other users can change it too.
    Foreign(PathBuf),
}

impl Place {
    /// The place of a store to write; creates its directory.
    pub fn to_write(path: &Path) -> Result<Self, StoreError> {
        let path = real(&absolute(path)?)?;
        let taken = exists(&path)?;
        let place = Self::of(path.clone(), taken, TrustedDir::create);
        let place = place.map_err(|source| match source {
            Untrusted::Io {
                act, path, source, ..
            } => StoreError::Io {
                path,
                operation: act,
                advice: "name a file in a directory you may write to with --store FILE",
                source,
            },
            refused @ Untrusted::Refused { .. } => untrusted(&path, refused),
        })?;
        place.check().map_err(|source| untrusted(&path, source))?;
        Ok(place)
    }

    /// The place of a store to read, and who can change it.
    pub fn to_read(path: &Path) -> Result<Ownership, StoreError> {
        let path = real(&absolute(path)?)?;
        if !exists(&path)? {
            return Err(StoreError::NoStore { path });
        }
        let own = Self::of(path.clone(), true, TrustedDir::open);
        Ok(match own.and_then(|place| place.check().map(|()| place)) {
            Ok(place) => Ownership::Own(place),
            Err(_) => Ownership::Foreign(path),
        })
    }

    fn of(
        path: PathBuf,
        taken: bool,
        open: impl Fn(&Path) -> Result<TrustedDir, Untrusted>,
    ) -> Result<Self, Untrusted> {
        // The root directory is not a file; opening it returns the error.
        let directory = open(path.parent().unwrap_or(&path))?;
        let name = path.file_name().unwrap_or(OsStr::new(".")).to_owned();
        Ok(Self {
            path,
            taken,
            directory,
            name,
        })
    }

    /// The directory of the store, and the name of a companion file.
    pub fn sibling(&self, ending: &str) -> (&TrustedDir, OsString) {
        let mut name = self.name.clone();
        name.push(ending);
        (&self.directory, name)
    }

    /// An error if other users can change the store or the files that `SQLite` reads with it.
    fn check(&self) -> Result<(), Untrusted> {
        self.directory.refuse_shared()?;
        for ending in ALL {
            let (directory, name) = self.sibling(ending);
            match directory.examine(&name) {
                Err(error) if !error.is_missing() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a regular file that can be a database exists there.
fn exists(path: &Path) -> Result<bool, StoreError> {
    let not_a_store = |why: &str| {
        Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: why.to_owned(),
        })
    };
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => not_a_store("it is a directory"),
        Ok(about) if !about.is_file() => not_a_store("it is no regular file"),
        Ok(about) if about.len() == 0 => {
            not_a_store("it is empty, as after a truncation; restore it, or remove it")
        }
        // SQLite treats a file of one byte as an empty database, and would overwrite it.
        Ok(about) if about.len() < SMALLEST => {
            not_a_store("it is too short for a SQLite database; restore it, or remove it")
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::Io {
            path: path.to_owned(),
            operation: "looking at the store",
            advice: "name another with --store FILE",
            source,
        }),
    }
}

/// A store that was read whole.
pub(crate) struct Copied {
    /// The image of a database without a log.
    pub bytes: Vec<u8>,
    /// Its owner.
    pub uid: u32,
}

/// Marks the image of a database as one without a write-ahead log; a database in memory cannot have
/// one.
pub(crate) fn without_log(image: &mut [u8]) {
    for version in VERSIONS {
        if let Some(byte) = image.get_mut(version) {
            *byte = 1;
        }
    }
}

/// Reads the store of another user whole, as the image of a database without a log.
pub(crate) fn copy(path: &Path) -> Result<Copied, StoreError> {
    let failed = |source: io::Error| StoreError::Io {
        path: path.to_owned(),
        operation: "copying the store",
        advice: "name another with --store FILE",
        source,
    };
    for ending in ["-wal", "-journal"] {
        if length_of(path, ending) > 0 {
            return Err(StoreError::Unfinished {
                path: path.to_owned(),
                journal: with_ending(path, ending),
            });
        }
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
    let mut file = File::from(file);
    let before = file.metadata().map_err(failed)?;
    if !before.is_file() || before.len() > LARGEST_COPY {
        return Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: format!(
                "others could change it, and it is no regular file of up to {} MiB",
                LARGEST_COPY >> 20
            ),
        });
    }
    let mut bytes = Vec::new();
    // Stops after the head of a file without the magic number.
    let head = MAGIC.len() as u64;
    (&file).take(head).read_to_end(&mut bytes).map_err(failed)?;
    if bytes != MAGIC {
        return Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: "it is no SQLite database".to_owned(),
        });
    }
    file.seek(io::SeekFrom::Start(head)).map_err(failed)?;
    let rest = (&file).take(before.len().saturating_sub(head));
    { rest }.read_to_end(&mut bytes).map_err(failed)?;
    let after = file.metadata().map_err(failed)?;
    if (before.len(), before.mtime(), before.mtime_nsec())
        != (after.len(), after.mtime(), after.mtime_nsec())
    {
        return Err(failed(io::Error::other("it changed meanwhile; try again")));
    }
    without_log(&mut bytes);
    Ok(Copied {
        bytes,
        uid: before.uid(),
    })
}

/// Whether a write-ahead log is next to a store.
pub(crate) fn has_log(path: &Path) -> bool {
    length_of(path, "-wal") > 0
}

fn length_of(path: &Path, ending: &str) -> u64 {
    fs::symlink_metadata(with_ending(path, ending)).map_or(0, |about| about.len())
}

/// A path with a suffix appended to its last name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// An absolute path, so that no name (`:memory:`, `file:x`) is special to `SQLite`.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        operation: "finding the store",
        advice: "name a file with --store FILE",
        source,
    })
}

/// The path with its existing symbolic links resolved.
fn real(path: &Path) -> Result<PathBuf, StoreError> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(_) if path.is_symlink() => Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: "it is a symbolic link that leads nowhere".to_owned(),
        }),
        Err(_) => Ok(match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => parent
                .canonicalize()
                .map_or_else(|_| path.to_owned(), |parent| parent.join(name)),
            _ => path.to_owned(),
        }),
    }
}

fn untrusted(path: &Path, source: Untrusted) -> StoreError {
    StoreError::Untrusted {
        path: path.to_owned(),
        source,
    }
}
