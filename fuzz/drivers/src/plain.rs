//! The plain driver: runs every input of the corpus, then mutations of them, without coverage.
//!
//! `plain TARGET [--runs N | --seconds N] [--seed N]`; without a limit, the corpus alone. An input
//! that fails is written to `fuzz/artifacts/TARGET/` before the panic is passed on.

use fsdyno_fuzz::mutate::{Random, mutated};
use fsdyno_fuzz::{Target, corpus, find, run};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The longest mutated input.
const LONGEST: usize = 4096;

/// When to end.
#[derive(Default)]
struct Limit {
    runs: u64,
    time: Duration,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Ok((target, limit, seed)) => fuzz(target, &limit, seed),
        Err(why) => {
            eprintln!("{why}\nusage: plain TARGET [--runs N | --seconds N] [--seed N]");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Result<(&'static Target, Limit, u64), String> {
    let (name, options) = arguments.split_first().ok_or("no target is named")?;
    let target = find(name).ok_or_else(|| format!("no target is named {name}"))?;
    let (mut limit, mut seed) = (Limit::default(), 1);
    for pair in options.chunks(2) {
        let [option, value] = pair else {
            return Err(format!("{} needs a number", pair[0]));
        };
        let number = value.parse().map_err(|_| format!("{value} is no number"))?;
        match option.as_str() {
            "--runs" => limit.runs = number,
            "--seconds" => limit.time = Duration::from_secs(number),
            "--seed" => seed = number,
            _ => return Err(format!("unknown option {option}")),
        }
    }
    Ok((target, limit, seed))
}

fn fuzz(target: &'static Target, limit: &Limit, seed: u64) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kept = corpus(target);
    if kept.is_empty() {
        eprintln!("{} has no corpus", target.name);
        return ExitCode::FAILURE;
    }
    let begin = Instant::now();
    let mut runs = 0;
    let try_one = |input: &[u8]| {
        let tried = catch_unwind(AssertUnwindSafe(|| run(target, input)));
        tried.is_ok() || {
            keep(&root.join("artifacts").join(target.name), input);
            false
        }
    };
    for input in &kept {
        runs += 1;
        if !try_one(input) {
            return ExitCode::FAILURE;
        }
    }
    let mut random = Random::new(seed);
    while runs < limit.runs || begin.elapsed() < limit.time {
        let (from, other) = (random.index(kept.len()), random.index(kept.len()));
        let input = mutated(&mut random, &kept[from], &kept[other], LONGEST);
        runs += 1;
        if !try_one(&input) {
            return ExitCode::FAILURE;
        }
    }
    let rate = runs as f64 / begin.elapsed().as_secs_f64().max(1e-9);
    println!("{}: {runs} inputs, {rate:.0}/s, no finding", target.name);
    ExitCode::SUCCESS
}

/// Writes an input that failed to a file named by its CRC-32.
fn keep(folder: &Path, input: &[u8]) {
    let path = folder.join(format!("crash-{:08x}", crc32fast::hash(input)));
    match fs::create_dir_all(folder).and_then(|()| fs::write(&path, input)) {
        Ok(()) => eprintln!("the input is {}", path.display()),
        Err(error) => eprintln!("cannot write {}: {error}", path.display()),
    }
}
