//! The programs in the kernel, at raw tracepoints. They report events of tracked threads to a ring
//! buffer, and count those that it has no space for.
//!
//! Strings are read when a call returns: at its start the page of a constant may not be in memory
//! yet, and a program in the kernel cannot wait for it.

use super::assembler::{Assembler, Helper, If, Label, Reg};
use super::btf::{FileOffsets, GroupOffsets, Offsets, RequestOffsets, TaskOffsets};
use crate::calls::{Pointers, Syscall};
use Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};

/// Entries of the table of system calls.
pub const CALLS: u32 = 512;

/// Entries of the table of requests of `io_uring`: their kind is a byte.
pub const REQUESTS: u32 = 256;

/// Most bytes of a string, with its end: `PATH_MAX`.
pub const LONGEST_TEXT: i32 = 4096;

/// Bytes of an event of a call before its strings.
pub const CALL_BYTES: i32 = 128;

/// Bytes of the largest event.
pub const LARGEST_EVENT: u32 = (CALL_BYTES + 2 * LONGEST_TEXT) as u32;

/// `BPF_RB_NO_WAKEUP`: the reader polls.
const NO_WAKEUP: i32 = 1;

/// Kinds of events.
pub const CALL: i32 = 1;
pub const FORK: i32 = 2;
pub const EXEC: i32 = 3;
pub const EXIT: i32 = 4;
pub const JOIN: i32 = 5;
pub const SUBMIT: i32 = 6;
pub const COMPLETE: i32 = 7;
pub const FAULT: i32 = 8;

/// Numbers in the map of counts.
pub const LOST: u32 = 0;
pub const OUTSIDE: u32 = 1;

/// Bytes of the value of a thread: the start of its current call, and whether it is observed.
pub const THREAD_BYTES: u32 = 16;

/// Bytes of a range of addresses.
pub const RANGE_BYTES: u32 = 16;

/// Descriptors of the maps.
#[derive(Debug, Clone, Copy)]
pub struct Maps {
    /// Tracked threads, by number.
    pub threads: i32,
    /// Addresses at which files of the device of the tree are mapped, by number of the process.
    pub mapped: i32,
    /// Requests of `io_uring` in flight, by address.
    pub in_flight: i32,
    /// What is read of each system call: see [`describe`].
    pub calls: i32,
    /// What is read of each kind of request of `io_uring`.
    pub requests: i32,
    /// Space for an event, for each processor.
    pub space: i32,
    /// Numbers of events that were lost, and of calls that are outside the tree.
    pub counts: i32,
    /// Time of the programs at the return of calls, for each processor, ns.
    pub time: i32,
    /// The ring buffer.
    pub events: i32,
}

/// What is observed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watch {
    /// The device of the tree, as the kernel numbers it. Calls on open files of other devices are
    /// only counted. None if the tree may be on several.
    pub device: Option<u32>,
    /// The number of a control group whose processes are tracked when they join it.
    pub group: Option<u64>,
}

/// The call changes mappings: it matters only if a file of the tree is mapped.
const MEMORY: u32 = 1 << 17;
/// The first argument is the only descriptor.
const ON_FILE: u32 = 1 << 18;
/// The call is mmap.
const MAPS: u32 = 1 << 19;

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
/// bits each; bit 16 for a structure at the first pointer; bits 17 to 19 as above; bit 31 for every
/// observed call.
pub fn describe(call: &Syscall) -> u32 {
    let mut word = describe_pointers(call.texts, call.pointers);
    if CALLS_ON_FILE.contains(&call.name) {
        word |= ON_FILE;
    }
    match call.name {
        "mmap" => word |= MEMORY | MAPS,
        "munmap" | "mremap" | "msync" => word |= MEMORY,
        _ => {}
    }
    word
}

/// The lower bits of a description.
pub fn describe_pointers(texts: &[u8], pointers: Pointers) -> u32 {
    let mut word = 1 << 31;
    for (at, argument) in texts.iter().enumerate() {
        word |= (u32::from(*argument) + 1) << (4 * at);
    }
    match pointers {
        Pointers::None => {}
        Pointers::Offsets(arguments) => {
            for (at, argument) in arguments.iter().enumerate() {
                word |= (u32::from(*argument) + 1) << (8 + 4 * at);
            }
        }
        Pointers::Structure(argument) => word |= (u32::from(argument) + 1) << 8 | 1 << 16,
    }
    word
}

