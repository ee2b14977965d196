//! The engine `mmap`: reads and writes a large file as memory (`mmap(2)`), and makes it durable by
//! `msync(2)`. All other operations use the calls of `sync`.
//!
//! A page that the kernel cannot provide does not end the program: `fault` handles it. The caller
//! chooses the order of the blocks.

mod fault;

use super::null::Facts;
use super::sync::{SystemCalls, path_of};
use super::{BlockSource, Calls, DataFile, Engine, EngineInfo, LargeFile, Transferred};
use crate::error::LoadError;
use fault::Watched;
use rustix::fd::OwnedFd;
use rustix::fs::{fstat, fstatvfs};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MsyncFlags, ProtFlags};
use std::io;

pub const NAME: &str = "mmap";

pub(crate) enum MmapEngine {}

impl Engine for MmapEngine {
    const INFO: EngineInfo = EngineInfo {
        name: NAME,
        title: "memory-mapped large files (mmap, madvise, msync); otherwise as sync",
        programs: &[],
        touches_files: true,
    };
    type Calls = SystemCalls;
    const SYNC_CALL: &'static str = "msync";

    fn calls(_facts: Facts) -> SystemCalls {
        SystemCalls::default()
    }

    fn transfer_method(writes: bool, random: bool) -> Option<&'static str> {
        Some(match (writes, random) {
            (true, false) => "mmap, madvise MADV_SEQUENTIAL, copies into it",
            (false, false) => "mmap, madvise MADV_SEQUENTIAL, copies out of it",
            (true, true) => "mmap, madvise MADV_RANDOM, copies into it",
            (false, true) => "mmap, madvise MADV_RANDOM, copies out of it",
        })
    }

    fn check_transfer(_at_rate: bool, how: DataFile) -> Result<(), &'static str> {
        if how.dsync {
            return Err(
                "writes to mapped memory do not use O_DSYNC: leave out `dsync=yes`, or choose the \
                 engine sync or uring",
            );
        }
        if how.direct {
            return Err(
                "mapped memory is the page cache: leave out `cache=direct`, or choose the engine \
                 sync or uring",
            );
        }
        Ok(())
    }

    fn transfer(
        calls: &mut SystemCalls,
        file: &LargeFile<'_, OwnedFd>,
        memory: &mut [u8],
        source: &mut impl BlockSource,
    ) -> Result<Transferred, LoadError> {
        let LargeFile {
            directory,
            name,
            how,
            ..
        } = *file;
        if how.makes {
            let made = calls.open_data(directory, name, how)?;
            calls.close(made)?;
        }
        // A shared writable mapping requires a file that is also open for reading (mmap(2)).
        let mut open = if how.writes {
            calls.open_to_change(directory, name)?
        } else {
            calls.open_data(directory, name, how)?
        };
        if file.grows {
            // All workers of a shared file set the same size.
            calls.set_size(&mut open, file.size)?;
        }
        let mut mapping = Mapping::new(&open, file.size, how.writes, file.random)?;
        let mut moved = 0;
        source.begin();
        while let Some(request) = source.next(memory) {
            if request.writes {
                mapping.write(request.offset, memory)?;
                if source.is_sync_due() {
                    mapping.make_durable()?;
                }
            } else {
                mapping.read(request.offset, memory)?;
            }
            moved += memory.len() as u64;
            source.ended(memory.len())?;
        }
        if file.sync_at_end {
            mapping.make_durable()?;
        }
        let made = mapping.calls;
        drop(mapping);
        calls.close(open)?;
        Ok(Transferred {
            bytes: moved,
            calls: made,
        })
    }
}

/// A file mapped to memory.
#[derive(Debug)]
struct Mapping<'f> {
    file: &'f OwnedFd,
    start: *mut u8,
    length: usize,
    watched: Option<Watched>,
    /// System calls so far, without page faults.
    calls: u64,
}

impl<'f> Mapping<'f> {
    /// Maps this many bytes of a file of at least that size. `random` disables read-ahead, and
    /// otherwise the access is set to sequential (`madvise(2)`).
    fn new(file: &'f OwnedFd, length: u64, writes: bool, random: bool) -> Result<Self, LoadError> {
        let length = usize::try_from(length)
            .map_err(|_| LoadError::io("mmap", path_of(file), Errno::OVERFLOW.into()))?;
        let rights = if writes {
            ProtFlags::READ | ProtFlags::WRITE
        } else {
            ProtFlags::READ
        };
        let anywhere = std::ptr::null_mut();
        // SAFETY: the kernel chooses the address, so nothing else is there. No reference into the
        // mapping exists, because the file may change meanwhile.
        let start = unsafe { mm::mmap(anywhere, length, rights, MapFlags::SHARED, file, 0) }
            .map_err(|errno| LoadError::io("mmap", path_of(file), errno.into()))?;
        let mut mapping = Self {
            file,
            start: start.cast(),
            length,
            watched: None,
            calls: 2,
        };
        let watched = Watched::begin(start.addr(), length);
        mapping.watched = Some(watched.map_err(|source| mapping.call_error("sigaction", source))?);
        let advice = if random {
            Advice::Random
        } else {
            Advice::Sequential
        };
        // SAFETY: it is the mapping made above, and neither advice changes its contents.
        unsafe { mm::madvise(start, length, advice) }
            .map_err(|errno| mapping.call_error("madvise", errno))?;
        Ok(mapping)
    }

