//! Requests of `io_uring` and `io_submit`: submitted and completed at different times.

use super::files::Description;
use super::{Tracker, arguments};
use crate::calls::{
    Call, REGISTER_FILES, REGISTER_FILES_2, UNREGISTER_FILES, UPDATE_FILES, UPDATE_FILES_2,
};
use fsdyno_trace::{ThreadId, Via};
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A request of `io_uring`: its address in the kernel.
    Ring(u64),
    /// A request of `io_submit`: the process, and the address of its `struct iocb`.
    Aio(i32, u64),
}

impl RequestId {
    fn via(self) -> Via {
        match self {
            Self::Ring(_) => Via::IoUring,
            Self::Aio(..) => Via::Aio,
        }
    }
}

/// The files that are registered with a ring.
#[derive(Debug, Default)]
pub(super) struct Registered {
    /// The process that registered them.
    tgid: i32,
    /// By their places. None for what is no file.
    files: HashMap<u64, Option<Rc<Description>>>,
}

/// The reason why a request is not in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrecorded {
    /// It uses a registered file whose registration was not observed.
    RegisteredFile,
    /// It accesses an extended attribute by the path of the file.
    AttributeOfPath,
    /// It requested no completion, so that its result is not known.
    NoCompletion,
    NoFile,
    /// A kind that this version does not know.
    UnknownKind,
}

impl Unrecorded {
    fn text(self) -> &'static str {
        match self {
            Self::RegisteredFile => {
                "requests of io_uring on registered files that are not known, which may be in the tree"
            }
            Self::AttributeOfPath => "requests of io_uring for extended attributes of a path",
            Self::NoCompletion => "requests of io_uring without a completion",
            Self::NoFile => "requests for no file",
            Self::UnknownKind => "requests of io_uring or io_submit of a kind that is not known",
        }
    }
}

/// Results that were received before their submission returned, at most.
const MAX_EARLY: usize = 1 << 16;

/// A request in flight, and the call that does the same.
#[derive(Debug)]
pub(super) struct Pending {
    call: Call,
    thread: ThreadId,
    /// The open files of its descriptors: they may be closed before its end.
    held: Vec<(i32, Rc<Description>)>,
}

impl<W: Write> Tracker<W> {
    /// Requests of `io_uring` and of `io_submit` will be reported: that programs use them makes no
    /// recording incomplete.
    pub fn observes(&mut self, rings: bool, aio: bool) {
        (self.observes_rings, self.observes_aio) = (rings, aio);
    }

