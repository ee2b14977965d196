//! The signature that findings of one cause share: the pattern of a program, and messages without
//! what differs in each state.

use crate::operation::{Operation, Program, Target, WriteKind};
use crate::simulation::{InodeId, Kind, Simulation};
use std::collections::{BTreeMap, BTreeSet};

/// The signature of a violation that the [oracle](crate::oracle) has found, in its least program:
/// the rule, and the pattern of the operations.
pub fn of_least(signature: &str, program: &Program) -> String {
    let rule = signature
        .split_once(':')
        .map_or(signature, |(rule, _)| rule);
    format!("{rule}: {}", pattern(program))
}

/// The operations under test of a program, without names, offsets and lengths, as in
/// `rename file1 from dir1 to dir2; fsync dir2`. Files are numbered in the order in which they
/// appear. All ways to write data are `write`, all that sync a file are `fsync`, all that make or
/// remove files and directories are `make` and `remove`.
fn pattern(program: &Program) -> String {
    let mut files = Simulation::default();
    let mut pattern = Pattern::default();
    for (number, operation) in program.numbered() {
        let before = files.clone();
        if files.perform(number, operation).is_err() {
            break;
        }
        if number >= program.first() {
            pattern.add(operation, &before, &files);
        }
    }
    pattern.text()
}

/// The pattern of the operations so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    numbers: Numbers,
    parts: Vec<String>,
}

impl Pattern {
    /// Adds an operation: the files before and after it.
    pub(crate) fn add(&mut self, operation: &Operation, before: &Simulation, after: &Simulation) {
        for part in described(operation, before, after, &mut self.numbers) {
            if self.parts.last() != Some(&part) {
                self.parts.push(part);
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        self.parts.join("; ")
    }
}

/// The first line of a message, without numbers and the names of files: each is one word `N` or
/// `NAME`.
pub fn normalised(text: &str, names: &BTreeSet<String>) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let words = first.unwrap_or_default().split_whitespace();
    let plain = words.map(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if names.contains(bare) {
            "NAME"
        } else if word.contains(|c: char| c.is_ascii_digit()) {
            "N"
        } else {
            word
        }
    });
    plain.collect::<Vec<_>>().join(" ")
}

