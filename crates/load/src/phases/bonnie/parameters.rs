//! The parameters of the phases of bonnie. Those of one workload must agree where they name the
//! same files.

use super::names::Order;
use std::collections::BTreeMap;

/// What one chunk is of, where no value is given: the calls of the original moved so much at a time.
pub const CHUNK: u64 = 8192;
/// How many seeks, and by how many workers in parallel.
pub const SEEKS: u64 = 8192;
/// Workers that seek.
pub const SEEKERS: u64 = 5;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Zeros but for a byte a chunk, as the original wrote.
    LikeOriginal,
    /// Data of which a compressor leaves so many percent; 100 is incompressible.
    Percent(u8),
}

/// Parameters of the phases on one large file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataParameters {
    /// The size of the file, bytes.
    pub size: u64,
    /// How many bytes are written or read one by one.
    pub chars: u64,
    /// Bytes of one call.
    pub chunk: u64,
    /// Seeks.
    pub seeks: u64,
    /// Workers that seek in parallel.
    pub seekers: u64,
    /// What is written.
    pub fill: Fill,
}

/// What is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Regular files.
    Files,
    /// Further names of a file.
    HardLinks,
    /// Symbolic links.
    Symlinks,
}

/// Parameters of the phases on many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileParameters {
    /// How many.
    pub files: u64,
    /// The smallest, bytes.
    pub least: u64,
    /// The largest, bytes.
    pub most: u64,
    /// Directories they are in.
    pub directories: u64,
    /// What is made.
    pub made: Made,
    /// Names and order.
    pub order: Order,
    /// Bytes of one call.
    pub chunk: u64,
    /// What is written.
    pub fill: Fill,
}

type Given = BTreeMap<String, String>;

/// A number by its name; the default where it was not given.
fn number(given: &Given, name: &str, default: u64) -> u64 {
    given
        .get(name)
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn fill(given: &Given) -> Fill {
    match given.get("data").map(String::as_str) {
        Some("like-original") => Fill::LikeOriginal,
        _ => Fill::Percent(number(given, "compressible-to", 100).clamp(1, 100) as u8),
    }
}

impl DataParameters {
    /// From what a plan gives, which was checked there; at full size where it gives nothing.
    pub fn read(given: &Given) -> Self {
        let chunk = number(given, "chunk", CHUNK).max(1);
        let size = number(given, "size", 1 << 30).max(1);
        Self {
            size: size.div_ceil(chunk) * chunk,
            chars: number(given, "chars", 4 << 20).max(1),
            chunk,
            seeks: number(given, "seeks", SEEKS).max(1),
            seekers: number(given, "seekers", SEEKERS).max(1),
            fill: fill(given),
        }
    }
}

impl FileParameters {
    /// From what a plan gives, which was checked there.
    pub fn read(given: &Given) -> Self {
        let files = number(given, "files", 16 * 1024).max(1);
        let least = number(given, "min", 0);
        Self {
            files,
            least,
            most: number(given, "max", 0).max(least),
            directories: number(given, "directories", 1).clamp(1, files),
            made: match given.get("made").map(String::as_str) {
                Some("hard-links") => Made::HardLinks,
                Some("symlinks") => Made::Symlinks,
                _ => Made::Files,
            },
            order: match given.get("order").map(String::as_str) {
                Some("random") => Order::Random,
                _ => Order::Sequential,
            },
            chunk: number(given, "chunk", CHUNK).max(1),
            fill: fill(given),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Given {
        let owned = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into()));
        owned.collect()
    }

    #[test]
    fn defaults_are_those_of_the_original_but_for_its_zeros() {
        let files = FileParameters::read(&given(&[]));
        assert_eq!((files.files, files.most, files.directories), (16_384, 0, 1));
        let data = DataParameters::read(&given(&[]));
        assert_eq!((data.chunk, data.seeks, data.seekers), (8192, 8192, 5));
        assert_eq!(data.fill, Fill::Percent(100));
    }

    #[test]
    fn a_size_is_whole_chunks_and_the_largest_is_not_below_the_smallest() {
        let data = DataParameters::read(&given(&[("size", "10000"), ("data", "like-original")]));
        assert_eq!((data.size, data.fill), (16_384, Fill::LikeOriginal));
        let files = FileParameters::read(&given(&[
            ("min", "100"),
            ("directories", "7"),
            ("files", "3"),
            ("made", "symlinks"),
            ("order", "random"),
        ]));
        assert_eq!((files.least, files.most, files.directories), (100, 100, 3));
        assert_eq!((files.made, files.order), (Made::Symlinks, Order::Random));
    }
}
