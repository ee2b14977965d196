//! Parses the lines of strace: calls, also unfinished and resumed ones, signals and exits. A line that
//! cannot be parsed is an error, which is counted.
//!
//! The recorder's own strace prints `-f -ttt -T -X raw`. Of a log that was made elsewhere, the options
//! are found from its lines ([`super::prefix`]).

use super::prefix::{Prefix, Prefixes};
use super::text::{
    Argument, arguments, duration, group_numbers, nanoseconds, number, number_text, result,
    split_name, word,
};
use crate::calls::{Call, Pointers, find};
use std::collections::HashMap;

/// A line, or a call that it completes.
#[derive(Debug, Clone)]
pub enum Event {
    Call(Call),
    /// A thread created another.
    Fork {
        /// The thread.
        parent: i32,
        /// The new one.
        child: i32,
        /// Flags of clone(2).
        flags: u64,
        /// When it returned, ns since 1970.
        at_ns: u64,
    },
    /// A thread executed a program (execve).
    Exec {
        /// The thread, by its number after the call.
        tid: i32,
        /// Its number before the call.
        former: i32,
        /// When it returned, ns since 1970.
        at_ns: u64,
    },
    Exit {
        tid: i32,
        /// When, ns since 1970.
        at_ns: u64,
    },
    /// A thread entered a call that has not returned yet.
    Seen {
        tid: i32,
    },
    /// A thread has new descriptors of what is no file: sockets, pipes. Only of logs.
    Others {
        tid: i32,
        numbers: Vec<i32>,
    },
}

/// A call that was entered and has not returned.
#[derive(Debug, Clone)]
struct Unfinished {
    start_ns: u64,
    /// The line from the name of the call on.
    text: Vec<u8>,
}

/// Parses lines one by one. Times are ns since 1970.
#[derive(Debug, Default)]
pub struct Parser {
    unfinished: HashMap<i32, Unfinished>,
    /// The thread that takes the place of another, by its former number.
    superseded: HashMap<i32, i32>,
    /// Of a log that was made elsewhere.
    log: Option<Prefixes>,
    details: Details,
}

/// What a log prints of the last call besides its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// Descriptors among the arguments, with their files (`-y`).
    pub descriptors: Vec<(i32, Vec<u8>)>,
    /// The working directory: with `AT_FDCWD` (`-y`), or as getcwd returned it.
    pub working: Option<Vec<u8>>,
    pub status: Option<Status>,
    /// The target of a symbolic link, if it was printed whole.
    pub link: Option<Vec<u8>>,
}

/// What stat and statx returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Type and permissions.
    pub mode: u32,
    /// None if it was not printed, as of a device.
    pub size: Option<u64>,
}

/// Calls that return a descriptor of what is no file.
const OTHERS: &[&str] = &[
    "socket",
    "accept",
    "accept4",
    "eventfd",
    "eventfd2",
    "epoll_create",
    "epoll_create1",
    "timerfd_create",
    "signalfd",
    "signalfd4",
    "inotify_init",
    "inotify_init1",
    "memfd_create",
    "pidfd_open",
    "io_uring_setup",
    "perf_event_open",
];

/// Names of calls on 32-bit systems, and the same calls here.
const ALIASES: &[(&str, &str)] = &[
    ("stat64", "stat"),
    ("lstat64", "lstat"),
    ("fstat64", "fstat"),
    ("fstatat64", "newfstatat"),
    ("statfs64", "statfs"),
    ("fstatfs64", "fstatfs"),
    ("truncate64", "truncate"),
    ("ftruncate64", "ftruncate"),
    ("fcntl64", "fcntl"),
    ("mmap2", "mmap"),
    ("pread", "pread64"),
    ("pwrite", "pwrite64"),
];

/// Calls on files that a recording cannot express.
const NOT_KNOWN: &[&str] = &["fchmodat2", "open_by_handle_at", "_llseek", "fstatat"];

/// A line that cannot be interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("strace printed a line that cannot be interpreted")]
pub struct Unreadable;

