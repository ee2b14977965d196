//! Whether the verdicts of a run hold in its variants, in which the model disk or the model processor
//! is changed by its known error.
//!
//! A variant has the first draws of its run. The ratio of two contenders in it is their ratio in the
//! run times the change of their ratio within the common draws, which scatters less than the ratio.

use super::answer::AnswerFigures;
use super::{Comparison, Leaders, Line};
use crate::lists::by_key;
use crate::terms;
use fsdyno_model::{FigureName, ResultSet};
use fsdyno_stats::{Verdict, geometric_ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The number of groups of variants that an answer names.
const NAMED: usize = 3;

/// The variants of a comparison.
#[derive(Debug, Clone)]
pub struct Robustness {
    /// The measured variants, in the order of the run.
    pub variants: Vec<ModelVariant>,
    /// The number of all variants of the model.
    pub planned: u32,
    /// Whether the answer holds in all measured variants; `None` without an answer.
    pub answer_holds: Option<bool>,
}

/// The comparison in one variant of the model.
#[derive(Debug, Clone)]
pub struct ModelVariant {
    /// The change of the model: `flushes 2.5 times slower`.
    pub change: String,
    /// The name of its run.
    pub run: String,
    /// The contenders that are fastest in it, within the margin, by index; empty if unknown.
    pub fastest: Vec<usize>,
    /// The verdicts of the run that do not hold in it.
    pub changed: Vec<ChangedVerdict>,
}

/// A verdict of a run that does not hold in a variant.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChangedVerdict {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The contender.
    pub contender: String,
    /// The contender that it is compared with.
    pub compared_with: String,
    /// The ratio of their times in the run.
    pub ratio: f64,
    /// This ratio in the variant.
    pub ratio_in_variant: f64,
}

/// Figures of one contender, each with its block.
type Figures = [(u32, f64)];

/// The change of the ratio of two contenders, over some phases: each has the figures of the first and
/// of the second contender, in the run and in its variant. `None` without a common draw.
pub fn change_of_ratio(phases: &[[[&Figures; 2]; 2]]) -> Option<f64> {
    let changes = |[run, variant]: [&Figures; 2]| -> Vec<(u32, f64)> {
        let of_block = |block: u32| run.iter().find(|(other, _)| *other == block);
        let both = variant.iter();
        both.filter_map(|(block, time)| Some((*block, time / of_block(*block)?.1)))
            .collect()
    };
    let changes: Vec<[Vec<(u32, f64)>; 2]> = phases.iter().map(|both| both.map(changes)).collect();
    let pairs: Vec<_> = changes.iter().map(|[a, b]| (&a[..], &b[..])).collect();
    Some(geometric_ratio(&pairs)?.middle)
}

/// Whether a verdict agrees with a ratio.
pub fn agrees(verdict: Verdict, ratio: f64, margin: f64) -> bool {
    let (log, margin) = (ratio.ln(), margin.max(0.0).ln_1p());
    match verdict {
        Verdict::Faster => log < -margin,
        Verdict::Slower => log > margin,
        Verdict::Equivalent => log.abs() <= margin,
        Verdict::Inconclusive => true,
    }
}

/// A run compared with one of its variants.
struct Pair<'a> {
    run: &'a Comparison,
    variant: Comparison,
    /// The places of the contenders of the run in the variant.
    places: Vec<Option<usize>>,
}

impl<'a> Pair<'a> {
    fn of(run: &'a Comparison, variant: &ResultSet) -> Self {
        let variant = Comparison::of(variant);
        let place = |label: &String| variant.contenders.iter().position(|one| one == label);
        let places = run.contenders.iter().map(place).collect();
        Self {
            run,
            variant,
            places,
        }
    }

    /// The same line in the variant.
    fn line(&self, workload: usize, phase: usize, figure: &FigureName) -> Option<&Line> {
        let phase = self.variant.workloads.get(workload)?.phases.get(phase)?;
        phase.lines.iter().find(|line| line.figure == *figure)
    }

    /// The ratio of two contenders over these lines in the variant, from that in the run.
    fn ratio(&self, lines: &[Place<'_>], [a, b]: [usize; 2], in_run: f64) -> Option<f64> {
        let figures = |one: &Place<'_>, at: usize| -> Option<[Vec<(u32, f64)>; 2]> {
            let line = self.line(one.workload, one.phase, &one.line.figure)?;
            Some([
                one.line.times(at).to_vec(),
                line.times(self.places[at]?).to_vec(),
            ])
        };
        let phases: Option<Vec<_>> = lines
            .iter()
            .map(|one| Some([figures(one, a)?, figures(one, b)?]))
            .collect();
        let phases = phases?;
        let phases: Vec<[[&Figures; 2]; 2]> = phases
            .iter()
            .map(|both| {
                both.each_ref()
                    .map(|one| one.each_ref().map(|list| &list[..]))
            })
            .collect();
        Some(in_run * change_of_ratio(&phases)?)
    }

