//! The durations of the recorded cells, and an estimate of the time left.

use fsdyno_model::{Cell, Nanos};
use std::collections::BTreeMap;

/// The durations of the recorded cells, for the estimate of the remaining ones.
#[derive(Default)]
pub struct Pace {
    /// Total time and number of cells, by contender and workload.
    known: BTreeMap<(u32, u32), (u64, u64)>,
}

impl Pace {
    pub fn learn(&mut self, cell: Cell, time: Nanos) {
        let entry = self
            .known
            .entry((cell.contender, cell.workload))
            .or_default();
        entry.0 += time.0;
        entry.1 += 1;
    }

    /// The mean over all pairs that fit.
    fn mean(&self, fits: impl Fn(u32, u32) -> bool) -> Option<u64> {
        let fitting = self.known.iter().filter(|((c, w), _)| fits(*c, *w));
        let (time, cells) = fitting.fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
        time.checked_div(cells)
    }

    /// The time left: each cell takes the mean time of similar cells. `None` until every workload
    /// has run once, because workloads differ too much.
    pub fn left(&self, cells: &[Cell]) -> Option<Nanos> {
        let mut total = 0;
        for cell in cells {
            let own = self.mean(|c, w| c == cell.contender && w == cell.workload);
            total += own.or_else(|| self.mean(|_, w| w == cell.workload))?;
        }
        Some(Nanos(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(contender: u32, workload: u32) -> Cell {
        Cell {
            index: 0,
            block: 0,
            contender,
            workload,
        }
    }

    #[test]
    fn time_left_is_estimated_from_similar_cells_once_every_workload_ran() {
        let mut pace = Pace::default();
        let to_do = [cell(0, 0), cell(1, 0), cell(1, 1)];
        pace.learn(cell(0, 0), Nanos(10));
        assert_eq!(pace.left(&to_do), None);
        pace.learn(cell(0, 1), Nanos(100));
        assert_eq!(pace.left(&to_do), Some(Nanos(10 + 10 + 100)));
        pace.learn(cell(1, 0), Nanos(30));
        assert_eq!(pace.left(&to_do), Some(Nanos(10 + 30 + 100)));
    }
}
