//! The conductor: runs the cells of a plan in order and reports events.
//!
//! It does not know how a cell runs (a [`Lab`] does) or where events go (store, screen, log).

use crate::open::Open;
use crate::schedule::schedule;
use fsdyno_lab::Lab;
use fsdyno_model::{CellRecord, Event, Plan, RunInfo, StopReason};
use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs all cells of `run` that are not recorded in `before`. If the plan has a variable number of
/// repeats, it runs only the cells that are still needed. The listener receives every event. An
/// error of the listener (a full disk under the store) ends the run and is returned.
pub fn conduct<E>(
    run: &RunInfo,
    before: &[CellRecord],
    lab: &mut dyn Lab,
    listener: &mut dyn FnMut(&Event) -> Result<(), E>,
) -> Result<StopReason, E> {
    let cells = schedule(&run.plan);
    let done: BTreeSet<u32> = before.iter().map(|record| record.cell.index).collect();
    let mut open = Open::new(run, before);
    let started = Event::RunStarted {
        run: Box::new(run.clone()),
        done: u32::try_from(done.len()).unwrap_or(u32::MAX),
        cells: u32::try_from(cells.len()).unwrap_or(u32::MAX),
    };
    listener(&started)?;
    let mut budget = Budget::new(&run.plan);
    let mut reason = StopReason::Complete;
    for cell in cells.iter().filter(|cell| !done.contains(&cell.index)) {
        if lab.stop_requested() {
            reason = StopReason::Interrupted;
            break;
        }
        if let Some(analysis) = open.interim_analysis(cell.block) {
            listener(&Event::Looked {
                blocks: analysis.blocks,
                open: analysis.open,
                of: analysis.of,
            })?;
        }
        if !open.needs(*cell) {
            continue;
        }
        if budget.spent(cell.block) {
            reason = StopReason::Budget;
            break;
        }
        let mut trouble = None;
        listener(&Event::CellStarted { cell: *cell })?;
        let record = lab.run_cell(&run.plan, *cell, &mut |event| {
            if trouble.is_none() {
                trouble = listener(&event).err();
            }
        });
        if let Some(error) = trouble {
            return Err(error);
        }
        let Some(record) = record else {
            reason = StopReason::Interrupted;
            break;
        };
        open.note(&record);
        listener(&Event::CellEnded {
            record: Box::new(record),
        })?;
    }
    listener(&Event::RunEnded {
        reason,
        at_unix_ns: unix_now(),
    })?;
    Ok(reason)
}

/// Nanoseconds since 1970 (UTC).
pub fn unix_now() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
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
    use crate::fixture::plan;
    use fsdyno_model::{
        Adaptive, CacheEvidence, CacheState, Cell, Nanos, Outcome, Provenance, Sample,
    };
    use std::convert::Infallible;

    /// A lab without file systems that can be stopped after some cells.
    struct Paper {
        left: usize,
        pace: Duration,
        /// The time of a cell of each contender, to which a little noise is added. If empty,
        /// nothing is measured.
        takes: Vec<f64>,
    }

    impl Lab for Paper {
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
                        vec![sample(takes * (1.0 + 0.02 * noise))]
                    }),
                commands: Vec::new(),
                effective: Vec::new(),
                warnings: Vec::new(),
            })
        }

        fn stop_requested(&self) -> bool {
            false
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
        lab: &mut Paper,
    ) -> (Vec<CellRecord>, StopReason) {
        let mut cells = Vec::new();
        let reason = conduct(run, before, lab, &mut |event| {
            if let Event::CellEnded { record } = event {
                cells.push(CellRecord::clone(record));
            }
            Ok::<(), Infallible>(())
        });
        (cells, reason.unwrap())
    }

    #[test]
    fn an_interrupted_run_resumes_without_losing_or_repeating_a_cell() {
        let run = run_info(plan(3, 2, 2));
        let mut lab = Paper {
            left: 5,
            pace: Duration::ZERO,
            takes: Vec::new(),
        };
        let (first, reason) = recorded(&run, &[], &mut lab);
        assert_eq!((first.len(), reason), (5, StopReason::Interrupted));
        let mut lab = Paper {
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
        let mut lab = Paper {
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
        let mut lab = Paper {
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
        let mut lab = Paper {
            left: 100,
            pace: Duration::ZERO,
            takes: Vec::new(),
        };
        let result = conduct(&run, &[], &mut lab, &mut |event| match event {
            Event::CellEnded { .. } => Err("the store is full"),
            _ => Ok(()),
        });
        assert_eq!(result, Err("the store is full"));
    }

    #[test]
    fn repeats_go_to_inconclusive_contenders_also_after_a_resume() {
        let mut plan = plan(3, 1, 3);
        plan.adaptive = Some(Adaptive {
            precision: 0.005,
            most: 40,
            fewest: 0,
        });
        let run = run_info(plan);
        let lab = |left| Paper {
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
}
