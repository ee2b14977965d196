//! Warnings that need a whole series of figures: drift over the blocks, outliers, a spread that
//! hides a difference. Warnings of single cells are in [`warning_summaries`](super::warnings).

use super::{Comparison, Line, PhaseTable, Value, WarningSummary};
use crate::figures::{INTERVALS_FROM, MATTERS};
use crate::lists::unique;
use fsdyno_model::WarningKind;
use fsdyno_stats::{Verdict, dependence, modes};

/// Repeats with a p-value below this are dependent.
const RARE: f64 = 0.005;

/// The warnings of all series of a comparison, one of each kind.
pub(super) fn warning_summaries(comparison: &Comparison) -> Vec<WarningSummary> {
    let figures = Figures { comparison };
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

/// The comparison whose series are examined.
struct Figures<'a> {
    comparison: &'a Comparison,
}

/// The figures of one contender in one line.
struct Series<'a> {
    /// The name of the phase.
    phase: String,
    table: &'a PhaseTable,
    line: &'a Line,
    label: &'a str,
    value: &'a Value,
}

/// A finding at one place, with its weight.
struct Finding {
    place: String,
    /// The block, if the finding is about one.
    block: Option<u32>,
    message: String,
    weight: f64,
}

impl Series<'_> {
    /// A finding about the series.
    fn finding(&self, message: &str, weight: f64) -> Finding {
        Finding {
            place: format!("{} {}", self.label, self.phase),
            block: None,
            message: format!("{} at {}{message}", self.phase, self.label),
            weight,
        }
    }
}

impl<'a> Figures<'a> {
    /// Every line of times with the name of its phase.
    fn lines(&self) -> impl Iterator<Item = (String, &'a PhaseTable, &'a Line)> {
        let comparison = self.comparison;
        comparison.phases().flat_map(move |(workload, phase)| {
            let name = comparison.place(workload, phase);
            let lines = phase.lines.iter();
            lines.map(move |line| (name.clone(), phase, line))
        })
    }

