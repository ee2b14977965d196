//! The programs in the kernel, at raw tracepoints. They report events of tracked processes to a ring
//! buffer, and count those that it has no space for.
//!
//! Strings are read when a call returns: at its start the page of a constant may not be in memory
//! yet, and a program in the kernel cannot wait for it.

use super::assembler::{Assembler, Helper, If, Label, Reg};
use super::btf::TaskOffsets;
use crate::calls::{Pointers, Syscall};
use Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};

/// Entries of the table of system calls.
pub const CALLS: u32 = 512;

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

/// Descriptors of the maps.
#[derive(Debug, Clone, Copy)]
pub struct Maps {
    /// Tracked processes: number of the process.
    pub tracked: i32,
    /// What is read of each system call: see [`describe`].
    pub calls: i32,
    /// Start of the current call, by thread.
    pub starts: i32,
    /// Space for an event, for each processor.
    pub space: i32,
    /// Number of lost events.
    pub lost: i32,
    /// The ring buffer.
    pub events: i32,
}

/// What the programs read of a call: positions, counted from 1, of two strings and two pointers, 4
/// bits each; bit 16 for a structure at the first pointer; bit 31 for every observed call.
pub fn describe(call: &Syscall) -> u32 {
    let mut word = 1 << 31;
    for (at, argument) in call.texts.iter().enumerate() {
        word |= (u32::from(*argument) + 1) << (4 * at);
    }
    match call.pointers {
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

/// Ends with R0 = 0 at `end`.
fn end(code: &mut Assembler, end: Label) {
    code.here(end);
    code.set(R0, 0);
    code.exit();
}

/// R8 = process and thread; goes to `end` if the process is not tracked.
fn tracked(code: &mut Assembler, maps: &Maps, end: Label) {
    code.call(Helper::GetCurrentPidTgid);
    code.copy(R8, R0);
    code.copy(R1, R0);
    code.shift_right(R1, 32);
    code.store32(R10, -4, R1);
    lookup(code, maps.tracked);
    code.jump_if(R0, If::Equal, 0, end);
}

/// R0 = the value of the 32-bit key at -4 of the stack.
fn lookup(code: &mut Assembler, map: i32) {
    code.map(R1, map);
    code.copy(R2, R10);
    code.add(R2, -4);
    code.call(Helper::MapLookup);
}

/// R0 = description of the call whose number is in `number`; goes to `end` if there is none.
fn description(code: &mut Assembler, maps: &Maps, number: Reg, end: Label) {
    code.jump_if(number, If::Above, CALLS.cast_signed() - 1, end);
    code.store32(R10, -4, number);
    lookup(code, maps.calls);
    code.jump_if(R0, If::Equal, 0, end);
    code.load32(R0, R0, 0);
    code.jump_if(R0, If::Equal, 0, end);
}

/// `sys_enter(registers, number)`: remembers the start.
pub fn sys_enter(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R7, R1, 8);
    tracked(&mut code, maps, over);
    description(&mut code, maps, R7, over);
    code.call(Helper::KtimeGetNs);
    code.store(R10, -16, R0);
    code.store32(R10, -4, R8);
    code.map(R1, maps.starts);
    code.copy(R2, R10);
    code.add(R2, -4);
    code.copy(R3, R10);
    code.add(R3, -16);
    code.set(R4, 0);
    code.call(Helper::MapUpdate);
    end(&mut code, over);
    code.finish()
}

/// `sys_exit(registers, result)`: reports the call.
///
/// Event: kind and number of the call (32 bits each), process and thread, start, end, result, six
/// arguments, lengths of two strings (32 bits each), four numbers, strings.
pub fn sys_exit(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    let registers = -16 - REGISTERS;
    code.load(R9, R1, 0);
    code.load(R7, R1, 8);
    tracked(&mut code, maps, over);
    code.copy(R1, R10);
    code.add(R1, registers.into());
    code.set(R2, REGISTERS.into());
    code.copy(R3, R9);
    code.call(Helper::ProbeReadKernel);
    code.load(R6, R10, registers + NUMBER);
    // ARM64 has the number in 32 bits.
    code.shift_left(R6, 32);
    code.shift_right(R6, 32);
    description(&mut code, maps, R6, over);
    // R6 = description, R9 = space; the number is at -4.
    code.copy(R6, R0);
    code.load32(R9, R10, -4);
    code.store(R10, -16, R9);
    code.store_number32(R10, -4, 0);
    lookup(&mut code, maps.space);
    code.jump_if(R0, If::Equal, 0, over);
    code.copy(R9, R0);
    code.store_number32(R9, 0, CALL);
    code.load(R1, R10, -16);
    code.store32(R9, 4, R1);
    code.store(R9, 8, R8);
    code.store_number(R9, 16, 0);
    code.store(R9, 32, R7);
    for (at, from) in (0_i16..).zip(ARGUMENTS) {
        code.load(R1, R10, registers + from);
        code.store(R9, 40 + 8 * at, R1);
    }
    code.store32(R10, -4, R8);
    lookup(&mut code, maps.starts);
    let without = code.label();
    code.jump_if(R0, If::Equal, 0, without);
    code.load(R1, R0, 0);
    code.store(R9, 16, R1);
    code.here(without);
    code.call(Helper::KtimeGetNs);
    code.store(R9, 24, R0);
    numbers(&mut code);
    // R7 = bytes of strings.
    code.set(R7, 0);
    text(&mut code, 0, 88, over);
    text(&mut code, 4, 92, over);
    code.jump_if(R7, If::Above, 2 * LONGEST_TEXT, over);
    code.map(R1, maps.events);
    code.copy(R2, R9);
    code.copy(R3, R7);
    code.add(R3, CALL_BYTES);
    code.set(R4, NO_WAKEUP);
    code.call(Helper::RingbufOutput);
    count_lost(&mut code, maps, over);
    end(&mut code, over);
    code.finish()
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
    code.store_number32(R10, -4, 0);
    lookup(code, maps.lost);
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
pub fn fork(maps: &Maps, offsets: &TaskOffsets) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 0);
    code.load(R7, R1, 8);
    tracked(&mut code, maps, over);
    begin(&mut code, FORK, FORK_BYTES);
    let at = -FORK_BYTES - 16;
    let mut read = |task: Reg, offset: u32, to: i16, bytes: i32| {
        code.copy(R1, R10);
        code.add(R1, (at + to).into());
        code.set(R2, bytes);
        code.copy(R3, task);
        code.add(R3, offset.cast_signed());
        code.call(Helper::ProbeReadKernel);
    };
    read(R7, offsets.pid, 24, 4);
    read(R7, offsets.tgid, 28, 4);
    for (to, offset) in [(32, offsets.files), (48, offsets.fs), (64, offsets.mm)] {
        read(R6, offset, to, 8);
        read(R7, offset, to + 8, 8);
    }
    code.store_number32(R10, -4, 1);
    code.map(R1, maps.tracked);
    code.copy(R2, R10);
    code.add(R2, (at + 28).into());
    code.copy(R3, R10);
    code.add(R3, -4);
    code.set(R4, 0);
    code.call(Helper::MapUpdate);
    report(&mut code, maps, FORK_BYTES, over);
    end(&mut code, over);
    code.finish()
}

/// Bytes of an event of exec or exit.
pub const TASK_BYTES: i16 = 32;

/// `sched_process_exec(task, former, program)`. Event: kind, process and thread, time, former number
/// of the thread.
pub fn exec(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 8);
    tracked(&mut code, maps, over);
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
    code.store32(R10, -4, R8);
    code.map(R1, maps.starts);
    code.copy(R2, R10);
    code.add(R2, -4);
    code.call(Helper::MapDelete);
    begin(&mut code, EXIT, TASK_BYTES);
    code.store_number(R10, -TASK_BYTES - 16 + 24, 0);
    report(&mut code, maps, TASK_BYTES, over);
    end(&mut code, over);
    code.finish()
}
