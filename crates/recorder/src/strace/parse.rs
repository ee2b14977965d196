//! Parses the lines of `strace -f -ttt -T -X raw`: calls, also unfinished and resumed ones, signals
//! and exits. A line that cannot be parsed is an error, which is counted.

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
}

/// A line that cannot be interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("strace printed a line that cannot be interpreted")]
pub struct Unreadable;

#[derive(Debug, Clone, PartialEq)]
enum Argument {
    Number(u64),
    Text(Vec<u8>),
    /// A structure or list, without its brackets.
    Group(Vec<u8>),
}

impl Parser {
    /// Parses a line without its end. None if it has no meaning for a recording.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Event>, Unreadable> {
        let (tid, rest) = word(line).ok_or(Unreadable)?;
        let tid: i32 = number_text(tid).ok_or(Unreadable)?;
        let (time, rest) = word(rest).ok_or(Unreadable)?;
        let at_ns = nanoseconds(time).ok_or(Unreadable)?;
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
            return self.call(tid, start_ns, &text);
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
        self.call(tid, at_ns, rest)
    }

    /// The threads in a call that creates a thread, with its flags if they were printed already.
    pub fn creating(&self) -> Vec<(i32, Option<u64>)> {
        let creating = self.unfinished.iter().filter_map(|(tid, call)| {
            let (name, rest) = split_name(&call.text)?;
            let created = matches!(name, "clone" | "clone3" | "fork" | "vfork");
            created.then(|| (*tid, clone_flags(name, &arguments(rest).0)))
        });
        creating.collect()
    }

    fn call(&mut self, tid: i32, start_ns: u64, text: &[u8]) -> Result<Option<Event>, Unreadable> {
        let (name, rest) = split_name(text).ok_or(Unreadable)?;
        let (arguments, rest) = arguments(rest);
        let rest = rest.ok_or(Unreadable)?;
        let (result, rest) = result(rest).ok_or(Unreadable)?;
        // Calls that do not return, such as exit_group.
        let Some(result) = result else {
            return Ok(None);
        };
        let end_ns = start_ns + duration(rest).unwrap_or(0);
        match name {
            "clone" | "clone3" | "fork" | "vfork" => {
                let Some(child) = i32::try_from(result).ok().filter(|child| *child > 0) else {
                    return Ok(None);
                };
                let flags = clone_flags(name, &arguments).ok_or(Unreadable)?;
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
            call.args[at] = match argument {
                Argument::Number(number) => *number,
                _ => u64::MAX,
            };
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
                call.numbers = group_numbers(arguments.get(usize::from(at)));
            }
        }
        Ok(Some(Event::Call(call)))
    }
}

/// The flags of a call that creates a thread.
fn clone_flags(name: &str, arguments: &[Argument]) -> Option<u64> {
    const VFORK: u64 = libc::CLONE_VM as u64 | libc::CLONE_VFORK as u64;
    match name {
        "fork" => Some(0),
        // The child shares memory until it calls exec, and has descriptors of its own.
        "vfork" => Some(VFORK),
        "clone3" => group_numbers(arguments.first())[0],
        // Printed raw: the flags are the first argument on x86-64 and ARM64.
        _ => match arguments.first()? {
            Argument::Number(flags) => Some(*flags),
            _ => None,
        },
    }
}

/// Up to four numbers of a structure or list, in order.
fn group_numbers(group: Option<&Argument>) -> [Option<u64>; 4] {
    let mut numbers = [None; 4];
    let Some(Argument::Group(text)) = group else {
        return numbers;
    };
    let fields = text.split(|byte| *byte == b',').map(|field| {
        let at = memchr::memchr(b'=', field).map_or(0, |at| at + 1);
        number(field[at..].trim_ascii())
    });
    for (number, field) in numbers.iter_mut().zip(fields) {
        *number = field;
    }
    numbers
}

/// The first word, and what follows its spaces.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then(|| (word, rest.trim_ascii_start()))
}

fn number_text<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Seconds with a fraction, as nanoseconds.
fn nanoseconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let seconds: u64 = seconds.parse().ok()?;
    let fraction: u64 = fraction.parse().ok()?;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(fraction * scale)
}

/// `NAME(` and what follows.
fn split_name(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr(b'(', text)?;
    let name = std::str::from_utf8(&text[..end]).ok()?;
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && !name.is_empty()).then(|| (name, &text[end + 1..]))
}

/// The arguments, and what follows their closing parenthesis; none if there is none.
fn arguments(text: &[u8]) -> (Vec<Argument>, Option<&[u8]>) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b")") {
            return (found, Some(after));
        }
        if rest.is_empty() {
            return (found, None);
        }
        let Some((argument, after)) = argument(rest) else {
            return (found, None);
        };
        found.push(argument);
        // Skips text that strace adds, such as `=> [5]` and comments.
        let end = end_of_argument(after);
        rest = &after[end..];
        if let Some(after) = rest.strip_prefix(b",") {
            rest = after;
        }
    }
}

