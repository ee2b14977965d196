//! The content of events of calls and of requests of `io_uring`: arguments, and the data they point
//! to.

use super::super::assembler::{Assembler, Helper, If, Label, Reg};
use super::Maps;
use super::registers::{REGISTERS_FILES, has_flag};
use super::steps::{NO_WAKEUP, count_lost};
use crate::calls::{Pointers, REGISTER_FILES, REGISTER_FILES_2, UPDATE_FILES, UPDATE_FILES_2};
use Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9};

/// Most bytes of a string, with its end: `PATH_MAX`.
const MAX_TEXT: i32 = 4096;

/// Bytes of an event of a call before its strings.
pub const CALL_BYTES: i32 = 128;

/// Bytes of the largest event.
pub const LARGEST_EVENT: u32 = (CALL_BYTES + 2 * MAX_TEXT) as u32;

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

/// Adds what the arguments point to, and reports the event at R9.
pub(super) fn send(code: &mut Assembler, maps: &Maps, over: Label) {
    numbers(code);
    // R7 = bytes of strings.
    code.set(R7, 0);
    text(code, 0, 88, over);
    text(code, 4, 92, over);
    registered_files(code);
    code.jump_if(R7, If::Above, 2 * MAX_TEXT, over);
    code.map(R1, maps.events);
    code.copy(R2, R9);
    code.copy(R3, R7);
    code.add(R3, CALL_BYTES);
    code.set(R4, NO_WAKEUP);
    code.call(Helper::RingbufOutput);
    count_lost(code, maps, over);
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
    code.jump_if(R7, If::Above, MAX_TEXT, over);
    code.copy(R1, R9);
    code.add_register(R1, R7);
    code.add(R1, CALL_BYTES);
    code.set(R2, MAX_TEXT);
    code.call(Helper::ProbeReadUserStr);
    code.jump_if(R0, If::Less, 0, failed);
    code.jump_if(R0, If::Above, MAX_TEXT, failed);
    code.store32(R9, length, R0);
    code.add_register(R7, R0);
    code.jump(done);
    code.here(failed);
    code.store_number32(R9, length, -1);
    code.here(none);
    code.here(done);
}

/// Most files of a call of `io_uring_register` whose descriptors are read.
const MAX_FILES: i32 = 1000;

/// Operations of `io_uring_register`, whether the kernel finds the ring by a registered descriptor or
/// not (`IORING_REGISTER_USE_REGISTERED_RING`).
const OPERATION: i32 = 0x7fff_ffff;

/// Reads the descriptors that a call of `io_uring_register` registers as the first string: `R8` of
/// them at R3.
fn registered_files(code: &mut Assembler) {
    let none = code.label();
    has_flag(code, REGISTERS_FILES, none);
    let read = code.label();
    // The place of the operation's list, and of the length of the list. Four bytes of the structure
    // that the third argument points to are a length.
    for (operation, list, length, bytes) in [
        (REGISTER_FILES, 56, 64, 8),
        (UPDATE_FILES, 104, 64, 8),
        (REGISTER_FILES_2, 112, 96, 4),
        (UPDATE_FILES_2, 104, 120, 4),
    ] {
        let other = code.label();
        code.load(R1, R9, 48);
        code.and(R1, OPERATION);
        code.jump_if(R1, If::Differs, operation, other);
        code.load(R3, R9, list);
        if bytes == 8 {
            code.load(R8, R9, length);
        } else {
            code.load32(R8, R9, length);
        }
        code.jump(read);
        code.here(other);
    }
    code.jump(none);
    code.here(read);
    code.jump_if(R8, If::Above, MAX_FILES, none);
    code.shift_left(R8, 2);
    code.copy(R1, R9);
    code.add(R1, CALL_BYTES);
    code.copy(R2, R8);
    code.call(Helper::ProbeReadUser);
    code.jump_if(R0, If::Less, 0, none);
    // As a string, it ends with one byte more.
    code.add(R8, 1);
    code.store32(R9, 88, R8);
    code.copy(R7, R8);
    code.here(none);
}
