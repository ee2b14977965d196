//! Bisection of increasing functions.

/// The argument between two limits at which an increasing function reaches a level, to machine
/// precision.
pub(crate) fn bisect(
    function: impl Fn(f64) -> f64,
    level: f64,
    (mut low, mut high): (f64, f64),
) -> f64 {
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if function(middle) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
