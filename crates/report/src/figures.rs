//! The few numbers a table needs: medians, spreads, ratios paired by block, and what they allow
//! to be said. No wording, no units.

/// Figures of one contender, each with the block it was taken in.
pub type Blocked = (u32, f64);

/// A median with its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many figures.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// The ratio of two contenders, taken block by block, so that drift hits both alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The median over the blocks.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// In how many blocks both have a figure.
    pub pairs: usize,
}

/// What may be said of a contender against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Faster in every block, and the ranges do not overlap.
    Faster,
    /// Slower in every block, and the ranges do not overlap.
    Slower,
    /// Measured more than once, and neither of these.
    Indistinguishable,
    /// Fewer than two pairs: nothing may be said.
    Unknown,
}

/// The median; the mean of the middle two where their number is even; none of no figures.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

impl Summary {
    /// Of these figures; none of no figures.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            n: values.len(),
            median: median(values)?,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// `these` over `base`, block by block; none where no block has both, or the base is zero.
pub fn ratio_paired(these: &[Blocked], base: &[Blocked]) -> Option<Ratio> {
    let ratios: Vec<f64> = pairs(these, base)
        .filter(|(_, base)| *base > 0.0)
        .map(|(this, base)| this / base)
        .collect();
    let summary = Summary::of(&ratios)?;
    Some(Ratio {
        median: summary.median,
        min: summary.min,
        max: summary.max,
        pairs: summary.n,
    })
}

/// What the figures allow to be said of `these` against `others`: less is faster.
pub fn verdict(these: &[Blocked], others: &[Blocked]) -> Verdict {
    if pairs(these, others).count() < 2 {
        return Verdict::Unknown;
    }
    // Ranges that do not overlap imply that every pair agrees.
    let range = |of: &[Blocked]| Summary::of(&of.iter().map(|(_, v)| *v).collect::<Vec<_>>());
    match (range(these), range(others)) {
        (Some(this), Some(other)) if this.max < other.min => Verdict::Faster,
        (Some(this), Some(other)) if this.min > other.max => Verdict::Slower,
        _ => Verdict::Indistinguishable,
    }
}

/// The geometric mean; none of no figures.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| *v <= 0.0) {
        return None;
    }
    Some((values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

fn pairs<'a>(these: &'a [Blocked], others: &'a [Blocked]) -> impl Iterator<Item = (f64, f64)> + 'a {
    these.iter().filter_map(|(block, this)| {
        others
            .iter()
            .find(|(other, _)| other == block)
            .map(|(_, other)| (*this, *other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_pair_by_block_and_not_by_place() {
        let base = [(0, 10.0), (1, 20.0), (2, 40.0)];
        let ratio = ratio_paired(&[(2, 20.0), (1, 20.0)], &base).unwrap();
        assert_eq!((ratio.min, ratio.max, ratio.pairs), (0.5, 1.0, 2));
        assert_eq!(ratio_paired(&[(7, 1.0)], &base), None);
    }

    #[test]
    fn nothing_is_said_of_one_pair_or_of_ranges_that_overlap() {
        assert_eq!(verdict(&[(0, 1.0)], &[(0, 9.0)]), Verdict::Unknown);
        let (slow, fast) = ([(0, 5.0), (1, 6.0)], [(0, 3.0), (1, 4.0)]);
        assert_eq!(verdict(&fast, &slow), Verdict::Faster);
        assert_eq!(verdict(&slow, &fast), Verdict::Slower);
        // Faster in both blocks, yet the ranges overlap.
        let near = [(0, 4.5), (1, 5.5)];
        assert_eq!(verdict(&near, &slow), Verdict::Indistinguishable);
    }

    #[test]
    fn an_even_number_of_figures_has_a_median_between_them() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 4.0]), Some(2.0));
    }
}
