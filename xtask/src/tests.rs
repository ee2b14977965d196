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
use std::time::{Duration, Instant, SystemTime};

/// A group, its name, the targets of cargo, and what it needs.
type Row = (Group, &'static str, &'static [&'static str], &'static str);

/// Groups of tests, in the order of running.
///
/// Test programs with requirements have names that begin with `lab`.
const GROUPS: [Row; 4] = [
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
        "Slurm, sshd, an MPI library",
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
    output: String,
}

pub struct Selection {
    groups: Vec<Row>,
    /// Parts of names; every test of the groups if there are none.
    parts: Vec<String>,
    /// Whether ignored tests run too.
    pub ignored: bool,
    pub environment: Vec<(&'static str, String)>,
}

impl Selection {
    /// Reads names of groups and parts of names of tests.
    pub fn parse(words: &[String]) -> Self {
        let named = |word: &String| GROUPS.into_iter().find(|(_, name, ..)| name == word);
        let mut groups: Vec<_> = words.iter().filter_map(named).collect();
        if words.iter().any(|word| word == "all") {
            groups = GROUPS.to_vec();
        } else if groups.is_empty() {
            groups = vec![GROUPS[0]];
        }
        let parts = words
            .iter()
            .filter(|word| named(word).is_none() && *word != "all");
        Self {
            groups,
            parts: parts.cloned().collect(),
            ignored: false,
            environment: Vec::new(),
        }
    }

    /// The targets of cargo: those of the parts if each begins with a crate and a test program of it,
    /// such as `stats simulation`; else those of the groups.
    fn targets(&self) -> Vec<&str> {
        let programs: Option<BTreeSet<&str>> =
            self.parts.iter().map(|part| program(part)).collect();
        let programs = programs.unwrap_or_default();
        if programs.is_empty() {
            let targets = self.groups.iter().flat_map(|group| group.2);
            return targets.copied().collect();
        }
        programs
            .into_iter()
            .flat_map(|name| ["--test", name])
            .collect()
    }

    fn contains(&self, test: &Test<'_>) -> bool {
        let name = test.full_name();
        let part = |part: &String| name.contains(part);
        self.groups.iter().any(|group| group.0 == test.group)
            && (self.parts.is_empty() || self.parts.iter().any(part))
    }

    /// Returns an error for a part that is in no name.
    fn check(&self, tests: &[Test<'_>]) -> Result<(), String> {
        let names: Vec<String> = tests.iter().map(Test::full_name).collect();
        let unknown = |part: &&String| !names.iter().any(|name| name.contains(*part));
        let Some(part) = self.parts.iter().find(unknown) else {
            return Ok(());
        };
        let groups: Vec<&str> = self.groups.iter().map(|group| group.1).collect();
        Err(format!(
            "`{part}` is neither a group ({}) nor in the name of a test of {}; `./x test all {part}` searches \
             all groups",
            GROUPS.map(|group| group.1).join(", "),
            groups.join(", ")
        ))
    }
}

/// The test program that a part of a name begins with, after its crate.
fn program(part: &str) -> Option<&str> {
    let (krate, rest) = part.split_once(' ')?;
    let name = rest.split(' ').next()?;
    let tests = Path::new("crates").join(krate).join("tests");
    let exists = tests.join(name).is_dir() || tests.join(format!("{name}.rs")).is_file();
    exists.then_some(name)
}

/// What tests returned.
pub struct Summary {
    pub tests: usize,
    pub failed: Vec<String>,
    /// Lines that name a missing requirement.
    pub skipped: BTreeSet<String>,
    /// What the tests printed.
    pub output: String,
}

impl Summary {
    fn of(outcomes: &[Outcome<'_>]) -> Self {
        let failed = outcomes.iter().filter(|outcome| !outcome.passed);
        let output: String = outcomes
            .iter()
            .map(|outcome| outcome.output.as_str())
            .collect();
        let skipped = output
            .lines()
            .filter_map(|line| line.find("SKIP ").map(|at| line[at..].to_owned()));
        Self {
            tests: outcomes.len(),
            failed: failed.map(|outcome| outcome.test.full_name()).collect(),
            skipped: skipped.collect(),
            output,
        }
    }
}

/// Runs tests. A part of a name that no test has is an error.
pub fn test(selection: &Selection) -> Result<Summary, String> {
    let groups = &selection.groups;
    let programs = build(&selection.targets())?;
    let mut lists = Vec::new();
    for program in &programs {
        let whole = WHOLE.contains(&program.name.as_str());
        let tests = if whole {
            vec![String::new()]
        } else {
            program.tests(selection.ignored)?
        };
        lists.push((program, tests));
    }
    let directory = programs
        .first()
        .and_then(|program| program.path.parent()?.parent());
    let directory = directory.ok_or("there are no tests")?.to_owned();
    let mut tests: Vec<Test<'_>> = lists
        .iter()
        .flat_map(|(program, names)| {
            names.iter().map(move |name| Test {
                program,
                name,
                group: Group::of(program, name),
            })
        })
        .filter(|test| selection.contains(test))
        .collect();
    selection.check(&tests)?;
    let mut environment = selection.environment.clone();
    let mut of_kernel = String::new();
    if groups
        .iter()
        .any(|group| matches!(group.0, Group::Lab | Group::Cluster))
    {
        let kernel;
        (kernel, of_kernel) = need_lab_kernel(&directory.join("fsdyno"));
        environment.push(("FSDYNO_LAB_KERNEL", kernel));
    }
    let mut recorded = times(&directory.join("test-times"));
    tests.sort_by_key(|test| std::cmp::Reverse(expected_ms(test, &recorded)));
    let outcomes = run_all(&tests, &directory, &environment)?;
    // Other sizes take other times.
    if selection.environment.is_empty() {
        for outcome in &outcomes {
            recorded.insert(outcome.test.full_name(), outcome.took.as_millis());
        }
        record(&directory.join("test-times"), &recorded)?;
    }
    let summary = Summary::of(&outcomes);
    print_summary(&outcomes, &summary, groups);
    print!("{of_kernel}");
    for (_, name, _, needs) in GROUPS.iter().filter(|group| !groups.contains(group)) {
        println!("not run: {name}, which needs {needs}: ./x test {name}");
    }
    Ok(summary)
}

/// The lab kernel, and a line for the summary: its build is time of no test.
fn need_lab_kernel(fsdyno: &Path) -> (String, String) {
    let (began, now) = (Instant::now(), SystemTime::now());
    let kernel = lab_kernel(fsdyno);
    let linked = fs::metadata(&kernel).and_then(|file| file.modified());
    let line = match linked {
        Err(_) => "lab kernel: none\n".to_owned(),
        Ok(at) if at < now => "lab kernel: from the cache\n".to_owned(),
        Ok(_) => format!(
            "lab kernel: not in the cache, built in {}\n",
            seconds(began.elapsed())
        ),
    };
    (kernel, line)
}

/// The time of a test in an earlier run. Without one, tests of the whole program come before those of
/// crates, and these before units.
fn expected_ms(test: &Test<'_>, before: &HashMap<String, u128>) -> u128 {
    let units = test.program.name.ends_with(" units");
    let first = if test.program.name.starts_with("cli ") {
        2_000
    } else {
        1_000
    };
    let unknown = if units { 0 } else { first };
    before.get(&test.full_name()).copied().unwrap_or(unknown)
}

/// Runs the tests, one for each processor at a time. Output is in `test.log` of that directory, that
/// of failures on standard output too.
fn run_all<'a>(
    tests: &[Test<'a>],
    directory: &Path,
    environment: &[(&str, String)],
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
                        let outcome = run(*test, &output, environment)?;
                        let name = test.full_name();
                        let (Ok(mut log), Ok(mut outcomes)) = (log.lock(), outcomes.lock()) else {
                            return Ok(());
                        };
                        let verdict = if outcome.passed { "ok" } else { "FAILED" };
                        let entry = format!(
                            "test {name} ... {verdict}, {}\n{}",
                            seconds(outcome.took),
                            outcome.output
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
    environment: &[(&str, String)],
) -> Result<Outcome<'a>, String> {
    let failed = |error| format!("{}: {error}", test.full_name());
    let file = File::create(output).map_err(failed)?;
    let began = Instant::now();
    let mut command = test.program.command();
    if !test.name.is_empty() {
        command.args(["--exact", "--nocapture", "--include-ignored", test.name]);
    }
    let status = command
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .status()
        .map_err(failed)?;
    let took = began.elapsed();
    let printed = fs::read(output).map_err(failed)?;
    let _ = fs::remove_file(output);
    Ok(Outcome {
        test,
        took,
        passed: status.success(),
        output: String::from_utf8_lossy(&printed).into_owned(),
    })
}

fn print_summary(outcomes: &[Outcome<'_>], summary: &Summary, groups: &[Row]) {
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
    let skipped = &summary.skipped;
    println!(
        "\nskipped because a requirement is missing: {}",
        skipped.len()
    );
    for line in skipped {
        println!("{line}");
    }
    for name in &summary.failed {
        println!("FAILED {name}");
    }
    for (group, name, ..) in groups {
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

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn program(name: &str) -> Program {
        Program {
            name: name.to_owned(),
            path: PathBuf::new(),
            directory: PathBuf::new(),
        }
    }

    fn selection(words: &str) -> Selection {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Selection::parse(&words)
    }

    #[test]
    fn groups_and_parts_of_names_select_tests() {
        let programs = [
            ("cli fast", "inputs::a_pipe"),
            ("cli lab", "kills::a_guest"),
            ("cli lab", "cluster::two_nodes"),
            ("report lab_browser", "opens"),
        ];
        let programs = programs.map(|(name, test)| (program(name), test));
        let tests = programs.iter().map(|(program, name)| Test {
            program,
            name,
            group: Group::of(program, name),
        });
        let selected = |words: &str| -> Vec<&str> {
            let selection = selection(words);
            let chosen = tests.clone().filter(|test| selection.contains(test));
            chosen.map(|test| test.name).collect()
        };
        assert_eq!(selected(""), ["inputs::a_pipe"]);
        assert_eq!(selected("pipe"), ["inputs::a_pipe"]);
        assert_eq!(selected("lab"), ["kills::a_guest"]);
        assert_eq!(selected("cluster browser"), ["cluster::two_nodes", "opens"]);
        assert_eq!(selected("all kills:: opens"), ["kills::a_guest", "opens"]);
        assert_eq!(selected("all").len(), 4);
    }

    #[test]
    fn a_word_that_no_test_has_is_an_error() {
        let program = program("cli lab");
        let test = Test {
            program: &program,
            name: "kills::a_guest",
            group: Group::Lab,
        };
        assert_eq!(selection("lab kills::").check(&[test]), Ok(()));
        assert_eq!(selection("lab").check(&[]), Ok(()));
        let error = selection("lab kills:: kilsl").check(&[test]).unwrap_err();
        assert!(error.starts_with("`kilsl` is neither a group"), "{error}");
        assert!(error.contains("a test of lab;"), "{error}");
    }
}
