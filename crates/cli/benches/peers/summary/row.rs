//! The comparisons of a work as a table, with their goals.

use crate::busy::NOISY;
use crate::measure::Measured;
use crate::pairing::{Figures, median};
use crate::works::By;
use crate::works::{Goal, Most, Of, Other};
use fsdyno_stats::PairedRatio;
use std::fmt::Write as _;

/// One comparison: the other program, and the figures or the reason why there are none.
pub(super) struct Row {
    pub filesystem: String,
    pub other: &'static Other,
    pub figures: Result<Figures, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Reached,
    /// The ratio is above the goal, which the interval contains.
    Inconclusive,
    Missed,
}

fn figure(of: Of) -> (fn(&Measured) -> f64, &'static str) {
    match of {
        Of::Cpu => (|measured| measured.cpu, "CPU"),
        Of::Wall => (|measured| measured.wall, "wall"),
    }
}

impl Row {
    /// Compares the figures with the goals.
    pub fn judged(&self) -> impl Iterator<Item = Judged> {
        let figures = self.figures.as_ref().ok();
        let goals = self.other.goals.iter();
        goals.filter_map(move |goal| judge(goal, figures?))
    }

    /// A ratio to the other program. One that a goal limits has its interval and a mark.
    fn ratio(&self, of: Of, goal: Option<&Goal>) -> String {
        let Ok(figures) = &self.figures else {
            return "-".to_owned();
        };
        let ratio = figures.ratio(figure(of).0);
        let decides = goal.is_some() || (of == Of::Cpu && self.other.goals.is_empty());
        let shown = match &ratio {
            Some(ratio) if decides => with_interval(ratio),
            Some(ratio) => format!("{:.3}", ratio.middle),
            None => "-".to_owned(),
        };
        let marked = match goal.and_then(|goal| judge(goal, figures)) {
            Some(Judged::Missed) => format!("**{shown}**"),
            Some(Judged::Inconclusive) => format!("*{shown}*"),
            Some(Judged::Reached) | None => shown,
        };
        let noisy = of == Of::Wall && figures.others >= NOISY;
        marked + if noisy { " (!)" } else { "" }
    }

    /// The medians of the wall times.
    fn seconds(&self) -> String {
        let Ok(figures) = &self.figures else {
            return "-".to_owned();
        };
        let wall = |runs: &[Measured]| median(runs.iter().map(|run| run.wall));
        format!("{:.4}, {:.4}", wall(&figures.ours), wall(&figures.theirs))
    }
}

/// The comparisons of a work: three lines for each program, a column for each file system.
pub(super) fn table(rows: &[Row]) -> String {
    let (mut filesystems, mut others) = (Vec::new(), Vec::<&'static Other>::new());
    for row in rows {
        if !filesystems.contains(&row.filesystem.as_str()) {
            filesystems.push(row.filesystem.as_str());
        }
        if !others.iter().any(|known| std::ptr::eq(*known, row.other)) {
            others.push(row.other);
        }
    }
    let mut table = format!(
        "| compared with | goal | {} |\n|---|---|{}\n",
        filesystems.join(" | "),
        "---|".repeat(filesystems.len())
    );
    for other in others {
        let mut line = |name: &str, goal: Option<&Goal>, cell: &dyn Fn(&Row) -> String| {
            let cells = filesystems.iter().map(|filesystem| {
                let mut rows = rows.iter();
                let row = rows
                    .find(|row| row.filesystem == *filesystem && std::ptr::eq(row.other, other));
                row.map_or(String::new(), cell)
            });
            let (goal, cells) = (goal.map_or(String::new(), limit), cells.collect::<Vec<_>>());
            let program = format!("{}{}", other.name, clocks(other));
            let _ = writeln!(
                table,
                "| {program}, {name} | {goal} | {} |",
                cells.join(" | ")
            );
        };
        for of in [Of::Cpu, Of::Wall] {
            let goal = other.goals.iter().find(|goal| goal.of == of);
            line(figure(of).1, goal, &|row| row.ratio(of, goal));
        }
        line("s", None, &Row::seconds);
    }
    table
}

/// The source of the times, if it is not the whole process.
pub(super) fn clocks(other: &Other) -> &'static str {
    match other.by {
        By::OwnClocks => ", own clocks",
        By::Process => "",
    }
}

fn limit(goal: &Goal) -> String {
    match goal.most {
        Most::Ratio(most) => format!("{most:.2}"),
        Most::More(seconds) => format!("{:.0} ms more", 1e3 * seconds),
    }
}

/// `None` if there is no ratio, because the time was below the resolution of the clock.
fn judge(goal: &Goal, figures: &Figures) -> Option<Judged> {
    let (of, _) = figure(goal.of);
    let (missed, open) = match goal.most {
        Most::Ratio(most) => {
            let ratio = figures.ratio(of)?;
            let open = ratio.interval.is_some_and(|interval| interval.low <= most);
            (ratio.middle > most, open)
        }
        Most::More(most) => (figures.more(of) > most, false),
    };
    Some(match (missed, open) {
        (false, _) => Judged::Reached,
        (true, true) => Judged::Inconclusive,
        (true, false) => Judged::Missed,
    })
}

/// Formats a ratio with its interval, if there is one.
fn with_interval(ratio: &PairedRatio) -> String {
    let middle = ratio.middle;
    ratio.interval.as_ref().map_or_else(
        || format!("{middle:.3}"),
        |interval| format!("{middle:.3} ({:.3} to {:.3})", interval.low, interval.high),
    )
}
