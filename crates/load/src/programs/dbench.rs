//! `dbench`: replays the requests of clients to a file server for a fixed time. Its figures are the
//! table of operations and the throughput at the end of its output.

use super::printed::{decimal, whole};
use super::{Commands, Program, ProgramReport, Task, VERSION_FORM};
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::Bytes;
use fsdyno_model::warning::{Warning, WarningKind};
use fsdyno_model::{Form, Parameter};
use std::collections::BTreeMap;

const NAME: &str = "dbench";
/// The figure that it is judged by: its duration is always fixed.
const THROUGHPUT: &str = "throughput";
/// An upper bound of the data of one client of the packaged load; 22.5 MiB were measured.
const CLIENT: u64 = 24 << 20;
/// The operations of the packaged load.
const OPERATIONS: [&str; 16] = [
    "NTCreateX",
    "Close",
    "Rename",
    "Unlink",
    "Deltree",
    "Mkdir",
    "Qpathinfo",
    "Qfileinfo",
    "Qfsinfo",
    "Sfileinfo",
    "Find",
    "WriteX",
    "ReadX",
    "LockX",
    "UnlockX",
    "Flush",
];
/// The boolean options, by parameter.
const SWITCHES: [(&str, &str); 4] = [
    ("sync", "--sync"),
    ("sync-dir", "--sync-dir"),
    ("fsync", "--fsync"),
    ("xattr", "--xattr"),
];

pub static DBENCH: Program = Program {
    kind: PhaseKind::standalone(
        NAME,
        "dbench: clients of a file server, for a fixed time",
        &[
            Parameter::number("clients", "number of clients", 1..=10_000).fixed("4"),
            Parameter::number(
                "time",
                "duration in seconds, one fifth of it warm-up",
                2..=1_000_000,
            )
            .fixed("30"),
            Parameter::new(
                "loadfile",
                "load file [default: the packaged client.txt]",
                Form::File,
            ),
            Parameter::number("sync", "1: opens with O_SYNC", 0..=1).fixed("0"),
            Parameter::number("sync-dir", "1: changes of directories are synced", 0..=1).fixed("0"),
            Parameter::number("fsync", "1: each write is synced", 0..=1).fixed("0"),
            Parameter::number(
                "xattr",
                "1: keeps DOS attributes in extended attributes",
                0..=1,
            )
            .fixed("0"),
        ],
    ),
    executable: Some((NAME, "dbench")),
    version: &["dpkg-query", "--show", VERSION_FORM, NAME],
    complete: None,
    commands: |task| Ok(commands(task)),
    read,
    describe: |task| {
        let (clients, time) = (task.value("clients"), task.value("time"));
        format!("dbench, {clients} clients, {time} s given: compare its throughput")
    },
    data,
    judged: |_| Some(THROUGHPUT.to_owned()),
    figures: |parameters| {
        // The load file decides which operations there are.
        let given = parameters.contains_key("loadfile");
        let operations = if given { &["*"][..] } else { &OPERATIONS };
        let of =
            |name: &&str| ["", " latency mean", " latency max"].map(|more| format!("{name}{more}"));
        let mut names = vec![THROUGHPUT.to_owned(), "latency max".to_owned()];
        names.extend(operations.iter().flat_map(of));
        Ok(names)
    },
};

fn data(parameters: &BTreeMap<String, String>) -> Option<Bytes> {
    if parameters.contains_key("loadfile") {
        return None;
    }
    let clients: u64 = parameters.get("clients")?.parse().ok()?;
    Some(Bytes(clients.saturating_mul(CLIENT)))
}

fn commands(task: &Task<'_>) -> Commands {
    let mut timed = ToolRun::new("", [NAME, "-D", "."])
        .arg("-t")
        .arg(task.get("time").unwrap_or("30"));
    if let Some(file) = task.get("loadfile") {
        timed = timed.arg("-c").arg(file);
    }
    for (name, option) in SWITCHES {
        if task.get(name) == Some("1") {
            timed = timed.arg(option);
        }
    }
    timed.arg(task.get("clients").unwrap_or("1")).into()
}

