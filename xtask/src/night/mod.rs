//! What is too long for `.ci/run`: full sizes of simulations and campaigns, searches and benches. The
//! last result is the page NIGHT.md.

mod page;
mod parts;
mod search;

use crate::system::{Failure, Result, Start, message, target};
use page::Machine;
use parts::{PARTS, Part};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PAGE: &str = "NIGHT.md";

/// What runs, and how much of it.
pub struct Options {
    /// In the order of [`PARTS`].
    parts: Vec<&'static Part>,
    scale: Scale,
    /// Time of each fuzz target, and of each file system of the crash search.
    minutes: u32,
    /// Seed of fuzzing, of the times of kills, of property tests and of programs.
    seed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// The sizes of `./x test`.
    Small,
    Full,
}

impl Scale {
    fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Full => "full",
        }
    }
}

/// What a part returned.
pub struct Report {
    passed: bool,
    /// What was counted, on one line.
    counts: String,
    /// Failures, findings and missing requirements, one a line.
    details: Vec<String>,
}

/// The result of a part of a night; without a report, it was not run.
pub struct Entry {
    part: &'static Part,
    ran: Option<(Report, Duration)>,
}

/// Runs the parts and fails if a part failed. A failed part does not stop the others. The page is
/// written after each part, so that an interrupted night is not lost.
pub fn night(start: &Start, words: &[String]) -> Result {
    let options = parse(words)?;
    let machine = Machine::read()?;
    let mut entries = PARTS.each_ref().map(|part| Entry { part, ran: None });
    let mut passed = true;
    for entry in 0..PARTS.len() {
        let part = entries[entry].part;
        if !options.parts.iter().any(|chosen| chosen.name == part.name) {
            continue;
        }
        println!("== {}", part.name);
        let began = Instant::now();
        let report = (part.run)(start, &options).unwrap_or_else(|failure| Report {
            passed: false,
            counts: String::new(),
            details: vec![describe(&failure)],
        });
        println!("== {}: {}", part.name, verdict(&report));
        passed &= report.passed;
        entries[entry].ran = Some((report, began.elapsed()));
        let text = page::render(&machine, &options, &entries);
        fs::write(PAGE, text).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    message(format!("wrote {PAGE}"));
    if passed {
        return Ok(());
    }
    Err(Failure::printed(1))
}

fn verdict(report: &Report) -> &'static str {
    if report.passed { "passed" } else { "failed" }
}

fn describe(failure: &Failure) -> String {
    if failure.message.is_empty() {
        format!("exit status {}, see its output", failure.status)
    } else {
        failure.message.clone()
    }
}

fn parse(words: &[String]) -> Result<Options> {
    let mut options = Options {
        parts: Vec::new(),
        scale: Scale::Full,
        minutes: 5,
        seed: seconds_since_1970(),
    };
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|value| value.parse().ok());
            let value = value.filter(|value: &u32| *value > 0);
            value.ok_or_else(|| Failure::from(format!("{word} takes a number")))
        };
        match word {
            "--minutes" => options.minutes = number()?,
            "--seed" => options.seed = number()?,
            "--scale" => {
                options.scale = match words.next() {
                    Some("small") => Scale::Small,
                    Some("full") => Scale::Full,
                    _ => return Err("--scale is small or full".into()),
                }
            }
            name => options.parts.push(part(name)?),
        }
    }
    if options.parts.is_empty() {
        options.parts = PARTS.iter().collect();
    }
    Ok(options)
}

fn part(name: &str) -> Result<&'static Part> {
    let found = PARTS.iter().find(|part| part.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        format!("no part `{name}`; there are {}", names.join(", ")).into()
    })
}

fn seconds_since_1970() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(1, |now| now.as_secs());
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

fn output_directory() -> Result<PathBuf> {
    let directory = target().join("night");
    fs::create_dir_all(&directory).map_err(crate::system::at(&directory))?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn without_names_all_parts_run_at_full_scale() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.parts.len(), PARTS.len());
        assert_eq!((options.scale, options.minutes), (Scale::Full, 5));
        assert!(options.seed > 0);
    }

    #[test]
    fn named_parts_and_sizes_restrict_it() {
        let text = "fuzz kills --scale small --minutes 2 --seed 7";
        let options = parse(&words(text)).unwrap();
        let names: Vec<&str> = options.parts.iter().map(|part| part.name).collect();
        assert_eq!(names, ["fuzz", "kills"]);
        assert_eq!(
            (options.scale, options.minutes, options.seed),
            (Scale::Small, 2, 7)
        );
    }

    #[test]
    fn wrong_words_are_refused() {
        for (text, expected) in [
            ("fuz", "no part `fuz`; there are simulations"),
            ("--minutes", "--minutes takes a number"),
            ("--minutes 0", "--minutes takes a number"),
            ("--seed x", "--seed takes a number"),
            ("--scale big", "--scale is small or full"),
        ] {
            let Err(failure) = parse(&words(text)) else {
                panic!("{text} is accepted");
            };
            assert!(failure.message.starts_with(expected), "{}", failure.message);
        }
    }
}
