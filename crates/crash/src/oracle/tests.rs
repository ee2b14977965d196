//! Trees that keep and trees that break each promise.

use super::*;
use crate::simulation::Simulation;
use crate::tree::{Entry, EntryKind, Run, Source};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A change of a tree.
type Change<'a> = &'a dyn Fn(&mut Tree);

const SETUP: &str = "mkdir A\nmkdir B\ncreate A/foo\nwrite A/foo 0 8192\ncreate B/bar\n\
                     write B/bar 0 8192\n---\n";

fn program(operations: &str) -> Program {
    format!("{SETUP}{operations}").parse().unwrap()
}

/// The tree after this number of operations, as it is without a power cut.
fn tree_at(program: &Program, time: u32) -> Tree {
    let mut files = Simulation::default();
    for (number, operation) in program.numbered().take(time as usize) {
        files.perform(number, operation).unwrap();
    }
    let mut numbers = BTreeMap::new();
    let mut entries = BTreeMap::new();
    for (path, id) in files.paths() {
        let next = u32::try_from(numbers.len()).unwrap();
        let inode = &files.inodes[id];
        let kind = match &inode.kind {
            Kind::File(content) => EntryKind::File {
                size: content.size,
                runs: (0..content.size / 16)
                    .map(|unit| Run {
                        offset: unit * 16,
                        length: 16,
                        source: content.source(unit * 16).unwrap(),
                    })
                    .collect(),
            },
            Kind::Directory(_) => EntryKind::Directory,
            Kind::Symlink(text) => EntryKind::Symlink { text: text.clone() },
            Kind::Special(kind) => EntryKind::Special { kind: *kind },
        };
        let value = |(operation, length): &(u32, u64)| {
            vec![Run {
                offset: 0,
                length: *length,
                source: Source::Operation(*operation),
            }]
        };
        let xattrs = inode.xattrs.iter();
        let entry = Entry {
            kind,
            mode: Some(inode.mode),
            links: (!matches!(inode.kind, Kind::Directory(_)))
                .then(|| files.names[id].len() as u64),
            inode: *numbers.entry(id).or_insert(next),
            xattrs: xattrs.map(|(name, of)| (name.clone(), value(of))).collect(),
            unreadable: None,
        };
        entries.insert(path, entry);
    }
    Tree { entries, other: 0 }
}

/// Judges the tree after `kept` operations under test, which `change` has changed, after all have
/// returned.
fn judged(
    operations: &str,
    kept: u32,
    promises: Promises,
    change: impl FnOnce(&mut Tree),
) -> Vec<Broken> {
    let program = program(operations);
    let mut tree = tree_at(&program, program.first() + kept);
    change(&mut tree);
    judge(&program, Progress::complete(&program), &tree, promises).unwrap()
}

fn violations(operations: &str, kept: u32, change: impl FnOnce(&mut Tree)) -> Vec<Violation> {
    let broken = judged(operations, kept, Promises::JOURNALED, change);
    broken.into_iter().map(|broken| broken.violation).collect()
}

fn set_runs(tree: &mut Tree, path: &str, of: &[(u64, u64, Source)]) {
    let entry = tree.entries.get_mut(path).unwrap();
    let EntryKind::File { size, runs } = &mut entry.kind else {
        panic!("no file");
    };
    let run = |(from, to, source): &(u64, u64, Source)| Run {
        offset: *from,
        length: to - from,
        source: *source,
    };
    *runs = of.iter().map(run).collect();
    *size = of.last().map_or(0, |(_, to, _)| *to);
}

