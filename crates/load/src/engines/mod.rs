//! Engines: how an operation reaches the kernel, or does not.
//!
//! Workloads are written once, over the trait [`Engine`], and are compiled for each engine: there
//! is no dispatch per operation. The engine `tools` is no [`Engine`]: it runs the programs of the
//! system, and workloads tell it which. What is done is the affair of `workloads`; how long it
//! took, of `measure`.

mod error;
pub mod listing;
pub mod meta;
pub mod mmap;
pub mod null;
pub mod sync;
pub mod tools;
pub mod uring;

pub use error::LoadError;

use fsdyno_model::requirement::{Need, Requirement};
use listing::Listing;
use meta::{Kind, Meta, Moment};
use std::ffi::CStr;
use std::io::Read;
use std::path::Path;

/// What an attribute is set or read on.
#[derive(Debug)]
pub enum Target<'a, E: Engine> {
    /// An open file.
    File(&'a E::File),
    /// An open directory.
    Directory(&'a E::Dir),
    /// A name in an open directory, never followed.
    Entry(&'a E::Dir, &'a CStr),
}

/// How a file is opened that is read or written at offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFile {
    /// It is written, else read.
    pub writes: bool,
    /// It is not there yet.
    pub makes: bool,
    /// Past the page cache (`O_DIRECT`): buffers and offsets must fit the device.
    pub direct: bool,
}

/// The calls a workload can make. Names are single components: no call follows a symbolic link.
pub trait Engine: Sized {
    /// An open directory.
    type Dir: Sync;
    /// An open file.
    type File;

    /// An engine of the same kind for another worker: it has made no calls yet.
    #[must_use]
    fn another(&self) -> Self;
    /// Calls made so far.
    fn calls(&self) -> u64;

