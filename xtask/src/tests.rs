//! Runs the tests of all programs side by side, each in a process of its own, slow ones first.

use crate::kernels::lab_kernel;
use crate::programs::{Program, build};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Groups of tests, in the order of running: the name, the targets of cargo, and what they need.
///
/// Test programs with requirements have names that begin with `lab`.
const GROUPS: [(Group, &str, &[&str], &str); 4] = [
    (
        Group::Fast,
        "fast",
        &["--lib", "--bins", "--test", "[!l]*"],
        "Rust alone",
    ),
    (
        Group::Lab,
        "lab",
        &["--test", "lab*"],
        "root, loop devices, kernels of guests",
    ),
    (
        Group::Cluster,
        "cluster",
        &["--test", "lab"],
        "Slurm, sshd, two MPI libraries",
    ),
    (
        Group::Browser,
        "browser",
        &["--test", "lab_browser"],
        "Chromium",
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Fast,
    Lab,
    Cluster,
    Browser,
}

impl Group {
    /// The group of a test.
    fn of(program: &Program, test: &str) -> Self {
        match program.name.rsplit(' ').next().unwrap_or_default() {
            "lab_browser" => Self::Browser,
            "lab" if test.starts_with("cluster::") || test.starts_with("ssh::") => Self::Cluster,
            name if name.starts_with("lab") => Self::Lab,
            _ => Self::Fast,
        }
    }
}

/// Programs that run as a whole, as one test: their tests share what takes longest.
const WHOLE: [&str; 1] = ["cli tidy"];

/// A test: its program and its name in it.
#[derive(Clone, Copy)]
struct Test<'a> {
    program: &'a Program,
    /// Empty if the program is run as a whole.
    name: &'a str,
    group: Group,
}

impl Test<'_> {
    fn full_name(&self) -> String {
        format!("{} {}", self.program.name, self.name)
    }
}

struct Outcome<'a> {
    test: Test<'a>,
    took: Duration,
    passed: bool,
    skipped: BTreeSet<String>,
}

/// Runs the tests of the groups whose names contain one of the other words. Returns whether all
/// passed.
pub fn test(words: &[String]) -> Result<bool, String> {
    let named = |word: &String| GROUPS.into_iter().find(|(_, name, ..)| name == word);
    let mut groups: Vec<_> = words.iter().filter_map(named).collect();
    if words.iter().any(|word| word == "all") {
        groups = GROUPS.to_vec();
    } else if groups.is_empty() {
        groups = vec![GROUPS[0]];
    }
    let parts: Vec<&String> = words
        .iter()
        .filter(|word| named(word).is_none() && *word != "all")
        .collect();
    let targets: Vec<&str> = groups.iter().flat_map(|group| group.2).copied().collect();
    let programs = build(&targets)?;
    let mut lists = Vec::new();
    for program in &programs {
        let whole = WHOLE.contains(&program.name.as_str());
        let tests = if whole {
            vec![String::new()]
        } else {
            program.tests()?
        };
        lists.push((program, tests));
    }
    let directory = programs
        .first()
        .and_then(|program| program.path.parent()?.parent());
    let directory = directory.ok_or("there are no tests")?.to_owned();
    let guests = groups
        .iter()
        .any(|group| matches!(group.0, Group::Lab | Group::Cluster));
    let kernel = guests.then(|| lab_kernel(&directory.join("fsdyno")));
    let before = times(&directory.join("test-times"));
    let mut tests: Vec<Test<'_>> = lists
        .iter()
        .flat_map(|(program, names)| {
            names.iter().map(move |name| Test {
                program,
                name,
                group: Group::of(program, name),
            })
        })
        .filter(|test| groups.iter().any(|group| group.0 == test.group))
        .filter(|test| {
            parts.is_empty() || parts.iter().any(|part| test.full_name().contains(*part))
        })
        .collect();
    // Without a time of an earlier run: tests of the whole program, then of crates, then units.
    let expected = |test: &Test<'_>| {
        let units = test.program.name.ends_with(" units");
        let first = if test.program.name.starts_with("cli ") {
            2_000
        } else {
            1_000
        };
        let unknown = if units { 0 } else { first };
        before.get(&test.full_name()).copied().unwrap_or(unknown)
    };
    tests.sort_by_key(|test| std::cmp::Reverse(expected(test)));
    let outcomes = run_all(&tests, &directory, kernel.as_deref())?;
    let mut recorded = before;
    for outcome in &outcomes {
        recorded.insert(outcome.test.full_name(), outcome.took.as_millis());
    }
    record(&directory.join("test-times"), &recorded)?;
    let left: Vec<_> = GROUPS
        .iter()
        .filter(|group| !groups.contains(group))
        .collect();
    print_summary(
        &outcomes,
        &groups
            .iter()
            .map(|group| (group.0, group.1))
            .collect::<Vec<_>>(),
    );
    for (_, name, _, needs) in left {
        println!("not run: {name}, which needs {needs}: ./x test {name}");
    }
    Ok(outcomes.iter().all(|outcome| outcome.passed))
}

