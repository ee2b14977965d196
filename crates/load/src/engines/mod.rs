//! Engines: how an operation reaches the kernel, or does not.
//!
//! An engine is one file and one line in [`ALL`]. Phases are written once over the traits [`Engine`]
//! and [`Calls`] and compiled for each engine: it is chosen once, before the loop.

mod large_file;
pub mod listing;
pub mod meta;
pub mod mmap;
pub mod null;
pub mod sync;
pub mod tools;
pub mod uring;

pub(crate) use large_file::{BlockSource, LargeFile, Transferred, transfer_by_calls};

use crate::error::LoadError;
use fsdyno_model::requirement::{Need, Requirement};
use listing::Listing;
use meta::{Kind, Meta, Moment};
use null::Facts;
use std::ffi::CStr;
use std::io::Read;
use std::path::Path;

/// How phases reach the kernel. A type that implements it has no values.
pub(crate) trait Engine {
    /// What is known of it.
    const INFO: EngineInfo;
    /// The calls of phases.
    type Calls: Calls + Send;

    /// New calls; `facts` describe the tree of an engine that touches no file.
    fn calls(facts: Facts) -> Self::Calls;

    /// How it moves the blocks of a large file, for reports; none where it uses [`Self::Calls`].
    fn transfer_method(_writes: bool, _random: bool) -> Option<&'static str> {
        None
    }

    /// Why it cannot move blocks at a fixed rate, or past the page cache, and what to do.
    fn check_transfer(_at_rate: bool, _direct: bool) -> Result<(), &'static str> {
        Ok(())
    }

    /// How many blocks of memory a transfer needs, where `depth` requests are in flight.
    fn transfer_blocks(_depth: usize) -> usize {
        1
    }

    /// Opens a large file, moves all blocks of `source`, makes them durable if they were written, and
    /// closes the file. `memory` holds [`Self::transfer_blocks`] blocks.
    fn transfer(
        calls: &mut Self::Calls,
        file: &LargeFile<'_, <Self::Calls as Calls>::Dir>,
        memory: &mut [u8],
        source: &mut impl BlockSource,
    ) -> Result<Transferred, LoadError> {
        transfer_by_calls(calls, file, memory, source)
    }
}

/// What an attribute is set or read on.
#[derive(Debug)]
pub enum Target<'a, C: Calls> {
    /// An open file.
    File(&'a C::File),
    /// An open directory.
    Directory(&'a C::Dir),
    /// A name in an open directory, never followed.
    Entry(&'a C::Dir, &'a CStr),
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

/// The calls that a phase can make. Names are single components: no call follows a symbolic link.
pub trait Calls: Sized {
    /// The engine that is named where these calls do the work.
    const ENGINE: &'static str;
    /// An open directory.
    type Dir: Sync;
    /// An open file.
    type File;

    /// The same for another worker, with no calls made yet.
    #[must_use]
    fn another(&self) -> Self;
    /// Calls made so far.
    fn calls(&self) -> u64;

    /// Opens the directory a phase works in, by its path.
    fn open_work_dir(&mut self, path: &Path) -> Result<Self::Dir, LoadError>;
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
    /// Closes a file; some file systems report of a full disk only here.
    fn close(&mut self, file: Self::File) -> Result<(), LoadError>;
    /// Makes a file durable: its data, and what is needed to find them (`fsync`).
    fn make_durable(&mut self, file: &mut Self::File) -> Result<(), LoadError>;
    /// Makes everything durable in the file system that holds a directory (`syncfs`).
    fn make_all_durable(&mut self, dir: &Self::Dir) -> Result<(), LoadError>;
    /// Reads on; 0 at the end.
    fn read(&mut self, file: &mut Self::File, into: &mut [u8]) -> Result<usize, LoadError>;
    /// Writes all of it.
    fn write(&mut self, file: &mut Self::File, data: &[u8]) -> Result<(), LoadError>;
    /// Reads at an offset; fewer bytes than requested where the file ends.
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
    /// `copy_file_range` at the offsets both files are at; the bytes copied, 0 at the end.
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
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// The programs that do its phases on trees, with the Debian packages that hold them.
    programs: &'static [(&'static str, &'static str)],
    /// Whether it touches files at all.
    pub(crate) touches_files: bool,
}

impl EngineInfo {
    /// The programs it runs.
    pub fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.programs.iter().map(|(name, _)| *name)
    }

    /// What it needs on this machine.
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
    /// What comes of it.
    type Output;
    /// Does it on one engine.
    fn on<E: Engine>(self) -> Self::Output;
}

macro_rules! engines {
    ($($engine:ty),* $(,)?) => {
        /// All engines.
        pub static ALL: &[EngineInfo] = &[$(<$engine>::INFO),*];

        /// Does some work on the engine of that name.
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

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineInfo> {
    ALL.iter().find(|engine| engine.name == name)
}
