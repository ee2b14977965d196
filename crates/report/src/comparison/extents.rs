//! The extents of files on the devices after phases that write, if they were counted.

use crate::document::Cell;
use crate::terms;
use fsdyno_model::{Bytes, CacheState, Fragmentation, ResultSet, Sample};
use fsdyno_stats::{median, median_whole};
use std::collections::BTreeMap;

/// All counts of extents of a comparison.
#[derive(Debug, Clone)]
pub struct ExtentCounts {
    /// Only files above this size are counted; `None` if every file counts.
    pub above: Option<Bytes>,
    /// The heading; it names the selection of files if not all count.
    pub heading: String,
    /// The legend of the figures.
    pub about: String,
    /// The phases after which extents were counted; empty if the plan did not request it.
    pub phases: Vec<Counted>,
}

/// A phase after which extents were counted.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The workload and the phase, as a heading.
    pub place: String,
    /// The workload, by index in the plan.
    pub workload: usize,
    /// The phase, by index in the workload.
    pub phase: usize,
    /// The counts of the contenders, by index.
    pub contenders: Vec<(usize, Found)>,
}

/// The counts of one contender.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The figures.
    Counted(ExtentSummary),
    /// The reason why there are none.
    Unavailable(String),
}

/// The medians of the counts of one contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtentSummary {
    /// Regular files counted.
    pub files: u64,
    /// Extents of all of them.
    pub extents: u64,
    /// Extents per file; `None` if there are no files.
    pub per_file: Option<f64>,
    /// The share of files with more than one extent, percent.
    pub fragmented_percent: Option<f64>,
    /// The size class of the median extent of all counts: 2^n to 2^(n+1) - 1 bytes.
    pub median_class: Option<u32>,
    /// The size class of the largest extent.
    pub largest_class: Option<u32>,
}

impl ExtentCounts {
    /// The selection of files, if not all count; otherwise empty.
    pub fn note(&self) -> String {
        self.above.map_or_else(String::new, |above| {
            format!(" Extents are of files larger than {above} alone.")
        })
    }

    pub(super) fn of(set: &ResultSet) -> Self {
        let phases = counted(set);
        Self {
            above: above(set),
            heading: above(set).map_or_else(
                || "Fragmentation".to_owned(),
                |above| format!("Fragmentation of files larger than {above}"),
            ),
            about: about(set, &phases),
            phases,
        }
    }
}

fn counted(set: &ResultSet) -> Vec<Counted> {
    let plan = &set.run.plan;
    let mut all = Vec::new();
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let samples = set.samples_of_all(w, p).into_iter().enumerate();
            let contenders: Vec<(usize, Found)> = samples
                .filter_map(|(c, of)| Some((c, Found::of(&of)?)))
                .collect();
            if contenders.is_empty() {
                continue;
            }
            let place = terms::phase(
                plan.workloads.len(),
                &terms::printable(&workload.name),
                &terms::printable(&phase.label),
            );
            all.push(Counted {
                place,
                workload: w,
                phase: p,
                contenders,
            });
        }
    }
    all
}

impl Found {
    fn of(samples: &[(u32, &Sample)]) -> Option<Self> {
        let counts: Vec<&Fragmentation> = samples
            .iter()
            .filter_map(|(_, sample)| sample.fragmentation.as_ref())
            .collect();
        if let Some(reason) = counts.iter().find_map(|c| c.unavailable.as_ref()) {
            return Some(Self::Unavailable(terms::printable(reason)));
        }
        ExtentSummary::of(&counts).map(Self::Counted)
    }
}

impl ExtentSummary {
    /// `None` of no counts.
    fn of(counts: &[&Fragmentation]) -> Option<Self> {
        let median_of = |figure: &dyn Fn(&Fragmentation) -> Option<f64>| {
            let figures: Vec<f64> = counts.iter().filter_map(|count| figure(count)).collect();
            median(&figures)
        };
        let mut by_size = BTreeMap::<u32, u64>::new();
        for (class, number) in counts.iter().flat_map(|c| (0..).zip(&c.extents_by_size)) {
            *by_size.entry(class).or_default() += number;
        }
        by_size.retain(|_, number| *number > 0);
        let half = by_size.values().sum::<u64>().div_ceil(2);
        let mut below = 0;
        let median_class = by_size.iter().find(|(_, number)| {
            below += **number;
            below >= half
        });
        Some(Self {
            files: median_whole(counts.iter().map(|count| count.files))?,
            extents: median_whole(counts.iter().map(|count| count.extents))?,
            per_file: median_of(&Fragmentation::per_file),
            fragmented_percent: median_of(&|count| {
                let files = count.per_file().map(|_| count.files as f64)?;
                Some(100.0 * count.fragmented as f64 / files)
            }),
            median_class: median_class.map(|(class, _)| *class),
            largest_class: by_size.keys().next_back().copied(),
        })
    }

