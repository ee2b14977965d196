//! Counts the pages of an open file in memory, with `cachestat(2)` or, if that is missing,
//! `mincore(2)`.

use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::{c_long, c_void};
use std::io;
use std::ptr::null_mut;

/// The number of `cachestat` on every architecture, since Linux 6.5.
const SYS_CACHESTAT: c_long = 451;

/// Bytes of a file that are mapped at once for `mincore`; a multiple of every page size.
const WINDOW: usize = 64 << 20;

/// A way to count pages. Neither reads data from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    Cachestat,
    Mincore,
}

/// `struct cachestat_range`.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat`.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

impl Counting {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cachestat => "cachestat",
            Self::Mincore => "mincore",
        }
    }

    /// The pages of a file of that length that are in memory.
    pub(super) fn resident(self, file: impl AsFd, length: u64) -> io::Result<u64> {
        match self {
            Self::Cachestat => cachestat(file),
            Self::Mincore => mincore(file, length),
        }
    }
}

fn cachestat(file: impl AsFd) -> io::Result<u64> {
    // Length 0: to the end of the file.
    let range = Range {
        offset: 0,
        length: 0,
    };
    let mut counts = Counts::default();
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: both structures have the kernel's layout and outlive the call, which writes only
    // the second.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, fd, &raw const range, &raw mut counts, 0) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(counts.cached)
}

fn mincore(file: impl AsFd, length: u64) -> io::Result<u64> {
    let page = rustix::param::page_size();
    let mut states = vec![0_u8; WINDOW.div_ceil(page)];
    let mut resident = 0;
    for offset in (0..length).step_by(WINDOW) {
        let left = usize::try_from(length - offset)
            .unwrap_or(WINDOW)
            .min(WINDOW);
        let pages = &mut states[..left.div_ceil(page)];
        resident += mincore_window(&file, offset, left, pages)?;
    }
    Ok(resident)
}

fn mincore_window(
    file: &impl AsFd,
    offset: u64,
    length: usize,
    states: &mut [u8],
) -> io::Result<u64> {
    // SAFETY: a new mapping at an address of the kernel's choice; it is never read through.
    let start = unsafe {
        mmap(
            null_mut::<c_void>(),
            length,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            offset,
        )?
    };
    // SAFETY: the range is the mapping, and `states` holds a byte for each of its pages.
    let result = unsafe { libc::mincore(start, length, states.as_mut_ptr()) };
    let error = Errno::from_io_error(&io::Error::last_os_error());
    // SAFETY: the mapping was made above, and nothing refers to it.
    unsafe { munmap(start, length)? };
    if result != 0 {
        return Err(error.unwrap_or(Errno::INVAL).into());
    }
    // The lowest bit is the residency; the others are reserved.
    Ok(states.iter().map(|state| u64::from(state & 1)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_ways_count_the_pages_of_a_file_just_written() {
        let page = rustix::param::page_size();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 9 * page + 1]).unwrap();
        let length = 9 * page as u64 + 1;
        assert_eq!(Counting::Mincore.resident(&file, length).unwrap(), 10);
        match Counting::Cachestat.resident(&file, length) {
            Ok(pages) => assert_eq!(pages, 10),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOSYS)),
        }
        assert_eq!(Counting::Mincore.resident(&file, 0).unwrap(), 0);
    }
}
