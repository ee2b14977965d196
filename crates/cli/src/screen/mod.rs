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
use fsdyno_stats::Rule;
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
    /// The cells that run: the one that the view shows first, then in the order of their starts.
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
                self.print(&match of {
                    0 => format!("after {blocks} blocks the run ends: nothing is compared"),
                    of => format!(
                        "after {blocks} blocks {open} of {of} comparisons are inconclusive: {what}"
                    ),
                });
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
        self.show_first();
    }

    /// Whether the view shows this cell: the one that has run for the longest time, or in a lab whose
    /// cells take turns the one that has the turn.
    fn is_shown(&self, cell: Cell) -> bool {
        self.running.first() == Some(&cell)
    }

    /// Shows the first cell, if the view shows another one.
    fn show_first(&self) {
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
        if self.jobs == 1 && !self.is_shown(cell) {
            self.running.retain(|other| *other != cell);
            self.running.insert(0, cell);
            self.show_first();
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
        self.show_first();
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
        if block_over && cell.block == 0 {
            self.announce_verdicts();
        }
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

    /// The time left, which the time limit of the run ends at the latest. Blocks that run in any case,
    /// and a block that has begun, can exceed the limit.
    fn within_budget(&self, left: Nanos) -> Nanos {
        let passed = Nanos::from(self.began.elapsed());
        let Some(limit) = self.run.plan.budget else {
            return left;
        };
        let fewest = self.run.plan.adaptive.map_or(0, |adaptive| adaptive.fewest);
        let begun = self.left.first().map_or(0, |next| next.block + 1);
        let in_any_case = self.time_of_blocks(fewest.max(begun));
        let limited = left.0.min(limit.0.saturating_sub(passed.0));
        Nanos(limited.max(in_any_case.map_or(0, |time| time.0.min(left.0))))
    }

    /// The time of the cells that are left of the first blocks, if there is an estimate.
    fn time_of_blocks(&self, blocks: u32) -> Option<Nanos> {
        let cells = self.left.iter().filter(|cell| cell.block < blocks);
        let time = self.pace.left(&cells.copied().collect::<Vec<_>>())?;
        Some(Nanos(time.0 / self.jobs.max(1) as u64))
    }

    /// Prints when the first verdicts can be expected, by the times of the first block.
    fn announce_verdicts(&self) {
        let blocks = first_verdicts(&self.run);
        let time = self.time_of_blocks(blocks);
        let Some(time) = time.filter(|time| time.0 > 0) else {
            return;
        };
        let in_about = time.clock();
        if self.within_budget(time) < time {
            self.print(&format!(
                "the time limit ends before the first verdicts, which need {blocks} blocks, about \
                 {in_about} more (--budget)"
            ));
        } else {
            self.print(&format!(
                "the first verdicts follow after {blocks} blocks, in about {in_about}"
            ));
        }
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

/// The number of blocks after which figures are compared for the first time.
fn first_verdicts(run: &RunInfo) -> u32 {
    let plan = &run.plan;
    let analyses = Rule::during(plan).analyses;
    let first = analyses.and_then(|of| of.places().first().copied());
    first
        .filter(|_| plan.adaptive.is_some())
        .unwrap_or(plan.repeats)
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

    /// A screen without a terminal, for a run of one contender with ten blocks of a second each, of
    /// which the first took this long.
    fn screen(budget: Option<Nanos>, fewest: u32) -> Screen {
        let adaptive = fsdyno_model::Adaptive {
            precision: 0.01,
            most: 10,
            fewest,
        };
        let plan = fsdyno_model::Plan {
            repeats: 6,
            budget,
            adaptive: Some(adaptive),
            errors: Some(fsdyno_model::ErrorRate::Fdr),
            ..fsdyno_model::Plan::new(Vec::new(), Vec::new())
        };
        let run = RunInfo {
            id: "test".to_owned(),
            started_unix_ns: 0,
            ended_unix_ns: None,
            stop: None,
            plan_hash: String::new(),
            plan,
            provenance: fsdyno_model::Provenance::default(),
            command_line: Vec::new(),
        };
        let cell = |block| Cell {
            index: block,
            block,
            contender: 0,
            workload: 0,
        };
        let mut pace = Pace::default();
        pace.learn(cell(0), Nanos(1_000_000_000));
        Screen {
            run,
            began: Instant::now(),
            left: (1..10).map(cell).collect(),
            running: Vec::new(),
            jobs: 1,
            pace,
            blocks_reported: 0,
            drawn: None,
        }
    }

    #[test]
    fn the_upper_bound_of_the_time_left_includes_blocks_that_run_after_the_limit() {
        let seconds = |n: u64| Nanos(n * 1_000_000_000);
        let at_most = |screen: &Screen| screen.within_budget(screen.time_left().unwrap());
        assert_eq!(at_most(&screen(None, 3)), seconds(9));
        // The limit is over, and six blocks run in any case.
        assert_eq!(at_most(&screen(Some(Nanos(0)), 6)), seconds(5));
        // A block that has begun ends.
        assert_eq!(at_most(&screen(Some(Nanos(0)), 0)), seconds(1));
        let limited = at_most(&screen(Some(seconds(7)), 2));
        assert!(limited <= seconds(7) && limited > seconds(6), "{limited:?}");
    }

    #[test]
    fn the_first_verdicts_are_expected_at_the_first_analysis() {
        let screen = screen(None, 0);
        let blocks = first_verdicts(&screen.run);
        let first = Rule::during(&screen.run.plan).analyses.unwrap().places()[0];
        assert_eq!(blocks, first);
        let time = screen.time_of_blocks(blocks).unwrap();
        assert_eq!(time.0, u64::from(blocks - 1) * 1_000_000_000);
    }

    #[test]
    fn the_progress_of_a_fill_is_a_share_of_its_bytes() {
        assert_eq!(filling(Bytes(0), Bytes(0)), "state 0 % of 0 B");
        let (done, of) = (Bytes(u64::MAX / 2), Bytes(u64::MAX));
        assert!(filling(done, of).starts_with("state 49 % of "));
    }
}