    /// A size class as a cell: its smallest size.
    pub fn class_cell(class: Option<u32>) -> Cell {
        Cell::known(class, |class| Cell::Text(class_text(class)))
    }

    /// Extents per file, with enough digits to distinguish 1.001 from 1.
    pub fn per_file_cell(&self) -> Cell {
        Cell::known(self.per_file, |of| {
            Cell::Text(match of {
                of if of < 9.9995 => format!("{of:.3}"),
                of => terms::ratio(of),
            })
        })
    }
}

/// The smallest size of a class as text: `4 KiB` for all extents of 4 to 8 KiB.
fn class_text(class: u32) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = UNITS.get(class as usize / 10).unwrap_or(&"EiB");
    format!("{} {unit}", 1_u32 << (class % 10))
}

/// Only files above this size are counted; `None` if every file counts.
fn above(set: &ResultSet) -> Option<Bytes> {
    let mut samples = set.cells.iter().flat_map(|record| &record.samples);
    let floor = samples.find_map(|sample| Some(sample.fragmentation.as_ref()?.floor))?;
    (floor.0 > 1).then(|| Bytes(floor.0 - 1))
}

fn about(set: &ResultSet, counted: &[Counted]) -> String {
    let plan = &set.run.plan;
    let whose = above(set).map_or_else(
        || "all files that stood then".to_owned(),
        |above| format!("the files larger than {above} that stood then, and no others"),
    );
    let mut text = format!(
        "Counted untimed after phases that write, over {whose}. An extent is a run that is \
         contiguous in its file and on the device, as filefrag counts; compressed data counts in \
         the pieces that the file system reports. Median and largest are sizes of extents: at \
         least that, and less than twice that."
    );
    if plan.repeats > 1 {
        text += " Figures are medians of the repeats; sizes are those of all extents.";
    }
    let disturbed = counted.iter().any(|count| {
        let next = plan.workloads[count.workload].phases.get(count.phase + 1);
        next.is_some_and(|phase| phase.cache == CacheState::AsIs)
    });
    if disturbed {
        text += " A phase that begins as-is, directly after a count, finds inodes and maps of \
                 extents in memory.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_read_as_sizes() {
        for (class, words) in [(0, "1 B"), (12, "4 KiB"), (19, "512 KiB"), (20, "1 MiB")] {
            assert_eq!(class_text(class), words);
        }
        assert_eq!(class_text(63), "8 EiB");
    }

    #[test]
    fn the_median_extent_is_found_in_the_size_classes() {
        let count = |by_size: &[u64]| Fragmentation {
            files: 2,
            extents: by_size.iter().sum(),
            extents_by_size: by_size.to_vec(),
            ..Fragmentation::default()
        };
        let summary_of = |by_size: &[u64]| ExtentSummary::of(&[&count(by_size)]).unwrap();
        let classes = |by_size: &[u64]| {
            let summary_of = summary_of(by_size);
            (summary_of.median_class, summary_of.largest_class)
        };
        assert_eq!(classes(&[]), (None, None));
        assert_eq!(classes(&[0, 3, 1, 0]), (Some(1), Some(2)));
        assert_eq!(classes(&[0, 1, 0, 2]), (Some(3), Some(3)));
        let three = summary_of(&[0, 3]);
        assert_eq!(three.per_file_cell(), Cell::Text("1.500".to_owned()));
        assert_eq!(three.fragmented_percent, Some(0.0));

        // Of two counts: the means of both, and the sizes of all extents.
        let both = ExtentSummary::of(&[&count(&[0, 3]), &count(&[0, 0, 0, 7])]).unwrap();
        assert_eq!((both.extents, both.per_file), (5, Some(2.5)));
        assert_eq!((both.median_class, both.largest_class), (Some(3), Some(3)));
        assert_eq!(ExtentSummary::of(&[]), None);
    }
}
