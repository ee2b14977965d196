//! Parts that the programs share: places on the stack, maps, memory of the kernel, short events.

use super::super::assembler::{Assembler, Helper, If, Label, Reg};
use super::{LOST, Maps};
use Reg::{R0, R1, R2, R3, R4, R8, R9, R10};

/// `BPF_RB_NO_WAKEUP`: the reader polls.
pub const NO_WAKEUP: i32 = 1;

/// Places on the stack: a key, the number of the call, its start, a word that is read from the
/// kernel, a range of addresses, and the time of the return.
pub const KEY: i16 = -4;
pub const CALL_NUMBER: i16 = -16;
pub const START: i16 = -24;
pub const WORD: i16 = -32;
pub const RANGE: i16 = -48;
pub const RETURN: i16 = -56;

/// Ends with R0 = 0 at `end`.
pub fn end(code: &mut Assembler, end: Label) {
    code.here(end);
    code.set(R0, 0);
    code.exit();
}

/// R8 = process and thread.
pub fn current(code: &mut Assembler) {
    code.call(Helper::GetCurrentPidTgid);
    code.copy(R8, R0);
}

/// R0 = the value of the current thread; goes to `end` if it is not tracked. R8 as in [`current`].
pub fn tracked(code: &mut Assembler, maps: &Maps, end: Label) {
    current(code);
    code.store32(R10, KEY, R8);
    lookup(code, maps.threads);
    code.jump_if(R0, If::Equal, 0, end);
}

/// Stores the number of the process as the key.
pub fn process_key(code: &mut Assembler) {
    code.copy(R1, R8);
    code.shift_right(R1, 32);
    code.store32(R10, KEY, R1);
}

/// R0 = the value of the 32-bit key.
pub fn lookup(code: &mut Assembler, map: i32) {
    at_stack(code, map, KEY);
    code.call(Helper::MapLookup);
}

/// R1 = the map, R2 = the key at that place of the stack.
pub fn at_stack(code: &mut Assembler, map: i32, key: i16) {
    code.map(R1, map);
    code.copy(R2, R10);
    code.add(R2, key.into());
}

/// Sets the value of the key at a place of the stack to that at another.
pub fn update(code: &mut Assembler, map: i32, key: i16, value: i16) {
    at_stack(code, map, key);
    code.copy(R3, R10);
    code.add(R3, value.into());
    code.set(R4, 0);
    code.call(Helper::MapUpdate);
}

/// Removes the key at a place of the stack.
pub fn delete(code: &mut Assembler, map: i32, key: i16) {
    at_stack(code, map, key);
    code.call(Helper::MapDelete);
}

/// R3 = 4 or 8 bytes of the kernel at R3 and an offset; 0 if they cannot be read.
pub fn follow(code: &mut Assembler, offset: u32, bytes: i32) {
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
pub fn description(code: &mut Assembler, map: i32, most: u32, number: Reg, end: Label) {
    code.jump_if(number, If::Above, most.cast_signed() - 1, end);
    code.store32(R10, KEY, number);
    lookup(code, map);
    code.jump_if(R0, If::Equal, 0, end);
    code.load32(R0, R0, 0);
    code.jump_if(R0, If::Equal, 0, end);
}

/// R9 = the space of this processor.
pub fn space(code: &mut Assembler, maps: &Maps, over: Label) {
    code.store_number32(R10, KEY, 0);
    lookup(code, maps.space);
    code.jump_if(R0, If::Equal, 0, over);
    code.copy(R9, R0);
}

/// Counts an event that was lost: R0 is negative.
pub fn count_lost(code: &mut Assembler, maps: &Maps, over: Label) {
    code.jump_if(R0, If::Equal, 0, over);
    count(code, maps, LOST, over);
}

/// Adds 1 to a count.
pub fn count(code: &mut Assembler, maps: &Maps, number: u32, over: Label) {
    code.store_number32(R10, KEY, number.cast_signed());
    lookup(code, maps.counts);
    code.jump_if(R0, If::Equal, 0, over);
    code.set(R1, 1);
    code.atomic_add(R0, 0, R1);
}

/// Reports the event of that many bytes at the bottom of the stack.
pub fn report(code: &mut Assembler, maps: &Maps, bytes: i16, over: Label) {
    code.map(R1, maps.events);
    code.copy(R2, R10);
    code.add(R2, i32::from(-bytes - 16));
    code.set(R3, bytes.into());
    code.set(R4, NO_WAKEUP);
    code.call(Helper::RingbufOutput);
    count_lost(code, maps, over);
}

/// Starts an event of that many bytes on the stack: kind, process and thread, time.
pub fn begin(code: &mut Assembler, kind: i32, bytes: i16) {
    let at = -bytes - 16;
    code.store_number(R10, at, kind);
    code.store(R10, at + 8, R8);
    code.call(Helper::KtimeGetNs);
    code.store(R10, at + 16, R0);
}

/// Bytes of an event of exec, exit or join.
pub const TASK_BYTES: i16 = 32;

/// Bytes of an event of the end of a request, or of a page fault.
pub const PAIR_BYTES: i16 = 40;
