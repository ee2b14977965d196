//! Which functions of the kernel carry the difference between two contenders: their exact profiles,
//! compared by call path.

pub mod document;
pub mod flame;
mod tree;

use crate::terms;
use crate::why::{Two, WhyError, median_sample};
use fsdyno_model::names::hexadecimal;
use fsdyno_model::profile::Profile;
use fsdyno_model::{CellRecord, KernelWork, Nanos, ResultSet, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use tree::Tree;

/// Another build of fsdyno moves a few hundred blocks: the part by which a repeat may differ from what was
/// measured. A profile shows where differences are that are larger.
const OTHER_BUILD: f64 = 0.001;

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
    /// The kernel blocks of both.
    pub blocks: [u64; 2],
    /// How long their processes slept in the kernel, in nanoseconds of virtual time.
    pub slept_ns: [u64; 2],
    /// SHA-256 of the call paths of each with their work. Equal runs have equal ones.
    pub digests: [String; 2],
    /// The function in which most of the difference of blocks is; none without a difference.
    pub most_work: Option<Concentrated>,
    /// The same of the sleeps of processes.
    pub most_sleep: Option<Concentrated>,
    /// Where the blocks differ, the largest difference first. Their differences add up to the whole.
    pub work: Vec<Parting>,
    /// Where the sleeps of processes differ, likewise.
    pub sleeps: Vec<Parting>,
    /// All functions, the largest difference of their own blocks first.
    pub functions: Vec<Function>,
    /// What both trees hold, for pictures.
    #[serde(skip)]
    tree: Tree,
}

/// A function in which most of a difference is, with all that it calls.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Concentrated {
    /// The calls that lead to it, from who executes.
    pub path: Vec<String>,
    /// Blocks, or nanoseconds asleep.
    pub figures: [u64; 2],
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

/// The blocks of a function by all paths.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Function {
    pub function: String,
    /// Its own.
    pub own: [u64; 2],
    /// With all that it calls.
    pub total: [u64; 2],
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
}

/// One contender in one phase.
#[derive(Debug)]
pub struct Side<'a> {
    /// Its label, escaped for printing.
    pub label: String,
    /// The sample of the phase when it was measured.
    pub measured: &'a Sample,
    /// The samples of all phases of the repeat, in their order.
    pub repeated: &'a [Sample],
    /// The place of the phase among them.
    pub at: usize,
    /// What its kernel wrote when the cell was repeated.
    pub profiles: Vec<Profile>,
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
}

/// The cells whose profiles explain the difference of two contenders in a phase. The phase may be left
/// out if there is only one.
pub fn repeated<'a>(
    set: &'a ResultSet,
    labels: [&str; 2],
    phase: Option<&str>,
) -> Result<[Repeated<'a>; 2], WhyError> {
    let Two { places, shown, .. } = Two::of(set, labels)?;
    let plan = &set.run.plan;
    let mut known = Vec::new();
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let heading = terms::phase(plan.workloads.len(), &workload.name, &phase.label);
            known.push((w, p, heading, phase.label.as_str()));
        }
    }
    let is_requested = |heading: &str, label: &str| phase == Some(heading) || phase == Some(label);
    let found = known
        .iter()
        .find(|(_, _, heading, label)| is_requested(heading, label));
    let only = known
        .first()
        .filter(|_| phase.is_none() && known.len() == 1);
    let Some((w, p, heading, _)) = found.or(only) else {
        let names: Vec<String> = known
            .iter()
            .map(|(_, _, one, _)| terms::printable(one))
            .collect();
        let (run, known) = (set.run.id.clone(), terms::list(&names));
        return Err(match phase {
            None => WhyError::WhichPhase { run, known },
            Some(requested) => WhyError::NoPhase {
                run,
                requested: terms::printable(requested),
                known,
            },
        });
    };
    let of = |at: usize, label: String| {
        let all = set.samples(at, *w, *p);
        let middle = median_sample(&all)?;
        let (record, at) = set.cells.iter().find_map(|record| {
            let mut samples = record.samples.iter();
            let at = samples.position(|sample| std::ptr::eq(sample, middle))?;
            Some((record, at))
        })?;
        Some(Repeated {
            label,
            record,
            at,
            phase: terms::printable(heading),
        })
    };
    let [a, b] = shown;
    if let (Some(one), Some(other)) = (of(places[0], a.clone()), of(places[1], b.clone())) {
        return Ok([one, other]);
    }
    Err(WhyError::Nothing(set.run.id.clone(), a, b))
}

