//! The parts of a night.

use super::{Options, Report, Scale, output_directory, search};
use crate::system::{Result, Start};
use crate::tests::{Selection, Summary};
use crate::{bench, fuzz, mpi, tests};

/// A part: its name, what it checks, and how it runs.
pub struct Part {
    pub name: &'static str,
    pub content: &'static str,
    pub run: fn(&Start, &Options) -> Result<Report>,
}

/// All parts, in the order of running. `digests` comes before those that load the machine.
pub const PARTS: [Part; 11] = [
    Part {
        name: "simulations",
        content: "error rates and coverage of verdicts, in thousands of simulated runs",
        run: simulations,
    },
    Part {
        name: "brute-force",
        content: "crash states and contents of the model disk, compared with their definitions",
        run: brute_force,
    },
    Part {
        name: "digests",
        content: "cells in virtual time have the recorded digests",
        run: digests,
    },
    Part {
        name: "subsets",
        content: "a cell in virtual time is the same among any other contenders",
        run: subsets,
    },
    Part {
        name: "advice",
        content: "advice that varies the models, interrupted and resumed",
        run: advice,
    },
    Part {
        name: "kills",
        content: "fsdyno, guests and servers of disks are killed at random times",
        run: kills,
    },
    Part {
        name: "search",
        content: "random programs and their crash states on the file systems of the lab kernel",
        run: search::search,
    },
    Part {
        name: "published",
        content: "programs after published crash tests accuse only whom they should",
        run: published,
    },
    Part {
        name: "fuzz",
        content: "every reader of foreign bytes",
        run: fuzz_targets,
    },
    Part {
        name: "mpi",
        content: "fsdyno-mpi with each MPI library",
        run: mpi_libraries,
    },
    Part {
        name: "bench",
        content: "`./x bench`: fsdyno compared with other programs",
        run: benches,
    },
];

/// Runs tests that `./x test` would choose by these words.
fn run_tests(
    start: &Start,
    words: &[&str],
    ignored: bool,
    environment: Vec<(&'static str, String)>,
) -> Result<Summary> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    crate::need_groups(start, &words)?;
    let mut selection = Selection::parse(&words);
    selection.ignored = ignored;
    selection.environment = environment;
    tests::test(&selection).map_err(Into::into)
}

fn report(summary: &Summary, also: &str) -> Report {
    let failed = summary.failed.iter().map(|name| format!("failed: {name}"));
    let details = failed.chain(summary.skipped.iter().cloned());
    Report {
        passed: summary.failed.is_empty(),
        counts: format!(
            "{} tests, {} failed, {} requirements missing{also}",
            summary.tests,
            summary.failed.len(),
            summary.skipped.len()
        ),
        details: details.collect(),
    }
}

/// The variable of a number of rounds or cases; none at the small scale.
fn size(options: &Options, name: &'static str, full: u32) -> Vec<(&'static str, String)> {
    match options.scale {
        Scale::Small => Vec::new(),
        Scale::Full => vec![(name, full.to_string())],
    }
}

fn simulations(start: &Start, options: &Options) -> Result<Report> {
    let words = ["stats simulation "];
    let ignored = options.scale == Scale::Full;
    let summary = run_tests(start, &words, ignored, Vec::new())?;
    Ok(report(&summary, ""))
}

fn brute_force(start: &Start, options: &Options) -> Result<Report> {
    let words = ["crash brute_force ", "disk contents "];
    let mut environment = size(options, "FSDYNO_CASES", 100);
    let times = environment.first().map_or("1", |(_, times)| times);
    let times = format!(", {times} times the usual number of cases");
    environment.push(("PROPTEST_RNG_SEED", options.seed.to_string()));
    let summary = run_tests(start, &words, false, environment)?;
    Ok(report(&summary, &times))
}

fn digests(start: &Start, _: &Options) -> Result<Report> {
    let environment = vec![("FSDYNO_DIGESTS", "require".to_owned())];
    let summary = run_tests(start, &["lab", "cli lab digest::"], false, environment)?;
    Ok(report(&summary, ""))
}

fn subsets(start: &Start, options: &Options) -> Result<Report> {
    let mut environment = size(options, "FSDYNO_SUBSETS", 60);
    let rounds = environment
        .first()
        .map_or("2", |(_, number)| number)
        .to_owned();
    environment.push(("FSDYNO_SEED", options.seed.to_string()));
    let summary = run_tests(start, &["lab", "cli lab subsets::"], false, environment)?;
    Ok(report(&summary, &format!(", {rounds} runs compared")))
}