fn read(text: &str) -> Result<ProgramReport, String> {
    let mut lines = text.split_inclusive('\n');
    let head = ["Operation", "Count", "AvgLat", "MaxLat"];
    if !lines.any(|line| line.split_whitespace().eq(head)) {
        return Err("there is no table of operations".to_owned());
    }
    if !lines.next().is_some_and(|line| is_rule(line.trim())) {
        return Err("nothing underlines the head of its table".to_owned());
    }
    let mut operations = Vec::new();
    loop {
        let line = lines.next().ok_or("its table is cut off")?;
        if line == "\n" {
            break;
        }
        operation(line, &mut operations)
            .ok_or_else(|| format!("`{}` is no operation", line.trim()))?;
    }
    if operations.is_empty() {
        return Err("its table has no operation".to_owned());
    }
    let line = lines
        .next()
        .and_then(|line| line.strip_suffix('\n'))
        .ok_or("the line of its throughput is cut off")?;
    let (rate, latency) =
        throughput(line).ok_or_else(|| format!("`{line}` is not the line of its throughput"))?;
    let mut report = ProgramReport::default();
    if rate > 0.0 {
        report.figures = vec![
            Figure::new(THROUGHPUT, rate, "MB/s", Better::Higher),
            Figure::new("latency max", latency, "us", Better::Lower),
        ];
    } else {
        report.warnings.push(Warning::new(
            WarningKind::TooShort,
            "dbench printed no throughput: it was still warming up".to_owned(),
            "raise its time",
        ));
    }
    report.figures.extend(operations);
    Ok(report)
}

fn is_rule(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| byte == b'-')
}

/// `WriteX 1648 0.053 27.084`: the number of operations, and their latencies in milliseconds.
fn operation(line: &str, into: &mut Vec<Figure>) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, average, most] = words[..] else {
        return None;
    };
    let count = whole(count).filter(|count| *count > 0)?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "2^53 operations take ages")]
    let count = count as f64;
    into.push(Figure::new(name, count, "operations", Better::Higher));
    for (what, value) in [("mean", average), ("max", most)] {
        let name = format!("{name} latency {what}");
        into.push(Figure::new(name, microseconds(value)?, "us", Better::Lower));
    }
    Some(())
}

/// Milliseconds with three decimals are whole microseconds.
fn microseconds(milliseconds: &str) -> Option<f64> {
    Some((decimal(milliseconds)? * 1000.0).round())
}

/// `Throughput 30.5803 MB/sec  2 clients  2 procs  max_latency=671.762 ms`, with the sync option in
/// parentheses.
fn throughput(line: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [
        "Throughput",
        rate,
        "MB/sec",
        ..,
        _,
        "clients",
        _,
        "procs",
        latency,
        "ms",
    ] = words[..]
    else {
        return None;
    };
    Some((
        decimal(rate)?,
        microseconds(latency.strip_prefix("max_latency=")?)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::outputs::{self, seen};
    use super::*;
    use std::path::Path;

    const REAL: &str = include_str!("../../tests/outputs/dbench-2-clients.txt");
    const SYNC: &str = include_str!("../../tests/outputs/dbench-sync.txt");
    const SHORT: &str = include_str!("../../tests/outputs/dbench-too-short.txt");

    #[test]
    fn a_real_output_gives_throughput_and_the_table_of_operations() {
        let report = read(REAL).unwrap();
        assert_eq!(report.figures.len(), 2 + 16 * 3);
        assert_eq!(seen(&report, "throughput"), Some(30.5803));
        assert_eq!(seen(&report, "latency max"), Some(671_762.0));
        assert_eq!(seen(&report, "Flush"), Some(128.0));
        assert_eq!(seen(&report, "Flush latency mean"), Some(27_452.0));
        assert_eq!(seen(&report, "Unlink latency max"), Some(579_119.0));
        assert!(report.warnings.is_empty());
        let synced = read(SYNC).unwrap();
        assert_eq!(seen(&synced, "throughput"), Some(101.147));
        assert_eq!(synced.figures.len(), 2 + 14 * 3);
    }

    #[test]
    fn a_run_that_ends_while_it_warms_up_has_no_throughput() {
        let report = read(SHORT).unwrap();
        assert_eq!(seen(&report, "throughput"), None);
        assert_eq!(seen(&report, "latency max"), None);
        assert_eq!(report.warnings[0].kind, WarningKind::TooShort);
    }

    #[test]
    fn truncated_or_broken_outputs_give_no_figure() {
        for text in [REAL, SYNC, SHORT] {
            outputs::truncated_output_gives_an_error(&DBENCH, text, text.len());
            outputs::broken_it_gives_no_other_figure(&DBENCH, text);
        }
    }

    #[test]
    fn the_command_line_has_the_given_parameters() {
        let pairs = [
            ("clients", "8"),
            ("time", "5"),
            ("sync", "1"),
            ("fsync", "0"),
        ];
        let parameters = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let parameters = BTreeMap::from(parameters);
        let task = Task {
            directory: Path::new("/mnt/d"),
            tree: None,
            parameters: &parameters,
        };
        let timed = commands(&task).timed;
        assert_eq!(timed.argv, ["dbench", "-D", ".", "-t", "5", "--sync", "8"]);
        assert_eq!(data(&parameters), Some(Bytes(192 << 20)));
        assert_eq!((DBENCH.judged)(&parameters).as_deref(), Some("throughput"));
    }
}