#[test]
fn a_lost_prefix_is_a_violation_only_after_what_makes_it_durable() {
    // The operations; how many of them an older tree has; what that tree breaks.
    let cases: [(&str, u32, &[Violation]); 30] = [
        ("create A/n", 0, &[]),
        ("create A/n\nfsync A/n", 0, &[]),
        ("create A/n\nfsync A", 0, &[Violation::Missing]),
        ("create A/n\nfsync B", 0, &[]),
        ("create A/n\nsync", 0, &[Violation::Missing]),
        ("mkdir C\nfsync /", 0, &[Violation::Missing]),
        ("symlink x A/s\nsyncfs", 0, &[Violation::Missing]),
        ("append A/foo 4096\nfsync A/foo", 0, &[Violation::Metadata]),
        (
            "append A/foo 4096\nfdatasync A/foo",
            0,
            &[Violation::Metadata],
        ),
        ("append A/foo 4096\nfsync B/bar", 0, &[]),
        (
            "write A/foo 0 4096\nfdatasync A/foo",
            0,
            &[Violation::Content],
        ),
        ("write-dsync A/foo 0 4096", 0, &[Violation::Content]),
        ("append-sync A/foo 32", 0, &[Violation::Metadata]),
        ("punch A/foo 0 4096\nfsync A/foo", 0, &[Violation::Content]),
        (
            "truncate A/foo 4096\nfsync A/foo",
            0,
            &[Violation::Metadata],
        ),
        ("chmod A/foo 600\nfsync A/foo", 0, &[Violation::Metadata]),
        ("chmod A/foo 600\nfdatasync A/foo", 0, &[]),
        (
            "setxattr A/foo user.x 32\nfsync A/foo",
            0,
            &[Violation::Metadata],
        ),
        ("unlink A/foo\nfsync A", 0, &[Violation::Returned]),
        ("unlink A/foo\nfsync B", 0, &[]),
        (
            "rename A/foo A/n\nfsync A",
            0,
            &[Violation::Returned, Violation::Missing],
        ),
        ("link A/foo B/n\nfsync B", 0, &[Violation::Missing]),
        ("fifo A/n\nfsync A", 0, &[Violation::Missing]),
        ("device A/n", 0, &[]),
        (
            "write-mapped A/foo 0 4096\nmsync A/foo 0 4096",
            0,
            &[Violation::Content],
        ),
        ("write A/foo 4096 4096\nmsync A/foo 0 4096", 0, &[]),
        (
            "append A/foo 4096\nmsync A/foo 8192 4096",
            0,
            &[Violation::Metadata],
        ),
        ("write A/foo 0 4096\nsync-range A/foo 0 4096", 0, &[]),
        (
            "copy A/foo B/bar 0 4096\nfsync B/bar",
            0,
            &[Violation::Content],
        ),
        ("clone A/foo B/bar 0 4096", 0, &[]),
    ];
    for (operations, kept, expected) in cases {
        assert_eq!(
            violations(operations, kept, |_| ()),
            expected,
            "{operations}"
        );
        let all = u32::try_from(operations.lines().count()).unwrap();
        assert_eq!(violations(operations, all, |_| ()), [], "{operations}");
    }
}

#[test]
fn an_fsynced_unlinked_file_and_the_old_name_of_a_symlink_stay_gone() {
    // One fault: data that were written after its removal are as gone as the removal.
    let written = "open A/foo as h\nunlink A/foo\nwrite @h 0 4096\nfsync @h";
    assert_eq!(violations(written, 0, |_| ()), [Violation::Returned]);
    let unlinked = "open A/foo as h\nunlink A/foo\nfsync @h";
    let broken = judged(unlinked, 0, Promises::JOURNALED, |_| ());
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(broken[0].violation, Violation::Returned);
    assert_eq!(broken[0].operation, Some(8));
    let message = "`A/foo` is back after it was deleted: operation 8 (fsync @h) had returned";
    assert_eq!(broken[0].message, message);
    // A new file of this name is another file.
    let again = format!("{unlinked}\ncreate A/foo");
    assert_eq!(violations(&again, 4, |_| ()), []);

    let renamed = "symlink x A/s\nfsync A\nrename A/s A/t\nfsync A";
    let broken = judged(renamed, 2, Promises::JOURNALED, |_| ());
    let found: Vec<_> = broken.iter().map(|broken| broken.violation).collect();
    assert_eq!(found, [Violation::Returned, Violation::Missing]);
    // Other names, the same bug.
    let other = "symlink y B/old\nfsync B\nrename B/old B/new\nfsync B";
    let again = judged(other, 2, Promises::JOURNALED, |_| ());
    let signatures = |broken: &[Broken]| -> BTreeSet<String> {
        let signatures = broken.iter().map(|broken| broken.signature.clone());
        signatures.collect()
    };
    assert_eq!(signatures(&again), signatures(&broken));
}

