//! Interim analyses: the blocks after which an adaptive run is analysed, and the error budget of
//! each analysis.

/// The schedule of interim analyses. The first is after the fewest blocks, each further one after a
/// third more, the last after the most. Ends before an extension are analyses too.
///
/// The parts of the error budget add up to at most the whole for any test (Boole's inequality).
/// [`Spending`] defines the parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterimAnalyses {
    /// The number of blocks before the first analysis.
    pub least: u32,
    /// The number of blocks before the last analysis.
    pub most: u32,
    /// The rule by which the error budget is spent.
    pub spending: Spending,
}

/// The rule by which the error budget is spent. Each analysis may use only what earlier ones left.
///
/// K. K. G. Lan and D. L. `DeMets`, "Discrete Sequential Boundaries for Clinical Trials",
/// Biometrika 70 (1983), 659-663.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spending {
    /// The budget is spent in proportion to the blocks, relative to the largest number of blocks.
    /// This is the case rho = 1 of K. Kim and D. L. `DeMets`, "Design and Analysis of Group
    /// Sequential Tests Based on the Type I Error Spending Rate Function", Biometrika 74 (1987),
    /// 149-154. A run that ends early, as most do, keeps most of its budget unused.
    Proportional,
    /// Each interim analysis uses the part `INTERIM` of the remaining budget, each end of the run
    /// uses the part `END`.
    ///
    /// An end is the most blocks, or the time limit. The time limit depends on the total time of
    /// blocks. If contenders are equal, their times within a block can be exchanged, which does not
    /// change the total. So the end is independent of the signs of differences, and may use the
    /// budget: K. K. G. Lan and D. L. `DeMets`, "Group sequential procedures: calendar versus
    /// information time", Statistics in Medicine 8 (1989), 1191-1198.
    Remaining {
        /// The ends before an extension of the run, as numbers of blocks.
        ends: Vec<u32>,
        /// Whether the last block is an end. It is not if the run continues, if it was interrupted,
        /// or if it stopped because everything was decided.
        ended: bool,
    },
}

/// The part of the remaining error budget that an interim analysis uses.
const INTERIM: f64 = 0.1;

/// The part of the remaining error budget that an end of a run uses. The rest is for extensions.
const END: f64 = 0.75;

/// The fewest blocks of an interim analysis that uses error budget: the exact test cannot reject
/// with fewer.
const EARLIEST: u32 = 6;

/// The fewest blocks after which contenders that are far apart are decided, without error budget.
const FAR_FROM: u32 = 3;

/// One analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Analysis {
    /// It uses the blocks before this one.
    pub until: u32,
    /// Its part of the error budget.
    pub level: f64,
    /// Whether the number of blocks was independent of the figures.
    pub end: bool,
}

impl InterimAnalyses {
    /// The numbers of blocks after which figures are analysed.
    pub fn places(&self) -> Vec<u32> {
        let mut places = vec![self.least.clamp(1, self.most.max(1))];
        while let Some(last) = places.last().filter(|last| **last < self.most) {
            let next = last.saturating_add(last.div_ceil(3)).min(self.most);
            places.push(next);
        }
        if let Spending::Remaining { ends, .. } = &self.spending {
            places.extend(ends);
            places.extend((FAR_FROM < self.least.min(self.most)).then_some(FAR_FROM));
            places.sort_unstable();
            places.dedup();
        }
        places
    }

    /// The analyses of a run with this number of blocks, each with its part of `level`.
    pub(crate) fn until(&self, blocks: u32, level: f64) -> Vec<Analysis> {
        let mut places = self.places();
        places.retain(|place| *place <= blocks);
        match &self.spending {
            Spending::Proportional => self.in_proportion(places, blocks, level),
            // At the most blocks, a run always ends.
            Spending::Remaining { ends, ended } => {
                let mut ends = ends.clone();
                if (*ended || blocks == self.most) && !ends.contains(&blocks) {
                    ends.push(blocks);
                }
                places.retain(|place| *place >= FAR_FROM || ends.contains(place));
                if ends.contains(&blocks) && !places.contains(&blocks) {
                    places.push(blocks);
                }
                let mut left = level;
                let each = places.into_iter().map(|until| {
                    let end = ends.contains(&until);
                    let share = if end {
                        END
                    } else if until < EARLIEST {
                        0.0
                    } else {
                        INTERIM
                    };
                    let level = left * share;
                    left -= level;
                    Analysis { until, level, end }
                });
                each.collect()
            }
        }
    }

