//! The requested and the reached precision of an adaptive run.

use super::{Comparison, Standing};
use crate::terms;
use fsdyno_model::Adaptive;
use std::fmt::Write as _;

/// Up to this number, inconclusive comparisons are named one by one.
const NAMED: usize = 6;

/// The requested and the reached precision, as text. `None` if the number of repeats was fixed, or
/// nothing is compared.
pub(super) fn reached(
    comparison: &Comparison,
    requested: Option<(u32, Adaptive)>,
) -> Option<String> {
    let (least, adaptive) = requested.filter(|_| comparison.compares())?;
    let (mut widths, mut open) = (Vec::new(), Vec::new());
    for workload in &comparison.workloads {
        for phase in &workload.phases {
            let Some(line) = phase.lines.last() else {
                continue;
            };
            let values = comparison.contenders.iter().zip(&line.values).skip(1);
            for (label, value) in values.filter_map(|(label, v)| Some((label, v.as_ref()?))) {
                let interval = value.ratio.and_then(|ratio| ratio.interval);
                widths.extend(interval.map(|of| (of.high / of.low).sqrt() - 1.0));
                if matches!(value.standing, Standing::Open | Standing::TooFew) {
                    let name =
                        terms::phase(comparison.workloads.len(), &workload.name, &phase.label);
                    open.push(format!("{name} at {label}"));
                }
            }
        }
    }
    let mut text = format!(
        "Asked: each ratio to {} decided, or known to {} either way, by {least} to {} blocks.",
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
    let list = match open.len() {
        0 => " All are decided.".to_owned(),
        n if n <= NAMED => format!(" Open: {}.", open.join(", ")),
        n => format!(
            " Open: {}, and {} more.",
            open[..NAMED].join(", "),
            n - NAMED
        ),
    };
    Some(text + &list)
}
