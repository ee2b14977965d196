//! What the kernel wrote into the rings, with its time.

use super::code::{MappedFile, Mapping};
use perf_event::data::endian::Native;
use perf_event::data::parse::{ParseConfig, ParseResult, Parser};
use perf_event::data::{
    Comm, Fork, Lost, LostSamples, Mmap2, RecordMetadata, Sample, Throttle, Visitor,
};

/// Larger numbers in a stack are marks of its parts, and no addresses
/// (`include/uapi/linux/perf_event.h`, `PERF_CONTEXT_MAX`).
const MARKS: u64 = u64::MAX - 4095;

/// The mark of addresses of a program (`PERF_CONTEXT_USER`).
const USER: u64 = 0_u64.wrapping_sub(512);

/// The flag of a name that a process gets because it executes a program (`PERF_RECORD_MISC_COMM_EXEC`).
const EXECUTES: u16 = 1 << 13;

/// Bytes of the header of a record.
const HEADER: usize = 8;

/// A record of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of the monotonic clock.
    pub at: u64,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A process begins.
    Begins {
        process: u32,
        parent: u32,
    },
    /// A process gets a name, most often by the execution of a program.
    Name {
        process: u32,
        name: String,
        executes: bool,
    },
    /// A process maps a file with code.
    Maps {
        process: u32,
        mapping: Mapping,
    },
    /// A thread is at work, in these functions of the kernel and of its program: the last called one first.
    Sample {
        process: u32,
        thread: u32,
        kernel: Box<[u64]>,
        user: Box<[u64]>,
    },
    /// So many records found no place.
    Lost(u64),
    /// The kernel stops sampling the processor of this ring.
    Throttled(u64),
    Unthrottled(u64),
}

/// The event of a record of this type and with these flags; none if it says nothing that is counted.
pub fn event(
    (kind, flags): (u32, u16),
    body: &[u8],
    config: ParseConfig<Native>,
) -> ParseResult<Option<Event>> {
    // No record is longer than its header can say.
    let size = u16::try_from(HEADER + body.len()).unwrap_or(u16::MAX);
    let mut record = Vec::with_capacity(HEADER + body.len());
    record.extend(kind.to_ne_bytes());
    record.extend(flags.to_ne_bytes());
    record.extend(size.to_ne_bytes());
    record.extend(body);
    Parser::new(&record[..], config).parse_record(Events {
        executes: flags & EXECUTES != 0,
    })
}

struct Events {
    executes: bool,
}

impl<'a> Visitor<'a> for Events {
    type Output = Option<Event>;

    fn visit_unimplemented(self, _: RecordMetadata) -> Self::Output {
        None
    }

    fn visit_fork(self, record: Fork, _: RecordMetadata) -> Self::Output {
        let (process, parent) = (record.pid, record.ppid);
        let what = What::Begins { process, parent };
        (record.pid == record.tid).then_some(Event {
            at: record.time,
            what,
        })
    }

    fn visit_comm(self, record: Comm<'a>, metadata: RecordMetadata) -> Self::Output {
        let name = String::from_utf8_lossy(&record.comm);
        let what = What::Name {
            process: record.pid,
            name: name.trim_end_matches('\0').to_owned(),
            executes: self.executes,
        };
        let at = metadata.sample_id().time()?;
        (record.pid == record.tid).then_some(Event { at, what })
    }

    fn visit_mmap2(self, record: Mmap2<'a>, metadata: RecordMetadata) -> Self::Output {
        let at = metadata.sample_id().time()?;
        let mapping = Mapping {
            from: record.addr,
            until: record.addr.saturating_add(record.len),
            offset: record.pgoff,
            file: MappedFile {
                path: String::from_utf8_lossy(&record.filename).into_owned(),
                inode: record.ino().unwrap_or_default(),
            },
        };
        let process = record.pid;
        let what = What::Maps { process, mapping };
        Some(Event { at, what })
    }

    fn visit_sample(self, record: Sample<'a>, _: RecordMetadata) -> Self::Output {
        let stack = record.callchain().unwrap_or_default();
        let user = stack.iter().position(|address| *address == USER);
        let (kernel, user) = stack.split_at(user.unwrap_or(stack.len()));
        let addresses = |part: &[u64]| part.iter().copied().filter(|one| *one < MARKS).collect();
        let what = What::Sample {
            process: record.pid()?,
            thread: record.tid()?,
            kernel: addresses(kernel),
            user: addresses(user),
        };
        let at = record.time()?;
        Some(Event { at, what })
    }

    fn visit_lost(self, record: Lost, metadata: RecordMetadata) -> Self::Output {
        let at = metadata.sample_id().time()?;
        let what = What::Lost(record.lost);
        Some(Event { at, what })
    }

    fn visit_lost_samples(self, record: LostSamples, metadata: RecordMetadata) -> Self::Output {
        let at = metadata.sample_id().time()?;
        let what = What::Lost(record.lost);
        Some(Event { at, what })
    }

    fn visit_throttle(self, record: Throttle, _: RecordMetadata) -> Self::Output {
        let what = What::Throttled(record.id);
        Some(Event {
            at: record.time,
            what,
        })
    }

    fn visit_unthrottle(self, record: Throttle, _: RecordMetadata) -> Self::Output {
        let what = What::Unthrottled(record.id);
        Some(Event {
            at: record.time,
            what,
        })
    }
}
