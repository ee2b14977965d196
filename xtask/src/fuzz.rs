//! Fuzzing of the readers of foreign bytes.

use crate::system::{Failure, Result, Start, at, cargo, has, host, message, run, target};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// How long each target runs.
struct Limit {
    /// `--seconds` or `--runs`.
    option: String,
    number: String,
    /// 0 draws a random seed.
    seed: String,
}

/// What a target returned.
pub struct Outcome {
    /// One line of figures, or the error.
    pub line: String,
    pub passed: bool,
}

/// Fuzzes all targets, or the named ones.
pub fn fuzz(start: &Start, words: &[String]) -> Result {
    let outcomes = campaign(start, words)?;
    if outcomes.iter().all(|outcome| outcome.passed) {
        return Ok(());
    }
    Err(Failure::printed(1))
}

/// Runs all targets, or the named ones, in parallel: one per processor, at least two.
pub fn campaign(start: &Start, words: &[String]) -> Result<Vec<Outcome>> {
    let (names, limit) = parse(words)?;
    start.need_packages(&["fuzz"])?;
    let directory = build(&names)?;
    let (queue, outcomes) = (Mutex::new(names.iter()), Mutex::new(Vec::new()));
    let jobs = thread::available_parallelism().map_or(2, |number| number.get().max(2));
    let work = || {
        loop {
            let Some(name) = queue.lock().ok().and_then(|mut queue| queue.next()) else {
                return;
            };
            let outcome = fuzz_target(name, &limit, &directory).unwrap_or_else(|failure| {
                let line = format!("{name}: {}", failure.message);
                message(&line);
                let passed = false;
                Outcome { line, passed }
            });
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes.push(outcome);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    outcomes
        .into_inner()
        .map_err(|error| error.to_string().into())
}

/// The names of all targets: the directories of the corpus.
pub fn targets() -> Result<Vec<String>> {
    let corpus = Path::new("fuzz/corpus");
    let entries = fs::read_dir(corpus).map_err(at(corpus))?.flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}

fn parse(words: &[String]) -> Result<(Vec<String>, Limit)> {
    let all = targets()?;
    let mut names = Vec::new();
    let (mut option, mut number, mut seed) = ("--seconds", "60", "0");
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--seconds" | "--runs" | "--seed" => {
                let value = words.next().unwrap_or_default();
                let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                if !digits || value.is_empty() || value.starts_with('0') {
                    return Err(format!("{word} takes a number").into());
                }
                if word == "--seed" {
                    seed = value;
                } else {
                    (option, number) = (word, value);
                }
            }
            name if all.iter().any(|known| known == name) => names.push(name.to_owned()),
            name => {
                return Err(format!("no fuzz target `{name}`; there are {}", all.join(" ")).into());
            }
        }
    }
    let limit = Limit {
        option: option.to_owned(),
        number: number.to_owned(),
        seed: seed.to_owned(),
    };
    Ok((if names.is_empty() { all } else { names }, limit))
}

/// Builds these targets with libFuzzer if there is a C++ compiler, else with the plain driver. Returns
/// the directory of the programs. The flags are those of `cargo fuzz run --sanitizer none`: any stable
/// rustc takes them.
fn build(names: &[String]) -> Result<PathBuf> {
    let (host, output) = (host()?, target().join("fuzz"));
    let mut build = cargo(&["build", "--release", "--locked"]);
    build
        .args(["--manifest-path", "fuzz/drivers/Cargo.toml", "--target-dir"])
        .arg(&output);
    // With --target, build scripts and macros are built without these flags.
    build.args(["--target", &host]);
    if has("c++") {
        let pass = "-Cllvm-args=-sanitizer-coverage";
        let flags = format!(
            "-Cpasses=sancov-module {pass}-level=4 {pass}-inline-8bit-counters {pass}-pc-table \
             {pass}-trace-compares --cfg fuzzing"
        );
        build.env("RUSTFLAGS", flags);
        build.args(names.iter().map(|name| format!("--bin={name}")));
    } else {
        message("no C++ compiler: fuzzing with plain mutations, without coverage");
        build.args(["--no-default-features", "--bin=plain"]);
    }
    run(&mut build)?;
    let programs = output.join(host).join("release");
    programs.canonicalize().map_err(at(&programs))
}

