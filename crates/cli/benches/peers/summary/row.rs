//! One comparison as a row of a table, with its goals.

use super::one_line;
use crate::busy::NOISY;
use crate::measure::{By, Measured};
use crate::pairing::{Figures, median};
use crate::works::{Goal, Most, Of, Other};
use fsdyno_stats::PairedRatio;

/// One comparison: the other program, and the figures or the reason why there are none.
pub(super) struct Row {
    pub filesystem: String,
    pub other: &'static Other,
    pub figures: Result<Figures, String>,
}

pub(super) struct CheckedGoal {
    pub missed: bool,
    pub words: String,
}

/// The header of a table.
pub(super) const TITLE: &str = "| file system | compared with | CPU ratio | wall ratio | goal | CPU s, ours and theirs | wall s | pairs | others |\n\
     |---|---|---|---|---|---|---|---|---|\n";

fn cpu(measured: &Measured) -> f64 {
    measured.cpu
}

fn wall(measured: &Measured) -> f64 {
    measured.wall
}

fn figure(of: Of) -> (fn(&Measured) -> f64, &'static str) {
    match of {
        Of::Cpu => (cpu, "CPU"),
        Of::Wall => (wall, "wall"),
    }
}

impl Row {
    /// Compares the figures with the goals.
    pub fn judged(&self) -> Vec<CheckedGoal> {
        let Ok(figures) = &self.figures else {
            return Vec::new();
        };
        let goals = self.other.goals.iter();
        goals.filter_map(|goal| judge(goal, figures)).collect()
    }

    /// The row as Markdown.
    pub fn line(&self) -> String {
        let Self {
            filesystem, other, ..
        } = self;
        let figures = match &self.figures {
            Ok(figures) => figures,
            Err(reason) => {
                let reason = one_line(reason);
                return format!("| {filesystem} | {} | {reason} | | | | | | |\n", other.name);
            }
        };
        let seconds = |of: fn(&Measured) -> f64| {
            let (ours, theirs) = (figures.ours.iter().map(of), figures.theirs.iter().map(of));
            format!("{:.4}, {:.4}", median(ours), median(theirs))
        };
        let goals: Vec<String> = self
            .judged()
            .iter()
            .zip(other.goals)
            .map(|(judged, goal)| {
                let goal = words(goal);
                if judged.missed {
                    format!("**{goal}**")
                } else {
                    goal
                }
            })
            .collect();
        let noisy = if figures.others >= NOISY { " (!)" } else { "" };
        let clocks = clocks(other);
        format!(
            "| {filesystem} | {}{clocks} | {} | {} | {} | {} | {} | {} | {:.0} %{noisy} |\n",
            other.name,
            shown(figures.ratio(cpu).as_ref()),
            shown(figures.ratio(wall).as_ref()),
            goals.join(", "),
            seconds(cpu),
            seconds(wall),
            figures.ours.len(),
            100.0 * figures.others
        )
    }
}

/// The source of the times, if it is not the whole process.
pub(super) fn clocks(other: &Other) -> &'static str {
    match other.by {
        By::OwnClocks => ", own clocks",
        By::Process => "",
    }
}

fn words(goal: &Goal) -> String {
    let (_, name) = figure(goal.of);
    match goal.most {
        Most::Ratio(most) => format!("{name} {most:.2}"),
        Most::More(seconds) => format!("{name} {:.0} ms more", 1e3 * seconds),
    }
}

/// `None` if there is no ratio, because the time was below the resolution of the clock.
fn judge(goal: &Goal, figures: &Figures) -> Option<CheckedGoal> {
    let (of, name) = figure(goal.of);
    Some(match goal.most {
        Most::Ratio(most) => {
            let ratio = figures.ratio(of)?;
            let decided = match ratio.interval {
                Some(interval) if interval.low <= most => " (the interval contains the goal)",
                _ => "",
            };
            CheckedGoal {
                missed: ratio.middle > most,
                words: format!(
                    "{name} {}, goal {most:.2}, off by {:.1} %{decided}",
                    shown(Some(&ratio)),
                    100.0 * (ratio.middle / most - 1.0)
                ),
            }
        }
        Most::More(most) => {
            let more = figures.more(of);
            CheckedGoal {
                missed: more > most,
                words: format!(
                    "{name} {:.2} ms more, goal {:.0} ms, off by {:.1} ms",
                    1e3 * more,
                    1e3 * most,
                    1e3 * (more - most)
                ),
            }
        }
    })
}

/// Formats a ratio with its interval.
fn shown(ratio: Option<&PairedRatio>) -> String {
    match ratio {
        Some(PairedRatio {
            middle,
            interval: Some(interval),
            ..
        }) => format!("{middle:.3} ({:.3} to {:.3})", interval.low, interval.high),
        Some(ratio) => format!("{:.3}", ratio.middle),
        None => "-".to_owned(),
    }
}
