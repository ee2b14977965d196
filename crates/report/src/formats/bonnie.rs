//! The phases of bonnie in the output format of bonnie++ (CSV 1.98, 50 fields), as input of
//! `bon_csv2html` and `bon_csv2txt`. There is one line for each cell. A phase that was not measured
//! has empty fields. Short phases are included.

use crate::comparison::labs::has_faults;
use crate::format::ReportError;
use fsdyno_model::{CellRecord, ResultSet, Sample};
use std::collections::BTreeMap;

/// The version of the format.
const FORM: &str = "1.98";
/// The number of fields of a line.
#[cfg(test)]
const FIELDS: usize = 50;
/// The unit of file counts.
const FILES: f64 = 1024.0;
/// The default size of a call, bytes. The field is then empty, as in bonnie++.
const CHUNK: &str = "8192";

/// The figures of a line in order: kind of phase, and order of the files if it has one.
const PLACES: [(&str, Option<&str>); 12] = [
    ("bonnie-char-write", None),
    ("bonnie-write", None),
    ("bonnie-rewrite", None),
    ("bonnie-char-read", None),
    ("bonnie-read", None),
    ("bonnie-seeks", None),
    ("bonnie-create", Some("sequential")),
    ("bonnie-stat", Some("sequential")),
    ("bonnie-delete", Some("sequential")),
    ("bonnie-create", Some("random")),
    ("bonnie-stat", Some("random")),
    ("bonnie-delete", Some("random")),
];
/// The number of figures for the single large file.
const ON_ONE_FILE: usize = 6;

/// The figures of one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// KiB, seeks or files per second.
    pub rate: f64,
    /// Processor time as a percentage of the elapsed time.
    pub cpu: f64,
    /// The slowest operation, nanoseconds.
    pub slowest_ns: f64,
}

/// The values of one line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// The name of the line.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// The options of phases on the large file: `size`, `chunk`, `seeks`, `seekers`.
    pub data: BTreeMap<String, String>,
    /// The options of phases on many files: `files`, `min`, `max`, `directories`, `made`, `chunk`.
    pub files: BTreeMap<String, String>,
    /// The phases: on the large file, then on many files in sequential and in random order.
    pub measures: [Option<Measure>; 12],
}

/// One line, without its line feed.
pub fn line(values: &Values) -> String {
    let (data, files) = (&values.data, &values.files);
    let value_of = |given: &BTreeMap<String, String>, name: &str| {
        given.get(name).map_or("", String::as_str).to_owned()
    };
    let chunk = |given| {
        Some(value_of(given, "chunk"))
            .filter(|chunk| chunk != CHUNK)
            .unwrap_or_default()
    };
    let mut fields = vec![
        FORM.to_owned(),
        format!("fsdyno-{}", env!("CARGO_PKG_VERSION")),
        // A comma separates fields, and the format has no quoting.
        values.name.replace([',', '\n', '\r', '"'], ";"),
        "1".to_owned(),
        values.seed.to_string(),
        number(data, "size").map_or_else(String::new, size),
        chunk(data),
        value_of(data, "seeks"),
        value_of(data, "seekers"),
    ];
    fields.extend(pairs(&values.measures[..ON_ONE_FILE]));
    // bonnie++ encodes the kind of files in the field of the largest size.
    let most = match files.get("made").map(String::as_str) {
        Some("hard-links") => "-1".to_owned(),
        Some("symlinks") => "-2".to_owned(),
        _ => value_of(files, "max"),
    };
    fields.extend([
        number(files, "files").map_or_else(String::new, thousands),
        most,
        value_of(files, "min"),
        value_of(files, "directories"),
        chunk(files),
    ]);
    fields.extend(pairs(&values.measures[ON_ONE_FILE..]));
    let slowest =
        |one: &Option<Measure>| one.map_or_else(String::new, |one| latency(one.slowest_ns));
    fields.extend(values.measures.iter().map(slowest));
    fields.join(",")
}

