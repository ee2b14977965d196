//! The conductor: runs the cells of a plan in order and reports events.
//!
//! It does not know how a cell runs (a [`Lab`] does) or where events go (store, screen, log).

use crate::open::Open;
use crate::remaining::after_retry;
use fsdyno_lab::Lab;
use fsdyno_model::{CancelToken, Cell, CellRecord, Event, Nanos, Plan, RunInfo, StopReason};
use std::collections::BTreeMap;
use std::slice;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs these cells of `run`. `before` holds what is recorded already. A cell in both is a failed
/// one that runs again. If the plan has a variable number of repeats, only those of the other cells
/// run that are still needed. The listener receives every event. An error of the listener (a full
/// disk under the store) ends the run and is returned.
///
/// Each of the labs runs one cell at a time, or the cells of a block at one workload together. With more
/// than one lab cells end in any order. If the number of repeats is variable, a block begins after all
/// cells of the block before it, because each decision needs them; in real time the first lab then runs
/// all cells. `stop` cancels all labs.
pub fn conduct<E>(
    run: &RunInfo,
    before: &[CellRecord],
    cells: &[Cell],
    labs: &mut [impl Lab + Send],
    stop: &CancelToken,
    listener: &mut dyn FnMut(&Event) -> Result<(), E>,
) -> Result<StopReason, E> {
    let recorded: BTreeMap<u32, &CellRecord> = before
        .iter()
        .map(|record| (record.cell.index, record))
        .collect();
    let again = cells
        .iter()
        .filter(|cell| recorded.contains_key(&cell.index));
    let done = recorded.len() - again.count();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let started = Event::RunStarted {
        run: Box::new(run.clone()),
        done: count(done),
        cells: count(done + cells.len()),
    };
    listener(&started)?;
    let mut session = Session {
        open: Open::new(run, before),
        recorded,
        budget: Budget::new(&run.plan),
        cells: cells.iter(),
        by_block: run.plan.adaptive.is_some(),
        block: None,
        stop,
        reason: StopReason::Complete,
        listener,
    };
    match labs {
        [lab] => session.one_by_one(&run.plan, lab)?,
        [lab, ..] if run.plan.adaptive.is_some() && !run.plan.in_virtual_time() => {
            session.one_by_one(&run.plan, lab)?;
        }
        labs => session.in_parallel(&run.plan, labs)?,
    }
    let reason = session.reason;
    listener(&Event::RunEnded {
        reason,
        at_unix_ns: unix_now(),
    })?;
    Ok(reason)
}

/// The state of a run while its cells run.
struct Session<'a, E> {
    recorded: BTreeMap<u32, &'a CellRecord>,
    open: Open,
    budget: Budget,
    /// The cells that have not started.
    cells: slice::Iter<'a, Cell>,
    /// Whether a block begins only after the end of the block before it.
    by_block: bool,
    /// The block of the last cell that started.
    block: Option<u32>,
    stop: &'a CancelToken,
    reason: StopReason,
    listener: &'a mut dyn FnMut(&Event) -> Result<(), E>,
}

