//! What may be said of two contenders here: the judgement of `fsdyno-stats`, and when there is
//! too little to judge.

use fsdyno_stats::{MARGIN, Verdict, judge};

pub use fsdyno_stats::FEWEST;

/// Figures of one contender, each with the block it was taken in.
pub type Blocked = (u32, f64);

/// What the figures allow to be said of `these` against `others` (less is faster); none where
/// too few blocks have both.
pub fn verdict(these: &[Blocked], others: &[Blocked]) -> Option<Verdict> {
    judge(these, others, MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_two_pairs_or_of_ranges_that_overlap() {
        let slow = [(0, 5.0), (1, 6.0), (2, 7.0)];
        let fast = [(2, 3.0), (1, 4.0), (0, 4.5)];
        assert_eq!(verdict(&fast[..2], &slow), None);
        assert_eq!(verdict(&fast, &slow), Some(Verdict::Faster));
        assert_eq!(verdict(&slow, &fast), Some(Verdict::Slower));
        // Faster in every block, yet the ranges overlap.
        let near = [(0, 4.5), (1, 5.5), (2, 6.0)];
        assert_eq!(verdict(&near, &slow), Some(Verdict::Indistinguishable));
    }
}
