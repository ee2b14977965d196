//! What a job does: the files, the operations and the ends of its workers.

use super::options::left_out;
use super::parse::{Job, Setting, size};
use super::{BY_FIO, MOST_FILES};
use crate::work::WorkError;
use std::collections::BTreeSet;
use std::ops::Range;

/// The longest operation.
const MOST_BLOCK: u64 = 64 << 20;

/// The alignment of direct I/O.
const SECTOR: u64 = 4096;

/// The most copies of a job.
const MOST_WORKERS: u64 = 4096;

/// What has no meaning here, each with its line.
pub(super) type Notes = BTreeSet<(usize, String)>;

/// Directions of a job, in percent of reads.
#[derive(Clone, Copy)]
pub(super) struct Directions {
    pub reads: u64,
    pub random: bool,
}

/// A sync after so many operations.
pub(super) struct Sync {
    pub every: u64,
    pub call: &'static str,
}

/// Operations of several lengths.
pub(super) struct Split {
    /// The distribution of lengths.
    pub lengths: String,
    longest: u64,
    /// Whether all are multiples of 4096.
    aligned: bool,
}

/// What a job does.
pub(super) struct Plan {
    pub name: String,
    pub span: Range<usize>,
    /// Whether it waits for all jobs before.
    pub waits: bool,
    /// The files by the name in the job file, if it has one, and what they are called here.
    pub files: Files,
    /// Whether fio writes the files before the job.
    pub exists: bool,
    pub directions: Directions,
    /// The bytes of an operation, or of the longest.
    pub block: u64,
    /// The operations of each worker; if they have several lengths, their bytes.
    pub operations: u64,
    pub split: Option<Split>,
    pub workers: u64,
    pub sync: Option<Sync>,
    /// Nanoseconds.
    pub time: Option<u64>,
    pub time_based: bool,
    pub think: Option<u64>,
    /// Nanoseconds between the starts of reads, and of writes.
    pub every: [Option<u64>; 2],
    /// The keys of steps that open files.
    pub flags: String,
}

pub(super) struct Files {
    /// The names in the job file, or that of the job.
    pub key: String,
    /// Whether other workers use the same files.
    pub shared: bool,
    /// Files of each worker.
    pub count: u64,
    /// The size of a file.
    pub size: u64,
    /// Whether they exist before.
    pub present: bool,
}

impl Job {
    /// A switch.
    fn is_on(&self, key: &str) -> Result<bool, WorkError> {
        self.options.get(key).map_or(Ok(false), Setting::is_on)
    }

    /// A number from 1 on; 1 if it is not set.
    fn number(&self, key: &str) -> Result<u64, WorkError> {
        let setting = self.options.get(key);
        setting.map_or(Ok(1), |setting| setting.number(1))
    }

    fn bytes(&self, key: &str) -> Result<Option<u64>, WorkError> {
        self.options.get(key).map(Setting::size).transpose()
    }

    /// A time that is a number of this unit, as nanoseconds.
    fn time(&self, key: &str, unit_ns: u64) -> Result<Option<u64>, WorkError> {
        let setting = self.options.get(key);
        setting.map(|setting| setting.time(unit_ns)).transpose()
    }

    fn wrong(&self, what: &str, help: &str) -> WorkError {
        let message = format!("job {}: {what}", self.name);
        WorkError::new(self.span.clone(), message, help)
    }
}

impl Plan {
    /// Checks a job, and finds what it does. Adds what has no meaning here to the notes.
    pub fn read(job: &Job, notes: &mut Notes) -> Result<Self, WorkError> {
        for setting in job.options.values() {
            if let Some(why) = left_out(setting)? {
                leave_out(notes, setting, why);
            }
        }
        let directions = directions(job)?;
        let split = job.options.get("bssplit").map(split).transpose()?;
        let block = match &split {
            Some(split) => split.longest,
            None => block(job.options.get("bs"), directions)?,
        };
        let aligned = match &split {
            Some(split) => split.aligned,
            None => block.is_multiple_of(SECTOR),
        };
        let workers = job.number("numjobs")?;
        if workers > MOST_WORKERS {
            return Err(job.wrong(&format!("{workers} are too many jobs"), BY_FIO));
        }
        // Operations of several lengths are not counted: their bytes are.
        let unit = if split.is_some() { 1 } else { block };
        let (mut files, limit) = files(job, unit, workers)?;
        if files.size < block {
            let what = "its files are smaller than one operation";
            return Err(job.wrong(what, "raise size"));
        }
        let of_files = (files.size / unit).saturating_mul(files.count);
        let once = limit.map_or(of_files, |limit| limit.div_ceil(unit));
        let operations = once.saturating_mul(job.number("loops")?);
        let time_based = job.is_on("time_based")?;
        let time = job.time("runtime", 1_000_000_000)?;
        if time_based && time.is_none() {
            return Err(job.wrong("it is time_based, and has no time", "write runtime=60"));
        }
        if let Some(order) = job.options.get("file_service_type")
            && order.value.as_deref() != Some("roundrobin")
        {
            return Err(order.wrong("only roundrobin is translated", BY_FIO));
        }
        let again = time_based || operations > of_files;
        let exists = directions.reads > 0 || job.is_on("overwrite")?;
        files.present = exists || again;
        Ok(Self {
            name: job.name.clone(),
            span: job.span.clone(),
            waits: job.is_on("stonewall")?,
            sync: sync(job, directions, files.count, notes)?,
            files,
            exists,
            directions,
            block,
            operations,
            split,
            workers,
            time,
            time_based,
            think: job.time("thinktime", 1_000)?,
            every: intervals(job, block)?,
            flags: flags(job, aligned)?,
        })
    }
}