impl Functions {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Compares the profiles of one phase.
    pub fn of(run: &str, phase: &str, sides: &[Side<'_>; 2]) -> Result<Self, FunctionsError> {
        let [a, b] = sides;
        let profiles = [of_phase(a, phase)?, of_phase(b, phase)?];
        let tree = Tree::of(&profiles);
        let mut work = tree.partings(|work| work.blocks, &Profile::EXECUTORS[..3]);
        let mut sleeps = tree.partings(|work| work.slept_ns, &Profile::EXECUTORS[..1]);
        for partings in [&mut work, &mut sleeps] {
            partings.retain(|one| one.figures[0] != one.figures[1]);
            partings.sort_by_key(|one| {
                let [a, b] = one.figures;
                (std::cmp::Reverse(a.abs_diff(b)), one.path.clone())
            });
        }
        Ok(Self {
            schema: Self::SCHEMA,
            run: run.to_owned(),
            contenders: [a.label.clone(), b.label.clone()],
            phase: phase.to_owned(),
            blocks: [profiles[0].blocks(), profiles[1].blocks()],
            slept_ns: tree.whole(|work| work.slept_ns, &Profile::EXECUTORS[..1]),
            digests: [0, 1].map(|at| digest(&profiles[at])),
            most_work: tree.concentrated(|work| work.blocks, &Profile::EXECUTORS[..3]),
            most_sleep: tree.concentrated(|work| work.slept_ns, &Profile::EXECUTORS[..1]),
            work,
            sleeps,
            functions: tree.functions(&Profile::EXECUTORS[..3]),
            tree,
        })
    }

    /// Where the difference is, in sentences.
    pub fn sentence(&self) -> String {
        let [a, b] = &self.contenders;
        let [of_a, of_b] = self.blocks;
        let mut sentences = vec![format!(
            "{b} executes {} times the kernel blocks of {a} in {} ({} against {}).",
            terms::ratio(of_b as f64 / of_a.max(1) as f64),
            self.phase,
            terms::grouped(of_b),
            terms::grouped(of_a),
        )];
        let whole = of_b.cast_signed() - of_a.cast_signed();
        if let Some(most) = &self.most_work {
            sentences.push(self.where_it_is(most, whole, "The largest part", &terms::grouped));
        }
        let [of_a, of_b] = self.slept_ns;
        let whole = of_b.cast_signed() - of_a.cast_signed();
        if let Some(most) = &self.most_sleep {
            let time = |ns| Nanos(ns).to_string();
            sentences.push(format!(
                "Processes of {b} sleep {} in the kernel, of {a} {}.",
                time(of_b),
                time(of_a)
            ));
            sentences.push(self.where_it_is(most, whole, "The largest part of that", &time));
        }
        sentences.join(" ")
    }

    fn where_it_is(
        &self,
        most: &Concentrated,
        whole: i64,
        subject: &str,
        show: &dyn Fn(u64) -> String,
    ) -> String {
        let [a, b] = most.figures;
        let difference = b.cast_signed() - a.cast_signed();
        // A part may exceed the whole, if another part is in the other direction.
        let share = difference as f64 / whole as f64;
        let share = if (0.0..=1.0).contains(&share) {
            format!(", {} of the difference", terms::percent(share))
        } else {
            String::new()
        };
        let sign = if difference < 0 { "-" } else { "+" };
        let lacks = match most.figures {
            [0, _] => format!("; {} has no such call path", self.contenders[0]),
            [_, 0] => format!("; {} has no such call path", self.contenders[1]),
            _ => String::new(),
        };
        format!(
            "{subject} is in {} and below: {sign}{}{share}{lacks}.",
            most.path.last().map_or("", String::as_str),
            show(difference.unsigned_abs()),
        )
    }
}

/// The profile of a phase: of the parts that the kernel wrote, those that have as many blocks as the
/// phase. Parts of phases before it come before it.
fn of_phase(side: &Side<'_>, phase: &str) -> Result<Profile, FunctionsError> {
    let parts = &side.profiles;
    let blocks: Vec<u64> = parts.iter().map(Profile::blocks).collect();
    let counted = |sample: &Sample| sample.whole_kernel_work().map(KernelWork::blocks);
    let mut next = 0;
    for (at, sample) in side.repeated.iter().enumerate() {
        let Some(wanted) = counted(sample) else {
            continue;
        };
        let measured = counted(side.measured).unwrap_or_default();
        if at == side.at && wanted.abs_diff(measured) as f64 > OTHER_BUILD * measured as f64 {
            return Err(FunctionsError::OtherRun {
                contender: side.label.clone(),
                phase: phase.to_owned(),
                measured,
                repeated: wanted,
            });
        }
        let found = (next..parts.len()).find_map(|first| {
            // Until the return, and until it is durable.
            (first..parts.len().min(first + 2))
                .find(|last| blocks[first..=*last].iter().sum::<u64>() == wanted)
                .map(|last| first..=last)
        });
        match found {
            Some(range) if at == side.at => return Ok(tree::joined(&parts[range])),
            Some(range) => next = range.end() + 1,
            None => {}
        }
    }
    Err(FunctionsError::NoProfile)
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
        lines.insert(name.clone(), format!("{:?}", path.own));
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