impl Parser {
    /// A parser of a log that was made elsewhere, with any options.
    pub fn of_log() -> Self {
        Self {
            log: Some(Prefixes::default()),
            ..Self::default()
        }
    }

    /// What the log printed of the last call.
    pub fn details(&self) -> &Details {
        &self.details
    }

    /// Parses a line without its end. None if it has no meaning for a recording.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Event>, Unreadable> {
        let Some(log) = &mut self.log else {
            let (tid, rest) = word(line).ok_or(Unreadable)?;
            let tid: i32 = number_text(tid).ok_or(Unreadable)?;
            let (time, rest) = word(rest).ok_or(Unreadable)?;
            let at_ns = nanoseconds(time).ok_or(Unreadable)?;
            return self.event(tid, at_ns, rest);
        };
        self.details = Details::default();
        let Some(Prefix { tid, at_ns, rest }) = log.read(None, line) else {
            return Ok(None);
        };
        self.event_of_log(tid, at_ns, &rest)
    }

    /// Parses a line of the file of a thread (`-ff`).
    pub fn line_of(&mut self, tid: i32, line: &[u8]) -> Result<Option<Event>, Unreadable> {
        self.details = Details::default();
        let log = self.log.get_or_insert_default();
        let Some(Prefix { tid, at_ns, rest }) = log.read(Some(tid), line) else {
            return Ok(None);
        };
        self.event_of_log(tid, at_ns, &rest)
    }

    fn event_of_log(
        &mut self,
        tid: i32,
        at_ns: u64,
        rest: &[u8],
    ) -> Result<Option<Event>, Unreadable> {
        if rest.ends_with(b" <detached ...>") {
            return Ok(None);
        }
        let event = self.event(tid, at_ns, rest);
        if let (Some(log), Ok(Some(event))) = (&mut self.log, &event) {
            match event {
                Event::Fork { child, .. } => log.started(*child),
                Event::Exit { tid, .. } => log.ended(*tid),
                _ => {}
            }
        }
        event
    }

    fn event(&mut self, tid: i32, at_ns: u64, rest: &[u8]) -> Result<Option<Event>, Unreadable> {
        if rest.starts_with(b"---") {
            return Ok(None);
        }
        if let Some(what) = rest.strip_prefix(b"+++ ") {
            if let Some(by) = what.strip_prefix(b"superseded by execve in pid ") {
                let former = number_text(word(by).ok_or(Unreadable)?.0).ok_or(Unreadable)?;
                self.superseded.insert(tid, former);
                if let Some(unfinished) = self.unfinished.remove(&former) {
                    self.unfinished.insert(tid, unfinished);
                }
                return Ok(None);
            }
            self.unfinished.remove(&tid);
            return Ok(Some(Event::Exit { tid, at_ns }));
        }
        if let Some(resumed) = rest.strip_prefix(b"<... ") {
            let end = memchr::memmem::find(resumed, b" resumed>").ok_or(Unreadable)?;
            let Some(Unfinished { start_ns, mut text }) = self.unfinished.remove(&tid) else {
                return Err(Unreadable);
            };
            text.extend_from_slice(&resumed[end + b" resumed>".len()..]);
            return self.call(tid, start_ns, at_ns, &text);
        }
        if let Some(begun) = rest.strip_suffix(b" <unfinished ...>") {
            let text = begun.to_vec();
            self.unfinished.insert(
                tid,
                Unfinished {
                    start_ns: at_ns,
                    text,
                },
            );
            return Ok(Some(Event::Seen { tid }));
        }
        self.call(tid, at_ns, at_ns, rest)
    }

    /// The threads in a call that creates a thread, with its flags if they were printed already.
    pub fn creating(&self) -> Vec<(i32, Option<u64>)> {
        let creating = self.unfinished.iter().filter_map(|(tid, call)| {
            let (name, rest) = split_name(&call.text)?;
            let created = matches!(name, "clone" | "clone3" | "fork" | "vfork");
            created.then(|| (*tid, clone_flags(name, rest, &arguments(rest).0)))
        });
        creating.collect()
    }

    /// A whole call; its end was printed at `printed_ns`.
    fn call(
        &mut self,
        tid: i32,
        start_ns: u64,
        printed_ns: u64,
        text: &[u8],
    ) -> Result<Option<Event>, Unreadable> {
        let (name, after) = split_name(text).ok_or(Unreadable)?;
        let (arguments, rest) = arguments(after);
        let rest = rest.ok_or(Unreadable)?;
        let (value, rest) = result(rest).ok_or(Unreadable)?;
        // Calls that do not return, such as exit_group.
        let Some(result) = value else {
            return Ok(None);
        };
        let end_ns = match duration(rest) {
            Some(duration) => start_ns.saturating_add(duration),
            None if self.log.is_some() => printed_ns,
            None => start_ns,
        };
        match name {
            "clone" | "clone3" | "fork" | "vfork" => {
                let Some(child) = i32::try_from(result).ok().filter(|child| *child > 0) else {
                    return Ok(None);
                };
                let flags = clone_flags(name, after, &arguments).ok_or(Unreadable)?;
                return Ok(Some(Event::Fork {
                    parent: tid,
                    child,
                    flags,
                    at_ns: end_ns,
                }));
            }
            "execve" | "execveat" => {
                let former = self.superseded.remove(&tid).unwrap_or(tid);
                let event = Event::Exec {
                    tid,
                    former,
                    at_ns: end_ns,
                };
                return Ok((result == 0).then_some(event));
            }
            _ => {}
        }
        let name = if self.log.is_some() {
            self.details = details(name, &arguments, result);
            if let Some(numbers) = others(name, &arguments, result) {
                return Ok(Some(Event::Others { tid, numbers }));
            }
            if NOT_KNOWN.contains(&name) {
                return Err(Unreadable);
            }
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
            alias.map_or(name, |(_, name)| name)
        } else {
            name
        };
        let Some(entry) = find(name) else {
            return Ok(None);
        };
        let mut call = Call {
            tid,
            name: entry.name,
            result,
            start_ns,
            end_ns,
            ..Call::default()
        };
        for (at, argument) in arguments.iter().take(6).enumerate() {
            call.args[at] = argument.number().unwrap_or(u64::MAX);
        }
        for (text, at) in call.texts.iter_mut().zip(entry.texts) {
            if let Some(Argument::Text(path)) = arguments.get(usize::from(*at)) {
                *text = Some(path.clone());
            }
        }
        match entry.pointers {
            Pointers::None => {}
            Pointers::Offsets(places) => {
                for (number, at) in call.numbers.iter_mut().zip(places) {
                    *number = group_numbers(arguments.get(usize::from(*at)))[0];
                }
            }
            Pointers::Structure(at) => {
                call.numbers = match arguments.get(usize::from(at)) {
                    // A value of an attribute.
                    Some(Argument::Text(text)) => numbers_of(text),
                    group => group_numbers(group),
                };
            }
        }
        Ok(Some(Event::Call(call)))
    }
}

