//! Requests of `io_submit(2)`: one event for each that a call submits, and one for each result that a
//! call receives (kernel: `include/uapi/linux/aio_abi.h`).

use super::super::assembler::{Assembler, Helper, If, Label, Reg};
use super::registers::{ARGUMENTS, RECEIVES, SAVED, has_flag};
use super::steps::{NO_WAKEUP, PAIR_BYTES, RETURN, START, WORD, count, count_lost};
use super::{AIO_END, AIO_SUBMIT, LOST, Maps};
use Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};

/// Bytes of an event of a submitted request.
pub const AIO_BYTES: i16 = 32 + 64;

/// The place of an event on the stack.
const EVENT: i16 = SAVED - AIO_BYTES;

/// Maximum number of requests of one call. If there are more, one lost event is counted.
const MAX_REQUESTS: i32 = 256;

/// Reports the requests of the call that returned R7, whose description is in R6. Continues at
/// `over` if there are none.
///
/// Events: kind, process and thread, start, address of the request, and `struct iocb`; kind, process
/// and thread, time, address, result.
pub(super) fn requests(code: &mut Assembler, maps: &Maps, over: Label) {
    code.jump_if(R7, If::Less, 1, over);
    let (few, submits) = (code.label(), code.label());
    code.jump_if(R7, If::Below, MAX_REQUESTS + 1, few);
    count(code, maps, LOST, over);
    code.set(R7, MAX_REQUESTS);
    code.here(few);
    code.store(R10, EVENT + 8, R8);
    has_flag(code, RECEIVES, submits);
    code.store_number(R10, EVENT, AIO_END);
    each(code, maps, PAIR_BYTES, over, |code| {
        code.copy(R3, R6);
        code.shift_left(R3, 5);
        code.load(R1, R10, SAVED + ARGUMENTS[3]);
        code.add_register(R3, R1);
        // `data`, `obj`, `res`, `res2`; the first is replaced by the time.
        read(code, EVENT + 16, 32);
        code.load(R1, R10, RETURN);
        code.store(R10, EVENT + 16, R1);
    });
    code.jump(over);
    code.here(submits);
    code.store_number(R10, EVENT, AIO_SUBMIT);
    code.load(R1, R10, START);
    code.store(R10, EVENT + 16, R1);
    each(code, maps, AIO_BYTES, over, |code| {
        code.copy(R3, R6);
        code.shift_left(R3, 3);
        code.load(R1, R10, SAVED + ARGUMENTS[2]);
        code.add_register(R3, R1);
        read(code, WORD, 8);
        code.load(R3, R10, WORD);
        code.store(R10, EVENT + 24, R3);
        read(code, EVENT + 32, 64);
    });
}

/// Reports the event of that many bytes R7 times; `fill` is for the number R6. The loop has no branch,
/// so that the verifier of the kernel follows it once for each number.
fn each(code: &mut Assembler, maps: &Maps, bytes: i16, over: Label, fill: impl Fn(&mut Assembler)) {
    let again = code.label();
    code.set(R6, 0);
    // R9 = whether an event was lost.
    code.set(R9, 0);
    code.here(again);
    fill(code);
    code.map(R1, maps.events);
    code.copy(R2, R10);
    code.add(R2, EVENT.into());
    code.set(R3, bytes.into());
    code.set(R4, NO_WAKEUP);
    code.call(Helper::RingbufOutput);
    code.or_register(R9, R0);
    code.add(R6, 1);
    code.jump_if_register(R6, If::Below, R7, again);
    code.copy(R0, R9);
    count_lost(code, maps, over);
}

/// Reads memory of the program at R3 to a place of the stack.
fn read(code: &mut Assembler, to: i16, bytes: i32) {
    code.copy(R1, R10);
    code.add(R1, to.into());
    code.set(R2, bytes);
    code.call(Helper::ProbeReadUser);
}
