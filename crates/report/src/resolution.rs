//! The resolution of times. Below it, times are negligible and have no ratio.

/// Times below 1 ms are negligible: no ratio is printed, and two of them are equivalent.
///
/// In real time, 1 ms is the shortest tick of a kernel (`CONFIG_HZ=1000`), so that one interrupt
/// can double such a time. In virtual time, a phase that waits for no disk has only the steps of
/// the clock.
pub const RESOLUTION_NS: f64 = 1e6;

/// The resolution as text.
pub const RESOLUTION: &str = "1 ms";

/// Printed instead of a ratio of two negligible times.
pub const BOTH_NEGLIGIBLE: &str = "both negligible";

/// Whether a time is below the resolution.
pub fn is_negligible(time_ns: f64) -> bool {
    time_ns < RESOLUTION_NS
}

/// Whether two times have a ratio: both reach the resolution.
pub fn have_ratio(one_ns: f64, other_ns: f64) -> bool {
    !is_negligible(one_ns) && !is_negligible(other_ns)
}

/// Whether two times are equivalent because both are below the resolution.
pub fn both_negligible(one_ns: f64, other_ns: f64) -> bool {
    is_negligible(one_ns) && is_negligible(other_ns)
}
