//! A run compared with a published table. For common phases and contenders, it has both figures,
//! their ratios and ranks, and the results of the published conclusions.

mod conclusions;
mod document;
mod rerun;

pub use conclusions::{CheckedConclusion, Compared, ConclusionResult, Outcome};
pub use document::{SCREENS, Screen, document, figures, screen};
pub use rerun::{Cause, Departure, NotRun, RerunSummary};

use crate::comparison::labs::has_faults;
use crate::comparison::{Lab, labs};
use crate::figures::{self, Blocked, MIN_PAIRS};
use crate::processor::Processor;
use crate::published::{Competitor, Line, Table, Today, place};
use crate::reruns;
use crate::terms;
use conclusions::check_conclusions;
use fsdyno_model::{Better, DeviceUse, Nanos, ResultSet, Sample};
use fsdyno_stats::{
    Rule, Times, Verdict, Verdicts, judge_table, midranks, rank_correlation, ratio_paired,
};
use rerun::{Context, explain};
use serde::Serialize;

/// A run compared with a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedComparison {
    /// The version of this structure in JSON.
    pub schema: u32,
    /// The run.
    pub run: String,
    /// The plan of the run.
    pub plan: String,
    /// The start of the run: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The lab, if the run has several. Each lab has its own comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<String>,
    /// The kernel of the run.
    pub kernel: String,
    /// The engine of the run.
    pub engine: String,
    /// The scale of the generated datasets; 1 is full size.
    pub scale: f64,
    /// Whether the run used virtual time. Its figures are then deterministic.
    pub virtual_time: bool,
    /// The model processor of virtual time; none if the processor was the machine's, or computing
    /// took no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// The details of a rerun; `None` if the run is not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<RerunSummary>,
    /// The table.
    pub table: String,
    /// The subject of the table.
    pub title: String,
    /// The year of publication.
    pub year: u32,
    /// The machine of the publication.
    pub machine: String,
    /// The method of the publication.
    pub measured: String,
    /// A reservation about some of its figures.
    pub caveat: Option<String>,
    /// The common contenders, in the order of the run; the first is the baseline.
    pub contenders: Vec<Paired>,
    /// The phases in both.
    pub lines: Vec<ComparedPhase>,
    /// The results of the conclusions.
    pub conclusions: Vec<CheckedConclusion>,
    /// Contenders and phases in the table only.
    pub only_published: OnlyOne,
    /// Contenders and phases in the run only.
    pub only_now: OnlyOne,
}

/// A contender in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paired {
    /// Its label in the run, escaped for printing.
    pub now: String,
    /// Its label in the table.
    pub published: String,
    /// Whether it is another file system, as a substitute for the published one.
    pub instead: bool,
    /// Its index in the run.
    #[serde(skip)]
    pub(crate) in_run: usize,
    /// Its index in the table.
    #[serde(skip)]
    pub(crate) in_table: usize,
}

/// One phase, published and in the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedPhase {
    /// Its name.
    pub label: String,
    /// The unit of the published figures.
    pub unit_published: String,
    /// The unit of the figures of the run.
    pub unit_now: String,
    /// Whether lower or higher is better.
    pub better: Better,
    /// The contenders with both figures.
    pub entries: Vec<Entry>,
    /// The rank correlation of published and current figures; `None` for fewer than three.
    pub rank_correlation: Option<f64>,
    /// The rows of the table from which it is computed.
    #[serde(skip)]
    pub(super) rows: Vec<usize>,
    /// Whether its figures are comparable with the published ones.
    #[serde(skip)]
    pub(super) of_a_rerun: bool,
    /// The verdicts on all pairs of its entries. The whole table is one family of comparisons.
    #[serde(skip)]
    pub(super) verdicts: Verdicts,
}