    /// A request was submitted: the call that does the same, or why it is not recorded. With a `ring`,
    /// its file is registered with that.
    pub fn submitted(
        &mut self,
        request: RequestId,
        ring: Option<u64>,
        made: Result<Call, Unrecorded>,
    ) -> io::Result<()> {
        if let Some(former) = self.pending.remove(&request) {
            self.not_known(Unrecorded::NoCompletion.text());
            self.release_files(former.thread, former.held, former.call.start_ns)?;
        }
        let early = self.early.remove(&request);
        let made = made.and_then(|call| match ring {
            Some(ring) => Ok((self.registered_file(ring, &call)?, call)),
            None => Ok((self.files_of(&call), call)),
        });
        let (held, call) = match made {
            Ok(made) => made,
            Err(Unrecorded::NoFile) => {
                self.outside += 1;
                return Ok(());
            }
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
        let pending = Pending { call, thread, held };
        self.pending.insert(request, pending);
        match early {
            Some((result, at_ns)) => self.completed(request, result, at_ns),
            None => Ok(()),
        }
    }

    /// The open files of the descriptors of a call.
    fn files_of(&self, call: &Call) -> Vec<(i32, Rc<Description>)> {
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
        held.collect()
    }

    /// The registered file whose place is the first argument of a call.
    fn registered_file(
        &self,
        ring: u64,
        call: &Call,
    ) -> Result<Vec<(i32, Rc<Description>)>, Unrecorded> {
        let ring = self.registered.get(&ring);
        let file = ring.and_then(|ring| ring.files.get(&call.args[0]));
        match file.ok_or(Unrecorded::RegisteredFile)? {
            Some(file) => Ok(vec![(arguments::descriptor(call.args[0]), file.clone())]),
            None => Err(Unrecorded::NoFile),
        }
    }

    pub fn completed(&mut self, request: RequestId, result: i64, at_ns: u64) -> io::Result<()> {
        let Some(pending) = self.pending.remove(&request) else {
            if matches!(request, RequestId::Aio(..)) && self.early.len() < MAX_EARLY {
                self.early.insert(request, (result, at_ns));
            }
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
            self.via = request.via();
            let applied = self.apply(&call);
            self.via = Via::Syscall;
            applied?;
        } else if !cancelled {
            self.not_known("requests that ended after their thread");
        }
        let held = std::mem::take(&mut self.held);
        self.release_files(thread, held, at_ns)
    }

    /// A thread is in a call of `io_uring_register` for that ring.
    pub fn registers(&mut self, tid: i32, ring: u64) {
        self.rings.insert(tid, ring);
    }

    /// A call of `io_uring_register` returned.
    pub(super) fn register(&mut self, call: &Call, thread: ThreadId) -> io::Result<()> {
        let ring = self.rings.remove(&call.tid);
        let (Some(ring), Ok(count)) = (ring, u64::try_from(call.result)) else {
            return Ok(());
        };
        let operation = arguments::flags(call.args[1]).cast_signed() & i32::MAX;
        let [first, ..] = call.numbers.map(Option::unwrap_or_default);
        let (from, count) = match operation {
            REGISTER_FILES => (0, call.args[3]),
            REGISTER_FILES_2 => (0, first & 0xffff_ffff),
            UPDATE_FILES | UPDATE_FILES_2 => (first & 0xffff_ffff, count),
            UNREGISTER_FILES => (0, 0),
            _ => return Ok(()),
        };
        let mut former = Vec::new();
        if matches!(
            operation,
            REGISTER_FILES | REGISTER_FILES_2 | UNREGISTER_FILES
        ) {
            let tgid = self.tasks[&call.tid].tgid;
            let files = HashMap::new();
            let table = self.registered.insert(ring, Registered { tgid, files });
            former.extend(
                table
                    .into_iter()
                    .flat_map(|table| table.files.into_values()),
            );
        }
        // A table without descriptors (`IORING_RSRC_REGISTER_SPARSE`), or with too many for an event.
        let list = call.texts[0].as_deref().unwrap_or_default();
        let numbers = list.chunks_exact(4).map(|number| {
            let bytes = number.try_into().unwrap_or_default();
            i32::from_ne_bytes(bytes)
        });
        for (place, number) in (from..from.saturating_add(count)).zip(numbers) {
            // -1 is an empty place, and -2 (`IORING_REGISTER_FILES_SKIP`) one that stays.
            if number == -2 {
                continue;
            }
            let file = self.description(call.tid, number);
            let Some(ring) = self.registered.get_mut(&ring) else {
                continue;
            };
            former.extend(match number {
                -1 => ring.files.remove(&place),
                _ => ring.files.insert(place, file),
            });
        }
        for file in former.into_iter().flatten() {
            self.release(thread, file, call.end_ns)?;
        }
        Ok(())
    }

    /// Releases the registered files of a process that ended.
    pub(super) fn release_registered(
        &mut self,
        thread: ThreadId,
        tgid: i32,
        at_ns: u64,
    ) -> io::Result<()> {
        let ended = self.registered.extract_if(|_, ring| ring.tgid == tgid);
        let files: Vec<_> = ended
            .flat_map(|(_, ring)| ring.files.into_values())
            .flatten()
            .collect();
        for file in files {
            self.release(thread, file, at_ns)?;
        }
        Ok(())
    }

    fn release_files(
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
