//! Job files of fio as workloads, where their jobs read and write files one operation at a time.
//!
//! Options that only choose how fio works or reports are named in comments. Options that change the
//! operations, and have no equivalent, are refused.

mod options;
mod parse;
mod plan;

use super::{LEFT_OUT, Work, WorkError};
use plan::{Directions, Notes, Plan, Sync};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The remedy for what has no equivalent.
const BY_FIO: &str = "run the job by fio itself: --phases fio --set fio.job=FILE";

/// The most files of a job, each of which has steps of its own.
const MOST_FILES: u64 = 64;

/// The length of one call without the key `block`.
const USUAL_BLOCK: u64 = 128 << 10;

/// Whether a file is named like a job file: `random.fio`.
pub fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "fio")
}

/// The most files that include each other.
const MOST_INCLUDES: usize = 8;

/// The text of a job file with the options of the files that it includes, which `read` returns. They
/// have no sections, and are those of the section that includes them. The error has its place in
/// the text.
pub fn with_includes(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, WorkError> {
    included(text, read, MOST_INCLUDES)
}

fn included(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
    depth: usize,
) -> Result<String, WorkError> {
    let mut whole = String::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begin = start + (line.len() - line.trim_start().len());
        start += line.len();
        let Some(file) = parse::include(line) else {
            whole.push_str(line);
            continue;
        };
        let wrong = |message: String| {
            let help = "name a file of options without sections, relative to the job file";
            WorkError::new(begin..begin + line.trim().len(), message, help)
        };
        if depth == 0 {
            return Err(wrong(format!("{MOST_INCLUDES} files include each other")));
        }
        let options = read(file).map_err(|error| wrong(format!("cannot read {file}: {error}")))?;
        if options
            .lines()
            .any(|line| line.trim_start().starts_with('['))
        {
            return Err(wrong(format!(
                "{file} has a section, and only options are included"
            )));
        }
        let options = included(&options, read, depth - 1)
            .map_err(|error| wrong(format!("{file}: {}", error.message)))?;
        whole.push_str(&options);
        whole.push('\n');
    }
    Ok(whole)
}

/// Translates a job file to the text of a workload, which is valid. Jobs behind a `stonewall` are
/// phases. The error has its place in the job file.
pub fn translate(text: &str) -> Result<String, WorkError> {
    let jobs = parse::jobs(text)?;
    let mut translation = Translation::default();
    let plans: Vec<Plan> = jobs
        .iter()
        .map(|job| Plan::read(job, &mut translation.left_out))
        .collect::<Result<_, _>>()?;
    let translated = translation.text(&plans)?;
    translated.parse::<Work>().map_err(|error| {
        let message = format!("its translation is not valid: {}", error.message);
        WorkError::new(0..0, message, error.help.unwrap_or_default())
    })?;
    Ok(translated)
}

#[derive(Default)]
struct Translation {
    left_out: Notes,
    /// The sets: their names here by those in the job file.
    sets: BTreeMap<String, String>,
}

impl Translation {
    fn text(&mut self, plans: &[Plan]) -> Result<String, WorkError> {
        let mut files = String::new();
        let mut phases: Vec<(String, Vec<&Plan>)> = Vec::new();
        for plan in plans {
            let name = unused(&plan.name, phases.iter().map(|(name, _)| name));
            match phases.last_mut() {
                Some((_, jobs)) if !plan.waits => jobs.push(plan),
                _ => phases.push((name, vec![plan])),
            }
        }
        let several = phases.len() > 1;
        let table = if several { "phases.workers" } else { "workers" };
        let mut workers = String::new();
        for (name, jobs) in &phases {
            if several {
                let names: Vec<String> = jobs.iter().map(|job| plain(&job.name)).collect();
                let names = names.join(", ");
                let _ = write!(
                    workers,
                    "\n[[phases]]\nname = \"{name}\"\nabout = \"performs {names}\"\n"
                );
            }
            for plan in jobs {
                // Where others work too, each worker has a set of its own, whose first file it opens.
                let alone = jobs.len() == 1 || plan.files.shared || !plan.files.present;
                let (groups, of_group) = if alone {
                    (1, plan.workers)
                } else {
                    (plan.workers, 1)
                };
                if groups > MOST_FILES {
                    let message = format!("job {}: too many jobs with other jobs", plan.name);
                    return Err(WorkError::new(plan.span.clone(), message, BY_FIO));
                }
                for number in 0..groups {
                    let set = self.set(plan, plans, (number, of_group), &mut files);
                    plan.group((table, of_group), &set, &mut workers);
                }
            }
        }
        let mut text = "# Translated from a job file of fio.\n".to_owned();
        for (_, line) in &self.left_out {
            let _ = writeln!(text, "{LEFT_OUT}{line}");
        }
        let random = plans.iter().any(|plan| plan.directions.random);
        if random {
            text.push_str("# Random offsets may repeat before all blocks were used.\n");
        }
        Ok(text + &files + &workers)
    }

