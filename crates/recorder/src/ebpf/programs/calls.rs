//! Starts and returns of system calls.

use super::super::assembler::{Assembler, Helper, If, Label, Reg};
use super::super::btf::Offsets;
use super::aio;
use super::arguments::{describe_pointers, send};
use super::memory::in_memory;
use super::registers::{
    ARGUMENTS, MANY, MAPS, MEMORY, NUMBER, ON_FILE, RECEIVES, REGISTERS, REGISTERS_FILES, SAVED,
    compare_device, has_flag,
};
use super::steps::{
    CALL_NUMBER, KEY, RETURN, START, count, description, end, lookup, space, tracked,
};
use super::{CALL, CALLS_UNTIMED, Maps, OUTSIDE, TIME, Watch};
use crate::calls::Syscall;
use Reg::{R0, R1, R2, R3, R6, R7, R8, R9, R10};

/// Entries of the table of system calls.
pub const CALLS: u32 = 512;

/// Calls on one open file, which the first argument is.
const CALLS_ON_FILE: &[&str] = &[
    "read",
    "write",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "lseek",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "ftruncate",
    "fallocate",
    "fadvise64",
    "readahead",
    "ioctl",
    "getdents",
    "getdents64",
    "fstat",
    "fstatfs",
    "fchmod",
    "fchown",
    "fgetxattr",
    "fsetxattr",
    "flistxattr",
    "fremovexattr",
];

/// What the programs read of a call: positions, counted from 1, of two strings and two pointers, 4
/// bits each; bit 16 for a structure at the first pointer; bits 17 to 22 as above; bit 31 for every
/// observed call.
pub fn describe(call: &Syscall) -> u32 {
    let mut word = describe_pointers(call.texts, call.pointers);
    if CALLS_ON_FILE.contains(&call.name) {
        word |= ON_FILE;
    }
    match call.name {
        "mmap" => word |= MEMORY | MAPS,
        "munmap" | "mremap" | "msync" => word |= MEMORY,
        "io_uring_register" => word |= REGISTERS_FILES,
        "io_submit" => word |= MANY,
        "io_getevents" | "io_pgetevents" => word |= MANY | RECEIVES,
        _ => {}
    }
    word
}

/// `sys_enter(registers, number)`: remembers the start.
pub fn sys_enter(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R7, R1, 8);
    description(&mut code, maps.calls, CALLS, R7, over);
    tracked(&mut code, maps, over);
    code.copy(R6, R0);
    code.call(Helper::KtimeGetNs);
    code.store(R6, 0, R0);
    code.store_number(R6, 8, 1);
    end(&mut code, over);
    code.finish()
}

/// `sys_exit(registers, result)`: reports the call.
///
/// Event: kind and number of the call (32 bits each), process and thread, start, end, result, six
/// arguments, lengths of two strings (32 bits each), four numbers, strings.
pub fn sys_exit(maps: &Maps, offsets: &Offsets, watch: &Watch) -> Vec<u64> {
    let mut code = Assembler::default();
    let (unobserved, over) = (code.label(), code.label());
    code.load(R9, R1, 0);
    code.load(R7, R1, 8);
    tracked(&mut code, maps, unobserved);
    code.load(R1, R0, 8);
    code.jump_if(R1, If::Equal, 0, unobserved);
    code.store_number(R0, 8, 0);
    code.load(R1, R0, 0);
    code.store(R10, START, R1);
    code.call(Helper::KtimeGetNs);
    code.store(R10, RETURN, R0);
    code.copy(R1, R10);
    code.add(R1, SAVED.into());
    code.set(R2, REGISTERS.into());
    code.copy(R3, R9);
    code.call(Helper::ProbeReadKernel);
    code.load(R6, R10, SAVED + NUMBER);
    // ARM64 has the number in 32 bits.
    code.shift_left(R6, 32);
    code.shift_right(R6, 32);
    code.store(R10, CALL_NUMBER, R6);
    description(&mut code, maps.calls, CALLS, R6, over);
    code.copy(R6, R0);
    let one = code.label();
    has_flag(&mut code, MANY, one);
    aio::requests(&mut code, maps, over);
    code.jump(over);
    code.here(one);
    on_the_device(&mut code, maps, offsets, watch, over);
    in_memory(&mut code, maps, offsets, watch, over);
    // R9 = space.
    space(&mut code, maps, over);
    code.store_number32(R9, 0, CALL);
    code.load(R1, R10, CALL_NUMBER);
    code.store32(R9, 4, R1);
    code.store(R9, 8, R8);
    code.load(R1, R10, START);
    code.store(R9, 16, R1);
    code.store(R9, 32, R7);
    for (at, from) in (0_i16..).zip(ARGUMENTS) {
        code.load(R1, R10, SAVED + from);
        code.store(R9, 40 + 8 * at, R1);
    }
    code.load(R1, R10, RETURN);
    code.store(R9, 24, R1);
    send(&mut code, maps, over);
    code.here(over);
    add_time(&mut code, maps, unobserved);
    end(&mut code, unobserved);
    code.finish()
}

/// One of so many calls is timed. A prime number: where programs repeat a few calls, all of them are
/// timed.
const TIMED: i32 = 17;

/// Adds the time since the return of the call to that of the programs, for one call of [`TIMED`].
/// The kernel could count the time of all programs (`BPF_ENABLE_STATS`), but does so for each call of
/// every process.
fn add_time(code: &mut Assembler, maps: &Maps, over: Label) {
    code.store_number32(R10, KEY, CALLS_UNTIMED.cast_signed());
    lookup(code, maps.time);
    code.jump_if(R0, If::Equal, 0, over);
    code.load(R1, R0, 0);
    code.add(R1, 1);
    code.store(R0, 0, R1);
    code.jump_if(R1, If::Below, TIMED, over);
    code.store_number(R0, 0, 0);
    code.store_number32(R10, KEY, TIME.cast_signed());
    lookup(code, maps.time);
    code.jump_if(R0, If::Equal, 0, over);
    code.copy(R6, R0);
    code.call(Helper::KtimeGetNs);
    code.load(R1, R10, RETURN);
    code.sub_register(R0, R1);
    code.multiply(R0, TIMED);
    code.load(R1, R6, 0);
    code.add_register(R1, R0);
    code.store(R6, 0, R1);
}

/// Goes to `over` if the first argument is an open file of another device, and counts the call.
fn on_the_device(code: &mut Assembler, maps: &Maps, offsets: &Offsets, watch: &Watch, over: Label) {
    let (Some(device), Some(file)) = (watch.device, offsets.file) else {
        return;
    };
    let (is, other) = (code.label(), code.label());
    has_flag(code, ON_FILE, is);
    code.load(R1, R10, SAVED + ARGUMENTS[0]);
    compare_device(code, &offsets.task, &file, device, other);
    code.jump(is);
    code.here(other);
    count(code, maps, OUTSIDE, over);
    code.jump(over);
    code.here(is);
}
