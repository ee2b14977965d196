//! Shared-memory page of the time-travel calendar and the kernel. While no disk event is due, the
//! kernel advances its time without messages, and clock reads cost no message.
//!
//! Source: `struct um_timetravel_schedshm` in the kernel's `include/uapi/linux/um_timetravel.h`,
//! version 2.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// Size of the shared memory: one page for the header and the client slots.
const LENGTH: usize = 8192;

const VERSION: u32 = 2;

/// Number of clients: the disks, counted as one, and the kernel.
const PARTIES: u16 = 2;

/// Client number of the kernel.
pub const KERNEL: u16 = 1;

/// Offset of the kernel's slot.
const KERNELS: usize = 4096 + 128;

/// Field offsets.
const VERSION_AT: usize = 0;
const LENGTH_AT: usize = 4;
const FREE_UNTIL_AT: usize = 8;
const NOW_AT: usize = 16;
const RUNNING_AT: usize = 24;
const PARTIES_AT: usize = 26;
const CAPABILITIES_AT: usize = KERNELS;
const FLAGS_AT: usize = KERNELS + 4;
const REQUEST_AT: usize = KERNELS + 8;

/// Capability flag: the kernel uses the page.
const SHARES: u32 = 1;

/// Request flag: the kernel requests to run.
const HAS_REQUEST: u32 = 1;

#[derive(Debug)]
pub struct Page {
    file: File,
    mapped: MmapRegion<()>,
}

impl Page {
    /// Creates a page at time 0.
    pub fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = memfd_create("fsdyno-calendar", flags)?;
        ftruncate(&descriptor, LENGTH as u64)?;
        // Seals prevent truncation of the mapped file.
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

    /// Descriptor for the kernel's mapping.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether the kernel uses the page.
    pub fn is_shared(&self) -> bool {
        self.u32(CAPABILITIES_AT) & SHARES != 0
    }

    /// Current virtual time. The kernel advances it while it runs.
    pub fn now(&self) -> u64 {
        self.u64(NOW_AT)
    }

    /// Sets the current virtual time.
    pub fn set_now(&self, now: u64) {
        self.set_u64(NOW_AT, now);
    }

    /// Sets the time until which the kernel advances without messages.
    pub fn set_free_until(&self, then: u64) {
        self.set_u64(FREE_UNTIL_AT, then);
    }

    /// Time at which the kernel requests to run.
    pub fn request(&self) -> Option<u64> {
        let has = self.u32(FLAGS_AT) & HAS_REQUEST != 0;
        has.then(|| self.u64(REQUEST_AT))
    }

    fn all(&self) -> VolatileSlice<'_> {
        self.mapped.as_volatile_slice()
    }

    // All offsets are aligned and within the page.
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
