//! The time of all cells by stage: the measured part, and the stages of the rest.

use fsdyno_model::{CellRecord, Nanos, Stage};

/// The times of the cells so far.
#[derive(Debug, Default)]
pub struct Stages {
    /// Those of each stage without the phases, in the order of their first cell.
    sums: Vec<(String, u64)>,
    total: u64,
    /// The measured part of the phases.
    measured: u64,
    phases: u64,
}

impl Stages {
    pub fn add(&mut self, cell: &CellRecord) {
        let times = cell.stages();
        if times.is_empty() {
            return;
        }
        let phase = Stage::Phase(String::new()).to_string();
        let samples = cell.samples.iter();
        self.measured += samples
            .map(|sample| sample.durable_ns.unwrap_or(sample.return_ns).0)
            .chain(cell.other_passes().into_iter().map(|(_, time)| time.0))
            .sum::<u64>();
        for (stage, time) in times {
            self.total += time.0;
            if stage.starts_with(&phase) {
                self.phases += time.0;
                continue;
            }
            match self.sums.iter_mut().find(|(name, _)| name == stage) {
                Some((_, sum)) => *sum += time.0,
                None => self.sums.push((stage.to_owned(), time.0)),
            }
        }
    }

    /// A header and a row for the measured time and for each stage, the longest first; empty if the
    /// times of stages were not recorded.
    pub fn rows(self) -> Vec<Vec<String>> {
        if self.total == 0 {
            return Vec::new();
        }
        let mut stages = self.sums;
        stages.push((
            "start and end of phases".to_owned(),
            self.phases.saturating_sub(self.measured),
        ));
        stages.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        stages.insert(0, ("measured".to_owned(), self.measured));
        let mut rows = vec![
            ["TIME OF CELLS", "TOOK", "SHARE"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(stages.into_iter().map(|(name, time)| {
            let share = 100.0 * time as f64 / self.total as f64;
            vec![name, Nanos(time).to_string(), format!("{share:.0} %")]
        }));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{Cell, Effective, Outcome};

    #[test]
    fn the_times_of_all_cells_are_summed_by_stage() {
        let cell = |effective| CellRecord {
            cell: Cell {
                index: 0,
                contender: 0,
                workload: 0,
                block: 0,
            },
            outcome: Outcome::Measured,
            started_unix_ns: 0,
            took_ns: Nanos(0),
            samples: Vec::new(),
            commands: Vec::new(),
            effective,
            warnings: Vec::new(),
        };
        let rows = |cells: &[CellRecord]| {
            let mut stages = Stages::default();
            for cell in cells {
                stages.add(cell);
            }
            stages.rows()
        };
        // A run of an older version.
        assert!(rows(&[cell(Vec::new())]).is_empty());
        let times = [
            (Stage::Make, Nanos(1_000_000_000)),
            (Stage::Phase("copy".to_owned()), Nanos(2_000_000_000)),
            (Stage::CleanUp, Nanos(2_000_000_000)),
        ];
        let passes = Effective {
            source: Effective::PASSES.to_owned(),
            text: "500000000 copy\n".to_owned(),
        };
        let cell = cell(vec![Effective::stages(&times), passes]);
        assert_eq!(cell.stages()[2], ("clean-up", Nanos(2_000_000_000)));
        let rows: Vec<String> = rows(&[cell.clone(), cell])
            .iter()
            .map(|row| format!("{} {}", row[0], row[2]))
            .collect();
        let expected = [
            "TIME OF CELLS SHARE",
            "measured 10 %",
            "clean-up 40 %",
            "start and end of phases 30 %",
            "make 20 %",
        ];
        assert_eq!(rows, expected);
    }
}
