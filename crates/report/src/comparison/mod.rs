//! The comparison that all formats show: rows are the phases of workloads, columns the contenders.
//!
//! This module computes the figures. Characters, colours and layout are in `formats`. The first
//! contender is the baseline; in a run with several labs, the first of each lab ([`labs`]).

mod answer;
pub mod cells;
pub mod costs;
pub mod extents;
pub mod facts;
mod fixed_duration;
pub mod labs;
pub mod leaders;
pub mod overview;
mod precision;
pub mod robustness;
pub mod scaling;
mod series;
pub mod speed;
mod surroundings;
pub mod user_code;
pub mod verdicts;
pub mod warnings;
mod words;

pub use cells::CellCounts;
pub use costs::Cost;
pub use extents::ExtentCounts;
pub use labs::{Comparisons, Lab};
pub use leaders::{Leaders, Overall};
pub use robustness::Robustness;
pub use speed::{Line, Rank, Value};
pub use user_code::UserCode;
pub use warnings::{Unmeasured, WarningSummary};
pub use words::Words;

use crate::document::Outcome;
use crate::figures::{INTERVALS_FROM, MIN_PAIRS};
use crate::terms;
use fsdyno_model::{
    Better, CacheState, Contender, Effective, ErrorRate, FigureName, PhasePlan, ResultSet,
};
use std::collections::BTreeSet;
use terms::Scale;
use verdicts::LineVerdicts;

/// The legend of the tiers.
pub const TIERS: &str = "Tiers: the fastest with all that are not separated from it, then the \
                         fastest of the rest with theirs.";

/// The contenders of one lab, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The lab, if the run has several.
    pub lab: Option<Lab>,
    /// The labels of the contenders, escaped for printing; the first is the baseline.
    pub contenders: Vec<String>,
    /// The names of their file systems, escaped for printing.
    pub filesystems: Vec<String>,
    /// Their layouts of devices: `single`, `pool2`.
    pub layouts: Vec<String>,
    /// One table per workload.
    pub workloads: Vec<WorkloadTable>,
    /// The smallest and the largest number of figures in a median.
    pub repeats: (usize, usize),
    /// All phases together.
    pub overall: Overall,
    /// The rule of the verdicts.
    pub rule: fsdyno_stats::Rule,
    /// The requested and the reached precision, if the figures decided the number of repeats.
    pub reached: Option<String>,
    /// The order of contenders within blocks, with the reason, as text. `None` if none is recorded.
    pub order: Option<String>,
    /// The extents of files on the devices.
    pub extents: ExtentCounts,
    /// Whether the verdicts hold in variants of the model; `None` if none was measured.
    pub robustness: Option<Robustness>,
    /// The answer, in one sentence.
    pub answer: String,
}

/// The phases of one workload.
#[derive(Debug, Clone)]
pub struct WorkloadTable {
    /// Its name.
    pub name: String,
    /// Its dataset; the name of the workload if it creates its files itself.
    pub dataset: String,
    /// Its phases.
    pub phases: Vec<PhaseTable>,
}

/// One phase, all contenders.
#[derive(Debug, Clone)]
pub struct PhaseTable {
    /// Its name in its workload.
    pub label: String,
    /// The requested cache state at its start, as text: `cache cold`.
    pub cache: &'static str,
    /// The methods, usually one; with the engine if it is not the plan's.
    pub how: String,
    /// Its amount of work: files, directories, bytes.
    pub amount: String,
    /// Its times, to return and to durable if it writes, and the figure that it is judged by. The last
    /// one is judged. Empty if nothing was measured.
    pub lines: Vec<Line>,
    /// Its cost by contender.
    pub costs: Vec<Option<Cost>>,
    /// The code of its programs, if virtual time does not count it and it was measured.
    pub user_code: Option<UserCode>,
}

impl Comparison {
    /// Compares the contenders of a run of one lab.
    fn of(set: &ResultSet) -> Self {
        let plan = &set.run.plan;
        let named = |name: fn(&Contender) -> &String| -> Vec<String> {
            let contenders = plan.contenders.iter();
            contenders.map(|c| terms::printable(name(c))).collect()
        };
        let contenders = named(|contender| &contender.label);
        let judged = LineVerdicts::of(set);
        let workloads: Vec<WorkloadTable> = (0..plan.workloads.len())
            .map(|workload| WorkloadTable::of(set, workload, &judged))
            .collect();
        let adaptive = plan.adaptive.map(|adaptive| (plan.repeats, adaptive));
        let mut comparison = Self {
            lab: None,
            reached: None,
            order: order_text(set),
            filesystems: named(|contender| &contender.filesystem),
            layouts: plan
                .contenders
                .iter()
                .map(|c| c.layout.to_string())
                .collect(),
            answer: String::new(),
            robustness: None,
            rule: judged.rule().clone(),
            repeats: repeats(&workloads),
            overall: Overall::default(),
            extents: ExtentCounts::of(set),
            contenders,
            workloads,
        };
        comparison.overall = Overall::of(&comparison);
        comparison.reached = precision::reached(&comparison, adaptive, time_of_block(set));
        comparison.set_robustness(set);
        comparison.answer = answer::answer(&comparison, set);
        comparison.answer += &fixed_duration::sentence(&comparison, set);
        comparison.answer += &user_code::text(&comparison, set);
        comparison
    }

