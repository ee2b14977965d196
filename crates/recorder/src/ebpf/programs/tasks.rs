//! Threads and processes: their start and end, and the control group that they join.

use super::super::assembler::{Assembler, Helper, If, Label, Reg};
use super::super::btf::{GroupOffsets, Offsets, TaskOffsets};
use super::steps::{
    KEY, RANGE, TASK_BYTES, begin, current, delete, end, follow, lookup, process_key, report,
    tracked, update,
};
use super::{EXEC, EXIT, FORK, JOIN, Maps, Watch};
use Reg::{R0, R1, R2, R3, R6, R7, R8, R10};

/// Bytes of an event of a fork.
const FORK_BYTES: i16 = 80;

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
