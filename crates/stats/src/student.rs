//! Student's t distribution and tests, which assume normal noise.

use crate::describe::mean;

/// The upper tail probability of Student's t at `t`; one half with zero degrees of freedom.
///
/// The method is the finite series over the angle `atan(t / sqrt(df))`, one for even and one for
/// odd degrees: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3
/// and 26.7.4.
pub(crate) fn above(t: f64, df: u32) -> f64 {
    if df == 0 || t.is_nan() {
        return 0.5;
    }
    let angle = (t.abs() / f64::from(df).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let square = cosine * cosine;
    let odd = df % 2 == 1;
    let (mut term, mut sum) = if odd { (cosine, 0.0) } else { (1.0, 0.0) };
    let first = u32::from(odd);
    let mut power = first;
    while power + 2 <= df {
        sum += term;
        // The next odd term is 2/3, 4/5 ... of the previous, the next even one 1/2, 3/4 ...
        term *= square * f64::from(power + 1) / f64::from(power + 2);
        power += 2;
    }
    let within = if odd {
        (angle + sine * sum) * std::f64::consts::FRAC_2_PI
    } else {
        sine * sum
    };
    let tail = ((1.0 - within) / 2.0).clamp(0.0, 0.5);
    if t < 0.0 { 1.0 - tail } else { tail }
}

/// The one-sided p-values of Student's test that the mean is above, and below, `limit`. `None` with
/// fewer than two values. Where the values depend on `fitted` slopes, as many degrees of freedom
/// are lost.
///
/// Student, "The Probable Error of a Mean", Biometrika 6 (1908), 1-25.
pub(crate) fn beyond(values: &[f64], limit: f64, fitted: usize) -> Option<(f64, f64)> {
    let (middle, variance) = spread(values)?;
    let error = (variance / values.len() as f64).sqrt();
    let df = (values.len() - 1).saturating_sub(fitted).max(1);
    let df = u32::try_from(df).unwrap_or(u32::MAX).min(10_000);
    Some(tails(middle - limit, error, df))
}

/// The one-sided p-values for the difference of the means of two unpaired samples, without equal
/// variances.
///
/// B. L. Welch, "The Generalization of 'Student's' Problem when Several Different Population
/// Variances are Involved", Biometrika 34 (1947), 28-35; the degrees of freedom are rounded down.
pub(crate) fn unpaired(these: &[f64], others: &[f64], limit: f64) -> Option<(f64, f64)> {
    let (a, b) = (spread(these)?, spread(others)?);
    let (of_a, of_b) = (a.1 / these.len() as f64, b.1 / others.len() as f64);
    let sum = of_a + of_b;
    let freedom = |part: f64, n: usize| part * part / (n - 1) as f64;
    let df = sum * sum / (freedom(of_a, these.len()) + freedom(of_b, others.len()));
    let least = these.len().min(others.len()) - 1;
    let df = if df.is_finite() { df } else { least as f64 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded down on purpose, and within bounds"
    )]
    let df = df.clamp(1.0, 10_000.0) as u32;
    Some(tails(a.0 - b.0 - limit, sum.sqrt(), df))
}

fn tails(distance: f64, error: f64, df: u32) -> (f64, f64) {
    if error == 0.0 {
        // Without spread, the difference is certain.
        let p = |beyond: bool| if beyond { 0.0 } else { 1.0 };
        return (p(distance > 0.0), p(distance < 0.0));
    }
    let above = above(distance / error, df);
    (above, 1.0 - above)
}

/// Mean and variance of at least two values.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let middle = mean(values).filter(|_| values.len() > 1)?;
    let squares = values.iter().map(|value| (value - middle).powi(2));
    Some((middle, squares.sum::<f64>() / (values.len() - 1) as f64))
}
