//! `sysbench fileio`: requests to a set of files, which are created untimed. Its figures are its
//! rates, and percentiles from its printed histogram: it prints only one percentile, in hundredths
//! of a millisecond.
//!
//! Its files are not cleaned up. They are removed with the contender, and until then their extents
//! can be counted.

use super::printed::{decimal, places, whole};
use super::{Commands, Program, ProgramReport, Task};
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::Parameter;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::Bytes;
use std::collections::BTreeMap;

const NAME: &str = "sysbench";
/// The rate of all its requests: the figure that it is judged by if its duration is fixed.
const EVENTS: &str = "events";

pub static SYSBENCH: Program = Program {
    kind: PhaseKind::standalone(
        "sysbench-fileio",
        "sysbench fileio: read and write requests on a set of prepared files",
        &[
            Parameter::one_of(
                "file-test-mode",
                "seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw",
                &["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"],
            )
            .fixed("rndrw"),
            Parameter::size("file-total-size", "total size of all files").scaled(1 << 30, 16 << 20),
            Parameter::number("file-num", "number of files", 1..=1_000_000).fixed("128"),
            Parameter::size("file-block-size", "size of a request").fixed("16384"),
            Parameter::number("threads", "number of threads", 1..=10_000).fixed("1"),
            Parameter::number("time", "duration in seconds", 1..=1_000_000).fixed("10"),
            Parameter::number(
                "events",
                "number of requests, instead of a duration; 0: no limit",
                0..=u32::MAX as u64,
            )
            .fixed("0"),
            Parameter::one_of(
                "file-io-mode",
                "sync, async or mmap",
                &["sync", "async", "mmap"],
            )
            .fixed("sync"),
            Parameter::one_of(
                "file-extra-flags",
                "flag to open files with: none, sync, dsync or direct",
                &["none", "sync", "dsync", "direct"],
            )
            .fixed("none"),
            Parameter::number(
                "file-fsync-freq",
                "requests between two syncs; 0: never",
                0..=u32::MAX as u64,
            )
            .fixed("100"),
            Parameter::one_of(
                "file-fsync-all",
                "on: sync after each write",
                &["on", "off"],
            )
            .fixed("off"),
            Parameter::one_of("file-fsync-end", "on: sync at the end", &["on", "off"]).fixed("on"),
            Parameter::one_of(
                "file-fsync-mode",
                "fsync or fdatasync",
                &["fsync", "fdatasync"],
            )
            .fixed("fsync"),
            Parameter::one_of(
                "rand-type",
                "where requests go: special (its own default: three quarters to a hundredth), \
                 uniform, gaussian or pareto",
                &["special", "uniform", "gaussian", "pareto"],
            )
            .fixed("special"),
            Parameter::number("rand-seed", "seed of random numbers", 1..=i32::MAX as u64)
                .fixed("1"),
        ],
    ),
    executable: Some((NAME, "sysbench")),
    version: &[NAME, "--version"],
    complete: None,
    commands: |task| Ok(commands(task)),
    read,
    describe,
    data: |parameters| {
        let size = parameters.get("file-total-size")?;
        Some(Bytes(size.parse().ok()?))
    },
    judged: |parameters| (!ends_by_events(parameters)).then(|| EVENTS.to_owned()),
    figures: |_| {
        let rates = ["reads", "writes", "fsyncs", "read", "written"].map(str::to_owned);
        let latencies = ["mean", "p50", "p90", "p99", "p99.9", "max"];
        let latencies = latencies.map(|name| format!("latency {name}"));
        Ok([&[EVENTS.to_owned()][..], &rates, &latencies].concat())
    },
};

/// Whether it ends after a number of requests, instead of a duration.
fn ends_by_events(parameters: &BTreeMap<String, String>) -> bool {
    let events = parameters.get("events");
    events.is_some_and(|events| events != "0")
}

fn describe(task: &Task<'_>) -> String {
    let of = |name| task.value(name);
    let until = match of("events") {
        "" | "0" => format!("{} s given: compare its rates", of("time")),
        events => format!("{events} requests"),
    };
    format!(
        "sysbench fileio, {} of {} B, {} threads, {until}",
        of("file-test-mode"),
        of("file-block-size"),
        of("threads")
    )
}

