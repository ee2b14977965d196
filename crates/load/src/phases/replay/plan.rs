//! The plan of a replay: the workers, the operations of each, and the waits of each operation.

use super::order::{Order, Span, Wait};
use crate::error::LoadError;
use fsdyno_datasets::recorded::{Access, Model, Recording, Resolved, Resource};
use fsdyno_trace::{Action, Operation, Thread, Via};
use std::path::Path;

/// The maximum number of workers of a replay: each is a thread.
const MAX_WORKERS: usize = 4096;

/// A replay, ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The operations in the order of their start.
    pub steps: Vec<Step>,
    /// The operations of each worker, as indices of `steps`.
    pub workers: Vec<Vec<u32>>,
    /// All waits; each step has a range of them.
    pub waits: Vec<Wait>,
    /// The number of open file descriptions, of mappings, and of inodes.
    pub handles: usize,
    pub mappings: usize,
    pub nodes: usize,
    /// The maximum space of the tree, bytes.
    pub peak: u64,
    /// The start of the first operation, ns.
    pub start_ns: u64,
}

/// An operation of the plan.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its index among the operations of the recording.
    pub operation: u32,
    pub resolved: Resolved,
    /// Its start in the recording, ns.
    pub start_ns: u64,
    /// Its waits: the first, and the one after the last.
    waits: (u32, u32),
}

impl Step {
    pub fn waits<'p>(&self, plan: &'p Plan) -> &'p [Wait] {
        &plan.waits[self.waits.0 as usize..self.waits.1 as usize]
    }
}

/// The state of a thread during planning. It has one worker, or more if its operations overlapped
/// (`io_uring`, `aio`).
#[derive(Debug, Default)]
struct ThreadState {
    /// Its workers, each with the time at which its last operation ended.
    all: Vec<(u32, u64)>,
    /// The operations of the thread so far.
    done: Vec<Done>,
    /// The time at which the last of all its operations ends.
    ends: u64,
    /// Operations that are not planned yet.
    left: u64,
    /// Whether operations of it may overlap.
    overlaps: bool,
}

/// A planned operation.
#[derive(Debug, Clone, Copy)]
struct Done {
    wait: Wait,
    end: u64,
}

/// The time at which an operation is ordered. A wait for a process takes no time: it begins when the
/// process has ended.
fn start_of(operation: &Operation) -> u64 {
    match operation.action {
        Action::Wait { .. } => operation.end_ns,
        _ => operation.start_ns,
    }
}

pub(crate) fn plan(recording: &Recording, path: &Path) -> Result<Plan, LoadError> {
    let operations = &recording.operations;
    let mut model = Model::new(recording);
    let mut resolved: Vec<Option<Resolved>> = operations
        .iter()
        .map(|operation| Some(model.apply(operation)))
        .collect();
    let mut sorted: Vec<u32> = (0..u32::try_from(operations.len()).unwrap_or(u32::MAX)).collect();
    sorted.sort_by_key(|at| (start_of(&operations[*at as usize]), *at));
    let ends = ends(operations, &sorted, recording.threads.len());
    let (handles, mappings) = model.opened();
    let mut planner = Planner::new(recording);
    let mut steps = Vec::with_capacity(sorted.len());
    for at in sorted {
        let operation = &operations[at as usize];
        let mut one = resolved[at as usize].take().unwrap_or_default();
        let waits = planner
            .add(operation, ends[at as usize], &mut one)
            .map_err(|reason| LoadError::Recording {
                path: path.to_owned(),
                reason,
            })?;
        // They are not needed any more.
        one.accesses = Vec::new();
        steps.push(Step {
            operation: at,
            resolved: one,
            start_ns: start_of(operation),
            waits,
        });
    }
    let workers = planner.workers();
    Ok(Plan {
        start_ns: steps.first().map_or(0, |step| step.start_ns),
        steps,
        workers,
        waits: planner.waits,
        handles: handles as usize,
        mappings: mappings as usize,
        nodes: model.nodes(),
        peak: model.peak(),
    })
}

/// Returns the end of each operation. System calls of a thread do not overlap: if they do by the
/// clock of a recorder, the first ends when the second begins.
fn ends(operations: &[Operation], sorted: &[u32], threads: usize) -> Vec<u64> {
    let mut ends: Vec<u64> = operations.iter().map(|one| one.end_ns).collect();
    let mut next = vec![u64::MAX; threads];
    for at in sorted.iter().rev() {
        let operation = &operations[*at as usize];
        if operation.via != Via::Syscall {
            continue;
        }
        let start = start_of(operation);
        let next = &mut next[operation.thread.0 as usize];
        let end = &mut ends[*at as usize];
        *end = (*end).min(*next).max(start);
        *next = start;
    }
    ends
}

struct Planner<'r> {
    threads: &'r [Thread],
    /// The threads of each process, by its number.
    members: Vec<Vec<u32>>,
    states: Vec<ThreadState>,
    order: Order<Resource>,
    /// The time from which each worker is free for another thread; `u64::MAX` while its thread
    /// lives.
    free: Vec<u64>,
    /// The worker of each step, in their order.
    chosen: Vec<u32>,
    waits: Vec<Wait>,
}

