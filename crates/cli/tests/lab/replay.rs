//! Replays of a recording: in a directory, on image files, and twice in virtual time. The
//! recording is written here, and has two threads.

use crate::support::{Home, have, lab_kernel, outcomes, root_and};
use fsdyno_trace::{
    About, Action, Ending, Entry, EntryKind, Handle, LinkTarget, Object, Operation, PathId, Thread,
    ThreadId, Via, Writer,
};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

fn path(writer: &mut Writer<File>, text: &str) -> PathId {
    writer.path(Path::new(text)).unwrap()
}

/// A recording with the tree and the threads of a mail system.
fn begin(to: &Path) -> Writer<File> {
    let about = About {
        fsdyno: "0.2.0".to_owned(),
        root: "/srv/mail".to_owned(),
        recorded: vec!["deliver".to_owned()],
        ..About::empty()
    };
    let mut writer = Writer::new(File::create(to).unwrap(), &about, None).unwrap();
    for (name, kind) in [
        ("", EntryKind::Directory),
        ("tmp", EntryKind::Directory),
        ("new", EntryKind::Directory),
        (
            "current",
            EntryKind::Symlink {
                target: LinkTarget::Relative(b"new".to_vec()),
            },
        ),
        (
            "index",
            EntryKind::File {
                size: 300_000,
                holes: Vec::new(),
                extents: None,
                compressed_permille: Some(300),
            },
        ),
    ] {
        let entry = Entry {
            path: path(&mut writer, name),
            mode: 0o755,
            kind,
            xattrs: Vec::new(),
        };
        writer.entry(entry).unwrap();
    }
    for id in 0..3 {
        let thread = Thread {
            id: ThreadId(id),
            process: ThreadId(id),
            parent: None,
            start_ns: 0,
        };
        writer.thread(thread).unwrap();
    }
    writer
}

/// Writes a recording: two threads deliver messages, and a third reads what they have renamed.
fn record(to: &Path, lost: u64) {
    let mut writer = begin(to);
    let mut now = 0;
    let mut add = |writer: &mut Writer<File>, thread: u32, action: Action, result: i64| {
        let operation = Operation {
            thread: ThreadId(thread),
            via: Via::Syscall,
            start_ns: now,
            end_ns: now + 1000,
            action,
            result,
        };
        now += 1000;
        writer.operation(operation).unwrap();
    };
    for at in 0..60_u32 {
        let thread = at % 2;
        let (made, read) = (Handle(u64::from(at) * 2), Handle(u64::from(at) * 2 + 1));
        let from = path(&mut writer, &format!("tmp/{at}"));
        let to = path(&mut writer, &format!("new/{at}"));
        let by_link = path(&mut writer, &format!("current/{at}"));
        let new = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL).cast_unsigned();
        let flags = libc::O_RDONLY.cast_unsigned();
        let length = 3000 + u64::from(at) * 500;
        let bytes = length.cast_signed();
        let open = |path, flags, handle| Action::Open {
            path,
            flags,
            mode: 0o644,
            handle: Some(handle),
        };
        add(&mut writer, thread, open(from, new, made), 3);
        let offset = None;
        let write = Action::Write {
            handle: made,
            offset,
            length,
            buffers: 1,
            flags: 0,
        };
        add(&mut writer, thread, write, bytes);
        add(&mut writer, thread, Action::Fsync { handle: made }, 0);
        add(&mut writer, thread, Action::Close { handle: made }, 0);
        add(
            &mut writer,
            thread,
            Action::Rename { from, to, flags: 0 },
            0,
        );
        add(&mut writer, 2, open(by_link, flags, read), 3);
        let whole = Action::Read {
            handle: read,
            offset,
            length: 65_536,
            buffers: 1,
            flags: 0,
        };
        add(&mut writer, 2, whole, bytes);
        add(&mut writer, 2, Action::Close { handle: read }, 0);
        let object = Object::NoFollow(from);
        add(&mut writer, 2, Action::Stat { object }, -2);
        if at % 3 == 0 {
            add(&mut writer, 2, Action::Unlink { path: to }, 0);
        }
    }
    let ending = Ending {
        lost,
        ..Ending::default()
    };
    writer.finish(ending).unwrap();
}

