//! Fits both forms of seek curves to a measured seek curve, each through three of its points, and
//! reports the errors.
//!
//! The file has a line `distance in cylinders, milliseconds` for each point. Other lines are
//! ignored. [`TRIED`] points, spread evenly over the file, are candidates. The fit selects the
//! three with the fewest errors above 10 %, and among equals the lowest mean error. It tries many
//! because single points of short seeks are noisy. Points far from their neighbours (typing errors,
//! retried seeks) are reported and excluded from the fit.

use crate::models::hdd::{SeekSpec, ThreePoint, TwoPiece};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Number of candidate points.
pub const TRIED: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Distance in cylinders and milliseconds, sorted by distance.
    points: Vec<(u32, f64)>,
}

/// A seek curve that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CurveError {
    /// The file cannot be read.
    #[error("cannot read the seek curve {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file has too few points.
    #[error(
        "the seek curve has {0} points, and at least 6 are needed; a line is a distance in \
         cylinders, a comma, and milliseconds"
    )]
    TooFew(usize),
}

/// A form fitted to three points of a curve.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// `three-point` or `two-piece`.
    pub form: &'static str,
    pub points: [u32; 3],
    /// Parameters of the form by their keys in a profile.
    pub keys: Vec<(&'static str, f64)>,
    /// Relative errors at the other points, without outliers.
    pub errors: Errors,
    /// Relative errors at all other points.
    pub errors_of_all: Errors,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Number of points without the three.
    pub count: usize,
    /// Root mean square error.
    pub rms: f64,
    pub mean: f64,
    /// Maximum absolute error.
    pub most: f64,
    /// Distance of the maximum error.
    pub most_at: u32,
    /// Number of errors above 10 %.
    pub beyond: usize,
    /// Mean error over random seeks, weighted by the number of cylinder pairs at each distance,
    /// relative to their mean time.
    pub weighted: f64,
}

impl Measured {
    /// Reads a curve from a file.
    pub fn read(path: &Path) -> Result<Self, CurveError> {
        let text =
            fsdyno_files::input::read_text(path).map_err(|source| CurveError::Unreadable {
                path: path.to_owned(),
                source,
            })?;
        Self::parse(&text)
    }