impl<E> Session<'_, E> {
    /// The next cell that is needed; none at the end of the run, and at the end of a block while
    /// others of its cells run, if blocks follow one another.
    fn next(&mut self, others_run: bool) -> Result<Option<Cell>, E> {
        while self.reason == StopReason::Complete
            && let Some(cell) = self.cells.as_slice().first()
        {
            let begins_block = self.block.is_some_and(|block| block != cell.block);
            if self.by_block && others_run && begins_block {
                break;
            }
            self.cells.next();
            if self.stop.requested() {
                self.reason = StopReason::Interrupted;
                break;
            }
            if !self.recorded.contains_key(&cell.index) {
                if let Some(analysis) = self.open.interim_analysis(cell.block) {
                    (self.listener)(&Event::Looked {
                        blocks: analysis.blocks,
                        open: analysis.open,
                        of: analysis.of,
                    })?;
                }
                if !self.open.needs(*cell) {
                    continue;
                }
                if self.budget.spent(cell.block) {
                    self.reason = StopReason::Budget;
                    break;
                }
            }
            self.block = Some(cell.block);
            (self.listener)(&Event::CellStarted { cell: *cell })?;
            return Ok(Some(*cell));
        }
        Ok(None)
    }

    /// Notes the end of a cell; without a record it was interrupted.
    fn ended(&mut self, record: Option<CellRecord>) -> Result<(), E> {
        let Some(record) = record else {
            self.reason = StopReason::Interrupted;
            return Ok(());
        };
        let record = match self.recorded.get(&record.cell.index) {
            Some(failed) => after_retry(failed, record),
            None => record,
        };
        self.open.note(&record);
        (self.listener)(&Event::CellEnded {
            record: Box::new(record),
        })
    }

    /// The other cells of the block of this one at its workload that are needed.
    fn companions(&mut self, first: Cell) -> Result<Vec<Cell>, E> {
        let mut found = Vec::new();
        while let Some(cell) = self.cells.as_slice().first()
            && (cell.block, cell.workload) == (first.block, first.workload)
        {
            self.cells.next();
            if self.recorded.contains_key(&cell.index) || self.open.needs(*cell) {
                (self.listener)(&Event::CellStarted { cell: *cell })?;
                found.push(*cell);
            }
        }
        Ok(found)
    }

    /// Runs one cell at a time, or those together that can. The latter end together: each of them
    /// has a record then, or none if it was interrupted.
    fn one_by_one(&mut self, plan: &Plan, lab: &mut impl Lab) -> Result<(), E> {
        while let Some(cell) = self.next(false)? {
            let mut cells = vec![cell];
            if lab.runs_together(cell.workload) {
                cells.extend(self.companions(cell)?);
            }
            let shortened = self.open.shortened(plan, cell);
            let plan = shortened.as_ref().unwrap_or(plan);
            let mut trouble = None;
            let emit = &mut |event| {
                if trouble.is_none() {
                    trouble = (self.listener)(&event).err();
                }
            };
            let records = match cells[..] {
                [cell] => vec![lab.run_cell(plan, cell, emit)],
                _ => lab.run_together(plan, &cells, emit),
            };
            if let Some(error) = trouble {
                return Err(error);
            }
            for record in records {
                self.ended(record)?;
            }
        }
        Ok(())
    }

    /// Runs a cell in each lab at a time. After an error of the listener the cells that run are
    /// cancelled.
    fn in_parallel(&mut self, plan: &Plan, labs: &mut [impl Lab + Send]) -> Result<(), E> {
        let count = labs.len();
        thread::scope(|scope| {
            let (reports, reported) = mpsc::channel();
            let workers: Vec<Sender<Cell>> = (0..count)
                .zip(labs)
                .map(|(worker, lab)| {
                    let (give, given) = mpsc::channel();
                    let reports = reports.clone();
                    scope.spawn(move || {
                        for cell in given {
                            let mut end = CellEnd {
                                worker,
                                reports: &reports,
                                record: None,
                            };
                            end.record = lab.run_cell(plan, cell, &mut |event| {
                                // Received until this thread has ended.
                                let _ = reports.send(Report::Event(event));
                            });
                        }
                    });
                    give
                })
                .collect();
            let mut idle: Vec<usize> = (0..count).rev().collect();
            let mut result = Ok(());
            loop {
                while result.is_ok()
                    && let Some(worker) = idle.pop()
                {
                    match self.next(idle.len() + 1 < count) {
                        Ok(Some(cell)) => {
                            // A worker that panicked has reported an interrupted cell, and no cell
                            // comes after that.
                            let _ = workers[worker].send(cell);
                            continue;
                        }
                        Ok(None) => {}
                        Err(error) => result = Err(error),
                    }
                    idle.push(worker);
                    break;
                }
                if idle.len() == count {
                    return result;
                }
                let Ok(report) = reported.recv() else {
                    return result;
                };
                let received = match report {
                    Report::Event(event) if result.is_ok() => (self.listener)(&event),
                    Report::Event(_) => Ok(()),
                    Report::End(worker, record) => {
                        idle.push(worker);
                        if result.is_ok() {
                            self.ended(record.map(|record| *record))
                        } else {
                            Ok(())
                        }
                    }
                };
                if let Err(error) = received {
                    result = Err(error);
                    self.stop.request();
                }
            }
        })
    }
}

enum Report {
    Event(Event),
    /// The number of the worker whose cell ended, and the record of the cell.
    End(usize, Option<Box<CellRecord>>),
}

/// Reports the end of a cell when it is dropped, also after a panic.
struct CellEnd<'a> {
    worker: usize,
    reports: &'a Sender<Report>,
    record: Option<CellRecord>,
}

impl Drop for CellEnd<'_> {
    fn drop(&mut self) {
        let report = Report::End(self.worker, self.record.take().map(Box::new));
        // Received until this thread has ended.
        let _ = self.reports.send(report);
    }
}

