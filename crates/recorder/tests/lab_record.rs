//! Recordings of real programs: what happened on the tree is in the recording, and nothing else.

use fsdyno_datasets::recorded::{Recording, unexplained};
use fsdyno_model::CancelToken;
use fsdyno_recorder::ebpf::{BUFFER, Probes};
use fsdyno_recorder::observation::Target;
use fsdyno_recorder::session::{Request, record};
use fsdyno_recorder::strace::log::{Log, import};
use fsdyno_trace::{Action, Ending, EntryKind, Item, Object, PathId, Paths, Reader, Recorder};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A recording as lines without times: the operations of each thread.
struct Recorded {
    lines: Vec<String>,
    ending: Ending,
    bytes: Vec<u8>,
}

fn strace_works() -> bool {
    let works = fsdyno_recorder::strace::version().is_ok();
    if !works {
        println!("SKIP strace: recordings with strace");
    }
    works
}

fn ebpf_works(test: &str) -> bool {
    let target = Target::Processes(Vec::new());
    match Probes::attach(Path::new("/"), &target, BUFFER) {
        Ok(_) => true,
        Err(why) => {
            println!("SKIP eBPF ({why}): {test}");
            false
        }
    }
}

fn run(recorder: Recorder, root: &Path, script: &str, anonymous: bool) -> Recorded {
    let mut argv: Vec<OsString> = vec!["sh".into(), "-c".into()];
    argv.push(format!("cd '{}' || exit 9; {script}", root.display()).into());
    let request = Request {
        root: root.to_owned(),
        target: Target::Command { argv, mark: None },
        recorded: vec![script.to_owned()],
        recorder: Some(recorder),
        duration: None,
        anonymous,
        buffer: BUFFER,
    };
    let (bytes, ending) = record(&request, Vec::new(), &CancelToken::new(), |_| ()).unwrap();
    Recorded::read(bytes, ending)
}

impl Recorded {
    fn read(bytes: Vec<u8>, ending: Ending) -> Self {
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let mut lines = Vec::new();
        let mut names = std::collections::HashMap::new();
        while let Some(item) = reader.next_item().unwrap() {
            if let Item::Operation(operation) = item {
                let mut line = describe(&operation.action, reader.paths(), &mut names);
                let _ = write!(line, " = {}", operation.result.min(1));
                lines.push(line);
            }
        }
        Self {
            lines,
            ending,
            bytes,
        }
    }

    fn sorted(mut self) -> Vec<String> {
        // Processes run in parallel: their order differs.
        self.lines.sort();
        self.lines
    }
}

/// An operation with paths instead of numbers.
fn describe(
    action: &Action,
    paths: &Paths,
    names: &mut std::collections::HashMap<fsdyno_trace::Handle, PathBuf>,
) -> String {
    let path = |path: &PathId| paths.path(*path).display().to_string();
    if let Action::Open {
        path: of,
        handle: Some(handle),
        ..
    } = action
    {
        names.insert(*handle, paths.path(*of));
    }
    let name = |handle: &fsdyno_trace::Handle| names[handle].display().to_string();
    let detail = match action {
        Action::Open {
            path: of,
            flags,
            mode,
            ..
        } => format!("{} {flags:o} {mode:o}", path(of)),
        Action::Close { handle } | Action::Fsync { handle } => name(handle),
        Action::Read {
            handle,
            offset,
            length,
            ..
        }
        | Action::Write {
            handle,
            offset,
            length,
            ..
        } => {
            format!("{} {offset:?} {length}", name(handle))
        }
        Action::Rename { from, to, .. } | Action::Link { from, to, .. } => {
            format!("{} {}", path(from), path(to))
        }
        Action::Symlink { path: of, target } => format!("{} {target:?}", path(of)),
        Action::Unlink { path: of }
        | Action::RemoveDirectory { path: of }
        | Action::MakeDirectory { path: of, .. }
        | Action::Stat {
            object: Object::Path(of) | Object::NoFollow(of),
        } => path(of),
        Action::Stat {
            object: Object::Handle(of),
        } => name(of),
        _ => String::new(),
    };
    format!("{} {detail}", action.kind())
}

