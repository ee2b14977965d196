//! Judges a recovered tree: what the acknowledged operations of a program promise must be there,
//! and everything must be something that the program has made.
//!
//! POSIX leaves open which later operations a power cut undoes. So every name, byte and attribute
//! may have each of its values since it was last made durable, independently of the others.

mod content;
mod extra;
mod history;
mod names;
mod recovered;
mod resolve;

use crate::operation::{Operation, Program, Target};
use crate::simulation::{InodeId, Kind, Name, ProgramError};
use crate::trace::TraceEvent;
use crate::tree::Tree;
use fsdyno_model::exploration::Violation;
use history::{History, Pin, Pins};
use resolve::{Choices, Resolved};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// The separator between the promise and the rest of a signature.
const AFTER: &str = " after ";

/// Maximum number of assignments of entries to files that are tried.
const MAX_ASSIGNMENTS: usize = 256;

/// The progress of a program at a power cut. The numbers include the operations of the setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Progress {
    /// Number of operations that began.
    pub began: u32,
    /// Number of operations that returned.
    pub returned: u32,
}

impl Progress {
    /// The progress at the end of these events of a trace.
    pub fn at<'a>(program: &Program, events: impl IntoIterator<Item = &'a TraceEvent>) -> Self {
        let mut progress = Self {
            began: program.first(),
            returned: program.first(),
        };
        for event in events {
            match event {
                TraceEvent::Began { operation } => {
                    progress.began = progress.began.max(operation + 1);
                }
                TraceEvent::Returned { operation } => {
                    progress.returned = progress.returned.max(operation + 1);
                }
                _ => {}
            }
        }
        progress
    }

    /// The progress after all operations of a program.
    pub fn complete(program: &Program) -> Self {
        let all = program.first() + u32::try_from(program.operations.len()).unwrap_or_default();
        Self {
            began: all,
            returned: all,
        }
    }
}

/// The promises of a file system beyond those of POSIX for `fsync` and `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "promises are independent of each other"
)]
pub struct Promises {
    /// An operation on names or attributes happens as a whole or not at all. A file system without
    /// a journal promises this for files and names that did not change since they were durable.
    pub atomic: bool,
    /// Free space shows in a file whose data was not made durable (`data=writeback`).
    pub stale_data: bool,
    /// The structures agree with each other, by themselves or after a repair: what changed can be
    /// read and deleted, and has its number of links.
    pub consistent: bool,
    /// A sector cannot be read (class C4): an unreadable file is no violation.
    pub unreadable: bool,
    /// Extra: operations on names survive in their order.
    pub ordered_metadata: bool,
    /// Extra: fsync of a file makes durable what its names depend on.
    pub dependent_metadata: bool,
    /// Extra: fsync of a file makes all its names durable.
    pub all_link_names: bool,
    /// Extra: a new file that was renamed over another one has its data.
    pub replace_by_rename: bool,
}

impl Promises {
    /// A file system with a journal or copy-on-write, without extra promises.
    pub const JOURNALED: Self = Self {
        atomic: true,
        stale_data: false,
        consistent: true,
        unreadable: false,
        ordered_metadata: false,
        dependent_metadata: false,
        all_link_names: false,
        replace_by_rename: false,
    };

    /// A file system without a journal, which its checker repairs.
    pub const UNJOURNALED: Self = Self {
        atomic: false,
        stale_data: true,
        ..Self::JOURNALED
    };

    /// A file system without a journal that no program repairs.
    pub const UNREPAIRED: Self = Self {
        consistent: false,
        ..Self::UNJOURNALED
    };
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The kind of promise.
    pub violation: Violation,
    /// The acknowledged operation that made it; none if the setup or no operation did.
    pub operation: Option<u32>,
    /// The path.
    pub path: String,
    /// The description of the violation.
    pub message: String,
    /// Equal for violations of one cause in programs that differ in other files: the promise
    /// ([`promise`]), what made it durable and the operations on the file.
    pub signature: String,
}

/// Judges trees that a program can leave.
#[derive(Debug)]
pub struct Oracle<'a> {
    program: Cow<'a, Program>,
    promises: Promises,
    history: History,
    /// The operations that the first power cut interrupted, if the program continues after it.
    unreturned: Range<u32>,
}

