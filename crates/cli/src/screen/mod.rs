//! Progress on standard error: the state of the run, and an estimate of the time left.
//!
//! On a terminal, a view of some lines is below the printed lines ([`view`]). On other outputs and
//! on dumb terminals there is no view. There, one line reports each block and each cell that was
//! not measured.
//!
//! Nothing is drawn while a phase is timed. The view is drawn when a phase begins, and the thread
//! that redraws it each second sleeps until the phase ends ([`drawer`]).

mod drawer;
mod pace;
mod standings;
mod view;
pub mod written;

use crate::output::{self, Verbosity};
use drawer::Drawer;
use fsdyno_model::{Bytes, Cell, CellRecord, Event, Nanos, Outcome, RunInfo, Stage};
use pace::Pace;
use standings::Standings;
use std::collections::BTreeSet;
use std::time::Instant;
use view::{Now, View};

/// Shows the progress of a run.
pub struct Screen {
    run: RunInfo,
    began: Instant,
    left: Vec<Cell>,
    /// The cells that run, in the order of their starts.
    running: Vec<Cell>,
    /// The number of cells that run at the same time.
    jobs: usize,
    pace: Pace,
    blocks_reported: u32,
    /// The view; `None` if nothing is drawn.
    drawn: Option<(Drawer, Standings)>,
}

impl Screen {
    /// `before` holds the cells that are recorded already, `left` those that run now, `jobs` of them
    /// at the same time.
    pub fn new(run: &RunInfo, before: &[CellRecord], left: &[Cell], jobs: usize) -> Self {
        let again: BTreeSet<u32> = left.iter().map(|cell| cell.index).collect();
        let mut before = before.to_vec();
        before.retain(|record| !again.contains(&record.cell.index));
        let before = &before[..];
        let done = before.len();
        let cells = done + left.len();
        let left = left.to_vec();
        let mut pace = Pace::default();
        for record in before {
            pace.learn(record.cell, record.took_ns);
        }
        let shown = output::verbosity() != Verbosity::Quiet;
        let drawn = Drawer::on_terminal().filter(|_| shown).map(|drawer| {
            let standings = Standings::new(run, before);
            drawer.change(|view| {
                *view = View::new(run, cells, Instant::now());
                view.done = done;
                view.standings = standings.summarize();
            });
            (drawer, standings)
        });
        Self {
            run: run.clone(),
            began: Instant::now(),
            left,
            running: Vec::new(),
            jobs,
            pace,
            blocks_reported: 0,
            drawn,
        }
    }

    pub fn show(&mut self, event: &Event) {
        match event {
            Event::RunStarted { run, done, cells } => {
                let verb = if *done > 0 { "resumes" } else { "begins" };
                self.print(&format!(
                    "run {} {verb} in lab {}: {} of {cells} cells to do",
                    run.id,
                    labs(run),
                    cells - done
                ));
            }
            Event::CellStarted { cell } => self.cell_started(*cell),
            Event::StageEntered { stage, cell } => self.stage_entered(*cell, stage),
            Event::StateProgress { cell, done, of } => {
                // The description of the phase is longer, and is truncated first.
                let how_far = filling(*done, *of);
                if self.is_shown(*cell) {
                    self.change(|view| view.now.stage = how_far);
                }
            }
            Event::PhaseEnded { cell, sample } => {
                let time = sample.durable_ns.unwrap_or(sample.return_ns);
                if let Some((drawer, standings)) = &mut self.drawn {
                    standings.note_time(*cell, &sample.label, time);
                    drawer.change(|view| view.now.timed = false);
                }
            }
            Event::CellEnded { record } => self.cell_ended(record),
            Event::Looked { blocks, open, of } => {
                let what = if *open == 0 {
                    "the run ends"
                } else {
                    "measuring continues"
                };
                self.print(&format!(
                    "after {blocks} blocks {open} of {of} comparisons are inconclusive: {what}"
                ));
            }
            Event::RunEnded { .. } => self.drawn = None,
        }
    }

    fn cell_started(&mut self, cell: Cell) {
        // Earlier cells that remain are not needed any more, unless they run.
        let before = self.left.len();
        let running = &self.running;
        self.left
            .retain(|other| other.index >= cell.index || running.contains(other));
        let passed = before - self.left.len();
        self.running.push(cell);
        let left = self.time_left();
        self.change(|view| {
            view.done += passed;
            view.left = left;
        });
        self.show_oldest();
    }

    /// Whether the view shows this cell: the one that has run for the longest time.
    fn is_shown(&self, cell: Cell) -> bool {
        self.running.first() == Some(&cell)
    }

    /// Shows the cell that has run for the longest time, if the view shows another one.
    fn show_oldest(&self) {
        let Some(&cell) = self.running.first() else {
            return;
        };
        let others = self.running.len() - 1;
        let now = Now {
            cell: Some(cell.index),
            block: cell.block,
            contender: self.contender(cell).to_owned(),
            workload: self.workload(cell).to_owned(),
            ..Now::begin()
        };
        self.change(|view| {
            if view.now.cell != now.cell {
                view.now = now;
            }
            view.now.others = others;
        });
    }

