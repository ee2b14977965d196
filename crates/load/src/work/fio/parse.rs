//! The sections of a job file with the places of their options, and fio's notation of values.

use crate::work::WorkError;
use std::collections::BTreeMap;
use std::ops::Range;

/// The section whose options are those of all later ones.
const GLOBAL: &str = "global";

/// Names of options that mean the same as another one.
const ALIASES: [(&str, &str); 9] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("bsrange", "bs"),
    ("blocksize_range", "bs"),
    ("nr_files", "nrfiles"),
    ("io_limit", "io_size"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
    ("file_size", "filesize"),
];

/// An option. A switch has no value.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub key: String,
    pub value: Option<String>,
    /// It as in the file.
    pub text: String,
    pub line: usize,
    pub span: Range<usize>,
}

/// A section that is a job, with the options of the global sections before it.
#[derive(Debug)]
pub(super) struct Job {
    pub name: String,
    pub span: Range<usize>,
    pub options: BTreeMap<String, Setting>,
}

/// Reads the jobs of a file.
pub(super) fn jobs(text: &str) -> Result<Vec<Job>, WorkError> {
    let mut global = BTreeMap::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = None;
    let mut start = 0;
    for (number, whole) in (1..).zip(text.split_inclusive('\n')) {
        // fio reads comments at the end of lines, too.
        let line = whole.split([';', '#']).next().unwrap_or_default().trim();
        let begin = start + (whole.len() - whole.trim_start().len());
        let span = begin..begin + line.len();
        start += whole.len();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            in_global = Some(name == GLOBAL);
            if name != GLOBAL {
                let (name, options) = (name.to_owned(), global.clone());
                jobs.push(Job {
                    name,
                    span,
                    options,
                });
            }
            continue;
        }
        if include(line).is_some() {
            let help = "write its lines here";
            return Err(WorkError::new(span, "includes are not read here", help));
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
        let key = alias.map_or(key, |(_, name)| name).to_owned();
        let options = match (in_global, jobs.last_mut()) {
            (Some(true), _) => &mut global,
            (Some(false), Some(job)) => &mut job.options,
            _ => {
                let help = "write a section before it, as [job]";
                return Err(WorkError::new(span, "this option is in no section", help));
            }
        };
        options.insert(
            key.clone(),
            Setting {
                key,
                value,
                text: line.to_owned(),
                line: number,
                span,
            },
        );
    }
    if jobs.is_empty() {
        return Err(WorkError::new(
            0..0,
            "it has no job",
            "write a section, as [job]",
        ));
    }
    Ok(jobs)
}

/// The file that a line includes.
pub(super) fn include(line: &str) -> Option<&str> {
    let line = line.split([';', '#']).next().unwrap_or_default().trim();
    let file = line.strip_prefix("include")?;
    let file = file.strip_prefix(char::is_whitespace)?.trim();
    (!file.is_empty()).then_some(file)
}

impl Setting {
    pub fn wrong(&self, what: &str, help: &str) -> WorkError {
        WorkError::new(self.span.clone(), format!("`{}`: {what}", self.text), help)
    }

    /// A switch.
    pub fn is_on(&self) -> Result<bool, WorkError> {
        match self.value.as_deref() {
            None | Some("1" | "true") => Ok(true),
            Some("0" | "false") => Ok(false),
            Some(_) => Err(self.wrong("it is a switch", "write 0 or 1")),
        }
    }

    /// A number of at least this.
    pub fn number(&self, least: u64) -> Result<u64, WorkError> {
        let value = self.value.as_deref().and_then(|value| value.parse().ok());
        value.filter(|number| *number >= least).ok_or_else(|| {
            let help = format!("write a whole number from {least}");
            self.wrong("this is no number", &help)
        })
    }

    /// A size above 0.
    pub fn size(&self) -> Result<u64, WorkError> {
        let value = self.value.as_deref().and_then(size);
        value.ok_or_else(|| {
            let help = "write a number of bytes, with k, m, g or t for powers of 1024";
            self.wrong("this is no size", help)
        })
    }

    /// A time in this unit, as nanoseconds.
    pub fn time(&self, unit_ns: u64) -> Result<u64, WorkError> {
        let text = self.value.as_deref().unwrap_or_default();
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let unit = match &text[end..] {
            "" => Some(unit_ns),
            "us" | "usec" => Some(1_000),
            "ms" | "msec" => Some(1_000_000),
            "s" | "sec" => Some(1_000_000_000),
            "m" => Some(60_000_000_000),
            "h" => Some(3_600_000_000_000),
            _ => None,
        };
        let number: Option<u64> = text[..end].parse().ok();
        let time = number
            .zip(unit)
            .and_then(|(number, unit)| number.checked_mul(unit));
        time.filter(|time| *time > 0)
            .ok_or_else(|| self.wrong("this is no time", "write for example 60s"))
    }
}

/// A size of at least one byte: without the option `kb_base`, `k` and `kb` are 1024 bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let power = match text[end..].strip_suffix('b').unwrap_or(&text[end..]) {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let number: u64 = text[..end].parse().ok()?;
    let size = number.checked_mul(1 << (10 * power))?;
    // Larger files are in no file system.
    (1..1 << 60).contains(&size).then_some(size)
}
