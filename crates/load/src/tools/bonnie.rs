//! `bonnie++`: its figures from the line of comma-separated values it prints (version 1.98 of
//! that form, `bon_csv2txt(1)`). A `+++++`, which stands for a phase too short for its clock, is
//! left out and said, never a figure.

use super::parameter::{Form, Given, Parameter};
use super::{Commands, Program, Task, Told, Unread, kind_of};
use crate::workloads::ToolRun;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::Bytes;
use fsdyno_model::warning::{Warning, WarningKind};
use std::collections::BTreeMap;

/// What it is called.
const NAME: &str = "bonnie++";
/// The version of the form that is understood, and its number of fields.
const FORM: (&str, usize) = ("1.98", 50);
/// What stands where a phase was too short.
const SHORT: &str = "+++++";

/// The program.
pub static BONNIE: Program = Program {
    kind: kind_of(
        NAME,
        "the packaged bonnie++: one large file, then many small ones",
        &[
            Parameter {
                name: "size",
                about: "the size of the large file, in whole MiB",
                form: Form::Size,
                given: Given::Scaled(1 << 30, 16 << 20),
            },
            Parameter {
                name: "part",
                about: "all, chunks (the large file, not byte by byte) or files (the small ones)",
                form: Form::OneOf(&["all", "chunks", "files"]),
                given: Given::Fixed("all"),
            },
            Parameter {
                name: "files",
                about: "how many small files, in units of 1024; 0 leaves them out",
                form: Form::Number(0, 100_000),
                given: Given::Fixed("16"),
            },
        ],
    ),
    executable: Some((NAME, "bonnie++")),
    version: &["dpkg-query", "--show", NAME],
    commands: |task| Ok(commands(task)),
    read: |text, _| read(text),
    in_words,
    data,
};

fn mebibytes(parameters: &BTreeMap<String, String>) -> Option<u64> {
    let size: u64 = parameters.get("size")?.parse().ok()?;
    Some(size.div_ceil(1 << 20))
}

/// What of its work is asked for.
struct Asked {
    /// The large file, MiB; 0 leaves it out.
    mebibytes: u64,
    /// The small files, in units of 1024; 0 leaves them out.
    files: u64,
    /// Without what goes byte by byte.
    fast: bool,
}

/// Reads it from what a plan gives, which was checked there.
fn asked(parameters: &BTreeMap<String, String>) -> Option<Asked> {
    let part = parameters.get("part").map(String::as_str);
    let files = parameters.get("files")?.parse().ok()?;
    let mebibytes = mebibytes(parameters)?;
    Some(Asked {
        mebibytes: if part == Some("files") { 0 } else { mebibytes },
        files: if part == Some("chunks") { 0 } else { files },
        fast: part == Some("chunks"),
    })
}

fn data(parameters: &BTreeMap<String, String>) -> Option<Bytes> {
    let asked = asked(parameters)?;
    // Each of the small files may take a block.
    let small = asked.files.saturating_mul(1024 * 4096);
    Some(Bytes((asked.mebibytes << 20).saturating_add(small)))
}

fn in_words(task: &Task<'_>) -> String {
    let Some(asked) = asked(task.parameters) else {
        return NAME.to_owned();
    };
    let fast = if asked.fast { " -f" } else { "" };
    let mut words = vec![format!("{NAME}{fast}")];
    if asked.mebibytes > 0 {
        words.push(format!("{} MiB", asked.mebibytes));
    }
    if asked.files > 0 {
        words.push(format!("{} x 1024 files", asked.files));
    }
    words.join(", ")
}

fn commands(task: &Task<'_>) -> Commands {
    let asked = asked(task.parameters).unwrap_or(Asked {
        mebibytes: 16,
        files: 0,
        fast: false,
    });
    // -r 0: it would refuse a file smaller than memory; that is warned of instead.
    let mut timed = ToolRun::new("", [NAME, "-q", "-r", "0", "-m", "fsdyno"]);
    if rustix::process::geteuid().is_root() {
        // As root it asks to be told as whom to work, and nobody else may say root.
        timed = timed.args(["-u", "root"]);
    }
    if asked.fast {
        timed = timed.arg("-f");
    }
    let mut timed = timed
        .arg("-s")
        .arg(format!("{}M", asked.mebibytes))
        .arg("-n")
        .arg(asked.files.to_string())
        .arg("-d")
        .arg(task.directory);
    timed.current_dir = Some(task.directory.to_owned());
    Commands {
        before: Vec::new(),
        timed,
    }
}