    /// The contenders that are fastest over these lines: the lowest and all within the margin of it.
    fn fastest(&self, figures: &AnswerFigures<'_>, lines: &[Place<'_>], lead: usize) -> Vec<usize> {
        let durable = figures.durable().into_iter();
        let ratios: Vec<(usize, f64)> = durable
            .filter_map(|at| {
                let in_run = figures.ratios.get(at)?.as_ref()? / figures.ratios[lead].as_ref()?;
                let ratio = self.ratio(lines, [at, lead], in_run)?;
                Some((at, ratio))
            })
            .collect();
        let lowest = ratios
            .iter()
            .map(|(_, ratio)| *ratio)
            .fold(f64::INFINITY, f64::min);
        let margin = self.run.rule.margin;
        let level = ratios
            .iter()
            .filter(|(_, ratio)| agrees(Verdict::Equivalent, ratio / lowest, margin));
        level.map(|(at, _)| *at).collect()
    }

    /// The verdicts on the whole times of phases that do not hold in the variant: those compared with
    /// the baseline, and those of the fastest of a phase.
    fn changed(&self) -> Vec<(Place<'a>, usize, ChangedVerdict)> {
        let mut all = Vec::new();
        for place in whole_times(self.run) {
            let line = place.line;
            let winner = line.leaders().and_then(|leaders| leaders.winner());
            let contenders = 0..self.run.contenders.len();
            let pairs = contenders.flat_map(|at| {
                let of_winner = winner.filter(|winner| *winner != 0 && *winner != at && at != 0);
                let to_base = (at > 0).then_some([at, 0]);
                to_base
                    .into_iter()
                    .chain(of_winner.map(|winner| [winner, at]))
            });
            for [one, other] in pairs {
                let changed = self.changed_verdict(&place, [one, other]);
                all.extend(changed.map(|changed| (place, one, changed)));
            }
        }
        all
    }

    fn changed_verdict(
        &self,
        place: &Place<'_>,
        [one, other]: [usize; 2],
    ) -> Option<ChangedVerdict> {
        let line = place.line;
        let verdict = line.verdict(one, other)?;
        let (a, b) = (line.values[one].as_ref()?, line.values[other].as_ref()?);
        let ratio = a.ratio_to(b)?.middle;
        let in_variant = self.ratio(&[*place], [one, other], ratio)?;
        let holds = agrees(verdict, in_variant, self.run.rule.margin);
        (!holds).then(|| ChangedVerdict {
            workload: self.run.workloads[place.workload].name.clone(),
            phase: self.run.workloads[place.workload].phases[place.phase]
                .label
                .clone(),
            contender: self.run.contenders[one].clone(),
            compared_with: self.run.contenders[other].clone(),
            ratio,
            ratio_in_variant: in_variant,
        })
    }
}

/// A line with its place in a comparison.
#[derive(Clone, Copy)]
struct Place<'a> {
    workload: usize,
    phase: usize,
    line: &'a Line,
}

/// The whole times of all measured phases.
fn whole_times(comparison: &Comparison) -> impl Iterator<Item = Place<'_>> {
    let workloads = comparison.workloads.iter().enumerate();
    workloads.flat_map(|(workload, table)| {
        let phases = table.phases.iter().enumerate();
        phases.filter_map(move |(phase, table)| {
            let line = table.lines.last()?;
            Some(Place {
                workload,
                phase,
                line,
            })
        })
    })
}

/// The figures whose verdict changes in a variant, by workload, phase and contender.
pub type SensitiveFigures = Vec<(usize, usize, usize)>;

