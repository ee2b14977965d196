//! `bonnie++`: parses its figures from its line of comma-separated values (version 1.98 of the
//! format, `bon_csv2txt(1)`). `+++++` marks a phase that is too short for its clock. It is omitted
//! with a warning.

use super::printed::decimal;
use super::{Commands, Program, ProgramReport, Task, VERSION_FORM};
use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::Parameter;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::Bytes;
use fsdyno_model::warning::{Warning, WarningKind};
use std::collections::BTreeMap;

const NAME: &str = "bonnie++";
/// The supported version of the format, and its number of fields.
const FORM: (&str, usize) = ("1.98", 50);
/// The mark of a phase that was too short.
const SHORT: &str = "+++++";
/// The mark in its processor column.
const SHORT_SHARE: &str = "+++";

pub static BONNIE: Program = Program {
    kind: PhaseKind::standalone(
        NAME,
        "the packaged bonnie++: one large file, then many small files",
        &[
            Parameter::size("size", "size of the large file, in whole MiB")
                .scaled(1 << 30, 16 << 20),
            Parameter::one_of(
                "part",
                "tests: all, chunks (the large file, by chunks only) or files (the small files)",
                &["all", "chunks", "files"],
            )
            .fixed("all"),
            Parameter::number(
                "files",
                "number of small files, in units of 1024; 0 skips them",
                0..=100_000,
            )
            .fixed("16"),
            Parameter::bytes("min", "minimum size of a small file", 0..=1 << 30).fixed("0"),
            Parameter::bytes("max", "maximum size of a small file", 0..=1 << 30).fixed("0"),
            Parameter::number(
                "directories",
                "number of directories of the small files",
                1..=10_000,
            )
            .fixed("1"),
            Parameter::one_of(
                "made",
                "type: files, hard-links or symlinks (symlinks only with 1 directory)",
                &["files", "hard-links", "symlinks"],
            )
            .fixed("files"),
        ],
    ),
    executable: Some((NAME, "bonnie++")),
    version: &["dpkg-query", "--show", VERSION_FORM, NAME],
    complete: None,
    commands,
    read,
    describe,
    data,
    judged: |_| None,
    figures: |_| {
        let of = |name: &str| {
            let more = ["", " cpu", " latency max"];
            more.map(|more| format!("{name}{more}"))
        };
        Ok(RATES.iter().flat_map(|(_, name, _)| of(name)).collect())
    },
};

fn mebibytes(parameters: &BTreeMap<String, String>) -> Option<u64> {
    let size: u64 = parameters.get("size")?.parse().ok()?;
    Some(size.div_ceil(1 << 20))
}

/// The requested parts of its work.
struct ArgumentPairs {
    /// The size of the large file, MiB; 0 omits it.
    mebibytes: u64,
    /// The number of small files, in units of 1024; 0 omits them.
    files: u64,
    /// Omits the phases byte by byte.
    fast: bool,
}

/// From the validated values of a plan.
fn argument_pairs(parameters: &BTreeMap<String, String>) -> Option<ArgumentPairs> {
    let part = parameters.get("part").map(String::as_str);
    let files = parameters.get("files")?.parse().ok()?;
    let mebibytes = mebibytes(parameters)?;
    Some(ArgumentPairs {
        mebibytes: if part == Some("files") { 0 } else { mebibytes },
        files: if part == Some("chunks") { 0 } else { files },
        fast: part == Some("chunks"),
    })
}

fn data(parameters: &BTreeMap<String, String>) -> Option<Bytes> {
    let argument_pairs = argument_pairs(parameters)?;
    // Each of the small files may take a block of any size.
    let max = parameters.get("max").and_then(|max| max.parse().ok());
    let each = max.unwrap_or(0_u64).next_multiple_of(4096).max(4096);
    let small = argument_pairs
        .files
        .saturating_mul(1024)
        .saturating_mul(each);
    Some(Bytes(
        (argument_pairs.mebibytes << 20).saturating_add(small),
    ))
}

fn describe(task: &Task<'_>) -> String {
    let Some(argument_pairs) = argument_pairs(task.parameters) else {
        return NAME.to_owned();
    };
    let fast = if argument_pairs.fast { " -f" } else { "" };
    let mut words = vec![format!("{NAME}{fast}")];
    if argument_pairs.mebibytes > 0 {
        words.push(format!("{} MiB", argument_pairs.mebibytes));
    }
    if argument_pairs.files > 0 {
        let made = task.get("made").unwrap_or("files").replace('-', " ");
        words.push(format!("{} x 1024 {made}", argument_pairs.files));
    }
    words.join(", ")
}

