//! Operations on mappings of files.
//!
//! Pages are touched by madvise(2): the kernel handles a fault of the page, and a page that the file
//! does not have any more is an error, not a signal. No address of a mapping is accessed.

use super::{Call, Done};
use crate::descriptor::Descriptor;
use fsdyno_files::uninterrupted;
use fsdyno_trace::Action;
use rustix::fs;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes of a page, as recorded.
const PAGE: usize = 4096;

/// The maximum size of a mapping, bytes. Later pages are read and written by system calls.
const MAX_MAPPED: u64 = 1 << 30;

/// A mapping. It keeps its file open.
pub(super) struct Mapped {
    file: Arc<Descriptor>,
    window: Option<Window>,
}

/// Addresses at which a file is mapped, until this is dropped.
struct Window {
    address: *mut c_void,
    length: usize,
    offset: u64,
}

// SAFETY: the addresses are only passed to the kernel, whose calls on them may be concurrent.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl Window {
    /// Maps a part of a file; none if that is not possible.
    fn new(file: &Descriptor, offset: u64, length: u64, shared_writes: bool) -> Option<Self> {
        let size = fs::fstat(file).ok()?.st_size;
        let left = u64::try_from(size).ok()?.checked_sub(offset)?;
        let length = length
            .min(left)
            .min(MAX_MAPPED)
            .next_multiple_of(PAGE as u64);
        let length = usize::try_from(length).ok().filter(|length| *length > 0)?;
        let (access, kind) = if shared_writes {
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)
        } else {
            (ProtFlags::READ, MapFlags::PRIVATE)
        };
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping at a place that the kernel chooses. Nothing refers to its memory.
        let address = unsafe { mmap(anywhere, length, access, kind, file, offset) }.ok()?;
        Some(Self {
            address,
            length,
            offset,
        })
    }

    /// Has the kernel handle a fault at an offset of the file. Fails before Linux 5.14, and if the
    /// file ends before that offset.
    fn touch(&self, offset: u64, write: bool) -> rustix::io::Result<()> {
        let within = offset.checked_sub(self.offset).ok_or(Errno::FAULT)?;
        let within = usize::try_from(within).map_err(|_| Errno::FAULT)?;
        if within >= self.length {
            return Err(Errno::FAULT);
        }
        let advice = if write {
            Advice::LinuxPopulateWrite
        } else {
            Advice::LinuxPopulateRead
        };
        // SAFETY: the page is within the mapping, which lives as long as `self`. The advice changes
        // no content.
        unsafe { madvise(self.address.byte_add(within), PAGE, advice) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, to which nothing refers.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}

impl Call<'_, '_> {
    pub(super) fn on_mapping(&mut self, action: &Action) -> Done {
        match action {
            Action::Map {
                offset,
                length,
                protection,
                flags,
                ..
            } => {
                if self.recorded < 0 {
                    return Ok(None);
                }
                let file = self.handle(0)?;
                let has = |bits: u32, flag: i32| bits & flag.cast_unsigned() != 0;
                let writes = has(*flags, libc::MAP_SHARED) && has(*protection, libc::PROT_WRITE);
                let window = Window::new(&file, *offset, *length, writes);
                let mapped = Arc::new(Mapped { file, window });
                self.stage.mappings.set(self.numbers()[1], Some(mapped));
                Ok(Some(0))
            }
            Action::Unmap { .. } => {
                let unmapped = self.stage.mappings.set(self.numbers()[0], None);
                unmapped.map(|_| Some(0)).ok_or(Errno::BADF)
            }
            Action::SyncMap { flags, .. } => {
                let mapped = self.stage.mappings.get(self.numbers()[0])?;
                if flags & libc::MS_SYNC.cast_unsigned() != 0 {
                    fs::fdatasync(&mapped.file)?;
                }
                Ok(Some(0))
            }
            Action::Fault { write, .. } => self.fault(*write),
            on_path => self.on_path(on_path),
        }
    }

    /// Touches the page of a fault; if that is not possible, reads or writes it.
    fn fault(&mut self, writes: bool) -> Done {
        let mapped = self.stage.mappings.get(self.numbers()[0])?;
        let offset = self.step.resolved.offset;
        let within = usize::try_from(self.step.resolved.within).unwrap_or(0);
        let writes = writes && within > 0;
        let touched = mapped
            .window
            .as_ref()
            .map_or(Err(Errno::FAULT), |window| window.touch(offset, writes));
        if touched.is_err() && writes {
            let data = self.data(0, within);
            uninterrupted(|| rustix::io::pwrite(&mapped.file, data, offset))?;
        } else if touched.is_err() {
            let page = &mut self.buffer[..PAGE];
            uninterrupted(|| rustix::io::pread(&mapped.file, &mut *page, offset))?;
        }
        Ok(Some(0))
    }
}
