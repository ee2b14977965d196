//! Which functions of the kernel carry the difference between two contenders: their exact profiles,
//! compared by call path. [`sampled`] compares those of the host.

pub mod document;
pub mod firefox;
pub mod flame;
mod requests;
pub mod sampled;
mod stored;
mod subsystems;
mod tree;

pub use stored::flames;

use crate::terms;
use crate::why::work::Unit;
use crate::why::{Two, WhyError, median_sample, place};
use flame::Measure;
use fsdyno_model::names::hexadecimal;
use fsdyno_model::profile::{Content, Operation, PathWork, Profile};
use fsdyno_model::{CellRecord, KernelWork, Nanos, ResultSet, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use tree::{Tree, joined};

/// Another build of fsdyno moves a few hundred blocks: the part by which a repeat may differ from what was
/// measured. A profile shows where differences are that are larger.
const OTHER_BUILD: f64 = 0.001;

/// The largest number of subsystems in a sentence.
const SUBSYSTEMS: usize = 3;

/// The profiles of two contenders in one phase, compared.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Functions {
    /// The version of this structure.
    #[schemars(extend("const" = Functions::SCHEMA))]
    pub schema: u32,
    /// The run.
    pub run: String,
    /// The labels of the two, escaped for printing.
    pub contenders: [String; 2],
    /// The workload and the phase, as a heading.
    pub phase: String,
    /// The unit by which counts are divided in sentences: `file`, `2 KiB write`, `MiB`; empty if they are
    /// not divided.
    pub unit: String,
    /// The number of these units of both.
    pub units: [f64; 2],
    /// The kernel blocks of both.
    pub blocks: [u64; 2],
    /// The processor time of the kernel, in nanoseconds of virtual time.
    pub charged_ns: [u64; 2],
    /// How long their processes slept in the kernel, in nanoseconds of virtual time.
    pub slept_ns: [u64; 2],
    /// Blocks for which the kernel's tables had no room. They are in no call path.
    pub lost: [u64; 2],
    /// SHA-256 of the call paths of each with their work. Equal runs have equal ones.
    pub digests: [String; 2],
    /// The function in which most of the difference of blocks is; none without a difference.
    pub most_work: Option<Concentrated>,
    /// The same of the sleeps of processes.
    pub most_sleep: Option<Concentrated>,
    /// The blocks of each subsystem, the largest difference first. They add up to the whole. Empty if the
    /// kernels list no source files.
    pub subsystems: Vec<Subsystem>,
    /// Where the blocks differ, the largest difference first. Their differences add up to the whole.
    pub work: Vec<Parting>,
    /// Where the sleeps of processes differ, likewise.
    pub sleeps: Vec<Parting>,
    /// All functions, the largest difference of their own blocks first.
    pub functions: Vec<Function>,
    /// The requests to model disks by the function that submitted them, the largest difference first; none
    /// if those of one are not known.
    pub requests: Option<Vec<Submitted>>,
    /// The functions that gave the block layer requests which need a flush before or after them, the largest
    /// difference first. The worker of the block layer submits these flushes.
    pub flush_calls: Vec<FlushCalls>,
    /// What both trees hold, for pictures.
    #[serde(skip)]
    pub calls: Calls,
}

/// The call paths of two contenders, for pictures.
#[derive(Debug, Clone)]
pub struct Calls {
    run: String,
    contenders: [String; 2],
    phase: String,
    /// What is drawn of their work.
    pub measure: Measure,
    /// How many samples each has.
    samples: [u64; 2],
    tree: Tree,
}

/// A function in which most of a difference is, with all that it calls.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Concentrated {
    /// The calls that lead to it, from who executes.
    pub path: Vec<String>,
    /// Blocks, or nanoseconds asleep.
    pub figures: [u64; 2],
    /// Whether the contender has this path.
    pub present: [bool; 2],
    /// The functions that they call there if both call different ones: the largest of each.
    pub only: Option<[String; 2]>,
}

/// A place that both reach by the same calls, and from where they call different functions.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Parting {
    /// The calls that lead to it, from who executes.
    pub path: Vec<String>,
    /// Blocks, or nanoseconds asleep: of the place itself, and of the functions that only one calls.
    pub figures: [u64; 2],
    /// The functions that only that contender calls from here, the largest first.
    pub only: [Vec<Callee>; 2],
}