fn commands(task: &Task<'_>) -> Result<Commands, LoadError> {
    let argument_pairs = argument_pairs(task.parameters).unwrap_or(ArgumentPairs {
        mebibytes: 16,
        files: 0,
        fast: false,
    });
    // -r 0: otherwise it refuses a file smaller than memory; fsdyno warns of that instead.
    let mut timed = ToolRun::new("", [NAME, "-q", "-r", "0", "-m", "fsdyno"]);
    if rustix::process::geteuid().is_root() {
        // As root it requires a user name, and only root may name root.
        timed = timed.args(["-u", "root"]);
    }
    if argument_pairs.fast {
        timed = timed.arg("-f");
    }
    let timed = timed
        .arg("-s")
        .arg(format!("{}M", argument_pairs.mebibytes))
        .arg("-n")
        .arg(files(task, argument_pairs.files)?)
        .arg("-d")
        .arg(task.directory);
    Ok(timed.into())
}

/// The files in the form of its option: `NUMBER[:MAX:MIN:DIRECTORIES]`, where -1 bytes are hard
/// links and -2 are symbolic links.
fn files(task: &Task<'_>, number: u64) -> Result<String, LoadError> {
    let of = |name, given| task.get(name).unwrap_or(given);
    let refused = |reason: &str| {
        Err(LoadError::Parameters {
            kind: NAME,
            reason: reason.to_owned(),
        })
    };
    if number == 0 {
        return Ok(number.to_string());
    }
    let (min, max) = (of("min", "0"), of("max", "0"));
    let directories = of("directories", "1");
    let (max, min) = match of("made", "files") {
        "hard-links" => ("-1", "0"),
        // It looks for the targets in another directory.
        "symlinks" if directories != "1" => {
            return refused("it does not find symlinks again in several directories: set 1");
        }
        "symlinks" => ("-2", "0"),
        _ if min.parse::<u64>().ok() > max.parse().ok() => {
            return refused("min is above max: set both");
        }
        _ => (max, min),
    };
    Ok(format!("{number}:{max}:{min}:{directories}"))
}

/// The rates: column, name, unit.
const RATES: [(usize, &str, &str); 12] = [
    (9, "char write", "KiB/s"),
    (11, "block write", "KiB/s"),
    (13, "rewrite", "KiB/s"),
    (15, "char read", "KiB/s"),
    (17, "block read", "KiB/s"),
    (19, "seeks", "1/s"),
    (26, "sequential create", "1/s"),
    (28, "sequential stat", "1/s"),
    (30, "sequential delete", "1/s"),
    (32, "random create", "1/s"),
    (34, "random stat", "1/s"),
    (36, "random delete", "1/s"),
];
/// The column of the maximum latency of the first of them; the others follow.
const LATENCIES: usize = 38;

fn read(text: &str) -> Result<ProgramReport, String> {
    let start = format!("{},", FORM.0);
    let line = text
        .split_inclusive('\n')
        .find(|line| line.starts_with(&start))
        .ok_or_else(|| format!("no line of form {} is in it", FORM.0))?;
    let Some(line) = line.strip_suffix('\n') else {
        return Err("its line is cut off".to_owned());
    };
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != FORM.1 {
        return Err(format!("{} fields, not {}", fields.len(), FORM.1));
    }
    let mut report = ProgramReport::default();
    let mut short = Vec::new();
    for (number, (place, name, unit)) in RATES.into_iter().enumerate() {
        let mut add = |name: String, value, unit: &str, better| {
            report.figures.push(Figure::new(name, value, unit, better));
        };
        match fields[place] {
            // Not requested.
            "" => continue,
            SHORT => short.push(name),
            rate => {
                let value = number_of(rate).ok_or_else(|| format!("{name} is `{rate}`"))?;
                add(name.to_owned(), value, unit, Better::Higher);
                // The column after each rate, `+++` if it is not meaningful.
                match fields[place + 1] {
                    "" | SHORT_SHARE => {}
                    share => {
                        let share = decimal(share)
                            .ok_or_else(|| format!("the cpu of {name} is `{share}`"))?;
                        add(format!("{name} cpu"), share, "%", Better::Lower);
                    }
                }
            }
        }
        match fields[LATENCIES + number] {
            "" | SHORT => {}
            time => {
                let value = microseconds(time)
                    .ok_or_else(|| format!("the latency of {name} is `{time}`"))?;
                add(format!("{name} latency max"), value, "us", Better::Lower);
            }
        }
    }
    if report.figures.is_empty() && short.is_empty() {
        return Err("all of its figures are empty".to_owned());
    }
    report.warnings.extend((!short.is_empty()).then(|| {
        Warning::new(
            WarningKind::TooShort,
            format!(
                "bonnie++ gave no figure, but {SHORT}, of {}",
                short.join(", ")
            ),
            "these took less than half a second: raise size and files",
        )
    }));
    Ok(report)
}

fn number_of(text: &str) -> Option<f64> {
    decimal(text).filter(|number| *number > 0.0)
}

