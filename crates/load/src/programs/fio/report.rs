//! The figures of fio, from `--output-format=json`: rates and latencies of each section.

use super::GENERATED;
use crate::programs::ProgramReport;
use fsdyno_model::sample::{Better, Figure};
use serde_json::Value;

/// Parses the output of fio. The error is the expected text, and the text found.
pub(super) fn read(text: &str) -> Result<ProgramReport, String> {
    // Messages may precede the document.
    let start = text.find('{').ok_or("there is no JSON in it")?;
    let document: Value = serde_json::from_str(text[start..].trim_end())
        .map_err(|error| format!("its JSON is broken: {error}"))?;
    let jobs = document["jobs"]
        .as_array()
        .filter(|jobs| !jobs.is_empty())
        .ok_or("it has no `jobs`")?;
    let names: Option<Vec<&str>> = jobs.iter().map(|job| job["jobname"].as_str()).collect();
    let names = names.ok_or("a job has no `jobname`")?;
    let mut report = ProgramReport::default();
    for (number, job) in jobs.iter().enumerate() {
        let name = names[number];
        if job["error"].as_i64() != Some(0) {
            return Err(format!("job {name} ended with error {}", job["error"]));
        }
        let mut figures = Figures {
            prefix: prefix(&names, number),
            all: &mut report.figures,
        };
        for direction in ["read", "write", "trim"] {
            figures.of_direction(direction, &job[direction])?;
        }
        figures.of_latency("sync latency", &job["sync"]["lat_ns"])?;
    }
    if report.figures.is_empty() {
        return Err("no job read or wrote anything".to_owned());
    }
    Ok(report)
}

/// The name of a job before those of its figures: empty for a generated job. Jobs of the same name
/// are numbered from 0, as fio's `$jobnum` is.
fn prefix(names: &[&str], number: usize) -> String {
    let name = names[number];
    let equal = |names: &[&str]| names.iter().filter(|other| **other == name).count();
    match equal(names) {
        1 if name == GENERATED && names.len() == 1 => String::new(),
        1 => format!("{name} "),
        _ => format!("{name}.{} ", equal(&names[..number])),
    }
}

struct Figures<'a> {
    prefix: String,
    all: &'a mut Vec<Figure>,
}

impl Figures<'_> {
    fn add(&mut self, name: &str, value: f64, unit: &str, better: Better) {
        let name = format!("{}{name}", self.prefix);
        self.all.push(Figure::new(name, value, unit, better));
    }

    fn number(&self, value: &Value, name: &str) -> Result<f64, String> {
        let number = value.as_f64();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("{}has no `{name}`", self.prefix))
    }

    /// The figures of one direction; none if it transferred nothing.
    fn of_direction(&mut self, direction: &str, part: &Value) -> Result<(), String> {
        let named = |name: &str| format!("{direction} {name}");
        if self.number(&part["total_ios"], &named("total_ios"))? == 0.0 {
            return Ok(());
        }
        let rate = self.number(&part["bw_bytes"], &named("bw_bytes"))? / 1024.0;
        self.add(direction, rate, "KiB/s", Better::Higher);
        let requests = self.number(&part["iops"], &named("iops"))?;
        self.add(&named("requests"), requests, "1/s", Better::Higher);
        self.of_latency(&named("latency"), &part["clat_ns"])
    }

    /// The percentiles and the maximum of a latency; none if it was not measured (`gtod_reduce`).
    fn of_latency(&mut self, name: &str, latency: &Value) -> Result<(), String> {
        if self.number(&latency["N"], &format!("{name} N"))? == 0.0 {
            return Ok(());
        }
        // A job may turn percentiles off, and request the whole histogram.
        let known = ["N", "bins", "max", "mean", "min", "percentile", "stddev"];
        let mut keys = latency.as_object().into_iter().flatten();
        if let Some((key, _)) = keys.find(|(key, _)| !known.contains(&&***key)) {
            return Err(format!("`{key}` is no part of {name}"));
        }
        let percentiles = latency["percentile"].as_object();
        for (key, value) in percentiles.into_iter().flatten() {
            let shown: f64 = key
                .parse()
                .map_err(|_| format!("`{key}` is no percentile of {name}"))?;
            let value = self.number(value, &format!("{name} percentile {key}"))?;
            let shown = format!("{name} p{shown}");
            self.add(&shown, value / 1000.0, "us", Better::Lower);
        }
        let most = self.number(&latency["max"], &format!("{name} max"))?;
        let name = format!("{name} max");
        self.add(&name, most / 1000.0, "us", Better::Lower);
        Ok(())
    }
}
