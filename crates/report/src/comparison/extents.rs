//! The extents of files on the devices after phases that write, if they were counted.

use crate::document::Cell;
use crate::terms;
use fsdyno_model::{Bytes, CacheState, Fragmentation, ResultSet, Sample};

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

/// The count of one contender, from the repeat with the median number of extents per file.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The figures.
    Counted(ExtentSummary),
    /// The reason why there are none.
    Unavailable(String),
}

/// The figures of one count.
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
    /// The size class of the median extent: 2^n to 2^(n+1) - 1 bytes.
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
        let mut counts: Vec<&Fragmentation> = samples
            .iter()
            .filter_map(|(_, sample)| sample.fragmentation.as_ref())
            .collect();
        if let Some(reason) = counts.iter().find_map(|c| c.unavailable.as_ref()) {
            return Some(Self::Unavailable(terms::printable(reason)));
        }
        let per_file = |count: &Fragmentation| count.per_file().unwrap_or(0.0);
        counts.sort_by(|a, b| per_file(a).total_cmp(&per_file(b)));
        // The lower median for an even number, which is a measured count.
        let middle = counts.get(counts.len().checked_sub(1)? / 2)?;
        Some(Self::Counted(ExtentSummary::of(middle)))
    }
}

impl ExtentSummary {
    fn of(count: &Fragmentation) -> Self {
        let mut below = 0;
        let sizes = || (0..).zip(&count.extents_by_size);
        let median = sizes().find(|(_, number)| {
            below += **number;
            below > 0 && below >= count.extents.div_ceil(2)
        });
        Self {
            files: count.files,
            extents: count.extents,
            per_file: count.per_file(),
            fragmented_percent: count
                .per_file()
                .map(|_| 100.0 * count.fragmented as f64 / count.files as f64),
            median_class: median.map(|(class, _)| class),
            largest_class: sizes().filter(|(_, n)| **n > 0).map(|(c, _)| c).last(),
        }
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
        text += " Of several repeats, the one with the median of extents per file.";
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
        let summary_of = |by_size: &[u64]| {
            ExtentSummary::of(&Fragmentation {
                files: 2,
                extents: by_size.iter().sum(),
                extents_by_size: by_size.to_vec(),
                ..Fragmentation::default()
            })
        };
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
    }
}