/// The files of a job, and the bytes of each worker if they are not those of all files.
fn files(job: &Job, unit: u64, workers: u64) -> Result<(Files, Option<u64>), WorkError> {
    let names = job
        .options
        .get("filename")
        .and_then(|one| one.value.as_deref());
    let list: Vec<&str> = names.map_or_else(Vec::new, |names| names.split(':').collect());
    if list.iter().any(|name| name.starts_with("/dev/")) {
        return Err(job.wrong("its file is a device", BY_FIO));
    }
    let count = match list.len() as u64 {
        0 => job.number("nrfiles")?,
        number => number,
    };
    if count > MOST_FILES {
        let what = format!("it has {count} files, and at most {MOST_FILES} are translated");
        return Err(job.wrong(&what, BY_FIO));
    }
    let total = job.bytes("size")?;
    let each = job.bytes("filesize")?;
    let each_size = match (each, total) {
        (Some(each), _) => each,
        (None, Some(total)) => total / count,
        (None, None) => return Err(job.wrong("it has no size", "write size=SIZE")),
    };
    // Only whole operations are performed.
    let size = each_size - each_size % unit;
    let all = size.saturating_mul(count);
    let limit = job.bytes("io_size")?.or(total.filter(|total| *total < all));
    let files = Files {
        key: names.map_or_else(|| format!("[{}]", job.name), str::to_owned),
        shared: names.is_some() && workers > 1,
        count,
        size,
        present: false,
    };
    Ok((files, limit))
}

/// Names a setting that has no meaning here.
fn leave_out(notes: &mut Notes, setting: &Setting, why: &str) {
    let text = setting.text.replace(char::is_control, " ");
    let text = format!("line {}: {text}: {why}", setting.line);
    notes.insert((setting.line, text));
}

/// The sync of a job after some of its operations.
fn sync(
    job: &Job,
    directions: Directions,
    files: u64,
    notes: &mut Notes,
) -> Result<Option<Sync>, WorkError> {
    let mut found: Option<Sync> = None;
    for call in ["fsync", "fdatasync"] {
        let Some(setting) = job.options.get(call) else {
            continue;
        };
        let every = setting.number(0)?;
        if every == 0 {
            continue;
        }
        if directions.reads == 100 {
            leave_out(notes, setting, "the job only reads");
            continue;
        }
        if found.is_some() {
            return Err(setting.wrong("the job has fsync and fdatasync", BY_FIO));
        }
        if every > 1 && (directions.reads > 0 || files > 1) {
            let what = "with reads, or with several files, only 1 is translated";
            return Err(setting.wrong(what, BY_FIO));
        }
        found = Some(Sync { every, call });
    }
    Ok(found)
}

fn directions(job: &Job) -> Result<Directions, WorkError> {
    let setting = job.options.get("rw");
    let rw = setting.and_then(|setting| setting.value.as_deref());
    let (mixed, random) = match rw.unwrap_or("read") {
        "read" => (Some(100), false),
        "write" => (Some(0), false),
        "randread" => (Some(100), true),
        "randwrite" => (Some(0), true),
        "rw" | "readwrite" => (None, false),
        "randrw" => (None, true),
        _ => {
            let wrong = setting.map(|one| one.wrong("it has no translation", BY_FIO));
            return Err(wrong.unwrap_or_else(|| WorkError::new(0..0, "", BY_FIO)));
        }
    };
    let share = |key: &str| job.options.get(key);
    // The later of the two counts.
    let reads = match (mixed, share("rwmixread"), share("rwmixwrite")) {
        (Some(reads), ..) => reads,
        (None, None, None) => 50,
        (None, Some(read), Some(write)) if read.line > write.line => percent(read)?,
        (None, _, Some(write)) => 100 - percent(write)?,
        (None, Some(read), None) => percent(read)?,
    };
    Ok(Directions { reads, random })
}

fn percent(setting: &Setting) -> Result<u64, WorkError> {
    let share = setting.number(0)?;
    if share > 100 {
        return Err(setting.wrong("this is no share", "write a number from 0 to 100"));
    }
    Ok(share)
}

