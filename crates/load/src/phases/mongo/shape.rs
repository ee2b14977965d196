//! The tree of a mongo worker: the number of files, their sizes, and their directories. Equal
//! parameters give equal trees, which are generated before the clock starts.
//!
//! The rules are those of the mongo benchmark of namesys (2000). Its numbers came from the C
//! library's `rand`. Our numbers come from fixed seeds, selected so that the four published sets
//! have the counts of the original within 3 %. Sums of such a skewed distribution differ by more
//! than that between generators.

use fsdyno_datasets::seed::Seed;

/// The nominal maximum file size, bytes.
const MAX_FILE_SIZE: u64 = 1_000_000;
/// Files in a directory: median and nominal maximum.
const FILES_IN_DIRECTORY: (u64, u64) = (100, 10_000);
/// Subdirectories of a directory, minus one: median and nominal maximum.
const BRANCHES: (u64, u64) = (0, 1);

/// The random seeds of a tree: selected as described above.
const SIZES: u64 = 32_995;
const POPULATIONS: u64 = 649_351;

/// A directory of the tree, with its direct entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Its first file, as an index of [`TreeShape::sizes`].
    pub first: usize,
    pub files: usize,
    /// Its subdirectories, as indices of [`TreeShape::directories`].
    pub below: Vec<usize>,
}

/// The directories of a tree, and the sizes of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeShape {
    /// The size of each file, bytes, in the order of creation.
    pub sizes: Vec<u64>,
    /// The directories; the first is the root. Each precedes its subdirectories.
    pub directories: Vec<Directory>,
}

/// A stream of random numbers.
struct Draws {
    seed: Seed,
    drawn: u64,
}

impl Draws {
    fn new(name: &str, number: u64) -> Self {
        let seed = Seed::new(number).part(name);
        Self { seed, drawn: 0 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.drawn += 1;
        self.seed.at(self.drawn).below(limit)
    }

    /// A skewed number: below `median` in half of the cases, and above `maximum` in about `median`
    /// of `maximum` cases (never if `maximum` is at least 1024 times the median).
    fn skewed(&mut self, (median, maximum): (u64, u64)) -> u64 {
        let middle = median + 1;
        let grain = if maximum / middle < 1024 { 1 << 20 } else { 1 };
        let range = (grain * maximum / middle).max(1);
        let r = self.below(range);
        let size = u128::from(middle) * u128::from(r) / u128::from(range - r);
        u64::try_from(size).unwrap_or(u64::MAX)
    }
}

impl TreeShape {
    /// A tree of files of this median size with this total size, bytes. The last file is truncated
    /// to reach it. In the original it was not, which could add gigabytes.
    pub fn of(bytes: u64, median: u64) -> Self {
        let sizes = sizes(bytes, median, SIZES);
        let populations = populations(sizes.len(), POPULATIONS);
        let mut shape = Self {
            sizes,
            directories: Vec::with_capacity(populations.len()),
        };
        let mut draws = Draws::new("branches", POPULATIONS);
        shape.grow(&populations, &mut draws);
        shape
    }

    /// Builds the directories with these populations, in the order of files.
    ///
    /// A directory takes the first population. The others are distributed to its branches, each of
    /// which continues with its own. Uses a work list instead of recursion, because trees may be
    /// deep.
    fn grow(&mut self, populations: &[usize], draws: &mut Draws) {
        let mut first = 0;
        let mut waiting = vec![(None, populations.to_vec())];
        while let Some((parent, own)) = waiting.pop() {
            let place = self.directories.len();
            let (files, rest) = own
                .split_first()
                .map_or((0, &[][..]), |(n, rest)| (*n, rest));
            self.directories.push(Directory {
                first,
                files,
                below: Vec::new(),
            });
            first += files;
            if let Some(parent) = parent {
                let above: &mut Directory = &mut self.directories[parent];
                above.below.push(place);
            }
            if rest.is_empty() {
                continue;
            }
            let branches = draws.skewed(BRANCHES).min(rest.len() as u64 * 64) + 1;
            let mut dealt: Vec<Vec<usize>> = Vec::new();
            let mut at: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
            for population in rest {
                let branch = draws.below(branches);
                let bucket = *at.entry(branch).or_insert_with(|| {
                    dealt.push(Vec::new());
                    dealt.len() - 1
                });
                dealt[bucket].push(*population);
            }
            for bucket in dealt.into_iter().rev() {
                waiting.push((Some(place), bucket));
            }
        }
    }

    /// Total size of all files, bytes.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }
}

/// File sizes with this total, bytes.
fn sizes(bytes: u64, median: u64, number: u64) -> Vec<u64> {
    let mut draws = Draws::new("sizes", number);
    let (mut sizes, mut left) = (Vec::new(), bytes);
    while left > 0 {
        let size = draws.skewed((median, MAX_FILE_SIZE)).min(left);
        left -= size;
        sizes.push(size);
    }
    sizes
}

/// The number of files in each directory, until all files are placed.
fn populations(files: usize, number: u64) -> Vec<usize> {
    let mut draws = Draws::new("populations", number);
    let (mut populations, mut left) = (Vec::new(), files);
    while left > 0 {
        let some = usize::try_from(draws.skewed(FILES_IN_DIRECTORY)).unwrap_or(usize::MAX);
        let population = some.max(1).min(left);
        left -= population;
        populations.push(population);
    }
    populations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_sets_have_the_counts_of_the_original() {
        for (mebibytes, median, files, directories) in [
            (50, 100, 67_295.0, 124.0),
            (100, 1_000, 11_422.0, 40.0),
            (100, 10_000, 1_264.0, 7.0),
            (100, 100_000, 233.0, 5.0),
        ] {
            let shape = TreeShape::of(mebibytes << 20, median);
            let near = |count: usize, of: f64| (count as f64 / of - 1.0).abs() < 0.03;
            assert!(
                near(shape.sizes.len(), files),
                "{median}: {}",
                shape.sizes.len()
            );
            let count = shape.directories.len();
            assert!(near(count, directories), "{median}: {count}");
            assert_eq!(shape.bytes(), mebibytes << 20);
        }
    }

    #[test]
    fn half_of_the_sizes_are_below_the_median() {
        for median in [100, 1_000, 10_000] {
            let sizes = sizes(50 << 20, median, 7);
            let below = sizes.iter().filter(|size| **size <= median).count() as f64;
            let share = below / sizes.len() as f64;
            assert!((0.4..0.6).contains(&share), "{median}: {share}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_file_and_directory_has_one_place(bytes in 0_u64..4_000_000, median in 0_u64..20_000) {
            let shape = TreeShape::of(bytes, median);
            proptest::prop_assert_eq!(shape.bytes(), bytes);
            let mut next = 0;
            let mut above = vec![0; shape.directories.len()];
            for (place, directory) in shape.directories.iter().enumerate() {
                proptest::prop_assert_eq!(directory.first, next);
                next += directory.files;
                for below in &directory.below {
                    proptest::prop_assert!(*below > place);
                    above[*below] += 1;
                }
            }
            proptest::prop_assert_eq!(next, shape.sizes.len());
            proptest::prop_assert!(above.iter().skip(1).all(|count| *count == 1));
        }
    }
}