/// The rates: place, name, unit.
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
/// Where the longest latency of the first of them stands; the others follow.
const LATENCIES: usize = 38;

fn missing(what: impl Into<String>) -> Unread {
    Unread {
        program: NAME,
        missing: what.into(),
    }
}

fn read(text: &str) -> Result<Told, Unread> {
    let start = format!("{},", FORM.0);
    let line = text
        .split_inclusive('\n')
        .find(|line| line.starts_with(&start))
        .ok_or_else(|| missing(format!("no line of form {} is in it", FORM.0)))?;
    let Some(line) = line.strip_suffix('\n') else {
        return Err(missing("its line is cut off"));
    };
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != FORM.1 {
        return Err(missing(format!("{} fields, not {}", fields.len(), FORM.1)));
    }
    let mut told = Told::default();
    let mut short = Vec::new();
    for (number, (place, name, unit)) in RATES.into_iter().enumerate() {
        let mut add = |name: String, value, unit: &str, better| {
            told.figures.push(Figure::new(name, value, unit, better));
        };
        match fields[place] {
            // It was not asked for.
            "" => continue,
            SHORT => short.push(name),
            rate => {
                let value =
                    number_of(rate).ok_or_else(|| missing(format!("{name} is `{rate}`")))?;
                add(name.to_owned(), value, unit, Better::Higher);
                // Behind each rate, with the same `+++` where it means nothing.
                if let Some(share) = number_of(fields[place + 1]) {
                    add(format!("{name} cpu"), share, "%", Better::Lower);
                }
            }
        }
        match fields[LATENCIES + number] {
            "" | SHORT => {}
            time => {
                let value = microseconds(time)
                    .ok_or_else(|| missing(format!("the latency of {name} is `{time}`")))?;
                add(format!("{name} latency max"), value, "us", Better::Lower);
            }
        }
    }
    if told.figures.is_empty() && short.is_empty() {
        return Err(missing("all of its figures are empty"));
    }
    told.warnings.extend((!short.is_empty()).then(|| {
        Warning::new(
            WarningKind::TooShort,
            format!(
                "bonnie++ gave no figure, but {SHORT}, of {}",
                short.join(", ")
            ),
            "these took less than half a second: raise size and files",
        )
    }));
    Ok(told)
}

fn number_of(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let number: f64 = text.chars().all(digits).then(|| text.parse().ok())??;
    (number > 0.0).then_some(number)
}

/// A time as it writes it: `116ms`, `16061us`, `2s`.
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
    use super::*;
    use proptest::prelude::*;

    const REAL: &str = include_str!("../../tests/outputs/bonnie-short.csv");

    #[test]
    fn a_real_output_is_read_and_what_was_too_short_is_no_figure() {
        let told = read(REAL).unwrap();
        let of = |name: &str| told.figures.iter().find(|figure| figure.name == name);
        let seen = |name| of(name).map(|figure| figure.value);
        assert_eq!(seen("char write"), Some(566.0));
        assert_eq!(seen("char write latency max"), Some(116_000.0));
        assert_eq!(seen("random create"), Some(1461.0));
        assert_eq!(seen("random delete latency max"), Some(10_647.0));
        assert_eq!(seen("block write"), None);
        assert_eq!(seen("random create cpu"), Some(41.0));
        assert_eq!(told.figures.len(), 4 + 4 + 12);
        assert!(
            told.warnings[0]
                .message
                .contains("block write, rewrite, block read")
        );
    }

    #[test]
    fn a_field_that_is_no_number_is_named() {
        for (from, to, says) in [
            (",566,", ",5x6,", "char write is `5x6`"),
            (",116ms,", ",116h,", "latency of char write"),
            ("1.98,", "3.00,", "form 1.98"),
            (",8192,", ",8192,,", "51 fields"),
        ] {
            let error = read(&REAL.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(NAME) && error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_part_of_its_work_is_asked_for_by_sizes_of_nothing() {
        for (part, expected) in [
            ("all", (32, 3, false)),
            ("chunks", (32, 0, true)),
            ("files", (0, 3, false)),
        ] {
            let given = [("part", part), ("size", "33554432"), ("files", "3")];
            let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let asked = asked(&BTreeMap::from(given)).unwrap();
            assert_eq!((asked.mebibytes, asked.files, asked.fast), expected);
        }
    }

    proptest! {
        #[test]
        fn an_output_cut_off_gives_an_error_and_no_figure(cut in 0..REAL.len()) {
            prop_assert!(read(&REAL[..cut]).unwrap_err().to_string().contains(NAME));
        }
    }
}