/// Judges one tree. The error is that of a program which cannot succeed.
pub fn judge(
    program: &Program,
    progress: Progress,
    tree: &Tree,
    promises: Promises,
) -> Result<Vec<Broken>, ProgramError> {
    Ok(Oracle::new(program, promises)?.judge(progress, tree))
}

impl<'a> Oracle<'a> {
    /// The oracle of a program. The error is that of a program which cannot succeed.
    pub fn new(program: &'a Program, promises: Promises) -> Result<Self, ProgramError> {
        Ok(Self {
            history: History::new(program)?,
            program: Cow::Borrowed(program),
            promises,
            unreturned: 0..0,
        })
    }

    /// The oracle of a program that continues after a power cut with this progress, and the recovery
    /// of this tree. None if the tree breaks a promise, or has bytes that no operation wrote.
    pub fn continued(&self, progress: Progress, tree: &Tree) -> Option<Oracle<'static>> {
        let cut = self.program.cut()?;
        let case = self.case(progress, tree);
        let (broken, resolved) = best(&case);
        if !broken.is_empty() {
            return None;
        }
        let found = recovered::inodes(&case, &resolved)?;
        let mut program = self.program.clone().into_owned();
        let began = (progress.began, cut);
        let history = History::continued(&mut program, began, |files| files.recovered(found));
        Some(Oracle {
            program: Cow::Owned(program),
            promises: self.promises,
            history,
            unreturned: progress.returned..cut + 1,
        })
    }

    /// Its operations after the power cut, with the number of the first.
    pub fn after_cut(&self) -> Option<(u32, &[Operation])> {
        let cut = self.program.cut()?;
        let place = (cut - self.program.first()) as usize;
        Some((cut + 1, self.program.operations.get(place + 1..)?))
    }

    fn case<'c>(&'c self, progress: Progress, tree: &'c Tree) -> Case<'c> {
        let pins = self.history.pins(&self.program, progress, &self.unreturned);
        Case {
            program: &self.program,
            promises: self.promises,
            history: &self.history,
            pins,
            began: progress.began,
            tree,
        }
    }

    /// The promises that a tree breaks, in the order of their paths.
    pub fn judge(&self, progress: Progress, tree: &Tree) -> Vec<Broken> {
        best(&self.case(progress, tree)).0
    }
}

/// The files of the entries, and the promises that they break, in the order of their paths. Equal
/// files that had one name cannot be distinguished: the assignment that breaks the fewest promises
/// counts, and first of all the fewest of those that every file system makes.
fn best<'c>(case: &Case<'c>) -> (Vec<Broken>, Resolved<'c>) {
    let rank = |broken: &[Broken]| {
        let extra = |one: &&Broken| one.violation == Violation::Extra;
        let extra = broken.iter().filter(extra).count();
        (broken.len() - extra, extra)
    };
    let mut choices = Choices::default();
    let mut resolved = resolve::resolve(case, &mut choices);
    let mut broken = judge_resolved(case, &resolved);
    for _ in 0..MAX_ASSIGNMENTS {
        if broken.is_empty() || !choices.advance() {
            break;
        }
        let other = resolve::resolve(case, &mut choices);
        let broken_by_other = judge_resolved(case, &other);
        if rank(&broken_by_other) < rank(&broken) {
            (broken, resolved) = (broken_by_other, other);
        }
    }
    broken.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
    broken.dedup();
    (broken, resolved)
}

fn judge_resolved(case: &Case<'_>, resolved: &Resolved<'_>) -> Vec<Broken> {
    let mut broken = names::judge(case, resolved);
    broken.extend(content::judge(case, resolved));
    broken.extend(extra::judge(case, resolved));
    broken
}

/// A path in a message.
fn shown(path: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    format!("`{path}`")
}

/// One tree that is judged.
struct Case<'a> {
    program: &'a Program,
    promises: Promises,
    history: &'a History,
    pins: Pins,
    began: u32,
    tree: &'a Tree,
}