    /// A run that ends between two analyses has one at its end. Beyond `most`, for example after a
    /// resumption with another plan, no budget is left.
    fn in_proportion(&self, mut places: Vec<u32>, blocks: u32, level: f64) -> Vec<Analysis> {
        if places.last().is_some_and(|last| *last < blocks) {
            places.push(blocks);
        }
        let spent =
            |blocks: u32| level * (f64::from(blocks) / f64::from(self.most.max(1))).min(1.0);
        let mut before = 0.0;
        let each = places.into_iter().map(|until| {
            let level = spent(until) - before;
            before += level;
            let end = false;
            Analysis { until, level, end }
        });
        each.filter(|analysis| analysis.level > 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interim_analyses_grow_by_a_third_and_spend_the_level_once() {
        let analyses = InterimAnalyses {
            least: 3,
            most: 60,
            spending: Spending::Proportional,
        };
        assert_eq!(
            analyses.places(),
            [3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 60],
            "no analysis is missed, the last is at the most"
        );
        let sum = |blocks: u32| {
            let parts = analyses.until(blocks, 0.05).into_iter();
            parts.map(|one| one.level).sum::<f64>()
        };
        assert!((sum(60) - 0.05).abs() < 1e-12);
        // An end between two analyses spends the budget of its blocks.
        assert!((sum(30) - 0.025).abs() < 1e-12);
        assert_eq!(
            analyses
                .until(30, 0.05)
                .last()
                .map(|analysis| analysis.until),
            Some(30)
        );
        assert!(
            analyses.until(2, 0.05).is_empty(),
            "before the first analysis there is no verdict"
        );
        let least = 9;
        let most = 4;
        assert_eq!(
            InterimAnalyses {
                least,
                most,
                ..analyses
            }
            .places(),
            [4]
        );
    }

    #[test]
    fn each_end_leaves_a_quarter_of_the_budget_to_an_extension() {
        let analyses = |ends: &[u32], ended| InterimAnalyses {
            least: 3,
            most: 60,
            spending: Spending::Remaining {
                ends: ends.to_vec(),
                ended,
            },
        };
        let of = |analyses: InterimAnalyses, blocks| -> Vec<(u32, f64)> {
            let all = analyses.until(blocks, 1.0).into_iter();
            all.map(|one| (one.until, one.level)).collect()
        };
        let near = |found: &[(u32, f64)], wanted: &[(u32, f64)]| {
            assert_eq!(found.len(), wanted.len(), "{found:?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(found.0 == wanted.0 && (found.1 - wanted.1).abs() < 1e-12);
            }
        };
        // Analyses before 6 blocks use nothing. An interruption is no end.
        let interim = [(3, 0.0), (4, 0.0), (6, 0.1), (8, 0.09)];
        near(&of(analyses(&[], false), 10), &interim);
        let ended = [(3, 0.0), (4, 0.0), (6, 0.1), (8, 0.09), (10, 0.6075)];
        near(&of(analyses(&[], true), 10), &ended);
        // An extension keeps the decisions of the first end, and spends the budget that it left.
        let more = of(analyses(&[10], true), 13);
        near(&more[..5], &ended);
        assert!(
            (more.iter().map(|one| one.1).sum::<f64>() - (1.0 - 0.2025 * 0.9 * 0.25)).abs() < 1e-12
        );
        // An end where an interim analysis is due is one analysis.
        near(
            &of(analyses(&[], true), 6),
            &[(3, 0.0), (4, 0.0), (6, 0.75)],
        );
        near(&of(analyses(&[], true), 4), &[(3, 0.0), (4, 0.75)]);
        // The extension begins with an analysis at the first end, and keeps the schedule.
        assert_eq!(analyses(&[10], false).places()[..6], [3, 4, 6, 8, 10, 11]);
    }
}
