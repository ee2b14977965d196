//! Signals at random times: their number, their times, and the assertions after each.

use super::{Home, interruptible, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Number of kills; `FSDYNO_KILL_ROUNDS` replaces the default.
pub fn rounds(usual: u64) -> u64 {
    let requested = std::env::var("FSDYNO_KILL_ROUNDS").ok();
    requested
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// The signals of a test, in turn. SIGKILL comes first: with few kills it is among them.
pub const SIGNALS: [Signal; 5] = [
    Signal::KILL,
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::PIPE,
];

/// How long fsdyno may take to end after a signal.
const ENDING: Duration = Duration::from_secs(180);

/// The exit code after a signal that cancels.
pub const INTERRUPTED: i32 = 130;

/// Random times of a seed, in milliseconds below a limit, with a mix of early and late ones.
/// `FSDYNO_SEED` varies all of them.
pub fn moments(seed: u64, below: u64) -> impl Iterator<Item = Duration> {
    let varied = std::env::var("FSDYNO_SEED").ok();
    let varied = varied.and_then(|text| text.parse::<u64>().ok());
    let mut drawn = seed ^ (varied.unwrap_or(0) << 8);
    std::iter::from_fn(move || {
        drawn = drawn
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Some(Duration::from_millis((drawn >> 33) % below))
    })
}

/// Starts fsdyno with its cache and temporary files in the home.
pub fn start_confined(home: &Home, args: &[String]) -> Child {
    let tmp = home.path("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let mut command = home.command(args);
    command.env("TMPDIR", &tmp);
    command.env("XDG_CACHE_HOME", home.path("cache"));
    let log = fs::File::create(home.path("started.log")).unwrap();
    let out = fs::File::create(home.path("started.out")).unwrap();
    let mut command = interruptible(&command);
    command.stdout(out).stderr(log).stdin(Stdio::null());
    command.spawn().unwrap()
}

/// Starts fsdyno and kills it at that time. Returns the exit code if it ended before.
pub fn kill_at(home: &Home, args: &[String], moment: Duration) -> Option<i32> {
    signal_at(home, args, moment, Signal::KILL)
}

/// Starts fsdyno, sends the signal at that time, and waits for the end. Returns the exit code; none if
/// a signal ended it.
pub fn signal_at(home: &Home, args: &[String], moment: Duration, signal: Signal) -> Option<i32> {
    let mut child = start_confined(home, args);
    let began = Instant::now();
    let mut sent = false;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if !sent && began.elapsed() >= moment {
            sent = true;
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            kill_process(pid.unwrap(), signal).unwrap();
        }
        // SIGPIPE does not end it.
        if sent && signal != Signal::PIPE && began.elapsed() > moment + ENDING {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{signal:?} after {moment:?} does not end it: {}",
                home.output()
            );
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends each signal at random times to a command, and calls `check` after each with the exit code.
/// Afterwards nothing is left that `clean` does not remove; after a signal that cancels, nothing at
/// all.
pub fn signal_command(
    home: &Home,
    args: &[String],
    (seed, below): (u64, u64),
    usual: u64,
    check: &mut dyn FnMut(Option<i32>),
) {
    let mut moment = moments(seed, below);
    let (mut killed, mut cancelled, mut ended) = (0, 0, 0);
    for _ in 0..rounds(usual) {
        for signal in SIGNALS {
            let code = signal_at(home, args, moment.next().unwrap(), signal);
            match code {
                None => killed += 1,
                Some(INTERRUPTED) => cancelled += 1,
                Some(_) => ended += 1,
            }
            if code.is_some() {
                assert_journal_empty(home);
            }
            assert_nothing_left(home);
            check(code);
        }
    }
    let name = &args[0];
    println!("{name}: {killed} killed, {cancelled} cancelled, {ended} to their end");
}

/// Asserts that a fsdyno that ended by itself has removed what it made.
fn assert_journal_empty(home: &Home) {
    let printed = home.fsdyno(&["clean"]);
    assert_eq!(printed.out, "Nothing to clean.\n", "{}", home.output());
}

/// Asserts that `clean` removes all remains of a killed fsdyno: mounts, loop devices, processes,
/// temporary files, and journals.
pub fn assert_nothing_left(home: &Home) {
    home.assert_cleanable();
    // A killed process needs a moment to exit.
    until(Duration::from_secs(60), "no process is left", || {
        processes(home).is_empty()
    });
    for directory in ["tmp", "state/fsdyno/journal"] {
        let left = files_in(&home.path(directory));
        assert_eq!(left, Vec::<PathBuf>::new(), "{directory}");
    }
}

/// The processes that fsdyno started in this home, found by environment or command line.
fn processes(home: &Home) -> Vec<String> {
    let here = home.root.path().display().to_string();
    let names_home = |path: PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&here)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.map(|entry| entry.path());
    let ours = numbers.filter(|process| {
        names_home(process.join("environ")) || names_home(process.join("cmdline"))
    });
    ours.map(|process| process.display().to_string()).collect()
}

/// The files of a directory; empty if it does not exist.
pub fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The last run; `None` if the store has no run. A store whose creation was killed is empty.
fn last_run(home: &Home) -> Option<Value> {
    let output = home.fsdyno(&["runs", "--json"]);
    if output.code != Some(0) {
        assert!(output.err.contains("there is no store"), "{}", output.err);
        return None;
    }
    (output.out.trim() != "[]").then(|| home.result("last"))
}

/// The recorded cells of a run, by index.
fn recorded(result: Option<&Value>) -> BTreeMap<u64, Value> {
    let cells = result.and_then(|result| result["cells"].as_array());
    let index = |cell: &Value| cell["cell"]["index"].as_u64().unwrap();
    let cells = cells.into_iter().flatten();
    cells.map(|cell| (index(cell), cell.clone())).collect()
}

/// The planned number of cells of a run.
fn planned(result: &Value) -> u64 {
    let plan = &result["run"]["plan"];
    let of = |what: &str| plan[what].as_array().unwrap().len() as u64;
    of("contenders") * of("workloads") * plan["repeats"].as_u64().unwrap()
}

/// Ends a run by signals repeatedly, resumes it each time, and finally lets it end. A run that ends
/// before its signal is checked, and a new one starts.
pub fn kill_runs(home: &Home, args: &[String], seed: u64, below: u64, usual: u64) {
    let resume = ["run", "--resume", "last"].map(str::to_owned);
    let mut moment = moments(seed, below);
    let mut before = BTreeMap::new();
    let (mut killed, mut ended, mut kept, wanted) = (0, 0, 0, rounds(usual));
    let mut signals = SIGNALS.into_iter().cycle();
    loop {
        let next = match moment.next().unwrap() {
            _ if killed == wanted => Duration::from_secs(600),
            // Every third run lives longer, so that cells are recorded.
            early if killed % 3 == 0 => 4 * early,
            early => early,
        };
        let words = if last_run(home).is_some() {
            &resume[..]
        } else {
            args
        };
        let code = if killed == wanted {
            kill_at(home, words, next)
        } else {
            signal_at(home, words, next, signals.next().unwrap())
        };
        if code.is_some() {
            assert_journal_empty(home);
        }
        assert_nothing_left(home);
        let result = last_run(home);
        let now = recorded(result.as_ref());
        for (index, cell) in &before {
            assert_eq!(now.get(index), Some(cell), "cell {index} was recorded");
        }
        for cell in now.values() {
            assert_eq!(cell["outcome"]["outcome"], "measured", "{cell}");
        }
        if matches!(code, None | Some(INTERRUPTED)) {
            assert!(killed < wanted, "it hangs: {}", home.output());
            killed += 1;
            kept += u64::from(!now.is_empty());
            before = now;
            continue;
        }
        assert_eq!(code, Some(0), "{}", home.output());
        let cells = planned(&result.unwrap());
        assert!(now.into_keys().eq(0..cells), "each cell is there once");
        let data = home.path("data/fsdyno");
        assert_eq!(files_in(&data), [data.join("fsdyno.db")]);
        ended += 1;
        if killed >= wanted {
            break;
        }
        fs::remove_dir_all(&data).unwrap();
        before.clear();
    }
    println!("{killed} kills, {kept} with cells recorded, {ended} runs complete");
}
