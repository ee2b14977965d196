//! The description of a call, and the registers with its arguments.

use super::super::assembler::{Assembler, Helper, If, Label, Reg};
use super::super::btf::{FileOffsets, TaskOffsets};
use super::steps::{RANGE, RETURN, follow};
use Reg::{R0, R1, R3, R6, R10};

/// The call changes mappings: it matters only if a file of the tree is mapped.
pub const MEMORY: u32 = 1 << 17;

/// The first argument is the only descriptor.
pub const ON_FILE: u32 = 1 << 18;

/// The call is mmap.
pub const MAPS: u32 = 1 << 19;

/// The call registers files with a ring of `io_uring`: the list of descriptors is read.
pub const REGISTERS_FILES: u32 = 1 << 20;

/// The call submits requests of `io_submit`, or receives their results: each is an event.
pub const MANY: u32 = 1 << 21;

/// Of these, the call receives results.
pub const RECEIVES: u32 = 1 << 22;

/// Offsets in `struct pt_regs` of the arguments and of the number of the call, bytes.
#[cfg(target_arch = "x86_64")]
pub const ARGUMENTS: [i16; 6] = [112, 104, 96, 56, 72, 64];
#[cfg(target_arch = "x86_64")]
pub const NUMBER: i16 = 120;
/// The first argument is kept in `orig_x0`, because X0 has the result.
#[cfg(target_arch = "aarch64")]
pub const ARGUMENTS: [i16; 6] = [272, 8, 16, 24, 32, 40];
#[cfg(target_arch = "aarch64")]
pub const NUMBER: i16 = 280;

/// Bytes of `struct pt_regs` that are read.
#[cfg(target_arch = "x86_64")]
pub const REGISTERS: i16 = 128;
#[cfg(target_arch = "aarch64")]
pub const REGISTERS: i16 = 288;

/// The place of the registers on the stack.
pub const SAVED: i16 = RETURN - REGISTERS;

/// Goes to `none` if the description in R6 does not have a flag.
pub fn has_flag(code: &mut Assembler, flag: u32, none: Label) {
    code.copy(R1, R6);
    code.and(R1, flag.cast_signed());
    code.jump_if(R1, If::Equal, 0, none);
}

/// Goes to `other` if the descriptor in R1 is an open file of another device. A descriptor that is
/// not open is not.
pub fn compare_device(
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
