//! The interim standings: the comparisons with a baseline that are inconclusive, and those that are
//! decided.

use fsdyno_model::{Cell, CellRecord, FigureLine, Nanos, Outcome, ResultSet, RunInfo};
use fsdyno_stats::{Rule, Times, Verdict, judge_table, ratio_paired};
use std::collections::BTreeMap;

/// The measurements so far.
pub struct Standings {
    so_far: ResultSet,
    /// The last time of each phase, by contender, workload and label.
    last_times: BTreeMap<(u32, u32, String), Nanos>,
}

/// The state of all comparisons.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StandingsSummary {
    /// Inconclusive comparisons, the widest first.
    pub open: Vec<OpenOne>,
    /// Number of comparisons that are faster, slower, and equivalent.
    pub decided: [usize; 3],
}

/// An inconclusive comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOne {
    /// Workload and phase, or only the phase if the plan has one workload.
    pub phase: String,
    pub contender: String,
    pub baseline: String,
    /// The ratio so far with its bounds: an interval, or the smallest and largest ratio if there
    /// are too few pairs for one. `None` without a pair.
    pub ratio: Option<(f64, f64, f64)>,
    /// Whether the bounds are an interval.
    pub interval: bool,
}

impl OpenOne {
    /// The width of the bounds on a log scale.
    fn width(&self) -> f64 {
        self.ratio.map_or(f64::INFINITY, |(low, _, high)| {
            // A single pair has no spread.
            if self.interval || high > low {
                (high / low).ln()
            } else {
                f64::INFINITY
            }
        })
    }
}

impl Standings {
    pub fn new(run: &RunInfo, before: &[CellRecord]) -> Self {
        let mut standings = Self {
            so_far: ResultSet {
                schema: ResultSet::SCHEMA,
                run: run.clone(),
                cells: Vec::new(),
                variants: Vec::new(),
            },
            last_times: BTreeMap::new(),
        };
        for record in before {
            standings.note(record);
        }
        standings
    }

    /// Adds the figures of a cell.
    pub fn note(&mut self, record: &CellRecord) {
        self.so_far.cells.push(CellRecord {
            commands: Vec::new(),
            warnings: Vec::new(),
            ..record.clone()
        });
    }

    /// Records the time of a phase.
    pub fn note_time(&mut self, cell: Cell, label: &str, time: Nanos) {
        let key = (cell.contender, cell.workload, label.to_owned());
        self.last_times.insert(key, time);
    }

    /// The last time of a phase.
    pub fn usual(&self, cell: Cell, label: &str) -> Option<Nanos> {
        let key = (cell.contender, cell.workload, label.to_owned());
        self.last_times.get(&key).copied()
    }

    /// The current state of all comparisons.
    pub fn summarize(&self) -> StandingsSummary {
        let mut summary = StandingsSummary::default();
        let plan = &self.so_far.run.plan;
        let one_workload = plan.workloads.len() == 1;
        for share in self.so_far.labs() {
            let set = self.so_far.only(&share.contenders);
            let labels: Vec<&String> = set.run.plan.contenders.iter().map(|c| &c.label).collect();
            let lines = set.compared_lines();
            // The last line of a phase is about all its work.
            let of_phase = lines.chunk_by(|a, b| (a.workload, a.phase) == (b.workload, b.phase));
            let lines: Vec<&FigureLine> = of_phase.filter_map(<[FigureLine]>::last).collect();
            let times: Vec<Times> = lines.iter().map(|line| Times::from(*line)).collect();
            let table = judge_table(&times.iter().collect::<Vec<_>>(), &Rule::during(plan));
            for ((line, times), verdicts) in lines.iter().zip(&times).zip(table) {
                let figures = times.figures();
                let workload = &plan.workloads[line.workload];
                let phase = &workload.phases[line.phase].label;
                for one in 1..labels.len() {
                    if !self.runs(share.contenders[one]) {
                        continue;
                    }
                    match verdicts.of(one, 0) {
                        Some(Verdict::Faster) => summary.decided[0] += 1,
                        Some(Verdict::Slower) => summary.decided[1] += 1,
                        Some(Verdict::Equivalent) => summary.decided[2] += 1,
                        None | Some(Verdict::Inconclusive) => {
                            let ratio = ratio_paired(&figures[one], &figures[0]);
                            summary.open.push(OpenOne {
                                phase: if one_workload {
                                    phase.clone()
                                } else {
                                    format!("{}/{phase}", workload.name)
                                },
                                contender: labels[one].clone(),
                                baseline: labels[0].clone(),
                                ratio: ratio.map(|r| {
                                    let ends =
                                        r.interval.map_or((r.low, r.high), |i| (i.low, i.high));
                                    (ends.0, r.middle, ends.1)
                                }),
                                interval: ratio.is_some_and(|r| r.interval.is_some()),
                            });
                        }
                    }
                }
            }
        }
        summary.open.sort_by(|a, b| b.width().total_cmp(&a.width()));
        summary
    }

    /// Whether a contender has figures or can still get some: it was not skipped so far.
    fn runs(&self, contender: usize) -> bool {
        let mut cells = self.so_far.cells.iter();
        cells.any(|record| {
            let own = record.cell.contender as usize == contender;
            own && !matches!(record.outcome, Outcome::Skipped { .. })
        })
    }
}
