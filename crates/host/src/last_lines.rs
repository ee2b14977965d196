//! The last lines of what another program prints, kept for the report of its failure.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// How many lines are kept.
const KEPT: usize = 60;

/// The longest line that is kept, bytes: memory stays bounded for any output.
const MAX_LINE: u64 = 4 << 10;

/// Reads a stream until it ends, and keeps its last lines.
#[derive(Debug)]
pub struct LastLines {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl LastLines {
    /// Starts to read the stream in a thread.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            // A read error ends the stream as well.
            let _ = keep(BufReader::new(stream), &kept);
        });
        Self {
            lines,
            reader: Some(reader),
        }
    }

    /// All lines that are kept, once the stream has ended.
    pub fn kept(&mut self) -> Vec<String> {
        if let Some(reader) = self.reader.take() {
            // The thread only reads and cannot panic.
            let _ = reader.join();
        }
        self.so_far()
    }

    /// The lines that are kept so far.
    pub fn so_far(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// The last `count` lines, once the stream has ended.
    pub fn last(&mut self, count: usize) -> Vec<String> {
        let mut lines = self.kept();
        lines.split_off(lines.len().saturating_sub(count))
    }
}

pub(crate) fn keep(mut stream: impl BufRead, kept: &Mutex<VecDeque<String>>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut stream).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
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
        let mut lines_kept = LastLines::of(io::Cursor::new(text));
        assert_eq!(
            lines_kept.last(3),
            ["line 99", "warned", "not yet at its end"]
        );
        assert_eq!(lines_kept.last(1000).len(), KEPT);
    }

    #[test]
    fn a_line_without_end_fills_no_memory() {
        let mut lines_kept = LastLines::of(io::repeat(b'x').take(1 << 20));
        let lines = lines_kept.last(KEPT);
        assert_eq!(lines.len(), KEPT);
        assert!(lines.iter().all(|line| line.len() as u64 == MAX_LINE));
    }
}
