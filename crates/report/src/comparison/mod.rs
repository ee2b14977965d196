//! The comparison all formats show: rows are the phases of workloads, columns the contenders.
//!
//! Figures and their meaning live here; characters, colours and layout live in
//! `formats`. The first contender is the baseline; where a run has several labs,
//! the first of each ([`labs`]).

pub mod cells;
pub mod conclusion;
pub mod costs;
pub mod facts;
pub mod fragments;
pub mod labs;
pub mod overview;
mod phases;
mod precision;
mod series;
pub mod speed;
mod surroundings;
pub mod verdicts;
pub mod warnings;

pub use cells::CellCounts;
pub use conclusion::conclusion;
pub use costs::Cost;
pub use fragments::Fragments;
pub use labs::{Comparisons, Lab};
pub use speed::{Line, Measure, Rank, Standing, Value};
pub use warnings::{Doubt, Unmeasured};

use crate::figures::{FEWEST, INTERVALS_FROM};
use crate::terms;
use fsdyno_model::{CacheState, Contender, ResultSet};
use fsdyno_stats::{PairedRatio, geometric_ratio};
use terms::Scale;
use verdicts::Judged;

/// What heads the tiers.
pub const TIERS: &str = "Tiers: the fastest with all that are not told apart from it, then the \
                         fastest of the rest with theirs.";

/// The contenders of one lab, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The lab, where the run has others beside it.
    pub lab: Option<Lab>,
    /// The labels of the contenders, fit to print; the first is the baseline.
    pub contenders: Vec<String>,
    /// The names of their file systems, fit to print.
    pub filesystems: Vec<String>,
    /// How devices make them up: `single`, `pool2`.
    pub layouts: Vec<String>,
    /// One table per workload.
    pub workloads: Vec<WorkloadTable>,
    /// How many figures stand behind a median: fewest and most.
    pub repeats: (usize, usize),
    /// The geometric mean of each contender's ratios to the baseline, over the phases that all
    /// contenders have figures of, taken within blocks; empty where there are fewer than two such
    /// phases, or no block has all of them.
    pub overall: Vec<PairedRatio>,
    /// Over how many phases `overall` goes.
    pub overall_phases: usize,
    /// How the contenders were judged.
    pub rule: fsdyno_stats::Rule,
    /// What precision was asked and reached, where the figures decided how long the run went on.
    pub reached: Option<String>,
    /// How files lay on the devices.
    pub fragments: Fragments,
    /// What the figures allow to be said, in plain words: a sentence each.
    pub conclusion: Vec<String>,
}

/// The phases of one workload.
#[derive(Debug, Clone)]
pub struct WorkloadTable {
    /// Its name.
    pub name: String,
    /// The files it works on; its own name where it makes them itself.
    pub dataset: String,
    /// Its phases.
    pub phases: Vec<PhaseTable>,
}

