//! The memory of a guest in virtual time, which is the same whatever the size of the first process. The
//! pages of its program and libraries would otherwise be part of the cache of the kernel, so how many
//! pages of files stay there, and when the kernel looks for free memory, would depend on its build.

use super::GuestInitError;
use fsdyno_model::Bytes;
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};
use std::arch::global_asm;
use std::ffi::c_void;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

/// What a guest has more than the memory of its setting: for the kernel and the first process.
pub const OWN: Bytes = Bytes(192 << 20);

/// What the kernel and the first process use at most until memory is settled: 57 blocks of 4 MiB.
const USED: Bytes = Bytes(228 << 20);

/// The environment variable with the memory of a guest's setting, bytes.
pub(crate) const GIVEN: &str = "FSDYNO_MEMORY";

/// Where the kernel makes all memory but a number of bytes unusable (`data/settle_memory.c`).
const SETTLE: &str = "/proc/settle_memory";

/// Drops the pages, directory entries and inodes in memory that nobody uses.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Free blocks of memory by kind of use and size. The size doubles from column to column.
const FREE_BLOCKS: &str = "/proc/pagetypeinfo";

/// Where a 5 makes the most memory that this process ever had what it has now.
const CLEAR_REFERENCES: &str = "/proc/self/clear_refs";

const PAGE: usize = 4096;

/// How much of the program is copied at a time, bytes.
const COPIED: usize = 4 << 20;

/// How much memory is taken at a time where at most one block of the largest size is to be divided.
const STEP: usize = 64 << 10;

/// Where memory is taken, far from all else: the kernel would join it with a mapping next to it, and
/// keep track of both together.
const TAKEN: usize = 0x70_0000_0000;

/// The limits of dirty memory as fractions of free memory: background write-back starts at the first,
/// writers are throttled at the second. The fractions are the kernel's defaults.
const DIRTY: [(&str, u64); 2] = [
    ("/proc/sys/vm/dirty_background_bytes", 10),
    ("/proc/sys/vm/dirty_bytes", 5),
];

// The last variable of the file of a program, at the beginning of a page. Those that begin as zero follow, in
// the same page: otherwise only some builds would have pages of them alone, and with them one more mapping,
// which the kernel finds in its way whenever it maps something.
global_asm!(
    ".section fsdyno_last, \"aw\", @progbits",
    ".p2align 12",
    ".globl fsdyno_last_variable",
    "fsdyno_last_variable: .byte 1",
    ".previous"
);

unsafe extern "C" {
    static fsdyno_last_variable: AtomicU8;
}

/// A part of the memory of a process.
struct Part {
    begin: usize,
    end: usize,
    access: MprotectFlags,
    /// The inode of its file; 0 without one.
    file: u64,
}

impl Part {
    fn is_written(&self) -> bool {
        self.access.contains(MprotectFlags::WRITE)
    }
}

/// Gives the process copies of its program and libraries at their places, so that no page of their files
/// remains in memory. The process has one thread.
pub fn copy_program() -> Result<(), GuestInitError> {
    // The linker keeps what is used.
    // SAFETY: it is one byte, defined above.
    unsafe { fsdyno_last_variable.store(1, Ordering::Relaxed) };
    if settles() {
        own_pages(drop_caches)?;
    }
    Ok(())
}

/// A kernel without the count of its work does not settle memory. Its times vary in any case.
fn settles() -> bool {
    Path::new(SETTLE).exists()
}

fn drop_caches() -> Result<(), GuestInitError> {
    fs::write(DROP_CACHES, "3").map_err(GuestInitError::at("drop caches"))
}

