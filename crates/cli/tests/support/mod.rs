//! Runs the program as a user would, in a separate home directory.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod documents;
pub mod kills;

use fsdyno_guests::kernels::has_amx;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A home with its own store, journals, images and working directory.
pub struct Home {
    /// Holds the directory, which is deleted on drop.
    pub root: TempDir,
}

/// The output and the exit code of a program.
pub struct Printed {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Home {
    /// Number of processes whose command line contains that word and names this home.
    pub fn processes_of(&self, word: &str) -> usize {
        let here = self.root.path().display().to_string();
        let entries = std::fs::read_dir("/proc").unwrap();
        entries
            .filter_map(|entry| std::fs::read(entry.unwrap().path().join("cmdline")).ok())
            .filter(|line| {
                let line = String::from_utf8_lossy(line);
                line.contains(word) && line.contains(&here)
            })
            .count()
    }

    /// Asserts that no guest process of this home is alive.
    pub fn assert_no_guest(&self) {
        // A killed process needs a moment to exit.
        until(Duration::from_secs(10), "no guest is left", || {
            self.processes_of("uml_dir=") == 0
        });
    }

    /// The process id of the first such process.
    pub fn first_process_of(&self, word: &str) -> Option<i32> {
        let here = self.root.path().display().to_string();
        let mut numbers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let entry = entry.ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let ours = line.contains(word) && line.contains(&here);
            ours.then(|| entry.file_name().to_str()?.parse().ok())?
        });
        numbers.next()
    }

    /// The home is on disk and not in memory, because images need direct I/O.
    pub fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("fsdyno-test-")
            .tempdir_in("/var/tmp")
            .unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        Self { root }
    }

    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The arguments for one repeat of a small tree on model disks of 2004, in guests of that
    /// kernel.
    pub fn on_model_disks(&self, kernel: &Path, fs: &str, more: &str) -> Vec<String> {
        let line = "run --disk laptop-4200-2004 --on loop:1G --repeats 1 --dataset mixed";
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (kernel, work) = (kernel.display().to_string(), self.work());
        let places = ["--guest-kernel", &kernel, "--fs", fs, "--work-dir"];
        words.extend(places.map(str::to_owned));
        words.push(work.display().to_string());
        words.extend(more.split_whitespace().map(str::to_owned));
        words
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fsdyno"));
        command
            // Root needs the flag to use these directories.
            .arg("--dirs-from-env")
            .args(&args[..args.len().min(1)])
            .args(no_lock(args))
            .args(args.iter().skip(1))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("FSDYNO_STORE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // The user's lab kernel is hidden, so that guests use the same kernel everywhere.
        let cache = match user_cache() {
            Some(cache) if has_amx() => cache,
            _ => self.path("cache"),
        };
        command.env("XDG_CACHE_HOME", cache);
        command
    }

    pub fn fsdyno<S: AsRef<OsStr>>(&self, args: &[S]) -> Printed {
        printed(&self.command(args).output().unwrap())
    }

    /// Starts the program and does not wait.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Child {
        let mut command = interruptible(&self.command(args));
        let log = std::fs::File::create(self.path("started.log")).unwrap();
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// The standard error output of the last started program.
    pub fn output(&self) -> String {
        std::fs::read_to_string(self.path("started.log")).unwrap_or_default()
    }

    /// The files in the working directory.
    pub fn left_in_work(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.work())
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect()
    }

    pub fn result(&self, run: &str) -> serde_json::Value {
        let printed = self.fsdyno(&["report", run, "--format", "json"]);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        serde_json::from_str(&printed.out).unwrap()
    }

    /// Asserts that `clean` removes all remains of a killed run.
    pub fn assert_cleanable(&self) {
        let printed = self.fsdyno(&["clean"]);
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let here = self.root.path().display().to_string();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&here), "a mount is left: {mounts}");
        assert_eq!(loops_backed_under(self.root.path()), Vec::<String>::new());
        assert_eq!(self.left_in_work(), Vec::<PathBuf>::new());
    }
}

/// The flag that prevents waits on other tests. Tests of the lock pass their own flag.
fn no_lock<S: AsRef<OsStr>>(args: &[S]) -> Option<&'static str> {
    let measures = ["run", "rerun", "selftest", "phase"].map(OsStr::new);
    let first = args.first()?.as_ref();
    let named = |flag: &str| args.iter().any(|arg| arg.as_ref() == flag);
    (measures.contains(&first) && !named("--lock-timeout") && !named("--no-lock"))
        .then_some("--no-lock")
}

/// Restores the default SIGINT handling of a command. A shell that starts the tests in the
/// background ignores SIGINT, and children inherit that.
pub fn interruptible(command: &Command) -> Command {
    let mut interruptible = Command::new("env");
    interruptible
        .arg("--default-signal=INT")
        .arg(command.get_program())
        .stdin(Stdio::null());
    with_arguments_of(interruptible, command)
}

