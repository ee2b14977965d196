//! All phases of a workload in a table of its own, a row for each time, in one unit: the layout in
//! which comparisons have been published. Spreads, amounts and methods stand in the long tables.

use super::{Comparison, Cost, Line, Measure, WorkloadTable, fragments::Found};
use crate::terms::Scale;

/// From so many phases on, the long tables of a workload no longer show it at a glance.
const MANY: usize = 4;

/// The table of one workload.
#[derive(Debug)]
pub struct Glance<'a> {
    /// The workload.
    pub workload: &'a WorkloadTable,
    /// The unit of its times.
    pub(crate) scale: Scale,
    /// Its rows, in the order of the phases.
    pub rows: Vec<Row<'a>>,
}

/// One row.
#[derive(Debug)]
pub struct Row<'a> {
    /// The phase.
    pub phase: &'a str,
    /// Whether it is the first of its phase.
    pub first: bool,
    /// What it shows.
    pub figures: Figures<'a>,
}

/// What a row shows.
#[derive(Debug)]
pub enum Figures<'a> {
    /// A time, by contender.
    Times(&'a Line),
    /// Fragments a file after the phase, by contender, in words; none where nothing was found.
    Fragments(Vec<Option<String>>),
}

impl Figures<'_> {
    /// What its figures are of.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Times(line) => line.measure.name(),
            Self::Fragments(_) => "extents per file",
        }
    }
}

impl Row<'_> {
    /// What it is called where the time to return goes without saying: `copy`, `copy, durable`.
    pub fn name(&self) -> String {
        match &self.figures {
            Figures::Times(line) if line.measure == Measure::Return => self.phase.to_owned(),
            figures => format!("{}, {}", self.phase, figures.name()),
        }
    }
}

impl Glance<'_> {
    /// Whether its workload has many phases.
    pub fn is_long(&self) -> bool {
        self.rows.iter().filter(|row| row.first).count() >= MANY
    }
}

impl Comparison {
    /// The tables of all workloads that were measured.
    pub fn glances(&self, clock: bool) -> Vec<Glance<'_>> {
        let workloads = self.workloads.iter().enumerate();
        let measured = workloads.filter(|(_, workload)| workload.measured());
        let glance = |(at, workload)| self.glance(at, workload, clock);
        measured.map(glance).collect()
    }

    /// The tables of workloads that have many phases.
    pub fn long_glances(&self, clock: bool) -> Vec<Glance<'_>> {
        let mut glances = self.glances(clock);
        glances.retain(Glance::is_long);
        glances
    }

    /// Of which files the fragments are, where not of all; otherwise empty.
    pub fn glance_note(&self) -> String {
        self.fragments.above.map_or_else(String::new, |above| {
            format!(" Extents are of files larger than {above} alone.")
        })
    }

    fn glance<'a>(&'a self, at: usize, workload: &'a WorkloadTable, clock: bool) -> Glance<'a> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for (number, phase) in workload.phases.iter().enumerate() {
            let times = phase.lines.iter().map(Figures::Times);
            // Names and links leave the fragments of data as they were.
            let stores = phase.costs.iter().flatten().any(Cost::stores_data);
            let fragments = self.fragments_after(at, number).filter(|_| stores);
            let fragments = fragments.map(Figures::Fragments);
            for (place, figures) in times.chain(fragments).enumerate() {
                rows.push(Row {
                    phase: &phase.label,
                    first: place == 0,
                    figures,
                });
            }
        }
        let lines = workload.phases.iter().flat_map(|phase| &phase.lines);
        let values = lines.flat_map(|line| line.values.iter().flatten());
        let scale = one_unit(values.map(|value| value.summary.median), clock);
        Glance {
            workload,
            scale,
            rows,
        }
    }

    fn fragments_after(&self, workload: usize, phase: usize) -> Option<Vec<Option<String>>> {
        let mut counted = self.fragments.phases.iter();
        let counted = counted.find(|c| (c.workload, c.phase) == (workload, phase))?;
        let of = |contender| {
            let mut found = counted.contenders.iter();
            match found.find(|(at, _)| *at == contender)? {
                (_, Found::Told(told)) => told.per_file.map(|_| told.per_file_in_words()),
                (_, Found::Unavailable(_)) => None,
            }
        };
        Some((0..self.contenders.len()).map(of).collect())
    }
}

/// The unit of the longest time, or one in which the shortest still has three digits.
fn one_unit(medians: impl Iterator<Item = f64> + Clone, clock: bool) -> Scale {
    if clock {
        return Scale::Clock;
    }
    let shortest = medians.clone().fold(f64::INFINITY, f64::min);
    let longest = medians.clone().fold(0.0, f64::max);
    let unit = Scale::of_times(std::iter::once(longest));
    // Shown with at most four digits behind the point.
    if shortest >= 0.01 * unit.ns() {
        unit
    } else {
        Scale::of_times(medians)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_unless_that_would_hide_the_digits_of_the_shortest() {
        let unit = |times: &[f64]| one_unit(times.iter().copied(), false).unit();
        assert_eq!(unit(&[0.02e9, 150e9]), "s");
        assert_eq!(unit(&[0.02e9, 0.9e9]), "ms");
        assert_eq!(unit(&[0.0002e9, 1.4e9]), "ms");
        assert_eq!(unit(&[0.0002e9, 150e9]), "s");
        assert_eq!(unit(&[]), "ns");
    }
}
