//! Replays of recordings that are written here: in parallel, hostile, and of other trees.

use super::order::Wait;
use super::perform::PIECE;
use super::workers::Done;
use super::{Pace, Replay, plan};
use crate::recording_script::{Script, read};
use fsdyno_datasets::recorded::{self, RecordedTree, Recording};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_datasets::{Dataset, Form};
use fsdyno_model::CancelToken;
use fsdyno_trace::{
    Action, EntryKind, LinkTarget, Object, Operation, PathId, Thread, ThreadId, Via,
};
use proptest::prelude::*;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A replayed recording: its tree, and the measurement.
struct Replayed {
    place: tempfile::TempDir,
    tree: PathBuf,
    recording: Recording,
    done: Done,
    workers: usize,
}

fn replay_at(bytes: &[u8], start: Pace) -> Replayed {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("trace");
    fs::write(&file, bytes).unwrap();
    let home = place.path().join("home");
    fs::create_dir(&home).unwrap();
    let stop = CancelToken::new();
    let mut work_dir = WorkDir::new(&home);
    let dataset = RecordedTree::open(&file, 1, None, &stop).unwrap();
    dataset.create(&mut work_dir, Form::Tree, &stop).unwrap();
    let tree = work_dir.newest().unwrap().clone();
    let recording = read(bytes);
    let plan = plan(&recording, &file).unwrap();
    let mut replay = Replay::new(recording, plan, start);
    let done = replay.run(&tree, &stop).unwrap();
    Replayed {
        place,
        tree,
        done,
        workers: replay.workers(),
        recording: read(bytes),
    }
}

fn replay(bytes: &[u8]) -> Replayed {
    replay_at(bytes, Pace::Afap)
}

/// Asserts that all results are the recorded ones, and that the tree is the expected one.
fn assert_same(replayed: &Replayed) {
    let divergence = &replayed.done.divergence;
    assert_eq!(divergence.count(), 0, "{}", divergence.text());
    let stop = CancelToken::new();
    let found = recorded::compare(&replayed.recording, &replayed.tree, &stop).unwrap();
    assert!(found.equal(), "{:?}", found.differences);
}

const READ: i32 = libc::O_RDONLY;
const WRITE: i32 = libc::O_WRONLY;
const NEW: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;

#[test]
fn a_replay_does_what_was_recorded_and_leaves_the_same_tree() {
    let mut script = Script::new(2);
    script.entry("dir", EntryKind::Directory);
    script.file("dir/old", 10_000);
    let target = LinkTarget::Inside(script.path("dir/old"));
    script.entry("link", EntryKind::Symlink { target });
    script.entry("fifo", EntryKind::Fifo);
    script.begin();
    // One worker writes a file and renames it, the other reads it by its new name.
    let new = script.open(0, "dir/new", NEW);
    script.write(0, new, None, 3 * PIECE as u64 + 7);
    script.write(0, new, Some(1 << 30), 1);
    script.add(0, Action::Fsync { handle: new }, 0);
    script.add(0, Action::Close { handle: new }, 0);
    let (from, to) = (script.path("dir/new"), script.path("dir/renamed"));
    script.add(0, Action::Rename { from, to, flags: 0 }, 0);
    let again = script.open(1, "dir/renamed", READ);
    script.read(1, again, 4096, 4096);
    script.add(
        1,
        Action::Stat {
            object: Object::NoFollow(from),
        },
        -2,
    );
    script.add(1, Action::Close { handle: again }, 0);
    // Through the link, and past the end.
    let linked = script.open(1, "link", READ);
    script.read(1, linked, 1 << 20, 10_000);
    script.read(1, linked, 1 << 20, 0);
    let other = script.path("hard");
    let old = script.path("dir/old");
    let link = Action::Link {
        from: old,
        to: other,
        follow: false,
    };
    script.add(0, link, 0);
    script.add(
        0,
        Action::Truncate {
            path: other,
            length: 77,
        },
        0,
    );
    let list = script.open(0, "dir", libc::O_DIRECTORY);
    script.add(
        0,
        Action::ReadDirectory {
            handle: list,
            length: 32_768,
        },
        120,
    );
    script.add(
        0,
        Action::ReadDirectory {
            handle: list,
            length: 32_768,
        },
        0,
    );
    let below = script.path("made");
    script.add(
        0,
        Action::MakeDirectory {
            path: below,
            mode: 0o755,
        },
        0,
    );
    let temporary = script.path("made/x");
    script.add(
        0,
        Action::MakeDirectory {
            path: temporary,
            mode: 0o755,
        },
        0,
    );
    script.add(1, Action::RemoveDirectory { path: temporary }, 0);
    script.add(1, Action::RemoveDirectory { path: below }, 0);
    let replayed = replay(&script.finish());
    assert_same(&replayed);
    assert_eq!(replayed.workers, 2);
    let size = fs::metadata(replayed.tree.join("dir/renamed"))
        .unwrap()
        .size();
    assert_eq!(size, (1 << 30) + 1);
    let kinds: Vec<&str> = replayed
        .done
        .timeline
        .latencies
        .iter()
        .map(|one| one.operation.as_str())
        .collect();
    assert!(
        kinds.contains(&"fsync") && kinds.contains(&"rename"),
        "{kinds:?}"
    );
    assert_eq!(replayed.done.tally.calls, 22);
}