/// A program with the arguments and the environment of another command.
pub fn with_arguments_of(mut program: Command, command: &Command) -> Command {
    program.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => program.env(name, value),
            None => program.env_remove(name),
        };
    }
    program
}

pub fn printed(output: &Output) -> Printed {
    Printed {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Loop devices whose backing file is or was under a directory.
pub fn loops_backed_under(directory: &Path) -> Vec<String> {
    let prefix = directory.display().to_string();
    std::fs::read_dir("/sys/block")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path().join("loop/backing_file");
            let backing = std::fs::read_to_string(path).ok()?;
            backing.starts_with(&prefix).then_some(backing)
        })
        .collect()
}

/// Whether a lab test can run. Prints the reason if not, so that the skip is counted.
pub fn root_and(programs: &[&str], test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: {test}");
        return false;
    }
    if !Path::new("/dev/loop-control").exists() {
        println!("SKIP loop devices: {test}");
        return false;
    }
    have(programs, test)
}

/// Whether these programs exist. Prints the missing one.
pub fn have(programs: &[&str], test: &str) -> bool {
    let directories = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
    let is_there = |program: &str| {
        let mut places = directories.iter();
        places.any(|directory| Path::new(directory).join(program).exists())
    };
    let missing = programs.iter().find(|program| !is_there(program));
    if let Some(program) = missing {
        println!("SKIP program {program}: {test}");
    }
    missing.is_none() && (!programs.contains(&"linux.uml") || guests_start(test))
}

/// Whether guests start with the default kernel. On a processor with AMX, the packaged kernel has
/// no room for its registers and starts no program. The lab kernel replaces it there.
fn guests_start(test: &str) -> bool {
    !has_amx() || lab_kernel(test).is_some()
}

/// Whether the packaged kernel starts programs. Prints the reason if not.
pub fn packaged_kernel_starts(test: &str) -> bool {
    if has_amx() {
        println!("SKIP a processor without AMX, for linux.uml: {test}");
    }
    !has_amx()
}

/// The lab kernel of this user: the one in `FSDYNO_LAB_KERNEL`, or else the default one.
/// `./x test` builds it. Prints a message if there is none.
pub fn lab_kernel(test: &str) -> Option<PathBuf> {
    let kernel = std::env::var_os("FSDYNO_LAB_KERNEL").map(PathBuf::from);
    let kernel = kernel.or_else(|| Some(fsdyno_guests::kernels::lab().ok()?.program));
    let kernel = kernel.filter(|path| path.exists());
    if kernel.is_none() {
        println!("SKIP lab kernel (fsdyno lab setup): {test}");
    }
    kernel
}

/// Runs in guests of the lab kernel, with one repeat. Every cell is measured.
pub fn in_guests(home: &Home, kernel: &Path, fs: &str, more: &[&str]) -> serde_json::Value {
    let work = home.work().display().to_string();
    let kernel = kernel.display().to_string();
    let base = ["run", "--lab", "uml", "--work-dir", &work, "--fs", fs];
    let guest = ["--repeats", "1", "--guest-memory", "256M"];
    let own = ["--guest-kernel", &kernel];
    let printed = home.fsdyno(&[&base[..], &guest, &own, more].concat());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let result = home.result("last");
    let measured = outcomes(&result);
    assert!(
        measured.iter().all(|(_, how)| how == "measured"),
        "{}",
        printed.out
    );
    assert!(home.left_in_work().is_empty());
    result
}

/// Asserts that each cell was made, and checked after its unmount, by a command of fsdyno.
pub fn assert_made_and_checked(result: &serde_json::Value, command: &str) {
    for cell in result["cells"].as_array().unwrap() {
        let text = cell.to_string();
        let ran = |step: &str| text.contains(&format!(r#"["fsdyno","{command}","{step}""#));
        assert!(ran("make") && ran("check"), "{text}");
    }
}

/// The cache directory of the user who runs the tests.
fn user_cache() -> Option<PathBuf> {
    Some(fsdyno_files::places::of_effective_user().ok()?.cache)
}

/// Waits until the condition is true.
pub fn until(timeout: Duration, what: &str, so: impl Fn() -> bool) {
    let deadline = Instant::now() + timeout;
    while !so() {
        let seconds = timeout.as_secs();
        assert!(Instant::now() < deadline, "not within {seconds} s: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The outcomes of all cells of a result, by index.
pub fn outcomes(result: &serde_json::Value) -> Vec<(u64, String)> {
    let cells = result["cells"].as_array().unwrap();
    let mut outcomes: Vec<_> = cells
        .iter()
        .map(|cell| {
            let index = cell["cell"]["index"].as_u64().unwrap();
            (
                index,
                cell["outcome"]["outcome"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    outcomes.sort();
    outcomes
}
