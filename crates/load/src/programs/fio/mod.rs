//! `fio`: a job file of the user as it is, or a generated job.

mod job;
mod report;

use super::{Commands, Program, Task};
use crate::command;
use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::units::Bytes;
use fsdyno_model::{Form, Parameter};
use job::Job;
use std::collections::BTreeMap;
use std::path::Path;

const NAME: &str = "fio";
const GENERATED: &str = "job";
/// The parameter with the job file.
const JOB: &str = "job";
/// The parameter with the text of a job.
const TEXT: &str = "text";

pub static FIO: Program = Program {
    kind: PhaseKind {
        passes_on: true,
        no_defaults_with: &[JOB, TEXT],
        ..PhaseKind::standalone(
            NAME,
            "fio: a generated job, or a job file (parameter job)",
            &[
                Parameter::new(
                    JOB,
                    "job file; options of fio (bs, iodepth, runtime, ...) replace its own",
                    Form::File,
                ),
                Parameter::new(
                    TEXT,
                    "text of a job; fsdyno stores that of the job file here",
                    Form::Text,
                ),
                Parameter::new("rw", "read, write, randread, randwrite, ...", Form::Text)
                    .fixed("randrw"),
                Parameter::size("size", "file size of each job").scaled(256 << 20, 1 << 20),
                Parameter::new("bs", "size of a request", Form::Text).fixed("4096"),
                Parameter::number("numjobs", "number of jobs", 1..=65_536).fixed("1"),
                Parameter::new("randseed", "seed of random numbers", Form::Text).fixed("1"),
            ],
        )
    },
    executable: Some((NAME, "fio")),
    version: &[NAME, "--version"],
    complete: Some(complete),
    commands,
    read: report::read,
    describe,
    data,
    judged,
    figures,
};

/// Whether the parameters name a job instead of generating one.
fn has_job(parameters: &BTreeMap<String, String>) -> bool {
    parameters.contains_key(JOB) || parameters.contains_key(TEXT)
}

fn data(parameters: &BTreeMap<String, String>) -> Option<Bytes> {
    if has_job(parameters) {
        return None;
    }
    let number = |name: &str| parameters.get(name)?.parse::<u64>().ok();
    Some(Bytes(
        number("size")?.saturating_mul(number("numjobs").unwrap_or(1)),
    ))
}

fn describe(task: &Task<'_>) -> String {
    match task.get(JOB) {
        Some(job) => format!("fio, job {job}"),
        None if task.get(TEXT).is_some() => "fio, a job of the plan".to_owned(),
        None => format!(
            "fio, {} of {} B, {} jobs",
            task.value("rw"),
            task.value("bs"),
            task.value("numjobs")
        ),
    }
}

