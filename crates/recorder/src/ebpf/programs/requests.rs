//! Requests of `io_uring`.

use super::super::assembler::{Assembler, Helper, If, Reg};
use super::super::btf::RequestOffsets;
use super::arguments::send;
use super::steps::{
    CALL_NUMBER, KEY, PAIR_BYTES, RANGE, START, TASK_BYTES, at_stack, begin, current, delete,
    description, end, follow, lookup, process_key, report, space, tracked, update,
};
use super::{COMPLETE, Maps, REGISTER, SUBMIT};
use Reg::{R0, R1, R2, R3, R6, R7, R8, R9, R10};

/// Entries of the table of requests of `io_uring`: their kind is a byte.
pub const REQUESTS: u32 = 256;

/// `IORING_SETUP_SQE128` and `IORING_SETUP_NO_SQARRAY`.
const LONG_REQUESTS: i32 = 1 << 10;

const NO_ORDER: i32 = 1 << 16;

/// `io_uring_submit_req(request)`: reports a request of `io_uring`.
///
/// Event: as that of a call. Its number is the kind of the request, its end the address of the
/// request, its result that of the ring, and its arguments are the first 48 bytes of `struct
/// io_uring_sqe`.
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
    code.load(R3, R10, START);
    follow(&mut code, offsets.context, 8);
    code.store(R9, 32, R3);
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

/// `io_uring_register(ring, ..)`: reports the ring of the call `io_uring_register` that the thread is
/// in. Event: kind, process and thread, time, address of the ring.
pub fn register(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 0);
    tracked(&mut code, maps, over);
    begin(&mut code, REGISTER, TASK_BYTES);
    code.store(R10, -TASK_BYTES - 16 + 24, R6);
    report(&mut code, maps, TASK_BYTES, over);
    end(&mut code, over);
    code.finish()
}