#[test]
fn a_rename_replaces_at_once_and_leaves_one_name_after_fsync_of_a_directory() {
    let replace = "rename A/foo B/bar";
    let gone = |tree: &mut Tree| drop(tree.entries.remove("B/bar"));
    assert_eq!(violations(replace, 0, gone), [Violation::Atomic]);
    let both = |tree: &mut Tree| {
        let foo = tree.entries["A/foo"].clone();
        tree.entries.insert("B/bar".into(), foo);
        tree.entries.get_mut("A/foo").unwrap().links = Some(2);
        tree.entries.get_mut("B/bar").unwrap().links = Some(2);
    };
    assert_eq!(violations(replace, 0, both), []);
    let unrelated = format!("{replace}\nfsync B/bar");
    assert_eq!(violations(&unrelated, 0, both), []);
    for directory in ["A", "B"] {
        let synced = format!("{replace}\nfsync {directory}");
        let found = violations(&synced, 0, both);
        assert!(found.contains(&Violation::Atomic), "{found:?}");
    }
    // What was synced before is not the rename.
    let before = format!("fsync A\nfsync B\n{replace}");
    assert_eq!(violations(&before, 0, both), []);
    // With a link before, both names existed at one time.
    let linked = "rename A/foo A/n\nlink A/n A/foo\nunlink A/n";
    assert_eq!(violations(linked, 2, |_| ()), []);
    let moved = "rename A/foo B/n";
    // The names are in two directories, each with its own fsync.
    let neither = |tree: &mut Tree| drop(tree.entries.remove("A/foo"));
    assert_eq!(violations(moved, 0, neither), []);
    let synced = format!("{moved}\nfsync B");
    assert_eq!(violations(&synced, 0, neither), [Violation::Missing]);
    let ordered = Promises {
        ordered_metadata: true,
        ..Promises::JOURNALED
    };
    let broken = judged(moved, 0, ordered, neither);
    let found: Vec<_> = broken.iter().map(|broken| broken.violation).collect();
    assert_eq!(found, [Violation::Extra]);
}

#[test]
fn bytes_come_from_the_file_since_they_were_durable() {
    let (old, new) = (Source::Operation(3), Source::Operation(6));
    let overwrite = "write A/foo 0 8192";
    let data = |of: &[(u64, u64, Source)], operations: &str| {
        let of = of.to_vec();
        violations(operations, 0, move |tree| set_runs(tree, "A/foo", &of))
    };
    let half = [(0, 4096, old), (4096, 8192, new)];
    assert_eq!(data(&half, overwrite), []);
    let synced = format!("{overwrite}\nfsync A/foo");
    assert_eq!(data(&half, &synced), [Violation::Content]);
    // A synchronous write promises its own bytes only.
    let ranges = "write A/foo 0 8192\nwrite-dsync A/foo 0 4096";
    assert_eq!(
        data(
            &[(0, 4096, Source::Operation(7)), (4096, 8192, old)],
            ranges
        ),
        []
    );
    assert_eq!(data(&half, ranges), [Violation::Content]);
    let zeros = [(0, 4096, Source::Zeros), (4096, 8192, old)];
    assert_eq!(data(&zeros, overwrite), [Violation::Content]);
    for foreign in [Source::Free, Source::Other, Source::Operation(5)] {
        let of = [(0, 4096, old), (4096, 8192, foreign)];
        assert_eq!(data(&of, overwrite), [Violation::Foreign]);
    }
    // A growing file may have part of its size, and zeros.
    let grown = [(0, 8192, old), (8192, 12288, Source::Zeros)];
    assert_eq!(data(&grown, "append A/foo 8192"), []);
    let stale = [(0, 8192, old), (8192, 12288, Source::Free)];
    assert_eq!(data(&stale, "append A/foo 8192"), [Violation::Foreign]);
    let allowed = Promises {
        stale_data: true,
        ..Promises::JOURNALED
    };
    let change = |tree: &mut Tree| set_runs(tree, "A/foo", &stale);
    assert_eq!(judged("append A/foo 8192", 0, allowed, change), []);
    let synced = "append A/foo 8192\nfsync A/foo";
    assert_eq!(judged(synced, 0, allowed, |_| ()).len(), 1);
    // An fsync before the append promises nothing of its bytes; of an overwritten range it does.
    let before = "fsync A/foo\nappend A/foo 8192";
    let change = |tree: &mut Tree| set_runs(tree, "A/foo", &stale);
    assert_eq!(judged(before, 0, allowed, change), []);
    let lost = [(0, 4096, old), (4096, 8192, Source::Free)];
    let change = |tree: &mut Tree| set_runs(tree, "A/foo", &lost);
    let broken = judged("write A/foo 4096 4096", 0, allowed, change);
    let message = "4 KiB of `A/foo` from byte 4096 on are free space of the disk: it was durable \
                   before the first operation";
    let messages: Vec<&str> = broken.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, [message]);
}