/// The bytes of a string as they are in memory.
fn numbers_of(text: &[u8]) -> [Option<u64>; 4] {
    let mut numbers = [None; 4];
    for (number, bytes) in numbers.iter_mut().zip(text.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *number = Some(u64::from_ne_bytes(whole));
    }
    numbers
}

/// The flags of a call that creates a thread.
fn clone_flags(name: &str, text: &[u8], arguments: &[Argument]) -> Option<u64> {
    const VFORK: u64 = libc::CLONE_VM as u64 | libc::CLONE_VFORK as u64;
    match name {
        "fork" => return Some(0),
        // The child shares memory until it calls exec, and has descriptors of its own.
        "vfork" => return Some(VFORK),
        _ => {}
    }
    if let Some(at) = memchr::memmem::find(text, b"flags=") {
        let flags = &text[at + b"flags=".len()..];
        let end = flags.iter().position(|byte| b",)}".contains(byte));
        // Signals have no meaning here.
        return Some(number(&flags[..end.unwrap_or(flags.len())]).unwrap_or(0));
    }
    match name {
        "clone3" => group_numbers(arguments.first())[0],
        // Printed raw: the flags are the first argument on x86-64 and ARM64.
        _ => arguments.first()?.number(),
    }
}

/// What a log prints of a call besides its arguments.
fn details(name: &str, arguments: &[Argument], result: i64) -> Details {
    let mut details = Details::default();
    for argument in arguments {
        if let Argument::Descriptor(number, file) = argument {
            let number = i32::try_from(number.cast_signed()).unwrap_or(-1);
            if number == libc::AT_FDCWD {
                details.working = Some(file.clone());
            } else {
                details.descriptors.push((number, file.clone()));
            }
        }
    }
    if result < 0 {
        return details;
    }
    let status = match name {
        "fstat" | "stat" | "lstat" | "fstat64" | "stat64" | "lstat64" => arguments.get(1),
        "newfstatat" | "fstatat64" => arguments.get(2),
        "statx" => arguments.get(4),
        _ => None,
    };
    if let Some(Argument::Group(text)) = status {
        details.status = status_of(text);
    }
    let text = match name {
        "readlink" => arguments.get(1),
        "readlinkat" => arguments.get(2),
        "getcwd" => arguments.first(),
        _ => None,
    };
    if let Some(Argument::Text(text)) = text {
        if name == "getcwd" {
            details.working = Some(text.clone());
        } else if text.len() as u64 == result.unsigned_abs() {
            details.link = Some(text.clone());
        }
    }
    details
}

