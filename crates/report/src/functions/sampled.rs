//! The sampled profiles of two contenders, of all their repeats: shares of functions with intervals, and
//! which functions are told apart.

use super::flame::{self, Measure};
use super::tree::{Tree, in_microseconds, joined};
use super::{Calls, Repeated};
use crate::document::{Audience, Block, Cell, Column, Document, Group, Label, Row, Section, Table};
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_model::profile::Profile;
use fsdyno_stats::{
    Dispersion, Interval, count_interval, differ, dispersion, median, share_interval,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The confidence level of the printed intervals, and of all statements that functions differ together.
const LEVEL: f64 = 0.95;

/// With fewer repeats of one contender nothing is told apart: how much it varies is not known.
const MIN_REPEATS: usize = 3;

/// With fewer samples of both a function is not tested.
const MIN_TESTED: u64 = 30;

/// The sampled profiles of two contenders in one phase, compared.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct SampledFunctions {
    /// The version of this structure.
    #[schemars(extend("const" = SampledFunctions::SCHEMA))]
    pub schema: u32,
    /// The run.
    pub run: String,
    /// The labels of the two, escaped for printing.
    pub contenders: [String; 2],
    /// The workload and the phase, as a heading.
    pub phase: String,
    /// Samples of each processor in a second.
    pub hertz: u32,
    /// What was sampled of both.
    pub sides: [SampledSide; 2],
    /// Whether their processor times are told apart.
    pub apart: bool,
    /// The functions, those that are told apart by their own time first, then by the difference. Empty if
    /// one has fewer than 30 samples.
    pub functions: Vec<SampledFunction>,
    /// The calls that lead to most of the difference, up to a function that is told apart.
    pub most: Option<Vec<String>>,
    #[serde(skip)]
    pub calls: Calls,
}

/// The samples of one contender.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct SampledSide {
    pub repeats: usize,
    /// The passes of the phase in all repeats.
    pub passes: u64,
    /// Samples in the processes of the phase, in kernel threads and in interrupts.
    pub samples: u64,
    /// The processor time of these in one pass, in nanoseconds.
    pub processor_ns: f64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Samples of other programs of the machine, which are left out.
    pub others: u64,
    /// Samples of the thread that reads the samples, which are left out.
    pub profiler: u64,
}

/// A function by all call paths.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct SampledFunction {
    pub function: String,
    /// Its own.
    pub own: [Estimate; 2],
    /// Whether its own times are told apart.
    pub own_apart: bool,
    /// With all that it calls.
    pub total: [Estimate; 2],
    /// Whether these times are told apart.
    pub total_apart: bool,
}

/// The samples of a function.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    pub samples: u64,
    /// Its share of all samples of the contender, with the 95 % interval.
    pub share: f64,
    pub low: f64,
    pub high: f64,
    /// Processor time in one pass, in nanoseconds.
    pub time_ns: f64,
}

/// The counts of functions in each repeat of a contender.
struct Counts {
    whole: Profile,
    /// Own, and with callees.
    repeats: Vec<BTreeMap<String, [u64; 2]>>,
    passes: Vec<u64>,
    samples: Vec<u64>,
    /// The median dispersion of functions by passes, and by samples.
    dispersions: [f64; 2],
}

/// To what counts are in proportion.
#[derive(Clone, Copy)]
enum Exposure {
    Passes,
    Samples,
}

impl Counts {
    fn of(profiles: &[&Profile]) -> Self {
        let of = |profile: &&Profile| {
            let tree = Tree::of([profile, &Profile::default()]);
            let functions = tree.functions(|work| work.samples, &Profile::EXECUTORS[..3]);
            let counts = functions.into_iter();
            counts
                .map(|one| (one.function, [one.own[0], one.total[0]]))
                .collect()
        };
        let passes = |profile: &&Profile| profile.sampled.map_or(1, |one| one.passes.max(1));
        let mut counts = Self {
            whole: joined(profiles.iter().copied()),
            repeats: profiles.iter().map(of).collect(),
            passes: profiles.iter().map(passes).collect(),
            samples: profiles.iter().map(|profile| profile.samples()).collect(),
            dispersions: [1.0; 2],
        };
        let names: BTreeSet<&String> = counts.repeats.iter().flat_map(BTreeMap::keys).collect();
        let frequent = |name: &&&String| counts.count(name, 0) >= 5 * profiles.len() as u64;
        let names: Vec<&String> = names.iter().filter(frequent).copied().collect();
        counts.dispersions = [Exposure::Passes, Exposure::Samples].map(|to| {
            let all = names
                .iter()
                .map(|name| counts.dispersion(name, 0, to).factor);
            median(&all.collect::<Vec<_>>()).unwrap_or(1.0)
        });
        counts
    }