/// Leaves seven eighths of the memory of the setting free, or less in a small guest, and sets the limits of
/// dirty memory from that. The kernel's default depends on free memory.
///
/// What remains is always the same memory, which nobody has used: the kernel searches free memory by its
/// addresses, and some file systems write what was in it before.
pub fn settle() -> Result<(), GuestInitError> {
    let given = std::env::var(GIVEN).ok();
    let Some(memory) = given.and_then(|text| text.parse::<u64>().ok()) else {
        return Ok(());
    };
    let total = rustix::system::sysinfo().totalram as u64;
    let unused = total.saturating_sub(USED.0);
    let free = (memory / 8 * 7).min(unused);
    if settles() {
        touch_writable().map_err(GuestInitError::at("touch its memory"))?;
        // When memory is given back, the kernel notes a new maximum. That so far depends on the build.
        fs::write(CLEAR_REFERENCES, "5").map_err(GuestInitError::at("forget its most memory"))?;
        drop_caches()?;
        // Whole blocks alone, and all of them.
        keep_free(u64::MAX >> 1)?;
        take_used_blocks(unused).map_err(GuestInitError::at("take the memory that was used"))?;
        keep_free(free)?;
    }
    for (file, part) in DIRTY {
        fs::write(file, (free / part).to_string())
            .map_err(GuestInitError::at(format!("set {file}")))?;
    }
    Ok(())
}

/// Gives all memory that the process may write pages of its own.
fn touch_writable() -> io::Result<()> {
    for part in parts(&fs::read_to_string("/proc/self/maps")?) {
        if part.is_written() {
            // SAFETY: the part is mapped. It keeps its content.
            unsafe {
                mm::madvise(
                    part.begin as *mut c_void,
                    part.end - part.begin,
                    Advice::LinuxPopulateWrite,
                )?;
            }
        }
    }
    Ok(())
}

fn keep_free(bytes: u64) -> Result<(), GuestInitError> {
    match fs::write(SETTLE, bytes.to_string()) {
        // Fewer whole blocks remain, and all of them stay free.
        Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Ok(()),
        settled => settled.map_err(GuestInitError::at("settle its memory")),
    }
}

/// Takes memory until the blocks remain that nobody has used, at the end of the kernel's list: it gives blocks
/// from the beginning, and puts them back there. Those are `unused` bytes.
fn take_used_blocks(unused: u64) -> io::Result<()> {
    let mut place = TAKEN;
    while let Some((blocks, size)) = movable_blocks(&fs::read_to_string(FREE_BLOCKS)?) {
        let length = match blocks.saturating_sub(unused / size) {
            0 => break,
            // The kernel divides a block for page tables, too.
            1..=2 => STEP,
            more => usize::try_from((more - 2) * size).unwrap_or(STEP),
        };
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping, to which nobody refers. It is never given back.
        unsafe {
            let taken = mm::mmap_anonymous(place as *mut c_void, length, access, flags)?;
            mm::madvise(taken, length, Advice::LinuxDontFork)?;
            mm::mlock(taken, length)?;
        }
        place += length;
    }
    Ok(())
}

/// The free blocks of the largest size for pages that can be moved, and that size in bytes, from
/// `/proc/pagetypeinfo`. A guest has one zone with memory, the first.
fn movable_blocks(text: &str) -> Option<(u64, u64)> {
    let mut lines = text.lines().filter_map(|line| line.split_once("Movable"));
    let (_, counts) = lines.next()?;
    let counts: Vec<&str> = counts.split_ascii_whitespace().collect();
    let order = u32::try_from(counts.len()).ok()?.checked_sub(1)?;
    let blocks = counts.last()?.parse().ok()?;
    Some((blocks, (PAGE as u64).checked_shl(order)?))
}