/// One phase, all contenders.
#[derive(Debug, Clone)]
pub struct PhaseTable {
    /// What it is called in its workload.
    pub label: String,
    /// The cache state asked for at its start, in words: `cache cold`.
    pub cache: &'static str,
    /// How it was done: the methods met, usually one; the engine where it is not the plan's.
    pub how: String,
    /// What it handled: files, directories, bytes.
    pub amount: String,
    /// Its times: to return, and to durable where it writes. Empty where nothing was measured.
    pub lines: Vec<Line>,
    /// What it cost, per contender.
    pub costs: Vec<Option<Cost>>,
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
        let judged = Judged::of(set);
        let mut workloads: Vec<WorkloadTable> = (0..plan.workloads.len())
            .map(|workload| WorkloadTable::of(set, workload, &judged))
            .collect();
        let repeats = repeats(&workloads);
        if repeats.1 >= FEWEST {
            let phases = workloads.iter_mut().flat_map(|w| &mut w.phases);
            phases
                .flat_map(|p| &mut p.lines)
                .for_each(Line::unmark_unjudged);
        }
        let (overall, overall_phases) = overall(&workloads, contenders.len());
        let adaptive = plan.adaptive.map(|adaptive| (plan.repeats, adaptive));
        let mut comparison = Self {
            lab: None,
            reached: None,
            filesystems: named(|contender| &contender.filesystem),
            layouts: plan
                .contenders
                .iter()
                .map(|c| c.layout.to_string())
                .collect(),
            conclusion: conclusion(set, &contenders, &judged),
            rule: judged.rule(),
            repeats,
            overall,
            overall_phases,
            fragments: Fragments::of(set),
            contenders,
            workloads,
        };
        comparison.reached = precision::reached(&comparison, adaptive);
        comparison
    }

    /// What the figures are, in words: `Medians, n = 3`.
    pub fn figures(&self) -> String {
        if self.repeated() {
            format!("Medians, {}", self.n())
        } else {
            format!("Single figures, {}", self.n())
        }
    }

    /// How many figures stand behind a median, in words: `n = 3`.
    fn n(&self) -> String {
        match self.repeats {
            (0, _) => "n = 0".to_owned(),
            (least, most) if least == most => format!("n = {least}"),
            (least, most) => format!("n = {least} to {most}"),
        }
    }

    /// Whether two contenders or more have a figure in some phase.
    pub fn compares(&self) -> bool {
        self.lines()
            .any(|line| line.values.iter().flatten().count() > 1)
    }

    /// Whether there is any figure.
    pub fn measured(&self) -> bool {
        self.lines().next().is_some()
    }

    /// What heads its tables: its lab, where the run has others beside it, and where there are any.
    pub fn heading(&self) -> Option<String> {
        let lab = self.lab.as_ref().filter(|_| self.measured())?;
        Some(lab.heading())
    }

    /// Whether some contender was measured more than once.
    pub fn repeated(&self) -> bool {
        self.repeats.1 > 1
    }

    /// Whether there are repeats enough to say who is faster.
    pub fn judged(&self) -> bool {
        self.repeats.1 >= FEWEST || self.rule.certain
    }

    /// How verdicts are to be read: what matters, and how often they err.
    pub fn verdicts_in_words(&self) -> String {
        if self.rule.certain {
            return "In virtual time figures have no noise: intervals have no width, and one repeat \
                    tells everything."
                .to_owned();
        }
        format!(
            "Faster and slower mean by more than {}; all such verdicts of a table together are \
             wrong in 1 of 20 tables at most{}.",
            terms::percent(self.rule.margin),
            if self.rule.looks.is_some() {
                ", although repeats ended when enough was known"
            } else if self.repeats.0 < INTERVALS_FROM {
                ", if the noise is normal; from 6 repeats on, whatever it is like"
            } else {
                ""
            }
        )
    }

    /// Whether some ratio has an interval.
    pub fn intervals(&self) -> bool {
        self.lines().any(|line| {
            let mut others = line.values.iter().skip(1).flatten();
            others.any(|v| v.ratio.is_some_and(|r| r.interval.is_some()))
        })
    }

    /// Whether somebody is nearer to the baseline than what matters.
    pub fn level(&self) -> bool {
        self.stands(|standing| standing == Standing::Level)
    }

    /// Whether of somebody nothing can be said, where there are repeats enough to judge.
    pub fn unjudged(&self) -> bool {
        self.judged()
            && self.stands(|standing| matches!(standing, Standing::TooFew | Standing::Open))
    }

    fn stands(&self, wanted: fn(Standing) -> bool) -> bool {
        self.lines()
            .any(|line| line.values.iter().flatten().any(|v| wanted(v.standing)))
    }

    /// Whether a warning stands behind some figure.
    pub fn doubted(&self) -> bool {
        self.lines()
            .any(|line| line.values.iter().flatten().any(|v| v.doubted))
    }

    /// The tiers of the whole time of each phase, in words, with its name: `1 xfs; 2 ext4, jfs
    /// (rank 2-3)`; none where fewer than three contenders were judged, whose verdicts say it all.
    // no contender
    pub fn tiers(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for workload in &self.workloads {
            for phase in &workload.phases {
                let ranks = phase.lines.last().and_then(Line::ranks);
                let Some(ranks) = ranks.filter(|ranks| ranks.iter().flatten().count() > 2) else {
                    continue;
                };
                let name = terms::phase(self.workloads.len(), &workload.name, &phase.label);
                all.push((name, self.tiers_in_words(&ranks)));
            }
        }
        all
    }

    fn tiers_in_words(&self, ranks: &[Option<Rank>]) -> String {
        let last = ranks.iter().flatten().map(|rank| rank.tier).max();
        let tier = |tier: usize| {
            let both = self.contenders.iter().zip(ranks);
            let of_tier = both.filter_map(|(label, rank)| {
                let rank = rank.filter(|rank| rank.tier == tier)?;
                Some(if rank.first == rank.last {
                    label.clone()
                } else {
                    format!("{label} (rank {})", rank.in_words())
                })
            });
            format!("{tier} {}", of_tier.collect::<Vec<_>>().join(", "))
        };
        let tiers = (1..=last.unwrap_or(0)).map(tier);
        tiers.collect::<Vec<_>>().join("; ")
    }

    /// What a phase is called in the whole report.
    pub fn place(&self, workload: &WorkloadTable, phase: &PhaseTable) -> String {
        terms::phase(self.workloads.len(), &workload.name, &phase.label)
    }

    /// All phases.
    pub fn phases(&self) -> impl Iterator<Item = &PhaseTable> {
        self.workloads.iter().flat_map(|w| &w.phases)
    }

    /// All lines of times.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.phases().flat_map(|p| &p.lines)
    }
}

