//! When a run that repeats until it knows enough is looked at, and how much may go wrong at each
//! look, so that looking often invents no differences.

/// The looks at a run: the first after the fewest blocks, each further one after a third more,
/// the last after the most.
///
/// The probability of a wrong verdict is spent over them in proportion to the blocks, and each
/// look may use what came to it since the one before; that the parts add up to no more than the
/// whole holds for any tests (Boole's inequality), and also where a run ends between two looks.
/// K. K. G. Lan and D. L. `DeMets`, "Discrete Sequential Boundaries for Clinical Trials",
/// Biometrika 70 (1983), 659-663; linear spending is the case rho = 1 of K. Kim and D. L. `DeMets`,
/// "Design and Analysis of Group Sequential Tests Based on the Type I Error Spending Rate
/// Function", Biometrika 74 (1987), 149-154.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterimAnalyses {
    /// The blocks before the first look.
    pub least: u32,
    /// The blocks before the last.
    pub most: u32,
}

impl InterimAnalyses {
    /// After how many blocks the figures are looked at.
    pub fn places(self) -> Vec<u32> {
        let mut places = vec![self.least.clamp(1, self.most.max(1))];
        while let Some(last) = places.last().filter(|last| **last < self.most) {
            let next = last.saturating_add(last.div_ceil(3)).min(self.most);
            places.push(next);
        }
        places
    }

    /// The looks at a run of so many blocks, with the part of `level` that each may use: also one
    /// at its end, where that is between two.
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
        // Beyond the most, as after a resumption with another plan, nothing is left to spend.
        each.filter(|(_, part)| *part > 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_by_a_third_and_spend_the_level_once() {
        let looks = InterimAnalyses { least: 3, most: 60 };
        assert_eq!(
            looks.places(),
            [3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 60],
            "no look is missed, the last is at the most"
        );
        let sum = |blocks: u32| {
            let parts = looks.until(blocks, 0.05).into_iter();
            parts.map(|(_, part)| part).sum::<f64>()
        };
        assert!((sum(60) - 0.05).abs() < 1e-12);
        // An end between two looks spends what belongs to its blocks.
        assert!((sum(30) - 0.025).abs() < 1e-12);
        assert_eq!(looks.until(30, 0.05).last().map(|look| look.0), Some(30));
        assert!(
            looks.until(2, 0.05).is_empty(),
            "before the first analysis there is no verdict"
        );
        assert_eq!(InterimAnalyses { least: 9, most: 4 }.places(), [4]);
    }
}
