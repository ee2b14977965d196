//! The compared figures of a run: one line per phase and figure, by contender.

use crate::disk_use::Point;
use crate::figures::FigureName;
use crate::kernel_work::KernelWork;
use crate::plan::DecidingFigure;
use crate::result::{BlockFigures, ResultSet};
use crate::sample::{Better, Probe, Sample};

impl Sample {
    /// The work of the kernel during the compared time ([`Sample::whole_ns`]). `None` if it was not
    /// counted.
    pub fn whole_kernel_work(&self) -> Option<&KernelWork> {
        let whole = match self.durable_ns {
            Some(_) => Point::Durable,
            None => Point::Returned,
        };
        self.kernel_work_until(whole)
    }

    /// The work of the kernel from the begin of the phase to this point. `None` if it was not counted.
    pub fn kernel_work_until(&self, point: Point) -> Option<&KernelWork> {
        self.kernel.iter().find(|work| work.until == point)
    }
}

/// One figure of one phase, for all contenders.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureLine {
    /// The workload, by its index in the plan.
    pub workload: usize,
    /// The phase, by its index in the workload.
    pub phase: usize,
    /// The figure.
    pub figure: FigureName,
    /// Its unit.
    pub unit: String,
    /// Which of two values is better.
    pub better: Better,
    /// The figures of each contender, each with its block.
    pub figures: Vec<BlockFigures>,
    /// The speed of the machine before each of these figures, in the same order.
    pub probes: Vec<Vec<Option<Probe>>>,
}

impl ResultSet {
    /// All times of a run, in the order of its phases: to return, and to durable if it was
    /// measured.
    pub fn time_lines(&self) -> Vec<FigureLine> {
        self.lines_of(&FigureName::TIMES)
    }

    /// The lines that verdicts are about, in the order of the phases: the figure that a phase is
    /// judged by; without one its times.
    pub fn compared_lines(&self) -> Vec<FigureLine> {
        self.lines(|workload, phase| {
            let phase = &self.run.plan.workloads[workload].phases[phase];
            match &phase.judge {
                Some(judged) => vec![judged.clone()],
                None => FigureName::TIMES.to_vec(),
            }
        })
    }

    /// These figures of a run, in the order of its phases. A figure without a value has no line.
    pub fn lines_of(&self, figures: &[FigureName]) -> Vec<FigureLine> {
        self.lines(|_, _| figures.to_vec())
    }

    fn lines(&self, figures: impl Fn(usize, usize) -> Vec<FigureName>) -> Vec<FigureLine> {
        let mut lines = Vec::new();
        for (workload, planned) in self.run.plan.workloads.iter().enumerate() {
            for phase in 0..planned.phases.len() {
                let samples = self.samples_of_all(workload, phase);
                let figures = figures(workload, phase).into_iter();
                lines.extend(figures.filter_map(|figure| {
                    let line = FigureLine::of(&figure, &samples)?;
                    Some(FigureLine {
                        workload,
                        phase,
                        ..line
                    })
                }));
            }
        }
        lines
    }

    /// A figure of each contender, each with its block, by workload.
    pub fn deciding_lines(&self, decides: &DecidingFigure) -> Vec<FigureLine> {
        self.lines(|workload, phase| {
            let planned = &self.run.plan.workloads[workload].phases[phase];
            let decides = Some(decides).filter(|one| one.phase == planned.label);
            decides.map(|one| one.figure.clone()).into_iter().collect()
        })
    }
}

impl FigureLine {
    /// A figure of a phase, from its samples by contender. `None` if it was not measured. Where
    /// nothing is written, the time to durable is that to return, and has no line of its own.
    pub fn of(figure: &FigureName, samples: &[Vec<(u32, &Sample)>]) -> Option<Self> {
        let mut all = samples.iter().flatten();
        if *figure == FigureName::DURABLE && all.all(|(_, sample)| sample.durable_ns.is_none()) {
            return None;
        }
        let mut all = samples.iter().flatten();
        let first = all.find_map(|(_, sample)| figure.read(sample))?;
        let of_contender = |of_one: &Vec<(u32, &Sample)>| -> (BlockFigures, Vec<_>) {
            let values = of_one.iter().filter_map(|(block, sample)| {
                let reading = figure.read(sample).filter(|one| one.unit == first.unit)?;
                Some(((*block, reading.value), sample.probe))
            });
            values.unzip()
        };
        let (figures, probes) = samples.iter().map(of_contender).unzip();
        Some(Self {
            workload: 0,
            phase: 0,
            figure: figure.clone(),
            unit: first.unit.to_owned(),
            better: first.better,
            figures,
            probes,
        })
    }
}