/// A function that only one of them calls, with all that it calls.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Callee {
    pub function: String,
    /// Blocks, or nanoseconds asleep.
    pub figure: u64,
}

/// The blocks of functions whose source files are of one subsystem. Functions of `lib/` count for their
/// callers.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Subsystem {
    pub subsystem: String,
    pub blocks: [u64; 2],
}

/// The blocks of a function by all paths.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Function {
    pub function: String,
    /// Its own.
    pub own: [u64; 2],
    /// With all that it calls.
    pub total: [u64; 2],
}

/// The requests of one kind that a function submitted to model disks.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Submitted {
    /// The function, after its caller.
    pub path: Vec<String>,
    pub operation: Operation,
    /// What the first block of each holds; none if the recipe of the file system cannot tell.
    pub content: Option<Content>,
    pub requests: [u64; 2],
    pub bytes: [u64; 2],
    /// How many did not begin where the request before them ended.
    pub seeks: [u64; 2],
}

/// Requests with a flush that a function gave to the block layer.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FlushCalls {
    /// The function, after its caller.
    pub path: Vec<String>,
    pub calls: [u64; 2],
}

/// The reason why profiles cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum FunctionsError {
    /// The repeat of the cell is not what was measured.
    #[error(
        "{contender} executed {measured} kernel blocks in {phase} when it was measured, and {repeated} \
         now: its kernel, a program or fsdyno is another one. Repeat the run (fsdyno run) and ask again"
    )]
    OtherRun {
        contender: String,
        phase: String,
        measured: u64,
        repeated: u64,
    },
    /// The phase has no part of the profile.
    #[error(
        "the guest kernel wrote no profile: fsdyno lab setup builds one that does; then repeat the run"
    )]
    NoProfile,
    /// No parts of the profile have the blocks that the kernel counted.
    #[error(
        "the profile of {contender} in {phase} is not whole: its kernel blocks are not those that were \
         counted. Compare without functions (fsdyno why)"
    )]
    NotWhole { contender: String, phase: String },
}

/// One contender in one phase.
#[derive(Debug)]
pub struct Side<'a> {
    /// Its label, escaped for printing.
    pub label: String,
    /// The sample of the phase when it was measured.
    pub measured: &'a Sample,
    /// What its kernel did in the phase.
    pub profile: Profile,
}

/// The cell that is repeated for the profile of one contender.
#[derive(Debug)]
pub struct Repeated<'a> {
    /// The label of the contender, escaped for printing.
    pub label: String,
    /// Of all blocks, the one with the median time of the phase.
    pub record: &'a CellRecord,
    /// The place of the phase among its samples.
    pub at: usize,
    /// The workload and the phase, as a heading.
    pub phase: String,
    /// The sampled profiles of all its cells, by block.
    pub sampled: Vec<&'a Profile>,
}

impl Repeated<'_> {
    /// The sample of the phase when it was measured.
    pub fn measured(&self) -> &Sample {
        &self.record.samples[self.at]
    }

    /// The profile of the phase. Of a repeat of the cell these are the samples of all phases, the parts
    /// that its kernel wrote, and the requests of each phase, if they are known.
    pub fn profile(
        &self,
        repeated: &[Sample],
        parts: &[Profile],
        requests: Option<&BTreeMap<u32, Profile>>,
    ) -> Result<Profile, FunctionsError> {
        let measured = self.measured();
        let found = of_phase(measured, (repeated, self.at), parts).map(|profile| {
            let nothing = Profile {
                requests: Some(Vec::new()),
                ..Profile::default()
            };
            match requests {
                Some(phases) => joined([&profile, phases.get(&measured.phase).unwrap_or(&nothing)]),
                None => profile,
            }
        });
        found.map_err(|other| match other {
            None if parts.is_empty() => FunctionsError::NoProfile,
            None => FunctionsError::NotWhole {
                contender: self.label.clone(),
                phase: self.phase.clone(),
            },
            Some([measured, repeated]) => FunctionsError::OtherRun {
                contender: self.label.clone(),
                phase: self.phase.clone(),
                measured,
                repeated,
            },
        })
    }
}

