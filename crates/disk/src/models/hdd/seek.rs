//! Seek curves: seek time as a function of the distance in cylinders.
//!
//! There are two forms. The three-point form uses the figures of a data sheet: minimum m, mean a,
//! full stroke M. Over x = distance / cylinders it is m + A sqrt(x) + B x with A = (15a - 10m - 5M)
//! / 3 and B = (7m - 15a + 8M) / 3. Its mean over uniform pairs of cylinders is a. Their density is
//! 2 (1 - x), so that sqrt(x) has the mean 8/15 and x has 1/3. Its value at x = 1 is M. The
//! two-piece form uses measurements: a + b sqrt(d) up to a distance, c + e d beyond (C. Ruemmler
//! and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994).

use crate::arithmetic::ms_to_ns;
use serde::Deserialize;

/// A seek curve in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum SeekSpec {
    ThreePoint(ThreePoint),
    TwoPiece(TwoPiece),
}

/// Parameters of the three-point form, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreePoint {
    /// Limit of the shortest seeks.
    pub minimum_ms: f64,
    /// Mean over all pairs of cylinders.
    pub mean_ms: f64,
    pub full_ms: f64,
}

/// Parameters of the two-piece form, in milliseconds over distances in cylinders.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoPiece {
    pub short_ms: f64,
    /// Coefficient of the square root of the distance in the short piece.
    pub short_root_ms: f64,
    /// Last distance of the short piece.
    pub until_cylinders: u32,
    pub long_ms: f64,
    /// Coefficient of the distance in the long piece.
    pub long_cylinder_ms: f64,
}

impl ThreePoint {
    /// Milliseconds for the fraction x of all cylinders, 0 < x <= 1.
    pub fn at(&self, x: f64) -> f64 {
        let (m, a, full) = (self.minimum_ms, self.mean_ms, self.full_ms);
        let root = (15.0 * a - 10.0 * m - 5.0 * full) / 3.0;
        let line = (7.0 * m - 15.0 * a + 8.0 * full) / 3.0;
        m + root * x.sqrt() + line * x
    }
}

impl TwoPiece {
    /// Milliseconds for a distance in cylinders.
    pub fn at(&self, distance: f64) -> f64 {
        if distance <= f64::from(self.until_cylinders) {
            self.short_ms + self.short_root_ms * distance.sqrt()
        } else {
            self.long_ms + self.long_cylinder_ms * distance
        }
    }
}

/// Seek curve of a disk with a number of cylinders.
#[derive(Debug, Clone)]
pub struct SeekCurve {
    spec: SeekSpec,
    cylinders: u32,
}

impl SeekCurve {
    /// Creates the curve for this many cylinders.
    pub fn new(spec: SeekSpec, cylinders: u32) -> Self {
        Self { spec, cylinders }
    }

    /// Nanoseconds for a distance in cylinders; 0 for distance 0.
    pub fn ns(&self, distance: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        let distance = f64::from(distance);
        ms_to_ns(match &self.spec {
            SeekSpec::ThreePoint(points) => points.at(distance / f64::from(self.cylinders)),
            SeekSpec::TwoPiece(pieces) => pieces.at(distance),
        })
    }

    /// The first distance whose seek takes no time, or less time than a seek of half the distance.
    pub fn falls_at(&self) -> Option<u32> {
        let mut distance = 1;
        let mut before = 0;
        while distance < self.cylinders {
            let ns = self.ns(distance);
            if ns == 0 || ns < before {
                return Some(distance);
            }
            before = ns;
            distance = distance.saturating_mul(2);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYLINDERS: u32 = 4000;

    #[test]
    fn the_curve_contains_its_three_points() {
        let points = ThreePoint {
            minimum_ms: 2.5,
            mean_ms: 12.0,
            full_ms: 23.0,
        };
        let curve = SeekCurve::new(SeekSpec::ThreePoint(points), CYLINDERS);
        assert_eq!(curve.ns(CYLINDERS), 23_000_000);
        assert!((points.at(1e-12) - 2.5).abs() < 1e-4);
        // Over all pairs of cylinders, weighted by the number of pairs at each distance.
        let (mut sum, mut pairs) = (0.0, 0.0);
        for distance in 1..CYLINDERS {
            let of_distance = f64::from(CYLINDERS - distance);
            sum += of_distance * curve.ns(distance) as f64 / 1e6;
            pairs += of_distance;
        }
        assert!((sum / pairs - 12.0).abs() < 0.01, "{}", sum / pairs);
        assert_eq!((curve.ns(0), curve.falls_at()), (0, None));
    }

    #[test]
    fn measured_pieces_meet_at_their_joint() {
        // The Barracuda of the reference: both pieces at the distance where they meet.
        let pieces = TwoPiece {
            short_ms: 2.01,
            short_root_ms: 0.194,
            until_cylinders: 1200,
            long_ms: 5.98,
            long_cylinder_ms: 0.002_15,
        };
        let curve = SeekCurve::new(SeekSpec::TwoPiece(pieces), 5000);
        assert_eq!(curve.ns(100), 3_950_000);
        assert_eq!(curve.ns(4000), 14_580_000);
        assert!(curve.ns(1200).abs_diff(curve.ns(1201)) < 200_000);
        assert_eq!(curve.falls_at(), None);
    }

    #[test]
    fn a_decreasing_curve_is_detected() {
        let points = ThreePoint {
            minimum_ms: 5.0,
            mean_ms: 5.0,
            full_ms: 2.0,
        };
        let curve = SeekCurve::new(SeekSpec::ThreePoint(points), 4000);
        assert!(curve.falls_at().is_some());
    }
}
