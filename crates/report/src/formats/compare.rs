//! The comparison of runs, for a terminal.

use crate::compare::{Checked, Holds, Line, RunComparison};
use crate::terms::{self, Scale};
use fsdyno_stats::Verdict;
use std::fmt::Write as _;

/// Columns of the names of phases where the others need what is left of 80.
const NAME: usize = 26;

/// A run beside the first, as text of at most 80 columns.
pub fn terminal(across: &RunComparison, checked: &[Checked<'_>]) -> String {
    let mut text = format!("{} beside {}\n", across.run, across.base);
    if !across.differences.is_empty() {
        text += "\nWhat differs\n";
        for one in &across.differences {
            let mark = if one.forbids {
                "  (forbids to compare)"
            } else {
                ""
            };
            let line = format!("  {}: {} -> {}{mark}", one.what, one.base, one.run);
            if line.chars().count() <= 80 {
                let _ = writeln!(text, "{line}");
            } else {
                let _ = writeln!(text, "  {}:{mark}\n    {}", one.what, one.base);
                let _ = writeln!(text, "    -> {}", one.run);
            }
        }
    }
    if across.lines.is_empty() {
        text += "\nThe runs have no phase of a contender in common.\n";
        return text;
    }
    let _ = write!(
        text,
        "\nMedians; the ratio of this run to the first, with an interval at 95 % or more.\nThe \
         figures are in no pairs: all that differs is part of it.\nFaster, slower: by more than \
         {}; equivalent: by less;\ninconclusive: add repeats.\n",
        terms::percent(across.margin)
    );
    if across.certain {
        text += "In virtual time figures have no noise: intervals have no width.\n";
    }
    let mut last = None;
    for line in &across.lines {
        if last != Some(&line.contender) {
            let heading = format!("\n{}", line.contender);
            let _ = writeln!(
                text,
                "{heading}\n{:<NAME$}{:>9}{:>9}{:>8}{:>13}",
                "", "first", "this", "ratio", "95 %"
            );
            last = Some(&line.contender);
        }
        row(&mut text, line);
    }
    thresholds(&mut text, checked);
    text
}

fn row(text: &mut String, line: &Line) {
    let Some((base, now)) = line.medians() else {
        return;
    };
    let scale = Scale::of_times([base, now].into_iter());
    let name = format!(
        "  {} / {}, {} {}",
        line.workload,
        line.phase,
        line.measure(),
        scale.unit()
    );
    if name.chars().count() >= NAME {
        let _ = writeln!(text, "{name}");
        let _ = write!(text, "{:NAME$}", "");
    } else {
        let _ = write!(text, "{name:<NAME$}");
    }
    let ratio = line.ratio.map_or_else(String::new, |ratio| {
        format!("{}x", terms::ratio(ratio.middle))
    });
    let interval = line.ratio.and_then(|ratio| ratio.interval);
    let interval = interval.map_or_else(String::new, |of| {
        format!("{}-{}x", terms::ratio(of.low), terms::ratio(of.high))
    });
    let line = format!(
        "{:>9}{:>9}{ratio:>8}{interval:>13}  {}",
        scale.show(base),
        scale.show(now),
        word(line.verdict)
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

fn word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Indistinguishable) => "equivalent",
        Some(Verdict::Open) | None => "inconclusive",
    }
}

fn thresholds(text: &mut String, checked: &[Checked<'_>]) {
    if checked.is_empty() {
        return;
    }
    let count = |holds| checked.iter().filter(|one| one.holds == holds).count();
    let _ = writeln!(
        text,
        "\nThresholds: {} kept, {} beyond, {} inconclusive",
        count(Holds::Yes),
        count(Holds::No),
        count(Holds::Open)
    );
    for one in checked.iter().filter(|one| one.holds != Holds::Yes) {
        let said = match one.holds {
            Holds::No => "BEYOND",
            _ => "inconclusive: add repeats",
        };
        let ratio = one.line.ratio.map_or(f64::NAN, |ratio| ratio.middle);
        let _ = writeln!(
            text,
            "  {}: {}x: {said}\n    {} / {} at {}",
            one.threshold,
            terms::ratio(ratio),
            one.line.workload,
            one.line.phase,
            one.line.contender,
        );
    }
}