/// Offsets in `struct pt_regs` of the arguments and of the number of the call, bytes.
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [i16; 6] = [112, 104, 96, 56, 72, 64];
#[cfg(target_arch = "x86_64")]
const NUMBER: i16 = 120;
/// The first argument is kept in `orig_x0`, because X0 has the result.
#[cfg(target_arch = "aarch64")]
const ARGUMENTS: [i16; 6] = [272, 8, 16, 24, 32, 40];
#[cfg(target_arch = "aarch64")]
const NUMBER: i16 = 280;

/// Bytes of `struct pt_regs` that are read.
#[cfg(target_arch = "x86_64")]
const REGISTERS: i16 = 128;
#[cfg(target_arch = "aarch64")]
const REGISTERS: i16 = 288;

/// Places on the stack: a key, the number of the call, its start, a word that is read from the
/// kernel, a range of addresses, and the time of the return.
const KEY: i16 = -4;
const CALL_NUMBER: i16 = -16;
const START: i16 = -24;
const WORD: i16 = -32;
const RANGE: i16 = -48;
const RETURN: i16 = -56;

/// The place of the registers on the stack.
const SAVED: i16 = RETURN - REGISTERS;

/// Ends with R0 = 0 at `end`.
fn end(code: &mut Assembler, end: Label) {
    code.here(end);
    code.set(R0, 0);
    code.exit();
}

/// R8 = process and thread.
fn current(code: &mut Assembler) {
    code.call(Helper::GetCurrentPidTgid);
    code.copy(R8, R0);
}

/// R0 = the value of the current thread; goes to `end` if it is not tracked. R8 as in [`current`].
fn tracked(code: &mut Assembler, maps: &Maps, end: Label) {
    current(code);
    code.store32(R10, KEY, R8);
    lookup(code, maps.threads);
    code.jump_if(R0, If::Equal, 0, end);
}

/// Stores the number of the process as the key.
fn process_key(code: &mut Assembler) {
    code.copy(R1, R8);
    code.shift_right(R1, 32);
    code.store32(R10, KEY, R1);
}

/// R0 = the value of the 32-bit key.
fn lookup(code: &mut Assembler, map: i32) {
    at_stack(code, map, KEY);
    code.call(Helper::MapLookup);
}

/// R1 = the map, R2 = the key at that place of the stack.
fn at_stack(code: &mut Assembler, map: i32, key: i16) {
    code.map(R1, map);
    code.copy(R2, R10);
    code.add(R2, key.into());
}

/// Sets the value of the key at a place of the stack to that at another.
fn update(code: &mut Assembler, map: i32, key: i16, value: i16) {
    at_stack(code, map, key);
    code.copy(R3, R10);
    code.add(R3, value.into());
    code.set(R4, 0);
    code.call(Helper::MapUpdate);
}

/// Removes the key at a place of the stack.
fn delete(code: &mut Assembler, map: i32, key: i16) {
    at_stack(code, map, key);
    code.call(Helper::MapDelete);
}

/// R3 = 4 or 8 bytes of the kernel at R3 and an offset; 0 if they cannot be read.
fn follow(code: &mut Assembler, offset: u32, bytes: i32) {
    code.copy(R1, R10);
    code.add(R1, WORD.into());
    code.set(R2, bytes);
    code.add(R3, offset.cast_signed());
    code.call(Helper::ProbeReadKernel);
    if bytes == 8 {
        code.load(R3, R10, WORD);
    } else {
        code.load32(R3, R10, WORD);
    }
}

