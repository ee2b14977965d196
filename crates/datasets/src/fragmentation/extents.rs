//! The system call that reads the extents of a file: `FS_IOC_FIEMAP`, as documented in the kernel's
//! `Documentation/filesystems/fiemap.rst`. `runs` interprets them.

use rustix::fd::AsFd;
use rustix::io::{self, Errno};
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

/// The number of extents per request: about 16 KiB with the header.
const BATCH: usize = 292;

const FS_IOC_FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);

/// `FIEMAP_FLAG_SYNC`: write the file back first, so that all data have a location.
const FLAG_SYNC: u32 = 1;

/// `FIEMAP_EXTENT_LAST`: the last extent of the file.
const LAST: u32 = 1;

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// The offset in the file, bytes.
    pub logical: u64,
    /// The offset on the device, bytes; undefined for some `flags`.
    pub physical: u64,
    /// Its length in the file, bytes.
    pub length: u64,
    reserved64: [u64; 2],
    pub flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap`, without the following extents.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [Extent; BATCH],
}

/// A reused buffer for results.
pub(super) struct Map(Box<Request>);

impl Extent {
    #[cfg(test)]
    pub fn new(logical: u64, physical: u64, length: u64, flags: u32) -> Self {
        Self {
            logical,
            physical,
            length,
            flags,
            ..Self::default()
        }
    }
}

impl Map {
    pub fn new() -> Self {
        Self(Box::new(Request {
            header: Header::default(),
            extents: [Extent::default(); BATCH],
        }))
    }

    /// Calls `each` with every extent of a file, in the order of the file. Returns false if `stop`
    /// was requested before the end.
    pub fn each(
        &mut self,
        file: impl AsFd,
        stop: impl Fn() -> bool,
        mut each: impl FnMut(&Extent),
    ) -> io::Result<bool> {
        let mut start = 0;
        loop {
            if stop() {
                return Ok(false);
            }
            let extents = match self.query(&file, start) {
                // The file has the maximum size, so no extent follows.
                Err(Errno::FBIG) if start > 0 => return Ok(true),
                result => result?,
            };
            extents.iter().for_each(&mut each);
            let Some(last) = extents.last() else {
                return Ok(true);
            };
            let next = last.logical.saturating_add(last.length);
            if last.flags & LAST != 0 || next <= start {
                return Ok(true);
            }
            start = next;
        }
    }

    /// The extents from an offset of the file.
    fn query(&mut self, file: impl AsFd, start: u64) -> io::Result<&[Extent]> {
        let request = &mut *self.0;
        request.header = Header {
            start,
            length: u64::MAX - start,
            flags: FLAG_SYNC,
            count: u32::try_from(BATCH).unwrap_or(u32::MAX),
            ..Header::default()
        };
        // SAFETY: the opcode is that of the header. The kernel expects space for `count` extents
        // after it, and there is space for BATCH. It writes to no other memory.
        let call = unsafe { Updater::<FS_IOC_FIEMAP, Request>::new(request) };
        // SAFETY: as above; the request outlives the call.
        unsafe { ioctl(file, call)? };
        let mapped = usize::try_from(self.0.header.mapped).unwrap_or(BATCH);
        Ok(&self.0.extents[..mapped.min(BATCH)])
    }
}