/// The paths of a program, and the names in them.
pub fn names(program: &Program) -> BTreeSet<String> {
    let operations = program.setup.iter().chain(&program.operations);
    let paths = operations.flat_map(Operation::paths);
    let names = paths.flat_map(|path| path.split('/').chain([path]));
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// The numbers of files, by kind.
#[derive(Debug, Clone, Default)]
struct Numbers(BTreeMap<&'static str, Vec<InodeId>>);

impl Numbers {
    /// `file1`, `dir2`. A symbolic link is a file.
    fn name(&mut self, inode: InodeId, files: &Simulation) -> String {
        let kind = match files.inodes.get(inode).map(|inode| &inode.kind) {
            Some(Kind::Directory(_)) => "dir",
            _ => "file",
        };
        let known = self.0.entry(kind).or_default();
        let place = known.iter().position(|known| *known == inode);
        let place = place.unwrap_or_else(|| {
            known.push(inode);
            known.len() - 1
        });
        format!("{kind}{}", place + 1)
    }

    /// The file of a path, as far as there is one.
    fn path(&mut self, path: &str, files: &Simulation) -> String {
        match files.find(path) {
            Some(inode) => self.name(inode, files),
            None => "nothing".to_owned(),
        }
    }

    /// The directory of a path.
    fn parent(&mut self, path: &str, files: &Simulation) -> String {
        self.path(
            path.rsplit_once('/').map_or("", |(parent, _)| parent),
            files,
        )
    }

    fn target(&mut self, target: &Target, files: &Simulation) -> String {
        match files.target(target) {
            Ok(inode) => self.name(inode, files),
            Err(_) => "nothing".to_owned(),
        }
    }
}

/// The parts of a pattern that one operation adds; none for those that only open or close a file.
fn described(
    operation: &Operation,
    before: &Simulation,
    after: &Simulation,
    numbers: &mut Numbers,
) -> Vec<String> {
    let word = operation.word();
    let text = match operation {
        Operation::Open { .. }
        | Operation::Close { .. }
        | Operation::DropCaches
        | Operation::Cut => return Vec::new(),
        Operation::Sync | Operation::Syncfs => "sync".to_owned(),
        Operation::Mkdir { path }
        | Operation::Create { path }
        | Operation::MakeNode { path, .. }
        | Operation::Symlink { path, .. } => {
            let (file, parent) = (numbers.path(path, after), numbers.parent(path, after));
            format!("make {file} in {parent}")
        }
        Operation::Temporary { descriptor, .. } => {
            let target = Target::Descriptor(descriptor.clone());
            format!("{word} {}", numbers.target(&target, after))
        }
        Operation::Write { target, kind, .. } => {
            let file = numbers.target(target, before);
            let write = format!("write {file}");
            return match kind {
                WriteKind::Plain | WriteKind::Mapped | WriteKind::Direct => vec![write],
                WriteKind::DataSync | WriteKind::Sync => vec![write, format!("fsync {file}")],
            };
        }
        Operation::Fsync { target }
        | Operation::Fdatasync { target }
        | Operation::Msync { target, .. } => {
            format!("fsync {}", numbers.target(target, before))
        }
        Operation::Allocate { target, .. }
        | Operation::Punch { target, .. }
        | Operation::Zero { target, .. }
        | Operation::Collapse { target, .. }
        | Operation::Insert { target, .. }
        | Operation::SyncRange { target, .. }
        | Operation::Truncate { target, .. }
        | Operation::SetXattr { target, .. }
        | Operation::RemoveXattr { target, .. }
        | Operation::Chmod { target, .. }
        | Operation::Read { target, .. }
        | Operation::Stat { target } => {
            format!("{word} {}", numbers.target(target, before))
        }
        Operation::Copy { from, to, .. } => {
            let file = numbers.target(from, before);
            format!("{word} {file} to {}", numbers.target(to, before))
        }
        Operation::Link { from, to } => {
            let file = numbers.target(from, before);
            let parent = from.path().map(|path| numbers.parent(path, before));
            let parent = parent.map_or_else(String::new, |parent| format!(" from {parent}"));
            format!("{word} {file}{parent} to {}", numbers.parent(to, after))
        }
        Operation::Unlink { path } | Operation::Rmdir { path } => {
            let (file, parent) = (numbers.path(path, before), numbers.parent(path, before));
            format!("remove {file} from {parent}")
        }
        Operation::List { path } => format!("{word} {}", numbers.path(path, before)),
        Operation::Rename { from, to } => {
            let (file, parent) = (numbers.path(from, before), numbers.parent(from, before));
            let into = numbers.parent(to, before);
            let over = before.find(to).map_or_else(String::new, |inode| {
                format!(" over {}", numbers.name(inode, before))
            });
            format!("{word} {file} from {parent} to {into}{over}")
        }
        Operation::Exchange { one, other } => {
            let (first, of_first) = (numbers.path(one, before), numbers.parent(one, before));
            let (second, of_second) = (numbers.path(other, before), numbers.parent(other, before));
            format!("{word} {first} in {of_first} and {second} in {of_second}")
        }
    };
    vec![text]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operations: &str) -> String {
        let setup = "mkdir A\nmkdir B\ncreate A/foo\ncreate B/bar\nsymlink x A/s\n---\n";
        let program: Program = format!("{setup}{operations}").parse().unwrap();
        program.check().unwrap();
        pattern(&program)
    }

    #[test]
    fn a_pattern_names_the_kinds_of_operations_and_which_files_they_share() {
        let cases = [
            (
                "rename A/foo B/x\nfsync B",
                "rename file1 from dir1 to dir2; fsync dir2",
            ),
            (
                "rename A/foo B/bar\nfsync B/bar",
                "rename file1 from dir1 to dir2 over file2; fsync file1",
            ),
            (
                "open A/foo as h\nunlink A/foo\nfsync @h",
                "remove file1 from dir1; fsync file1",
            ),
            (
                "append A/foo 16\nwrite-dsync A/foo 0 4096\nfdatasync A/foo",
                "write file1; fsync file1",
            ),
            (
                "rename A/s A/t\nmkdir C\nsyncfs",
                "rename file1 from dir1 to dir1; make dir2 in dir3; sync",
            ),
        ];
        for (operations, expected) in cases {
            assert_eq!(of(operations), expected);
        }
    }

    #[test]
    fn programs_that_differ_in_names_and_numbers_have_one_pattern() {
        let equal = [
            (
                "write A/foo 0 4096\nfsync A/foo",
                "append B/bar 16\nfdatasync B/bar",
            ),
            ("link A/foo B/x\nsync", "link B/bar A/y\nsyncfs"),
            ("create A/x\nfsync A", "symlink foo B/x\nfsync B"),
        ];
        for (one, other) in equal {
            assert_eq!(of(one), of(other));
        }
        assert_ne!(of("link A/foo B/x"), of("link A/foo A/x"));
        assert_ne!(
            of("write A/foo 0 16\nfsync B/bar"),
            of("write A/foo 0 16\nfsync A/foo")
        );
    }

    #[test]
    fn messages_of_equal_causes_are_equal_without_numbers_and_names() {
        let program: Program = "create A/foo\ncreate A/bar".parse().unwrap();
        let names = names(&program);
        for (one, other) in [
            (
                "\nInode 12, i_blocks is 8, should be 0.  Fix? no\nmore",
                "Inode 13, i_blocks is 16, should be 8.  Fix? no",
            ),
            (
                "Entry 'foo' in /A (12) has deleted/unused inode 13.",
                "Entry 'bar' in /A (11) has deleted/unused inode 14.",
            ),
            (
                "A/foo: {\"size\":3} before, missing after",
                "A/bar: {\"size\":4} before, missing after",
            ),
        ] {
            assert_eq!(normalised(one, &names), normalised(other, &names));
        }
        assert_eq!(
            normalised("group 3: bad count", &names),
            "group N bad count"
        );
    }
}