/// R0 = description of the call whose number is in `number`; goes to `end` if there is none.
fn description(code: &mut Assembler, map: i32, most: u32, number: Reg, end: Label) {
    code.jump_if(number, If::Above, most.cast_signed() - 1, end);
    code.store32(R10, KEY, number);
    lookup(code, map);
    code.jump_if(R0, If::Equal, 0, end);
    code.load32(R0, R0, 0);
    code.jump_if(R0, If::Equal, 0, end);
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

/// Adds the time since the return of the call to that of the programs. The kernel could count the time
/// of all programs (`BPF_ENABLE_STATS`), but does so for each call of every process.
fn add_time(code: &mut Assembler, maps: &Maps, over: Label) {
    code.store_number32(R10, KEY, 0);
    lookup(code, maps.time);
    code.jump_if(R0, If::Equal, 0, over);
    code.copy(R6, R0);
    code.call(Helper::KtimeGetNs);
    code.load(R1, R10, RETURN);
    code.sub_register(R0, R1);
    code.load(R1, R6, 0);
    code.add_register(R1, R0);
    code.store(R6, 0, R1);
}

/// R9 = the space of this processor.
fn space(code: &mut Assembler, maps: &Maps, over: Label) {
    code.store_number32(R10, KEY, 0);
    lookup(code, maps.space);
    code.jump_if(R0, If::Equal, 0, over);
    code.copy(R9, R0);
}

/// Adds what the arguments point to, and reports the event at R9.
fn send(code: &mut Assembler, maps: &Maps, over: Label) {
    numbers(code);
    // R7 = bytes of strings.
    code.set(R7, 0);
    text(code, 0, 88, over);
    text(code, 4, 92, over);
    code.jump_if(R7, If::Above, 2 * LONGEST_TEXT, over);
    code.map(R1, maps.events);
    code.copy(R2, R9);
    code.copy(R3, R7);
    code.add(R3, CALL_BYTES);
    code.set(R4, NO_WAKEUP);
    code.call(Helper::RingbufOutput);
    count_lost(code, maps, over);
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

/// Goes to `none` if the description in R6 does not have a flag.
fn has_flag(code: &mut Assembler, flag: u32, none: Label) {
    code.copy(R1, R6);
    code.and(R1, flag.cast_signed());
    code.jump_if(R1, If::Equal, 0, none);
}

/// Goes to `other` if the descriptor in R1 is an open file of another device. A descriptor that is
/// not open is not.
fn compare_device(
    code: &mut Assembler,
    task: &TaskOffsets,
    file: &FileOffsets,
    device: u32,
    other: Label,
) {
    let unknown = code.label();
    code.shift_left(R1, 32);
    code.shift_right(R1, 29);
    code.store(R10, RANGE, R1);
    code.call(Helper::GetCurrentTask);
    code.copy(R3, R0);
    follow(code, task.files, 8);
    follow(code, file.table, 8);
    follow(code, file.array, 8);
    code.load(R1, R10, RANGE);
    code.add_register(R3, R1);
    follow(code, 0, 8);
    code.jump_if(R3, If::Equal, 0, unknown);
    follow(code, file.inode, 8);
    follow(code, file.file_system, 8);
    follow(code, file.device, 4);
    code.set64(R1, device.into());
    code.jump_if_register(R3, If::Differs, R1, other);
    code.here(unknown);
}

/// Goes to `over` if the call changes mappings, and no file of the device is mapped. Keeps the range
/// of addresses of mapped files, for page faults.
fn in_memory(code: &mut Assembler, maps: &Maps, offsets: &Offsets, watch: &Watch, over: Label) {
    let (emit, mapped, none) = (code.label(), code.label(), code.label());
    has_flag(code, MEMORY, emit);
    has_flag(code, MAPS, none);
    // An error, or a mapping without a file.
    code.jump_if(R7, If::Less, 0, none);
    code.load(R1, R10, SAVED + ARGUMENTS[3]);
    code.and(R1, libc::MAP_ANONYMOUS);
    code.jump_if(R1, If::Differs, 0, none);
    if let (Some(device), Some(file)) = (watch.device, offsets.file) {
        code.load(R1, R10, SAVED + ARGUMENTS[4]);
        compare_device(code, &offsets.task, &file, device, none);
    }
    // The range from R7.
    code.store(R10, RANGE, R7);
    code.load(R1, R10, SAVED + ARGUMENTS[1]);
    code.add_register(R1, R7);
    code.store(R10, RANGE + 8, R1);
    process_key(code);
    lookup(code, maps.mapped);
    let fresh = code.label();
    code.jump_if(R0, If::Equal, 0, fresh);
    code.load(R1, R0, 0);
    let lowest = code.label();
    code.jump_if_register(R7, If::Above, R1, lowest);
    code.store(R0, 0, R7);
    code.here(lowest);
    code.load(R1, R0, 8);
    code.load(R2, R10, RANGE + 8);
    code.jump_if_register(R2, If::Below, R1, emit);
    code.store(R0, 8, R2);
    code.jump(emit);
    code.here(fresh);
    update(code, maps.mapped, KEY, RANGE);
    code.jump(mapped);
    code.here(none);
    process_key(code);
    lookup(code, maps.mapped);
    code.jump_if(R0, If::Equal, 0, over);
    code.here(mapped);
    code.here(emit);
}

/// R3 = the argument at the position in 4 bits of the description; goes to `none` if there is none.
fn argument(code: &mut Assembler, shift: i32, none: Label) {
    code.copy(R1, R6);
    code.shift_right(R1, shift);
    code.and(R1, 0xf);
    code.jump_if(R1, If::Equal, 0, none);
    code.add(R1, -1);
    // At most the numbers after the arguments: the verifier must know a limit.
    code.and(R1, 7);
    code.shift_left(R1, 3);
    code.add_register(R1, R9);
    code.load(R3, R1, 40);
}

/// Reads what the pointers of the description point to.
fn numbers(code: &mut Assembler) {
    for offset in [96, 104, 112, 120] {
        code.store_number(R9, offset, 0);
    }
    let second = code.label();
    argument(code, 8, second);
    let (offsets, read) = (code.label(), code.label());
    code.copy(R1, R6);
    code.shift_right(R1, 16);
    code.and(R1, 1);
    code.jump_if(R1, If::Equal, 0, offsets);
    read_user(code, 96, 32);
    code.jump(read);
    code.here(offsets);
    read_user(code, 96, 8);
    code.here(read);
    code.here(second);
    let none = code.label();
    argument(code, 12, none);
    read_user(code, 104, 8);
    code.here(none);
}

/// Reads memory of the program at R3. If it cannot be read, it is zero.
fn read_user(code: &mut Assembler, offset: i32, length: i32) {
    code.copy(R1, R9);
    code.add(R1, offset);
    code.set(R2, length);
    code.call(Helper::ProbeReadUser);
}

/// Reads the string at the position in the description after those before, and stores its length:
/// 0 if there is none, and all ones if it cannot be read.
fn text(code: &mut Assembler, shift: i32, length: i16, over: Label) {
    let (none, failed, done) = (code.label(), code.label(), code.label());
    code.store_number32(R9, length, 0);
    argument(code, shift, none);
    code.jump_if(R7, If::Above, LONGEST_TEXT, over);
    code.copy(R1, R9);
    code.add_register(R1, R7);
    code.add(R1, CALL_BYTES);
    code.set(R2, LONGEST_TEXT);
    code.call(Helper::ProbeReadUserStr);
    code.jump_if(R0, If::Less, 0, failed);
    code.jump_if(R0, If::Above, LONGEST_TEXT, failed);
    code.store32(R9, length, R0);
    code.add_register(R7, R0);
    code.jump(done);
    code.here(failed);
    code.store_number32(R9, length, -1);
    code.here(none);
    code.here(done);
}

/// Counts an event that was lost: R0 is negative.
fn count_lost(code: &mut Assembler, maps: &Maps, over: Label) {
    code.jump_if(R0, If::Equal, 0, over);
    count(code, maps, LOST, over);
}

/// Adds 1 to a count.
fn count(code: &mut Assembler, maps: &Maps, number: u32, over: Label) {
    code.store_number32(R10, KEY, number.cast_signed());
    lookup(code, maps.counts);
    code.jump_if(R0, If::Equal, 0, over);
    code.set(R1, 1);
    code.atomic_add(R0, 0, R1);
}

/// Reports the event of that many bytes at the bottom of the stack.
fn report(code: &mut Assembler, maps: &Maps, bytes: i16, over: Label) {
    code.map(R1, maps.events);
    code.copy(R2, R10);
    code.add(R2, i32::from(-bytes - 16));
    code.set(R3, bytes.into());
    code.set(R4, NO_WAKEUP);
    code.call(Helper::RingbufOutput);
    count_lost(code, maps, over);
}

/// Starts an event of that many bytes on the stack: kind, process and thread, time.
fn begin(code: &mut Assembler, kind: i32, bytes: i16) {
    let at = -bytes - 16;
    code.store_number(R10, at, kind);
    code.store(R10, at + 8, R8);
    code.call(Helper::KtimeGetNs);
    code.store(R10, at + 16, R0);
}

/// Bytes of an event of a fork.
pub const FORK_BYTES: i16 = 80;

/// `sched_process_fork(parent, child)`: tracks the child.
///
/// Event: kind, process and thread, time, child (thread and process, 32 bits each), then addresses
/// of what both have: descriptors of parent and child, directories, memory.
pub fn fork(maps: &Maps, offsets: &Offsets, watch: &Watch) -> Vec<u64> {
    let mut code = Assembler::default();
    let (over, other) = (code.label(), code.label());
    code.load(R6, R1, 0);
    code.load(R7, R1, 8);
    tracked(&mut code, maps, other);
    begin(&mut code, FORK, FORK_BYTES);
    let at = -FORK_BYTES - 16;
    let task = &offsets.task;
    let mut read = |from: Reg, offset: u32, to: i16, bytes: i32| {
        code.copy(R1, R10);
        code.add(R1, (at + to).into());
        code.set(R2, bytes);
        code.copy(R3, from);
        code.add(R3, offset.cast_signed());
        code.call(Helper::ProbeReadKernel);
    };
    read(R7, task.pid, 24, 4);
    read(R7, task.tgid, 28, 4);
    for (to, offset) in [(32, task.files), (48, task.fs), (64, task.mm)] {
        read(R6, offset, to, 8);
        read(R7, offset, to + 8, 8);
    }
    code.store_number(R10, -16, 0);
    code.store_number(R10, -8, 0);
    update(&mut code, maps.threads, at + 24, -16);
    // The child has the mappings of its parent.
    let unmapped = code.label();
    process_key(&mut code);
    lookup(&mut code, maps.mapped);
    code.jump_if(R0, If::Equal, 0, unmapped);
    code.load(R1, R0, 0);
    code.store(R10, -16, R1);
    code.load(R1, R0, 8);
    code.store(R10, -8, R1);
    update(&mut code, maps.mapped, at + 28, -16);
    code.here(unmapped);
    report(&mut code, maps, FORK_BYTES, over);
    code.jump(over);
    code.here(other);
    if let (Some(group), Some(id)) = (&offsets.group, watch.group) {
        // clone3 with CLONE_INTO_CGROUP.
        code.copy(R3, R7);
        follow(&mut code, group.groups, 8);
        follow(&mut code, group.unified, 8);
        code.copy(R6, R3);
        in_group(&mut code, group, id, over);
        join(&mut code, maps, task, over);
    }
    end(&mut code, over);
    code.finish()
}

/// Levels of control groups that are searched.
const GROUP_LEVELS: u32 = 24;

/// Goes to `over` unless the control group at R6 is that of the number, or below it.
fn in_group(code: &mut Assembler, group: &GroupOffsets, id: u64, over: Label) {
    let found = code.label();
    code.copy(R3, R6);
    follow(code, group.level, 4);
    code.store(R10, RANGE, R3);
    for level in 0..GROUP_LEVELS {
        code.load(R1, R10, RANGE);
        code.jump_if(R1, If::Below, level.cast_signed(), over);
        code.copy(R3, R6);
        follow(code, group.ancestors + 8 * level, 8);
        follow(code, group.node, 8);
        follow(code, group.id, 8);
        code.set64(R1, id);
        code.jump_if_register(R3, If::Equal, R1, found);
    }
    code.jump(over);
    code.here(found);
}

/// Tracks the task at R7, and reports that it joined.
fn join(code: &mut Assembler, maps: &Maps, task: &TaskOffsets, over: Label) {
    code.copy(R3, R7);
    follow(code, task.tgid, 4);
    code.copy(R8, R3);
    code.shift_left(R8, 32);
    code.copy(R3, R7);
    follow(code, task.pid, 4);
    code.add_register(R8, R3);
    code.store32(R10, KEY, R8);
    lookup(code, maps.threads);
    code.jump_if(R0, If::Differs, 0, over);
    code.store_number(R10, RANGE, 0);
    code.store_number(R10, RANGE + 8, 0);
    code.store32(R10, KEY, R8);
    update(code, maps.threads, KEY, RANGE);
    begin(code, JOIN, TASK_BYTES);
    code.store_number(R10, -TASK_BYTES - 16 + 24, 0);
    report(code, maps, TASK_BYTES, over);
}

/// `cgroup_attach_task(group, path, task, whole_process)`: tracks a task that joins the control
/// group. Event: kind, process and thread, time, 0.
pub fn attach_task(maps: &Maps, offsets: &Offsets, watch: &Watch) -> Option<Vec<u64>> {
    let (group, id) = (offsets.group?, watch.group?);
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 0);
    code.load(R7, R1, 16);
    in_group(&mut code, &group, id, over);
    join(&mut code, maps, &offsets.task, over);
    end(&mut code, over);
    Some(code.finish())
}

/// Bytes of an event of exec, exit or join.
pub const TASK_BYTES: i16 = 32;

/// `sched_process_exec(task, former, program)`. Event: kind, process and thread, time, former number
/// of the thread.
pub fn exec(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 8);
    current(&mut code);
    code.store32(R10, KEY, R6);
    lookup(&mut code, maps.threads);
    code.jump_if(R0, If::Equal, 0, over);
    // A thread that is not the first takes the number of the first.
    delete(&mut code, maps.threads, KEY);
    code.store32(R10, KEY, R8);
    code.store_number(R10, RANGE, 0);
    code.store_number(R10, RANGE + 8, 0);
    update(&mut code, maps.threads, KEY, RANGE);
    process_key(&mut code);
    delete(&mut code, maps.mapped, KEY);
    begin(&mut code, EXEC, TASK_BYTES);
    code.store(R10, -TASK_BYTES - 16 + 24, R6);
    report(&mut code, maps, TASK_BYTES, over);
    end(&mut code, over);
    code.finish()
}