/// The bytes of an operation: of `8k`, or of reads and writes as in `4k,8k`.
fn block(setting: Option<&Setting>, directions: Directions) -> Result<u64, WorkError> {
    const USUAL: u64 = 4096;
    let Some(setting) = setting else {
        return Ok(USUAL);
    };
    let texts: Vec<&str> = setting
        .value
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .collect();
    let wrong = || setting.wrong("this is no size", "write for example 4k, or 4k,8k");
    let of = |text: &str| match text.split_once('-') {
        Some((least, most)) if least == most => size(least).ok_or_else(wrong),
        Some(_) => Err(setting.wrong("operations have one size here", BY_FIO)),
        None if text.is_empty() && texts.len() > 1 => Ok(USUAL),
        None => size(text).ok_or_else(wrong),
    };
    let read = of(texts[0])?;
    // Without a size of its own, writing has that of reading.
    let write = texts.get(1).map_or(Ok(read), |text| of(text))?;
    let block = match directions.reads {
        100 => read,
        0 => write,
        _ if read == write => read,
        _ => {
            let what = "a job that reads and writes has one size here";
            return Err(setting.wrong(what, BY_FIO));
        }
    };
    if block > MOST_BLOCK {
        return Err(setting.wrong("an operation has at most 64 MiB", BY_FIO));
    }
    Ok(block)
}

/// Lengths with their shares in percent: `4k/60:64k/40`.
fn split(setting: &Setting) -> Result<Split, WorkError> {
    let mut choices = Vec::new();
    let mut aligned = true;
    let mut longest = 0;
    for choice in setting.value.as_deref().unwrap_or_default().split(':') {
        let read = choice.split_once('/').and_then(|(length, share)| {
            let share: u32 = share.parse().ok().filter(|share| *share <= 100)?;
            Some((size(length)?, share))
        });
        let (length, share) = read.ok_or_else(|| {
            let what = format!("`{choice}` is no length with its share");
            setting.wrong(&what, "write for example 4k/60:64k/40")
        })?;
        if share > 0 {
            longest = longest.max(length);
            aligned &= length.is_multiple_of(SECTOR);
            choices.push(format!("{length}*{share}"));
        }
    }
    if longest > MOST_BLOCK || choices.is_empty() {
        return Err(setting.wrong("lengths are up to 64 MiB", BY_FIO));
    }
    Ok(Split {
        lengths: format!("choice({})", choices.join(", ")),
        longest,
        aligned,
    })
}

/// The intervals between the operations of a job that its rates leave: of reads, and of writes. A
/// second rate is that of writes.
fn intervals(job: &Job, block: u64) -> Result<[Option<u64>; 2], WorkError> {
    let mut intervals = [None; 2];
    for key in ["rate", "rate_iops"] {
        let Some(setting) = job.options.get(key) else {
            continue;
        };
        if intervals != [None; 2] {
            return Err(setting.wrong("the job has rate and rate_iops", BY_FIO));
        }
        if key == "rate" && job.options.contains_key("bssplit") {
            let what = "with bssplit, a rate of bytes has no equivalent";
            return Err(setting.wrong(what, BY_FIO));
        }
        let text = setting.value.as_deref().unwrap_or_default();
        let rates: Vec<&str> = text.split(',').map(str::trim).collect();
        for (direction, interval) in intervals.iter_mut().enumerate() {
            let rate = match rates.get(direction).or_else(|| rates.first()) {
                // The direction of an empty rate has none.
                None | Some(&("" | "0")) => continue,
                Some(rate) => size(rate),
            };
            let operation = if key == "rate" { block } else { 1 };
            let time = u128::from(operation) * 1_000_000_000;
            let time = rate.and_then(|rate| u64::try_from(time / u128::from(rate)).ok());
            let help = "write a number, as 1000, or two for reads and writes";
            *interval = Some(
                time.ok_or_else(|| setting.wrong("this is no rate", help))?
                    .max(1),
            );
        }
    }
    Ok(intervals)
}

/// The keys of steps that open files.
fn flags(job: &Job, aligned: bool) -> Result<String, WorkError> {
    let mut flags = String::new();
    for (key, meaning) in [("direct", true), ("buffered", false)] {
        let Some(direct) = job.options.get(key) else {
            continue;
        };
        if direct.is_on()? != meaning || !flags.is_empty() {
            continue;
        }
        if !aligned {
            let what = "direct I/O needs operations of a multiple of 4096 bytes";
            return Err(direct.wrong(what, BY_FIO));
        }
        flags.push_str(", direct = true");
    }
    if let Some(sync) = job.options.get("sync") {
        match sync.value.as_deref() {
            Some("0" | "none") => {}
            Some("dsync") => flags.push_str(", dsync = true"),
            _ => return Err(sync.wrong("only dsync is translated", BY_FIO)),
        }
    }
    Ok(flags)
}