fn commands(task: &Task<'_>) -> Commands {
    let command = |verb: &str| {
        let mut run = ToolRun::new("", [NAME, "fileio"]);
        let mut add = |name: &str, value: &str| run.argv.push(format!("--{name}={value}").into());
        let by_events = ends_by_events(task.parameters);
        for one in SYSBENCH.kind.parameters {
            match (one.name, task.get(one.name)) {
                (_, None) | ("file-extra-flags", Some("none")) => {}
                ("time", _) if by_events => add("time", "0"),
                (name, Some(value)) => add(name, value),
            }
        }
        if verb == "run" {
            // Without a percentile it prints no histogram.
            add("percentile", "99");
            add("histogram", "on");
        }
        run.argv.push(verb.into());
        run
    };
    Commands {
        before: vec![command("prepare")],
        service: None,
        timed: command("run"),
    }
}

/// The lines of the report, each searched after the previous one.
struct Report<'a> {
    lines: std::str::SplitInclusive<'a, char>,
}

impl Report<'_> {
    /// The numbers in the placeholders of the next line that matches a pattern, ignoring blanks.
    fn decimals(&mut self, pattern: &str) -> Result<Vec<f64>, String> {
        let single_spaced = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ")
        };
        self.lines
            .find_map(|line| {
                let line = single_spaced(line.strip_suffix('\n')?);
                let found = places(&line, pattern)?;
                found.into_iter().map(decimal).collect()
            })
            .ok_or_else(|| format!("it has no line `{}`", pattern.replace("{}", "..")))
    }

    fn decimal(&mut self, pattern: &str) -> Result<f64, String> {
        Ok(self.decimals(pattern)?[0])
    }
}

/// A class of the histogram: latency in milliseconds, number of requests.
type Histogram = Vec<(f64, u64)>;

