//! What programs report of themselves: figures beside the times, phase by phase.

use crate::terms::{self, Scale};
use fsdyno_model::units::three_digits;
use fsdyno_model::{Better, ResultSet, Sample};

/// One figure of one phase, all contenders.
#[derive(Debug, Clone)]
pub struct Told {
    /// The phase, with its workload where there are several.
    pub phase: String,
    /// What it is of.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction wins.
    pub better: Better,
    /// The figures of each contender, where there are any.
    pub values: Vec<Option<ToldValue>>,
}

/// The figures of one contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToldValue {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// How many there are.
    pub n: usize,
    /// The median of the ratios to the first contender within blocks; none for that one, and
    /// where no block has both.
    pub ratio: Option<f64>,
}

impl Told {
    /// Which direction wins, in words.
    pub fn direction(&self) -> &'static str {
        match self.better {
            Better::Higher => "more is better",
            Better::Lower => "less is better",
        }
    }
}

impl ToldValue {
    /// Median and range: `1234 (1200-1300)`.
    pub fn in_words(&self) -> String {
        let median = three_digits(self.median);
        if self.n < 2 {
            return median;
        }
        format!(
            "{median} ({}-{})",
            three_digits(self.min),
            three_digits(self.max)
        )
    }

    /// The ratio: `1.14x`; `base` for the first contender, nothing where there is none.
    pub fn ratio_in_words(&self, baseline: bool) -> String {
        match self.ratio {
            Some(ratio) => format!("{}x", terms::ratio(ratio)),
            None if baseline => "base".to_owned(),
            None => String::new(),
        }
    }
}

/// Everything that programs told, in the order they told it.
pub fn told(set: &ResultSet) -> Vec<Told> {
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

fn of_samples(phase: &str, samples: &[Vec<(u32, &Sample)>]) -> Vec<Told> {
    let mut names: Vec<(&str, &str, Better)> = Vec::new();
    for figure in samples
        .iter()
        .flatten()
        .flat_map(|(_, sample)| &sample.figures)
    {
        let name = (figure.name.as_str(), figure.unit.as_str(), figure.better);
        if !names.contains(&name) {
            names.push(name);
        }
    }
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
        Told {
            phase: phase.to_owned(),
            name: terms::printable(name),
            unit,
            better,
            values: (0..figures.len()).map(|at| value(&figures, at)).collect(),
        }
    };
    names.into_iter().map(one).collect()
}

/// Brings times in nanoseconds into the unit in which they are read best; the unit.
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

fn value(figures: &[Vec<(u32, f64)>], at: usize) -> Option<ToldValue> {
    let own = &figures[at];
    let median_of = |values: Vec<f64>| fsdyno_stats::Summary::of(&values);
    let summary = median_of(own.iter().map(|(_, value)| *value).collect())?;
    let pairs = own.iter().filter_map(|(block, value)| {
        let (_, base) = figures[0].iter().find(|(other, _)| other == block)?;
        (*base != 0.0).then(|| value / base)
    });
    let ratio = if at == 0 {
        None
    } else {
        median_of(pairs.collect())
    };
    Some(ToldValue {
        median: summary.median,
        min: summary.min,
        max: summary.max,
        n: own.len(),
        ratio: ratio.map(|ratios| ratios.median),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_unit_in_which_they_are_read_best() {
        let mut figures = vec![vec![(0, 2.5e9), (1, 4e9)], vec![(0, 1e9)]];
        assert_eq!(readable(&mut figures, "ns"), "s");
        assert_eq!(figures, [vec![(0, 2.5), (1, 4.0)], vec![(0, 1.0)]]);
        let mut rates = vec![vec![(0, 2.5e9)]];
        assert_eq!(readable(&mut rates, "KiB/s"), "KiB/s");
        assert_eq!(rates, [[(0, 2.5e9)]]);
    }
}
