//! Entry points for the fuzz targets: all parsers of the output of another machine.

use super::clock::Clock;
use super::{devices, executor, machine, phases};

/// Parses a text with every parser; returns the length of their results.
pub fn read_far(printed: &str) -> usize {
    let mut length = 0;
    for clock in [Clock::Date, Clock::Time] {
        let _ = clock.read(printed, true);
    }
    for at in 0..5 {
        let _ = executor::column(printed, at);
    }
    let _ = (phases::matches(printed), phases::machine_busy(printed));
    length += machine::output(printed, "kernel").map_or(0, |text| text.len());
    // example
    length += devices::use_of("/dev/sda", printed).map_or(0, str::len);
    length
}
