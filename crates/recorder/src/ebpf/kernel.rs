//! The system calls for eBPF: bpf(2), and the memory of a ring buffer. The only unsafe code of the
//! recorder.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Types of maps (`enum bpf_map_type`).
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub enum MapType {
    Hash = 1,
    Array = 2,
    PerCpuArray = 6,
    Ring = 27,
}

/// Commands of bpf(2).
const MAP_CREATE: i64 = 0;
const MAP_UPDATE: i64 = 2;
const MAP_LOOKUP: i64 = 1;
const MAP_DELETE: i64 = 3;
const PROGRAM_LOAD: i64 = 5;
const RAW_TRACEPOINT_OPEN: i64 = 17;

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;

/// `BPF_PROG_TYPE_RAW_TRACEPOINT`.
const RAW_TRACEPOINT: u32 = 17;

/// `union bpf_attr`, as far as it is used.
#[repr(C, align(8))]
struct Attributes([u8; 128]);

impl Attributes {
    fn new() -> Self {
        Self([0; 128])
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn pointer<T>(mut self, at: usize, value: *const T) -> Self {
        self.0[at..at + 8].copy_from_slice(&(value as u64).to_ne_bytes());
        self
    }
}

fn bpf(command: i64, attributes: &Attributes) -> io::Result<i64> {
    // SAFETY: the attributes are larger than the kernel's, zero where unused, and their pointers
    // are to memory that stays valid during the call and has the size that the command reads or
    // writes.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, 128) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn descriptor(command: i64, attributes: &Attributes) -> io::Result<OwnedFd> {
    let number = i32::try_from(bpf(command, attributes)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

pub fn create_map(kind: MapType, key: u32, value: u32, entries: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes::new();
    let flags = match kind {
        // Space is taken as keys come.
        MapType::Hash => NO_PREALLOC,
        _ => 0,
    };
    let attributes = attributes
        .u32(0, kind as u32)
        .u32(4, key)
        .u32(8, value)
        .u32(12, entries)
        .u32(16, flags);
    descriptor(MAP_CREATE, &attributes)
}

/// Sets the value of a key of 32 bits in a map whose values have `N` bytes.
pub fn update<const N: usize>(map: &OwnedFd, key: u32, value: [u8; N]) -> io::Result<()> {
    let attributes = Attributes::new().u32(0, map.as_raw_fd().cast_unsigned());
    let attributes = attributes
        .pointer(8, &raw const key)
        .pointer(16, &raw const value);
    bpf(MAP_UPDATE, &attributes).map(drop)
}

/// Removes a key of 32 bits. One that is missing is no error.
pub fn delete(map: &OwnedFd, key: u32) -> io::Result<()> {
    let attributes = Attributes::new().u32(0, map.as_raw_fd().cast_unsigned());
    match bpf(MAP_DELETE, &attributes.pointer(8, &raw const key)) {
        Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
        _ => Ok(()),
    }
}

/// The value of a key in an array of 64-bit values.
pub fn value(map: &OwnedFd, key: u32) -> io::Result<u64> {
    let mut value = 0_u64;
    let attributes = Attributes::new().u32(0, map.as_raw_fd().cast_unsigned());
    let attributes = attributes
        .pointer(8, &raw const key)
        .pointer(16, &raw mut value);
    bpf(MAP_LOOKUP, &attributes)?;
    Ok(value)
}

/// The sum of the values of key 0 in an array for each processor.
pub fn sum_of_processors(map: &OwnedFd) -> io::Result<u64> {
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = possible.trim().rsplit([',', '-']).next();
    let last = last.and_then(|last| last.parse::<usize>().ok());
    let last =
        last.ok_or_else(|| io::Error::other("the list of processors has an unknown form"))?;
    let key = 0_u32;
    let mut values = vec![0_u64; last + 1];
    let attributes = Attributes::new().u32(0, map.as_raw_fd().cast_unsigned());
    let attributes = attributes
        .pointer(8, &raw const key)
        .pointer(16, values.as_mut_ptr());
    bpf(MAP_LOOKUP, &attributes)?;
    Ok(values.iter().sum())
}

/// Loads a program for a raw tracepoint. If the kernel refuses it, the error has the last lines of
/// its verifier.
pub fn load(code: &[u64]) -> io::Result<OwnedFd> {
    let licence = c"GPL";
    let attributes = || {
        let count = u32::try_from(code.len()).unwrap_or(u32::MAX);
        let attributes = Attributes::new().u32(0, RAW_TRACEPOINT).u32(4, count);
        attributes
            .pointer(8, code.as_ptr())
            .pointer(16, licence.as_ptr())
    };
    let error = match descriptor(PROGRAM_LOAD, &attributes()) {
        Ok(program) => return Ok(program),
        Err(error) => error,
    };
    if error.raw_os_error() == Some(libc::EPERM) {
        return Err(error);
    }
    let mut log = vec![0_u8; 1 << 20];
    let with_log = attributes()
        .u32(24, 1)
        .u32(28, 1 << 20)
        .pointer(32, log.as_mut_ptr());
    if let Ok(program) = descriptor(PROGRAM_LOAD, &with_log) {
        return Ok(program);
    }
    let text = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default());
    let lines: Vec<&str> = text.lines().rev().take(6).collect();
    let last: Vec<&str> = lines.into_iter().rev().collect();
    Err(io::Error::new(
        error.kind(),
        format!("{error}: {}", last.join("; ")),
    ))
}

/// Attaches a program to a raw tracepoint, until the descriptor is closed.
pub fn attach(program: &OwnedFd, tracepoint: &std::ffi::CStr) -> io::Result<OwnedFd> {
    let attributes = Attributes::new().pointer(0, tracepoint.as_ptr());
    let program = program.as_raw_fd().cast_unsigned();
    descriptor(RAW_TRACEPOINT_OPEN, &attributes.u32(8, program))
}

/// The memory of a ring buffer map (kernel: Documentation/bpf/ringbuf.rst).
#[derive(Debug)]
pub struct Ring {
    /// A page with the position of the reader.
    reader: *mut c_void,
    /// A page with the position of writers, then the data twice.
    writers: *mut c_void,
    size: usize,
    page: usize,
}

/// Events after which the caller does other work.
const MAX_AT_ONCE: usize = 1 << 16;

/// Bits of the length of an event: it is still written; it is to be skipped.
const BUSY: u32 = 1 << 31;
const SKIPPED: u32 = 1 << 30;

impl Ring {
    /// Maps the ring buffer of that many bytes, a power of two.
    pub fn new(map: &OwnedFd, size: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let null = std::ptr::null_mut();
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let reader = unsafe { mmap(null, page, both, MapFlags::SHARED, map, 0)? };
        let length = page + 2 * size;
        let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: as above.
        let writers = unsafe { mmap(null, length, read, shared, map, page as u64) };
        match writers {
            Ok(writers) => Ok(Self {
                reader,
                writers,
                size,
                page,
            }),
            Err(errno) => {
                // SAFETY: the mapping from above, which nothing uses.
                let _ = unsafe { munmap(reader, page) };
                Err(errno.into())
            }
        }
    }

    /// Calls `each` with the events that are complete, in order. Returns their number.
    pub fn read<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<usize, E> {
        // SAFETY: the first 8 bytes of these pages are the positions, which the kernel accesses
        // atomically; both mappings stay valid as long as `self` exists.
        let (reader, writers) = unsafe {
            (
                &*self.reader.cast::<AtomicU64>(),
                &*self.writers.cast::<AtomicU64>(),
            )
        };
        let mut at = reader.load(Ordering::Relaxed);
        let mut count = 0;
        while count < MAX_AT_ONCE && at < writers.load(Ordering::Acquire) {
            let offset = usize::try_from(at).unwrap_or(0) & (self.size - 1);
            // SAFETY: the offset is below the size, and the data are mapped twice in a row, so an
            // event of at most the size is contiguous.
            let start = unsafe { self.writers.byte_add(self.page + offset) };
            // SAFETY: the header is aligned to 8. Its first half is the length, of which the kernel
            // clears BUSY atomically.
            let header = unsafe { &*start.cast::<AtomicU32>() }.load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = (header & !(BUSY | SKIPPED)) as usize;
            let result = if header & SKIPPED == 0 && length <= self.size {
                count += 1;
                // SAFETY: the kernel does not change an event before the reader's position passes.
                each(unsafe { std::slice::from_raw_parts(start.byte_add(8).cast(), length) })
            } else {
                Ok(())
            };
            at += (length as u64 + 8).next_multiple_of(8);
            reader.store(at, Ordering::Release);
            result?;
        }
        Ok(count)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mappings of `new`, to which no reference remains.
        unsafe {
            let _ = munmap(self.reader, self.page);
            let _ = munmap(self.writers, self.page + 2 * self.size);
        }
    }
}