    /// Opens the directory a phase works in, by its path.
    fn open_ground(&mut self, path: &Path) -> Result<Self::Dir, LoadError>;
    /// Opens a directory.
    fn open_dir(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::Dir, LoadError>;
    /// Fills `into` with more entries; false at the end.
    fn list(&mut self, dir: &mut Self::Dir, into: &mut Listing) -> Result<bool, LoadError>;
    /// Closes a directory.
    fn close_dir(&mut self, dir: Self::Dir);
    /// Makes a directory.
    fn make_dir(&mut self, at: &Self::Dir, name: &CStr, mode: u32) -> Result<(), LoadError>;
    /// Removes an empty directory; false where it is not empty.
    fn remove_dir(&mut self, at: &Self::Dir, name: &CStr) -> Result<bool, LoadError>;

    /// `stat` of anything.
    fn stat(&mut self, of: &Target<'_, Self>) -> Result<Meta, LoadError>;

    /// Opens a file to read.
    fn open(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::File, LoadError>;
    /// Opens a file to write; it keeps its data.
    fn open_to_write(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::File, LoadError>;
    /// Opens a file to read and write; it keeps its data.
    fn open_to_change(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::File, LoadError>;
    /// Opens a file that is read or written at offsets.
    fn open_data(
        &mut self,
        at: &Self::Dir,
        name: &CStr,
        how: DataFile,
    ) -> Result<Self::File, LoadError>;
    /// Makes a file that was not there, to write.
    fn create(&mut self, at: &Self::Dir, name: &CStr, mode: u32) -> Result<Self::File, LoadError>;
    /// Closes a file; some file systems tell of a full disk only here.
    fn close(&mut self, file: Self::File) -> Result<(), LoadError>;
    /// Makes a file durable: its data, and what is needed to find them (`fsync`).
    fn make_durable(&mut self, file: &mut Self::File) -> Result<(), LoadError>;
    /// Makes everything durable in the file system that holds a directory (`syncfs`).
    fn make_all_durable(&mut self, dir: &Self::Dir) -> Result<(), LoadError>;
    /// Reads on; 0 at the end.
    fn read(&mut self, file: &mut Self::File, into: &mut [u8]) -> Result<usize, LoadError>;
    /// Writes all of it.
    fn write(&mut self, file: &mut Self::File, data: &[u8]) -> Result<(), LoadError>;
    /// Reads at an offset; fewer bytes than asked for where the file ends.
    fn read_at(
        &mut self,
        file: &mut Self::File,
        into: &mut [u8],
        offset: u64,
    ) -> Result<usize, LoadError>;
    /// Writes all of it at an offset.
    fn write_at(
        &mut self,
        file: &mut Self::File,
        data: &[u8],
        offset: u64,
    ) -> Result<(), LoadError>;
    /// Goes to an offset, where the next read or write begins.
    fn seek(&mut self, file: &mut Self::File, offset: u64) -> Result<(), LoadError>;
    /// The next stretch of data at or after an offset, as start and end; none where only a hole
    /// follows. The offset of the file moves.
    fn data_after(
        &mut self,
        file: &mut Self::File,
        offset: u64,
        size: u64,
    ) -> Result<Option<(u64, u64)>, LoadError>;
    /// Sets the size.
    fn set_size(&mut self, file: &mut Self::File, size: u64) -> Result<(), LoadError>;
    /// Lets `to` share all blocks of `from` (`FICLONE`).
    fn share(&mut self, from: &Self::File, to: &mut Self::File) -> Result<(), LoadError>;
    /// `copy_file_range` at the offsets both files stand at; the bytes copied, 0 at the end.
    fn copy_range(
        &mut self,
        from: &mut Self::File,
        to: &mut Self::File,
        length: u64,
    ) -> Result<u64, LoadError>;

    /// The target of a symbolic link; the bytes written into the buffer.
    fn read_link(
        &mut self,
        at: &Self::Dir,
        name: &CStr,
        into: &mut [u8],
    ) -> Result<usize, LoadError>;
    /// Makes a symbolic link.
    fn symlink(&mut self, target: &CStr, at: &Self::Dir, name: &CStr) -> Result<(), LoadError>;
    /// Gives a file another name. Both names may be paths relative to their directories.
    fn link(
        &mut self,
        from: (&Self::Dir, &CStr),
        at: &Self::Dir,
        name: &CStr,
    ) -> Result<(), LoadError>;
    /// Gives an entry another name in the same directory.
    fn rename(&mut self, at: &Self::Dir, from: &CStr, to: &CStr) -> Result<(), LoadError>;
    /// Makes a pipe, a socket or a device node.
    fn make_node(
        &mut self,
        at: &Self::Dir,
        name: &CStr,
        kind: Kind,
        mode: u32,
        rdev: u64,
    ) -> Result<(), LoadError>;
    /// Removes anything but a directory.
    fn unlink(&mut self, at: &Self::Dir, name: &CStr) -> Result<(), LoadError>;

    /// Sets the times of access and modification.
    fn set_times(
        &mut self,
        on: &Target<'_, Self>,
        accessed: Moment,
        modified: Moment,
    ) -> Result<(), LoadError>;
    /// Sets owner and group; false where we have no right to.
    fn set_owner(
        &mut self,
        on: &Target<'_, Self>,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<bool, LoadError>;
    /// Sets the permission bits.
    fn set_mode(&mut self, on: &Target<'_, Self>, mode: u32) -> Result<(), LoadError>;
    /// The names of extended attributes; none where the file system has no such thing.
    fn list_attributes(
        &mut self,
        of: &Target<'_, Self>,
        into: &mut [u8],
    ) -> Result<Option<usize>, LoadError>;
    /// The value of an extended attribute; none where it cannot be read.
    fn attribute(
        &mut self,
        of: &Target<'_, Self>,
        name: &CStr,
        into: &mut [u8],
    ) -> Result<Option<usize>, LoadError>;
    /// Sets an extended attribute; false where the file system or our rights do not allow it.
    fn set_attribute(
        &mut self,
        on: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> Result<bool, LoadError>;

    /// Opens an archive, unpacked where it is packed.
    fn archive(
        &mut self,
        path: &Path,
        stop: &fsdyno_model::CancelToken,
    ) -> Result<Box<dyn Read + Send>, LoadError>;
}

/// An engine, as `fsdyno list engines` shows it.
#[derive(Debug)]
pub struct EngineInfo {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// The programs it runs, with the packages that hold them.
    programs: &'static [(&'static str, &'static str)],
}

impl EngineInfo {
    /// The programs it runs.
    pub fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.programs.iter().map(|(name, _)| *name)
    }

    /// What it needs to work.
    pub fn requirements(&self) -> Vec<Requirement> {
        self.programs
            .iter()
            .map(|(name, package)| {
                let need = Need::Program {
                    name: (*name).to_owned(),
                    package: (*package).to_owned(),
                };
                Requirement::new(need, format!("the engine {} ({name})", self.name))
            })
            .collect()
    }
}

/// All engines.
pub static ALL: &[EngineInfo] = &[
    EngineInfo {
        name: sync::NAME,
        title: "system calls of our own, one after the other",
        programs: &[],
    },
    EngineInfo {
        name: uring::NAME,
        title: "large files with many requests under way (io_uring); all else as sync does it",
        programs: &[],
    },
    EngineInfo {
        name: mmap::NAME,
        title: "large files as memory (mmap, madvise, msync); all else as sync does it",
        programs: &[],
    },
    EngineInfo {
        name: tools::NAME,
        title: "the programs of the system: cp -a, rm -rf, tar, cat, find, grep -r",
        programs: tools::PROGRAMS,
    },
    EngineInfo {
        name: null::NAME,
        title: "no system calls at all: shows the weight of fsdyno itself",
        programs: &[],
    },
];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineInfo> {
    ALL.iter().find(|engine| engine.name == name)
}