impl Case<'_> {
    /// The inodes that a name may have.
    fn allowed(&self, place: &Name) -> BTreeSet<Option<InodeId>> {
        let from = self.pins.of(place.0).time;
        self.history.bindings(place, from, self.began)
    }

    /// Whether an inode, or the names of it, changed since this time.
    fn changed_since(&self, inode: InodeId, time: u32) -> bool {
        let range = time as usize..(self.began as usize).min(self.history.changes.len());
        let changes = self.history.changes.get(range).unwrap_or_default();
        changes
            .iter()
            .any(|change| change.inodes.contains(&inode) || change.renamed.contains(&inode))
    }

    /// Whether an inode was durable without a name: it must not return.
    fn is_gone(&self, inode: InodeId) -> Option<Pin> {
        let pin = self.pins.of(inode);
        pin.operation?;
        let mut names = self.history.names(inode, pin.time, self.began);
        names.all(BTreeSet::is_empty).then_some(pin)
    }

    /// A broken promise. `what` names what a person lost.
    fn broken(
        &self,
        violation: Violation,
        rule: &str,
        path: &str,
        inodes: &[InodeId],
        pin: Pin,
        what: &str,
    ) -> Broken {
        let cause = pin.operation.and_then(|number| {
            let operation = self.program.operation(number)?;
            Some(format!(": operation {number} ({operation}) had returned"))
        });
        let durable = violation != Violation::Atomic;
        let cause = match cause {
            Some(cause) => cause,
            None if pin.time == 0 || !durable => String::new(),
            None => ": it was durable before the first operation".to_owned(),
        };
        Broken {
            violation,
            operation: pin.operation,
            path: path.to_owned(),
            message: format!("{what}{cause}"),
            signature: self.signature(rule, inodes, pin),
        }
    }

    /// The promise and the kinds of the files, the operations on them, and what made them durable.
    fn signature(&self, rule: &str, inodes: &[InodeId], pin: Pin) -> String {
        let kind = |inode: &InodeId| {
            let version = self.history.window(*inode, 0, u32::MAX).next();
            match version.map(|version| &version.kind) {
                Some(Kind::File(_)) => "file",
                Some(Kind::Directory(_)) => "directory",
                Some(Kind::Symlink(_)) => "symlink",
                Some(Kind::Special(_)) => "special file",
                None => "nothing",
            }
        };
        let kinds: BTreeSet<&str> = inodes.iter().map(kind).collect();
        let mut words: Vec<&str> = Vec::new();
        for (number, operation) in self.program.numbered().take(self.began as usize) {
            let Some(changes) = self.history.changes.get(number as usize) else {
                break;
            };
            let touched = |inode: &InodeId| {
                changes.renamed.contains(inode)
                    || (changes.inodes.contains(inode) && (kind(inode) != "directory"))
            };
            let tested = number >= self.program.first();
            if tested && inodes.iter().any(touched) && words.last() != Some(&operation.word()) {
                words.push(operation.word());
            }
        }
        let pinned = pin
            .operation
            .and_then(|number| self.program.operation(number));
        let pinned = match pinned {
            None => "setup".to_owned(),
            Some(Operation::Fsync { target }) => {
                let directory = match target {
                    Target::Path(path) => {
                        let entry = self.tree.entries.get(path);
                        entry.is_some_and(|entry| entry.kind == crate::tree::EntryKind::Directory)
                    }
                    Target::Descriptor(_) => false,
                };
                if directory {
                    "fsync-directory"
                } else {
                    "fsync"
                }
                .to_owned()
            }
            Some(operation) => operation.word().to_owned(),
        };
        let kinds: Vec<&str> = kinds.into_iter().collect();
        format!(
            "{rule}: {}{AFTER}{pinned} ({})",
            kinds.join("+"),
            words.join(" ")
        )
    }
}

/// The broken promise in the signature of a [`Broken`], with the kinds of the files:
/// `unlinked file returned: file`.
pub fn promise(signature: &str) -> &str {
    signature
        .split_once(AFTER)
        .map_or(signature, |(promise, _)| promise)
}

#[cfg(test)]
mod tests;