    pub fn parse(text: &str) -> Result<Self, CurveError> {
        let point = |line: &str| {
            let (distance, ms) = line.split_once(',')?;
            let distance: u32 = distance.trim().parse().ok()?;
            let ms: f64 = ms.trim().parse().ok()?;
            (distance > 0 && ms > 0.0 && ms.is_finite()).then_some((distance, ms))
        };
        let mut points: Vec<(u32, f64)> = text.lines().filter_map(point).collect();
        points.sort_by_key(|(distance, _)| *distance);
        points.dedup_by_key(|(distance, _)| *distance);
        if points.len() < 6 {
            return Err(CurveError::TooFew(points.len()));
        }
        Ok(Self { points })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Distances of the points that differ by more than 10 % from the median of five neighbours.
    pub fn outlying(&self) -> Vec<u32> {
        let around = self.points.windows(5);
        let off = around.filter_map(|five| {
            let (distance, ms) = five[2];
            let mut times: Vec<f64> = five.iter().map(|point| point.1).collect();
            times.sort_by(f64::total_cmp);
            ((ms / times[2] - 1.0).abs() > 0.1).then_some(distance)
        });
        off.collect()
    }

    /// Always false: a curve has points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Fits both forms, each to its best three points.
    pub fn fits(&self) -> Vec<Fit> {
        let three = |three: [(u32, f64); 3]| Some(SeekSpec::ThreePoint(self.three_point(three)?));
        let two = |three: [(u32, f64); 3]| two_piece(three).map(SeekSpec::TwoPiece);
        [self.best(three), self.best(two)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Errors of a fit at all points but these.
    pub fn errors(&self, spec: &SeekSpec, but: &[u32]) -> Errors {
        let cylinders = f64::from(self.longest());
        let mut errors = Errors {
            count: 0,
            rms: 0.0,
            mean: 0.0,
            most: 0.0,
            most_at: 0,
            beyond: 0,
            weighted: 0.0,
        };
        let (mut weighed, mut weighed_off) = (0.0, 0.0);
        for (at, (distance, ms)) in self.points.iter().enumerate() {
            let d = f64::from(*distance);
            let model = match spec {
                SeekSpec::ThreePoint(points) => points.at(d / cylinders),
                SeekSpec::TwoPiece(pieces) => pieces.at(d),
            };
            // A point represents the distances up to the midpoints to its neighbours.
            let before = at.checked_sub(1).map_or(0, |at| self.points[at].0);
            let after = self.points.get(at + 1).map_or(*distance, |point| point.0);
            let width = f64::from(after - before) / 2.0;
            let weight = width * (cylinders - d).max(0.0);
            weighed += weight * ms;
            weighed_off += weight * (model - ms).abs();
            if but.contains(distance) {
                continue;
            }
            let off = (model / ms - 1.0).abs();
            errors.count += 1;
            errors.rms += off * off;
            errors.mean += off;
            errors.beyond += usize::from(off > 0.1);
            if off > errors.most {
                (errors.most, errors.most_at) = (off, *distance);
            }
        }
        let count = errors.count.max(1) as f64;
        errors.rms = (errors.rms / count).sqrt();
        errors.mean /= count;
        errors.weighted = weighed_off / weighed;
        errors
    }

    fn longest(&self) -> u32 {
        self.points.last().map_or(1, |(distance, _)| *distance)
    }

    /// Fits the three-point form through three points.
    fn three_point(&self, [near, middle, far]: [(u32, f64); 3]) -> Option<ThreePoint> {
        let cylinders = f64::from(self.longest());
        let (root, line) = (
            |d: u32| (f64::from(d) / cylinders).sqrt(),
            |d: u32| f64::from(d) / cylinders,
        );
        // m + A sqrt(x) + B x through three points: first eliminate m, then solve for A and B.
        let from_near = |point: (u32, f64)| {
            let (roots, lines) = (root(point.0) - root(near.0), line(point.0) - line(near.0));
            (roots, lines, point.1 - near.1)
        };
        let ((a1, b1, t1), (a2, b2, t2)) = (from_near(middle), from_near(far));
        let determinant = a1 * b2 - a2 * b1;
        if determinant.abs() < 1e-12 {
            return None;
        }
        let by_root = (t1 * b2 - t2 * b1) / determinant;
        let by_line = (a1 * t2 - a2 * t1) / determinant;
        let least = near.1 - by_root * root(near.0) - by_line * line(near.0);
        let fitted = ThreePoint {
            minimum_ms: least,
            mean_ms: least + by_root * 8.0 / 15.0 + by_line / 3.0,
            full_ms: least + by_root + by_line,
        };
        let rises = fitted.mean_ms > least && fitted.full_ms > fitted.mean_ms;
        (least >= 0.0 && rises).then_some(fitted)
    }

    /// Fits a form through the three points with the lowest mean error.
    fn best(&self, form: impl Fn([(u32, f64); 3]) -> Option<SeekSpec>) -> Option<Fit> {
        let outlying = self.outlying();
        let step = self.points.len().div_ceil(TRIED);
        let in_line = self.points.iter().copied();
        let in_line = in_line.filter(|(distance, _)| !outlying.contains(distance));
        let tried: Vec<(u32, f64)> = in_line.step_by(step).collect();
        let mut best: Option<(SeekSpec, [u32; 3], Errors)> = None;
        for (i, p) in tried.iter().enumerate() {
            for (j, q) in tried.iter().enumerate().skip(i + 1) {
                for r in &tried[j + 1..] {
                    let Some(spec) = form([*p, *q, *r]) else {
                        continue;
                    };
                    let points = [p.0, q.0, r.0];
                    let errors = self.errors(&spec, &[&points[..], &outlying].concat());
                    let better =
                        |least: &Errors| (errors.beyond, errors.mean) < (least.beyond, least.mean);
                    if best.as_ref().is_none_or(|(.., least)| better(least)) {
                        best = Some((spec, points, errors));
                    }
                }
            }
        }
        let (spec, points, errors) = best?;
        let (form, keys) = keys(&spec);
        Some(Fit {
            form,
            points,
            keys,
            errors_of_all: self.errors(&spec, &points),
            errors,
        })
    }
}

/// Fits two pieces with equal slope at their joint D through three points: a + b sqrt(d) up to D,
/// then its tangent. Bisection finds D.
fn two_piece([p, q, r]: [(u32, f64); 3]) -> Option<TwoPiece> {
    let shape = |d: u32, until: f64| {
        let d = f64::from(d);
        if d <= until {
            d.sqrt()
        } else {
            until.sqrt() + (d - until) / (2.0 * until.sqrt())
        }
    };
    if r.1 <= p.1 {
        return None;
    }
    let wanted = (q.1 - p.1) / (r.1 - p.1);
    // Relative height of the second point as a function of D.
    let part = |until: f64| {
        let first = shape(p.0, until);
        (shape(q.0, until) - first) / (shape(r.0, until) - first)
    };
    let (mut low, mut high) = (f64::from(p.0), f64::from(r.0));
    if (part(low) - wanted) * (part(high) - wanted) > 0.0 {
        return None;
    }
    let rising = part(high) > part(low);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if (part(middle) > wanted) == rising {
            high = middle;
        } else {
            low = middle;
        }
    }
    // D is a whole number of cylinders. The pieces still meet and contain two of the points.
    let until = f64::midpoint(low, high).round().max(1.0);
    let root = (r.1 - p.1) / (shape(r.0, until) - shape(p.0, until));
    let short = p.1 - root * shape(p.0, until);
    let slope = root / (2.0 * until.sqrt());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two distances"
    )]
    let until_cylinders = until as u32;
    (root > 0.0 && short >= 0.0).then_some(TwoPiece {
        short_ms: short,
        short_root_ms: root,
        until_cylinders,
        long_ms: short + root * until.sqrt() - slope * until,
        long_cylinder_ms: slope,
    })
}

