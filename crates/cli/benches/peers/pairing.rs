//! Runs two commands that do the same work in alternating pairs. The order within a pair alternates
//! too. `measure` runs and times each command.

use crate::busy::Watched;
use crate::measure::{Measured, Runner};
use crate::works::By;
use fsdyno_stats::{PairedRatio, ratio_paired};
use std::time::{Duration, Instant};

/// The minimum number of pairs: fewer give no interval at 95 %.
pub const MIN_PAIRS: usize = 6;

/// One of the two commands.
#[derive(Debug)]
pub struct Side {
    pub command: String,
    /// A command whose time is subtracted, for the cost of start and exit.
    pub less: Option<String>,
}

/// The two commands.
#[derive(Debug)]
pub struct Pairing {
    /// A shell command that runs untimed before each of them.
    pub before: String,
    pub ours: Side,
    pub theirs: Side,
    pub by: By,
}

/// The length of a comparison: the maximum of pairs, and a time limit. After the limit, pairs start
/// only to reach the minimum.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    pub most: usize,
    pub time: Duration,
}

#[derive(Debug, Default)]
pub struct Figures {
    pub ours: Vec<Measured>,
    pub theirs: Vec<Measured>,
    /// The share of the machine that other programs used.
    pub others: f64,
}

impl Figures {
    /// The ratio of fsdyno to the other program, over the pairs.
    pub fn ratio(&self, of: fn(&Measured) -> f64) -> Option<PairedRatio> {
        let list =
            |runs: &[Measured]| -> Vec<(u32, f64)> { (0..).zip(runs.iter().map(of)).collect() };
        ratio_paired(&list(&self.ours), &list(&self.theirs))
    }

    /// The median difference between fsdyno and the other program.
    pub fn more(&self, of: fn(&Measured) -> f64) -> f64 {
        let pairs = self.ours.iter().zip(&self.theirs);
        median(pairs.map(|(ours, theirs)| of(ours) - of(theirs)))
    }

    /// A summary on one line for the screen.
    pub fn line(&self) -> String {
        let shown = |of| match self.ratio(of) {
            Some(ratio) => format!(
                "{:.3} ({:.3} to {:.3})",
                ratio.middle, ratio.low, ratio.high
            ),
            None => "-".to_owned(),
        };
        format!(
            "cpu {}, wall {}; {} pairs, others {:.0} %",
            shown(|measured| measured.cpu),
            shown(|measured| measured.wall),
            self.ours.len(),
            100.0 * self.others
        )
    }
}

/// The median, or NaN of nothing.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    fsdyno_stats::median(&values.collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

impl Pairing {
    /// Runs all pairs. One warm-up run of each command comes first.
    pub fn compare(&self, length: Length, runner: &Runner) -> Result<Figures, String> {
        let begun = Instant::now();
        let mut figures = Figures::default();
        for side in [&self.ours, &self.theirs] {
            self.turn(side, runner)?;
        }
        let watched = Watched::start();
        while figures.ours.len() < length.most {
            if figures.ours.len() >= MIN_PAIRS.min(length.most) && begun.elapsed() > length.time {
                break;
            }
            if figures.ours.len() % 2 == 0 {
                figures.ours.push(self.turn(&self.ours, runner)?);
                figures.theirs.push(self.turn(&self.theirs, runner)?);
            } else {
                let theirs = self.turn(&self.theirs, runner)?;
                figures.ours.push(self.turn(&self.ours, runner)?);
                figures.theirs.push(theirs);
            }
        }
        figures.others = watched.others();
        Ok(figures)
    }

    fn turn(&self, side: &Side, runner: &Runner) -> Result<Measured, String> {
        let mut least = Measured::default();
        if let Some(less) = &side.less {
            runner.shell(&self.before)?;
            least = runner.timed(less, self.by)?;
        }
        runner.shell(&self.before)?;
        let measured = runner.timed(&side.command, self.by)?;
        Ok(Measured {
            wall: measured.wall - least.wall,
            cpu: measured.cpu - least.cpu,
            peak: measured.peak,
        })
    }
}
