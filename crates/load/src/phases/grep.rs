//! `grep`: searches every regular file of the newest tree for a regular expression, and counts the
//! lines that `grep -r` would print. A file with zero bytes has one line, which reports the match.

use super::read::{EachFile, FileReader};
use super::{Job, PARAMETERS, PhaseKind, ToolRun, TreePhase, visit_source};
use crate::buffer::Buffer;
use crate::engines::Calls;
use crate::error::LoadError;
use crate::user_work::UserWork;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::io;

/// The default pattern: the word that is in one of eight generated text files
/// ([`fsdyno_datasets::text::KNOWN_WORD`]). It has the same meaning in POSIX extended expressions
/// and in Rust's.
pub const DEFAULT_PATTERN: &str = "[Ll]ibtool";

/// The maximum length of a line, bytes. A longer line is searched in parts of this size.
const MAX_LINE_BYTES: usize = 64 << 20;

pub static KIND: PhaseKind = PhaseKind {
    reads_data: true,
    searches: true,
    ..PhaseKind::on_tree(
        "grep",
        "searches every file of the newest tree for a regular expression",
        PARAMETERS,
    )
};

pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run: |engine, job, workers| {
            visit_source(engine, job, workers, |_, search| {
                Some(EachFile::new(GrepAll {
                    // Allocated by `Scratch::for_job` for this kind.
                    search: search.as_mut()?,
                    stop: job.stop,
                    user_work: job.user_work,
                }))
            })
        },
        tool: |job| Ok(tool(job)),
        method: |_| "openat, read; grep-regex".to_owned(),
    }
}

fn tool(job: &Job<'_>) -> ToolRun {
    // Its output goes to fsdyno, which counts the lines: with /dev/null grep would stop at the
    // first match of a file. Without file names, a newline in a name adds no line.
    let mut run = ToolRun::new("grep -rhE", ["grep", "-rhE", "-e"])
        .arg(job.pattern.unwrap_or(DEFAULT_PATTERN))
        .arg("--")
        .arg(job.source_path());
    run.counts_lines = true;
    // Status 1: no match.
    run.highest_status = 1;
    run
}

/// A compiled regular expression with its buffer.
#[derive(Debug)]
pub(crate) struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    buffer: Buffer,
}

impl Search {
    pub fn new(pattern: Option<&str>, buffer: Buffer) -> Result<Self, LoadError> {
        let pattern = pattern.unwrap_or(DEFAULT_PATTERN);
        let matcher = RegexMatcherBuilder::new()
            // Bytes, like grep in the C locale.
            .unicode(false)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .map_err(|error| LoadError::Pattern {
                pattern: pattern.to_owned(),
                reason: error.to_string(),
            })?;
        let searcher = SearcherBuilder::new()
            .line_number(false)
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::none())
            .build();
        Ok(Self {
            matcher,
            searcher,
            buffer,
        })
    }
}

/// Counts matching lines.
struct Count {
    lines: u64,
    /// Whether one match is sufficient.
    one: bool,
}

impl Sink for Count {
    type Error = io::Error;

    #[inline]
    fn matched(&mut self, _searcher: &Searcher, _line: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        Ok(!self.one)
    }
}

struct GrepAll<'a> {
    search: &'a mut Search,
    stop: &'a CancelToken,
    user_work: Option<&'a UserWork<'a>>,
}

impl<E: Calls> FileReader<E> for GrepAll<'_> {
    #[inline]
    fn read(
        &mut self,
        engine: &mut E,
        file: &mut E::File,
        tally: &mut Tally,
    ) -> Result<(), LoadError> {
        let Search {
            matcher,
            searcher,
            buffer,
        } = &mut *self.search;
        let mut count = Count {
            lines: 0,
            one: false,
        };
        let mut kept = 0;
        loop {
            let bytes = engine.read(file, &mut buffer[kept..])?;
            tally.bytes.0 += bytes as u64;
            let have = kept + bytes;
            let fresh = &mut buffer[kept..have];
            if count.one || memchr::memchr(0, fresh).is_some() {
                // A binary file: zero bytes end lines, and one match is reported for the file
                // (grep(1)).
                count.one = true;
                zap(fresh);
            }
            // A regular file returns fewer bytes than requested only at its end (read(2)).
            let last = have < buffer.len();
            let whole = if last {
                have
            } else {
                memchr::memrchr(b'\n', &buffer[..have]).map_or(0, |at| at + 1)
            };
            if whole == 0 && !last && buffer.len() < MAX_LINE_BYTES {
                kept = have;
                buffer.grow(2 * have);
                continue;
            }
            let whole = if whole == 0 { have } else { whole };
            let before = count.lines;
            searcher
                .search_slice(&*matcher, &buffer[..whole], &mut count)
                .map_err(|source| LoadError::io("search", "(a file)", source))?;
            if let Some(work) = self.user_work {
                work.searched(whole)?;
            }
            if last || (count.one && count.lines > before) {
                break;
            }
            self.stop.check()?;
            buffer.copy_within(whole..have, 0);
            kept = have - whole;
        }
        tally.matches += count.lines;
        Ok(())
    }
}

/// Replaces zero bytes by newlines.
#[cold]
fn zap(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte == 0 {
            *byte = b'\n';
        }
    }
}