/// A tree with a file, and a directory outside it that programs use too.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("tree");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("old"), "content of the file").unwrap();
    std::fs::write(place.path().join("secret"), "outside").unwrap();
    (place, root)
}

const SCRIPT: &str = "mkdir d; cp old d/new; ln -s d alias; ln d/new alias/hard; mv d e; \
    (cd e && cat new < ../old > third & wait); cat ../secret > /dev/null; \
    ln -s ../secret out; cat out > /dev/null; rm e/hard; dd if=old of=synced conv=fsync status=none; \
    exec 3< old; read line <&3; cat e/new >> synced; test -e none";

fn check(recorded: &Recorded) {
    let text = recorded.lines.join("\n");
    let ending = &recorded.ending;
    assert!(
        ending.complete(),
        "{:?} {:?}",
        ending.incomplete,
        ending.notes
    );
    for expected in [
        "mkdir d = 0",
        "symlink alias Relative([100]) = 0",
        // Through the symbolic link `alias`, which is resolved.
        "link d/new d/hard = 0",
        "rename d e = 0",
        // The directory was renamed, and the working directory of a child is in it.
        "open e/third ",
        "unlink e/hard = 0",
        "open synced ",
        "fsync synced = 0",
        "close synced = 0",
        "symlink out Outside { length: 9 } = 0",
        "stat none = -2",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    assert!(!text.contains("secret"), "{text}");
    // A link that leads out is a name in the tree, and what it leads to is not.
    assert!(!text.contains("open out"), "{text}");
    assert!(ending.outside > 0);
    assert_eq!(ending.exit_status, Some(1));
    let read = Recording::read(
        Reader::new(&recorded.bytes[..]).unwrap(),
        &CancelToken::new(),
    );
    let found = unexplained(&read.unwrap().unwrap()).unwrap();
    assert!(found.equal(), "{:?}", found.differences);
}

#[test]
fn strace_records_the_operations_on_a_tree_and_nothing_else() {
    if !strace_works() {
        return;
    }
    let (_place, root) = tree();
    let recorded = run(Recorder::Strace, &root, SCRIPT, false);
    check(&recorded);
    let mut reader = Reader::new(&recorded.bytes[..]).unwrap();
    while let Some(item) = reader.next_item().unwrap() {
        let text = format!("{item:?}");
        assert!(!text.contains("content of the file"), "{text}");
    }
}

#[test]
fn both_recorders_give_the_same_recording() {
    if !strace_works() {
        return;
    }
    if !ebpf_works("both recorders give the same recording") {
        return;
    }
    let [ebpf, strace] = [Recorder::Ebpf, Recorder::Strace].map(|recorder| {
        let (_place, root) = tree();
        let recorded = run(recorder, &root, SCRIPT, false);
        check(&recorded);
        recorded.sorted()
    });
    assert_eq!(ebpf, strace);
}

#[test]
fn an_anonymous_recording_has_the_same_operations_without_names() {
    if !strace_works() {
        return;
    }
    let (_place, root) = tree();
    let script = "mkdir directory; cp old directory/private; rm directory/private";
    let recorded = run(Recorder::Strace, &root, script, true);
    let text = recorded.lines.join("\n");
    assert!(recorded.ending.complete(), "{:?}", recorded.ending);
    for kind in ["mkdir ", "open ", "close ", "unlink "] {
        assert!(text.contains(kind), "{kind}: {text}");
    }
    for name in ["directory", "private"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
}

#[test]
fn a_command_is_ended_with_all_its_processes_after_its_time() {
    let test = "a_command_is_ended_with_all_its_processes_after_its_time";
    let works = [
        (Recorder::Strace, strace_works()),
        (Recorder::Ebpf, ebpf_works(test)),
    ];
    for (recorder, _) in works.into_iter().filter(|(_, works)| *works) {
        let (_place, root) = tree();
        // Two in the background, of which one ignores SIGTERM.
        let ignores = if recorder == Recorder::Strace {
            "trap '' TERM;"
        } else {
            ""
        };
        let script = format!(
            "cd '{}'; sleep 600 & echo $! > pids; ({ignores} exec sleep 600) & \
             echo $! >> pids; exec sleep 600",
            root.display()
        );
        let request = Request {
            root: root.clone(),
            target: Target::Command {
                argv: ["sh", "-c", &script].map(OsString::from).to_vec(),
                mark: None,
            },
            recorded: Vec::new(),
            recorder: Some(recorder),
            duration: Some(std::time::Duration::from_secs(1)),
            anonymous: false,
            buffer: BUFFER,
        };
        let (_, ending) = record(&request, Vec::new(), &CancelToken::new(), |_| ()).unwrap();
        assert_eq!(ending.exit_status, Some(128 + 15), "{recorder:?}");
        assert!(ending.complete(), "{recorder:?} {:?}", ending.incomplete);
        let pids = std::fs::read_to_string(root.join("pids")).unwrap();
        assert_eq!(pids.lines().count(), 2);
        for pid in pids.lines().map(|pid| pid.parse().unwrap()) {
            assert!(!fsdyno_recorder::attach::is_running(pid), "{recorder:?}");
        }
    }
}

/// Runs a script in a tree with `strace OPTIONS`. Returns the files of the log: one, or those of `-ff`;
/// without `-o` in the options, what strace prints with the errors of the script.
fn log(options: &str, root: &Path, script: &str) -> Vec<PathBuf> {
    let place = root.parent().unwrap();
    let script = format!("cd '{}' || exit 9; {script}", root.display());
    let mut command = std::process::Command::new("strace");
    command.args(options.split_ascii_whitespace());
    let command = command.args(["sh", "-c", &script]).current_dir(place);
    let ran = command.output().unwrap();
    assert!(
        ran.status.code().is_some_and(|status| status < 2),
        "{options}"
    );
    if !options.contains("-o") {
        std::fs::write(place.join("log"), ran.stderr).unwrap();
    }
    let entries = std::fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    entries
        .filter(|path| name(path).starts_with("log"))
        .collect()
}

fn imported(files: Vec<PathBuf>, root: Option<&Path>) -> Recorded {
    let log = Log {
        files,
        root: root.map(Path::to_owned),
        anonymous: false,
    };
    let (bytes, ending) = import(&log, Vec::new()).unwrap();
    Recorded::read(bytes, ending)
}

fn recording(recorded: &Recorded) -> Recording {
    let reader = Reader::new(&recorded.bytes[..]).unwrap();
    Recording::read(reader, &CancelToken::new())
        .unwrap()
        .unwrap()
}

/// The size of a file of the tree at the start.
fn size_at_start(recording: &Recording, path: &str) -> Option<u64> {
    let path_of = |path| recording.paths.path(path);
    let mut entries = recording.entries.iter();
    let found = entries.find(|entry| path_of(entry.path) == Path::new(path))?;
    match found.kind {
        EntryKind::File { size, .. } => Some(size),
        _ => None,
    }
}

#[test]
fn a_log_with_any_options_becomes_the_recording_of_its_calls() {
    if !strace_works() {
        return;
    }
    let (_place, root) = tree();
    let expected = run(Recorder::Strace, &root, SCRIPT, false).sorted();
    for options in [
        "-f -o log",
        "-f -t -o log",
        "-f -tt -T -o log",
        "-f -ttt -T -y -o log",
        "-f -r -o log",
        "-f -yy -tt -o log",
        "-f -X verbose -v -s 4096 -o log",
        "-f -X raw -n -i -o log",
        "-f -x -tt -r -o log",
        "-f",
        "-f -tt -T -y",
        "-ff -ttt -T -o log",
        "-ff -o log",
    ] {
        let (_place, root) = tree();
        let files = log(options, &root, SCRIPT);
        let recorded = imported(files, Some(&root));
        let explained = recorded.ending.explained.unwrap();
        assert_eq!(
            explained.understood, explained.seen,
            "{options}: {:?}",
            recorded.ending
        );
        assert!(explained.seen > 50, "{options}");
        let tree = recording(&recorded);
        assert_eq!(size_at_start(&tree, "old"), Some(19), "{options}");
        assert_eq!(tree.entries.len(), 2, "{options}: {:?}", tree.entries);
        let found = recorded.sorted();
        let missing = |these: &[String], those: &[String]| -> Vec<String> {
            let count =
                |lines: &[String], line: &String| lines.iter().filter(|one| *one == line).count();
            let less = these
                .iter()
                .filter(|line| count(those, line) < count(these, line));
            less.cloned().collect()
        };
        let (lost, invented) = (missing(&expected, &found), missing(&found, &expected));
        assert!(
            lost.is_empty() && invented.is_empty(),
            "{options}: {lost:?} {invented:?}"
        );
    }
}

#[test]
fn the_tree_before_a_log_has_what_its_programs_found() {
    if !strace_works() {
        return;
    }
    let (_place, root) = tree();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::write(root.join("a/b/read"), vec![b'x'; 5000]).unwrap();
    std::fs::write(root.join("appended"), vec![b'x'; 300]).unwrap();
    std::fs::write(root.join("moved"), vec![b'x'; 70]).unwrap();
    std::os::unix::fs::symlink("a/b", root.join("link")).unwrap();
    let script = "readlink link; head -c 100 link/read; echo x >> appended; stat appended; mv moved a/new; \
        stat a/new; stat none; mkdir made; echo y > made/file; cat made/file; rm -r a";
    let recorded = imported(log("-f -y -o log", &root, script), Some(&root));
    let tree = recording(&recorded);
    let size = |path: &str| size_at_start(&tree, path);
    assert_eq!(size("a/b/read"), Some(100), "as much as was read");
    assert_eq!(size("moved"), Some(70));
    assert_eq!(size("appended"), Some(300));
    for absent in ["a/new", "none", "made", "made/file"] {
        assert_eq!(size(absent), None, "{absent}");
    }
    let kinds = tree.entries.iter();
    let links = kinds.filter(|entry| matches!(entry.kind, EntryKind::Symlink { .. }));
    assert_eq!(links.count(), 1);
    // The working directory is the tree, where none is named.
    let files = log("-f -y -o log", &root, "stat old");
    assert_eq!(
        size_at_start(&recording(&imported(files, None)), "tree/old"),
        Some(19)
    );
}

#[test]
fn a_log_of_some_calls_says_what_it_lacks() {
    if !strace_works() {
        return;
    }
    let (_place, root) = tree();
    let files = log(
        "-f -e trace=openat,read,unlinkat -o log",
        &root,
        "cat old; rm old; cat < /dev/null",
    );
    let recorded = imported(files, Some(&root));
    let about = Reader::new(&recorded.bytes[..]).unwrap().about().clone();
    let limits = about.limits.join("\n");
    for lack in [
        "no calls of write",
        "no calls of close",
        "start of all threads",
        "contents",
    ] {
        assert!(limits.contains(lack), "{lack} is not in\n{limits}");
    }
    assert!(
        recorded.lines.iter().any(|line| line == "unlink old = 0"),
        "{:?}",
        recorded.lines
    );
    // Descriptors that were opened before the log began.
    let (_place, root) = tree();
    let log = root.parent().unwrap().join("log");
    std::fs::write(
        &log,
        "5 openat(AT_FDCWD, \"old\", O_RDONLY) = 3\n5 read(9, \"\"..., 5) = 5\n",
    )
    .unwrap();
    let recorded = imported(vec![log], Some(&root));
    let explained = recorded.ending.explained.unwrap();
    assert_eq!((explained.understood, explained.seen), (1, 2));
    assert!(!recorded.ending.complete());
}