/// `sched_process_exit(task)`. Event: kind, process and thread, time, 0.
pub fn exit(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    tracked(&mut code, maps, over);
    delete(&mut code, maps.threads, KEY);
    begin(&mut code, EXIT, TASK_BYTES);
    code.store_number(R10, -TASK_BYTES - 16 + 24, 0);
    report(&mut code, maps, TASK_BYTES, over);
    end(&mut code, over);
    code.finish()
}

/// `IORING_SETUP_SQE128` and `IORING_SETUP_NO_SQARRAY`.
const LONG_REQUESTS: i32 = 1 << 10;
const NO_ORDER: i32 = 1 << 16;

/// `io_uring_submit_req(request)`: reports a request of `io_uring`.
///
/// Event: as that of a call. Its number is the kind of the request, its end the address of the
/// request, and its arguments are the first 48 bytes of `struct io_uring_sqe`.
pub fn submit(maps: &Maps, offsets: &RequestOffsets) -> Vec<u64> {
    let mut code = Assembler::default();
    let (over, found) = (code.label(), code.label());
    code.load(R6, R1, 0);
    current(&mut code);
    code.store32(R10, KEY, R8);
    lookup(&mut code, maps.threads);
    code.jump_if(R0, If::Differs, 0, found);
    // The kernel's thread of a ring (`IORING_SETUP_SQPOLL`) is one of the process.
    process_key(&mut code);
    lookup(&mut code, maps.threads);
    code.jump_if(R0, If::Equal, 0, over);
    code.here(found);
    code.store(R10, START, R6);
    entry_of_request(&mut code, offsets);
    // R7 = address of the entry; its first byte is the kind.
    code.copy(R3, R7);
    follow(&mut code, 0, 4);
    code.and(R3, 0xff);
    code.copy(R6, R3);
    code.store(R10, CALL_NUMBER, R6);
    description(&mut code, maps.requests, REQUESTS, R6, over);
    code.copy(R6, R0);
    space(&mut code, maps, over);
    code.store_number32(R9, 0, SUBMIT);
    code.load(R1, R10, CALL_NUMBER);
    code.store32(R9, 4, R1);
    code.store(R9, 8, R8);
    code.load(R1, R10, START);
    code.store(R9, 24, R1);
    code.store_number(R9, 32, 0);
    code.copy(R1, R9);
    code.add(R1, 40);
    code.set(R2, 48);
    code.copy(R3, R7);
    code.call(Helper::ProbeReadKernel);
    code.call(Helper::KtimeGetNs);
    code.store(R9, 16, R0);
    code.store_number32(R10, KEY, 1);
    update(&mut code, maps.in_flight, START, KEY);
    send(&mut code, maps, over);
    end(&mut code, over);
    code.finish()
}

