//! The requested and the reached precision of an adaptive run.

use super::Comparison;
use crate::document::Outcome;
use crate::terms;
use fsdyno_model::{Adaptive, Nanos};
use fsdyno_stats::{Forecast, forecast};
use std::fmt::Write as _;

/// Up to this number, inconclusive comparisons are named one by one.
const NAMED: usize = 6;

/// The requested and the reached precision, as text. `None` if the number of repeats was fixed, or
/// nothing is compared.
pub(super) fn reached(
    comparison: &Comparison,
    requested: Option<(u32, Adaptive)>,
    seconds_of_block: Option<f64>,
) -> Option<String> {
    let (least, adaptive) = requested.filter(|_| comparison.compares())?;
    let (mut widths, mut inconclusive, mut without) = (Vec::new(), Vec::new(), false);
    let n = comparison.contenders.len();
    let family = comparison.lines().count() * n * n.saturating_sub(1) / 2;
    for (workload, phase, line) in comparison.whole_times() {
        let values = comparison.contenders.iter().zip(&line.values).enumerate();
        let values = values.skip(1);
        for (at, label, value) in
            values.filter_map(|(at, (label, v))| Some((at, label, v.as_ref()?)))
        {
            let interval = value.ratio.and_then(|ratio| ratio.interval);
            widths.extend(interval.map(|of| (of.high / of.low).sqrt() - 1.0));
            without |= value.outcome.is_none() && interval.is_none();
            if matches!(value.outcome, Some(Outcome::Inconclusive | Outcome::TooFew)) {
                let name = comparison.place(workload, phase);
                let base = line.values[0].as_ref();
                let needs = base.and_then(|base| {
                    if line.depends_on_user_code(at, 0) {
                        return Some(" (it depends on user code)".to_owned());
                    }
                    let of = forecast(&value.adjusted, &base.adjusted, &comparison.rule, family)?;
                    Some(describe(&of, seconds_of_block))
                });
                inconclusive.push(format!("{name} at {label}{}", needs.unwrap_or_default()));
            }
        }
    }
    let mut text = format!(
        "Requested: each ratio to {} decided, or known to {} either way, by {least} to {} blocks.",
        comparison.contenders[0],
        terms::percent(adaptive.precision),
        adaptive.most,
    );
    let narrowest = widths.iter().copied().min_by(f64::total_cmp);
    let widest = widths.iter().copied().max_by(f64::total_cmp);
    if let (Some(narrowest), Some(widest)) = (narrowest, widest) {
        let (narrowest, widest) = (terms::percent(narrowest), terms::percent(widest));
        let _ = write!(
            text,
            " Reached: intervals of {narrowest} to {widest} either way."
        );
    }
    let list = match inconclusive.len() {
        0 if without => " There are too few repeats to decide.".to_owned(),
        0 => " All are decided.".to_owned(),
        n if n <= NAMED => format!(" Open: {}.", inconclusive.join(", ")),
        n => format!(
            " Open: {}, and {} more.",
            inconclusive[..NAMED].join(", "),
            n - NAMED
        ),
    };
    Some(text + &list)
}

/// The forecast of an inconclusive comparison: `(1.12x so far; about 40 repeats, 8 min more)`.
fn describe(forecast: &Forecast, seconds_of_block: Option<f64>) -> String {
    let pairs = u32::try_from(forecast.pairs).unwrap_or(u32::MAX);
    let needs = match forecast.repeats {
        None => "too near the margin to decide".to_owned(),
        // Enough repeats by the estimate: chance decided against it.
        Some(repeats) if repeats <= pairs => "near a decision".to_owned(),
        Some(repeats) => {
            let more = f64::from(repeats - pairs);
            let time = seconds_of_block.map(|seconds| {
                let time = Nanos::from_seconds(seconds * more);
                format!(", {} more", time.clock())
            });
            format!("about {repeats} repeats{}", time.unwrap_or_default())
        }
    };
    format!(" ({:.2}x so far; {needs})", forecast.ratio)
}
