//! Causes of an error: what an operation does that a price for each unit cannot describe.

use crate::Prices;
use crate::fit::Cell;

/// The reason why an operation is predicted wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The kernel of the machine handles many pages of a file at once, that of the guest each page.
    LargeFolios,
    /// Bytes come from memory, and most others from caches of the processor.
    Memory,
}

/// Bytes a system call from which the work for pages is most of an operation.
const LARGE: f64 = (16 << 10) as f64;

impl Cause {
    /// The cause as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::LargeFolios => "large folios of this kernel: many pages at once",
            Self::Memory => "bytes from memory instead of caches",
        }
    }

    /// The cause of the error of a cell that is beyond a factor of 1.5; `None` if it is unknown.
    pub fn of(cell: &Cell, prices: &Prices) -> Option<Self> {
        let [_, calls, copied, ..] = cell.work.0;
        let is_large = copied >= LARGE * calls.max(1.0);
        let too_little = cell.work.at(prices) < cell.measured_ns;
        is_large.then_some(if too_little {
            Self::Memory
        } else {
            Self::LargeFolios
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;

    #[test]
    fn a_cause_is_named_only_where_many_bytes_are_copied_at_once() {
        let prices = Prices {
            block_ns: 1.0,
            system_call_ns: 100.0,
            ..Prices::default()
        };
        let cause = |copied, measured_ns| {
            let cell = Cell {
                name: String::new(),
                work: Work([9000.0, 10.0, copied, 0.0, 0.0, 0.0, 0.0, 0.0]),
                measured_ns,
            };
            Cause::of(&cell, &prices)
        };
        assert_eq!(cause(1e6, 2000.0), Some(Cause::LargeFolios));
        assert_eq!(cause(1e6, 90_000.0), Some(Cause::Memory));
        assert_eq!(cause(1e4, 2000.0), None);
    }
}