    fn count(&self, function: &str, kind: usize) -> u64 {
        let counts = self.repeats.iter().filter_map(|one| one.get(function));
        counts.map(|counts| counts[kind]).sum()
    }

    /// Few repeats do not show how much a function varies: it varies at least as the others do.
    fn dispersion(&self, function: &str, kind: usize, to: Exposure) -> Dispersion {
        let repeats = self.repeats.iter();
        let counts = repeats.map(|counts| counts.get(function).map_or(0, |counts| counts[kind]));
        let exposures = match to {
            Exposure::Passes => &self.passes,
            Exposure::Samples => &self.samples,
        };
        dispersion(&counts.collect::<Vec<_>>(), exposures).at_least(self.dispersions[to as usize])
    }

    fn estimate(&self, function: &str, kind: usize) -> Estimate {
        let (count, all) = (self.count(function, kind), self.whole.samples());
        let of = self.dispersion(function, kind, Exposure::Samples);
        let Interval { low, high } = share_interval(count, all, of, LEVEL);
        Estimate {
            samples: count,
            share: count as f64 / all.max(1) as f64,
            low,
            high,
            time_ns: self.time(count as f64),
        }
    }

    fn time(&self, samples: f64) -> f64 {
        let one = self.whole.sampled.map_or(0.0, |one| one.time_ns(1));
        samples * one
    }

    /// A processor time with its interval, in nanoseconds.
    fn timed(&self, count: u64, dispersion: Dispersion, level: f64) -> (f64, Interval) {
        let Interval { low, high } = count_interval(count, dispersion, level);
        let interval = Interval {
            low: self.time(low),
            high: self.time(high),
        };
        (self.time(count as f64), interval)
    }

    /// The dispersion of all samples.
    fn whole_dispersion(&self) -> Dispersion {
        dispersion(&self.samples, &self.passes).at_least(self.dispersions[0])
    }
}

/// Whether the processor times of two contenders differ: of a function, or of all samples. Both are assumed
/// to vary alike.
fn apart(counts: &[Counts; 2], of: Option<(&str, usize)>, level: f64) -> bool {
    let [a, b] = counts.each_ref().map(|one| match of {
        Some((name, kind)) => one.dispersion(name, kind, Exposure::Passes),
        None => one.whole_dispersion(),
    });
    let dispersion = a.pooled(b);
    let [a, b] = counts.each_ref().map(|one| {
        let count = match of {
            Some((name, kind)) => one.count(name, kind),
            None => one.whole.samples(),
        };
        one.timed(count, dispersion, level)
    });
    differ(a, b)
}

