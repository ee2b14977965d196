//! Mappings of files, and page faults in them.

use super::super::assembler::{Assembler, If, Label, Reg};
use super::super::btf::Offsets;
use super::registers::{ARGUMENTS, MAPS, MEMORY, SAVED, compare_device, has_flag};
use super::steps::{
    KEY, PAIR_BYTES, RANGE, begin, count, current, end, lookup, process_key, report, update,
};
use super::{ANY_MAPPED, FAULT, Maps, Watch};
use Reg::{R0, R1, R2, R6, R7, R10};

/// Bytes of a range of addresses.
pub const RANGE_BYTES: u32 = 16;

/// Goes to `over` if the call changes mappings, and no file of the device is mapped. Keeps the range
/// of addresses of mapped files, for page faults.
pub(super) fn in_memory(
    code: &mut Assembler,
    maps: &Maps,
    offsets: &Offsets,
    watch: &Watch,
    over: Label,
) {
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
    count(code, maps, ANY_MAPPED, emit);
    code.jump(mapped);
    code.here(none);
    process_key(code);
    lookup(code, maps.mapped);
    code.jump_if(R0, If::Equal, 0, over);
    code.here(mapped);
    code.here(emit);
}

/// `page_fault_user(address, registers, error)` and `page_fault_kernel`. Event: kind, process and
/// thread, time, address, error of the processor.
pub fn fault(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let over = code.label();
    code.load(R6, R1, 0);
    code.load(R7, R1, 16);
    // Most faults are of programs that map none of the files.
    code.store_number32(R10, KEY, ANY_MAPPED.cast_signed());
    lookup(&mut code, maps.counts);
    code.jump_if(R0, If::Equal, 0, over);
    code.load(R1, R0, 0);
    code.jump_if(R1, If::Equal, 0, over);
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