/// The cells whose profiles explain the difference of two contenders in a phase. The phase may be left
/// out if there is only one.
pub fn repeated<'a>(
    set: &'a ResultSet,
    labels: [&str; 2],
    phase: Option<&str>,
) -> Result<[Repeated<'a>; 2], WhyError> {
    let Two { places, shown, .. } = Two::of(set, labels)?;
    let phase = PhasePlace::find(set, phase)?;
    let [a, b] = places.map(|at| phase.median_cell(set, at));
    if let (Some(one), Some(other)) = (a, b) {
        return Ok([one, other]);
    }
    let [a, b] = shown;
    Err(WhyError::Nothing(set.run.id.clone(), a, b))
}

/// The cell of one contender whose profile is compared with that of another run. None if the phase was
/// not measured for it.
pub fn repeated_of<'a>(
    set: &'a ResultSet,
    label: &str,
    phase: &str,
) -> Result<Option<Repeated<'a>>, WhyError> {
    let at = place(set, label)?;
    let mut one = PhasePlace::find(set, Some(phase))?.median_cell(set, at);
    if let Some(one) = &mut one {
        one.label = format!("{} in {}", one.label, set.run.id);
    }
    Ok(one)
}

/// A phase of a plan.
struct PhasePlace {
    workload: usize,
    phase: usize,
    heading: String,
}

impl PhasePlace {
    /// The phase with this heading, label or kind; the only one if none is named.
    fn find(set: &ResultSet, requested: Option<&str>) -> Result<Self, WhyError> {
        let plan = &set.run.plan;
        let mut known = Vec::new();
        for (w, workload) in plan.workloads.iter().enumerate() {
            for (p, phase) in workload.phases.iter().enumerate() {
                let heading = terms::phase(plan.workloads.len(), &workload.name, &phase.label);
                known.push((w, p, heading, phase));
            }
        }
        let position = match requested {
            None if known.len() == 1 => Some(0),
            None => None,
            Some(name) => known
                .iter()
                .position(|(_, _, heading, phase)| *heading == name || phase.label == name)
                .or_else(|| known.iter().position(|(_, _, _, phase)| phase.kind == name)),
        };
        if let Some(at) = position {
            let (workload, phase, heading, _) = known.swap_remove(at);
            return Ok(Self {
                workload,
                phase,
                heading: terms::printable(&heading),
            });
        }
        let names = known.iter().map(|(_, _, one, _)| terms::printable(one));
        let names: Vec<String> = names.collect();
        let (run, known) = (set.run.id.clone(), terms::list(&names));
        Err(match requested {
            None => WhyError::WhichPhase { run, known },
            Some(requested) => WhyError::NoPhase {
                run,
                requested: terms::printable(requested),
                known,
            },
        })
    }

    /// Of the cells of a contender, the one with the median time of the phase.
    fn median_cell<'a>(&self, set: &'a ResultSet, contender: usize) -> Option<Repeated<'a>> {
        let all = set.samples(contender, self.workload, self.phase);
        let middle = median_sample(&all)?;
        let (record, at) = set.cells.iter().find_map(|record| {
            let mut samples = record.samples.iter();
            let at = samples.position(|sample| std::ptr::eq(sample, middle))?;
            Some((record, at))
        })?;
        let profiles = all.iter().filter_map(|(_, sample)| sample.profile.as_ref());
        let sampled = profiles.filter(|profile| profile.sampled.is_some());
        Some(Repeated {
            label: terms::printable(&set.run.plan.contenders[contender].label),
            record,
            at,
            phase: self.heading.clone(),
            sampled: sampled.collect(),
        })
    }
}