    /// Compares the run with its variants, and marks the figures whose verdict depends on the model.
    fn set_robustness(&mut self, set: &ResultSet) {
        let Some((robustness, sensitive)) = Robustness::of(self, set) else {
            return;
        };
        for (workload, phase, at) in sensitive {
            let line = self.workloads[workload].phases[phase].lines.last_mut();
            if let Some(Some(value)) = line.map(|line| &mut line.values[at]) {
                value.sensitive = true;
            }
        }
        self.robustness = Some(robustness);
    }

    /// A description of the figures: `Medians, n = 3`.
    pub fn figures(&self) -> String {
        let figures = if self.repeated() {
            "Medians"
        } else {
            "Single figures"
        };
        let of = if self.one_draw() && self.measured() {
            ", in brackets: one draw decides nothing"
        } else {
            ""
        };
        match self.repeats {
            (0, _) => format!("{figures}, n = 0"),
            (least, most) if least == most => format!("{figures}, n = {least}{of}"),
            (least, most) => format!("{figures}, n = {least} to {most}{of}"),
        }
    }

    /// Whether some phase has figures of at least two contenders.
    pub fn compares(&self) -> bool {
        self.lines()
            .any(|line| line.values.iter().flatten().count() > 1)
    }

    /// Whether there is any figure.
    pub fn measured(&self) -> bool {
        self.lines().next().is_some()
    }

    /// The heading of its tables: its lab, if the run has several.
    pub fn heading(&self) -> Option<String> {
        let lab = self.lab.as_ref().filter(|_| self.measured())?;
        Some(lab.heading())
    }

    /// Whether some contender was measured more than once.
    pub fn repeated(&self) -> bool {
        self.repeats.1 > 1
    }

    /// Whether there are enough repeats for verdicts.
    pub fn judged(&self) -> bool {
        self.repeats.1 >= MIN_PAIRS && !self.one_draw()
    }

    /// Whether all figures are one draw: there is one repeat, or all are equal.
    pub fn one_draw(&self) -> bool {
        self.repeats.1 <= 1 || self.rule.one_draw
    }

    /// The legend of the verdicts: margin and error rate.
    pub fn verdicts_text(&self) -> String {
        let margin = terms::percent(self.rule.margin);
        let adaptive = self.rule.analyses.as_ref();
        let condition = if adaptive.is_some_and(|of| of.least < of.most) {
            ", although repeats ended when enough was known"
        } else if self.repeats.0 < INTERVALS_FROM {
            ", if the noise is normal; from 6 repeats on, for any noise"
        } else {
            ""
        };
        match self.rule.errors {
            ErrorRate::Fdr => format!(
                "Faster and slower mean by more than {margin}. Of these verdicts, 1 in 20 at most \
                 is expected to be wrong (false discovery rate){condition}.",
            ),
            ErrorRate::Fwer => format!(
                "Faster and slower mean by more than {margin}; all such verdicts of a table \
                 together are wrong in 1 of 20 tables at most{condition}.",
            ),
        }
    }

    /// Whether a ratio has an interval.
    pub fn intervals(&self) -> bool {
        self.lines().any(|line| {
            let mut others = line.values.iter().skip(1).flatten();
            others.any(|v| v.ratio.is_some_and(|r| r.interval.is_some()))
        })
    }

    /// Whether a contender is within the margin of the baseline.
    pub fn level(&self) -> bool {
        self.has_outcome(&[Outcome::Equivalent])
    }

    /// Whether a contender has no verdict although there are enough repeats.
    pub fn unjudged(&self) -> bool {
        self.judged() && self.has_outcome(&[Outcome::TooFew, Outcome::Inconclusive])
    }

    /// Whether a time is below the resolution.
    pub fn has_negligible(&self) -> bool {
        self.values().any(|value| value.negligible)
    }

