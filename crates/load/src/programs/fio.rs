//! `fio`: its figures from `--output-format=json`, latencies with their percentiles.

use super::{Commands, Program, ProgramReport, Task};
use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::units::Bytes;
use fsdyno_model::{Form, Parameter};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Its name.
const NAME: &str = "fio";

/// The program.
pub static FIO: Program = Program {
    kind: PhaseKind::standalone(
        NAME,
        "fio: a generated job, or a job file (parameter job)",
        &[
            Parameter::new(
                "job",
                "job file; the other parameters are then ignored",
                Form::File,
            ),
            Parameter::one_of(
                "rw",
                "read, write, randread, randwrite, rw or randrw",
                &["read", "write", "randread", "randwrite", "rw", "randrw"],
            )
            .fixed("randrw"),
            Parameter::size("size", "file size of each job").scaled(256 << 20, 1 << 20),
            Parameter::size("bs", "size of a request").fixed("4096"),
            Parameter::number("jobs", "number of jobs", 1..=1024).fixed("1"),
            Parameter::number("direct", "1: bypass the page cache", 0..=1).fixed("0"),
            Parameter::number("seed", "seed of random numbers", 1..=u32::MAX as u64).fixed("1"),
        ],
    ),
    executable: Some((NAME, "fio")),
    version: &[NAME, "--version"],
    commands,
    read,
    describe,
    data,
    judged: |_| None,
};

fn data(parameters: &BTreeMap<String, String>) -> Option<Bytes> {
    if parameters.contains_key("job") {
        return None;
    }
    let number = |name: &str| parameters.get(name)?.parse::<u64>().ok();
    Some(Bytes(number("size")?.saturating_mul(number("jobs")?)))
}

fn describe(task: &Task<'_>) -> String {
    match task.get("job") {
        Some(job) => format!("fio, job {job}"),
        None => format!(
            "fio, {} of {} B, {} jobs",
            task.value("rw"),
            task.value("bs"),
            task.value("jobs")
        ),
    }
}

fn commands(task: &Task<'_>) -> Result<Commands, LoadError> {
    let run = ToolRun::new("", [NAME, "--output-format=json", "--group_reporting"])
        .args(["--percentile_list=50:90:99:99.9"]);
    let mut before = Vec::new();
    let timed = if let Some(job) = task.get("job") {
        stays_in_place(Path::new(job))?;
        run.arg(job)
    } else {
        let option = |key: &str, name: &str| format!("--{key}={}", task.get(name).unwrap_or("1"));
        let all = |run: ToolRun| {
            run.args(["--name=job", "--ioengine=psync", "--allow_file_create=1"])
                .arg(option("rw", "rw"))
                .arg(option("size", "size"))
                .arg(option("bs", "bs"))
                .arg(option("numjobs", "jobs"))
                .arg(option("direct", "direct"))
                .arg(option("randseed", "seed"))
        };
        if !task.value("rw").ends_with("write") {
            // The files to read are created first, so that they can be made cold.
            before.push(all(ToolRun::new("", [NAME])).arg("--create_only=1"));
        }
        // The cache state must not change: fio drops caches by default.
        all(run).args(["--invalidate=0", "--end_fsync=1"])
    };
    Ok(Commands { before, timed })
}

/// An error for a job file that leaves the directory on the contender.
fn stays_in_place(job: &Path) -> Result<(), LoadError> {
    let text =
        fsdyno_files::input::read_text(job).map_err(|source| LoadError::io("read", job, source))?;
    for line in text.lines().map(str::trim) {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim(), value.trim());
        let leaves = match key {
            "directory" => true,
            "filename" => value.starts_with('/') || value.contains(":/") || value.contains(".."),
            _ => false,
        };
        if leaves {
            return Err(LoadError::Parameters {
                kind: NAME,
                reason: format!(
                    "{}: `{line}` leads away from the contender; leave it out, for fio is started \
                     in the directory on the contender",
                    job.display()
                ),
            });
        }
    }
    Ok(())
}