fn argument(text: &[u8]) -> Option<(Argument, &[u8])> {
    match text[0] {
        b'"' => {
            let (string, rest) = string(&text[1..])?;
            Some((Argument::Text(string), rest))
        }
        b'{' | b'[' => {
            let end = end_of_group(text)?;
            Some((Argument::Group(text[1..end].to_vec()), &text[end + 1..]))
        }
        _ => {
            let end = end_of_argument(text);
            let (word, rest) = text.split_at(end);
            // `name=value`, as clone prints.
            let at = memchr::memchr(b'=', word).map_or(0, |at| at + 1);
            let value = number(word[at..].trim_ascii()).unwrap_or(u64::MAX);
            Some((Argument::Number(value), rest))
        }
    }
}

/// Position of the comma or parenthesis that ends an argument.
fn end_of_argument(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b',' | b')' => return at,
            b'"' => match string(&text[at + 1..]) {
                Some((_, rest)) => at = text.len() - rest.len(),
                None => return text.len(),
            },
            b'{' | b'[' | b'(' => match end_of_group(&text[at..]) {
                Some(end) => at += end + 1,
                None => return text.len(),
            },
            _ => at += 1,
        }
    }
    at
}

/// Position of the bracket that closes the first one.
fn end_of_group(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => {
                let (_, rest) = string(&text[at + 1..])?;
                at = text.len() - rest.len();
                continue;
            }
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// A string after its opening quote, and what follows its closing one. Escapes are those of C, with
/// octal numbers of one to three digits.
fn string(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        match *text.get(at)? {
            b'"' => {
                let rest = &text[at + 1..];
                return Some((found, rest.strip_prefix(b"...").unwrap_or(rest)));
            }
            b'\\' => {
                at += 1;
                let escaped = *text.get(at)?;
                at += 1;
                found.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'x' => {
                        let digits = std::str::from_utf8(text.get(at..at + 2)?).ok()?;
                        at += 2;
                        u8::from_str_radix(digits, 16).ok()?
                    }
                    b'0'..=b'7' => {
                        let mut value = u32::from(escaped - b'0');
                        let mut digits = 1;
                        while let Some(digit @ b'0'..=b'7') = text.get(at)
                            && digits < 3
                        {
                            value = value * 8 + u32::from(digit - b'0');
                            digits += 1;
                            at += 1;
                        }
                        u8::try_from(value).ok()?
                    }
                    other => other,
                });
            }
            byte => {
                found.push(byte);
                at += 1;
            }
        }
    }
}

/// A number as strace prints it: decimal, negative, hexadecimal, octal, NULL; or flags with `|`.
fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.contains('|') {
        return text
            .split('|')
            .try_fold(0, |all, part| Some(all | number(part.as_bytes())?));
    }
    if text == "NULL" {
        return Some(0);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        return u64::from_str_radix(digits, 8).ok();
    }
    match text.strip_prefix('-') {
        Some(_) => text.parse::<i64>().ok().map(i64::cast_unsigned),
        None => text.parse().ok(),
    }
}

/// ` = RESULT ...`: the return value, none for `?`; and what follows.
#[allow(clippy::type_complexity, reason = "a pair of the value and the rest")]
fn result(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let text = text
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let (value, rest) = word(text)?;
    if value == b"?" {
        return Some((None, rest));
    }
    let value = number(value)?.cast_signed();
    if value != -1 {
        return Some((Some(value), rest));
    }
    let (name, after) = word(rest)?;
    let name = std::str::from_utf8(name).ok()?;
    if let Some(number) = name.strip_prefix("(errno").map(|_| after) {
        let digits = number.split(|byte| *byte == b')').next()?;
        return Some((Some(-number_text::<i64>(digits)?), after));
    }
    // lseek and mmap may return -1 as a value; the name of an error follows otherwise.
    Some((Some(-i64::from(errno(name)?)), after))
}

/// `<0.000012345>` at the end of a line, in ns.
fn duration(text: &[u8]) -> Option<u64> {
    let text = text.strip_suffix(b">")?;
    let start = memchr::memrchr(b'<', text)?;
    nanoseconds(&text[start + 1..])
}

macro_rules! errors {
    ($($name:ident)*) => {
        /// The number of an error.
        fn errno(name: &str) -> Option<i32> {
            match name {
                $(stringify!($name) => Some(libc::$name),)*
                "ERESTARTSYS" => Some(512),
                "ERESTARTNOINTR" => Some(513),
                "ERESTARTNOHAND" => Some(514),
                "ERESTART_RESTARTBLOCK" => Some(516),
                "ENOTSUPP" => Some(524),
                _ => None,
            }
        }
    };
}

errors! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT
    ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG
    ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY
    ELOOP ENODATA ETIME EREMOTE ENOLINK EPROTO EBADMSG EOVERFLOW EBADFD EILSEQ EUSERS ENOTSOCK
    EOPNOTSUPP ETIMEDOUT ECONNREFUSED EALREADY EINPROGRESS ESTALE EUCLEAN EDQUOT ENOMEDIUM
    EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EHWPOISON ECONNRESET ENOTCONN ENOBUFS
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
