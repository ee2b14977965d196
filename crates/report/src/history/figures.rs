//! The text form of the figures of a history: amounts, changes, places and headings.

use super::json::{History, SeriesHistory};
use crate::terms;
use std::collections::BTreeSet;

/// The name of a phase in headings.
pub(super) fn heading(history: &History, series: &SeriesHistory) -> String {
    let workloads: BTreeSet<&str> = history.series.iter().map(|one| &*one.workload).collect();
    let name = terms::phase(workloads.len(), &series.workload, &series.phase);
    terms::printable(&name)
}

/// The places of a phase on the axis, in order.
pub(super) fn axis(history: &History, phase: &[SeriesHistory]) -> Vec<String> {
    let points = phase.iter().flat_map(|series| &series.points);
    let used: BTreeSet<&String> = points.map(|point| &point.label).collect();
    let all = history.axis.iter();
    all.filter(|label| used.contains(label)).cloned().collect()
}

/// A relative change: `+5.2 %`, `+0.12 %`, `2.50x`.
pub(super) fn change(before: f64, after: f64) -> String {
    if before <= 0.0 {
        return "from 0".to_owned();
    }
    let percent = (after / before - 1.0) * 100.0;
    match percent.abs() {
        _ if percent >= 99.95 => format!("{}x", terms::ratio(after / before)),
        size if size >= 9.95 => format!("{percent:+.0} %"),
        size if size >= 0.995 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_two_digits() {
        for (before, after, text) in [
            (1000.0, 1001.2, "+0.12 %"),
            (100.0, 105.2, "+5.2 %"),
            (100.0, 150.0, "+50 %"),
            (100.0, 250.0, "2.50x"),
            (100.0, 40.0, "-60 %"),
            (0.0, 3.0, "from 0"),
        ] {
            assert_eq!(change(before, after), text);
        }
    }
}