fn read(text: &str) -> Result<ProgramReport, String> {
    // Messages may precede the document.
    let start = text.find('{').ok_or("there is no JSON in it")?;
    let document: Value = serde_json::from_str(text[start..].trim_end())
        .map_err(|error| format!("its JSON is broken: {error}"))?;
    let jobs = document["jobs"]
        .as_array()
        .filter(|jobs| !jobs.is_empty())
        .ok_or("it has no `jobs`")?;
    let mut report = ProgramReport::default();
    for job in jobs {
        let name = job["jobname"].as_str().ok_or("a job has no `jobname`")?;
        if job["error"].as_i64() != Some(0) {
            return Err(format!("job {name} ended with error {}", job["error"]));
        }
        let prefix = if jobs.len() > 1 {
            format!("{name} ")
        } else {
            String::new()
        };
        for direction in ["read", "write"] {
            figures(&mut report.figures, &prefix, direction, &job[direction])?;
        }
    }
    if report.figures.is_empty() {
        return Err("no job read or wrote anything".to_owned());
    }
    Ok(report)
}

/// The figures of one direction; none if it transferred nothing.
fn figures(
    into: &mut Vec<Figure>,
    prefix: &str,
    direction: &str,
    of: &Value,
) -> Result<(), String> {
    let number = |value: &Value, name: &str| {
        value
            .as_f64()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| format!("{prefix}{direction} has no `{name}`"))
    };
    if number(&of["total_ios"], "total_ios")? == 0.0 {
        return Ok(());
    }
    let mut add = |name: String, value: f64, unit: &str, better| {
        into.push(Figure::new(
            format!("{prefix}{direction}{name}"),
            value,
            unit,
            better,
        ));
    };
    let rate = number(&of["bw_bytes"], "bw_bytes")? / 1024.0;
    add(String::new(), rate, "KiB/s", Better::Higher);
    let requests = number(&of["iops"], "iops")?;
    add(" requests".to_owned(), requests, "1/s", Better::Higher);
    for (key, shown) in [
        ("50.000000", "p50"),
        ("90.000000", "p90"),
        ("99.000000", "p99"),
        ("99.900000", "p99.9"),
    ] {
        let value = &of["clat_ns"]["percentile"][key];
        let latency = number(value, &format!("clat_ns percentile {key}"))?;
        add(
            format!(" latency {shown}"),
            latency / 1000.0,
            "us",
            Better::Lower,
        );
    }
    let most = number(&of["clat_ns"]["max"], "clat_ns max")?;
    add(
        " latency max".to_owned(),
        most / 1000.0,
        "us",
        Better::Lower,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::outputs;
    use super::*;

    const REAL: &str = include_str!("../../tests/outputs/fio-randrw.json");

    #[test]
    fn a_real_output_gives_rates_and_percentiles_of_both_directions() {
        let figures = FIO.parse(REAL).unwrap().figures;
        let names: Vec<_> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names.len(), 14, "{names:?}");
        let of = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        let rate = of("read");
        assert_eq!((rate.unit.as_str(), rate.better), ("KiB/s", Better::Higher));
        assert!((rate.value - 34_625_488.0 / 1024.0).abs() < 1e-6);
        let slow = of("write latency p99.9");
        assert!((slow.value - 10.56).abs() < 1e-9 && slow.better == Better::Lower);
    }

    #[test]
    fn missing_fields_are_named() {
        for (from, to, expected) in [
            ("\"total_ios\" : 1454", "\"x\" : 1", "`total_ios`"),
            (
                "\"99.900000\" : 12517376",
                "\"x\" : 1",
                "percentile 99.900000",
            ),
            ("\"error\" : 0", "\"error\" : 28", "error 28"),
            ("\"jobs\"", "\"x\"", "`jobs`"),
        ] {
            assert!(REAL.contains(from), "{from}");
            let error = FIO
                .parse(&REAL.replacen(from, to, 1))
                .unwrap_err()
                .to_string();
            assert!(error.contains("fio") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_job_outside_of_the_contender_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let job = place.path().join("a.fio");
        for (line, fine) in [
            ("directory=/mnt", false),
            ("filename=/dev/sda", false),
            ("filename=a:/b", false),
            ("filename=../b", false),
            ("filename=a", true),
            ("rw=read", true),
        ] {
            std::fs::write(&job, format!("[x]\n{line}\n")).unwrap();
            assert_eq!(stays_in_place(&job).is_ok(), fine, "{line}");
        }
    }

    #[test]
    fn truncated_or_broken_outputs_give_no_figure() {
        outputs::truncated_output_gives_an_error(&FIO, REAL, REAL.trim_end().len());
        outputs::broken_it_gives_no_other_figure(&FIO, REAL);
    }
}
