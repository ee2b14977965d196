//! The compared figures of a run: one line per phase and metric, by contender.

use crate::disk_use::Point;
use crate::hardware::HardwareEvent;
use crate::kernel_work::KernelWork;
use crate::result::ResultSet;
use crate::sample::{Probe, Sample};

/// A figure of a sample that contenders and runs are compared by. Less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The time until the work returned.
    Return,
    /// The time until it was durable.
    Durable,
    /// Basic blocks that the kernel of a guest executed during the whole phase.
    Blocks,
    /// Instructions of the workload, its own and in the kernel, that the processors counted.
    Instructions,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 4] = [
        Self::Return,
        Self::Durable,
        Self::Blocks,
        Self::Instructions,
    ];

    /// The times.
    pub const TIMES: [Self; 2] = [Self::Return, Self::Durable];

    /// The name in thresholds and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Return => "return",
            Self::Durable => "durable",
            Self::Blocks => "blocks",
            Self::Instructions => "instructions",
        }
    }

    /// The metric with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Whether it is a time; otherwise a count.
    pub fn is_time(self) -> bool {
        Self::TIMES.contains(&self)
    }

    /// The figure of a sample: nanoseconds or a count. `None` if it was not measured.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        let figure = match self {
            Self::Return => sample.return_ns.0,
            Self::Durable => sample.durable_ns?.0,
            Self::Blocks => sample.whole_kernel_work()?.blocks(),
            Self::Instructions => {
                HardwareEvent::UserInstructions.of(sample)?
                    + HardwareEvent::KernelInstructions.of(sample)?
            }
        };
        Some(figure as f64)
    }
}

impl Sample {
    /// The work of the kernel during the compared time ([`Sample::whole_ns`]). `None` if it was not
    /// counted.
    pub fn whole_kernel_work(&self) -> Option<&KernelWork> {
        let whole = match self.durable_ns {
            Some(_) => Point::Durable,
            None => Point::Returned,
        };
        self.kernel.iter().find(|work| work.until == whole)
    }
}

/// One metric of one phase, for all contenders.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricLine {
    /// The workload, by its index in the plan.
    pub workload: usize,
    /// The phase, by its index in the workload.
    pub phase: usize,
    /// The metric.
    pub metric: Metric,
    /// The figures of each contender, each with its block.
    pub figures: Vec<Vec<(u32, f64)>>,
    /// The speed of the machine before each of these figures, in the same order.
    pub probes: Vec<Vec<Option<Probe>>>,
}

impl ResultSet {
    /// All times of a run, in the order of its phases: to return, and to durable if it was
    /// measured.
    pub fn time_lines(&self) -> Vec<MetricLine> {
        self.lines_of(&Metric::TIMES)
    }

    /// These metrics of a run, in the order of its phases. A metric without a figure has no line.
    pub fn lines_of(&self, metrics: &[Metric]) -> Vec<MetricLine> {
        let mut lines = Vec::new();
        for (workload, planned) in self.run.plan.workloads.iter().enumerate() {
            for phase in 0..planned.phases.len() {
                let samples = self.samples_of_all(workload, phase);
                for metric in metrics.iter().copied() {
                    let of = |of_one: &Vec<(u32, &Sample)>| -> (Vec<(u32, f64)>, Vec<_>) {
                        let figures = of_one.iter().filter_map(|(block, sample)| {
                            Some(((*block, metric.of(sample)?), sample.probe))
                        });
                        figures.unzip()
                    };
                    let (figures, probes): (Vec<_>, _) = samples.iter().map(of).unzip();
                    if figures.iter().any(|of_one| !of_one.is_empty()) {
                        lines.push(MetricLine {
                            workload,
                            phase,
                            metric,
                            figures,
                            probes,
                        });
                    }
                }
            }
        }
        lines
    }
}