impl WorkloadTable {
    fn of(set: &ResultSet, workload: usize, judged: &Judged) -> Self {
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
    fn of(set: &ResultSet, workload: usize, phase: usize, judged: &Judged) -> Self {
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
            lines: speed::lines(&samples, |measure| judged.line(workload, phase, measure)),
            costs: samples.iter().map(|s| Cost::of(s)).collect(),
        }
    }

    /// What it did and how, in words: `12,345 files, 34.0 MiB; read-write; cache as left`.
    pub fn about(&self) -> String {
        [self.amount.as_str(), self.how.as_str(), self.cache]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// The unit of both its times.
    pub(crate) fn scale(&self) -> Scale {
        let values = self.lines.iter().flat_map(|l| l.values.iter().flatten());
        Scale::of_times(values.map(|v| v.summary.median))
    }
}

fn repeats(workloads: &[WorkloadTable]) -> (usize, usize) {
    let counts = workloads
        .iter()
        .flat_map(|w| &w.phases)
        .flat_map(|p| &p.lines)
        .flat_map(|l| l.values.iter().flatten())
        .map(|v| v.summary.n);
    (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
}

/// The geometric mean of the ratios of whole phases, over the phases complete for everybody.
fn overall(workloads: &[WorkloadTable], contenders: usize) -> (Vec<PairedRatio>, usize) {
    let phases = workloads.iter().flat_map(|w| &w.phases);
    let complete: Vec<Vec<&Value>> = phases
        .filter_map(|phase| phase.lines.last())
        .filter_map(|line| line.values.iter().map(Option::as_ref).collect())
        .collect();
    if complete.len() < 2 || contenders < 2 {
        return (Vec::new(), 0);
    }
    let of = |contender: usize| {
        let phases = complete.iter();
        let phases: Vec<_> = phases
            .map(|values| (&values[contender].times[..], &values[0].times[..]))
            .collect();
        geometric_ratio(&phases)
    };
    let means: Option<Vec<PairedRatio>> = (0..contenders).map(of).collect();
    means.map_or((Vec::new(), 0), |means| (means, complete.len()))
}
