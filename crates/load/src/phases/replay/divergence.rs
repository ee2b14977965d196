//! Results of a replay that differ from the recorded ones, by kind of operation.

use super::plan::Step;
use fsdyno_files::errno;
use fsdyno_trace::{Action, Operation};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The maximum share of different results, in thousandths. Above it, a replay is not the recorded
/// work.
const MAX_PERMILLE: u64 = 10;

/// The kinds that a warning names.
const NAMED: usize = 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Divergence {
    compared: u64,
    kinds: BTreeMap<&'static str, Kind>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kind {
    count: u64,
    /// The first: the number of the operation, the recorded result, and the result.
    first: (u32, i64, i64),
}

impl Divergence {
    /// Compares the result of an operation with the recorded one.
    pub fn compare(&mut self, operation: &Operation, step: &Step, value: i64) {
        self.compared += 1;
        if is_same(operation, step.resolved.regular, value) {
            return;
        }
        let first = (step.operation, operation.result, value);
        let kind = self.kinds.entry(operation.action.kind()).or_default();
        kind.merge(1, first);
    }

    /// Adds those of another worker.
    pub fn add(&mut self, other: &Self) {
        self.compared += other.compared;
        for (kind, of_other) in &other.kinds {
            let kind = self.kinds.entry(kind).or_default();
            kind.merge(of_other.count, of_other.first);
        }
    }

    /// The number of different results.
    pub fn count(&self) -> u64 {
        self.kinds.values().map(|kind| kind.count).sum()
    }

    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Whether more than 1 % of the results are different.
    pub fn is_large(&self) -> bool {
        self.count() * 1000 > self.compared * MAX_PERMILLE
    }

    /// The kinds, the most frequent first, with the first of each: `12 open (operation 5: recorded
    /// ENOENT, got success)`.
    pub fn text(&self) -> String {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, kind)| u64::MAX - kind.count);
        let mut text = String::new();
        for (name, kind) in kinds.iter().take(NAMED) {
            let (number, recorded, value) = kind.first;
            let _ = write!(
                text,
                "{}{} {name} (operation {}: recorded {}, got {})",
                if text.is_empty() { "" } else { ", " },
                kind.count,
                number + 1,
                shown(recorded),
                shown(value)
            );
        }
        let more = kinds.len().saturating_sub(NAMED);
        if more > 0 {
            let _ = write!(text, " and {more} more kinds");
        }
        text
    }

    /// All kinds, one a line: count and name.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for (name, kind) in &self.kinds {
            let _ = writeln!(text, "different {name}: {}", kind.count);
        }
        text
    }
}

impl Kind {
    fn merge(&mut self, count: u64, first: (u32, i64, i64)) {
        if self.count == 0 || first.0 < self.first.0 {
            self.first = first;
        }
        self.count += count;
    }
}

/// A result as text: the name of an error, or the number.
fn shown(value: i64) -> String {
    match i32::try_from(-value) {
        Ok(errno) if errno > 0 => errno::text(Errno::from_raw_os_error(errno)),
        _ => value.to_string(),
    }
}

/// An error as a result.
fn error(errno: Errno) -> i64 {
    -i64::from(errno.raw_os_error())
}

/// Whether two results mean the same. Numbers that depend on the file system are not compared.
fn is_same(operation: &Operation, regular: bool, value: i64) -> bool {
    let recorded = operation.result;
    if recorded < 0 || value < 0 {
        let absent = [Errno::NODATA, Errno::OPNOTSUPP];
        // A file system without such attributes gives another error for the same answer.
        let no_attribute = |value: i64| absent.iter().any(|one| value == error(*one));
        let both_absent = matches!(operation.action, Action::GetXattr { .. })
            && no_attribute(recorded)
            && no_attribute(value);
        return both_absent || recorded == value;
    }
    match &operation.action {
        Action::Read { .. }
        | Action::Write { .. }
        | Action::Copy { .. }
        | Action::SendFile { .. }
        | Action::SpliceFrom { .. }
        | Action::SpliceTo { .. }
        | Action::GetXattr { .. } => recorded == value,
        // The file system chooses the start of data and holes, and the offsets in directories.
        Action::Seek { whence, .. } => {
            let data = matches!(whence.cast_signed(), libc::SEEK_DATA | libc::SEEK_HOLE);
            !regular || data || recorded == value
        }
        _ => true,
    }
}