fn advice(start: &Start, _: &Options) -> Result<Report> {
    let environment = vec![("FSDYNO_ROBUST", "1".to_owned())];
    let words = ["lab", "cli lab advise::an_interrupted_advice"];
    let summary = run_tests(start, &words, false, environment)?;
    Ok(report(&summary, ""))
}

fn kills(start: &Start, options: &Options) -> Result<Report> {
    let words = [
        "lab",
        "cli lab kills::",
        "cli lab kill_campaign::",
        "cli lab bisect::a_search_that_is_ended_by_signals",
    ];
    let mut environment = size(options, "FSDYNO_KILL_ROUNDS", 40);
    environment.push(("FSDYNO_SEED", options.seed.to_string()));
    let summary = run_tests(start, &words, false, environment)?;
    let kills = kills_in(&summary.output);
    Ok(report(&summary, &format!(", {kills} kills")))
}

fn published(start: &Start, options: &Options) -> Result<Report> {
    let environment = size(options, "FSDYNO_PUBLISHED", 1000);
    let words = ["lab", "cli lab explore::published_crash_tests"];
    let summary = run_tests(start, &words, false, environment)?;
    Ok(report(&summary, ""))
}

/// Adds the numbers of kills and cancellations that tests print, such as `4 kills, 2 cancelled`.
fn kills_in(output: &str) -> u64 {
    let number = |line: &str| -> u64 {
        let words: Vec<&str> = line.split([' ', ',']).collect();
        let places = words.windows(3).filter_map(|words| {
            let counted = |word: &str| ["kills", "killed", "cancelled"].contains(&word);
            let direct = counted(words[1]);
            let guests = words[1] == "guests" && counted(words[2]);
            (direct || guests).then(|| words[0].parse::<u64>().ok())?
        });
        places.sum()
    };
    output.lines().map(number).sum()
}

fn fuzz_targets(start: &Start, options: &Options) -> Result<Report> {
    let seconds = (60 * options.minutes).to_string();
    let words = ["--seconds", &seconds, "--seed", &options.seed.to_string()].map(str::to_owned);
    let outcomes = fuzz::campaign(start, &words)?;
    let inputs = outcomes.iter().filter_map(|outcome| {
        let words: Vec<&str> = outcome.line.split(' ').collect();
        words.get(1)?.parse::<u64>().ok()
    });
    let failed = outcomes.iter().filter(|outcome| !outcome.passed);
    Ok(Report {
        passed: failed.clone().count() == 0,
        counts: format!(
            "{} targets, {} failed, {} inputs",
            outcomes.len(),
            failed.clone().count(),
            inputs.sum::<u64>()
        ),
        details: failed.map(|outcome| outcome.line.clone()).collect(),
    })
}

fn mpi_libraries(start: &Start, _: &Options) -> Result<Report> {
    start.need_packages(&["cluster", "mpi", "mpich"])?;
    let tested = mpi::test(true)?;
    Ok(Report {
        passed: !tested.is_empty(),
        counts: format!("libraries: {}", tested.join(", ")),
        details: Vec::new(),
    })
}

/// At the small scale BENCHMARKS.md remains.
fn benches(start: &Start, options: &Options) -> Result<Report> {
    let mut words = Vec::new();
    let mut page = "BENCHMARKS.md".to_owned();
    if options.scale == Scale::Small {
        page = output_directory()?.join("bench.md").display().to_string();
        words = ["--quick", "--output", &page].map(str::to_owned).to_vec();
    }
    bench::bench(start, &words)?;
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{page}: {error}"))?;
    let goals = text
        .lines()
        .find(|line| line.contains(" goals are reached"));
    let goals = goals.and_then(|line| line.split_once(" are reached"));
    Ok(Report {
        passed: true,
        counts: goals.map_or(String::new(), |(number, _)| format!("{number} reached")),
        details: Vec::new(),
    })
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn the_kills_of_all_tests_are_added() {
        let output = "running 1 test\n\
            12 kills, 5 with cells recorded, 2 runs complete\n\
            run: 3 killed, 4 cancelled, 1 to their end\n\
            6 guests killed, 5 cells failed\n\
            test a_killed_guest ... ok\n";
        assert_eq!(kills_in(output), 12 + 3 + 4 + 6);
    }
}