/// The figures of one contender in one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own next to a figure"
)]
pub struct Entry {
    /// The contender, by index among those in both.
    pub contender: usize,
    /// The published figure.
    pub published: f64,
    /// The median in the run.
    pub now: f64,
    /// The number of figures in the median.
    pub repeats: usize,
    /// The published figure divided by that of the baseline.
    pub ratio_published: Option<f64>,
    /// The median of the ratios within blocks of the run.
    pub ratio_now: Option<f64>,
    /// The median of the run divided by the published figure, with times scaled to full size. Only
    /// for reruns, which use the original disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_published: Option<f64>,
    /// Whether it is not distinguishable from the baseline in the run.
    pub level_with_baseline: bool,
    /// Its published rank in this phase, from 1 (best).
    pub rank_published: f64,
    /// Its rank in the run, by medians.
    pub rank_now: f64,
    /// Whether it was the best in the publication.
    pub best_published: bool,
    /// Whether it is the best in the run, or not distinguishable from the best.
    pub best_now: bool,
    /// Whether some figure of the run has a warning.
    pub doubted: bool,
    /// Whether it waited for no disk in virtual time where computing takes no time. Its figure then
    /// shows only the clock reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Every figure of the run with its block.
    #[serde(skip)]
    pub(super) figures: Vec<Blocked>,
}

/// Contenders and phases of one side only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnlyOne {
    /// Contenders.
    pub contenders: Vec<String>,
    /// Phases.
    pub phases: Vec<String>,
}

/// A run and a table without common contenders or phases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run {run} and the published table {table} share nothing: {what}")]
pub struct NoCommonFigures {
    /// The run.
    pub run: String,
    /// The table.
    pub table: String,
    /// The reason, a clause.
    pub what: &'static str,
}

impl PublishedComparison {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 3;

    /// Compares a run with a table, each lab separately. A lab that shares nothing with the table
    /// is listed in the first comparison.
    pub fn in_each_lab(set: &ResultSet, table: &Table) -> Result<Vec<Self>, NoCommonFigures> {
        let (mut compared, mut unmatched, mut why) = (Vec::new(), Vec::new(), None);
        for (lab, share) in labs::shares(set) {
            match Self::of(&share, table) {
                Ok(comparison) => compared.push(Self {
                    lab: lab.as_ref().map(Lab::heading),
                    ..comparison
                }),
                Err(nothing) => {
                    let contenders = share.run.plan.contenders.iter();
                    unmatched.extend(contenders.map(|c| terms::printable(&c.label)));
                    why = why.or(Some(nothing));
                }
            }
        }
        match (compared.first_mut(), why) {
            (None, Some(nothing)) => return Err(nothing),
            (Some(first), _) => first.only_now.contenders.extend(unmatched),
            (None, None) => {}
        }
        Ok(compared)
    }

    /// Compares a run of one lab with a table.
    fn of(set: &ResultSet, table: &Table) -> Result<Self, NoCommonFigures> {
        let nothing = |what| NoCommonFigures {
            run: set.run.id.clone(),
            table: table.name.clone(),
            what,
        };
        let contenders = paired(set, table);
        let placed = placed(set, table);
        if placed.iter().all(Option::is_none) {
            return Err(nothing("the run has no phase of the table"));
        }
        if contenders.is_empty() {
            return Err(nothing("the run has no contender of the table"));
        }
        let both = table.lines.iter().zip(&placed);
        let mut lines: Vec<ComparedPhase> = both
            .filter_map(|(line, place)| ComparedPhase::of(set, table, line, (*place)?, &contenders))
            .collect();
        judge(&mut lines, &Rule::of(&set.run));
        if lines.is_empty() {
            return Err(nothing("none of the phases of both was measured"));
        }
        let virtual_time = set.run.plan.in_virtual_time();
        let is_free = Processor::is_free_in(set);
        let processor = set
            .run
            .plan
            .cpu
            .as_ref()
            .filter(|_| virtual_time && !is_free);
        let run = &set.run;
        let faults = if has_faults(set) {
            ", on disks with configured faults"
        } else {
            ""
        };
        let mut conclusions = check_conclusions(table, &contenders, &lines);
        let context = Context {
            set,
            table,
            pairs: &contenders,
            lines: &lines,
        };
        let rerun = rerun_of(set, table).map(|setting| {
            explain(&setting, context, &mut conclusions);
            RerunSummary::of(&setting, context)
        });
        Ok(Self {
            schema: Self::SCHEMA,
            run: terms::printable(&run.id),
            plan: terms::printable(&run.plan.name) + faults,
            started_unix_ns: run.started_unix_ns,
            lab: None,
            kernel: terms::printable(set.kernel()),
            engine: terms::printable(&run.plan.engine),
            scale: run.plan.scale,
            virtual_time,
            processor: processor.map(|cpu| terms::printable(&cpu.profile)),
            rerun,
            table: table.name.clone(),
            title: table.title.clone(),
            year: table.year,
            machine: table.machine.clone(),
            measured: table.measured.clone(),
            caveat: table.caveat.clone(),
            conclusions,
            only_published: only_published(table, &contenders, &lines),
            only_now: only_now(set, &contenders, &placed),
            contenders,
            lines,
        })
    }