/// The rows of the histogram: `0.001 |****   149`.
fn histogram(text: &str) -> Result<Histogram, String> {
    let mut rows: Histogram = Vec::new();
    for line in text.lines() {
        let Some((latency, bar)) = line.split_once('|') else {
            continue;
        };
        let row = || {
            let count = bar.split_whitespace().next_back()?;
            Some((decimal(latency.trim())?, whole(count)?))
        };
        let row = row().ok_or_else(|| format!("`{line}` is no row of its histogram"))?;
        if rows.last().is_some_and(|before| before.0 > row.0) {
            return Err(format!("the row `{line}` of its histogram is out of order"));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The latency at a percentile of all requests.
fn at_share(rows: &Histogram, share: f64) -> Option<f64> {
    let all: u64 = rows.iter().map(|row| row.1).sum();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count of requests"
    )]
    let wanted = (all as f64 * share).ceil() as u64;
    let mut seen = 0;
    rows.iter()
        .find(|row| {
            seen += row.1;
            seen >= wanted
        })
        .map(|row| row.0)
}

fn read(text: &str) -> Result<ProgramReport, String> {
    let (before, figures) = text
        .split_once("\nFile operations:\n")
        .ok_or("there is no report in it")?;
    let rows = histogram(before)?;
    let mut lines = Report {
        lines: figures.split_inclusive('\n'),
    };
    let mut report = ProgramReport::default();
    for (pattern, name, unit) in [
        ("reads/s: {}", "reads", "1/s"),
        ("writes/s: {}", "writes", "1/s"),
        ("fsyncs/s: {}", "fsyncs", "1/s"),
        ("read, MiB/s: {}", "read", "MiB/s"),
        ("written, MiB/s: {}", "written", "MiB/s"),
    ] {
        let rate = lines.decimal(pattern)?;
        // No request of that kind.
        if rate > 0.0 {
            report
                .figures
                .push(Figure::new(name, rate, unit, Better::Higher));
        }
    }
    let seconds = lines.decimal("total time: {}s")?;
    let events = lines.decimal("total number of events: {}")?;
    let (most, sum) = (lines.decimal("max: {}")?, lines.decimal("sum: {}")?);
    lines.decimals("execution time (avg/stddev): {}/{}")?;
    #[expect(clippy::cast_precision_loss, reason = "2^53 requests take ages")]
    let counted = rows.iter().map(|row| row.1).sum::<u64>() as f64;
    if report.figures.is_empty() || events <= 0.0 || seconds <= 0.0 {
        return Err("it did nothing".to_owned());
    }
    let rate = Figure::new(EVENTS, events / seconds, "1/s", Better::Higher);
    report.figures.insert(0, rate);
    if (counted - events).abs() >= 0.5 {
        return Err(format!(
            "its histogram holds {counted} requests, not {events}"
        ));
    }
    let mut add = |name: &str, milliseconds: f64| {
        let name = format!("latency {name}");
        let value = milliseconds * 1000.0;
        report
            .figures
            .push(Figure::new(name, value, "us", Better::Lower));
    };
    add("mean", sum / events);
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
        let latency = at_share(&rows, share).ok_or("its histogram is empty")?;
        add(name, latency);
    }
    add("max", most);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::super::outputs::{self, seen};
    use super::*;
    use std::path::Path;

    const MIXED: &str = include_str!("../../tests/outputs/sysbench-rndrw.txt");
    const WRITTEN: &str = include_str!("../../tests/outputs/sysbench-seqwr.txt");
    const READ: &str = include_str!("../../tests/outputs/sysbench-rndrd.txt");

    #[test]
    fn a_real_output_gives_rates_and_shares_of_latencies() {
        let report = read(MIXED).unwrap();
        assert_eq!(report.figures.len(), 1 + 5 + 6);
        let events = seen(&report, "events").unwrap();
        assert!((events - 95_221.0 / 2.0015).abs() < 1e-6, "{events}");
        assert_eq!(seen(&report, "reads"), Some(27_442.60));
        assert_eq!(seen(&report, "fsyncs"), Some(1832.27));
        assert_eq!(seen(&report, "written"), Some(285.86));
        let mean = seen(&report, "latency mean").unwrap();
        assert!((mean - 3_959_000.0 / 95_221.0).abs() < 1e-6, "{mean}");
        assert_eq!(seen(&report, "latency max"), Some(285_290.0));
        // With one requested it prints: `99th percentile: 0.54` milliseconds.
        let share = seen(&report, "latency p99").unwrap();
        assert!((share - 540.0).abs() < 10.0, "{share}");
    }

    #[test]
    fn figures_that_were_not_requested_are_omitted() {
        let written = read(WRITTEN).unwrap();
        assert_eq!(seen(&written, "writes"), Some(48_475.22));
        assert_eq!(
            (seen(&written, "reads"), seen(&written, "read")),
            (None, None)
        );
        let only_read = read(READ).unwrap();
        assert_eq!(seen(&only_read, "fsyncs"), None);
        assert_eq!(only_read.figures.len(), 1 + 2 + 6);
    }

    #[test]
    fn percentiles_are_upper_bounds() {
        let rows = vec![(1.0, 50), (2.0, 40), (3.0, 9), (9.0, 1)];
        for (share, latency) in [(0.5, 1.0), (0.51, 2.0), (0.9, 2.0), (0.99, 3.0), (1.0, 9.0)] {
            assert_eq!(at_share(&rows, share), Some(latency), "{share}");
        }
        assert_eq!(at_share(&Vec::new(), 0.5), None);
    }

    #[test]
    fn truncated_or_broken_outputs_give_no_figure() {
        for text in [MIXED, WRITTEN, READ] {
            outputs::truncated_output_gives_an_error(&SYSBENCH, text, text.trim_end().len() + 1);
            outputs::broken_it_gives_no_other_figure(&SYSBENCH, text);
        }
        let nothing = WRITTEN
            .replace("48475.22", "0.00")
            .replace("1942.50", "0.00");
        let nothing = nothing.replace("757.43", "0.00");
        assert!(read(&nothing).unwrap_err().contains("did nothing"));
    }

    #[test]
    fn the_command_line_has_the_given_parameters() {
        let pairs = [
            ("file-test-mode", "seqrd"),
            ("file-total-size", "1048576"),
            ("file-extra-flags", "none"),
            ("time", "10"),
            ("events", "300"),
        ];
        let parameters = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let parameters = BTreeMap::from(parameters);
        assert_eq!((SYSBENCH.judged)(&parameters), None);
        assert_eq!(
            (SYSBENCH.judged)(&BTreeMap::new()).as_deref(),
            Some("events")
        );
        let task = Task {
            directory: Path::new("/mnt/d"),
            tree: None,
            parameters: &parameters,
        };
        let commands = commands(&task);
        let line = |run: &ToolRun| run.argv.join(std::ffi::OsStr::new(" "));
        let given = "sysbench fileio --file-test-mode=seqrd --file-total-size=1048576 --time=0 --events=300";
        assert_eq!(line(&commands.before[0]), *format!("{given} prepare"));
        assert_eq!(
            line(&commands.timed),
            *format!("{given} --percentile=99 --histogram=on run")
        );
    }
}