fn number(given: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    given.get(name)?.parse().ok()
}

/// Files in units of 1024, with two decimals if it is not a whole number.
fn thousands(files: u64) -> String {
    let hundredths = (files as f64 / FILES * 100.0).round();
    (hundredths / 100.0).to_string()
}

/// Rates and processor time.
fn pairs(measures: &[Option<Measure>]) -> Vec<String> {
    let both = |one: &Option<Measure>| match one {
        None => [String::new(), String::new()],
        Some(Measure { rate, cpu, .. }) if *rate < 100.0 => {
            [format!("{rate:.1}"), format!("{cpu:.0}")]
        }
        Some(Measure { rate, cpu, .. }) => [format!("{rate:.0}"), format!("{cpu:.0}")],
    };
    measures.iter().flat_map(both).collect()
}

/// A size in whole units.
fn size(bytes: u64) -> String {
    [(30, "G"), (20, "M"), (10, "k")]
        .into_iter()
        .find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits))
        .map_or_else(
            || format!("{bytes}b"),
            |(bits, unit)| format!("{}{unit}", bytes >> bits),
        )
}

/// A latency with at most five digits.
fn latency(ns: f64) -> String {
    let (us, ms, s) = (ns / 1e3, ns / 1e6, ns / 1e9);
    if us < 99_999.5 {
        // bonnie++ has no smaller unit.
        format!("{:.0}us", us.max(1.0))
    } else if ms < 99_999.5 {
        format!("{ms:.0}ms")
    } else {
        format!("{s:.0}s")
    }
}

/// Renders a line for each cell that has a phase of bonnie.
pub fn render(set: &ResultSet) -> Result<Vec<u8>, ReportError> {
    let mut text = String::new();
    for record in &set.cells {
        if let Some(values) = values(set, record) {
            text.push_str(&line(&values));
            text.push('\n');
        }
    }
    if text.is_empty() {
        return Err(ReportError::NotBonnie {
            run: set.run.id.clone(),
        });
    }
    Ok(text.into_bytes())
}

/// The values of a cell; `None` if it has no phase of bonnie.
fn values(set: &ResultSet, record: &CellRecord) -> Option<Values> {
    let plan = &set.run.plan;
    let workload = plan.workloads.get(record.cell.workload as usize)?;
    let mut values = Values {
        seed: plan.seed,
        name: name(set, record),
        ..Values::default()
    };
    let mut any = false;
    for sample in &record.samples {
        let given = workload.phases.get(sample.phase as usize);
        let given = given
            .map(|phase| phase.parameters.clone())
            .unwrap_or_default();
        let order = given.get("order").map_or("sequential", String::as_str);
        let place = PLACES
            .iter()
            .position(|(kind, of)| *kind == sample.kind && of.is_none_or(|of| of == order));
        let (Some(place), Some(measure)) = (place, measure(sample)) else {
            continue;
        };
        any = true;
        values.measures[place] = Some(measure);
        let cells = if place < ON_ONE_FILE {
            &mut values.data
        } else {
            &mut values.files
        };
        cells.extend(given);
    }
    any.then_some(values)
}

fn measure(sample: &Sample) -> Option<Measure> {
    let figure = |name: &str| {
        let found = sample.figures.iter().find(|figure| figure.name == name);
        found.map(|figure| figure.value)
    };
    Some(Measure {
        rate: figure("rate")?,
        cpu: figure("cpu")?,
        slowest_ns: figure("latency max")?,
    })
}