#[test]
fn results_other_than_the_recorded_ones_are_counted_by_kind() {
    let mut script = Script::new(1);
    script.file("there", 100);
    script.begin();
    let there = script.path("there");
    script.add(0, Action::Unlink { path: there }, -2);
    let missing = script.open(0, "missing", READ);
    script.read(0, missing, 10, 10);
    let replayed = replay(&script.finish());
    let divergence = &replayed.done.divergence;
    assert_eq!((divergence.count(), divergence.compared()), (3, 3));
    assert!(divergence.is_large());
    let lines = divergence.lines();
    for kind in ["unlink", "open", "read"] {
        assert!(lines.contains(&format!("different {kind}: 1")), "{lines}");
    }
    let text = divergence.text();
    assert!(
        text.contains("1 open (operation 2: recorded 3, got ENOENT"),
        "{text}"
    );
}

#[test]
fn an_attribute_that_cannot_exist_is_absent() {
    let mut script = Script::new(1);
    script.file("there", 100);
    script.begin();
    let there = script.path("there");
    let attribute = |name: &str| Action::GetXattr {
        object: Object::Path(there),
        name: name.to_owned(),
        length: 0,
    };
    for error in [libc::EOPNOTSUPP, libc::ENODATA] {
        script.add(0, attribute("user.absent"), -i64::from(error));
    }
    let replayed = replay(&script.finish());
    assert_eq!(replayed.done.divergence.count(), 0);
}