/// A time in its format: `116ms`, `16061us`, `2s`.
fn microseconds(text: &str) -> Option<f64> {
    let (number, factor) = if let Some(number) = text.strip_suffix("us") {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix("ms") {
        (number, 1e3)
    } else {
        (text.strip_suffix('s')?, 1e6)
    };
    Some(number_of(number)? * factor)
}

#[cfg(test)]
mod tests {
    use super::super::outputs::{self, seen};
    use super::*;
    use std::path::Path;

    const REAL: &str = include_str!("../../tests/outputs/bonnie-short.csv");
    const FILES: &str = include_str!("../../tests/outputs/bonnie-files.csv");
    const HARD_LINKS: &str = include_str!("../../tests/outputs/bonnie-hard-links.csv");
    const SYMLINKS: &str = include_str!("../../tests/outputs/bonnie-symlinks.csv");

    #[test]
    fn a_real_output_is_parsed_and_short_phases_are_omitted() {
        let report = read(REAL).unwrap();
        assert_eq!(seen(&report, "char write"), Some(566.0));
        assert_eq!(seen(&report, "char write latency max"), Some(116_000.0));
        assert_eq!(seen(&report, "random create"), Some(1461.0));
        assert_eq!(seen(&report, "random delete latency max"), Some(10_647.0));
        assert_eq!(seen(&report, "block write"), None);
        assert_eq!(seen(&report, "random create cpu"), Some(41.0));
        assert_eq!(report.figures.len(), 4 + 4 + 12);
        assert!(
            report.warnings[0]
                .message
                .contains("block write, rewrite, block read")
        );
    }

    #[test]
    fn a_field_that_is_not_a_number_is_named() {
        for (from, to, expected) in [
            (",566,", ",5x6,", "char write is `5x6`"),
            (",116ms,", ",116h,", "latency of char write"),
            ("1.98,", "3.00,", "form 1.98"),
            (",8192,", ",8192,,", "51 fields"),
        ] {
            let error = BONNIE
                .parse(&REAL.replacen(from, to, 1))
                .unwrap_err()
                .to_string();
            assert!(error.contains(NAME) && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn zero_sizes_omit_parts_of_the_work() {
        for (part, expected) in [
            ("all", (32, 3, false)),
            ("chunks", (32, 0, true)),
            ("files", (0, 3, false)),
        ] {
            let given = [("part", part), ("size", "33554432"), ("files", "3")];
            let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let argument_pairs = argument_pairs(&BTreeMap::from(given)).unwrap();
            assert_eq!(
                (
                    argument_pairs.mebibytes,
                    argument_pairs.files,
                    argument_pairs.fast
                ),
                expected
            );
        }
    }

    #[test]
    fn rates_and_latencies_of_files_and_links_are_parsed() {
        let files = read(FILES).unwrap();
        for (name, value) in [
            ("sequential create", 1419.0),
            ("sequential create latency max", 32_459.0),
            ("sequential stat latency max", 4405.0),
            ("sequential delete", 408.0),
            ("sequential delete latency max", 48_027.0),
            ("random create", 1208.0),
            ("random create latency max", 21_032.0),
            ("random delete", 558.0),
            ("random delete latency max", 50_192.0),
            ("seeks latency max", 22_246.0),
        ] {
            assert_eq!(seen(&files, name), Some(value), "{name}");
        }
        let links = read(HARD_LINKS).unwrap();
        assert_eq!(seen(&links, "sequential create"), Some(26_177.0));
        assert_eq!(seen(&links, "sequential delete"), Some(27_804.0));
        assert_eq!(seen(&links, "random delete latency max"), Some(8158.0));
        // The phases byte by byte were not requested.
        assert_eq!(seen(&links, "char write latency max"), None);
        let symlinks = read(SYMLINKS).unwrap();
        assert_eq!(seen(&symlinks, "sequential create"), Some(4450.0));
        assert_eq!(seen(&symlinks, "random stat latency max"), Some(4059.0));
    }

    #[test]
    fn truncated_or_broken_outputs_give_no_figure() {
        for text in [REAL, FILES, HARD_LINKS, SYMLINKS] {
            outputs::truncated_output_gives_an_error(&BONNIE, text, text.len());
            outputs::broken_it_gives_no_other_figure(&BONNIE, text);
        }
    }

    #[test]
    fn the_command_line_describes_the_files_as_requested() {
        let report = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let parameters = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let parameters: BTreeMap<String, String> = parameters.collect();
            let number = parameters["files"].parse().unwrap();
            let task = Task {
                directory: Path::new("/"),
                tree: None,
                parameters: &parameters,
            };
            files(&task, number)
        };
        let many = ("files", "16");
        for (pairs, line) in [
            (&[("files", "0"), ("max", "9")][..], "0"),
            (&[many], "16:0:0:1"),
            (
                &[many, ("min", "9"), ("max", "10"), ("directories", "3")],
                "16:10:9:3",
            ),
            (
                &[many, ("made", "hard-links"), ("directories", "4")],
                "16:-1:0:4",
            ),
            (&[many, ("made", "symlinks")], "16:-2:0:1"),
        ] {
            assert_eq!(report(pairs).unwrap(), line);
        }
        for pairs in [
            &[many, ("min", "9"), ("max", "8")][..],
            &[many, ("made", "symlinks"), ("directories", "2")],
        ] {
            assert!(
                report(pairs)
                    .unwrap_err()
                    .to_string()
                    .starts_with("bonnie++: ")
            );
        }
    }
}
