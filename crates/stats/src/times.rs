//! The times of a line of a table: of one phase, or of several phases together.

use crate::covariance::{Adjusted, Timed, adjust};
use crate::pairs::geometric_line;
use fsdyno_model::{Better, FigureLine};

/// The times of one line by contender: those of a phase, or the geometric means of several phases.
/// Comparisons use them adjusted for the speed of the machine, if it was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times {
    phases: Vec<Vec<Vec<Timed>>>,
}

impl Times {
    /// The times of a phase, by contender.
    pub fn of(contenders: Vec<Vec<Timed>>) -> Self {
        Self {
            phases: vec![contenders],
        }
    }

    /// Times without probes, by contender.
    pub fn without_probes(contenders: &[Vec<(u32, f64)>]) -> Self {
        let timed = |&(block, time): &(u32, f64)| Timed {
            block,
            time,
            probe: None,
        };
        let all = contenders.iter();
        Self::of(all.map(|of| of.iter().map(timed).collect()).collect())
    }

    /// The geometric means of several lines, which have the same contenders. A block has a mean of
    /// a contender if all lines have a figure of it.
    pub fn mean<'a>(lines: impl IntoIterator<Item = &'a Self>) -> Self {
        let phases = lines.into_iter().flat_map(|line| line.phases.clone());
        Self {
            phases: phases.collect(),
        }
    }

    /// The same times of a phase with a constant time added to each.
    #[must_use]
    pub fn plus(mut self, time: f64) -> Self {
        for timed in self.phases.iter_mut().flatten().flatten() {
            timed.time += time;
        }
        self
    }

    /// The adjusted figures of each contender, with their blocks.
    pub fn figures(&self) -> Vec<Vec<(u32, f64)>> {
        self.until(u32::MAX).figures
    }

    /// The share of the variance within blocks that the adjustment removes. `None` if times are not
    /// adjusted, or for several phases.
    pub fn removed(&self) -> Option<f64> {
        match &self.phases[..] {
            [one] => adjust(one).removed,
            _ => None,
        }
    }

    /// The number of contenders.
    pub(crate) fn contenders(&self) -> usize {
        self.phases.first().map_or(0, Vec::len)
    }

    /// The number of blocks, counted from the first one.
    pub(crate) fn blocks(&self) -> u32 {
        let all = self.phases.iter().flatten().flatten();
        all.map(|timed| timed.block + 1).max().unwrap_or(0)
    }

    /// The adjusted figures of the blocks before this one, as an analysis at that time has them.
    pub(crate) fn until(&self, block: u32) -> Adjusted {
        let before = |of: &Vec<Timed>| -> Vec<Timed> {
            of.iter()
                .filter(|timed| timed.block < block)
                .copied()
                .collect()
        };
        let phases = self.phases.iter();
        let adjusted = phases.map(|phase| adjust(&phase.iter().map(before).collect::<Vec<_>>()));
        let mut adjusted: Vec<Adjusted> = adjusted.collect();
        if adjusted.len() == 1 {
            return adjusted.pop().unwrap_or_default();
        }
        let figures: Vec<&[_]> = adjusted.iter().map(|one| &one.figures[..]).collect();
        Adjusted {
            figures: geometric_line(&figures),
            removed: adjusted.iter().find_map(|one| one.removed),
        }
    }
}

/// The figure of which less is better: a figure itself, or its inverse if more is better. A rate
/// becomes the time for one unit of work.
pub fn cost(better: Better, figure: f64) -> f64 {
    match better {
        Better::Higher => 1.0 / figure.max(f64::MIN_POSITIVE),
        Better::Lower | Better::Neither => figure,
    }
}

/// The costs of a line by contender, each with its block.
pub fn costs(line: &FigureLine) -> Vec<Vec<(u32, f64)>> {
    let of_one = |figures: &Vec<(u32, f64)>| {
        let costs = figures.iter();
        costs
            .map(|(block, figure)| (*block, cost(line.better, *figure)))
            .collect()
    };
    line.figures.iter().map(of_one).collect()
}

/// The figures of a line as costs, so that *faster* is better for any figure.
impl From<&FigureLine> for Times {
    fn from(line: &FigureLine) -> Self {
        let of = |(figures, probes): (&Vec<(u32, f64)>, &Vec<_>)| {
            let both = figures.iter().zip(probes);
            let timed = both.map(|(&(block, figure), &probe)| Timed {
                block,
                time: cost(line.better, figure),
                probe,
            });
            timed.collect()
        };
        Self::of(line.figures.iter().zip(&line.probes).map(of).collect())
    }
}