/// Stores the text of the job file, with its includes and the user's variables, and lets fio check all
/// options if it is installed here.
fn complete(parameters: &mut BTreeMap<String, String>) -> Result<(), String> {
    let of_user = match (parameters.get(JOB), parameters.get(TEXT)) {
        (Some(file), _) => Some(Job::read(Path::new(file))?),
        (None, Some(text)) => Some(Job::of_text(text)?),
        (None, None) => None,
    };
    if let Some(mut job) = of_user {
        job.expand(|name| std::env::var(name).ok())?;
        parameters.insert(TEXT.to_owned(), job.to_string());
    }
    let check = reading(&job(parameters)?, "", ["--parse-only"]);
    match command::run(&check, &CancelToken::new()) {
        Ok(_) | Err(LoadError::MissingTool { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The job to run: that of the user, or a generated one, with the options that are set.
fn job(parameters: &BTreeMap<String, String>) -> Result<Job, String> {
    let mut job = match (parameters.get(TEXT), parameters.get(JOB)) {
        (Some(text), _) => Job::of_text(text)?,
        (None, Some(file)) => return Err(format!("the plan has no text of the job {file}")),
        (None, None) => generated(),
    };
    for (key, value) in parameters {
        if [JOB, TEXT].contains(&&**key) {
            continue;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !key.chars().all(is_name) || value.contains('\n') {
            return Err(format!("`{key}={value}` is no option of fio"));
        }
        // A switch has no value in a job file; a plan has truth values.
        let value = match &**value {
            "" => None,
            "true" => Some("1"),
            "false" => Some("0"),
            value => Some(value),
        };
        job.set(key, value);
    }
    job.report_each_section();
    job.set_default("percentile_list", "50:90:99:99.9");
    job.confine();
    Ok(job)
}

fn generated() -> Job {
    let mut job = Job::of_section(GENERATED);
    for (key, value) in [
        ("ioengine", "psync"),
        // The cache state must not change: fio drops caches by default.
        ("invalidate", "0"),
        ("end_fsync", "1"),
        ("group_reporting", "1"),
    ] {
        job.set(key, Some(value));
    }
    job
}

fn reading<const N: usize>(job: &Job, method: &'static str, options: [&str; N]) -> ToolRun {
    let mut run = ToolRun::new(method, [NAME]).args(options).arg("-");
    run.input = Some(job.to_string().into_bytes());
    run
}

fn commands(task: &Task<'_>) -> Result<Commands, LoadError> {
    let job =
        job(task.parameters).map_err(|reason| LoadError::Parameters { kind: NAME, reason })?;
    let mut before = Vec::new();
    let directories = job.directories();
    if !directories.is_empty() {
        let mut mkdir = ToolRun::new("", ["mkdir", "-p", "--"]);
        mkdir.argv.extend(directories.into_iter().map(Into::into));
        before.push(mkdir);
    }
    // The files are created as fio does before its clock starts, and can then be made cold.
    before.push(reading(&job.layout(), "", []));
    Ok(Commands {
        before,
        service: None,
        timed: reading(&job, "", ["--output-format=json"]),
    })
}

/// The figure that judges a job of fixed duration: the rate of its first section. None if another
/// figure, such as its duration, can judge it.
pub fn judged(parameters: &BTreeMap<String, String>) -> Option<String> {
    let job = job(parameters).ok()?;
    let sections = job.effective();
    let is_set = |options: &BTreeMap<&str, &str>, key: &str| {
        options.get(key).is_some_and(|value| *value != "0")
    };
    if !sections
        .iter()
        .all(|(_, options)| is_set(options, "time_based"))
    {
        return None;
    }
    let (name, options) = sections.first()?;
    let rw = options.get("rw").or_else(|| options.get("readwrite"));
    let direction = match *rw.unwrap_or(&"read") {
        rw if rw.contains("read") || rw.contains("rw") => "read",
        rw if rw.contains("write") => "write",
        _ => "trim",
    };
    let copies = options.get("numjobs").is_some_and(|number| *number != "1");
    let copies = copies && !is_set(options, "group_reporting");
    let several = copies || sections[1..].iter().any(|(other, _)| other == name);
    Some(match several {
        true => format!("{name}.0 {direction}"),
        false if *name == GENERATED && sections.len() == 1 => direction.to_owned(),
        false => format!("{name} {direction}"),
    })
}

/// The names of the figures of all sections, as `report` makes them.
fn figures(parameters: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
    let job = job(parameters)?;
    let sections = job.effective();
    let mut names = Vec::new();
    for (name, _) in &sections {
        let alone = *name == GENERATED && sections.len() == 1;
        let alone = alone.then(String::new);
        // Copies of a section, and sections of one name, are numbered.
        for prefix in alone
            .into_iter()
            .chain([format!("{name} "), format!("{name}.* ")])
        {
            for direction in ["read", "write", "trim"] {
                for figure in ["", " requests", " latency p*", " latency max"] {
                    names.push(format!("{prefix}{direction}{figure}"));
                }
            }
            for figure in ["p*", "max"] {
                names.push(format!("{prefix}sync latency {figure}"));
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
