//! Entry points for the fuzz targets: all parsers of the output of another machine.

use super::clock::Clock;
use super::{devices, executor, machine, phases};

/// Parses a text with every parser; returns the length of the longest result.
pub fn parse_all(printed: &str) -> usize {
    let counter = Clock::counter("HPET 100000000 4294967295");
    for clock in [Clock::Date, Clock::Time].into_iter().chain(counter) {
        let _ = clock.read(printed, true);
    }
    for at in 0..5 {
        let _ = executor::column(printed, at);
    }
    let _ = (phases::matches(printed), phases::machine_busy(printed));
    let _ = Clock::counter(printed);
    let output = machine::output(printed, "kernel").map_or(0, |text| text.len());
    let in_use = devices::use_of("/dev/sda", printed).map_or(0, str::len);
    output.max(in_use)
}