/// `st_mode=S_IFREG|0644, st_size=3, ...`.
fn status_of(text: &[u8]) -> Option<Status> {
    let field = |name: &[u8]| {
        let at = memchr::memmem::find(text, name)? + name.len();
        let end = memchr::memchr(b',', &text[at..]).map_or(text.len(), |end| at + end);
        number(text[at..end].trim_ascii())
    };
    let mode = field(b"st_mode=").or_else(|| field(b"stx_mode="))?;
    Some(Status {
        mode: u32::try_from(mode).ok()?,
        size: field(b"st_size=").or_else(|| field(b"stx_size=")),
    })
}

/// The descriptors of a call that opens something other than files.
fn others(name: &str, arguments: &[Argument], result: i64) -> Option<Vec<i32>> {
    let list = match name {
        _ if result < 0 => return None,
        "pipe" | "pipe2" => arguments.first(),
        "socketpair" => arguments.get(3),
        _ if OTHERS.contains(&name) => return Some(vec![i32::try_from(result).ok()?]),
        _ => return None,
    };
    let Some(Argument::Group(text)) = list else {
        return Some(Vec::new());
    };
    let digits = |word: &[u8]| {
        let end = word.iter().position(|byte| !byte.is_ascii_digit());
        number_text(&word[..end.unwrap_or(word.len())])
    };
    let words = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    Some(words.filter_map(digits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Call {
        match Parser::default().line(line.as_bytes()) {
            Ok(Some(Event::Call(call))) => call,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn calls_are_parsed_with_times_and_errors() {
        let call = one(
            r#"17 1700000000.000000100 openat(-100, "a \"b\"\n\303\244\0012", 0x80041, 0644) = 3 <0.000000050>"#,
        );
        assert_eq!((call.tid, call.name, call.result), (17, "openat", 3));
        assert_eq!(
            (call.start_ns, call.end_ns),
            (1_700_000_000_000_000_100, 1_700_000_000_000_000_150)
        );
        assert_eq!(call.args[0].cast_signed(), -100);
        assert_eq!((call.args[2], call.args[3]), (0x80041, 0o644));
        assert_eq!(
            call.texts[0].as_deref(),
            Some("a \"b\"\nä\u{1}2".as_bytes())
        );
        let call = one(r#"17 1.0 stat("x", 0x7ffd) = -1 ENOENT (No such file or directory) <0.1>"#);
        assert_eq!((call.result, call.end_ns), (-2, 1_100_000_000));
        let call = one(
            r#"17 1.0 newfstatat(-100, "x", {st_mode=0100644, st_size=3, ...}, 0x100) = 0 <0.1>"#,
        );
        assert_eq!(call.args[3], 0x100);
        let call = one("17 1.0 pread64(0x3, 0x7f00, 0x1000, 0x2000) = 0xfff <0.1>");
        assert_eq!(
            (call.args[2], call.args[3], call.result),
            (0x1000, 0x2000, 4095)
        );
        let call = one(r#"17 1.0 renameat2(4, "a,)", 5, "b", 0x2) = 0 <0.000001>"#);
        assert_eq!(call.texts, [Some(b"a,)".to_vec()), Some(b"b".to_vec())]);
        assert_eq!((call.args[2], call.args[4]), (5, 2));
        let call = one("17 1.0 copy_file_range(3, [10] => [20], 4, NULL, 10, 0) = 10 <0.1>");
        assert_eq!(call.numbers[..2], [Some(10), None]);
        let call =
            one(r#"17 1.0 openat2(3, "f", {flags=0x42, mode=0600, resolve=0x8}, 24) = 4 <0.1>"#);
        assert_eq!(call.numbers[..3], [Some(0x42), Some(0o600), Some(8)]);
    }

    #[test]
    fn unfinished_calls_are_resumed_by_their_thread() {
        let mut parser = Parser::default();
        let mut line = |text: &str| parser.line(text.as_bytes());
        assert!(matches!(
            line("5 1.0 fsync(3 <unfinished ...>"),
            Ok(Some(Event::Seen { tid: 5 }))
        ));
        assert!(matches!(
            line("6 1.1 close(4) = 0 <0.000001>"),
            Ok(Some(Event::Call(_)))
        ));
        assert!(matches!(
            line("5 1.2 --- SIGCHLD {si_signo=17} ---"),
            Ok(None)
        ));
        let Ok(Some(Event::Call(call))) = line("5 1.3 <... fsync resumed>) = 0 <0.300000000>")
        else {
            panic!();
        };
        assert_eq!((call.name, call.args[0]), ("fsync", 3));
        assert_eq!((call.start_ns, call.end_ns), (1_000_000_000, 1_300_000_000));
        assert_eq!(
            line("5 1.4 <... read resumed>) = 0 <0.1>").unwrap_err(),
            Unreadable
        );
        assert!(matches!(line("5 1.5 exit_group(0) = ?"), Ok(None)));
        assert!(matches!(
            line("5 1.6 +++ exited with 0 +++"),
            Ok(Some(Event::Exit { tid: 5, .. }))
        ));
        for bad in [
            "",
            "x",
            "5",
            "5 x read(1) = 0",
            "5 1.0 read(1",
            "5 1.0 read(1) = -1 EWHAT (?)",
        ] {
            assert!(line(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn threads_start_and_programs_are_replaced() {
        let mut parser = Parser::default();
        let mut line = |text: &str| parser.line(text.as_bytes());
        let fork = line("5 1.0 clone(0x1200011, 0, 0, 0x7f, 0) = 9 <0.1>");
        assert!(matches!(
            fork,
            Ok(Some(Event::Fork {
                parent: 5,
                child: 9,
                flags: 0x0120_0011,
                ..
            }))
        ));
        let fork =
            line("5 1.0 clone3({flags=0x3d0f00, child_tid=0x7f, stack_size=0x7f}, 88) = 10 <0.1>");
        assert!(matches!(
            fork,
            Ok(Some(Event::Fork {
                child: 10,
                flags: 0x003d_0f00,
                ..
            }))
        ));
        line(r#"10 1.1 execve("/bin/x", ["x"], 0x7f /* 3 vars */ <unfinished ...>"#).unwrap();
        line("5 1.2 +++ superseded by execve in pid 10 +++").unwrap();
        let exec = line("5 1.3 <... execve resumed>) = 0 <0.1>");
        assert!(
            matches!(
                exec,
                Ok(Some(Event::Exec {
                    tid: 5,
                    former: 10,
                    ..
                }))
            ),
            "{exec:?}"
        );
        line("5 1.4 vfork( <unfinished ...>").unwrap();
        assert_eq!(parser.creating(), [(5, Some(0x4100))]);
    }
}