    /// Whether some phase has at least two contenders.
    pub fn compares(&self) -> bool {
        self.lines.iter().any(|line| line.entries.len() > 1)
    }

    /// The largest number of contenders in a phase with a rank correlation.
    pub fn most_ranked(&self) -> Option<usize> {
        let ranked = self.lines.iter().filter(|l| l.rank_correlation.is_some());
        ranked.map(|line| line.entries.len()).max()
    }

    /// Whether some figure of the run has a warning.
    pub fn doubted(&self) -> bool {
        let mut entries = self.lines.iter().flat_map(|line| &line.entries);
        entries.any(|entry| entry.doubted)
    }

    /// Whether no phase of the run has enough figures for a verdict.
    pub fn too_few(&self) -> bool {
        if self.virtual_time {
            return false;
        }
        let mut entries = self.lines.iter().flat_map(|line| &line.entries);
        entries.all(|entry| entry.repeats < MIN_PAIRS)
    }
}

/// The contenders in both, and substitutes for contenders that the run does not have. Each
/// contender of the table is paired once, with its first match.
fn paired(set: &ResultSet, table: &Table) -> Vec<Paired> {
    let mut pairs: Vec<Paired> = Vec::new();
    for instead in [false, true] {
        for (in_run, contender) in set.run.plan.contenders.iter().enumerate() {
            let form = contender.short_form();
            let matches = |c: &Competitor| {
                let forms = if instead { &c.instead } else { &c.today };
                forms.contains(&form)
            };
            let known = pairs.iter().any(|pair| pair.in_run == in_run);
            if known || !contender.state.is_fresh() {
                continue;
            }
            let mut in_table = table.contenders.iter();
            if let Some(in_table) = in_table.position(matches)
                && pairs.iter().all(|pair| pair.in_table != in_table)
            {
                pairs.push(Paired {
                    now: terms::printable(&contender.label),
                    published: table.contenders[in_table].label.clone(),
                    instead,
                    in_run,
                    in_table,
                });
            }
        }
    }
    pairs.sort_by_key(|pair| pair.in_run);
    pairs
}

/// Whether a phase did not wait for a disk: it took less than 1 ms, or sent no request.
fn waits_for_nothing(sample: &Sample) -> bool {
    /// An upper limit for the time of the clock reads alone.
    const NOTHING: Nanos = Nanos(1_000_000);
    let untouched = |used: DeviceUse| used.reads == 0 && used.writes == 0 && used.flushes == 0;
    sample.whole_ns() < NOTHING || sample.device.is_some_and(untouched)
}

/// The rerun of this table, if the run is one.
fn rerun_of(set: &ResultSet, table: &Table) -> Option<reruns::Setting> {
    let (published, ablation) = reruns::of_plan(&set.run.plan)?;
    let is_it = published.name == table.name && ablation.is_none();
    // A test reads all built-in reruns, so an error is impossible.
    is_it.then(|| published.read_rerun(table).ok()).flatten()
}

/// The workload and phase of the run for each line of a table. Where computing takes no time, lines
/// of processor time have none.
fn placed(set: &ResultSet, table: &Table) -> Vec<Option<(usize, usize)>> {
    let is_free = Processor::is_free_in(set);
    let is_reported_here = |line: &Line| !(is_free && line.today.is_processor_time());
    let lines = table.lines.iter();
    lines
        .map(|line| place(set, line).filter(|_| is_reported_here(line)))
        .collect()
}