impl Functions {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Compares the profiles of one phase.
    pub fn of(run: &str, phase: &str, sides: &[Side<'_>; 2]) -> Self {
        let [a, b] = sides;
        let profiles = [&a.profile, &b.profile];
        let tree = Tree::of(profiles);
        let mut work = tree.partings(|work| work.blocks, &Profile::EXECUTORS[..3]);
        let mut sleeps = tree.partings(|work| work.slept_ns, &Profile::EXECUTORS[..1]);
        for partings in [&mut work, &mut sleeps] {
            partings.retain(|one| one.figures[0] != one.figures[1]);
            partings.sort_by_key(|one| {
                let [a, b] = one.figures;
                (std::cmp::Reverse(a.abs_diff(b)), one.path.clone())
            });
        }
        let units = [a, b].map(|side| Unit::of(side.measured));
        let units = Unit::common(units);
        Self {
            schema: Self::SCHEMA,
            run: run.to_owned(),
            contenders: [a.label.clone(), b.label.clone()],
            phase: phase.to_owned(),
            unit: units[0].name.clone(),
            units: units.map(|unit| unit.count),
            blocks: [profiles[0].blocks(), profiles[1].blocks()],
            charged_ns: [a, b].map(|side| {
                let work = side.measured.whole_kernel_work();
                work.map_or(0, |work| work.charged_ns.0)
            }),
            lost: profiles.map(|one| one.lost),
            slept_ns: tree.whole(|work| work.slept_ns, &Profile::EXECUTORS[..1]),
            digests: profiles.map(digest),
            most_work: tree.concentrated(|work| work.blocks, &Profile::EXECUTORS[..3]),
            most_sleep: tree.concentrated(|work| work.slept_ns, &Profile::EXECUTORS[..1]),
            subsystems: tree.subsystems(&Profile::EXECUTORS[..3]),
            work,
            sleeps,
            functions: tree.functions(|work| work.blocks, &Profile::EXECUTORS[..3]),
            requests: requests::of(profiles),
            flush_calls: requests::flush_calls(profiles),
            calls: Calls {
                run: run.to_owned(),
                contenders: [a.label.clone(), b.label.clone()],
                phase: phase.to_owned(),
                measure: Measure::Blocks,
                samples: [0; 2],
                tree,
            },
        }
    }

    /// Where the difference is, in sentences: of blocks and of sleep, that with the larger difference of time
    /// first.
    pub fn sentences(&self) -> Vec<String> {
        let apart = |figures: [u64; 2]| {
            let [a, b] = self.each(figures);
            (b - a).abs()
        };
        if self.digests[0] == self.digests[1] {
            let [a, b] = &self.contenders;
            return vec![format!(
                "{a} and {b} have the same profile in {}: {} kernel blocks by the same call paths.",
                self.phase,
                terms::grouped(self.blocks[0])
            )];
        }
        let mut sentences = vec![self.of_work()];
        if let Some(sleep) = self.of_sleep() {
            let is_first = apart(self.slept_ns) > apart(self.charged_ns);
            sentences.insert(usize::from(!is_first), sleep);
        }
        sentences.extend(requests::sentence(self));
        sentences
    }

    fn of_work(&self) -> String {
        let [a, b] = &self.contenders;
        let [of_a, of_b] = self.blocks;
        let [each_a, each_b] = self.each(self.blocks);
        let counts = format!("{} against {}", terms::grouped(of_b), terms::grouped(of_a));
        let counts = match self.unit.as_str() {
            "" => counts,
            unit => format!(
                "{} against {} for each {unit}; {counts} in all",
                show_each(each_b),
                show_each(each_a)
            ),
        };
        let ratio = each_b / each_a.max(f64::MIN_POSITIVE);
        let mut sentences = vec![format!(
            "{b} executes {} times the kernel blocks of {a} in {} ({counts}).",
            terms::ratio(ratio),
            self.phase,
        )];
        if let Some(most) = &self.most_work {
            sentences.push(self.where_it_is(most, self.blocks, &show_each));
        }
        sentences.extend(self.by_subsystem());
        sentences.join(" ")
    }

    /// None if processes sleep equally long everywhere.
    fn of_sleep(&self) -> Option<String> {
        let most = self.most_sleep.as_ref()?;
        let [a, b] = &self.contenders;
        let time = |ns: f64| Nanos(terms::whole(ns)).to_string();
        let [of_a, of_b] = self.each(self.slept_ns).map(time);
        let place = self.where_it_is(most, self.slept_ns, &time);
        Some(format!(
            "Processes of {b} sleep {of_b} in the kernel{}, of {a} {of_a}. {place}",
            self.for_each()
        ))
    }

    fn for_each(&self) -> String {
        match self.unit.as_str() {
            "" => String::new(),
            unit => format!(" for each {unit}"),
        }
    }

    /// The subsystems with the largest differences; none if no subsystem differs.
    fn by_subsystem(&self) -> Option<String> {
        let difference = |one: &Subsystem| {
            let [a, b] = self.each(one.blocks);
            b - a
        };
        let mut all: Vec<(&str, f64)> = self
            .subsystems
            .iter()
            .map(|one| (one.subsystem.as_str(), difference(one)))
            .filter(|(_, difference)| *difference != 0.0)
            .collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all.truncate(SUBSYSTEMS);
        let named = all.iter().map(|(name, difference)| {
            let sign = if *difference < 0.0 { "-" } else { "+" };
            format!("{name} {sign}{}", show_each(difference.abs()))
        });
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| format!("By subsystem: {}.", terms::list(&named)))
    }

