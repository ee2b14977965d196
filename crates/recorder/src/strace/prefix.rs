//! What precedes a call in the lines of a log that was made elsewhere: the thread (`-f`), and the time
//! (`-t`, `-tt`, `-ttt`, `-r`).

use super::text::{nanoseconds, number_text};
use std::collections::BTreeSet;

/// The thread of lines without a number, which strace omits while there is only one.
pub const UNNAMED: i32 = i32::MAX;

/// The largest number of a thread on Linux: `PID_MAX_LIMIT`.
const MAX_TID: i64 = 4 << 20;

const DAY_NS: u64 = 86_400_000_000_000;

/// A thread, a time, and the rest of the line.
#[derive(Debug)]
pub(super) struct Prefix {
    pub tid: i32,
    pub at_ns: u64,
    pub rest: Vec<u8>,
}

/// How a line states its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// Since 1970, ns.
    Unix(u64),
    /// Since midnight, ns.
    Day(u64),
    /// Since the line before, ns.
    Since(u64),
    No,
}

/// Reads the prefixes of the lines of a log.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// The begin of a line that a message of strace interrupted.
    begun: Vec<u8>,
    /// Whether a line without a number was read, and the number of its thread once that is known.
    unnamed: bool,
    named: Option<i32>,
    unnamed_ended: bool,
    /// Threads that are known to be others than the first.
    others: BTreeSet<i32>,
    living: BTreeSet<i32>,
    /// The time of the line before, as stated and as returned, ns.
    stated_ns: u64,
    last_ns: u64,
    days: u64,
}

impl Prefixes {
    /// The prefix of a line; none if it is a message of strace, or the output of the program. `tid` is
    /// the thread of the file.
    pub fn read(&mut self, tid: Option<i32>, line: &[u8]) -> Option<Prefix> {
        let mut line = line.to_vec();
        line.truncate(line.trim_ascii_end().len());
        if let Some(at) = memchr::memmem::find(&line, b"strace: Process ") {
            let message = &line[at + b"strace: Process ".len()..];
            let number = message.split(|byte| *byte == b' ').next();
            let attached = message.ends_with(b" attached");
            if let Some(number) = number.and_then(number_text)
                && attached
                && (self.unnamed || !self.living.is_empty())
            {
                self.started(number);
            }
            line.truncate(at);
            self.begun.extend(line);
            return None;
        }
        if !self.begun.is_empty() {
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend(line);
            line = whole;
        }
        let (number, stated, rest) = split(&line);
        let rest = rest.to_vec();
        if !is_event(&rest) {
            return None;
        }
        let at_ns = self.time(stated);
        let tid = self.thread(number.or(tid));
        Some(Prefix { tid, at_ns, rest })
    }

    fn thread(&mut self, number: Option<i32>) -> i32 {
        let tid = match number {
            Some(number) if self.others.contains(&number) => number,
            Some(number) if self.named == Some(number) => UNNAMED,
            Some(number) if self.unnamed && self.named.is_none() => {
                self.named = Some(number);
                UNNAMED
            }
            Some(number) => number,
            None => match self.living.first() {
                Some(last) if self.unnamed_ended && self.living.len() == 1 => *last,
                _ => {
                    self.unnamed = true;
                    UNNAMED
                }
            },
        };
        self.living.insert(tid);
        tid
    }

    pub fn started(&mut self, child: i32) {
        self.others.insert(child);
        self.living.insert(child);
    }

    pub fn ended(&mut self, tid: i32) {
        self.unnamed_ended |= tid == UNNAMED;
        self.living.remove(&tid);
        self.others.remove(&tid);
    }

    /// Lines are printed in order: no two have the same time, as coarse as it is stated.
    fn time(&mut self, stated: Stated) -> u64 {
        let at_ns = match stated {
            Stated::Unix(at_ns) => at_ns,
            Stated::Day(at_ns) => {
                if at_ns.saturating_add(DAY_NS / 2) < self.stated_ns {
                    self.days += 1;
                }
                self.stated_ns = at_ns;
                at_ns.saturating_add(self.days.saturating_mul(DAY_NS))
            }
            Stated::Since(since_ns) => self.last_ns.saturating_add(since_ns),
            Stated::No => 0,
        };
        self.last_ns = at_ns.max(self.last_ns.saturating_add(1));
        self.last_ns
    }
}

/// Whether the rest of a line is a call, or something that happened to a thread. Other lines were
/// printed by the program.
fn is_event(rest: &[u8]) -> bool {
    let name = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    let call = name > 0 && rest.get(name) == Some(&b'(');
    let happened: [&[u8]; 3] = [b"--- ", b"+++ ", b"<... "];
    call || happened.iter().any(|start| rest.starts_with(start))
}

/// Number of the thread, time, and what follows.
pub(super) fn split(line: &[u8]) -> (Option<i32>, Stated, &[u8]) {
    let mut rest = line.trim_ascii_start();
    let mut tid = None;
    if let Some(after) = rest.strip_prefix(b"[pid")
        && let Some(end) = memchr::memchr(b']', after)
    {
        tid = thread_number(after[..end].trim_ascii());
        rest = after[end + 1..].trim_ascii_start();
    } else {
        let word = first(rest);
        if let Some(number) = thread_number(word) {
            tid = Some(number);
            rest = rest[word.len()..].trim_ascii_start();
        }
    }
    let word = first(rest);
    let stated = time(word);
    if stated != Stated::No {
        rest = rest[word.len()..].trim_ascii_start();
    }
    // `-r` besides `-t`, the number of the call (`-n`), the instruction (`-i`).
    for (open, close) in [(&b"(+"[..], b')'), (b"[", b']'), (b"[", b']')] {
        if rest.starts_with(open)
            && let Some(end) = memchr::memchr(close, rest)
        {
            rest = rest[end + 1..].trim_ascii_start();
        }
    }
    (tid, stated, rest)
}

fn first(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(b' ', text).unwrap_or(text.len())]
}

/// `12`, or `12<name>` as with `--decode-pids=comm`.
fn thread_number(word: &[u8]) -> Option<i32> {
    let end = memchr::memchr(b'<', word).unwrap_or(word.len());
    let number: i32 = number_text(&word[..end])?;
    (number > 0 && i64::from(number) <= MAX_TID).then_some(number)
}

fn time(word: &[u8]) -> Stated {
    if memchr::memchr(b':', word).is_some() {
        return day(word).map_or(Stated::No, Stated::Day);
    }
    match nanoseconds(word) {
        // Seconds since 1970, or since the line before.
        Some(ns) if ns >= 100_000_000 * 1_000_000_000 => Stated::Unix(ns),
        Some(ns) => Stated::Since(ns),
        None => Stated::No,
    }
}

/// `HH:MM:SS`, with a fraction or without.
fn day(word: &[u8]) -> Option<u64> {
    let mut parts = word.splitn(3, |byte| *byte == b':');
    let hours: u64 = number_text(parts.next()?)?;
    let minutes: u64 = number_text(parts.next()?)?;
    let seconds = nanoseconds(parts.next()?)?;
    let whole = hours
        .checked_mul(3600)?
        .checked_add(minutes.checked_mul(60)?)?;
    whole.checked_mul(1_000_000_000)?.checked_add(seconds)
}