impl<'r> Planner<'r> {
    fn new(recording: &'r Recording) -> Self {
        let threads = &recording.threads;
        let mut states: Vec<ThreadState> = threads.iter().map(|_| ThreadState::default()).collect();
        let mut members = vec![Vec::new(); threads.len()];
        for thread in threads {
            members[thread.process.0 as usize].push(thread.id.0);
        }
        for operation in &recording.operations {
            let state = &mut states[operation.thread.0 as usize];
            state.ends = state.ends.max(operation.end_ns);
            state.left += 1;
            state.overlaps |= operation.via != Via::Syscall;
        }
        Self {
            threads,
            members,
            states,
            order: Order::new(),
            free: Vec::new(),
            chosen: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// Adds the next operation; returns the range of its waits.
    fn add(
        &mut self,
        operation: &Operation,
        end: u64,
        resolved: &mut Resolved,
    ) -> Result<(u32, u32), String> {
        let thread = operation.thread.0;
        let start = start_of(operation);
        let mut also = Vec::new();
        if self.states[thread as usize].all.is_empty() {
            self.birth(thread, start, &mut also);
        }
        if let Action::Wait { process } = operation.action {
            let members = self.members[process.0 as usize].clone();
            for member in members.into_iter().filter(|member| *member != thread) {
                self.ended_by(member, operation.end_ns, &mut also);
            }
        }
        let worker = self.worker(thread, start, end)?;
        if self.states[thread as usize].overlaps {
            let own = (Resource::Thread(thread), Access::Change);
            resolved.accesses.push(own);
        }
        let span = Span { worker, start, end };
        let waits = self.order.add(span, &resolved.accesses, &also);
        let from = u32::try_from(self.waits.len());
        self.waits.extend_from_slice(waits);
        let to = u32::try_from(self.waits.len());
        let (Ok(from), Ok(to)) = (from, to) else {
            return Err("it has too many dependencies".to_owned());
        };
        let completed = self.order.counts()[worker as usize];
        let state = &mut self.states[thread as usize];
        state.done.push(Done {
            wait: Wait { worker, completed },
            end,
        });
        state.left -= 1;
        if state.left == 0 {
            for (worker, _) in &state.all {
                self.free[*worker as usize] = state.ends;
            }
        }
        self.chosen.push(worker);
        Ok((from, to))
    }

    /// Adds the waits of a new thread: for the operations of its parent before the thread was
    /// created, or for those that the parent itself waited for.
    fn birth(&self, thread: u32, first: u64, also: &mut Vec<Wait>) {
        let mut at = thread;
        let mut moment = first;
        while let Some(parent) = self.threads[at as usize].parent {
            moment = moment.min(self.threads[at as usize].start_ns);
            let before = also.len();
            self.ended_by(parent.0, moment, also);
            if also.len() > before {
                return;
            }
            // A parent has a smaller number than its child.
            at = parent.0;
        }
    }

    /// Adds the last operation of each worker of a thread that had ended at this moment.
    fn ended_by(&self, thread: u32, moment: u64, also: &mut Vec<Wait>) {
        let state = &self.states[thread as usize];
        let mut missing = state.all.len();
        let from = also.len();
        // Only a recording in disorder has so many operations in flight.
        for done in state.done.iter().rev().take(MAX_WORKERS) {
            if missing == 0 {
                break;
            }
            let known = also[from..]
                .iter()
                .any(|wait| wait.worker == done.wait.worker);
            if done.end <= moment && !known {
                also.push(done.wait);
                missing -= 1;
            }
        }
    }

    /// The worker of an operation: that of its thread, which is free again. A thread that begins
    /// after another has ended may get its worker, so that there are as many workers as the
    /// recording had threads at a time.
    fn worker(&mut self, thread: u32, start: u64, end: u64) -> Result<u32, String> {
        let state = &mut self.states[thread as usize];
        let may_overlap = state.overlaps;
        let own = state
            .all
            .iter_mut()
            .find(|(_, until)| *until <= start || !may_overlap);
        if let Some((worker, until)) = own {
            *until = end;
            return Ok(*worker);
        }
        // The worker that was in use last: its thread is likely to be the previous one.
        let free = (0_u32..).zip(&self.free);
        let free = free.filter(|(_, since)| **since <= start);
        let worker = match free.max_by_key(|(_, since)| **since) {
            Some((worker, _)) => worker,
            None if self.free.len() == MAX_WORKERS => {
                return Err(format!(
                    "it has more than {MAX_WORKERS} operations or threads at a time"
                ));
            }
            None => {
                self.free.push(u64::MAX);
                u32::try_from(self.free.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.free[worker as usize] = u64::MAX;
        state.all.push((worker, end));
        Ok(worker)
    }

    fn workers(&self) -> Vec<Vec<u32>> {
        let mut workers = vec![Vec::new(); self.free.len()];
        for (step, worker) in (0_u32..).zip(&self.chosen) {
            workers[*worker as usize].push(step);
        }
        workers
    }
}