/// The contender; with workload and block if there are several.
fn name(set: &ResultSet, record: &CellRecord) -> String {
    let plan = &set.run.plan;
    let contender = plan.contenders.get(record.cell.contender as usize);
    let mut name = contender.map_or_else(String::new, |contender| contender.label.clone());
    if let (true, Some(workload)) = (
        plan.workloads.len() > 1,
        plan.workloads.get(record.cell.workload as usize),
    ) {
        name = format!("{name} {}", workload.name);
    }
    if plan.repeats > 1 {
        name = format!("{name} {}", record.cell.block + 1);
    }
    if has_faults(set) {
        name.push_str(" (disk with faults)");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into()));
        owned.collect()
    }

    /// All phases measured, each with distinct figures.
    fn whole() -> Values {
        let measure = |n: u32| Measure {
            rate: f64::from(n) * 1000.0,
            cpu: f64::from(n),
            slowest_ns: f64::from(n) * 10_000.0,
        };
        Values {
            name: "ext4:noatime,discard".into(), // example
            seed: 7,
            data: given(&[
                ("size", "1073741824"),
                ("chunk", "8192"),
                ("seeks", "8192"),
                ("seekers", "5"),
            ]),
            files: given(&[
                ("files", "16384"),
                ("min", "100"),
                ("max", "2000"),
                ("directories", "4"),
                ("chunk", "4096"),
            ]),
            measures: std::array::from_fn(|n| Some(measure(u32::try_from(n).unwrap() + 1))),
        }
    }

    #[test]
    fn a_line_has_fifty_fields_in_the_order_of_the_form() {
        let text = line(&whole());
        let fields: Vec<&str> = text.split(',').collect();
        assert_eq!(fields.len(), FIELDS);
        assert_eq!(
            fields[2..9],
            ["ext4:noatime;discard", "1", "7", "1G", "", "8192", "5"]
        );
        assert_eq!(fields[9..13], ["1000", "1", "2000", "2"]);
        assert_eq!(
            fields[19..26],
            ["6000", "6", "16", "2000", "100", "4", "4096"]
        );
        assert_eq!(fields[26..30], ["7000", "7", "8000", "8"]);
        assert_eq!((fields[38], fields[49]), ("10us", "120us"));
    }

    #[test]
    fn missing_phases_are_empty_and_links_are_encoded_in_the_largest_size() {
        let mut values = whole();
        values.measures[0] = None;
        values.files = given(&[("files", "512"), ("made", "symlinks")]);
        let text = line(&values);
        let fields: Vec<&str> = text.split(',').collect();
        assert_eq!(fields.len(), FIELDS);
        assert_eq!((fields[9], fields[10], fields[38]), ("", "", ""));
        assert_eq!(fields[21..23], ["0.5", "-2"]);
        let nothing = line(&Values::default());
        assert_eq!(nothing.split(',').count(), FIELDS);
    }

    #[test]
    fn sizes_and_latencies_have_a_suitable_unit() {
        assert_eq!(
            [3 << 29, 10 << 20, 1 << 40, 100].map(size),
            ["1536M", "10M", "1024G", "100b"]
        );
        let cells = [400.0, 99_999_000.0, 250_000_000.0, 2e11].map(latency);
        assert_eq!(cells, ["1us", "99999us", "250ms", "200s"]);
    }

    /// The first program that is missing.
    fn missing() -> Option<&'static str> {
        ["bon_csv2html", "bon_csv2txt"].into_iter().find(|name| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            !std::env::split_paths(&path).any(|dir| dir.join(name).exists())
        })
    }

    #[test]
    fn the_tables_of_bonnie_show_a_line() {
        use std::io::Write;
        if let Some(name) = missing() {
            println!("SKIP program {name}: the_tables_of_bonnie_show_a_line");
            return;
        }
        for program in ["bon_csv2html", "bon_csv2txt"] {
            let mut child = std::process::Command::new(program)
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = child.stdin.take().unwrap();
            writeln!(input, "{}", line(&whole())).unwrap();
            drop(input);
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "{program}: {}", ended.status);
            let shown = String::from_utf8_lossy(&ended.stdout);
            // `bon_csv2txt` truncates long names.
            for cells in ["ext4", "2000", "12000", "120us"] {
                assert!(shown.contains(cells), "{program}: no {cells} in {shown}");
            }
        }
    }
}