/// R7 = address of the entry in the ring of the request at R6 (kernel: `io_get_sqe`).
fn entry_of_request(code: &mut Assembler, offsets: &RequestOffsets) {
    let (ordered, short) = (code.label(), code.label());
    let context = |code: &mut Assembler, offset: u32, bytes: i32| {
        code.copy(R3, R7);
        follow(code, offset, bytes);
    };
    code.copy(R3, R6);
    follow(code, offsets.context, 8);
    code.copy(R7, R3);
    context(code, offsets.head, 4);
    code.copy(R9, R3);
    code.add(R9, -1);
    context(code, offsets.entries, 4);
    code.add(R3, -1);
    code.and_register(R9, R3);
    context(code, offsets.flags, 4);
    code.store(R10, RANGE, R3);
    code.and(R3, NO_ORDER);
    code.jump_if(R3, If::Differs, 0, ordered);
    context(code, offsets.order, 8);
    code.shift_left(R9, 2);
    code.add_register(R3, R9);
    follow(code, 0, 4);
    code.copy(R9, R3);
    code.here(ordered);
    code.load(R1, R10, RANGE);
    code.and(R1, LONG_REQUESTS);
    code.jump_if(R1, If::Equal, 0, short);
    code.shift_left(R9, 1);
    code.here(short);
    context(code, offsets.requests, 8);
    code.shift_left(R9, 6);
    code.add_register(R3, R9);
    code.copy(R7, R3);
}