    /// Figures of both, divided by their units.
    fn each(&self, figures: [u64; 2]) -> [f64; 2] {
        [0, 1].map(|side| figures[side] as f64 / self.units[side])
    }

    fn where_it_is(
        &self,
        most: &Concentrated,
        whole: [u64; 2],
        show: &dyn Fn(f64) -> String,
    ) -> String {
        let difference = |figures| {
            let [a, b] = self.each(figures);
            b - a
        };
        let part = difference(most.figures);
        // A part may exceed the whole, if another part is in the other direction.
        let share = part / difference(whole);
        let share = if (0.0..=1.0).contains(&share) {
            format!(", {} of the difference", terms::percent(share))
        } else {
            String::new()
        };
        let sign = if part < 0.0 { "-" } else { "+" };
        let [a, b] = &self.contenders;
        let calls = match (&most.only, most.present) {
            (Some([of_a, of_b]), _) => format!("; there {a} calls {of_a}, and {b} {of_b}"),
            (_, [false, _]) => format!("; {a} has no such call path"),
            (_, [_, false]) => format!("; {b} has no such call path"),
            _ => String::new(),
        };
        // The last two, as in the tables.
        let path = &most.path[most.path.len().saturating_sub(2)..];
        format!(
            "The largest part is in {} and below: {sign}{}{share}{calls}.",
            path.join(" > "),
            show(part.abs()),
        )
    }
}

/// A number of blocks that may be divided.
fn show_each(blocks: f64) -> String {
    if blocks >= 100.0 || blocks.fract() == 0.0 {
        return terms::grouped(terms::whole(blocks));
    }
    terms::ratio(blocks)
}

/// The profile of a phase, whose sample is at that place of the repeated ones: of the parts that the kernel
/// wrote, those that have as many blocks as the phase. Parts of phases before it come before it. The error has
/// the blocks as measured and as repeated if they differ, or nothing if no parts fit.
fn of_phase(
    measured: &Sample,
    (repeated, at): (&[Sample], usize),
    parts: &[Profile],
) -> Result<Profile, Option<[u64; 2]>> {
    let blocks: Vec<u64> = parts.iter().map(Profile::blocks).collect();
    let counted = |sample: &Sample| sample.whole_kernel_work().map(KernelWork::blocks);
    let measured = counted(measured).unwrap_or_default();
    let mut next = 0;
    for (place, sample) in repeated.iter().enumerate() {
        let Some(wanted) = counted(sample) else {
            continue;
        };
        if place == at && wanted.abs_diff(measured) as f64 > OTHER_BUILD * measured as f64 {
            return Err(Some([measured, wanted]));
        }
        let found = (next..parts.len()).find_map(|first| {
            // Until the return, and until it is durable.
            (first..parts.len().min(first + 2))
                .find(|last| blocks[first..=*last].iter().sum::<u64>() == wanted)
                .map(|last| first..=last)
        });
        match found {
            Some(range) if place == at => return Ok(joined(&parts[range])),
            Some(range) => next = range.end() + 1,
            None => {}
        }
    }
    Err(None)
}

fn digest(profile: &Profile) -> String {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for path in &profile.paths {
        let name = &profile.functions[path.function];
        let name = match path.caller {
            Some(caller) => format!("{};{name}", names[caller]),
            None => name.clone(),
        };
        let PathWork {
            blocks,
            samples: _,
            bytes,
            requests,
            flush_calls: _,
            sleeps,
            slept_ns,
        } = path.own;
        // Digests that were printed before are the same.
        let work = format!(
            "PathWork {{ blocks: {blocks}, bytes: {bytes}, requests: {requests}, sleeps: {sleeps}, slept_ns: \
             {slept_ns} }}"
        );
        lines.insert(name.clone(), work);
        names.push(name);
    }
    let mut hash = Sha256::new();
    for (name, work) in lines {
        hash.update(format!("{name} {work}\n"));
    }
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests;
