//! The console of a guest: its last lines, or those of its kernel's crash.

use fsdyno_host::last_lines::LastLines;
use std::io::Read;

/// The message of User-mode Linux when the host refuses to map a page of a program. It then kills
/// that program.
pub(crate) const HOST_REFUSES_PAGES: &str = "UML ran out of memory on the host side";

/// Messages of a kernel that panics or kills a program, and of the first process before a panic.
const CRASH_MARKS: [&str; 5] = [
    "Kernel panic",
    "BUG:",
    "Oops",
    "fsdyno: ",
    HOST_REFUSES_PAGES,
];

/// Reads the console of a guest until the guest ends.
#[derive(Debug)]
pub struct Console(LastLines);

impl Console {
    /// Starts to read the console.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        Self(LastLines::of(stream))
    }

    /// Whether a line that was read so far contains this text.
    pub fn contains(&self, text: &str) -> bool {
        self.0.so_far().iter().any(|line| line.contains(text))
    }

    /// The first lines of a crash, without its stack traces; else the last lines.
    pub fn last(&mut self, count: usize) -> Vec<String> {
        let lines = self.0.kept();
        let crash = lines
            .iter()
            .position(|line| CRASH_MARKS.iter().any(|mark| line.contains(mark)));
        let first = crash.unwrap_or(lines.len().saturating_sub(count));
        let shown = lines.into_iter().skip(first).filter(|line| !is_trace(line));
        shown.take(count).collect()
    }
}

/// Whether a line belongs to a stack trace: addresses, which do not help a user.
fn is_trace(line: &str) -> bool {
    let address = |word: &str| word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let function = line.strip_prefix("? ").unwrap_or(line);
    let function = !function.contains(' ') && function.contains("+0x");
    function
        || matches!(line, "Stack:" | "Call Trace:")
        || line.starts_with("[<")
        || line.split_whitespace().all(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn a_panic_is_shown_without_its_stack_trace() {
        let addresses = "\n[<6009dda8>] ? sys_clock_nanosleep+0xe3".repeat(20);
        let text = format!("line 1\n<0>Kernel panic - not syncing{addresses}");
        let mut console = Console::of(Cursor::new(text));
        assert_eq!(console.last(3), ["Kernel panic - not syncing"]);
        let mut console = Console::of(Cursor::new("one\ntwo\nthree"));
        assert_eq!(console.last(2), ["two", "three"]);
    }

    #[test]
    fn a_refusal_of_the_host_is_shown_before_later_lines() {
        let after = "\nanother line".repeat(20);
        let text = format!("before\n<3>{HOST_REFUSES_PAGES}! This can happen{after}\n");
        let mut console = Console::of(Cursor::new(text));
        assert!(console.last(3)[0].starts_with(HOST_REFUSES_PAGES));
    }
}