fn keys(spec: &SeekSpec) -> (&'static str, Vec<(&'static str, f64)>) {
    match spec {
        SeekSpec::ThreePoint(p) => (
            "three-point",
            vec![
                ("minimum_ms", p.minimum_ms),
                ("mean_ms", p.mean_ms),
                ("full_ms", p.full_ms),
            ],
        ),
        SeekSpec::TwoPiece(p) => (
            "two-piece",
            vec![
                ("short_ms", p.short_ms),
                ("short_root_ms", p.short_root_ms),
                ("until_cylinders", f64::from(p.until_cylinders)),
                ("long_ms", p.long_ms),
                ("long_cylinder_ms", p.long_cylinder_ms),
            ],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn curve(ms: impl Fn(f64) -> f64) -> Measured {
        let mut text = "Seek distances measured: 40\n".to_owned();
        for n in 1..=40_u32 {
            let distance = n * n * 2;
            let _ = writeln!(text, "{distance},\t{}", ms(f64::from(distance)));
        }
        Measured::parse(&text).unwrap()
    }

    #[test]
    fn a_fit_recovers_the_parameters_of_its_form() {
        let points = ThreePoint {
            minimum_ms: 1.0,
            mean_ms: 8.0,
            full_ms: 16.0,
        };
        let fits = curve(|d| points.at(d / 3200.0)).fits();
        assert!(fits[0].errors.most < 1e-9, "{:?}", fits[0]);
        assert!((fits[0].keys[1].1 - 8.0).abs() < 1e-9);
        let pieces = |d: f64| {
            if d <= 900.0 {
                1.5 + 0.2 * d.sqrt()
            } else {
                4.5 + d / 300.0
            }
        };
        let fits = curve(pieces).fits();
        assert!(fits[1].errors.most < 1e-3, "{:?}", fits[1]);
        assert!((fits[1].keys[2].1 - 900.0).abs() < 5.0, "{:?}", fits[1]);
    }

    #[test]
    fn outlying_points_are_counted_and_listed() {
        let measured = curve(|d| {
            let ms = 2.0 + 0.1 * d.sqrt() + 0.001 * d;
            if (d - 200.0).abs() < 1.0 {
                ms * 1.5
            } else {
                ms
            }
        });
        assert_eq!(measured.outlying(), [200]);
        let fit = &measured.fits()[0];
        assert_eq!((fit.errors.beyond, fit.errors.count), (0, 36));
        let all = &fit.errors_of_all;
        assert_eq!((all.beyond, all.most_at, all.count), (1, 200, 37));
        assert!((all.most - 1.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn an_invalid_curve_file_is_rejected() {
        assert!(matches!(
            Measured::parse("1,2\nx,3\n4;5\n-1,3\n5,-2"),
            Err(CurveError::TooFew(1))
        ));
    }
}
