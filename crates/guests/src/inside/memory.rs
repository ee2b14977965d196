//! The memory of a guest in virtual time, which is the same whatever the size of the first process. The
//! pages of its program and libraries would otherwise be part of the cache of the kernel, so how many
//! pages of files stay there, and when the kernel looks for free memory, would depend on its build.

use super::GuestInitError;
use fsdyno_model::Bytes;
use rustix::mm::{self, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::ffi::c_void;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a guest has more than the memory of its setting: for the kernel and the first process.
pub const OWN: Bytes = Bytes(192 << 20);

/// The environment variable with the memory of a guest's setting, bytes.
pub(crate) const GIVEN: &str = "FSDYNO_MEMORY";

/// Where the kernel makes all memory but a number of bytes unusable (`data/settle_memory.c`).
const SETTLE: &str = "/proc/settle_memory";

/// Drops the pages, directory entries and inodes in memory that nobody uses.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

const PAGE: usize = 4096;

/// Where copies are made, far from all else: the kernel would join one with a mapping next to it, and
/// keep track of both together.
const COPIES: usize = 0x60_0000_0000;

/// The limits of dirty memory as fractions of free memory: background write-back starts at the first,
/// writers are throttled at the second. The fractions are the kernel's defaults.
const DIRTY: [(&str, u64); 2] = [
    ("/proc/sys/vm/dirty_background_bytes", 10),
    ("/proc/sys/vm/dirty_bytes", 5),
];

/// A mapped part of a file.
struct Part {
    begin: usize,
    end: usize,
    access: MprotectFlags,
}

/// Leaves seven eighths of the memory of the setting free, or less in a small guest, and sets the limits of
/// dirty memory from that. The kernel's default depends on free memory. The process has one thread.
pub fn settle() -> Result<(), GuestInitError> {
    let given = std::env::var(GIVEN).ok();
    let Some(memory) = given.and_then(|text| text.parse::<u64>().ok()) else {
        return Ok(());
    };
    let free = memory / 8 * 7;
    // A kernel without the count of its work has no such file. Its times vary in any case.
    if Path::new(SETTLE).exists() {
        own_pages().map_err(GuestInitError::at("copy its program"))?;
        fs::write(DROP_CACHES, "3").map_err(GuestInitError::at("drop caches"))?;
        match fs::write(SETTLE, free.to_string()) {
            // Fewer whole blocks remain, and all of them stay free.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {}
            settled => settled.map_err(GuestInitError::at("settle its memory"))?,
        }
    }
    for (file, part) in DIRTY {
        fs::write(file, (free / part).to_string())
            .map_err(GuestInitError::at(format!("set {file}")))?;
    }
    Ok(())
}

/// Replaces all pages of files in this process by copies.
fn own_pages() -> io::Result<()> {
    let memory = File::open("/proc/self/mem")?;
    for part in &parts(&fs::read_to_string("/proc/self/maps")?) {
        if part.access.contains(MprotectFlags::WRITE) {
            for page in (part.begin..part.end).step_by(PAGE) {
                let byte = page as *mut u8;
                // SAFETY: the page is mapped and writable. It keeps its content.
                unsafe { byte.write_volatile(byte.read_volatile()) };
            }
        } else {
            replace(part, &memory)?;
        }
    }
    Ok(())
}

/// Replaces a part that nobody writes.
fn replace(part: &Part, memory: &File) -> io::Result<()> {
    let length = part.end - part.begin;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
    // SAFETY: the copy is a new mapping, whose slice ends before it takes the place of the part. The
    // part has the same content and access before and after that.
    unsafe {
        let copy = mm::mmap_anonymous(COPIES as *mut c_void, length, access, flags)?;
        let bytes = std::slice::from_raw_parts_mut(copy.cast::<u8>(), length);
        memory.read_exact_at(bytes, part.begin as u64)?;
        mm::mprotect(copy, length, part.access)?;
        let place = part.begin as *mut c_void;
        mm::mremap_fixed(copy, length, length, MremapFlags::MAYMOVE, place)?;
    }
    Ok(())
}

/// The readable parts of files, from `/proc/self/maps`.
fn parts(maps: &str) -> Vec<Part> {
    const LETTERS: [(char, MprotectFlags); 3] = [
        ('r', MprotectFlags::READ),
        ('w', MprotectFlags::WRITE),
        ('x', MprotectFlags::EXEC),
    ];
    let part = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        let access = words.next()?;
        // The offset and the device are between.
        let inode = words.nth(2)?;
        let letters = LETTERS
            .iter()
            .filter(|(letter, _)| access.contains(*letter));
        let access = letters.fold(MprotectFlags::empty(), |all, (_, one)| all | *one);
        let address = |text| usize::from_str_radix(text, 16).ok();
        (inode != "0" && access.contains(MprotectFlags::READ)).then_some(Part {
            begin: address(begin)?,
            end: address(end)?,
            access,
        })
    };
    maps.lines().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_runs_on_in_copies_of_its_pages() {
        // In a child, whose other threads do not exist.
        // SAFETY: the child makes system calls, allocates, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let files = || parts(&fs::read_to_string("/proc/self/maps").unwrap_or_default());
            let before = files().len();
            let copied = before > 3 && own_pages().is_ok();
            let readonly = files();
            let mut readonly = readonly
                .iter()
                .filter(|part| !part.access.contains(MprotectFlags::WRITE));
            let done = copied && readonly.next().is_none() && "a text".to_uppercase() == "A TEXT";
            // SAFETY: it only ends the process.
            unsafe { libc::_exit(i32::from(!done)) };
        }
        let mut status = 0;
        // SAFETY: `status` is written, and the child is one of this process.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((ended, status), (child, 0));
    }

    #[test]
    fn parts_of_files_have_their_access_and_others_are_left_out() {
        let maps = "\
55d0a0000000-55d0a0002000 r-xp 00001000 00:1f 42                         /run/a program
55d0a0003000-55d0a0004000 rw-p 00003000 00:1f 42                         /run/a program
55d0a0004000-55d0a0005000 ---p 00003000 00:1f 42                         /run/a program
55d0a0005000-55d0a0026000 rw-p 00000000 00:00 0                          [heap]
7ffd12300000-7ffd12321000 rw-p 00000000 00:00 0 ";
        let found = parts(maps);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.begin, one.end, one.access))
            .collect();
        let (read, write, run) = (
            MprotectFlags::READ,
            MprotectFlags::WRITE,
            MprotectFlags::EXEC,
        );
        let expected = [
            (0x55d0_a000_0000, 0x55d0_a000_2000, read | run),
            (0x55d0_a000_3000, 0x55d0_a000_4000, read | write),
        ];
        assert_eq!(found, expected);
    }
}