    /// The time left, if there is an estimate.
    fn time_left(&self) -> Option<Nanos> {
        let all = self.pace.left(&self.left)?;
        Some(Nanos(all.0 / self.jobs.max(1) as u64))
    }

    fn stage_entered(&mut self, cell: Cell, stage: &Stage) {
        if output::verbosity() == Verbosity::Verbose {
            self.print(&format!("{}: {stage}", self.name(cell)));
        }
        let Some((drawer, standings)) = &self.drawn else {
            return;
        };
        let label = match stage {
            Stage::Phase(label) => Some(label),
            _ => None,
        };
        let usual = label.and_then(|label| standings.usual(cell, label));
        if !self.is_shown(cell) {
            return;
        }
        let now = stage.to_string();
        // In virtual time, drawing disturbs nothing.
        let timed = label.is_some() && !self.run.plan.in_virtual_time();
        drawer.change(|view| {
            view.now.stage = now;
            view.now.since = Instant::now();
            view.now.timed = timed;
            view.now.usual = usual;
        });
        if timed {
            drawer.draw();
        }
    }

    fn cell_ended(&mut self, record: &CellRecord) {
        let cell = record.cell;
        self.left.retain(|other| other.index != cell.index);
        self.running.retain(|other| *other != cell);
        self.show_oldest();
        self.pace.learn(cell, record.took_ns);
        match &record.outcome {
            Outcome::Measured => {}
            Outcome::Skipped { reason, .. } => {
                self.print(&format!("skipped {}: {reason}", self.name(cell)));
            }
            Outcome::Failed(failure) => {
                let message = format!(
                    "failed  {}: {}: {}",
                    self.name(cell),
                    failure.stage,
                    failure.message
                );
                self.print(&message);
            }
        }
        let block_over = self.left.first().is_none_or(|next| next.block > cell.block);
        let left = self.time_left();
        if let Some((drawer, standings)) = &mut self.drawn {
            standings.note(record);
            let summary = block_over.then(|| standings.summarize());
            drawer.change(|view| {
                view.now.timed = false;
                view.done += 1;
                view.left = left;
                if let Some(summary) = summary {
                    view.standings = summary;
                }
            });
        } else if block_over && cell.block >= self.blocks_reported {
            self.blocks_reported = cell.block + 1;
            let left = left.map(|ns| self.within_budget(ns));
            let left = left.map(|ns| format!(", {}{} left", view::at_most(&self.run), ns.clock()));
            self.print(&format!(
                "block {} of {} done{}",
                cell.block + 1,
                self.run.plan.most_repeats(),
                left.unwrap_or_default()
            ));
        }
    }

    /// The time left, which the time limit of the run ends at the latest.
    fn within_budget(&self, left: Nanos) -> Nanos {
        let passed = Nanos::from(self.began.elapsed());
        let limit = self.run.plan.budget;
        limit.map_or(left, |limit| {
            Nanos(left.0.min(limit.0.saturating_sub(passed.0)))
        })
    }

    fn contender(&self, cell: Cell) -> &str {
        let contenders = &self.run.plan.contenders;
        contenders
            .get(cell.contender as usize)
            .map_or("?", |c| &c.label)
    }

    fn workload(&self, cell: Cell) -> &str {
        let workloads = &self.run.plan.workloads;
        workloads
            .get(cell.workload as usize)
            .map_or("?", |w| &w.name)
    }

    fn name(&self, cell: Cell) -> String {
        let (contender, workload) = (self.contender(cell), self.workload(cell));
        format!("block {} {contender} {workload}", cell.block + 1)
    }

    fn change(&self, change: impl FnOnce(&mut View)) {
        if let Some((drawer, _)) = &self.drawn {
            drawer.change(change);
        }
    }

    /// Prints a line that stays.
    fn print(&self, line: &str) {
        match &self.drawn {
            Some((drawer, _)) => drawer.print(line),
            None => output::note(line),
        }
    }
}

/// The labs of a run, in the order of its contenders.
fn labs(run: &RunInfo) -> String {
    let mut labs: Vec<String> = Vec::new();
    for contender in &run.plan.contenders {
        let lab = contender.lab.to_string();
        if !labs.contains(&lab) {
            labs.push(lab);
        }
    }
    labs.join(", ")
}

/// The progress of a fill: `state 42 % of 1.90 GiB`.
pub fn filling(done: Bytes, of: Bytes) -> String {
    let percent = u128::from(done.0) * 100 / u128::from(of.0.max(1));
    format!("state {percent} % of {of}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_of_a_fill_is_a_share_of_its_bytes() {
        assert_eq!(filling(Bytes(0), Bytes(0)), "state 0 % of 0 B");
        let (done, of) = (Bytes(u64::MAX / 2), Bytes(u64::MAX));
        assert!(filling(done, of).starts_with("state 49 % of "));
    }
}
