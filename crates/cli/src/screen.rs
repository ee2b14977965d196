//! Progress on standard error: where the run stands, and a time left that can be believed.
//!
//! Off a terminal nothing is drawn; a line tells of each block and of each cell that was not
//! measured.

use fsdyno_model::{Bytes, Cell, CellRecord, Event, Nanos, Outcome, RunInfo};
use fsdyno_run::schedule::schedule;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};

/// Shows a run.
pub struct Screen {
    bar: ProgressBar,
    run: RunInfo,
    left: Vec<Cell>,
    pace: Pace,
    now: String,
    blocks_told: u32,
}

impl Screen {
    pub fn new(run: &RunInfo, done: &BTreeSet<u32>) -> Self {
        let mut left = schedule(&run.plan);
        let all = left.len() as u64;
        left.retain(|cell| !done.contains(&cell.index));
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} cells  {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_position(done.len() as u64);
        let pace = Pace::default();
        Self {
            bar,
            run: run.clone(),
            left,
            pace,
            now: String::new(),
            blocks_told: 0,
        }
    }

    pub fn show(&mut self, event: &Event) {
        match event {
            Event::RunStarted { run, done, cells } => {
                let verb = if *done > 0 { "goes on" } else { "begins" };
                self.tell(&format!(
                    "run {} {verb}: {} of {cells} cells to do",
                    run.id,
                    cells - done
                ));
            }
            Event::CellStarted { cell } => {
                // Those before it that are left are not wanted.
                let left = self.left.len();
                self.left.retain(|other| other.index >= cell.index);
                self.bar.inc((left - self.left.len()) as u64);
                self.now = self.name(*cell);
            }
            Event::StageEntered { stage, .. } => {
                self.bar
                    .set_message(format!("{}{}: {stage}", self.time_left(), self.now));
            }
            Event::StateProgress { done, of, .. } => {
                // The figure stands first: what does not fit on the line is cut off.
                let how_far = filling(*done, *of);
                self.bar
                    .set_message(format!("{}{how_far}: {}", self.time_left(), self.now));
            }
            Event::PhaseEnded { .. } => {}
            Event::CellEnded { record } => self.cell_ended(record),
            Event::Looked { blocks, open, of } => {
                let what = if *open == 0 {
                    "all is known"
                } else {
                    "they are measured on"
                };
                self.tell(&format!(
                    "after {blocks} blocks {open} of {of} comparisons are open: {what}"
                ));
            }
            Event::RunEnded { .. } => self.bar.finish_and_clear(),
        }
    }

    fn cell_ended(&mut self, record: &CellRecord) {
        let cell = record.cell;
        self.left.retain(|other| other.index != cell.index);
        self.pace.learn(cell, record.took_ns);
        self.bar.inc(1);
        match &record.outcome {
            Outcome::Measured => {}
            Outcome::Skipped { reason, .. } => {
                self.tell(&format!("skipped {}: {reason}", self.name(cell)));
            }
            Outcome::Failed(failure) => {
                let message = format!(
                    "failed  {}: {}: {}",
                    self.name(cell),
                    failure.stage,
                    failure.message
                );
                self.tell(&message);
            }
        }
        let block_over = self.left.first().is_none_or(|next| next.block > cell.block);
        if block_over && self.bar.is_hidden() && cell.block >= self.blocks_told {
            self.blocks_told = cell.block + 1;
            self.tell(&format!(
                "block {} of {} done{}",
                cell.block + 1,
                self.run.plan.most_repeats(),
                self.pace
                    .left(&self.left)
                    .map(|ns| format!(", {}{} left", self.at_most(), ns.clock()))
                    .unwrap_or_default()
            ));
        }
    }

    fn name(&self, cell: Cell) -> String {
        let plan = &self.run.plan;
        let contender = plan
            .contenders
            .get(cell.contender as usize)
            .map_or("?", |c| &c.label);
        let workload = plan
            .workloads
            .get(cell.workload as usize)
            .map_or("?", |w| &w.name);
        format!("block {} {contender} {workload}", cell.block + 1)
    }

    fn time_left(&self) -> String {
        self.pace
            .left(&self.left)
            .map(|ns| format!("{}{} left  ", self.at_most(), ns.clock()))
            .unwrap_or_default()
    }

    /// What is said before a time left that may turn out shorter.
    fn at_most(&self) -> &'static str {
        if self.run.plan.adaptive.is_some() {
            "at most "
        } else {
            ""
        }
    }

    /// A line that stays.
    fn tell(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }
}

/// How far a file system has come into its state: `state 42 % of 1.90 GiB`.
pub fn filling(done: Bytes, of: Bytes) -> String {
    let percent = u128::from(done.0) * 100 / u128::from(of.0.max(1));
    format!("state {percent} % of {of}")
}

/// What cells took so far, and so what those to come will take.
#[derive(Default)]
struct Pace {
    /// Time and number of cells, by contender and workload.
    known: BTreeMap<(u32, u32), (u64, u64)>,
}

impl Pace {
    fn learn(&mut self, cell: Cell, took: Nanos) {
        let entry = self
            .known
            .entry((cell.contender, cell.workload))
            .or_default();
        entry.0 += took.0;
        entry.1 += 1;
    }

    /// The mean over all pairs that fit.
    fn mean(&self, fits: impl Fn(u32, u32) -> bool) -> Option<u64> {
        let fitting = self.known.iter().filter(|((c, w), _)| fits(*c, *w));
        let (time, cells) = fitting.fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
        time.checked_div(cells)
    }

    /// The time left: each cell takes what its like took. Nothing is said before every workload
    /// was seen once: workloads differ too much.
    fn left(&self, cells: &[Cell]) -> Option<Nanos> {
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
    fn how_far_a_state_has_come_is_a_part_of_its_bytes() {
        assert_eq!(filling(Bytes(0), Bytes(0)), "state 0 % of 0 B");
        let (done, of) = (Bytes(u64::MAX / 2), Bytes(u64::MAX));
        assert!(filling(done, of).starts_with("state 49 % of "));
    }

    #[test]
    fn time_left_is_told_once_every_workload_was_seen_and_adds_up_what_like_cells_took() {
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
