//! The console of a guest: its last lines, kept for the day it dies.

use super::kernels::HOST_REFUSES_PAGES;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// How many lines are kept.
const KEPT: usize = 60;

/// What a kernel prints when it or a program cannot continue, and the first process before it.
const DYING: [&str; 5] = [
    "Kernel panic",
    "BUG:",
    "Oops",
    "fsdyno: ",
    HOST_REFUSES_PAGES,
];

/// The longest line that is kept, bytes: whatever a guest prints, memory stays bounded.
const LONGEST: u64 = 4 << 10;

/// Reads what a guest prints until it ends.
#[derive(Debug)]
pub struct Console {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Console {
    /// Begins to read.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            // What cannot be read any more has ended.
            let _ = keep(BufReader::new(stream), &kept);
        });
        Self {
            lines,
            reader: Some(reader),
        }
    }

    /// The last lines, or those from where the kernel died, once the guest has ended and all of it has been read.
    pub fn last(&mut self, count: usize) -> Vec<String> {
        if let Some(reader) = self.reader.take() {
            // It only reads, and has nothing to panic about.
            let _ = reader.join();
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        // What a kernel says as it dies comes before long lists of addresses.
        let dying = lines
            .iter()
            .position(|line| DYING.iter().any(|word| line.contains(word)));
        let first = dying.unwrap_or(lines.len().saturating_sub(count));
        let told = lines.iter().skip(first).filter(|line| !is_trace(line));
        told.take(count).cloned().collect()
    }
}

pub(crate) fn keep(mut stream: impl BufRead, kept: &Mutex<VecDeque<String>>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut stream).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = plain(&String::from_utf8_lossy(&line));
        if text.is_empty() {
            continue;
        }
        let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(text);
        if lines.len() > KEPT {
            lines.pop_front();
        }
    }
}

/// Whether a line is of the stack of a kernel that dies: addresses, which tell a user nothing.
fn is_trace(line: &str) -> bool {
    let address = |word: &str| word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let function = line.strip_prefix("? ").unwrap_or(line);
    let function = !function.contains(' ') && function.contains("+0x");
    function
        || matches!(line, "Stack:" | "Call Trace:")
        || line.starts_with("[<")
        || line.split_whitespace().all(address)
}

/// A line without the kernel's level (`<6>`), colours and other controls.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                let _ = rest.by_ref().find(char::is_ascii_alphabetic);
            }
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    let text = text.trim();
    let level = text
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .filter(|(level, _)| level.len() == 1 && level.bytes().all(|b| b.is_ascii_digit()));
    level.map_or(text, |(_, rest)| rest).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_without_levels_and_colours() {
        let lines: Vec<String> = (0..100).map(|n| format!("<6>line {n}\r\n\n")).collect();
        let many = lines.concat();
        let text = many + "\u{1b}[0;1;38;5;185mwarned\u{1b}[0m\n<0>not yet at its end";
        let mut console = Console::of(io::Cursor::new(text.clone()));
        assert_eq!(console.last(3), ["line 99", "warned", "not yet at its end"]);
        assert_eq!(console.last(1000).len(), KEPT);
        let addresses = "\n[<6009dda8>] ? sys_clock_nanosleep+0xe3".repeat(20);
        let text = text + "\n<0>Kernel panic - not syncing" + &addresses;
        let mut console = Console::of(io::Cursor::new(text));
        let last = console.last(3);
        assert_eq!(last, ["Kernel panic - not syncing"]);
    }

    #[test]
    fn a_refusal_of_the_host_is_among_the_last_lines_whatever_follows() {
        let after = "\nanother line".repeat(20);
        let text = format!("before\n<3>{HOST_REFUSES_PAGES}! This can happen{after}\n");
        let mut console = Console::of(io::Cursor::new(text));
        assert!(console.last(3)[0].starts_with(HOST_REFUSES_PAGES));
    }

    #[test]
    fn a_line_without_end_fills_no_memory() {
        let mut console = Console::of(io::repeat(b'x').take(1 << 20));
        let lines = console.last(KEPT);
        assert_eq!(lines.len(), KEPT);
        assert!(lines.iter().all(|line| line.len() as u64 == LONGEST));
    }
}