/// A recording that tries to leave its tree, through links that a rename makes lead out of it.
fn hostile() -> Vec<u8> {
    let mut script = Script::new(1);
    for dir in ["d", "d/e", "d/e/f"] {
        script.entry(dir, EntryKind::Directory);
    }
    // It stays in the tree, until its directory is moved up.
    let out = LinkTarget::Relative(b"../../../victim".to_vec());
    script.entry(
        "d/e/f/link",
        EntryKind::Symlink {
            target: out.clone(),
        },
    );
    script.entry(
        "d/e/f/dir",
        EntryKind::Symlink {
            target: LinkTarget::Relative(b"../../..".to_vec()),
        },
    );
    script.entry(
        "far",
        EntryKind::Symlink {
            target: LinkTarget::Outside { length: 300 },
        },
    );
    script.entry("device", EntryKind::Device);
    script.begin();
    let (from, to) = (script.path("d/e/f"), script.path("f"));
    script.add(0, Action::Rename { from, to, flags: 0 }, 0);
    let link = script.path("f/link");
    let object = Object::Path(link);
    let handle = script.open(0, "f/link", WRITE | libc::O_TRUNC);
    script.write(0, handle, None, 4096);
    script.add(
        0,
        Action::Truncate {
            path: link,
            length: 1,
        },
        0,
    );
    script.add(
        0,
        Action::ChangeMode {
            object,
            mode: 0o4777,
        },
        0,
    );
    script.add(0, Action::ChangeOwner { object }, 0);
    script.add(0, Action::SetTimes { object }, 0);
    let name = "user.x".to_owned();
    script.add(
        0,
        Action::SetXattr {
            object,
            name,
            length: 5,
            flags: 0,
        },
        0,
    );
    for (path, action) in [
        ("f/dir/victim", 0),
        ("f/dir/victim2", 1),
        ("f/dir/trace", 2),
        ("f/dir/home", 3),
    ] {
        let path = script.path(path);
        let action = match action {
            0 => Action::Unlink { path },
            1 => Action::MakeDirectory { path, mode: 0o777 },
            2 => Action::Rename {
                from: path,
                to: link,
                flags: 0,
            },
            _ => Action::Symlink {
                path,
                target: LinkTarget::Relative(b"a".to_vec()),
            },
        };
        script.add(0, action, 0);
    }
    let device = script.path("null");
    let mode = libc::S_IFCHR | 0o666;
    script.add(0, Action::MakeNode { path: device, mode }, 0);
    script.open(0, "device", libc::O_RDWR);
    let program = script.open(0, "program", NEW);
    let mode = 0o6755;
    script.add(
        0,
        Action::ChangeMode {
            object: Object::Handle(program),
            mode,
        },
        0,
    );
    script.add(0, Action::Sync {}, 0);
    script.finish()
}

