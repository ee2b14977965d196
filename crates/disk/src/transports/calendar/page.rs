//! The page that the calendar shares with the kernel it lets run: as long as nothing of the disks
//! is due, the kernel goes on in time by itself, and reading the clock costs no message.
//!
//! After `struct um_timetravel_schedshm` in the kernel's `include/uapi/linux/um_timetravel.h`,
//! version 2.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// Bytes of the whole: a page for all, and room for those who take part.
const LENGTH: usize = 8192;

/// The version of this layout.
const VERSION: u32 = 2;

/// Those who take part: the disks, which answer to nobody, and the kernel.
const PARTIES: u16 = 2;

/// The number of the kernel among them.
pub const KERNEL: u16 = 1;

/// Where the kernel's part lies.
const KERNELS: usize = 4096 + 128;

/// Where things lie.
const VERSION_AT: usize = 0;
const LENGTH_AT: usize = 4;
const FREE_UNTIL_AT: usize = 8;
const NOW_AT: usize = 16;
const RUNNING_AT: usize = 24;
const PARTIES_AT: usize = 26;
const CAPABILITIES_AT: usize = KERNELS;
const FLAGS_AT: usize = KERNELS + 4;
const REQUEST_AT: usize = KERNELS + 8;

/// The kernel reads and writes the page.
const SHARES: u32 = 1;

/// The kernel has asked to run.
const HAS_REQUEST: u32 = 1;

/// The page.
#[derive(Debug)]
pub struct Page {
    file: File,
    mapped: MmapRegion<()>,
}

impl Page {
    /// A page at time 0.
    pub fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = memfd_create("fsdyno-calendar", flags)?;
        ftruncate(&descriptor, LENGTH as u64)?;
        // Nobody takes away under us what is mapped.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&descriptor, seals)?;
        let file = File::from(descriptor);
        let mapped = MmapRegion::from_file(FileOffset::new(file.try_clone()?, 0), LENGTH);
        let mapped = mapped.map_err(|error| io::Error::other(error.to_string()))?;
        let page = Self { file, mapped };
        page.set_u32(VERSION_AT, VERSION);
        page.set_u32(LENGTH_AT, u32::try_from(LENGTH).unwrap_or_default());
        page.set_u16(RUNNING_AT, KERNEL);
        page.set_u16(PARTIES_AT, PARTIES);
        Ok(page)
    }

    /// What the kernel maps.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether the kernel uses it.
    pub fn is_shared(&self) -> bool {
        self.u32(CAPABILITIES_AT) & SHARES != 0
    }

    /// The time it says, which the kernel moves on while it runs.
    pub fn now(&self) -> u64 {
        self.u64(NOW_AT)
    }

    /// Sets the time.
    pub fn set_now(&self, now: u64) {
        self.set_u64(NOW_AT, now);
    }

    /// How far the kernel may go on by itself.
    pub fn set_free_until(&self, then: u64) {
        self.set_u64(FREE_UNTIL_AT, then);
    }

    /// When the kernel has asked to run.
    pub fn request(&self) -> Option<u64> {
        let has = self.u32(FLAGS_AT) & HAS_REQUEST != 0;
        has.then(|| self.u64(REQUEST_AT))
    }

    fn all(&self) -> VolatileSlice<'_> {
        self.mapped.as_volatile_slice()
    }

    // All places lie within the page, and are aligned.
    fn u32(&self, at: usize) -> u32 {
        self.all().load(at, Ordering::Acquire).unwrap_or_default()
    }

    fn u64(&self, at: usize) -> u64 {
        self.all().load(at, Ordering::Acquire).unwrap_or_default()
    }

    fn set_u16(&self, at: usize, value: u16) {
        let _ = self.all().store(value, at, Ordering::Release);
    }

    fn set_u32(&self, at: usize, value: u32) {
        let _ = self.all().store(value, at, Ordering::Release);
    }

    fn set_u64(&self, at: usize, value: u64) {
        let _ = self.all().store(value, at, Ordering::Release);
    }
}