/// Nanoseconds since 1970 (UTC).
pub fn unix_now() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Nanos::from(now).0
}

/// Tracks the time limit of a run.
///
/// After the limit no cell starts. A block does not start if the longest block so far would exceed
/// the limit, because an incomplete block compares nothing.
struct Budget {
    limit: Option<Duration>,
    start: Instant,
    block: Option<(u32, Instant)>,
    longest: Duration,
    /// The blocks that run in any case.
    fewest: u32,
}

impl Budget {
    fn new(plan: &Plan) -> Self {
        let limit = plan.budget.map(|ns| Duration::from_nanos(ns.0));
        Self {
            fewest: plan.adaptive.map_or(0, |adaptive| adaptive.fewest),
            limit,
            start: Instant::now(),
            block: None,
            longest: Duration::ZERO,
        }
    }

    /// Whether the next cell, which belongs to this block, must not start.
    fn spent(&mut self, block: u32) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        let now = Instant::now();
        let used = now - self.start;
        match self.block {
            Some((current, began)) if current != block => {
                self.longest = self.longest.max(now - began);
                self.block = Some((block, now));
                block >= self.fewest && used + self.longest > limit
            }
            Some(_) => block >= self.fewest && used > limit,
            None => {
                self.block = Some((block, now));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunOptions;
    use crate::bisect::{Change, Figures};
    use crate::fixture::plan;
    use crate::remaining::{failed, remaining};
    use crate::resolve::{Catalogue, extend};
    use fsdyno_model::{
        Adaptive, CacheEvidence, CacheState, DecidingFigure, DiskTime, ErrorRate, Failure,
        FigureName, ModelDisk, Nanos, Outcome, PhasePlan, Provenance, ResultSet, Sample, Stage,
        Vary,
    };
    use fsdyno_stats::{Rule, Times, open_in};
    use std::convert::Infallible;

    /// A lab without file systems that can be stopped after some cells.
    struct SimulatedLab {
        left: usize,
        pace: Duration,
        /// The time of a cell of each contender, to which a little noise is added. If empty,
        /// nothing is measured.
        takes: Vec<f64>,
    }

    impl Lab for SimulatedLab {
        fn run_cell(
            &mut self,
            _: &Plan,
            cell: Cell,
            _: &mut dyn FnMut(Event),
        ) -> Option<CellRecord> {
            self.left = self.left.checked_sub(1)?;
            std::thread::sleep(self.pace);
            Some(CellRecord {
                cell,
                outcome: Outcome::Measured,
                started_unix_ns: 0,
                took_ns: Nanos(1),
                samples: self
                    .takes
                    .get(cell.contender as usize)
                    .map_or_else(Vec::new, |takes| {
                        let noise = f64::from(cell.index * 48_271 % 1009) / 1009.0;
                        let mut sample = sample(takes * (1.0 + 0.02 * noise));
                        // The processor time is three times that of the contender before it.
                        let cpu = 3_u64.pow(cell.contender) * 1_000_000;
                        sample.cpu.user_ns = Nanos(cpu + u64::from(cell.index % 7));
                        vec![sample]
                    }),
                commands: Vec::new(),
                effective: Vec::new(),
                warnings: Vec::new(),
            })
        }
    }

    fn sample(seconds: f64) -> Sample {
        Sample {
            phase: 0,
            label: "copy".into(),
            kind: "copy".into(),
            engine: "sync".into(),
            cache: CacheEvidence {
                requested: CacheState::AsIs,
                ..CacheEvidence::default()
            },
            return_ns: Nanos::from_seconds(seconds),
            ..Sample::default()
        }
    }

    fn run_info(plan: Plan) -> RunInfo {
        RunInfo {
            id: "test".into(),
            started_unix_ns: 0,
            ended_unix_ns: None,
            stop: None,
            plan_hash: plan.hash(),
            plan,
            provenance: Provenance::default(),
            command_line: Vec::new(),
        }
    }

    fn recorded(
        run: &RunInfo,
        before: &[CellRecord],
        lab: &mut SimulatedLab,
    ) -> (Vec<CellRecord>, StopReason) {
        let mut cells = Vec::new();
        let left = remaining(run, before);
        let labs = slice::from_mut(lab);
        let reason = conduct(
            run,
            before,
            &left,
            labs,
            &CancelToken::new(),
            &mut |event| {
                if let Event::CellEnded { record } = event {
                    cells.push(CellRecord::clone(record));
                }
                Ok::<(), Infallible>(())
            },
        );
        (cells, reason.unwrap())
    }

    #[test]
    fn an_interrupted_run_resumes_without_losing_or_repeating_a_cell() {
        let run = run_info(plan(3, 2, 2));
        let mut lab = SimulatedLab {
            left: 5,
            pace: Duration::ZERO,
            takes: Vec::new(),
        };
        let (first, reason) = recorded(&run, &[], &mut lab);
        assert_eq!((first.len(), reason), (5, StopReason::Interrupted));
        let mut lab = SimulatedLab {
            left: 100,
            pace: Duration::ZERO,
            takes: Vec::new(),
        };
        let (second, reason) = recorded(&run, &first, &mut lab);
        assert_eq!(reason, StopReason::Complete);
        let mut all = [first, second].concat();
        all.sort_by_key(|record| record.cell.index);
        let all: Vec<u32> = all.iter().map(|record| record.cell.index).collect();
        assert_eq!(all, (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn a_spent_budget_ends_the_run_at_a_block() {
        let mut plan = plan(2, 1, 50);
        plan.budget = Some(Nanos(30_000_000));
        let mut lab = SimulatedLab {
            left: 1000,
            pace: Duration::from_millis(5),
            takes: Vec::new(),
        };
        let (cells, reason) = recorded(&run_info(plan), &[], &mut lab);
        assert_eq!(reason, StopReason::Budget);
        assert!(cells.len() < 100 && !cells.is_empty(), "{}", cells.len());
    }

    #[test]
    fn the_fewest_blocks_run_also_beyond_the_budget() {
        let mut plan = plan(2, 1, 6);
        plan.budget = Some(Nanos(1));
        plan.adaptive = Some(Adaptive {
            precision: 0.005,
            most: 40,
            fewest: 3,
        });
        let mut lab = SimulatedLab {
            left: 1000,
            pace: Duration::ZERO,
            takes: Vec::new(),
        };
        let (cells, reason) = recorded(&run_info(plan), &[], &mut lab);
        assert_eq!((cells.len(), reason), (6, StopReason::Budget));
    }

    #[test]
    fn an_error_of_the_listener_ends_the_run() {
        let run = run_info(plan(2, 1, 2));
        let mut lab = SimulatedLab {
            left: 100,
            pace: Duration::ZERO,
            takes: Vec::new(),
        };
        let result = conduct(
            &run,
            &[],
            &remaining(&run, &[]),
            slice::from_mut(&mut lab),
            &CancelToken::new(),
            &mut |event| match event {
                Event::CellEnded { .. } => Err("the store is full"),
                _ => Ok(()),
            },
        );
        assert_eq!(result, Err("the store is full"));
    }

    /// A run of three contenders whose figures decide the number of repeats.
    fn adaptive_run() -> RunInfo {
        run_info(Plan {
            adaptive: Some(Adaptive {
                precision: 0.005,
                most: 40,
                fewest: 0,
            }),
            ..plan(3, 1, 3)
        })
    }

    #[test]
    fn repeats_go_to_inconclusive_contenders_also_after_a_resume() {
        let run = adaptive_run();
        let lab = |left| SimulatedLab {
            left,
            pace: Duration::ZERO,
            takes: vec![1.0, 3.0, 1.021],
        };
        let (all, reason) = recorded(&run, &[], &mut lab(1000));
        assert_eq!(reason, StopReason::Complete);
        let blocks = |contender: u32| {
            let cells = all.iter().map(|record| record.cell);
            cells.filter(|cell| cell.contender == contender).count()
        };
        // A ratio of three is known soon; a ratio at the margin is inconclusive for long.
        assert!(blocks(1) <= 8, "{}", blocks(1));
        assert!(blocks(2) > 2 * blocks(1) && blocks(0) == blocks(2));
        for stopped_after in [5, 17, all.len() - 3] {
            let (mut first, reason) = recorded(&run, &[], &mut lab(stopped_after));
            assert_eq!(reason, StopReason::Interrupted);
            let (second, reason) = recorded(&run, &first, &mut lab(1000));
            assert_eq!(reason, StopReason::Complete);
            first.extend(second);
            let cells = |of: &[CellRecord]| of.iter().map(|r| r.cell).collect::<Vec<_>>();
            assert_eq!(cells(&first), cells(&all));
        }
    }

    /// The cells that these labs record in parallel, in the order of their ends.
    fn in_parallel(
        run: &RunInfo,
        before: &[CellRecord],
        labs: &mut [SimulatedLab],
        fails_after: usize,
    ) -> (Vec<CellRecord>, Result<StopReason, &'static str>) {
        let mut cells = Vec::new();
        let (left, stop) = (remaining(run, before), CancelToken::new());
        let reason = conduct(run, before, &left, labs, &stop, &mut |event| {
            if let Event::CellEnded { record } = event {
                if cells.len() == fails_after {
                    return Err("the store is full");
                }
                cells.push(CellRecord::clone(record));
            }
            Ok(())
        });
        (cells, reason)
    }

    #[test]
    fn cells_in_parallel_are_recorded_once_and_a_resume_fills_the_gaps() {
        let run = run_info(plan(3, 2, 4));
        // One lab is slow, and the other is interrupted: the record has gaps.
        let slow = |left| SimulatedLab {
            left,
            pace: Duration::from_millis(20),
            takes: Vec::new(),
        };
        let quick = |left| SimulatedLab {
            pace: Duration::ZERO,
            ..slow(left)
        };
        let (mut all, reason) = in_parallel(&run, &[], &mut [slow(9), quick(7)], usize::MAX);
        assert_eq!(reason, Ok(StopReason::Interrupted));
        assert!(all.len() < 24, "{}", all.len());
        let labs = &mut [slow(100), quick(100), quick(100)];
        let (rest, reason) = in_parallel(&run, &all, labs, usize::MAX);
        assert_eq!(reason, Ok(StopReason::Complete));
        all.extend(rest);
        all.sort_by_key(|record| record.cell.index);
        let all: Vec<u32> = all.iter().map(|record| record.cell.index).collect();
        assert_eq!(all, (0..24).collect::<Vec<_>>());
    }

    /// A lab that runs the cells of a block together, and notes which, and the phases that they skip.
    struct BlockLab {
        each: SimulatedLab,
        blocks: Vec<Vec<Cell>>,
        skipped: Vec<usize>,
    }

    impl Lab for BlockLab {
        fn run_cell(
            &mut self,
            plan: &Plan,
            cell: Cell,
            emit: &mut dyn FnMut(Event),
        ) -> Option<CellRecord> {
            self.each.run_cell(plan, cell, emit)
        }

        fn runs_together(&self, _: u32) -> bool {
            true
        }

        fn run_together(
            &mut self,
            plan: &Plan,
            cells: &[Cell],
            emit: &mut dyn FnMut(Event),
        ) -> Vec<Option<CellRecord>> {
            self.blocks.push(cells.to_vec());
            let skips = |phase: &str| plan.skipped.iter().filter(|one| one.phase == phase).count();
            self.skipped.push(skips("read"));
            assert_eq!(skips("copy"), 0, "it is open, or makes what is read");
            let run = |cell: &Cell| {
                let mut record = self.each.run_cell(plan, *cell, emit)?;
                let reads = plan.workloads[0].phases.len() > 1 && skips("read") == 0;
                if let (true, Some(first)) = (reads, record.samples.first().cloned()) {
                    record.samples.push(Sample {
                        phase: 1,
                        label: "read".into(),
                        kind: "read".into(),
                        return_ns: Nanos(10_u64.pow(7 + cell.contender)),
                        ..first
                    });
                }
                Some(record)
            };
            cells.iter().map(run).collect()
        }
    }

    fn in_blocks(
        run: &RunInfo,
        before: &[CellRecord],
        each: SimulatedLab,
    ) -> (Vec<CellRecord>, StopReason, BlockLab) {
        let (left, stop) = (remaining(run, before), CancelToken::new());
        let (mut cells, mut started) = (Vec::new(), 0);
        let mut lab = BlockLab {
            each,
            blocks: Vec::new(),
            skipped: Vec::new(),
        };
        let labs = slice::from_mut(&mut lab);
        let reason = conduct(run, before, &left, labs, &stop, &mut |event| {
            match event {
                Event::CellStarted { .. } => started += 1,
                Event::CellEnded { record } => cells.push(CellRecord::clone(record)),
                _ => {}
            }
            Ok::<(), Infallible>(())
        });
        assert!(started >= cells.len(), "each cell is started");
        (cells, reason.unwrap(), lab)
    }

    #[test]
    fn cells_of_a_block_run_together_and_decide_like_one_after_another() {
        let run = adaptive_run();
        let takes = [1.0, 3.0, 1.021];
        let (one, _) = recorded(&run, &[], &mut quick(&takes));
        let (all, reason, lab) = in_blocks(&run, &[], quick(&takes));
        assert_eq!((&all, reason), (&one, StopReason::Complete));
        for cells in &lab.blocks {
            let place = |cell: &Cell| (cell.block, cell.workload);
            assert!(cells.iter().all(|cell| place(cell) == place(&cells[0])));
        }
        assert_eq!(lab.blocks[0].len(), 3);
        assert!(
            lab.blocks.iter().any(|cells| cells.len() == 2),
            "one leaves"
        );
        // After an interruption within a block, the rest of it runs.
        for left in 1..20 {
            let few = SimulatedLab {
                left,
                ..quick(&takes)
            };
            let (mut cells, reason, _) = in_blocks(&run, &[], few);
            assert_eq!((cells.len(), reason), (left, StopReason::Interrupted));
            let (rest, ..) = in_blocks(&run, &cells, quick(&takes));
            cells.extend(rest);
            assert_eq!(cells, all);
        }
    }

    #[test]
    fn a_decided_phase_is_left_out_of_all_cells_and_its_verdicts_stay() {
        let mut run = adaptive_run();
        let copy = run.plan.workloads[0].phases[0].clone();
        run.plan.workloads[0].phases.push(PhasePlan {
            label: "read".into(),
            kind: "read".into(),
            ..copy
        });
        let (all, reason, lab) = in_blocks(&run, &[], quick(&[1.0, 3.0, 1.021]));
        assert_eq!(reason, StopReason::Complete);
        let first = lab.skipped.iter().position(|skipped| *skipped > 0);
        let first = first.expect("the phase that differs by a factor of 10 is decided");
        assert!(
            first >= 3 && first + 2 < lab.skipped.len(),
            "{:?}",
            lab.skipped
        );
        // Alike for all contenders, in all later blocks.
        assert!(lab.skipped[first..].iter().all(|skipped| *skipped == 3));
        let reads = |record: &CellRecord| record.samples.iter().any(|of| of.label == "read");
        let block = u32::try_from(first).unwrap();
        assert!(
            all.iter()
                .all(|record| reads(record) == (record.cell.block < block))
        );
        // A resumed run leaves out the same.
        let until = 3 * first + 1;
        let (rest, _, resumed) = in_blocks(&run, &all[..until], quick(&[1.0, 3.0, 1.021]));
        assert_eq!(rest, all[until..]);
        assert!(resumed.skipped.iter().all(|skipped| *skipped == 3));
        // The report, which makes all analyses again, has the same verdict.
        let set = ended(&run, &all, StopReason::Complete);
        let lines = set.compared_lines();
        let times: Vec<Times> = lines.iter().map(Times::from).collect();
        let times: Vec<&Times> = times.iter().collect();
        let open = open_in(&times, &Rule::of(&set.run), 0.005, true);
        assert_eq!(open[1], [false; 3]);
    }

    #[test]
    fn an_error_of_the_listener_ends_cells_in_parallel() {
        let run = run_info(plan(2, 1, 20));
        let (cells, reason) = in_parallel(&run, &[], &mut [quick(&[]), quick(&[])], 5);
        assert_eq!((cells.len(), reason), (5, Err("the store is full")));
    }

    #[test]
    fn decisions_of_an_adaptive_run_do_not_depend_on_the_number_of_labs() {
        let run = adaptive_run();
        let takes = [1.0, 3.0, 1.021];
        let (one, _) = recorded(&run, &[], &mut quick(&takes));
        for virtual_time in [false, true] {
            let mut run = run.clone();
            run.plan.disk = virtual_time.then(model_disk);
            run.plan.varies = vec![Vary::Names];
            let slow = SimulatedLab {
                pace: Duration::from_millis(2),
                ..quick(&takes)
            };
            let labs = &mut [slow, quick(&takes)];
            let (mut two, reason) = in_parallel(&run, &[], labs, 1000);
            assert_eq!(reason, Ok(StopReason::Complete));
            two.sort_by_key(|record| record.cell.index);
            assert_eq!(one, two);
        }
    }

    fn model_disk() -> ModelDisk {
        ModelDisk {
            profile: "disk".into(),
            text: String::new(),
            faults: None,
            time: DiskTime::Virtual,
        }
    }

    #[test]
    fn an_interrupted_block_of_parallel_cells_is_completed() {
        let mut run = adaptive_run();
        run.plan.disk = Some(model_disk());
        run.plan.varies = vec![Vary::Names];
        let takes = [1.0, 3.0, 1.021];
        let (all, _) = recorded(&run, &[], &mut quick(&takes));
        for left in 3..20 {
            // One lab is slow, so that the record has a gap within a block.
            let slow = SimulatedLab {
                left: 1,
                pace: Duration::from_millis(5),
                takes: takes.to_vec(),
            };
            let quick_one = SimulatedLab {
                left,
                ..quick(&takes)
            };
            let (mut cells, _) = in_parallel(&run, &[], &mut [slow, quick_one], 1000);
            let (rest, reason) = recorded(&run, &cells, &mut quick(&takes));
            assert_eq!(reason, StopReason::Complete);
            cells.extend(rest);
            cells.sort_by_key(|record| record.cell.index);
            assert_eq!(cells, all);
        }
    }

    fn quick(takes: &[f64]) -> SimulatedLab {
        SimulatedLab {
            left: 10_000,
            pace: Duration::ZERO,
            takes: takes.to_vec(),
        }
    }

    /// A recorded run after it ended for this reason.
    fn ended(run: &RunInfo, cells: &[CellRecord], reason: StopReason) -> ResultSet {
        ResultSet {
            schema: ResultSet::SCHEMA,
            run: RunInfo {
                stop: Some(reason),
                ..run.clone()
            },
            cells: cells.to_vec(),
            variants: Vec::new(),
        }
    }

    fn extended(set: &ResultSet, options: &RunOptions) -> Result<RunInfo, String> {
        let plan =
            extend(set, options, &Catalogue::default()).map_err(|error| error.to_string())?;
        Ok(run_info(plan))
    }

    fn repeats(n: u32) -> RunOptions {
        RunOptions {
            repeats: Some(n),
            ..RunOptions::default()
        }
    }

    fn max_repeats(n: u32) -> RunOptions {
        RunOptions {
            max_repeats: Some(n),
            ..RunOptions::default()
        }
    }

    #[test]
    fn an_extended_run_has_the_order_of_one_that_was_planned_so_long() {
        let run = run_info(plan(3, 2, 4));
        let (first, reason) = recorded(&run, &[], &mut quick(&[]));
        let set = ended(&run, &first, reason);
        let longer = extended(&set, &repeats(9)).unwrap();
        assert_eq!((longer.plan.repeats, &longer.plan.ends[..]), (9, &[4][..]));
        assert_eq!(longer.plan_hash, run.plan_hash);
        let (second, _) = recorded(&longer, &first, &mut quick(&[]));
        let (whole, _) = recorded(&run_info(plan(3, 2, 9)), &[], &mut quick(&[]));
        let cells = |of: &[CellRecord]| of.iter().map(|r| r.cell).collect::<Vec<_>>();
        assert_eq!(cells(&[first.clone(), second].concat()), cells(&whole));
        // An interruption of the extension is no further end, unless the plan changes.
        let set = ended(&longer, &whole[..36], StopReason::Interrupted);
        let same = extended(&set, &RunOptions::default()).unwrap();
        assert_eq!(same.plan, longer.plan);
        let other = extended(&set, &repeats(7)).unwrap();
        assert_eq!((other.plan.repeats, &other.plan.ends[..]), (7, &[4, 6][..]));
        let error = extended(&set, &repeats(5)).unwrap_err();
        assert!(error.contains("fewer than the 6"), "{error}");
        let error = extended(&set, &max_repeats(20)).unwrap_err();
        assert!(error.contains("--repeats"), "{error}");
    }

    #[test]
    fn an_adaptive_run_is_extended_beyond_its_maximum_and_its_time_limit() {
        let adaptive = |most| Plan {
            errors: Some(ErrorRate::Fdr),
            adaptive: Some(Adaptive {
                precision: 0.000_1,
                most,
                fewest: 0,
            }),
            ..plan(2, 1, 6)
        };
        let run = run_info(adaptive(10));
        // A ratio at the margin stays inconclusive.
        let close = [1.0, 1.02];
        let (first, reason) = recorded(&run, &[], &mut quick(&close));
        assert_eq!((first.len(), reason), (20, StopReason::Complete));
        let set = ended(&run, &first, reason);
        assert!(remaining(&set.run, &first).is_empty());
        let longer = extended(&set, &max_repeats(14)).unwrap();
        assert_eq!(longer.plan.ends, [10]);
        let (second, _) = recorded(&longer, &first, &mut quick(&close));
        assert_eq!(second.len(), 8);
        let error = extended(&set, &repeats(8)).unwrap_err();
        assert!(error.contains("--max-repeats"), "{error}");
        let error = extended(&set, &max_repeats(9)).unwrap_err();
        assert!(error.contains("fewer than the 10"), "{error}");
        // The end by the time limit is an end wherever it is.
        let set = ended(&run, &first[..14], StopReason::Budget);
        let again = extended(&set, &RunOptions::default()).unwrap();
        assert_eq!(again.plan.ends, [7]);
        // A run that stopped because all was decided has no end, and needs no more.
        let (decided, reason) = recorded(&run, &[], &mut quick(&[1.0, 3.0]));
        assert!(decided.len() < 20, "{}", decided.len());
        let longer = extended(&ended(&run, &decided, reason), &max_repeats(40)).unwrap();
        assert!(longer.plan.ends.is_empty());
        assert!(remaining(&longer, &decided).is_empty());
    }

    #[test]
    fn nothing_is_analysed_after_the_end() {
        let run = run_info(Plan {
            contenders: plan(1, 1, 3).contenders,
            ..adaptive_run().plan
        });
        let mut seen = Vec::new();
        let listener = &mut |event: &Event| {
            if let Event::Looked { blocks, of, .. } = event {
                seen.push((*blocks, *of));
            }
            Ok::<(), Infallible>(())
        };
        let (left, stop) = (remaining(&run, &[]), CancelToken::new());
        let labs = &mut [quick(&[1.0])];
        conduct(&run, &[], &left, labs, &stop, listener).unwrap();
        assert_eq!(seen, [(3, 0)]);
    }

    #[test]
    fn the_named_figure_alone_decides_how_long_a_run_measures() {
        let deciding = DecidingFigure {
            phase: "copy".to_owned(),
            figure: FigureName::CPU,
        };
        // The ratio of the times stays inconclusive, that of the processor times is clear.
        let ended = |decides| {
            let run = run_info(Plan {
                errors: Some(ErrorRate::Fdr),
                adaptive: Some(Adaptive {
                    precision: 0.000_1,
                    most: 20,
                    fewest: 0,
                }),
                decides,
                ..plan(2, 1, 6)
            });
            let (cells, reason) = recorded(&run, &[], &mut quick(&[1.0, 1.02]));
            ended(&run, &cells, reason)
        };
        let set = ended(Some(deciding));
        assert_eq!(set.cells.len(), 12);
        let figures = Figures::of_pairs(&set).unwrap();
        let paired = figures.paired.unwrap();
        assert_eq!((paired.change, paired.blocks), (Change::Rises, 6));
        assert!((paired.ratio - 3.0).abs() < 0.001, "{paired}");
        assert_eq!(
            figures.of(&FigureName::CPU).map(|ns| ns / 1_000_000),
            Some(3)
        );
        assert_eq!(ended(None).cells.len(), 40);
    }

    #[test]
    fn a_retry_runs_the_failed_cells_and_no_other() {
        let run = run_info(plan(2, 1, 4));
        let (mut cells, _) = recorded(&run, &[], &mut quick(&[1.0, 2.0]));
        for at in [2, 5] {
            cells[at].samples.clear();
            cells[at].outcome = Outcome::Failed(Failure {
                stage: Stage::Mount,
                message: "cannot mount".into(),
                errno: None,
            });
        }
        cells[7].outcome = Outcome::Skipped {
            requirement: "mkfs".into(),
            reason: "no mkfs".into(),
            remedy: "install it".into(),
        };
        let todo = failed(&cells);
        let indices: Vec<u32> = todo.iter().map(|cell| cell.index).collect();
        assert_eq!(indices, [2, 5]);
        let mut again = Vec::new();
        let labs = &mut [quick(&[1.0, 2.0])];
        let reason = conduct(
            &run,
            &cells,
            &todo,
            labs,
            &CancelToken::new(),
            &mut |event| {
                match event {
                    Event::RunStarted { done, cells, .. } => assert_eq!((*done, *cells), (6, 8)),
                    Event::CellEnded { record } => again.push(CellRecord::clone(record)),
                    _ => {}
                }
                Ok::<(), Infallible>(())
            },
        );
        assert_eq!(reason, Ok(StopReason::Complete));
        let found: Vec<u32> = again.iter().map(|record| record.cell.index).collect();
        assert_eq!(found, [2, 5]);
        assert!(
            again
                .iter()
                .all(|record| record.outcome == Outcome::Measured
                    && record.warnings[0].message.contains("cannot mount"))
        );
    }
}
