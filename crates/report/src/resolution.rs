//! The resolution of times. Below it, times are negligible and have no ratio.

/// Times below 1 ms are negligible: no ratio is printed, and two of them are equivalent.
///
/// In real time, 1 ms is the shortest tick of a kernel (`CONFIG_HZ=1000`), so that one interrupt
/// can double such a time. In virtual time, a phase that waits for no disk has only the steps of
/// the clock.
pub const RESOLUTION_NS: f64 = 1e6;

/// The resolution in words.
pub const RESOLUTION: &str = "1 ms";

/// Whether a time is below the resolution.
pub fn is_negligible(time_ns: f64) -> bool {
    time_ns < RESOLUTION_NS
}