#[test]
fn links_readability_and_unknown_names_are_judged() {
    let links = |tree: &mut Tree| tree.entries.get_mut("A/foo").unwrap().links = Some(2);
    assert_eq!(violations("sync", 0, links), [Violation::Metadata]);
    let unreadable = |tree: &mut Tree| {
        tree.entries.get_mut("A/foo").unwrap().unreadable = Some("EIO".into());
    };
    assert_eq!(violations("sync", 0, unreadable), [Violation::Content]);
    // A file system that no program repairs may have wrong counts in changed groups.
    let unrepaired = |operations| judged(operations, 0, Promises::UNREPAIRED, links);
    assert_eq!(unrepaired("chmod A/foo 600"), []);
    assert_eq!(unrepaired("chmod B/bar 600").len(), 1);
    let unknown = |path: &'static str| {
        move |tree: &mut Tree| {
            let mut entry = tree.entries["A"].clone();
            entry.inode = 99;
            tree.entries.insert(path.into(), entry);
        }
    };
    assert_eq!(violations("sync", 0, unknown("A/x")), [Violation::Metadata]);
    assert_eq!(violations("sync", 0, unknown("lost+found")), []);
}

#[test]
fn extra_promises_are_judged_where_they_are_declared() {
    let ordered = Promises {
        ordered_metadata: true,
        ..Promises::JOURNALED
    };
    let linked = Promises {
        all_link_names: true,
        ..Promises::JOURNALED
    };
    let replace = Promises {
        replace_by_rename: true,
        ..Promises::JOURNALED
    };
    let dependent = Promises {
        dependent_metadata: true,
        ..Promises::JOURNALED
    };
    let first_lost = |tree: &mut Tree| drop(tree.entries.remove("A/n"));
    let empty = |tree: &mut Tree| set_runs(tree, "B/bar", &[]);
    let cases: [(Promises, &str, u32, Change<'_>); 6] = [
        (
            dependent,
            "unlink B/bar\nlink A/foo B/bar\nfsync A/foo",
            0,
            &|_| (),
        ),
        (dependent, "link A/foo B/n\nfsync A/foo", 0, &|_| ()),
        (ordered, "create A/n\ncreate B/m", 2, &first_lost),
        (ordered, "create A/n\nfsync A/n", 0, &|_| ()),
        (linked, "link A/foo B/n\nfsync A/foo", 0, &|_| ()),
        (
            replace,
            "create A/t\nwrite A/t 0 4096\nrename A/t B/bar",
            3,
            &empty,
        ),
    ];
    for (promises, operations, kept, change) in cases {
        let broken = judged(operations, kept, promises, change);
        let found: Vec<_> = broken.iter().map(|broken| broken.violation).collect();
        assert_eq!(found, [Violation::Extra], "{operations}");
        assert_eq!(violations(operations, kept, change), [], "{operations}");
    }
}

#[test]
fn of_equal_directories_those_count_with_which_the_fewest_violations_remain() {
    let text = "mkdir A\nmkdir B\n---\nexchange A B\ntemporary A as t\nlink @t A/new\nfsync A/new";
    let program: Program = text.parse().unwrap();
    let mut tree = tree_at(&program, program.first() + 4);
    // The exchange is lost: the directory with the new file has its old name.
    let file = tree.entries.remove("A/new").unwrap();
    tree.entries.insert("B/new".into(), file);
    let promises = Promises {
        dependent_metadata: true,
        ..Promises::JOURNALED
    };
    let broken = judge(&program, Progress::complete(&program), &tree, promises).unwrap();
    let violation = |one: &Broken| one.violation == Violation::Extra;
    assert!(
        !broken.is_empty() && broken.iter().all(violation),
        "{broken:?}"
    );
}

#[test]
fn progress_counts_the_marks() {
    let program = program("sync\nsync");
    let events = [
        TraceEvent::Began { operation: 6 },
        TraceEvent::Returned { operation: 6 },
        TraceEvent::Began { operation: 7 },
    ];
    let progress = Progress::at(&program, &events);
    assert_eq!((progress.began, progress.returned), (8, 7));
    assert_eq!(Progress::at(&program, &[]).returned, 6);
}

/// The operation of these numbers, which may not be possible.
fn operation(what: u8, one: u8, other: u8) -> String {
    let files = ["A/foo", "B/bar", "A/x", "B/x", "A/y", "B/foo"];
    let places = ["A", "B", "", "A/d"];
    let file = |number: u8| files[usize::from(number) % files.len()];
    let (f, g) = (file(one), file(other));
    let d = places[usize::from(one) % places.len()];
    let d = if d.is_empty() { "/" } else { d };
    match what % 20 {
        0 => format!("create {f}"),
        1 => format!("link {f} {g}"),
        2 | 3 => format!("rename {f} {g}"),
        4 => format!("unlink {f}"),
        5 => format!("symlink {g} {f}"),
        6 => format!("exchange {f} {g}"),
        7 => format!("write {f} {} 4096", u64::from(other % 4) * 2048),
        8 => format!("append {f} 4096"),
        9 => format!("truncate {f} {}", u64::from(other % 4) * 4096),
        10 => format!("punch {f} 0 4096"),
        11 => format!("write-dsync {f} {} 2048", u64::from(other % 4) * 2048),
        12 => format!("setxattr {f} user.x 32"),
        13 => format!("chmod {f} {:o}", 0o600 + u32::from(other % 4)),
        14 => format!("fsync {f}"),
        15 => format!("fdatasync {f}"),
        16 => format!("fsync {d}"),
        17 => "mkdir A/d".to_owned(),
        18 => format!("rename A/d B/{}", other % 2),
        _ => "sync".to_owned(),
    }
}

fn possible(numbers: &[(u8, u8, u8)]) -> Program {
    let mut program = program("");
    for (what, one, other) in numbers {
        let operation = operation(*what, *one, *other).parse().unwrap();
        program.operations.push(operation);
        if program.check().is_err() {
            program.operations.pop();
        }
    }
    program
}

proptest! {
    #[test]
    fn what_a_file_system_in_order_leaves_is_no_violation(
        numbers in prop::collection::vec(any::<(u8, u8, u8)>(), 1..14),
        returned in any::<prop::sample::Index>(),
        in_flight in any::<bool>(),
        kept in any::<prop::sample::Index>(),
    ) {
        let program = possible(&numbers);
        let all = program.operations.len();
        let returned = program.first() + u32::try_from(returned.index(all + 1)).unwrap();
        let last = program.first() + u32::try_from(all).unwrap();
        let began = last.min(returned + u32::from(in_flight));
        // Each acknowledged sync of any kind makes all before it durable.
        let durable = program
            .numbered()
            .take(returned as usize)
            .filter(|(number, operation)| {
                *number >= program.first() && operation.is_persistence()
            })
            .last()
            .map_or(program.first(), |(number, _)| number + 1);
        let time = durable + u32::try_from(kept.index((began - durable + 1) as usize)).unwrap();
        let tree = tree_at(&program, time);
        let promises = Promises {
            ordered_metadata: true,
            dependent_metadata: true,
            all_link_names: true,
            ..Promises::JOURNALED
        };
        let broken = judge(&program, Progress { began, returned }, &tree, promises).unwrap();
        prop_assert!(broken.is_empty(), "{}{:?}", program, broken);
        // Data is written later than names and in any order: each file has any of its versions.
        let mut later = tree;
        let end = tree_at(&program, began);
        for (path, entry) in &mut later.entries {
            if let Some(new) = end.entries.get(path)
                && new.inode == entry.inode
                && let (EntryKind::File { size, runs }, EntryKind::File { size: new_size, runs: new })
                    = (&mut entry.kind, &new.kind)
                && size == new_size
            {
                for (old, new) in runs.iter_mut().zip(new).step_by(2) {
                    old.source = new.source;
                }
            }
        }
        // Numbers of inodes depend on the paths; only trees with equal paths are compared.
        if later.entries.keys().eq(end.entries.keys()) {
            let same_program = program.numbered().skip(time as usize);
            let renames = same_program.take((began - time) as usize).any(|(_, operation)| {
                matches!(operation.word(), "rename" | "exchange" | "unlink" | "create")
            });
            if !renames {
                let progress = Progress { began, returned };
                let broken = judge(&program, progress, &later, Promises::JOURNALED).unwrap();
                prop_assert!(broken.is_empty(), "{}{:?}", program, broken);
            }
        }
    }
}

/// Judges `A/foo` with these bytes after the operations.
fn judged_bytes(operations: &str, bytes: &[u8]) -> Vec<Violation> {
    violations(operations, 0, |tree| {
        let entry = tree.entries.get_mut("A/foo").unwrap();
        entry.kind = EntryKind::File {
            size: bytes.len() as u64,
            runs: crate::content::runs(0, bytes, true),
        };
    })
}

/// The content of `A/foo` with the data of these operations over it: number, offset, length.
fn bytes_with(writes: &[(u32, usize, usize)]) -> Vec<u8> {
    let mut bytes = vec![0; 8192];
    for (operation, offset, length) in [(3, 0, 8192)].iter().chain(writes) {
        let end = offset + length;
        crate::content::fill(*operation, *offset as u64, &mut bytes[*offset..end]);
    }
    bytes
}

#[test]
fn every_byte_is_judged_whatever_the_alignment() {
    let write = "write A/foo 101 50";
    let synced = format!("{write}\nfsync A/foo");
    let (old, new) = (bytes_with(&[]), bytes_with(&[(6, 101, 50)]));
    assert_eq!(judged_bytes(write, &old), []);
    assert_eq!(judged_bytes(write, &new), []);
    assert_eq!(judged_bytes(&synced, &new), []);
    assert_eq!(judged_bytes(&synced, &old), [Violation::Content]);
    // One byte of it is lost, and one next to it is damaged.
    let lost: Vec<u8> = [&new[..150], &old[150..]].concat();
    assert_eq!(judged_bytes(&synced, &lost), [Violation::Content]);
    let mut damaged = new.clone();
    damaged[151] ^= 0xff;
    assert!(!judged_bytes(&synced, &damaged).is_empty());
    let mut punched = bytes_with(&[]);
    punched[7..4099].fill(0);
    assert_eq!(
        judged_bytes("punch A/foo 7 4092\nfsync A/foo", &punched),
        []
    );
    assert_eq!(
        judged_bytes("punch A/foo 7 4092\nfsync A/foo", &old),
        [Violation::Content]
    );
    let cut = &old[..4093];
    assert_eq!(judged_bytes("truncate A/foo 4093\nfsync A/foo", cut), []);
    // All rest of a unit that shows nothing but zeros is what was written.
    let mut rest = bytes_with(&[]);
    rest[..5].fill(0);
    assert_eq!(judged_bytes("punch A/foo 0 5\nfsync A/foo", &rest), []);
}

#[test]
fn a_moved_range_is_old_new_or_in_parts_until_it_is_durable() {
    let collapse = "collapse A/foo 0 4096";
    let synced = format!("{collapse}\nfsync A/foo");
    let old = bytes_with(&[]);
    let new = &old[4096..];
    let mut hole = old.clone();
    hole[..4096].fill(0);
    for bytes in [&old[..], new, &hole] {
        assert_eq!(judged_bytes(collapse, bytes), []);
    }
    assert_eq!(judged_bytes(&synced, new), []);
    // The size and the data are old.
    assert_eq!(judged_bytes(&synced, &old).len(), 2);
    assert_eq!(judged_bytes(&synced, &old[..4096]), [Violation::Content]);
    // A write before it that is not durable may be lost, though the range has moved.
    let after = format!("write A/foo 5000 10\n{collapse}");
    assert_eq!(judged_bytes(&after, new), []);
    assert_eq!(
        judged_bytes(&format!("{after}\nfsync A/foo"), new),
        [Violation::Content]
    );
    let insert = "insert A/foo 4096 4096\nfsync A/foo";
    let inserted = [&old[..4096], &[0; 4096], &old[4096..]].concat();
    assert_eq!(judged_bytes(insert, &inserted), []);
    let unmoved = [&old[..], &[0; 4096]].concat();
    assert_eq!(judged_bytes(insert, &unmoved), [Violation::Content]);
}

#[test]
fn what_was_durable_before_a_power_cut_is_there_after_the_next() {
    let program = program(
        "write A/foo 0 100\nfsync A/foo\ncreate A/lost\ncut\nunlink A/lost\ncreate A/new\nfsync A\n\
         write A/new 0 10",
    );
    program.check().unwrap();
    let oracle = Oracle::new(&program, Promises::JOURNALED).unwrap();
    let (first, cut) = (program.first(), program.cut().unwrap());
    assert_eq!(cut, first + 3);
    // The power is cut after the fsync; the file that was created later is lost.
    let progress = Progress {
        began: first + 3,
        returned: first + 2,
    };
    let exact = |number: u32| {
        let mut tree = tree_at(&program, number);
        if let EntryKind::File { runs, .. } = &mut tree.entries.get_mut("A/foo").unwrap().kind {
            *runs = crate::content::runs(0, &bytes_with(&[(6, 0, 100)]), true);
        }
        tree
    };
    let recovered = exact(first + 2);
    let rest = oracle.continued(progress, &recovered).unwrap();
    let (number, operations) = rest.after_cut().unwrap();
    assert_eq!(number, cut + 1);
    let operations: Vec<String> = operations.iter().map(ToString::to_string).collect();
    // There is nothing to unlink.
    assert_eq!(
        operations,
        ["stat /", "create A/new", "fsync A", "write A/new 0 10"]
    );
    let judge = |began: u32, tree: &Tree| -> Vec<Violation> {
        let progress = Progress {
            began,
            returned: began,
        };
        let broken = rest.judge(progress, tree);
        broken.into_iter().map(|broken| broken.violation).collect()
    };
    let end = cut + 4;
    assert_eq!(judge(cut + 1, &recovered), []);
    assert_eq!(judge(end, &recovered), [Violation::Missing]);
    let mut complete = recovered.clone();
    let new = Entry {
        kind: EntryKind::File {
            size: 0,
            runs: Vec::new(),
        },
        inode: 99,
        ..complete.entries["A/foo"].clone()
    };
    complete.entries.insert("A/new".to_owned(), new.clone());
    assert_eq!(judge(end, &complete), []);
    // The fsync of the directory made the loss of the other name durable.
    let mut back = complete.clone();
    back.entries
        .insert("A/lost".to_owned(), Entry { inode: 100, ..new });
    assert_eq!(judge(end, &back), [Violation::Returned]);
    // Data that were durable before the first power cut.
    let mut older = complete;
    older.entries.insert(
        "A/foo".to_owned(),
        tree_at(&program, first).entries["A/foo"].clone(),
    );
    assert_eq!(judge(end, &older), [Violation::Content]);
    // Files that break a promise are not continued on.
    let broken = tree_at(&program, first);
    assert!(oracle.continued(progress, &broken).is_none());
    let two = "cut\ncreate f\ncut".parse::<Program>().unwrap();
    let error = two.check().unwrap_err().to_string();
    assert!(error.contains("one `cut`"), "{error}");
}
