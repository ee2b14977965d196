//! Engines: the ways in which an operation reaches the kernel. One of them makes no calls.
//!
//! An engine is one file and one line in [`ALL`]. Phases are generic over the traits `Engine` and
//! [`Calls`] and are compiled for each engine. The engine is chosen once, before the loop.

mod large_file;
pub mod listing;
pub mod meta;
pub mod mmap;
pub mod null;
pub mod sync;
pub mod tools;
pub mod uring;

pub(crate) use large_file::{BlockRequest, BlockSource, LargeFile, Transferred, transfer_by_calls};

use crate::error::LoadError;
use fsdyno_model::requirement::{Need, Requirement};
use listing::Listing;
use meta::{Kind, Meta, Timestamp};
use null::Facts;
use std::ffi::CStr;
use std::io::Read;
use std::path::Path;

/// An engine. Types that implement it have no values.
pub(crate) trait Engine {
    const INFO: EngineInfo;
    type Calls: Calls + Send;

    /// New calls. `facts` describe the tree for an engine that accesses no file.
    fn calls(facts: Facts) -> Self::Calls;

    /// The call that makes a large file durable.
    const SYNC_CALL: &'static str = "fsync";

    /// The method that transfers blocks of a large file, for reports; none if it is
    /// [`Self::Calls`].
    fn transfer_method(_writes: bool, _random: bool) -> Option<&'static str> {
        None
    }

    /// Checks that it can transfer blocks at a fixed rate, and to a file opened like this. The
    /// error is the reason and the remedy.
    fn check_transfer(_at_rate: bool, _how: DataFile) -> Result<(), &'static str> {
        Ok(())
    }

    /// The number of memory blocks that a transfer needs at queue depth `depth`.
    fn transfer_blocks(_depth: usize) -> usize {
        1
    }

    /// Opens a large file, transfers all blocks of `source`, makes written blocks durable as `file`
    /// and `source` require, and closes the file. `memory` has [`Self::transfer_blocks`] blocks.
    fn transfer(
        calls: &mut Self::Calls,
        file: &LargeFile<'_, <Self::Calls as Calls>::Dir>,
        memory: &mut [u8],
        source: &mut impl BlockSource,
    ) -> Result<Transferred, LoadError> {
        transfer_by_calls(calls, file, memory, source)
    }
}

/// The target of an attribute operation.
#[derive(Debug)]
pub enum Target<'a, C: Calls> {
    File(&'a C::File),
    Directory(&'a C::Dir),
    /// A name in an open directory; a symbolic link is not followed.
    Entry(&'a C::Dir, &'a CStr),
}

/// The flags with which a file is opened for access at offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of open(2), each set by another parameter"
)]
pub struct DataFile {
    /// Opens for writing; otherwise for reading.
    pub writes: bool,
    /// Creates the file.
    pub makes: bool,
    /// Bypasses the page cache (`O_DIRECT`): buffers and offsets must be aligned for the device.
    pub direct: bool,
    /// Every write returns when its data are durable (`O_DSYNC`).
    pub dsync: bool,
    /// Also opens a file that is written for reading.
    pub also_reads: bool,
    /// Every write is at the end of the file (`O_APPEND`).
    pub appends: bool,
}

/// The calls that a phase can make. No call follows a symbolic link in the last component of a name.
/// Names of the user's trees are single components; phases with their own files may also use paths
/// relative to the open directory.
pub trait Calls: Sized {
    /// The engine that is reported if these calls do the work.
    const ENGINE: &'static str;
    /// An open directory.
    type Dir: Sync;
    type File;

    /// New calls for another worker, with a count of zero.
    #[must_use]
    fn another(&self) -> Self;
    /// Calls made so far.
    fn calls(&self) -> u64;