/// Runs the tests, one for each processor at a time. Output is in `test.log` of that directory, that
/// of failures on standard output too.
fn run_all<'a>(
    tests: &[Test<'a>],
    directory: &Path,
    kernel: Option<&str>,
) -> Result<Vec<Outcome<'a>>, String> {
    let log = directory.join("test.log");
    let log = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let (queue, log) = (Mutex::new(tests.iter()), Mutex::new(log));
    let outcomes = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                let (queue, log, outcomes) = (&queue, &log, &outcomes);
                let output = directory.join(format!("test.{worker}.out"));
                scope.spawn(move || {
                    loop {
                        let Some(test) = queue.lock().ok().and_then(|mut queue| queue.next())
                        else {
                            return Ok(());
                        };
                        let (outcome, said) = run(*test, &output, kernel)?;
                        let name = test.full_name();
                        let (Ok(mut log), Ok(mut outcomes)) = (log.lock(), outcomes.lock()) else {
                            return Ok(());
                        };
                        let verdict = if outcome.passed { "ok" } else { "FAILED" };
                        let entry = format!(
                            "test {name} ... {verdict}, {}\n{said}",
                            seconds(outcome.took)
                        );
                        log.write_all(entry.as_bytes())
                            .map_err(|error| format!("test.log: {error}"))?;
                        if !outcome.passed {
                            print!("{entry}");
                        }
                        outcomes.push(outcome);
                        let done = outcomes.len();
                        if done.is_multiple_of(100) {
                            println!("{done} of {} tests", tests.len());
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err("a worker panicked".to_owned()))
        })
    })?;
    outcomes.into_inner().map_err(|error| error.to_string())
}

/// Runs one test. Its output goes to a file, because a process that a test leaves would keep a pipe
/// open.
fn run<'a>(
    test: Test<'a>,
    output: &PathBuf,
    kernel: Option<&str>,
) -> Result<(Outcome<'a>, String), String> {
    let failed = |error| format!("{}: {error}", test.full_name());
    let file = File::create(output).map_err(failed)?;
    let began = Instant::now();
    let mut command = test.program.command();
    if let Some(kernel) = kernel {
        command.env("FSDYNO_LAB_KERNEL", kernel);
    }
    if !test.name.is_empty() {
        command.args(["--exact", "--nocapture", test.name]);
    }
    let status = command
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .status()
        .map_err(failed)?;
    let took = began.elapsed();
    let said = String::from_utf8_lossy(&fs::read(output).map_err(failed)?).into_owned();
    let _ = fs::remove_file(output);
    let skipped = said
        .lines()
        .filter_map(|line| line.find("SKIP ").map(|at| line[at..].to_owned()));
    let outcome = Outcome {
        test,
        took,
        passed: status.success(),
        skipped: skipped.collect(),
    };
    Ok((outcome, said))
}

fn print_summary(outcomes: &[Outcome<'_>], groups: &[(Group, &str)]) {
    let mut slowest: Vec<_> = outcomes.iter().collect();
    slowest.sort_by_key(|outcome| std::cmp::Reverse(outcome.took));
    println!("\nthe slowest tests:");
    for outcome in slowest.iter().take(10) {
        println!(
            "{:>10}  {}",
            seconds(outcome.took),
            outcome.test.full_name()
        );
    }
    let skipped: BTreeSet<&String> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.skipped)
        .collect();
    println!(
        "\nskipped because a requirement is missing: {}",
        skipped.len()
    );
    for line in skipped {
        println!("{line}");
    }
    for outcome in outcomes.iter().filter(|outcome| !outcome.passed) {
        println!("FAILED {}", outcome.test.full_name());
    }
    for (group, name) in groups {
        let of = || {
            outcomes
                .iter()
                .filter(|outcome| outcome.test.group == *group)
        };
        let took = of().map(|outcome| outcome.took).sum();
        let failed = of().filter(|outcome| !outcome.passed).count();
        println!(
            "{name}: {} tests, {failed} failed, {} of a processor",
            of().count(),
            seconds(took)
        );
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

/// The times of earlier runs in milliseconds, by test.
fn times(file: &Path) -> HashMap<String, u128> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = |line: &str| {
        let (time, name) = line.split_once(' ')?;
        Some((name.to_owned(), time.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn record(file: &Path, times: &HashMap<String, u128>) -> Result<(), String> {
    let mut text = String::new();
    for (name, time) in times {
        let _ = writeln!(text, "{time} {name}");
    }
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
