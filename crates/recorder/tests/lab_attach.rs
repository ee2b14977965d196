//! Recordings of processes that run already: what they had open, their children, and what joins
//! their control group.

use fsdyno_model::CancelToken;
use fsdyno_recorder::ebpf::BUFFER;
use fsdyno_recorder::observation::Target;
use fsdyno_recorder::session::{Request, record};
use fsdyno_trace::{Action, Ending, Item, Reader, Recorder};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A shell that runs the lines that it gets, and answers each.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new("sh");
        command.current_dir(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self {
            child,
            input,
            output: BufReader::new(output),
        }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn run(&mut self, line: &str) {
        writeln!(self.input, "{line}; echo done").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn available(recorder: Recorder, root: &Path, target: &Target) -> bool {
    let why = match recorder {
        Recorder::Strace => fsdyno_recorder::strace::version()
            .err()
            .map(|error| error.to_string()),
        Recorder::Ebpf => fsdyno_recorder::ebpf::Probes::attach(root, target, BUFFER).err(),
    };
    if let Some(why) = &why {
        println!(
            "SKIP {} ({why}): recordings of running processes",
            recorder.name()
        );
    }
    why.is_none()
}

/// Waits until each process is traced by strace. What it does before that is not recorded.
fn wait_for_tracers(pids: &[i32]) {
    let traced = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        !status.lines().any(|line| line == "TracerPid:\t0")
    };
    while !pids.iter().all(traced) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Records while `during` runs, which ends what is recorded.
fn recorded(
    recorder: Recorder,
    root: &Path,
    target: Target,
    during: impl FnOnce(&CancelToken) + Send,
) -> (Vec<String>, Ending) {
    let request = Request {
        root: root.to_owned(),
        target,
        recorded: Vec::new(),
        recorder: Some(recorder),
        duration: Some(Duration::from_secs(60)),
        anonymous: false,
        buffer: BUFFER,
    };
    let traced = match (recorder, &request.target) {
        (Recorder::Strace, Target::Processes(pids)) => pids.clone(),
        _ => Vec::new(),
    };
    let stop = CancelToken::new();
    let (bytes, ending) = std::thread::scope(|scope| {
        let begin = |_: &_| {
            scope.spawn(|| {
                wait_for_tracers(&traced);
                during(&stop);
            });
        };
        record(&request, Vec::new(), &stop, begin).unwrap()
    });
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut lines = Vec::new();
    let mut names = std::collections::HashMap::new();
    while let Some(item) = reader.next_item().unwrap() {
        let Item::Operation(operation) = item else {
            continue;
        };
        let kind = operation.action.kind();
        let path = |path| reader.paths().path(path).display().to_string();
        let line = match operation.action {
            Action::Open {
                path: of,
                handle: Some(handle),
                ..
            }
            | Action::Inherit {
                path: of, handle, ..
            } => {
                names.insert(handle, path(of));
                format!("{kind} {}", path(of))
            }
            Action::Write { handle, length, .. } => {
                format!("{kind} {} {length}", names[&handle])
            }
            Action::Read { handle, .. } => format!("{kind} {}", names[&handle]),
            Action::MakeDirectory { path: of, .. } => format!("{kind} {}", path(of)),
            _ => continue,
        };
        lines.push(line);
    }
    (lines, ending)
}

fn tree() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("tree");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("old"), "first\nsecond\n").unwrap();
    (place, root)
}

fn check(lines: &[String], ending: &Ending, expected: &[&str]) {
    let shown = lines.join("\n");
    assert!(ending.complete(), "{ending:?}\n{shown}");
    for line in expected {
        assert!(
            lines.iter().any(|found| found == line),
            "{line} is not in\n{shown}"
        );
    }
}

#[test]
fn a_running_process_is_recorded_with_its_open_files_and_children() {
    for recorder in [Recorder::Ebpf, Recorder::Strace] {
        let (_place, root) = tree();
        let mut shell = Shell::start(&root);
        let target = Target::Processes(vec![shell.pid()]);
        if !available(recorder, &root, &target) {
            continue;
        }
        // Before the recording: an open file with a position, and a working directory.
        shell.run("exec 3< old 4>> log; read line <&3; mkdir before; cd before");
        let (lines, ending) = recorded(recorder, &root, target, |_| {
            shell.run("read line <&3; echo 12345 >&4");
            shell.run("mkdir during; (cd during && echo 123 > own)");
            shell.run("sh -c 'cat ../old > copy & wait'");
            writeln!(shell.input, "exit").unwrap();
        });
        let expected = [
            "inherit old",
            "inherit log",
            "read old",
            "write log 6",
            "mkdir before/during",
            "open before/during/own",
            "write before/during/own 4",
            "open before/copy",
        ];
        check(&lines, &ending, &expected);
        assert!(!lines.contains(&"mkdir before".to_owned()), "{lines:?}");
        assert_eq!(ending.exit_status, None);
    }
}

/// A control group for a test, which is removed at its end.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        for base in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            let base = Path::new(base);
            let path = base.join(format!("fsdyno-test-{}", std::process::id()));
            if base.join("cgroup.procs").exists() && std::fs::create_dir(&path).is_ok() {
                return Some(Self(path));
            }
        }
        println!("SKIP control groups: recordings of a control group");
        None
    }

    fn add(&self, pid: i32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            // Its processes may still be ending.
            let _ = std::fs::remove_dir(self.0.join("below"));
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_control_group_is_recorded_with_what_joins_it() {
    let Some(group) = Group::new() else {
        return;
    };
    let (_place, root) = tree();
    let target = Target::Group(group.0.clone());
    if !available(Recorder::Ebpf, &root, &target) {
        return;
    }
    let mut first = Shell::start(&root);
    let mut second = Shell::start(&root);
    let mut other = Shell::start(&root);
    group.add(first.pid());
    second.run("exec 3>> late");
    let below = group.0.join("below");
    std::fs::create_dir(&below).unwrap();
    let (lines, ending) = recorded(Recorder::Ebpf, &root, target, |stop| {
        first.run("mkdir first; sh -c 'mkdir first/child'");
        // A process joins the group below it, by itself as a service manager does.
        second.run(&format!("echo $$ > {}/cgroup.procs", below.display()));
        second.run("echo 1234567 >&3; sh -c 'mkdir second'");
        other.run("mkdir other");
        // The shells run on: what they have open is read when they join.
        stop.request();
    });
    let expected = [
        "mkdir first",
        "mkdir first/child",
        "inherit late",
        "write late 8",
        "mkdir second",
    ];
    check(&lines, &ending, &expected);
    assert!(!lines.contains(&"mkdir other".to_owned()), "{lines:?}");
}
