//! The compared times of a run: one line per phase and time, by contender.

use crate::result::ResultSet;

/// One time of one phase, for all contenders.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeLine {
    /// The workload, by its index in the plan.
    pub workload: usize,
    /// The phase, by its index in the workload.
    pub phase: usize,
    /// Whether it is the time to durable; otherwise to return.
    pub durable: bool,
    /// The times of each contender in nanoseconds, each with its block.
    pub times: Vec<Vec<(u32, f64)>>,
}

impl ResultSet {
    /// All times of a run, in the order of its phases: to return, and to durable if it was
    /// measured.
    pub fn time_lines(&self) -> Vec<TimeLine> {
        let mut lines = Vec::new();
        for (workload, planned) in self.run.plan.workloads.iter().enumerate() {
            for phase in 0..planned.phases.len() {
                let samples = self.samples_of_all(workload, phase);
                for durable in [false, true] {
                    let of = |of_one: &Vec<(u32, &crate::Sample)>| -> Vec<(u32, f64)> {
                        let times = of_one.iter().filter_map(|(block, sample)| {
                            let time = if durable {
                                sample.durable_ns?
                            } else {
                                sample.return_ns
                            };
                            Some((*block, time.0 as f64))
                        });
                        times.collect()
                    };
                    let times: Vec<_> = samples.iter().map(of).collect();
                    if times.iter().any(|times| !times.is_empty()) {
                        lines.push(TimeLine {
                            workload,
                            phase,
                            durable,
                            times,
                        });
                    }
                }
            }
        }
        lines
    }
}
