//! The lines of a log: of one file, or of the files of threads (`strace -ff`) by their times.

use super::super::prefix::{Stated, split};
use super::super::{Event, Parser, Unreadable};
use crate::observation::SessionError;
use fsdyno_files::input;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// The longest line that is read: calls with many long strings, as of execve, have less.
const MAX_LINE: u64 = 1 << 20;

/// A line, and the thread of its file.
pub(super) struct Line {
    tid: Option<i32>,
    text: Vec<u8>,
}

impl Line {
    pub fn parse(&self, parser: &mut Parser) -> Result<Option<Event>, Unreadable> {
        match self.tid {
            Some(tid) => parser.line_of(tid, &self.text),
            None => parser.line(&self.text),
        }
    }
}

struct Source {
    path: PathBuf,
    tid: Option<i32>,
    from: BufReader<File>,
    /// The next line, with its time if the log has one.
    next: Option<(Vec<u8>, Option<u64>)>,
}

pub(super) struct Sources {
    files: Vec<Source>,
    /// Of a log without times: the files that are read, the last one first.
    stack: Vec<usize>,
    timed: bool,
}

impl Sources {
    pub fn open(paths: &[PathBuf]) -> Result<Self, SessionError> {
        let mut files = Vec::new();
        for path in paths {
            let failed = |source| SessionError::Log {
                path: path.clone(),
                source,
            };
            let from = BufReader::new(input::open(path).map_err(failed)?);
            let tid = if paths.len() > 1 { thread(path) } else { None };
            let path = path.clone();
            let mut source = Source {
                path,
                tid,
                from,
                next: None,
            };
            source.advance()?;
            files.push(source);
        }
        // The first thread has the smallest number, except where numbers began again.
        files.sort_by_key(|source| source.tid);
        let timed = |source: &Source| !matches!(source.next, Some((_, None)));
        let timed = files.len() > 1 && files.iter().all(timed);
        Ok(Self {
            stack: (0..files.len()).rev().collect(),
            files,
            timed,
        })
    }

    /// A thread was created: without times, its file is read before that of its creator goes on.
    pub fn started(&mut self, tid: i32) {
        let file = self.files.iter().position(|source| source.tid == Some(tid));
        if let Some(file) = file.filter(|_| !self.timed) {
            self.stack.retain(|other| *other != file);
            self.stack.push(file);
        }
    }

    pub fn next(&mut self) -> Result<Option<Line>, SessionError> {
        let file = if self.timed {
            let files = self.files.iter().enumerate();
            let next = files.filter_map(|(at, source)| Some((source.next.as_ref()?.1, at)));
            next.min().map(|(_, at)| at)
        } else {
            while let Some(top) = self.stack.last()
                && self.files[*top].next.is_none()
            {
                self.stack.pop();
            }
            self.stack.last().copied()
        };
        let Some(file) = file else {
            return Ok(None);
        };
        let source = &mut self.files[file];
        let line = source.next.take().map(|(text, _)| Line {
            tid: source.tid,
            text,
        });
        source.advance()?;
        Ok(line)
    }
}

impl Source {
    fn advance(&mut self) -> Result<(), SessionError> {
        let mut text = Vec::new();
        let failed = |source| SessionError::Log {
            path: self.path.clone(),
            source,
        };
        let mut limited = io::Read::take(&mut self.from, MAX_LINE);
        let read = limited.read_until(b'\n', &mut text).map_err(failed)?;
        let (_, stated, _) = split(&text);
        let time = match stated {
            Stated::Unix(at_ns) | Stated::Day(at_ns) => Some(at_ns),
            Stated::Since(_) | Stated::No => None,
        };
        self.next = (read > 0).then_some((text, time));
        Ok(())
    }
}

/// The thread of a file of `strace -ff -o NAME`: `NAME.THREAD`.
fn thread(path: &Path) -> Option<i32> {
    path.extension()?.to_str()?.parse().ok()
}
