//! Requests of `io_uring`: submitted and completed at different times.

use super::files::Description;
use super::{Tracker, arguments};
use crate::calls::Call;
use fsdyno_trace::{ThreadId, Via};
use std::io::{self, Write};
use std::rc::Rc;

/// Why a request is not in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrecorded {
    /// Its file is registered with the ring, and has no descriptor.
    RegisteredFile,
    /// It accesses an extended attribute by the path of the file.
    AttributeOfPath,
    /// It requested no completion, so that its result is not known.
    NoCompletion,
    /// A kind that this version does not know.
    UnknownKind,
}

impl Unrecorded {
    fn text(self) -> &'static str {
        match self {
            Self::RegisteredFile => {
                "requests of io_uring on registered files, which may be in the tree"
            }
            Self::AttributeOfPath => "requests of io_uring for extended attributes of a path",
            Self::NoCompletion => "requests of io_uring without a completion",
            Self::UnknownKind => "requests of io_uring of a kind that is not known",
        }
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Pending {
    call: Call,
    thread: ThreadId,
    /// The open files of its descriptors: they may be closed before its end.
    held: Vec<(i32, Rc<Description>)>,
}

impl<W: Write> Tracker<W> {
    /// Requests will be reported: that programs use `io_uring` makes no recording incomplete.
    pub fn observes_requests(&mut self, yes: bool) {
        self.observes_requests = yes;
    }

    /// A request was submitted: the call that does the same, or why it is not recorded.
    pub fn submitted(&mut self, request: u64, made: Result<Call, Unrecorded>) -> io::Result<()> {
        if let Some(former) = self.pending.remove(&request) {
            self.not_known(Unrecorded::NoCompletion.text());
            self.let_go(former.thread, former.held, former.call.start_ns)?;
        }
        let call = match made {
            Ok(call) => call,
            Err(why) => {
                self.not_known(why.text());
                return Ok(());
            }
        };
        let Some(task) = self.tasks.get(&call.tid) else {
            self.not_known("requests of threads whose start was not observed");
            return Ok(());
        };
        let thread = task.thread;
        let places: &[usize] = match call.name {
            "close" => &[],
            "symlinkat" => &[1],
            "renameat2" | "linkat" | "splice" => &[0, 2],
            _ => &[0],
        };
        let held = places.iter().filter_map(|place| {
            let number = arguments::descriptor(call.args[*place]);
            Some((number, self.description(call.tid, number)?))
        });
        let held = held.collect();
        let pending = Pending { call, thread, held };
        self.pending.insert(request, pending);
        Ok(())
    }

    /// A request ended.
    pub fn completed(&mut self, request: u64, result: i64, at_ns: u64) -> io::Result<()> {
        let Some(pending) = self.pending.remove(&request) else {
            return Ok(());
        };
        let Pending {
            mut call,
            thread,
            held,
        } = pending;
        let cancelled = result == -i64::from(libc::ECANCELED);
        self.held = held;
        if !cancelled && self.tasks.contains_key(&call.tid) {
            call.result = result;
            call.end_ns = at_ns;
            self.via = Via::IoUring;
            let applied = self.apply(&call);
            self.via = Via::Syscall;
            applied?;
        } else if !cancelled {
            self.not_known("requests of io_uring that ended after their thread");
        }
        let held = std::mem::take(&mut self.held);
        self.let_go(thread, held, at_ns)
    }

    /// Releases the files of a request.
    fn let_go(
        &mut self,
        thread: ThreadId,
        held: Vec<(i32, Rc<Description>)>,
        at_ns: u64,
    ) -> io::Result<()> {
        for (_, description) in held {
            self.release(thread, description, at_ns)?;
        }
        Ok(())
    }
}
