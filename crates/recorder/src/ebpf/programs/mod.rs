//! The programs in the kernel, at raw tracepoints. They report events of tracked threads to a ring
//! buffer, and count those that it has no space for.
//!
//! Strings are read when a call returns: at its start the page of a constant may not be in memory
//! yet, and a program in the kernel cannot wait for it.

mod aio;
mod arguments;
mod calls;
mod memory;
mod registers;
mod requests;
mod steps;
mod tasks;

pub use arguments::{CALL_BYTES, LARGEST_EVENT, describe_pointers};
pub use calls::{CALLS, describe, sys_enter, sys_exit};
pub use memory::{RANGE_BYTES, fault};
pub use requests::{REQUESTS, complete, register, submit};
pub use tasks::{attach_task, exec, exit, fork};

/// Kinds of events.
pub const CALL: i32 = 1;
pub const FORK: i32 = 2;
pub const EXEC: i32 = 3;
pub const EXIT: i32 = 4;
pub const JOIN: i32 = 5;
pub const SUBMIT: i32 = 6;
pub const COMPLETE: i32 = 7;
pub const FAULT: i32 = 8;
pub const REGISTER: i32 = 9;
pub const AIO_SUBMIT: i32 = 10;
pub const AIO_END: i32 = 11;

/// Numbers in the map of counts.
pub const LOST: u32 = 0;
pub const OUTSIDE: u32 = 1;
/// Not zero if a process has mapped a file of the device of the tree.
pub const ANY_MAPPED: u32 = 2;

/// Numbers in the map of times.
pub const TIME: u32 = 0;
pub const CALLS_UNTIMED: u32 = 1;

/// Bytes of the value of a thread: the start of its current call, and whether it is observed.
pub const THREAD_BYTES: u32 = 16;

/// Descriptors of the maps.
#[derive(Debug, Clone, Copy)]
pub struct Maps {
    /// Tracked threads, by number.
    pub threads: i32,
    /// Addresses at which files of the device of the tree are mapped, by number of the process.
    pub mapped: i32,
    /// Requests of `io_uring` in flight, by address.
    pub in_flight: i32,
    /// The data that is read of each system call: see [`describe`].
    pub calls: i32,
    /// The data that is read of each kind of request of `io_uring`.
    pub requests: i32,
    /// Space for an event, for each processor.
    pub space: i32,
    /// Numbers of events that were lost, and of calls that are outside the tree; whether files are
    /// mapped.
    pub counts: i32,
    /// Time of the programs at the return of calls, ns, and calls since the last one that was timed;
    /// for each processor.
    pub time: i32,
    /// The ring buffer.
    pub events: i32,
}

/// The scope of the observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watch {
    /// The device of the tree, as the kernel numbers it. Calls on open files of other devices are
    /// only counted. None if the tree may be on several.
    pub device: Option<u32>,
    /// The number of a control group whose processes are tracked when they join it.
    pub group: Option<u64>,
}
