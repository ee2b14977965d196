//! Interim analyses: the blocks after which an adaptive run is analysed, and the error budget of
//! each analysis.

/// The schedule of interim analyses. The first is after the fewest blocks, each further one after a
/// third more, the last after the most.
///
/// The error budget is spent in proportion to the blocks. Each analysis may use the budget since
/// the previous one. The parts add up to at most the whole budget for any test (Boole's
/// inequality), also if a run ends between two analyses.
/// K. K. G. Lan and D. L. `DeMets`, "Discrete Sequential Boundaries for Clinical Trials",
/// Biometrika 70 (1983), 659-663. Linear spending is the case rho = 1 of K. Kim and D. L. `DeMets`,
/// "Design and Analysis of Group Sequential Tests Based on the Type I Error Spending Rate
/// Function", Biometrika 74 (1987), 149-154.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterimAnalyses {
    /// The number of blocks before the first analysis.
    pub least: u32,
    /// The number of blocks before the last analysis.
    pub most: u32,
}

impl InterimAnalyses {
    /// The numbers of blocks after which figures are analysed.
    pub fn places(self) -> Vec<u32> {
        let mut places = vec![self.least.clamp(1, self.most.max(1))];
        while let Some(last) = places.last().filter(|last| **last < self.most) {
            let next = last.saturating_add(last.div_ceil(3)).min(self.most);
            places.push(next);
        }
        places
    }

    /// The analyses of a run with this number of blocks, each with its part of `level`. A run that
    /// ends between two analyses has one at its end.
    pub(crate) fn until(self, blocks: u32, level: f64) -> Vec<(u32, f64)> {
        let mut places = self.places();
        places.retain(|place| *place <= blocks);
        if places.last().is_some_and(|last| *last < blocks) {
            places.push(blocks);
        }
        let spent =
            |blocks: u32| level * (f64::from(blocks) / f64::from(self.most.max(1))).min(1.0);
        let mut before = 0.0;
        let each = places.into_iter().map(|place| {
            let part = spent(place) - before;
            before += part;
            (place, part)
        });
        // Beyond `most`, for example after a resumption with another plan, no budget is left.
        each.filter(|(_, part)| *part > 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interim_analyses_grow_by_a_third_and_spend_the_level_once() {
        let analyses = InterimAnalyses { least: 3, most: 60 };
        assert_eq!(
            analyses.places(),
            [3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 60],
            "no look is missed, the last is at the most"
        );
        let sum = |blocks: u32| {
            let parts = analyses.until(blocks, 0.05).into_iter();
            parts.map(|(_, part)| part).sum::<f64>()
        };
        assert!((sum(60) - 0.05).abs() < 1e-12);
        // An end between two analyses spends the budget of its blocks.
        assert!((sum(30) - 0.025).abs() < 1e-12);
        assert_eq!(
            analyses.until(30, 0.05).last().map(|analysis| analysis.0),
            Some(30)
        );
        assert!(
            analyses.until(2, 0.05).is_empty(),
            "before the first analysis there is no verdict"
        );
        assert_eq!(InterimAnalyses { least: 9, most: 4 }.places(), [4]);
    }
}