/// Bytes of an event of the end of a request, or of a page fault.
pub const PAIR_BYTES: i16 = 40;

/// `io_uring_complete(ring, request, ..)`. Event: kind, process and thread, time, address of the
/// request, result.
pub fn complete(maps: &Maps, offsets: &RequestOffsets) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 8);
    code.store(R10, -8, R6);
    at_stack(&mut code, maps.in_flight, -8);
    code.call(Helper::MapLookup);
    code.jump_if(R0, If::Equal, 0, over);
    delete(&mut code, maps.in_flight, -8);
    current(&mut code);
    code.copy(R3, R6);
    follow(&mut code, offsets.result, 4);
    code.copy(R7, R3);
    begin(&mut code, COMPLETE, PAIR_BYTES);
    code.store(R10, -PAIR_BYTES - 16 + 24, R6);
    code.store(R10, -PAIR_BYTES - 16 + 32, R7);
    report(&mut code, maps, PAIR_BYTES, over);
    end(&mut code, over);
    code.finish()
}

/// `page_fault_user(address, registers, error)` and `page_fault_kernel`. Event: kind, process and
/// thread, time, address, error of the processor.
pub fn fault(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 0);
    code.load(R7, R1, 16);
    current(&mut code);
    process_key(&mut code);
    lookup(&mut code, maps.mapped);
    code.jump_if(R0, If::Equal, 0, over);
    code.load(R1, R0, 0);
    code.jump_if_register(R6, If::Below, R1, over);
    code.load(R1, R0, 8);
    code.jump_if_register(R6, If::Above, R1, over);
    begin(&mut code, FAULT, PAIR_BYTES);
    code.store(R10, -PAIR_BYTES - 16 + 24, R6);
    code.store(R10, -PAIR_BYTES - 16 + 32, R7);
    report(&mut code, maps, PAIR_BYTES, over);
    end(&mut code, over);
    code.finish()
}
