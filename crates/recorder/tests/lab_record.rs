//! Recordings of real programs: what happened on the tree is in the recording, and nothing else.

use fsdyno_datasets::recorded::{Recording, unexplained};
use fsdyno_model::CancelToken;
use fsdyno_recorder::ebpf::{BUFFER, Probes};
use fsdyno_recorder::observation::Target;
use fsdyno_recorder::session::{Request, record};
use fsdyno_trace::{Action, Ending, Item, Object, PathId, Paths, Reader, Recorder};
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
    Recorded {
        lines,
        ending,
        bytes,
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
        // Processes run in parallel: their order differs.
        let mut lines = recorded.lines;
        lines.sort();
        lines
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