    /// Opens the work directory of a phase, by its path.
    fn open_work_dir(&mut self, path: &Path) -> Result<Self::Dir, LoadError>;
    fn open_dir(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::Dir, LoadError>;
    /// Fills `into` with more entries; returns false at the end.
    fn list(&mut self, dir: &mut Self::Dir, into: &mut Listing) -> Result<bool, LoadError>;
    fn close_dir(&mut self, dir: Self::Dir);
    fn make_dir(&mut self, at: &Self::Dir, name: &CStr, mode: u32) -> Result<(), LoadError>;
    /// Removes an empty directory; returns false if it is not empty.
    fn remove_dir(&mut self, at: &Self::Dir, name: &CStr) -> Result<bool, LoadError>;

    /// `stat` of any target.
    fn stat(&mut self, of: &Target<'_, Self>) -> Result<Meta, LoadError>;
    /// Whether a name exists, by `stat`.
    fn exists(&mut self, at: &Self::Dir, name: &CStr) -> Result<bool, LoadError>;

    /// Opens a file for reading.
    fn open(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::File, LoadError>;
    /// Opens a file for writing, without truncation.
    fn open_to_write(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::File, LoadError>;
    /// Opens a file for reading and writing, without truncation.
    fn open_to_change(&mut self, at: &Self::Dir, name: &CStr) -> Result<Self::File, LoadError>;
    /// Opens a file for access at offsets.
    fn open_data(
        &mut self,
        at: &Self::Dir,
        name: &CStr,
        how: DataFile,
    ) -> Result<Self::File, LoadError>;
    /// Creates a new file for writing.
    fn create(&mut self, at: &Self::Dir, name: &CStr, mode: u32) -> Result<Self::File, LoadError>;
    /// Closes a file. Some file systems report a full disk only here.
    fn close(&mut self, file: Self::File) -> Result<(), LoadError>;
    /// Makes a file durable: its data, and the metadata needed to read them (`fsync`).
    fn make_durable(&mut self, file: &mut Self::File) -> Result<(), LoadError>;
    /// Makes the data of a file durable, and its size (`fdatasync`).
    fn make_data_durable(&mut self, file: &mut Self::File) -> Result<(), LoadError>;
    /// Makes the entries of a directory durable (`fsync`).
    fn make_dir_durable(&mut self, dir: &Self::Dir) -> Result<(), LoadError>;
    /// Makes all data of the file system that contains a directory durable (`syncfs`).
    fn make_all_durable(&mut self, dir: &Self::Dir) -> Result<(), LoadError>;
    /// Reads from the current offset; 0 at the end.
    fn read(&mut self, file: &mut Self::File, into: &mut [u8]) -> Result<usize, LoadError>;
    /// Writes all bytes.
    fn write(&mut self, file: &mut Self::File, data: &[u8]) -> Result<(), LoadError>;
    /// Reads at an offset; returns fewer bytes at the end of the file.
    fn read_at(
        &mut self,
        file: &mut Self::File,
        into: &mut [u8],
        offset: u64,
    ) -> Result<usize, LoadError>;
    /// Writes all bytes at an offset.
    fn write_at(
        &mut self,
        file: &mut Self::File,
        data: &[u8],
        offset: u64,
    ) -> Result<(), LoadError>;
    /// Sets the offset of the next read or write.
    fn seek(&mut self, file: &mut Self::File, offset: u64) -> Result<(), LoadError>;
    /// The next data range at or after an offset, as start and end; none if only a hole follows.
    /// Changes the offset of the file.
    fn data_after(
        &mut self,
        file: &mut Self::File,
        offset: u64,
        size: u64,
    ) -> Result<Option<(u64, u64)>, LoadError>;
    fn set_size(&mut self, file: &mut Self::File, size: u64) -> Result<(), LoadError>;
    /// Makes `to` share all blocks of `from` (`FICLONE`).
    fn share(&mut self, from: &Self::File, to: &mut Self::File) -> Result<(), LoadError>;
    /// `copy_file_range` at the offsets of both files; returns the bytes copied, 0 at the end.
    fn copy_range(
        &mut self,
        from: &mut Self::File,
        to: &mut Self::File,
        length: u64,
    ) -> Result<u64, LoadError>;

    /// Reads the target of a symbolic link; returns its length.
    fn read_link(
        &mut self,
        at: &Self::Dir,
        name: &CStr,
        into: &mut [u8],
    ) -> Result<usize, LoadError>;
    /// Creates a symbolic link.
    fn symlink(&mut self, target: &CStr, at: &Self::Dir, name: &CStr) -> Result<(), LoadError>;
    fn link(
        &mut self,
        from: (&Self::Dir, &CStr),
        at: &Self::Dir,
        name: &CStr,
    ) -> Result<(), LoadError>;
    /// Renames an entry; both names are relative to the same directory.
    fn rename(&mut self, at: &Self::Dir, from: &CStr, to: &CStr) -> Result<(), LoadError>;
    /// Creates a FIFO, a socket or a device node.
    fn make_node(
        &mut self,
        at: &Self::Dir,
        name: &CStr,
        kind: Kind,
        mode: u32,
        rdev: u64,
    ) -> Result<(), LoadError>;
    /// Removes an entry other than a directory.
    fn unlink(&mut self, at: &Self::Dir, name: &CStr) -> Result<(), LoadError>;

    /// Sets the times of access and modification.
    fn set_times(
        &mut self,
        on: &Target<'_, Self>,
        accessed: Timestamp,
        modified: Timestamp,
    ) -> Result<(), LoadError>;
    /// Sets owner and group; returns false without the privilege.
    fn set_owner(
        &mut self,
        on: &Target<'_, Self>,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<bool, LoadError>;
    fn set_mode(&mut self, on: &Target<'_, Self>, mode: u32) -> Result<(), LoadError>;
    /// The names of extended attributes; none if the file system does not support them.
    fn list_attributes(
        &mut self,
        of: &Target<'_, Self>,
        into: &mut [u8],
    ) -> Result<Option<usize>, LoadError>;
    /// The value of an extended attribute; none if it is not readable.
    fn attribute(
        &mut self,
        of: &Target<'_, Self>,
        name: &CStr,
        into: &mut [u8],
    ) -> Result<Option<usize>, LoadError>;
    /// Sets an extended attribute; returns false if the file system or our privileges do not allow
    /// it.
    fn set_attribute(
        &mut self,
        on: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> Result<bool, LoadError>;

    /// Opens an archive, and decompresses it if necessary.
    fn archive(
        &mut self,
        path: &Path,
        stop: &fsdyno_model::CancelToken,
    ) -> Result<Box<dyn Read + Send>, LoadError>;
}

/// The description of an engine, as `fsdyno list engines` prints it.
#[derive(Debug)]
pub struct EngineInfo {
    pub name: &'static str,
    /// A description of one line.
    pub title: &'static str,
    /// The programs that run its phases on trees, with the Debian packages that contain them.
    programs: &'static [(&'static str, &'static str)],
    /// Whether it accesses files.
    pub(crate) touches_files: bool,
}

impl EngineInfo {
    pub fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.programs.iter().map(|(name, _)| *name)
    }

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

/// Work that is compiled for each engine.
pub(crate) trait ForEngine {
    type Output;
    /// Performs the work on one engine.
    fn on<E: Engine>(self) -> Self::Output;
}

macro_rules! engines {
    ($($engine:ty),* $(,)?) => {
        pub static ALL: &[EngineInfo] = &[$(<$engine>::INFO),*];

        /// Performs work on the engine with that name.
        pub(crate) fn on_engine<W: ForEngine>(name: &str, work: W) -> Result<W::Output, LoadError> {
            $(if name == <$engine>::INFO.name {
                return Ok(work.on::<$engine>());
            })*
            Err(LoadError::UnknownEngine(name.to_owned()))
        }
    };
}

engines![
    sync::SyncEngine,
    uring::UringEngine,
    mmap::MmapEngine,
    tools::ToolsEngine,
    null::NullEngine,
];

pub fn find(name: &str) -> Option<&'static EngineInfo> {
    ALL.iter().find(|engine| engine.name == name)
}
