//! Figures that programs report, other than times, by phase. The counts of processors are costs.

use super::Lab;
use crate::document::{Block, Cell, Figure, Group, Overflow, RatioTo, Row, Section, Table};
use crate::figures::{Blocked, median_ratio, summary};
use crate::lists::unique;
use crate::terms::{self, Scale, figure_with_unit};
use fsdyno_model::{Better, ResultSet, Sample};

/// A figure of a phase, by contender.
struct Reported {
    phase: String,
    name: String,
    unit: String,
    better: Better,
    /// The figures of each contender by block.
    figures: Vec<Vec<Blocked>>,
}

/// The section; `None` if no program reported a figure.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let reported = reported(lab.set);
    if reported.is_empty() {
        return None;
    }
    let groups = reported.chunk_by(|one, next| one.phase == next.phase);
    let groups = groups.map(|of_phase| {
        let rows = of_phase.iter().map(Reported::row);
        Group::of_phase(of_phase[0].phase.clone(), rows.collect())
    });
    let name = "What the programs report";
    let table = Table {
        overflow: Overflow::SplitWithBaseline,
        ..Table::grouped(name, ["phase", "figure"], lab.columns(), groups)
    };
    Some(
        Section::new("reported", name)
            .with(Block::Legend(
                "As the programs measured it: medians, with min-max; the ratio is to the first \
                 contender in the same block. + more is better, - less is better."
                    .into(),
            ))
            .with(table),
    )
}

impl Reported {
    fn row(&self) -> Row {
        let sign = match self.better {
            Better::Higher => " +",
            Better::Lower => " -",
            Better::Neither => "",
        };
        let cells = (0..self.figures.len()).map(|at| Cell::known(self.figure(at), Cell::from));
        let name = format!("{}{sign}", figure_with_unit(&self.name, &self.unit));
        Row::new(name, cells.collect())
    }

    fn figure(&self, at: usize) -> Option<Figure> {
        let own = &self.figures[at];
        let summary = summary(own)?;
        Some(Figure {
            spread: (summary.n > 1).then_some((summary.min, summary.max)),
            ratio: match at {
                0 => RatioTo::Baseline,
                _ => RatioTo::plain(median_ratio(own, &self.figures[0])),
            },
            ..Figure::of(summary.median)
        })
    }
}

/// All figures, in the order in which they were reported.
fn reported(set: &ResultSet) -> Vec<Reported> {
    let plan = &set.run.plan;
    let mut all = Vec::new();
    for (workload, planned) in plan.workloads.iter().enumerate() {
        for (phase, of_phase) in planned.phases.iter().enumerate() {
            let samples = set.samples_of_all(workload, phase);
            let place = terms::phase(plan.workloads.len(), &planned.name, &of_phase.label);
            all.extend(of_samples(&terms::printable(&place), &samples));
        }
    }
    all
}

fn of_samples(phase: &str, samples: &[Vec<(u32, &Sample)>]) -> Vec<Reported> {
    let names = samples
        .iter()
        .flatten()
        .flat_map(|(_, sample)| &sample.figures)
        .filter(|figure| figure.is_of_program())
        .map(|figure| (figure.name.as_str(), figure.unit.as_str(), figure.better));
    let one = |(name, unit, better): (&str, &str, Better)| {
        let mut figures: Vec<Vec<(u32, f64)>> = samples
            .iter()
            .map(|of| {
                of.iter()
                    .filter_map(|(b, s)| Some((*b, named(s, name, unit)?)))
                    .collect()
            })
            .collect();
        let unit = readable(&mut figures, unit);
        Reported {
            phase: phase.to_owned(),
            name: terms::printable(name),
            unit,
            better,
            figures,
        }
    };
    unique(names).into_iter().map(one).collect()
}

/// Converts times in nanoseconds into the most readable unit. Returns the unit.
fn readable(figures: &mut [Vec<(u32, f64)>], unit: &str) -> String {
    if unit != "ns" {
        return terms::printable(unit);
    }
    let scale = Scale::of_times(figures.iter().flatten().map(|(_, time)| *time));
    for (_, time) in figures.iter_mut().flatten() {
        *time /= scale.ns();
    }
    scale.unit().to_owned()
}

fn named(sample: &Sample, name: &str, unit: &str) -> Option<f64> {
    let mut figures = sample.figures.iter();
    let figure = figures.find(|figure| figure.name == name && figure.unit == unit)?;
    Some(figure.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_readable_unit() {
        let mut figures = vec![vec![(0, 2.5e9), (1, 4e9)], vec![(0, 1e9)]];
        assert_eq!(readable(&mut figures, "ns"), "s");
        assert_eq!(figures, [vec![(0, 2.5), (1, 4.0)], vec![(0, 1.0)]]);
        let mut rates = vec![vec![(0, 2.5e9)]];
        assert_eq!(readable(&mut rates, "KiB/s"), "KiB/s");
        assert_eq!(rates, [[(0, 2.5e9)]]);
    }
}