fn recorded(home: &Home, lost: u64) -> PathBuf {
    let file = home.path("mail.fsdyno");
    record(&file, lost);
    file
}

/// The counts of the replay in each cell.
fn notes(result: &Value) -> Vec<String> {
    let cells = result["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| {
            let effective = cell["effective"].as_array().unwrap();
            let note = effective.iter().find(|one| one["source"] == "replay");
            note.unwrap()["text"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn a_recording_is_replayed_in_a_directory_without_root() {
    let home = Home::new();
    let file = recorded(&home, 0);
    let file = file.to_str().unwrap();
    let place = home.work().display().to_string();
    let on = format!("dir:{place}");
    let words = [
        "run",
        "--workload-trace",
        file,
        "--on",
        &on,
        "--repeats",
        "2",
        "--verify",
        "--json",
    ];
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result: Value = serde_json::from_str(&printed.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    for note in notes(&result) {
        assert!(note.contains("operations: 560\ndifferent: 0\n"), "{note}");
        assert!(note.contains("workers: 3\n"), "{note}");
    }
    let sample = &result["cells"][0]["samples"][0];
    assert_eq!(sample["kind"], "replay");
    let kinds = sample["latencies"].as_array().unwrap().iter();
    let kinds: Vec<&str> = kinds
        .map(|one| one["operation"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "close", "fsync", "open", "read", "rename", "stat", "unlink", "write"
        ]
    );
    // Open loop, at half the speed: 560 operations of 1 us.
    let slow = [&words[..6], &["1", "--pace", "scaled:1000", "--json"]].concat();
    let printed = home.fsdyno(&slow);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let result: Value = serde_json::from_str(&printed.out).unwrap();
    let sample = &result["cells"][0]["samples"][0];
    assert!(
        sample["return_ns"].as_u64().unwrap() >= 559_000_000,
        "{sample}"
    );
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0);
}

#[test]
fn a_recording_that_lost_events_is_reported_so_first() {
    let home = Home::new();
    let file = recorded(&home, 12);
    let on = format!("dir:{}", home.work().display());
    let file = file.to_str().unwrap();
    let words = [
        "run",
        "--workload-trace",
        file,
        "--on",
        &on,
        "--repeats",
        "1",
    ];
    let printed = home.fsdyno(&["record", "show", file]);
    let lost = "not complete: 12 events were lost";
    assert!(printed.out.starts_with(lost), "{}", printed.out);
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let report = home.fsdyno(&["report", "last", "--long"]);
    let warning = "the recording is not complete: 12 events were lost";
    let (before, _) = report.out.split_once(warning).expect(&report.out);
    let (_, before) = before.rsplit_once("arnings").expect(&report.out);
    assert!(before.lines().count() <= 3, "it is the first:\n{before}");
}

#[test]
fn a_replay_needs_a_recording_and_a_readable_one() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let other = home.path("text");
    std::fs::write(&other, "no recording").unwrap();
    let file = recorded(&home, 0);
    let (file, other) = (file.to_str().unwrap(), other.to_str().unwrap());
    let twice = [
        "--dataset",
        &format!("trace:{file}"),
        "--phases",
        "replay,replay",
    ];
    for (words, reason) in [
        (
            &["--workload-trace", other][..],
            "not a recording of fsdyno",
        ),
        (&["--phases", "replay"], "needs a recording"),
        (
            &["--dataset", "mixed", "--phases", "replay"],
            "needs a recording",
        ),
        (&twice, "has changed the tree"),
        (&["--workload-trace", file, "--pace", "fast"], "is no pace"),
        (
            &["--workload-trace", file, "--engine", "uring"],
            "choose the engine sync",
        ),
    ] {
        let all = [&["run", "--on", &on, "--repeats", "1"], words].concat();
        let printed = home.fsdyno(&all);
        assert_ne!(printed.code, Some(0), "{words:?}: {}", printed.out);
        let text = format!("{}{}", printed.out, printed.err);
        assert!(text.contains(reason), "{words:?}: {text}");
    }
}

#[test]
fn a_recording_is_replayed_on_image_files_of_each_file_system() {
    let programs = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    if !root_and(
        &programs,
        "a_recording_is_replayed_on_image_files_of_each_file_system",
    ) {
        return;
    }
    let home = Home::new();
    let file = recorded(&home, 0);
    let work = home.work().display().to_string();
    let words = [
        "run",
        "--workload-trace",
        file.to_str().unwrap(),
        "--fs",
        "ext4,xfs,btrfs",
        "--repeats",
        "1",
        "--work-dir",
        &work,
        "--verify",
        "--fill",
        "30%",
        "--json",
    ];
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result: Value = serde_json::from_str(&printed.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    assert_eq!(notes(&result).len(), 3);
    for note in notes(&result) {
        assert!(note.contains("different: 0\n"), "{note}");
    }
    for cell in result["cells"].as_array().unwrap() {
        let sample = &cell["samples"][0];
        assert!(sample["durable_ns"].as_u64() >= sample["return_ns"].as_u64());
        // 60 files are forced to the device.
        assert!(
            sample["device"]["flushes"].as_u64().unwrap() >= 10,
            "{sample}"
        );
    }
    home.assert_cleanable();
}

/// A log of another machine: of a shell and a child, with times and files.
const LOG: &str = r#"
41 1700000000.000100 newfstatat(AT_FDCWD</srv/mail>, ".", {st_mode=S_IFDIR|0750, st_size=4096, ...}, 0) = 0 <0.000010>
41 1700000000.000200 openat(AT_FDCWD</srv/mail>, "in/a", O_RDONLY|O_CLOEXEC) = 3</srv/mail/in/a> <0.000020>
41 1700000000.000300 fstat(3</srv/mail/in/a>, {st_mode=S_IFREG|0600, st_size=9000, ...}) = 0 <0.000005>
41 1700000000.000400 read(3</srv/mail/in/a>, "From: <"..., 65536) = 9000 <0.000030>
41 1700000000.000500 vfork( <unfinished ...>
42 1700000000.000600 openat(AT_FDCWD</srv/mail>, "in/b", O_RDWR|O_CREAT|O_EXCL, 0600) = 4</srv/mail/in/b> <0.000040>
42 1700000000.000700 write(4</srv/mail/in/b>, "From: <"..., 9000) = 9000 <0.000040>
42 1700000000.000800 fsync(4</srv/mail/in/b>) = 0 <0.000900>
42 1700000000.001800 +++ exited with 0 +++
41 1700000000.001900 <... vfork resumed>) = 42 <0.001400>
41 1700000000.002000 read(7</srv/mail/list>, "a"..., 100) = 100 <0.000010>
41 1700000000.002100 rename("in/b", "in/c") = 0 <0.000020>
41 1700000000.002200 unlink("/srv/mail/in/a") = 0 <0.000020>
41 1700000000.002300 read(8, "", 100) = 0 <0.000010>
41 1700000000.002400 stat("/srv/mail/in/b", 0x7ffd0) = -1 ENOENT (No such file or directory) <0.000010>
"#;

#[test]
fn a_log_of_strace_is_replayed_as_it_was() {
    let home = Home::new();
    let (log, file) = (home.path("mail.log"), home.path("mail.trace"));
    std::fs::write(&log, LOG).unwrap();
    let [log, file] = [&log, &file].map(|path| path.to_str().unwrap());
    let printed = home.fsdyno(&["record", "--from-strace", log, "-o", file]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    // Descriptor 8 was opened before.
    let explained = "91.7 % explained: the files of 11 of 12 calls";
    assert!(printed.err.contains(explained), "{}", printed.err);
    let shown = home.fsdyno(&["record", "show", file]);
    assert!(
        shown.out.starts_with("not complete: 1 events"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("2, 8.89 KiB"), "{}", shown.out);
    let (work, test) = (
        home.work().display().to_string(),
        "a_log_of_strace_is_replayed_as_it_was",
    );
    let on = format!("dir:{work}");
    let mut places = vec![vec!["--on", &on]];
    if root_and(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"], test) {
        places.push(vec!["--fs", "ext4,xfs,btrfs", "--work-dir", &work]);
    }
    for place in places {
        let words = ["run", "--workload-trace", file, "--repeats", "1", "--json"];
        let printed = home.fsdyno(&[&words[..], &place].concat());
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let result: Value = serde_json::from_str(&printed.out).unwrap();
        for note in notes(&result) {
            assert!(note.contains("different: 0\n"), "{note}");
        }
    }
    // The directory has its name on the other machine.
    let words = [
        "record",
        "--from-strace",
        log,
        "--path",
        "/srv/web",
        "-o",
        file,
        "--force",
    ];
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert!(
        printed.err.contains("most are in /srv/mail"),
        "{}",
        printed.err
    );
}

/// Commands that set or copy what a kernel interprets: access lists, links, files without a name,
/// flags, capabilities, labels.
const COMMANDS: [&str; 6] = [
    "cp -a t copied",
    "tar cf t.tar t && mkdir x && tar xpf t.tar -C x && rm -r x",
    "exec 3<> unnamed; rm unnamed; echo text > /proc/self/fd/3; cat /proc/self/fd/3; \
     chmod 600 /proc/self/fd/3",
    "chattr +dA t/d/f1 t/d && lsattr t/d >/dev/null && chattr -d t/d/f1",
    "setcap cap_net_raw+ep t/d/f1 && getcap t/d/f1 && cp -a t copied",
    "setfattr -n security.selinux -v system_u:object_r:etc_t:s0 t/d/f1 && cp -a t copied",
];

#[test]
fn commands_on_trees_are_replayed_without_a_difference() {
    let test = "commands_on_trees_are_replayed_without_a_difference";
    let programs = [
        "strace",
        "setcap",
        "setfattr",
        "mkfs.ext4",
        "mkfs.xfs",
        "mkfs.btrfs",
    ];
    if !root_and(&programs, test) {
        return;
    }
    for command in COMMANDS {
        let home = Home::new();
        let (tree, file) = (home.path("tree"), home.path("command.trace"));
        std::fs::create_dir_all(tree.join("t/d")).unwrap();
        for number in 0..50 {
            std::fs::write(tree.join(format!("t/d/f{number}")), vec![7; number * 100]).unwrap();
        }
        let [tree, file] = [&tree, &file].map(|path| path.to_str().unwrap());
        let words = [
            "record",
            "--recorder",
            "strace",
            "--path",
            tree,
            "-o",
            file,
            "--",
        ];
        let script = format!("cd '{tree}' && {command}");
        let printed = home.fsdyno(&[&words[..], &["sh", "-c", &script]].concat());
        assert_eq!(printed.code, Some(0), "{command}: {}", printed.err);
        assert!(
            !printed.err.contains("warning"),
            "{command}: {}",
            printed.err
        );
        let work = home.work().display().to_string();
        let words = [
            "run",
            "--workload-trace",
            file,
            "--fs",
            "ext4,xfs,btrfs",
            "--repeats",
            "1",
            "--work-dir",
            &work,
            "--json",
        ];
        let printed = home.fsdyno(&words);
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let result: Value = serde_json::from_str(&printed.out).unwrap();
        assert_eq!(notes(&result).len(), 3);
        for note in notes(&result) {
            assert!(note.contains("different: 0\n"), "{command}: {note}");
        }
    }
}

#[test]
fn a_replay_in_virtual_time_has_the_same_figures_twice() {
    let test = "a_replay_in_virtual_time_has_the_same_figures_twice";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let file = recorded(&home, 0);
    for start in ["afap", "scaled:50"] {
        let line = "run --disk laptop-4200-2004 --on loop:1G --repeats 2 --vary none --lab uml --verify --json";
        let mut words: Vec<&str> = line.split(' ').collect();
        let kernel = kernel.to_str().unwrap();
        let work = home.work().display().to_string();
        words.extend([
            "--fs",
            "ext4",
            "--guest-kernel",
            kernel,
            "--work-dir",
            &work,
        ]);
        words.extend(["--workload-trace", file.to_str().unwrap(), "--pace", start]);
        let printed = home.fsdyno(&words);
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let result: Value = serde_json::from_str(&printed.out).unwrap();
        let cells = result["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        assert_eq!(cells[0]["samples"], cells[1]["samples"]);
        let disk = |cell: &Value| {
            let effective = cell["effective"].as_array().unwrap();
            effective
                .iter()
                .find(|one| one["source"] == "disk")
                .cloned()
        };
        assert_eq!(disk(&cells[0]), disk(&cells[1]));
        for note in notes(&result) {
            assert!(note.contains("different: 0\n"), "{note}");
        }
    }
    home.assert_no_guest();
}
