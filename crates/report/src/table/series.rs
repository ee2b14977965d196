//! Doubts that only a series of figures shows: a drift over the blocks, outliers, a spread that
//! hides a difference. What raised doubt while a cell ran is told in [`doubts`](super::doubts).

use super::{Doubt, Line, PhaseTable, WorkloadTable};
use crate::figures::{INTERVALS_FROM, MATTERS};
use crate::words;
use fsdyno_model::WarningKind;
use fsdyno_stats::Verdict;

/// The doubts of all series of a run, one of a kind.
pub(super) fn doubts(workloads: &[WorkloadTable], labels: &[String]) -> Vec<Doubt> {
    let figures = Figures { workloads, labels };
    [
        figures.spread_wide(),
        figures.drifting(),
        figures.outlying(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The tables with the names that places are told by.
struct Figures<'a> {
    workloads: &'a [WorkloadTable],
    labels: &'a [String],
}

/// Something seen at one place, with how much it weighs.
struct Seen {
    place: String,
    /// The block, where it was seen in one.
    block: Option<u32>,
    message: String,
    weight: f64,
}

impl Figures<'_> {
    /// Every phase, with its name.
    fn phases(&self) -> impl Iterator<Item = (String, &PhaseTable)> {
        self.workloads.iter().flat_map(move |workload| {
            workload.phases.iter().map(move |phase| {
                let name = words::phase(self.workloads.len(), &workload.name, &phase.label);
                (name, phase)
            })
        })
    }

    /// Every line of times, with the name of its phase.
    fn lines(&self) -> impl Iterator<Item = (String, &PhaseTable, &Line)> {
        self.phases().flat_map(|(name, phase)| {
            let lines = phase.lines.iter();
            lines.map(move |line| (name.clone(), phase, line))
        })
    }

    /// Leaders that cannot be told apart although their medians differ by a lot.
    fn spread_wide(&self) -> Option<Doubt> {
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
                let behind = value.summary.median / first.summary.median - 1.0;
                let level = line.verdicts.of(contender, ahead) == Some(Verdict::Open);
                if !level || behind <= MATTERS {
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
                        behind * 100.0,
                        self.labels[ahead],
                    ),
                    weight: behind,
                });
            }
        }
        let repeats = (2 * most).max(INTERVALS_FROM);
        told(
            WarningKind::Imprecise,
            seen,
            format!("more repeats may tell: --repeats {repeats}"),
        )
    }

    /// Figures that rise or fall over the blocks.
    fn drifting(&self) -> Option<Doubt> {
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
        told(
            WarningKind::Drift,
            seen,
            "ratios are taken within blocks and bear it, medians and ranges do not: look for what \
             changed (heat, a device that fills, other load); 1 series in 20 drifts by chance"
                .to_owned(),
        )
    }

    /// Figures far from their fellows.
    fn outlying(&self) -> Option<Doubt> {
        let mut seen = Vec::new();
        for (phase, table, line) in self.lines() {
            let scale = table.scale(false);
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
        told(
            WarningKind::Outlier,
            seen,
            "it is counted, never dropped: look for what else ran then; a median of more repeats \
             feels it less"
                .to_owned(),
        )
    }
}

/// One doubt of all that was seen of a kind; the message is that of the weightiest. A phase that
/// shows it in both of its times shows it once.
fn told(kind: WarningKind, mut seen: Vec<Seen>, advice: String) -> Option<Doubt> {
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
    Some(Doubt {
        kind,
        count: met.len(),
        places,
        message,
        varies: met.len() > 1,
        advice,
    })
}