    /// Copies bytes out of the file.
    #[inline]
    fn read(&self, from: u64, into: &mut [u8]) -> Result<(), LoadError> {
        let place = self.place(from, into.len(), "read of a mapping")?;
        // SAFETY: the mapping has this many bytes from there, and `into` is separate memory.
        unsafe { std::ptr::copy_nonoverlapping(place, into.as_mut_ptr(), into.len()) };
        std::hint::black_box(into);
        self.check_pages("read of a mapping")
    }

    /// Copies bytes into the file, whose mapping is writable.
    #[inline]
    fn write(&mut self, to: u64, data: &[u8]) -> Result<(), LoadError> {
        let place = self.place(to, data.len(), "write to a mapping")?;
        // SAFETY: the mapping has this many bytes from there, and `data` is separate memory.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), place, data.len()) };
        self.check_pages("write to a mapping")
    }

    /// Makes the written data durable.
    fn make_durable(&mut self) -> Result<(), LoadError> {
        self.calls += 1;
        // SAFETY: it is this whole mapping.
        let synced = unsafe { mm::msync(self.start.cast(), self.length, MsyncFlags::SYNC) };
        synced.map_err(|errno| self.call_error("msync", errno))?;
        self.check_pages("write to a mapping")
    }

    /// The address of bytes of the mapping.
    #[inline]
    fn place(&self, at: u64, length: usize, what: &'static str) -> Result<*mut u8, LoadError> {
        let place = usize::try_from(at).ok();
        let inside = place.filter(|at| {
            let end = at.checked_add(length);
            end.is_some_and(|end| end <= self.length)
        });
        match inside {
            // SAFETY: the address is within the mapping.
            Some(at) => Ok(unsafe { self.start.add(at) }),
            None => Err(self.call_error(what, Errno::INVAL)),
        }
    }

    /// An error if a page was missing so far.
    #[inline]
    fn check_pages(&self, what: &'static str) -> Result<(), LoadError> {
        match self.watched.as_ref().and_then(Watched::fault) {
            None => Ok(()),
            Some(at) => Err(self.fault_error(what, at)),
        }
    }

    /// Returns the reason why a page was missing. The signal has no cause, so a system call on the
    /// file returns it.
    #[cold]
    fn fault_error(&self, what: &'static str, at: usize) -> LoadError {
        let size = fstat(self.file).map_or(0, |stat| stat.st_size.cast_unsigned());
        if at as u64 >= size {
            let words = format!("the file was cut to {size} bytes while it was mapped");
            return self.call_error(what, io::Error::other(words));
        }
        let full = fstatvfs(self.file).is_ok_and(|disk| disk.f_bavail == 0);
        self.call_error(what, if full { Errno::NOSPC } else { Errno::IO })
    }

    #[cold]
    fn call_error(&self, call: &'static str, source: impl Into<io::Error>) -> LoadError {
        LoadError::io(call, path_of(self.file), source.into())
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // First, because another mapping may reuse the address range after the unmap.
        drop(self.watched.take());
        // SAFETY: no pointer into the mapping is left.
        let _ = unsafe { mm::munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const SIZE: u64 = 1 << 20;

    fn file() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        file
    }

    #[test]
    fn a_mapping_and_its_file_have_the_same_contents() {
        let file = file();
        let owned = file.try_clone().unwrap().into();
        let mut mapping = Mapping::new(&owned, SIZE, true, false).unwrap();
        mapping.write(5000, b"dynamo").unwrap();
        mapping.make_durable().unwrap();
        let mut read = [0; 6];
        file.read_exact_at(&mut read, 5000).unwrap();
        assert_eq!(&read, b"dynamo");
        file.write_all_at(b"meter!", SIZE - 6).unwrap();
        mapping.read(SIZE - 6, &mut read).unwrap();
        assert_eq!(&read, b"meter!");
        let error = mapping.read(SIZE - 5, &mut read).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EINVAL));
    }

    #[test]
    fn a_file_that_is_truncated_while_it_is_mapped_fails_only_the_phase_that_reads_it() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (truncated, whole) = (file(), file());
                    let (truncated_fd, whole_fd) =
                        (truncated.try_clone().unwrap().into(), whole.into());
                    let mut truncated_map = Mapping::new(&truncated_fd, SIZE, true, true).unwrap();
                    let mut whole_map = Mapping::new(&whole_fd, SIZE, true, true).unwrap();
                    truncated.set_len(4096).unwrap();
                    let mut block = [1; 8192];
                    truncated_map.read(0, &mut block[..4096]).unwrap();
                    let error = truncated_map.read(0, &mut block).unwrap_err().to_string();
                    assert!(error.contains("cut to 4096 bytes"), "{error}");
                    assert!(truncated_map.write(0, b"more").is_err());
                    assert!(truncated_map.make_durable().is_err());
                    whole_map.write(0, &block).unwrap();
                    whole_map.make_durable().unwrap();
                });
            }
        });
    }
}
