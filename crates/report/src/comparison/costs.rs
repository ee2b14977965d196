//! The cost of a phase besides time (processors, devices, space), and its amount of work.

use crate::lists::unique;
use crate::terms;
use fsdyno_model::{FigureName, Sample, Tally};
use fsdyno_stats::{median, median_whole};

/// The medians of the figures that are costs, over the samples of one contender in one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    medians: Vec<(FigureName, f64)>,
    /// Whether the phase stored file data.
    pub stores_data: bool,
}

impl Cost {
    pub(super) fn of(samples: &[(u32, &Sample)]) -> Option<Self> {
        let medians = FigureName::costs().filter_map(|(definition, _)| {
            let figure = FigureName::new(definition.name);
            let values = samples
                .iter()
                .filter_map(|(_, sample)| figure.value(sample));
            let median = median(&values.collect::<Vec<_>>())?;
            Some((figure, median))
        });
        let data = median_whole(samples.iter().map(|(_, sample)| sample.tally.bytes.0))?;
        let mut samples = samples.iter();
        Some(Self {
            medians: medians.collect(),
            stores_data: data > 0 && samples.all(|(_, sample)| sample.durable_ns.is_some()),
        })
    }

    /// The median of a figure; none if it was not measured.
    pub fn median(&self, figure: &FigureName) -> Option<f64> {
        let mut medians = self.medians.iter();
        Some(medians.find(|(name, _)| name == figure)?.1)
    }
}

/// The methods of these samples, usually one; with the engine if it is not the plan's.
pub(super) fn how(samples: &[Vec<(u32, &Sample)>], planned: &str) -> String {
    let how = samples.iter().flatten().map(|(_, sample)| {
        let engine = if sample.engine == planned {
            ""
        } else {
            &sample.engine
        };
        let parts = [engine, &sample.method].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        terms::printable(&parts.join(", "))
    });
    unique(how.filter(|text| !text.is_empty())).join(" / ")
}

/// The amount of work, from the first sample. It is the same for all with one seed, unless the seed
/// varies.
pub(super) fn amount(samples: &[Vec<(u32, &Sample)>]) -> String {
    let mut all = samples.iter().flatten();
    let Some((first, sample)) = all.next() else {
        return String::new();
    };
    let others = all.any(|(block, other)| block != first && other.tally != sample.tally);
    let tally = sample.tally;
    if tally == Tally::default() {
        // Programs do not report their amount of work.
        return String::new();
    }
    let number = |n: u64, one: &str, many: &str| {
        format!("{} {}", terms::grouped(n), if n == 1 { one } else { many })
    };
    let mut parts = vec![number(tally.files, "file", "files")];
    if tally.directories > 0 {
        parts.push(number(tally.directories, "dir", "dirs"));
    }
    if tally.bytes.0 > 0 {
        parts.push(tally.bytes.to_string());
    }
    if tally.matches > 0 {
        parts.push(number(tally.matches, "match", "matches"));
    }
    let amount = parts.join(", ");
    if others {
        return format!("{amount} (in block {}; others differ)", first + 1);
    }
    amount
}