    /// Every series.
    fn series(&self) -> impl Iterator<Item = Series<'a>> {
        let labels = &self.comparison.contenders;
        self.lines().flat_map(move |(phase, table, line)| {
            let both = labels.iter().zip(&line.values);
            both.filter_map(move |(label, value)| {
                Some(Series {
                    phase: phase.clone(),
                    table,
                    line,
                    label,
                    value: value.as_ref()?,
                })
            })
        })
    }

    /// Leaders that are not distinguishable although their medians differ by a large factor.
    fn spread_wide(&self) -> Option<WarningSummary> {
        let labels = &self.comparison.contenders;
        let (mut findings, mut most) = (Vec::new(), 0);
        for (workload, table, line) in self.comparison.whole_times() {
            let phase = self.comparison.place(workload, table);
            let values = line.values.iter().enumerate();
            let values = values.filter_map(|(contender, v)| Some((contender, v.as_ref()?)));
            let Some((ahead, first)) = line
                .best_median(0..line.values.len())
                .and_then(|best| Some((best, line.values[best].as_ref()?)))
            else {
                continue;
            };
            for (contender, value) in values.filter(|(contender, _)| *contender != ahead) {
                let costs = line.cost(contender).zip(line.cost(ahead));
                let difference = costs.map_or(0.0, |(cost, least)| cost / least - 1.0);
                let level = line.verdict(contender, ahead) == Some(Verdict::Inconclusive)
                    && !line.depends_on_user_code(contender, ahead);
                if !level || difference <= MATTERS {
                    continue;
                }
                most = most.max(value.summary.n.min(first.summary.n));
                findings.push(Finding {
                    place: phase.clone(),
                    block: None,
                    message: format!(
                        "{phase}: the median of {} is {:.0} % {} that of {}, yet the spread hides {}",
                        labels[contender],
                        difference * 100.0,
                        if line.is_time() { "above" } else { "worse than" },
                        labels[ahead],
                        if line.is_time() { "who is faster" } else { "which is better" },
                    ),
                    weight: difference,
                });
            }
        }
        let repeats = (2 * most).max(INTERVALS_FROM);
        let advice = format!("more repeats may decide: --repeats {repeats}");
        summarize(WarningKind::Imprecise, findings, advice)
    }

    /// Series that rise or fall over the blocks.
    fn drifting(&self) -> Option<WarningSummary> {
        let findings = self.series().filter_map(|one| {
            let by = one.value.drift?;
            let message = format!(
                ": {} {} by {:.0} % of its median from the first to the last of {} blocks",
                one.line.label(),
                if by > 0.0 { "rose" } else { "fell" },
                by.abs() * 100.0,
                one.value.summary.n,
            );
            Some(one.finding(&message, by.abs()))
        });
        summarize(
            WarningKind::Drift,
            findings,
            "ratios are taken within blocks and bear it, medians and ranges do not: look for what \
             changed (heat, a device that fills, other load); 1 series in 20 drifts by chance",
        )
    }

    /// Outliers.
    fn outlying(&self) -> Option<WarningSummary> {
        let findings = self.series().flat_map(|one| {
            let (scale, median) = (one.table.scale(), one.value.summary.median);
            let outliers = one.value.outliers.iter();
            outliers.map(move |(block, time)| {
                let (shown, middle) = (one.line.show(*time, scale), one.line.show(median, scale));
                let shown = if one.line.is_time() {
                    format!("{shown} to {}", one.line.figure)
                } else {
                    format!("{} {shown}", one.line.label())
                };
                let message = format!(
                    ", block {}: {shown}, where the median is {middle}",
                    block + 1
                );
                Finding {
                    block: Some(*block),
                    ..one.finding(&message, (time / median).ln().abs())
                }
            })
        });
        summarize(
            WarningKind::Outlier,
            findings,
            "it is counted, never dropped: look for what else ran then; a median of more repeats \
             feels it less",
        )
    }

    /// Series that are multimodal.
    fn has_modes(&self) -> Option<WarningSummary> {
        let findings = self.series().filter_map(|one| {
            let times: Vec<f64> = one.value.times.iter().map(|(_, time)| *time).collect();
            let modes = modes(&times).filter(|of| of.high > (1.0 + MATTERS) * of.low)?;
            let scale = one.table.scale();
            let figures = if one.line.is_time() {
                format!("times to {}", one.line.figure)
            } else {
                format!("figures of {}", one.line.label())
            };
            let message = format!(
                ": {} of {} {figures} are near {}, the others near {}",
                modes.above,
                times.len(),
                one.line.show(modes.high, scale),
                one.line.show(modes.low, scale),
            );
            Some(one.finding(&message, modes.high / modes.low))
        });
        summarize(
            WarningKind::Multimodal,
            findings,
            "a median shows only one mode, look at every figure; something happens in some \
             repeats and not in others (a journal that is written back, a cache that overflows): \
             a longer phase holds it every time",
        )
    }

    /// Series of ratios to the baseline with serial dependence.
    fn dependent(&self) -> Option<WarningSummary> {
        let findings = self.series().filter_map(|one| {
            let base = one.line.values.first()?.as_ref()?;
            if std::ptr::eq(base, one.value) {
                return None;
            }
            let ratios = one.value.times.iter().filter_map(|(block, time)| {
                let (_, of_base) = base.times.iter().find(|(other, _)| other == block)?;
                Some(time / of_base)
            });
            let p = dependence(&ratios.collect::<Vec<_>>()).filter(|p| *p < RARE)?;
            let message =
                format!(": ratios to the baseline resemble those of the block before (p = {p:.4})");
            Some(one.finding(&message, -p))
        });
        summarize(
            WarningKind::Dependent,
            findings,
            "the interval may be too narrow, because correlated repeats carry less information: look \
             for a cause that lasts over several blocks, or spread the run over more time",
        )
    }

    /// Phases in which the first block is the slowest of most contenders by a large factor.
    fn slow_first(&self) -> Option<WarningSummary> {
        let mut findings = Vec::new();
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
            findings.push(Finding {
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
            findings,
            "it is counted, and medians bear it: the machine had to wake (memory given back, \
             processors asleep); one more repeat makes up for it",
        )
    }
}

/// Combines all findings of a kind into one warning, with the message of the largest. A phase with
/// a finding in both of its times counts once.
fn summarize(
    kind: WarningKind,
    findings: impl IntoIterator<Item = Finding>,
    advice: impl Into<String>,
) -> Option<WarningSummary> {
    let mut findings: Vec<Finding> = findings.into_iter().collect();
    findings.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let message = findings.first()?.message.clone();
    let met = unique(findings.into_iter().map(|one| (one.place, one.block)));
    let (count, varies) = (met.len(), met.len() > 1);
    Some(WarningSummary {
        kind,
        count,
        places: unique(met.into_iter().map(|(place, _)| place)),
        message,
        varies,
        advice: advice.into(),
    })
}