    /// The set of the files of a job, which is written if it is new.
    fn set(
        &mut self,
        plan: &Plan,
        plans: &[Plan],
        (number, workers): (u64, u64),
        text: &mut String,
    ) -> Set {
        let files = &plan.files;
        let users = || plans.iter().filter(|other| other.files.key == files.key);
        let is_named = !files.key.starts_with('[');
        let several = is_named && (files.shared || users().count() > 1);
        let present = several || files.present;
        if !plan.exists {
            let what = if present {
                "files that are written more than once, or by others, exist before"
            } else {
                "new files are not preallocated, and are sparse if a job writes at random"
            };
            self.left_out.insert((0, format!("fallocate: {what}")));
        }
        let key = if is_named {
            files.key.clone()
        } else {
            // Jobs of one name have files of their own.
            format!("{} {number} {}", files.key, plan.span.start)
        };
        if let Some(name) = self.sets.get(&key) {
            return Set {
                name: name.clone(),
                present,
            };
        }
        let base = files.key.trim_matches(['[', ']']);
        let base = base.split(':').next().unwrap_or_default();
        let base = base.rsplit('/').next().unwrap_or_default();
        let name = unused(base, self.sets.values());
        let size = if several {
            users()
                .map(|user| user.files.size)
                .max()
                .unwrap_or(files.size)
        } else {
            files.size
        };
        let count = if files.shared {
            files.count
        } else {
            files.count * workers
        };
        let _ = writeln!(
            text,
            "\n[[files]]\nname = \"{name}\"\ncount = {count}\nsize = \"{size}\""
        );
        if !present {
            text.push_str("present = \"0%\"\n");
        }
        self.sets.insert(key, name.clone());
        Set { name, present }
    }
}

struct Set {
    name: String,
    present: bool,
}

impl Plan {
    /// Writes the workers of this job.
    fn group(&self, (table, workers): (&str, u64), set: &Set, text: &mut String) {
        let (begin, steps, loops) = self.steps(set);
        let _ = writeln!(text, "\n# {}\n[[{table}]]", plain(&self.name));
        if workers > 1 {
            let _ = writeln!(text, "count = {workers}");
        }
        if let Some(loops) = loops {
            let _ = writeln!(text, "loops = {loops}");
        }
        if self.split.is_some() && !self.time_based {
            let bytes = self.operations.saturating_mul(workers);
            let _ = writeln!(text, "bytes = \"{bytes}\"");
        }
        if let Some(time) = self.time {
            let _ = writeln!(text, "time = \"{}\"", shown(time));
        }
        text.push_str("begin = [\n");
        for step in self.opens(set).into_iter().chain(begin) {
            let _ = writeln!(text, "  {step},");
        }
        text.push_str("]\nsteps = [\n");
        for step in steps {
            let _ = writeln!(text, "  {step},");
        }
        text.push_str("]\n");
    }

    /// The steps that open the files.
    fn opens(&self, set: &Set) -> Vec<String> {
        let Set { name, present } = set;
        let is_mixed = (1..100).contains(&self.directions.reads) && !self.directions.random;
        let mut steps = Vec::new();
        for file in 0..self.files.count {
            let mut open = |line: String| {
                steps.push(match self.flags.as_str() {
                    "" => format!("\"{line}\""),
                    flags => format!("{{ do = \"{line}\"{flags} }}"),
                });
            };
            if *present {
                open(format!("open {name}:in-order as f{file}"));
            } else {
                open(format!("create {name} as f{file}"));
            }
            if is_mixed {
                // Each direction has its own position.
                open(format!("open {name}:same as w{file}"));
            }
            if !present && self.directions.random {
                steps.push(format!("\"truncate @f{file} {}\"", self.files.size));
            }
        }
        steps
    }