    /// What the lines of the phases are.
    pub fn judged_text(&self) -> &'static str {
        let is_time = |line: &Line| line.is_time();
        let mut whole = self.whole_times().map(|(_, _, line)| line);
        if whole.clone().all(is_time) {
            "to durable where a phase writes"
        } else if whole.any(is_time) {
            "to durable where a phase writes, or the figure that it is judged by"
        } else {
            "of the figure that a phase is judged by"
        }
    }

    /// The reference of the ratios and their estimator.
    pub fn ratios_text(&self) -> String {
        let baseline = &self.contenders[0];
        let of_higher = self.whole_times().map(|(_, _, line)| line);
        let of_higher = of_higher.filter(|line| line.better == Better::Higher);
        let of_higher: BTreeSet<String> = of_higher.map(Line::label).collect();
        let of_higher = match of_higher.into_iter().collect::<Vec<_>>() {
            names if names.is_empty() => String::new(),
            names => format!(
                " More {} is better: a ratio says how many times lower or higher it is than that \
                 of {baseline}; in means and charts above 1 is worse.",
                terms::list(&names)
            ),
        };
        self.estimator_text(baseline) + &of_higher
    }

    fn estimator_text(&self, baseline: &str) -> String {
        if self.repeated() {
            let adjusted = if self.lines().any(|line| line.removed.is_some()) {
                ", adjusted for the machine's speed"
            } else {
                ""
            };
            format!(
                "Ratio to {baseline}: the Hodges-Lehmann estimate within blocks{adjusted}, not the \
                 ratio of the medians."
            )
        } else {
            format!("Ratio to {baseline}.")
        }
    }

    /// The phases whose times are adjusted for the machine's speed, each with the share of the
    /// variance that this removes. `None` if there are none.
    pub fn adjusted_text(&self) -> Option<String> {
        let adjusted = self.whole_times().filter_map(|(workload, phase, line)| {
            let removed = terms::percent(line.removed?);
            Some(format!("{} ({removed})", self.place(workload, phase)))
        });
        let adjusted: Vec<String> = adjusted.collect();
        let list = (!adjusted.is_empty()).then(|| adjusted.join(", "))?;
        Some(format!(
            "Comparisons are adjusted for the machine's speed, which was measured before each phase. \
             This removes the given share of the variance within blocks: {list}."
        ))
    }

    fn has_outcome(&self, wanted: &[Outcome]) -> bool {
        let mut outcomes = self.values().filter_map(|value| value.outcome);
        outcomes.any(|outcome| wanted.contains(&outcome))
    }

    /// Whether a verdict depends on the model.
    pub fn sensitive(&self) -> bool {
        self.values().any(|value| value.sensitive)
    }

    /// Whether a figure has a warning.
    pub fn doubted(&self) -> bool {
        self.values().any(|value| value.doubted)
    }

    /// The tiers of the whole time of each phase, with its name: `1 xfs; 2 ext4, jfs (rank 2-3)`. A
    /// phase is omitted if fewer than three contenders have a verdict.
    pub fn tiers(&self) -> Vec<(String, String)> {
        let tiers = self.whole_times().filter_map(|(workload, phase, line)| {
            let ranks = line.ranks()?;
            let are_several = ranks.iter().flatten().count() > 2;
            are_several.then(|| (self.place(workload, phase), self.tiers_text(&ranks)))
        });
        tiers.collect()
    }

    fn tiers_text(&self, ranks: &[Option<Rank>]) -> String {
        let last = ranks.iter().flatten().map(|rank| rank.tier).max();
        let tier = |tier: usize| {
            let both = self.contenders.iter().zip(ranks);
            let of_tier = both.filter_map(|(label, rank)| {
                let rank = rank.filter(|rank| rank.tier == tier)?;
                Some(if rank.first == rank.last {
                    label.clone()
                } else {
                    format!("{label} (rank {})", rank.describe())
                })
            });
            format!("{tier} {}", of_tier.collect::<Vec<_>>().join(", "))
        };
        let tiers = (1..=last.unwrap_or(0)).map(tier);
        tiers.collect::<Vec<_>>().join("; ")
    }

    /// The name of a phase in the report.
    pub fn place(&self, workload: &WorkloadTable, phase: &PhaseTable) -> String {
        terms::phase(self.workloads.len(), &workload.name, &phase.label)
    }

    /// All phases with their workloads.
    pub fn phases(&self) -> impl Iterator<Item = (&WorkloadTable, &PhaseTable)> + Clone {
        let workloads = self.workloads.iter();
        workloads.flat_map(|workload| workload.phases.iter().map(move |phase| (workload, phase)))
    }

    /// The whole time of each phase that was measured.
    pub fn whole_times(
        &self,
    ) -> impl Iterator<Item = (&WorkloadTable, &PhaseTable, &Line)> + Clone {
        let phases = self.phases();
        phases.filter_map(|(workload, phase)| Some((workload, phase, phase.lines.last()?)))
    }

    /// All lines of times.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.phases().flat_map(|(_, phase)| &phase.lines)
    }

    /// All figures.
    fn values(&self) -> impl Iterator<Item = &Value> {
        self.lines().flat_map(|line| line.values.iter().flatten())
    }
}

