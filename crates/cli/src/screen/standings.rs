//! How the contenders stand so far: which comparisons with a baseline are open, and which decided.

use fsdyno_model::{Cell, CellRecord, Nanos, Outcome, ResultSet, RunInfo};
use fsdyno_stats::{Rule, Verdict, judge_table, ratio_paired};
use std::collections::BTreeMap;

/// What was measured so far.
pub struct Standings {
    so_far: ResultSet,
    /// What phases of contenders took last, by contender, workload and label.
    took: BTreeMap<(u32, u32, String), Nanos>,
}

/// What is known of all comparisons.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Told {
    /// Those that are not decided, the widest first.
    pub open: Vec<OpenOne>,
    /// How many are decided as faster, slower, and within the margin.
    pub decided: [usize; 3],
}

/// A comparison that is not decided.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOne {
    /// Workload and phase, or the phase where there is one workload.
    pub phase: String,
    /// Who is compared.
    pub contender: String,
    /// With whom.
    pub baseline: String,
    /// The ratio so far, and between what it lies: an interval, or, where there are too few pairs
    /// for one, the smallest and the largest; none without a pair.
    pub ratio: Option<(f64, f64, f64)>,
    /// Whether that is an interval.
    pub interval: bool,
}

impl OpenOne {
    /// How little is known: how far the ends lie apart.
    fn width(&self) -> f64 {
        self.ratio.map_or(f64::INFINITY, |(low, _, high)| {
            // Of a single pair nothing is known.
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
            },
            took: BTreeMap::new(),
        };
        for record in before {
            standings.note(record);
        }
        standings
    }

    /// Takes a cell in; its figures are what matters.
    pub fn note(&mut self, record: &CellRecord) {
        self.so_far.cells.push(CellRecord {
            commands: Vec::new(),
            warnings: Vec::new(),
            ..record.clone()
        });
    }

    /// A phase took so long.
    pub fn took(&mut self, cell: Cell, label: &str, time: Nanos) {
        let key = (cell.contender, cell.workload, label.to_owned());
        self.took.insert(key, time);
    }

    /// What a phase took last.
    pub fn usual(&self, cell: Cell, label: &str) -> Option<Nanos> {
        let key = (cell.contender, cell.workload, label.to_owned());
        self.took.get(&key).copied()
    }

    /// How all stand now.
    pub fn told(&self) -> Told {
        let mut told = Told::default();
        let plan = &self.so_far.run.plan;
        let one_workload = plan.workloads.len() == 1;
        for share in self.so_far.labs() {
            let set = self.so_far.only(&share.contenders);
            let labels: Vec<&String> = set.run.plan.contenders.iter().map(|c| &c.label).collect();
            let mut lines = set.time_lines();
            // The time to durable is that of the work, where there is one.
            let durable: Vec<_> = lines.iter().filter(|line| line.durable).collect();
            let whole: Vec<_> = durable.iter().map(|l| (l.workload, l.phase)).collect();
            lines.retain(|line| line.durable || !whole.contains(&(line.workload, line.phase)));
            let times: Vec<_> = lines.iter().map(|line| &line.times[..]).collect();
            for (line, verdicts) in lines.iter().zip(judge_table(&times, &Rule::of(plan))) {
                let workload = &plan.workloads[line.workload];
                let phase = &workload.phases[line.phase].label;
                for one in 1..labels.len() {
                    if !self.runs(share.contenders[one]) {
                        continue;
                    }
                    match verdicts.of(one, 0) {
                        Some(Verdict::Faster) => told.decided[0] += 1,
                        Some(Verdict::Slower) => told.decided[1] += 1,
                        Some(Verdict::Indistinguishable) => told.decided[2] += 1,
                        None | Some(Verdict::Open) => {
                            let ratio = ratio_paired(&line.times[one], &line.times[0]);
                            told.open.push(OpenOne {
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
        told.open.sort_by(|a, b| b.width().total_cmp(&a.width()));
        told
    }

    /// Whether anything is known, or may still be, of a contender: it was not skipped so far.
    fn runs(&self, contender: usize) -> bool {
        let mut cells = self.so_far.cells.iter();
        cells.any(|record| {
            let own = record.cell.contender as usize == contender;
            own && !matches!(record.outcome, Outcome::Skipped { .. })
        })
    }
}
