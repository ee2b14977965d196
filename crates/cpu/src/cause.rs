//! Causes of an error: what an operation does that a price for each unit cannot describe.

use crate::Prices;
use crate::fit::{Accuracy, Cell};

/// Why an operation is predicted wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The kernel of the machine handles many pages of a file at once, that of the guest each page.
    LargeFolios,
    /// A process waits once for many writes; the price of a request includes a wait for each.
    BatchedWrites,
    /// Reading the clock is a system call in a guest, and none on the machine.
    ClockReadings,
    /// Bytes come from memory, and most others from caches of the processor.
    Memory,
}

/// Bytes a system call from which the work for pages is most of an operation.
const LARGE: f64 = (16 << 10) as f64;

/// Basic blocks of a reading of the clock in a guest, from a run with and one without.
const OF_A_READING: f64 = 60.0;

impl Cause {
    /// The cause as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::LargeFolios => "large folios of this kernel: many pages at once",
            Self::BatchedWrites => "batched writes: one wait for many requests",
            Self::ClockReadings => "clock readings: system calls only in a guest",
            Self::Memory => "bytes from memory instead of caches",
        }
    }

    /// The cause of the error of a cell that is beyond a factor of 1.5; `None` if it is unknown.
    pub fn of(cell: &Cell, prices: &Prices) -> Option<Self> {
        let [_, calls, copied, _, _, requests, _] = cell.work.0;
        let predicted = cell.work.at(prices);
        let is_large = copied >= LARGE * calls.max(1.0);
        if predicted < cell.measured_ns {
            return is_large.then_some(Self::Memory);
        }
        // Without it, is the prediction within the factor?
        let explains = |part: f64| (predicted - part) / cell.measured_ns < Accuracy::CLOSE;
        let writes = (requests - cell.reads).max(0.0) * prices.request_ns;
        let readings = cell.clock_readings;
        let readings = readings * (prices.system_call_ns + OF_A_READING * prices.block_ns);
        if is_large {
            Some(Self::LargeFolios)
        } else if explains(writes) {
            Some(Self::BatchedWrites)
        } else if explains(readings) {
            Some(Self::ClockReadings)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;

    #[test]
    fn a_cause_is_named_only_where_it_explains_the_error() {
        let prices = Prices {
            block_ns: 1.0,
            system_call_ns: 100.0,
            request_ns: 1000.0,
            ..Prices::default()
        };
        let cell = |work: [f64; 4], measured_ns, reads, clock_readings| {
            let [blocks, calls, copied, requests] = work;
            let cell = Cell {
                name: String::new(),
                work: Work([blocks, calls, copied, 0.0, 0.0, requests, 0.0]),
                measured_ns,
                reads,
                clock_readings,
            };
            Cause::of(&cell, &prices)
        };
        let large = [9000.0, 10.0, 1e6, 0.0];
        assert_eq!(cell(large, 2000.0, 0.0, 0.0), Some(Cause::LargeFolios));
        assert_eq!(cell(large, 90_000.0, 0.0, 0.0), Some(Cause::Memory));
        let requests = [1000.0, 10.0, 0.0, 10.0];
        assert_eq!(cell(requests, 3000.0, 0.0, 0.0), Some(Cause::BatchedWrites));
        // A process waits for each read.
        assert_eq!(cell(requests, 3000.0, 10.0, 0.0), None);
        let timed = [1000.0, 20.0, 0.0, 0.0];
        assert_eq!(cell(timed, 1200.0, 0.0, 10.0), Some(Cause::ClockReadings));
        assert_eq!(cell(timed, 1200.0, 0.0, 2.0), None);
        assert_eq!(cell(timed, 9000.0, 0.0, 10.0), None);
    }
}