impl SampledFunctions {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Compares the sampled profiles of one phase. None if one was not sampled.
    pub fn of(run: &str, pair: [&Repeated<'_>; 2]) -> Option<Self> {
        if pair.iter().any(|one| one.sampled.is_empty()) {
            return None;
        }
        let counts = pair.map(|one| Counts::of(&one.sampled));
        let contenders = pair.map(|one| one.label.clone());
        let timed = counts.each_ref().map(|one| in_microseconds(&one.whole));
        let tree = Tree::of([&timed[0], &timed[1]]);
        let sides = [0, 1].map(|side| {
            let (whole, one) = (&counts[side].whole, pair[side]);
            let sampled = whole.sampled.unwrap_or_default();
            SampledSide {
                repeats: one.sampled.len(),
                passes: sampled.passes,
                samples: whole.samples(),
                processor_ns: sampled.time_ns(whole.samples()),
                lost: whole.lost,
                others: sampled.others,
                profiler: sampled.profiler,
            }
        });
        let enough = sides
            .iter()
            .all(|side| side.samples >= Profile::MIN_SAMPLES);
        let varied = sides.iter().all(|side| side.repeats >= MIN_REPEATS);
        let functions = if enough {
            tested(&counts, varied)
        } else {
            Vec::new()
        };
        let mut compared = Self {
            schema: Self::SCHEMA,
            run: run.to_owned(),
            contenders: contenders.clone(),
            phase: pair[0].phase.clone(),
            hertz: counts[0].whole.sampled.map_or(0, |one| one.hertz),
            sides,
            apart: enough && varied && apart(&counts, None, LEVEL),
            functions,
            most: None,
            calls: Calls {
                run: run.to_owned(),
                contenders,
                phase: pair[0].phase.clone(),
                measure: Measure::SampledTime,
                samples: counts.each_ref().map(|one| one.whole.samples()),
                tree,
            },
        };
        compared.most = compared.most();
        Some(compared)
    }

    /// The path to most of the difference, without functions at its end that are not told apart.
    fn most(&self) -> Option<Vec<String>> {
        let executors = &Profile::EXECUTORS[..3];
        let most = self
            .calls
            .tree
            .concentrated(|work| work.samples, executors)?;
        let sign = |[a, b]: [f64; 2]| (b - a).is_sign_positive();
        let of_path = sign(most.figures.map(|us| us as f64));
        let mut path = most.path;
        while let Some(last) = path.last() {
            let found = self.function(last);
            let is_it = |one: &SampledFunction| {
                one.total_apart && sign(one.total.map(|total| total.time_ns)) == of_path
            };
            if found.is_some_and(is_it) {
                return Some(path);
            }
            path.pop();
        }
        None
    }

    fn function(&self, name: &str) -> Option<&SampledFunction> {
        self.functions.iter().find(|one| one.function == name)
    }

    /// Where the difference is, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let [a, b] = &self.contenders;
        let [of_a, of_b] = &self.sides;
        let samples = format!(
            "{} samples against {}, {} a second on each processor",
            terms::grouped(of_b.samples),
            terms::grouped(of_a.samples),
            self.hertz
        );
        let few = self.contenders.iter().zip(&self.sides);
        let few = few.filter(|(_, side)| side.samples < Profile::MIN_SAMPLES);
        let few: Vec<String> = few.map(|(name, _)| name.clone()).collect();
        if !few.is_empty() {
            return vec![format!(
                "Too few samples of {} in {} for shares: {b} and {a} have {samples}; {} are needed. Add \
                 repeats, or make the phase longer (--scale).",
                terms::list(&few),
                self.phase,
                Profile::MIN_SAMPLES
            )];
        }
        let [time_a, time_b] = self.sides.each_ref().map(|side| side.processor_ns);
        let times = format!("{} against {}", time(time_b), time(time_a));
        let first = if self.apart {
            format!(
                "{b} takes {} times the processor time of {a} in {}: {times}, sampled ({samples}).",
                terms::ratio(time_b / time_a.max(f64::MIN_POSITIVE)),
                self.phase
            )
        } else {
            format!(
                "The processor times of {b} and {a} in {} are not told apart: {times}, sampled ({samples}).",
                self.phase
            )
        };
        let found = self
            .most
            .as_ref()
            .and_then(|path| Some((path, path.last()?)));
        let found = found.and_then(|(path, last)| Some((path, self.function(last)?)));
        let second = match found {
            Some((path, one)) => {
                let [of_a, of_b] = &one.total;
                let difference = of_b.time_ns - of_a.time_ns;
                let sign = if difference < 0.0 { "-" } else { "+" };
                format!(
                    "The largest part that is told apart is in {} and below: {sign}{}; {} of the samples of {b}, \
                     and {} of {a}.",
                    path[path.len().saturating_sub(2)..].join(" > "),
                    time(difference.abs()),
                    of_b.show(),
                    of_a.show(),
                )
            }
            None if self.functions.iter().any(|one| one.own_apart) => {
                "No call path has most of the difference.".to_owned()
            }
            None if self.sides.iter().any(|side| side.repeats < MIN_REPEATS) => format!(
                "Fewer than {MIN_REPEATS} repeats do not show how much they vary, so no functions are told \
                 apart."
            ),
            None => "No functions are told apart: their differences may be chance.".to_owned(),
        };
        vec![format!("{first} {second}")]
    }

    /// What the samples do not show.
    fn limits(&self) -> String {
        let sum = |of: fn(&SampledSide) -> u64| self.sides.iter().map(of).sum::<u64>();
        let [lost, others, profiler] = [
            sum(|side| side.lost),
            sum(|side| side.others),
            sum(|side| side.profiler),
        ]
        .map(terms::grouped);
        let [a, b] = &self.contenders;
        let repeats = self.sides.each_ref().map(|side| side.repeats);
        format!(
            "Times are those of one pass, of {} ({a}) and {} ({b}), with 95 % intervals of the shares. Not \
             counted: {others} samples of other programs, {profiler} of the profiler, and {lost} that were lost. \
             Work with interrupts disabled counts for the function that enables them.",
            terms::count(repeats[0], "repeat"),
            terms::count(repeats[1], "repeat"),
        )
    }
}

impl Estimate {
    /// The share with its interval.
    fn show(&self) -> String {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let (low, high) = (percent(self.low), percent(self.high));
        format!("{} % ({low}-{high})", percent(self.share))
    }
}