    /// Further steps that are done once, the steps, and how often these are done.
    fn steps(&self, set: &Set) -> (Vec<String>, Vec<String>, Option<u64>) {
        let one = |file: u64, times: u64| self.operation(set, file, times);
        let sync = |file: u64, sync: &Sync| format!("\"{} @f{file}\"", sync.call);
        let count = self.files.count;
        let uncounted = self.time_based || self.split.is_some();
        match &self.sync {
            Some(each) if count == 1 => {
                let steps = vec![sync(0, each), one(0, each.every)];
                if uncounted {
                    return (Vec::new(), steps, None);
                }
                // As fio does, no sync follows the last operation.
                match (self.operations - 1) / each.every {
                    0 => (Vec::new(), vec![one(0, self.operations)], Some(1)),
                    syncs => {
                        let first = self.operations - syncs * each.every;
                        (vec![one(0, first)], steps, Some(syncs))
                    }
                }
            }
            each => {
                let of = |file: u64| {
                    let sync = each.as_ref().map(|each| sync(file, each));
                    [one(file, 1)].into_iter().chain(sync)
                };
                if uncounted {
                    return (Vec::new(), (0..count).flat_map(of).collect(), None);
                }
                let rest = self.operations % count;
                let begin = (0..rest).flat_map(of).collect();
                let order = (rest..count).chain(0..rest);
                match self.operations / count {
                    0 => (Vec::new(), (0..rest).flat_map(of).collect(), Some(1)),
                    loops => (begin, order.flat_map(of).collect(), Some(loops)),
                }
            }
        }
    }

    /// The step of one operation on a file, which is repeated.
    fn operation(&self, set: &Set, file: u64, times: u64) -> String {
        let Directions { reads, random } = self.directions;
        let block = self.block;
        let length = match &self.split {
            Some(split) => split.lengths.clone(),
            None => block.to_string(),
        };
        let at = if random { "random" } else { "next" };
        let read = || format!("read @f{file} {at} {length}");
        let write = match (random, set.present, reads) {
            (false, false, _) => format!("append @f{file} {length}"),
            (false, true, 1..) => format!("write @w{file} next {length}"),
            _ => format!("write @f{file} {at} {length}"),
        };
        let mut keys = String::new();
        if block > USUAL_BLOCK {
            let _ = write!(keys, ", block = \"{block}\"");
        }
        if let Some(think) = self.think {
            let _ = write!(keys, ", think = \"{}\"", shown(think));
        }
        // Each file has steps of its own, which share the rate of the job.
        let [of_reads, of_writes] = self.every.map(|every| {
            let every = every.map(|every| every.saturating_mul(self.files.count));
            every.map_or(String::new(), |every| {
                format!("{keys}, every = \"{}\"", shown(every))
            })
        });
        let own = |own: String| if own.is_empty() { keys.clone() } else { own };
        let (read_keys, write_keys) = (own(of_reads), own(of_writes));
        let repeat = if times > 1 {
            format!(", repeat = {times}")
        } else {
            String::new()
        };
        match reads {
            0 | 100 => {
                let (line, keys) = if reads == 0 {
                    (write, write_keys)
                } else {
                    (read(), read_keys)
                };
                if keys.is_empty() && repeat.is_empty() {
                    return format!("\"{line}\"");
                }
                format!("{{ do = \"{line}\"{keys}{repeat} }}")
            }
            reads => format!(
                "{{ steps = [{{ do = \"{}\", weight = {reads}{read_keys} }}, {{ do = \"{write}\", \
                 weight = {}{write_keys} }}]{repeat} }}",
                read(),
                100 - reads
            ),
        }
    }
}

/// A time of nanoseconds in a unit of which it is a multiple.
fn shown(time: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let fits = units.iter().find(|(_, ns)| time.is_multiple_of(*ns));
    fits.map_or_else(
        || format!("{time}ns"),
        |(unit, ns)| format!("{}{unit}", time / ns),
    )
}

/// A name of letters, digits and `-`.
fn plain(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    name.chars().map(plain).take(30).collect()
}

/// The name, with as many letters behind it as make it new.
fn unused<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<&String> = known.collect();
    let mut name = plain(name);
    while name.is_empty() || known.contains(&&name) {
        name.push('x');
    }
    name
}

#[cfg(test)]
mod tests;
