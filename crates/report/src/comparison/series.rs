//! Warnings that need a whole series of figures: drift over the blocks, outliers, a spread that
//! hides a difference. Warnings of single cells are in [`warning_summaries`](super::warnings).

use super::{Line, PhaseTable, Value, WarningSummary, WorkloadTable};
use crate::figures::{INTERVALS_FROM, MATTERS};
use crate::terms;
use fsdyno_model::WarningKind;
use fsdyno_stats::{Verdict, dependence, modes};

/// Repeats with a p-value below this are dependent.
const RARE: f64 = 0.005;

/// The warnings of all series of a run, one of each kind.
pub(super) fn warning_summaries(
    workloads: &[WorkloadTable],
    labels: &[String],
) -> Vec<WarningSummary> {
    let figures = Figures { workloads, labels };
    [
        figures.spread_wide(),
        figures.drifting(),
        figures.outlying(),
        figures.has_modes(),
        figures.dependent(),
        figures.slow_first(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The tables with the names of their phases.
struct Figures<'a> {
    workloads: &'a [WorkloadTable],
    labels: &'a [String],
}

/// A finding at one place, with its weight.
struct Seen {
    place: String,
    /// The block, if the finding is about one.
    block: Option<u32>,
    message: String,
    weight: f64,
}

impl Figures<'_> {
    /// Every phase with its name.
    fn phases(&self) -> impl Iterator<Item = (String, &PhaseTable)> {
        self.workloads.iter().flat_map(move |workload| {
            workload.phases.iter().map(move |phase| {
                let name = terms::phase(self.workloads.len(), &workload.name, &phase.label);
                (name, phase)
            })
        })
    }

    /// Every line of times with the name of its phase.
    fn lines(&self) -> impl Iterator<Item = (String, &PhaseTable, &Line)> {
        self.phases().flat_map(|(name, phase)| {
            let lines = phase.lines.iter();
            lines.map(move |line| (name.clone(), phase, line))
        })
    }

    /// Leaders that are not distinguishable although their medians differ by a large factor.
    fn spread_wide(&self) -> Option<WarningSummary> {
        let (mut seen, mut most) = (Vec::new(), 0);
        for (phase, table) in self.phases() {
            let Some(line) = table.lines.last() else {
                continue;
            };
            let values = line.values.iter().enumerate();
            let values = values.filter_map(|(contender, v)| Some((contender, v.as_ref()?)));
            let by_median = values.clone();
            let Some((ahead, first)) =
                by_median.min_by(|a, b| a.1.summary.median.total_cmp(&b.1.summary.median))
            else {
                continue;
            };
            for (contender, value) in values.filter(|(contender, _)| *contender != ahead) {
                let difference = value.summary.median / first.summary.median - 1.0;
                let level = line.verdict(contender, ahead) == Some(Verdict::Inconclusive);
                if !level || difference <= MATTERS {
                    continue;
                }
                most = most.max(value.summary.n.min(first.summary.n));
                seen.push(Seen {
                    place: phase.clone(),
                    block: None,
                    message: format!(
                        "{phase}: the median of {} is {:.0} % above that of {}, yet the spread \
                         hides who is faster",
                        self.labels[contender],
                        difference * 100.0,
                        self.labels[ahead],
                    ),
                    weight: difference,
                });
            }
        }
        let repeats = (2 * most).max(INTERVALS_FROM);
        summarize(
            WarningKind::Imprecise,
            seen,
            format!("more repeats may decide: --repeats {repeats}"),
        )
    }

    /// Series that rise or fall over the blocks.
    fn drifting(&self) -> Option<WarningSummary> {
        let mut seen = Vec::new();
        for (phase, _, line) in self.lines() {
            for (label, value) in self.labels.iter().zip(&line.values) {
                let Some((value, by)) = value.as_ref().and_then(|v| Some((v, v.drift?))) else {
                    continue;
                };
                seen.push(Seen {
                    place: format!("{label} {phase}"),
                    block: None,
                    message: format!(
                        "{phase} at {label}: time to {} {} by {:.0} % of its median from the \
                         first to the last of {} blocks",
                        line.measure.name(),
                        if by > 0.0 { "rose" } else { "fell" },
                        by.abs() * 100.0,
                        value.summary.n,
                    ),
                    weight: by.abs(),
                });
            }
        }
        summarize(
            WarningKind::Drift,
            seen,
            "ratios are taken within blocks and bear it, medians and ranges do not: look for what \
             changed (heat, a device that fills, other load); 1 series in 20 drifts by chance"
                .to_owned(),
        )
    }

    /// Outliers.
    fn outlying(&self) -> Option<WarningSummary> {
        let mut seen = Vec::new();
        for (phase, table, line) in self.lines() {
            let scale = table.scale();
            for (label, value) in self.labels.iter().zip(&line.values) {
                let Some(value) = value else { continue };
                let median = value.summary.median;
                seen.extend(value.outliers.iter().map(|(block, time)| Seen {
                    place: format!("{label} {phase}"),
                    block: Some(*block),
                    message: format!(
                        "{phase} at {label}, block {}: {} {unit} to {}, where the median is {} \
                         {unit}",
                        block + 1,
                        scale.show(*time),
                        line.measure.name(),
                        scale.show(median),
                        unit = scale.unit(),
                    ),
                    weight: (time / median).ln().abs(),
                }));
            }
        }
        summarize(
            WarningKind::Outlier,
            seen,
            "it is counted, never dropped: look for what else ran then; a median of more repeats \
             feels it less"
                .to_owned(),
        )
    }
}

impl Figures<'_> {
    /// Every series of figures with the name of its phase, its line and its contender.
    fn values(&self) -> impl Iterator<Item = (String, &PhaseTable, &Line, &String, &Value)> {
        self.lines().flat_map(|(name, phase, line)| {
            let both = self.labels.iter().zip(&line.values);
            both.filter_map(move |(label, value)| {
                Some((name.clone(), phase, line, label, value.as_ref()?))
            })
        })
    }

    /// Series that are multimodal.
    fn has_modes(&self) -> Option<WarningSummary> {
        let of = |(phase, table, line, label, value): (
            String,
            &PhaseTable,
            &Line,
            &String,
            &Value,
        )| {
            let times: Vec<f64> = value.times.iter().map(|(_, time)| *time).collect();
            let modes = modes(&times).filter(|of| of.high > (1.0 + MATTERS) * of.low)?;
            let scale = table.scale();
            Some(Seen {
                message: format!(
                    "{phase} at {label}: {} of {} times to {} are near {} {unit}, the others near \
                     {} {unit}",
                    modes.above,
                    times.len(),
                    line.measure.name(),
                    scale.show(modes.high),
                    scale.show(modes.low),
                    unit = scale.unit(),
                ),
                place: format!("{label} {phase}"),
                block: None,
                weight: modes.high / modes.low,
            })
        };
        summarize(
            WarningKind::Multimodal,
            self.values().filter_map(of).collect(),
            "a median shows only one mode, look at every figure; something happens in some \
             repeats and not in others (a journal that is written back, a cache that overflows): \
             a longer phase holds it every time"
                .to_owned(),
        )
    }

    /// Series of ratios to the baseline with serial dependence.
    fn dependent(&self) -> Option<WarningSummary> {
        let seen = self.lines().flat_map(|(phase, _, line)| {
            let base = line.values.first().and_then(Option::as_ref);
            let others = self.labels.iter().zip(&line.values).skip(1);
            let of = move |(label, value): (&String, &Option<Value>)| {
                let (value, base) = (value.as_ref()?, base?);
                let ratios = value.times.iter().filter_map(|(block, time)| {
                    let (_, of_base) = base.times.iter().find(|(other, _)| other == block)?;
                    Some(time / of_base)
                });
                let p = dependence(&ratios.collect::<Vec<_>>()).filter(|p| *p < RARE)?;
                Some(Seen {
                    message: format!(
                        "{phase} at {label}: ratios to the baseline resemble those of the block \
                         before (p = {p:.4})"
                    ),
                    place: format!("{label} {phase}"),
                    block: None,
                    weight: -p,
                })
            };
            others.filter_map(of).collect::<Vec<_>>()
        });
        summarize(
            WarningKind::Dependent,
            seen.collect(),
            "the interval may be too narrow, because correlated repeats carry less information: look \
             for a cause that lasts over several blocks, or spread the run over more time"
                .to_owned(),
        )
    }

    /// Phases in which the first block is the slowest of most contenders by a large factor.
    fn slow_first(&self) -> Option<WarningSummary> {
        let mut seen = Vec::new();
        for (phase, _, line) in self.lines() {
            let first_is_off = |value: &Value| {
                let slow = value
                    .outliers
                    .iter()
                    .filter(|(_, t)| *t > value.summary.median);
                slow.clone().any(|(block, _)| *block == 0)
            };
            let values = || line.values.iter().flatten();
            let (off, all) = (
                values().filter(|v| first_is_off(v)).count(),
                values().count(),
            );
            if all < 2 || 2 * off <= all {
                continue;
            }
            let times = values().filter(|v| first_is_off(v)).filter_map(|value| {
                let (_, first) = value.times.first()?;
                Some(first / value.summary.median)
            });
            let most = times.fold(1.0, f64::max);
            seen.push(Seen {
                message: format!(
                    "{phase}: the first block is far slower than the others at {off} of {all} \
                     contenders, up to {most:.1} times the median"
                ),
                place: phase,
                block: None,
                weight: most,
            });
        }
        summarize(
            WarningKind::WarmUp,
            seen,
            "it is counted, and medians bear it: the machine had to wake (memory given back, \
             processors asleep); one more repeat makes up for it"
                .to_owned(),
        )
    }
}

/// Combines all findings of a kind into one warning, with the message of the largest. A phase with
/// a finding in both of its times counts once.
fn summarize(kind: WarningKind, mut seen: Vec<Seen>, advice: String) -> Option<WarningSummary> {
    seen.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let message = seen.first()?.message.clone();
    let (mut met, mut places) = (Vec::new(), Vec::new());
    for one in seen {
        let key = (one.place, one.block);
        if met.contains(&key) {
            continue;
        }
        if !places.contains(&key.0) {
            places.push(key.0.clone());
        }
        met.push(key);
    }
    Some(WarningSummary {
        kind,
        count: met.len(),
        places,
        message,
        varies: met.len() > 1,
        advice,
    })
}