fn time(ns: f64) -> String {
    Nanos(terms::whole(ns)).to_string()
}

/// All functions. The level of the tests is shared by all of them (Bonferroni). None is told apart if
/// it is not known how much they vary.
fn tested(counts: &[Counts; 2], varied: bool) -> Vec<SampledFunction> {
    let of_both = counts.iter().flat_map(|one| &one.repeats);
    let names: BTreeSet<&String> = of_both.flat_map(BTreeMap::keys).collect();
    let is_tested = |name: &str, kind| {
        counts.iter().map(|one| one.count(name, kind)).sum::<u64>() >= MIN_TESTED
    };
    let tests = names
        .iter()
        .flat_map(|name| [0, 1].map(|kind| (name, kind)));
    let tests = tests.filter(|(name, kind)| is_tested(name, *kind)).count();
    let level = 1.0 - (1.0 - LEVEL) / tests.max(1) as f64;
    let apart = |name: &str, kind| {
        varied && is_tested(name, kind) && apart(counts, Some((name, kind)), level)
    };
    let of = |name: &String| {
        let estimates = |kind| counts.each_ref().map(|one| one.estimate(name, kind));
        SampledFunction {
            function: name.clone(),
            own: estimates(0),
            own_apart: apart(name, 0),
            total: estimates(1),
            total_apart: apart(name, 1),
        }
    };
    let mut functions: Vec<SampledFunction> = names.into_iter().map(of).collect();
    sort(&mut functions, |one| (one.own_apart, one.own));
    functions
}

/// Those that are told apart first, then the largest differences.
fn sort<T>(functions: &mut [T], of: impl Fn(&T) -> (bool, [Estimate; 2])) {
    functions.sort_by(|one, other| {
        let key = |one: &T| {
            let (apart, [a, b]) = of(one);
            (apart, (a.time_ns - b.time_ns).abs())
        };
        let ((a, x), (b, y)) = (key(one), key(other));
        b.cmp(&a).then(y.total_cmp(&x))
    });
}

/// The answer, and this number of rows in each table.
pub fn document(functions: &SampledFunctions, rows: usize) -> Document {
    let [a, b] = &functions.contenders;
    let mut document = Document::new(format!(
        "{a} and {b} in {}, run {}: functions of the kernel and of programs, sampled",
        functions.phase, functions.run
    ));
    document.lead = functions.sentences().into_iter().map(Into::into).collect();
    if functions.functions.is_empty() {
        return document;
    }
    if let Some(flame) = flame::flame(&functions.calls, Measure::SampledTime) {
        let flame = Section::new("flame", "Processor time by call path").with(Block::Flame(flame));
        document
            .blocks
            .push(Block::Only(Audience::Page, vec![flame.into()]));
    }
    for (heading, with_callees) in [
        ("Functions by their own processor time", false),
        ("Functions with all that they call", true),
    ] {
        let table = table(functions, with_callees, rows);
        document
            .blocks
            .push(Section::new("", heading).with(table).into());
    }
    document.blocks.push(Block::paragraph(functions.limits()));
    document
}

/// The functions, those that are told apart first.
pub fn table(functions: &SampledFunctions, with_callees: bool, rows: usize) -> Table {
    let of = |one: &&SampledFunction| {
        if with_callees {
            (one.total_apart, one.total)
        } else {
            (one.own_apart, one.own)
        }
    };
    let mut all: Vec<&SampledFunction> = functions.functions.iter().collect();
    all.retain(|one| of(one).1.iter().any(|one| one.samples > 0));
    sort(&mut all, of);
    let both = functions.contenders.iter();
    let columns = both
        .clone()
        .map(|contender| Column::new(Label::contender(contender.as_str())))
        .chain([Column::new("difference")])
        .chain(both.map(|contender| {
            Column::giving_way(Label::contender(format!("{contender}, samples")), 1)
        }));
    let rows = all.into_iter().take(rows).map(|one| {
        let (apart, [a, b]) = of(&one);
        let difference = b.time_ns - a.time_ns;
        let sign = if difference < 0.0 { "-" } else { "+" };
        let difference = if apart {
            format!("{sign}{}", time(difference.abs()))
        } else {
            "not told apart".to_owned()
        };
        let cells = [
            a.show(),
            b.show(),
            difference,
            terms::grouped(a.samples),
            terms::grouped(b.samples),
        ];
        let cells = cells.map(|text| Cell::text(Some(text)));
        Row::new(one.function.as_str(), cells.into())
    });
    let groups = vec![Group {
        rows: rows.collect(),
        ..Group::default()
    }];
    Table::grouped("", ["", "function"], columns, groups)
}