impl Today {
    /// Whether it is a processor time.
    fn is_processor_time(&self) -> bool {
        match self {
            Self::User | Self::System => true,
            Self::Figure(name) => name == "cpu",
            Self::Return | Self::ExtentsPerFile { .. } => false,
        }
    }

    /// The figure of a sample, with its unit.
    fn of(&self, sample: &Sample) -> Option<(f64, String)> {
        let seconds = |value| Some((value, "s".to_owned()));
        match self {
            Self::Return => seconds(sample.return_ns.seconds()),
            Self::User => seconds(sample.cpu.user_ns.seconds()),
            Self::System => seconds(sample.cpu.system_ns.seconds()),
            Self::ExtentsPerFile { above } => {
                let counted = sample.fragmentation.as_ref()?;
                // A count over other files is not comparable.
                let each = counted
                    .per_file()
                    .filter(|_| counted.floor.0 == above + 1)?;
                Some((each, "fragments/file".to_owned()))
            }
            Self::Figure(name) => {
                let figure = sample.figures.iter().find(|figure| figure.name == *name)?;
                Some((figure.value, figure.unit.clone()))
            }
        }
    }
}

impl ComparedPhase {
    fn of(
        set: &ResultSet,
        table: &Table,
        line: &Line,
        (workload, phase): (usize, usize),
        contenders: &[Paired],
    ) -> Option<Self> {
        let row = &table.rows[line.rows[0]];
        let (better, mut unit_now) = (row.better?, None);
        let plan = &set.run.plan;
        let normalized = |published: f64, now: f64| {
            let size = if row.unit == "s" { plan.scale } else { 1.0 };
            (rerun_of(set, table).is_some() && published > 0.0).then(|| now / size / published)
        };
        let is_free = Processor::is_free_in(set);
        let mut entries = Vec::new();
        for (contender, pair) in contenders.iter().enumerate() {
            let samples = set.samples(pair.in_run, workload, phase);
            let idle = is_free && samples.iter().all(|(_, s)| waits_for_nothing(s));
            // Idle phases in virtual time have a warning that they are too short. It does not count
            // here.
            let doubted = !idle && samples.iter().any(|(_, s)| !s.warnings.is_empty());
            let mut figures: Vec<Blocked> = Vec::new();
            for (block, sample) in samples {
                if let Some((figure, unit)) = line.today.of(sample) {
                    figures.push((block, figure));
                    unit_now = Some(unit);
                }
            }
            let published = line.published(table, pair.in_table);
            let (Some(published), Some(now)) = (published, figures::summary(&figures)) else {
                continue;
            };
            entries.push(Entry {
                contender,
                published,
                now: now.median,
                repeats: now.n,
                ratio_published: None,
                ratio_now: None,
                by_published: normalized(published, now.median).filter(|_| !idle),
                level_with_baseline: false,
                rank_published: 1.0,
                rank_now: 1.0,
                best_published: false,
                best_now: false,
                doubted,
                idle,
                figures,
            });
        }
        (!entries.is_empty()).then_some(())?;
        Some(Self {
            label: line.label.clone(),
            unit_published: row.unit.clone(),
            unit_now: terms::printable(&unit_now?),
            better,
            rank_correlation: None,
            entries,
            rows: line.rows.clone(),
            verdicts: Verdicts::default(),
            of_a_rerun: rerun_of(set, table).is_some(),
        })
    }
}

/// Judges all pairs of all phases as one family of comparisons, as in every report. Sets ratios,
/// ranks and the best.
fn judge(lines: &mut [ComparedPhase], rule: &Rule) {
    let figures = lines.iter().map(|line| {
        let entries = line.entries.iter();
        entries.map(|entry| entry.figures.clone()).collect()
    });
    let figures: Vec<Vec<Vec<Blocked>>> = figures.collect();
    // The figures are not adjusted: a published figure may be a rate.
    let families: Vec<Times> = figures
        .iter()
        .map(|line| Times::without_probes(line))
        .collect();
    let families: Vec<&Times> = families.iter().collect();
    for (line, verdicts) in lines.iter_mut().zip(judge_table(&families, rule)) {
        line.verdicts = verdicts;
        line.compare();
    }
}