#[test]
fn a_hostile_recording_touches_nothing_outside_its_tree() {
    let bytes = hostile();
    let place = tempfile::tempdir().unwrap();
    let tree = {
        // The victim is next to the tree, and above it.
        let victims = [
            place.path().join("victim"),
            place.path().join("home/victim"),
        ];
        fs::create_dir(place.path().join("home")).unwrap();
        for victim in &victims {
            fs::write(victim, "untouched").unwrap();
        }
        let file = place.path().join("home/trace");
        fs::write(&file, &bytes).unwrap();
        let stop = CancelToken::new();
        let mut work_dir = WorkDir::new(place.path().join("home"));
        let dataset = RecordedTree::open(&file, 1, None, &stop).unwrap();
        let warnings = dataset.create(&mut work_dir, Form::Tree, &stop).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let tree = work_dir.newest().unwrap().clone();
        let before: Vec<_> = victims
            .iter()
            .map(|v| fs::metadata(v).unwrap().ctime_nsec())
            .collect();
        let recording = read(&bytes);
        let plan = plan(&recording, &file).unwrap();
        let mut replay = Replay::new(recording, plan, Pace::Afap);
        let done = replay.run(&tree, &stop).unwrap();
        assert!(done.divergence.is_large());
        for (victim, before) in victims.iter().zip(before) {
            assert_eq!(fs::read_to_string(victim).unwrap(), "untouched");
            assert_eq!(fs::metadata(victim).unwrap().ctime_nsec(), before);
        }
        tree
    };
    let mut names: Vec<_> = fs::read_dir(place.path().join("home"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["source", "trace", "victim"]);
    let kind = |name: &str| fs::symlink_metadata(tree.join(name)).unwrap();
    for fifo in ["device", "null"] {
        assert_eq!(kind(fifo).mode() & libc::S_IFMT, libc::S_IFIFO);
    }
    assert_eq!(kind("program").permissions().mode() & 0o7777, 0o755);
    let text = fs::read_link(tree.join("far")).unwrap();
    assert_eq!(text.as_os_str().len(), 300);
    assert!(text.is_relative());
}

#[test]
fn an_open_loop_counts_latency_from_the_intended_start() {
    let mut script = Script::new(1);
    script.begin();
    let file = script.open(0, "file", NEW);
    // All at the same time: each waits for those before it.
    let start = script.now + 20_000_000;
    for _ in 0..50 {
        let action = Action::Write {
            handle: file,
            offset: Some(0),
            length: 1 << 20,
            buffers: 1,
            flags: 0,
        };
        script.add_at(0, action, 1 << 20, start, start);
    }
    let bytes = script.finish();
    let replayed = replay_at(&bytes, Pace::Recorded(0.5));
    assert_same(&replayed);
    let all = &replayed.done.timeline.latencies;
    let writes = all.iter().find(|one| one.operation == "write").unwrap();
    // The last was due with the first, 10 ms after the file was opened, and counts all others.
    let due = 10_000_005;
    assert_eq!(writes.max_ns, replayed.done.returned.0 - due);
}

#[test]
fn threads_begin_after_their_parents_and_waits_end_after_processes() {
    let mut script = Script::new(0);
    for (id, parent, start_ns) in [(0, None, 0), (1, Some(0), 25), (2, Some(1), 30)] {
        let thread = Thread {
            id: ThreadId(id),
            process: ThreadId(id),
            parent: parent.map(ThreadId),
            start_ns,
        };
        script.writer.thread(thread).unwrap();
    }
    let stat = |script: &mut Script, path: &str| Action::Stat {
        object: Object::Path(script.path(path)),
    };
    // Different files: only the threads are in common.
    let mut add = |name: &str, thread, start, end| {
        let action = stat(&mut script, name);
        script.add_at(thread, action, -2, start, end);
    };
    add("a", 0, 0, 10);
    add("b", 0, 12, 20);
    add("c", 2, 40, 50);
    add("d", 0, 42, 48);
    let process = ThreadId(2);
    script.add_at(0, Action::Wait { process }, 5, 49, 60);
    let last = stat(&mut script, "e");
    script.add_at(0, last, -2, 61, 62);
    let recording = read(&script.finish());
    let plan = plan(&recording, Path::new("trace")).unwrap();
    let waits: Vec<&[Wait]> = plan.steps.iter().map(|step| step.waits(&plan)).collect();
    let wait = |worker, completed| vec![Wait { worker, completed }];
    let none: Vec<Wait> = Vec::new();
    // By their start: a, b, c, d, the wait, e.
    assert_eq!(
        waits,
        [
            none.clone(),
            none.clone(),
            wait(0, 2),
            none.clone(),
            wait(1, 1),
            none
        ]
    );
}

#[test]
fn requests_in_flight_at_a_time_have_a_worker_each() {
    let mut script = Script::new(1);
    script.file("file", 1 << 20);
    script.begin();
    let handle = script.open(0, "file", READ);
    for at in 0..4_u64 {
        let operation = Operation {
            thread: ThreadId(0),
            via: Via::IoUring,
            start_ns: 100 + at,
            end_ns: 200 + at,
            action: Action::Read {
                handle,
                offset: Some(at * 4096),
                length: 4096,
                buffers: 1,
                flags: 0,
            },
            result: 4096,
        };
        script.writer.operation(operation).unwrap();
    }
    script.now = 300;
    script.add(0, Action::Close { handle }, 0);
    let bytes = script.finish();
    let recording = read(&bytes);
    let plan = plan(&recording, Path::new("trace")).unwrap();
    assert_eq!(plan.workers.len(), 4);
    // The last waits for all of them.
    let last = plan.steps.last().unwrap().waits(&plan);
    assert_eq!(last.len(), 3, "{last:?}");
    assert_same(&replay(&bytes));
}

/// An operation of a generated recording: the thread, the kind, and two files.
type Drawn = (u32, u8, u8, u8);

/// Performs random operations one after another, and records their results.
fn record(drawn: &[Drawn]) -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let mut script = Script::new(4);
    for dir in ["p", "q"] {
        fs::create_dir(root.join(dir)).unwrap();
        script.entry(dir, EntryKind::Directory);
    }
    script.begin();
    let name = |at: u8| ["p/a", "p/b", "q/a", "q", "q/l/a", "q/l", "r", "r/a"][usize::from(at % 8)];
    let result =
        |done: rustix::io::Result<()>| done.map_or_else(|e| -i64::from(e.raw_os_error()), |()| 0);
    for (thread, kind, one, two) in drawn {
        let (one, two) = (name(*one), name(*two));
        let (at, to) = (root.join(one), root.join(two));
        let (path, other) = (script.path(one), script.path(two));
        let (action, done) = match kind % 9 {
            0 => (
                Action::MakeDirectory { path, mode: 0o755 },
                rustix::fs::mkdir(&at, 0o755.into()),
            ),
            1 => (Action::RemoveDirectory { path }, rustix::fs::rmdir(&at)),
            2 => (Action::Unlink { path }, rustix::fs::unlink(&at)),
            3 => (
                Action::Rename {
                    from: path,
                    to: other,
                    flags: 0,
                },
                rustix::fs::rename(&at, &to),
            ),
            4 => {
                let flags = AtFlags::empty();
                let done = rustix::fs::linkat(CWD, &at, CWD, &to, flags);
                (
                    Action::Link {
                        from: path,
                        to: other,
                        follow: false,
                    },
                    done,
                )
            }
            5 => {
                let target = LinkTarget::Relative(b"a".to_vec());
                let done =
                    symlink("a", &at).map_err(|e| rustix::io::Errno::from_io_error(&e).unwrap());
                (Action::Symlink { path, target }, done)
            }
            6 => (Action::Truncate { path, length: 1234 }, {
                let open = rustix::fs::open(&at, OFlags::WRONLY, Mode::empty());
                open.and_then(|file| rustix::fs::ftruncate(file, 1234))
            }),
            7 => {
                let object = Object::Path(path);
                (Action::Stat { object }, rustix::fs::stat(&at).map(drop))
            }
            _ => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
                let open = rustix::fs::open(&at, flags, Mode::from_raw_mode(0o644));
                if let Ok(file) = open {
                    let handle = script.open(
                        *thread,
                        one,
                        libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
                    );
                    rustix::io::write(&file, &[1; 100]).unwrap();
                    // Another thread closes it.
                    script.write(*thread, handle, None, 100);
                    script.add((*thread + 1) % 4, Action::Close { handle }, 0);
                    continue;
                }
                let action = Action::Open {
                    path,
                    flags: flags.bits(),
                    mode: 0o644,
                    handle: None,
                };
                (action, open.map(drop))
            }
        };
        script.add(*thread, action, result(done));
    }
    script.finish()
}

/// The operations of a recording, for a failure.
fn listed(recording: &Recording) -> String {
    let lines = recording.operations.iter().map(|one| {
        let text = format!("{:?} {} {:?}", one.action, one.result, one.thread);
        format!("{text}\n")
    });
    let paths = (0..).take(recording.paths.count());
    let paths = paths.map(|at| format!("{at}={:?} ", recording.paths.path(PathId(at))));
    paths.chain(lines).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn parallel_workers_return_the_recorded_results_and_leave_the_recorded_tree(
        drawn in prop::collection::vec((0_u32..4, any::<u8>(), any::<u8>(), any::<u8>()), 1..80),
    ) {
        let bytes = record(&drawn);
        let replayed = replay(&bytes);
        let divergence = &replayed.done.divergence;
        prop_assert_eq!(divergence.count(), 0, "{} {}", divergence.text(), listed(&replayed.recording));
        let found = recorded::compare(&replayed.recording, &replayed.tree, &CancelToken::new()).unwrap();
        prop_assert!(found.equal(), "{:?} {}", found.differences, listed(&replayed.recording));
        drop(replayed.place);
    }
}