/// Replaces all pages of files in this process by copies, each at its place: a copy elsewhere would need as
/// much address space as the program, and the kernel keeps the most that there ever was. After each few,
/// `drop` has the kernel forget those of the files: together they would take twice the program's memory.
fn own_pages(drop: impl Fn() -> Result<(), GuestInitError>) -> Result<(), GuestInitError> {
    let failed = |error: Errno| GuestInitError::at("copy its program")(error);
    let maps = fs::read_to_string("/proc/self/maps");
    let maps = maps.map_err(GuestInitError::at("list its memory"))?;
    for part in parts(&maps).iter().filter(|part| part.file != 0) {
        let (whole, length) = (part.begin as *mut c_void, part.end - part.begin);
        // SAFETY: the part is mapped, privately. It keeps its content, and its access after that.
        unsafe { mm::mprotect(whole, length, part.access | MprotectFlags::WRITE) }
            .map_err(failed)?;
        for begin in (part.begin..part.end).step_by(COPIED) {
            let length = COPIED.min(part.end - begin);
            // SAFETY: as above.
            unsafe { mm::madvise(begin as *mut c_void, length, Advice::LinuxPopulateWrite) }
                .map_err(failed)?;
            drop()?;
        }
        // SAFETY: as above.
        unsafe { mm::mprotect(whole, length, part.access) }.map_err(failed)?;
    }
    touch_writable().map_err(GuestInitError::at("touch its memory"))?;
    drop()
}

/// The readable parts, from `/proc/self/maps`.
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
        access.contains(MprotectFlags::READ).then_some(Part {
            begin: address(begin)?,
            end: address(end)?,
            access,
            file: inode.parse().ok()?,
        })
    };
    maps.lines().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// KiB of memory that belong to files and not to this process, from `/proc/self/smaps`.
    fn pages_of_files(smaps: &str) -> u64 {
        let of = |name: &str| {
            let lines = smaps.lines().filter_map(|line| line.strip_prefix(name));
            let numbers =
                lines.filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
            numbers.sum::<u64>()
        };
        // The part that the kernel gives every process has no copies.
        of("Rss:") - of("Anonymous:") - if smaps.contains("[vdso]") { 8 } else { 0 }
    }

    #[test]
    fn a_process_runs_on_in_copies_of_its_pages() {
        // In a child, whose other threads do not exist.
        // SAFETY: the child makes system calls, allocates, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            static COUNTED: AtomicU32 = AtomicU32::new(0);
            COUNTED.store(7, Ordering::Relaxed);
            let shared =
                || pages_of_files(&fs::read_to_string("/proc/self/smaps").unwrap_or_default());
            let done = shared() > 0
                && own_pages(|| Ok(())).is_ok()
                && shared() == 0
                && COUNTED.fetch_add(1, Ordering::Relaxed) == 7
                && "a text".to_uppercase() == "A TEXT";
            // SAFETY: it only ends the process.
            unsafe { libc::_exit(i32::from(!done)) };
        }
        let mut status = 0;
        // SAFETY: `status` is written, and the child is one of this process.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((ended, status), (child, 0));
    }

    #[test]
    fn the_largest_free_blocks_are_those_of_the_last_column() {
        let text = "\
Free pages count per migrate type at order       0      1      2
Node    0, zone   Normal, type    Unmovable      1      0      9
Node    0, zone   Normal, type      Movable     21     10      3
Node    0, zone  Movable, type      Movable      0      0      0
";
        assert_eq!(movable_blocks(text), Some((3, 16_384)));
        assert_eq!(movable_blocks(""), None);
    }

    #[test]
    fn parts_have_their_access_and_unreadable_ones_are_left_out() {
        let maps = "\
55d0a0000000-55d0a0002000 r-xp 00001000 00:1f 42                         /run/a program
55d0a0003000-55d0a0004000 rw-p 00003000 00:1f 42                         /run/a program
55d0a0004000-55d0a0005000 ---p 00003000 00:1f 42                         /run/a program
55d0a0005000-55d0a0026000 rw-p 00000000 00:00 0                          [heap]";
        let found = parts(maps);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.begin, one.end, one.access, one.file))
            .collect();
        let (read, write, run) = (
            MprotectFlags::READ,
            MprotectFlags::WRITE,
            MprotectFlags::EXEC,
        );
        let expected = [
            (0x55d0_a000_0000, 0x55d0_a000_2000, read | run, 42),
            (0x55d0_a000_3000, 0x55d0_a000_4000, read | write, 42),
            (0x55d0_a000_5000, 0x55d0_a002_6000, read | write, 0),
        ];
        assert_eq!(found, expected);
    }
}