impl ComparedPhase {
    /// The verdict on two entries, by index; the lower figure is faster. Two that waited for no
    /// disk are equivalent.
    pub(super) fn verdict(&self, one: usize, other: usize) -> Option<Verdict> {
        if self.entries[one].idle && self.entries[other].idle {
            return Some(Verdict::Equivalent);
        }
        self.verdicts.of(one, other)
    }

    fn compare(&mut self) {
        // Rank 1 is the smallest value.
        let sign = match self.better {
            Better::Lower | Better::Neither => 1.0,
            Better::Higher => -1.0,
        };
        let ranks = |of: fn(&Entry) -> f64| {
            let figures: Vec<f64> = self.entries.iter().map(|entry| sign * of(entry)).collect();
            midranks(&figures)
        };
        let (Some(published), Some(now)) =
            (ranks(|entry| entry.published), ranks(|entry| entry.now))
        else {
            return;
        };
        let lowest = published.iter().copied().fold(f64::INFINITY, f64::min);
        let best_now = figures::leading(&now, |place, leader| self.verdict(place, leader));
        let base = self.entries.iter().position(|entry| entry.contender == 0);
        let equivalent: Vec<bool> = (0..self.entries.len())
            .map(|place| base.is_some_and(|base| is_level(self.verdict(place, base))))
            .collect();
        let base = base.map(|base| self.entries[base].clone());
        for (place, entry) in self.entries.iter_mut().enumerate() {
            (entry.rank_published, entry.rank_now) = (published[place], now[place]);
            entry.best_published = (published[place] - lowest).abs() < 0.25;
            entry.best_now = best_now[place];
            let Some(base) = &base else { continue };
            entry.ratio_published =
                (base.published > 0.0).then(|| entry.published / base.published);
            let ratio = ratio_paired(&entry.figures, &base.figures);
            let ratio = ratio.filter(|_| !base.idle && !entry.idle);
            entry.ratio_now = ratio.map(|ratio| ratio.middle);
            entry.level_with_baseline = equivalent[place] && entry.contender != 0;
        }
        self.rank_correlation = correlation(&self.entries);
    }
}

fn is_level(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Equivalent | Verdict::Inconclusive))
}

fn correlation(entries: &[Entry]) -> Option<f64> {
    let pairs: Vec<_> = entries
        .iter()
        .map(|e| (e.rank_published, e.rank_now))
        .collect();
    rank_correlation(&pairs)
}

fn only_published(table: &Table, pairs: &[Paired], lines: &[ComparedPhase]) -> OnlyOne {
    let contenders = table.contenders.iter().enumerate();
    let contenders = contenders.filter(|(at, _)| pairs.iter().all(|pair| pair.in_table != *at));
    let rows = table.rows.iter().enumerate().filter(|(at, row)| {
        row.better.is_some() && lines.iter().all(|line| !line.rows.contains(at))
    });
    OnlyOne {
        contenders: contenders.map(|(_, c)| c.label.clone()).collect(),
        phases: rows.map(|(_, row)| row.label()).collect(),
    }
}

fn only_now(set: &ResultSet, pairs: &[Paired], placed: &[Option<(usize, usize)>]) -> OnlyOne {
    let plan = &set.run.plan;
    let contenders = plan.contenders.iter().enumerate();
    let contenders = contenders.filter(|(at, _)| pairs.iter().all(|pair| pair.in_run != *at));
    let mut phases = Vec::new();
    for (at, workload) in plan.workloads.iter().enumerate() {
        let none = !placed.iter().flatten().any(|(placed, _)| *placed == at);
        if none && workload.phases.len() > 1 {
            let all = format!("{} ({} phases)", workload.name, workload.phases.len());
            phases.push(terms::printable(&all));
            continue;
        }
        for (phase, planned) in workload.phases.iter().enumerate() {
            if !placed.contains(&Some((at, phase))) {
                let name = terms::phase(plan.workloads.len(), &workload.name, &planned.label);
                phases.push(terms::printable(&name));
            }
        }
    }
    OnlyOne {
        contenders: contenders
            .map(|(_, c)| terms::printable(&c.label))
            .collect(),
        phases,
    }
}