impl Robustness {
    /// Compares a comparison with its variants. `None` if none was measured. Returns also the figures
    /// whose verdict does not hold in all of them.
    pub fn of(comparison: &Comparison, set: &ResultSet) -> Option<(Self, SensitiveFigures)> {
        let measured = set.variants.iter();
        let varies_model = |one: &&ResultSet| !one.run.plan.measures_user_code();
        let measured = measured
            .filter(|one| !one.cells.is_empty())
            .filter(varies_model);
        let measured: Vec<&ResultSet> = measured.collect();
        let first = measured.first()?.run.plan.variant.as_ref()?;
        let figures = AnswerFigures::of(comparison);
        let leading: Vec<Place<'_>> = whole_times(comparison)
            .filter(|place| {
                figures
                    .leading
                    .iter()
                    .any(|line| std::ptr::eq(*line, place.line))
            })
            .collect();
        let lead = figures
            .leaders
            .as_ref()
            .and_then(|leaders| lead(&figures, leaders));
        let (mut variants, mut sensitive) = (Vec::new(), Vec::new());
        for variant in measured {
            let pair = Pair::of(comparison, variant);
            let changed = pair.changed();
            sensitive.extend(
                changed
                    .iter()
                    .map(|(place, at, _)| (place.workload, place.phase, *at)),
            );
            let change = variant.run.plan.variant.as_ref();
            let change = change.map_or("", |variant| &variant.change);
            variants.push(ModelVariant {
                change: terms::printable(change),
                run: terms::printable(&variant.run.id),
                fastest: lead.map_or_else(Vec::new, |lead| pair.fastest(&figures, &leading, lead)),
                changed: changed.into_iter().map(|(_, _, changed)| changed).collect(),
            });
        }
        let robustness = Self {
            answer_holds: figures
                .leaders
                .as_ref()
                .filter(|_| lead.is_some())
                .map(|leaders| variants.iter().all(|variant| variant.keeps(leaders))),
            planned: first.all,
            variants,
        };
        Some((robustness, sensitive))
    }

    /// The variants that were measured, as text: `all 10 variants of the model disk and processor`.
    fn scope(&self) -> String {
        let measured = self.variants.len();
        let of = "of the model disk and processor";
        if measured == self.planned as usize {
            format!("all {measured} variants {of}")
        } else {
            format!("the {measured} measured of {} variants {of}", self.planned)
        }
    }

    /// Whether the answer and the verdicts hold, in sentences after the answer.
    pub(super) fn text(&self, comparison: &Comparison) -> String {
        let mut text = String::new();
        let scope = self.scope();
        match self.answer_holds {
            None => {}
            Some(true) => {
                let _ = write!(text, " The answer holds in {scope}.");
            }
            Some(false) => {
                let _ = write!(
                    text,
                    " The answer depends on the model: {}.",
                    self.exceptions(comparison)
                );
            }
        }
        let changed: Vec<_> = self.variants.iter().flat_map(|one| &one.changed).collect();
        let key = |one: &&ChangedVerdict| {
            (
                one.workload.clone(),
                one.phase.clone(),
                one.contender.clone(),
            )
        };
        let changed = by_key(changed.iter().map(|one| (key(one), ()))).len();
        match (changed, self.answer_holds) {
            (0, Some(true)) => {}
            (0, _) => {
                let _ = write!(text, " Each verdict on a phase holds in {scope}.");
            }
            (n, _) => {
                let _ = write!(
                    text,
                    " {} on phases (marked ^) {} not hold in {scope}.",
                    terms::count(n, "verdict"),
                    if n == 1 { "does" } else { "do" }
                );
            }
        }
        text
    }

    /// The fastest contenders in variants with another answer: `xfs is fastest with writes 50 %
    /// slower`.
    fn exceptions(&self, comparison: &Comparison) -> String {
        let figures = AnswerFigures::of(comparison);
        let leaders = figures.leaders.as_ref();
        let others = self
            .variants
            .iter()
            .filter(|one| leaders.is_some_and(|of| !one.keeps(of)));
        let groups = by_key(others.map(|one| (&one.fastest, one.change.clone())));
        let left_out: usize = groups.iter().skip(NAMED).map(|(_, all)| all.len()).sum();
        let mut texts: Vec<String> = groups
            .into_iter()
            .take(NAMED)
            .map(|(fastest, changes)| {
                let names = figures.names(fastest);
                let verb = if fastest.len() == 1 {
                    "is fastest"
                } else {
                    "are equally fast"
                };
                format!("{names} {verb} with {}", terms::joined(&changes, "or with"))
            })
            .collect();
        if left_out > 0 {
            texts.push(format!(
                "and others in {}",
                terms::count(left_out, "more variant")
            ));
        }
        texts.join("; ")
    }
}

impl ModelVariant {
    /// Whether the leaders of the run are those of the variant; if they are not separated, whether
    /// the fastest are among them.
    fn keeps(&self, leaders: &Leaders) -> bool {
        if leaders.among.len() == 1 || leaders.equivalent {
            return self.fastest == leaders.among;
        }
        self.fastest.iter().all(|at| leaders.among.contains(at))
    }
}

/// The leader with the lowest ratio.
fn lead(figures: &AnswerFigures<'_>, leaders: &Leaders) -> Option<usize> {
    let known = leaders.among.iter().copied();
    let known = known.filter_map(|at| Some((at, figures.ratios.get(at).copied().flatten()?)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}