/// Runs one target and prints one line of figures. New inputs of libFuzzer stay in the build
/// directory; an input that fails is kept in fuzz/artifacts and printed in Base64.
fn fuzz_target(name: &str, limit: &Limit, programs: &Path) -> Result<Outcome> {
    let (found, log) = (
        target().join("fuzz/corpus").join(name),
        target().join(format!("fuzz/{name}.log")),
    );
    let artifacts = format!("fuzz/artifacts/{name}");
    for directory in [found.as_path(), Path::new(&artifacts)] {
        fs::create_dir_all(directory).map_err(at(directory))?;
    }
    let coverage = has("c++");
    let Limit {
        option,
        number,
        seed,
    } = limit;
    let mut command = if coverage {
        let option = if option == "--runs" {
            "-runs"
        } else {
            "-max_total_time"
        };
        let mut command = Command::new(programs.join(name));
        command.args([format!("{option}={number}"), format!("-seed={seed}")]);
        command.args([
            "-max_len=4096",
            "-timeout=60",
            "-rss_limit_mb=1024",
            "-print_final_stats=1",
        ]);
        command
            .arg(format!("-artifact_prefix={artifacts}/"))
            .arg(&found)
            .arg(format!("fuzz/corpus/{name}"));
        command
    } else {
        let mut command = Command::new(programs.join("plain"));
        command.args([name, option, number]);
        if seed != "0" {
            command.args(["--seed", seed]);
        }
        command
    };
    let output = File::create(&log).map_err(at(&log))?;
    command
        .stdout(output.try_clone().map_err(at(&log))?)
        .stderr(output);
    let outcome = run(&mut command);
    let text = String::from_utf8_lossy(&fs::read(&log).map_err(at(&log))?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let line = if coverage {
        format!("{name}: {}", figures(&lines))
    } else {
        (*lines.last().unwrap_or(&"")).to_owned()
    };
    println!("{line}");
    if outcome.is_ok() {
        let passed = true;
        return Ok(Outcome { line, passed });
    }
    let error = |line: &&str| line.contains(" panicked at ") || is_sanitizer_error(line);
    let excerpt = match lines.iter().position(error) {
        Some(first) => &lines[first..lines.len().min(first + 5)],
        None => &lines[lines.len().saturating_sub(30)..],
    };
    println!("{}", excerpt.join("\n"));
    let _ = run(Command::new("sh").args(["-c", "base64 -- \"$1\"/*", "sh", &artifacts]));
    message(format!(
        "{name}: finding; the input is in {artifacts}, above in Base64"
    ));
    let reason = excerpt.first().unwrap_or(&"");
    Ok(Outcome {
        line: format!("{line}; the input is in {artifacts}: {reason}"),
        passed: false,
    })
}

/// Whether a line is `==123== ERROR: ...`.
fn is_sanitizer_error(line: &str) -> bool {
    let rest = line
        .strip_prefix("==")
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix("=="))
        .is_some_and(|rest| rest.trim_start().starts_with("ERROR"))
}

/// The number of inputs, their rate, and the edges that were covered, from a log of libFuzzer.
fn figures(lines: &[&str]) -> String {
    let mut figures = ["0", "0", "0"];
    for line in lines {
        let mut words = line.split_whitespace();
        let at = match words.next() {
            Some("stat::number_of_executed_units:") => 0,
            Some("stat::average_exec_per_sec:") => 1,
            _ if words.any(|word| word == "cov:") => 2,
            _ => continue,
        };
        figures[at] = words.next().unwrap_or("0");
    }
    format!(
        "{} inputs, {}/s, {} edges",
        figures[0], figures[1], figures[2]
    )
}