impl WorkloadTable {
    fn of(set: &ResultSet, workload: usize, judged: &LineVerdicts) -> Self {
        let planned = &set.run.plan.workloads[workload];
        Self {
            name: terms::printable(&planned.name),
            dataset: if planned.dataset.is_none() {
                terms::printable(&planned.name)
            } else {
                terms::printable(&planned.dataset.to_string())
            },
            phases: (0..planned.phases.len())
                .map(|phase| PhaseTable::of(set, workload, phase, judged))
                .collect(),
        }
    }

    /// The phases that were measured.
    pub fn measured_phases(&self) -> impl Iterator<Item = &PhaseTable> {
        self.phases.iter().filter(|phase| !phase.lines.is_empty())
    }

    /// Whether any of its phases was measured.
    pub fn measured(&self) -> bool {
        self.phases.iter().any(|phase| !phase.lines.is_empty())
    }
}

impl PhaseTable {
    fn of(set: &ResultSet, workload: usize, phase: usize, judged: &LineVerdicts) -> Self {
        let planned = &set.run.plan.workloads[workload].phases[phase];
        let samples = set.samples_of_all(workload, phase);
        Self {
            label: terms::printable(&planned.label),
            cache: match planned.cache {
                CacheState::Cold => "cache cold",
                CacheState::Warm => "cache warm",
                CacheState::AsIs => "cache as-is",
            },
            how: costs::how(&samples, &set.run.plan.engine),
            amount: costs::amount(&samples),
            lines: shown(planned)
                .iter()
                .filter_map(|one| {
                    let compared = judged.line(workload, phase, one);
                    Line::of(one, &samples, compared, judged.rule())
                })
                .collect(),
            costs: samples.iter().map(|s| Cost::of(s)).collect(),
            user_code: judged.user_code(workload, phase).cloned(),
        }
    }

    /// The amount of work and the methods: `12,345 files, 34.0 MiB; read-write; cache as-is`.
    pub fn about(&self) -> String {
        [self.amount.as_str(), self.how.as_str(), self.cache]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// The common unit of its times.
    pub(crate) fn scale(&self) -> Scale {
        let times = self.lines.iter().filter(|line| line.is_time());
        let values = times.flat_map(|l| l.values.iter().flatten());
        Scale::of_times(values.map(|v| v.summary.median))
    }
}

/// The figures of the lines of a phase: its times, and last the figure that it is judged by.
fn shown(phase: &PhasePlan) -> Vec<FigureName> {
    let mut shown = FigureName::TIMES.to_vec();
    if let Some(judged) = &phase.judge {
        shown.retain(|one| one != judged);
        shown.push(judged.clone());
    }
    shown
}

/// The sentence about the order of contenders within blocks, as the cells recorded it.
fn order_text(set: &ResultSet) -> Option<String> {
    let effective = set.cells.iter().flat_map(|record| &record.effective);
    let orders = effective.filter(|one| one.source == Effective::ORDER);
    let orders: BTreeSet<&str> = orders.map(|one| &*one.text).collect();
    let list = Vec::from_iter(orders).join("; ");
    (!list.is_empty()).then(|| format!("Order within blocks: {}.", terms::printable(&list)))
}

/// The median time of a complete block, seconds.
fn time_of_block(set: &ResultSet) -> Option<f64> {
    let mut blocks = std::collections::BTreeMap::<u32, (usize, f64)>::new();
    for record in &set.cells {
        let (cells, seconds) = blocks.entry(record.cell.block).or_default();
        *cells += 1;
        *seconds += record.took_ns.seconds();
    }
    let all = set.run.plan.contenders.len() * set.run.plan.workloads.len();
    let complete = blocks.values().filter(|(cells, _)| *cells == all);
    let seconds: Vec<f64> = complete.map(|(_, seconds)| *seconds).collect();
    fsdyno_stats::median(&seconds)
}

fn repeats(workloads: &[WorkloadTable]) -> (usize, usize) {
    let phases = workloads.iter().flat_map(|one| &one.phases);
    let lines = phases.flat_map(|phase| &phase.lines);
    let values = lines.flat_map(|line| line.values.iter().flatten());
    let counts = values.map(|value| value.summary.n);
    (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
}
