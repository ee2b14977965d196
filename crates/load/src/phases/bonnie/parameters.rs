//! The parameters of the phases of bonnie, as declared and as parsed. Phases of a workload that use
//! the same files must have equal parameters.

use super::names::Order;
use fsdyno_model::Parameter;
use std::collections::BTreeMap;

/// The default chunk size, bytes: the size of the original's calls.
pub const CHUNK: u64 = 8192;
/// The default number of seeks.
pub const SEEKS: u64 = 8192;
/// The default number of workers that seek.
pub const SEEKERS: u64 = 5;

/// The content of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Zeros with one other byte per chunk, as in the original.
    LikeOriginal,
    /// Data that a compressor reduces to this percentage; 100 is incompressible.
    Percent(u8),
}

/// Parameters of the phases on one large file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataParameters {
    /// The size of the file, bytes.
    pub size: u64,
    /// The number of bytes that are written or read one by one.
    pub chars: u64,
    /// Bytes per call.
    pub chunk: u64,
    pub seeks: u64,
    /// Workers that seek in parallel.
    pub seekers: u64,
    /// The written data.
    pub fill: Fill,
}

/// The kind of the created entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    Files,
    HardLinks,
    /// Symbolic links.
    Symlinks,
}

/// Parameters of the phases on many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileParameters {
    pub files: u64,
    /// The smallest size, bytes.
    pub least: u64,
    /// The largest size, bytes.
    pub most: u64,
    pub directories: u64,
    /// The kind of the created entries.
    pub made: Made,
    /// The order, which also decides the names.
    pub order: Order,
    /// Bytes per call.
    pub chunk: u64,
    /// The content of the files.
    pub fill: Fill,
}

type Given = BTreeMap<String, String>;

/// A number by its name; the default if it is not set.
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
    /// From the validated values of a plan; at full size for values that are not set.
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
    /// From the validated values of a plan.
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

const CHUNK_SIZE: Parameter =
    Parameter::bytes("chunk", "bytes of one read or write", 1..=1 << 20).fixed("8192");
const FILL: Parameter = Parameter::one_of(
    "data",
    "random, or like-original (zeros except one byte per chunk)",
    &["random", "like-original"],
)
.fixed("random");
const PERCENT: Parameter = Parameter::number(
    "compressible-to",
    "size of random data after compression, in percent",
    1..=100,
)
.fixed("100");

/// The parameters of the phases on one large file.
pub(super) const DATA: &[Parameter] = &[
    Parameter::size("size", "size of the file").scaled(1 << 30, 1 << 20),
    Parameter::size("chars", "number of bytes transferred one by one").scaled(4 << 20, 1 << 16),
    Parameter::number(
        "seeks",
        "number of seeks, total of all workers",
        1..=1 << 30,
    )
    .fixed("8192"),
    Parameter::number("seekers", "number of concurrent seekers", 1..=256).fixed("5"),
    CHUNK_SIZE,
    FILL,
    PERCENT,
];

/// The parameters of the phases on many files.
pub(super) const FILES: &[Parameter] = &[
    Parameter::number("files", "number of files", 1..=1 << 24).scaled(16 * 1024, 1),
    Parameter::bytes("min", "minimum size of a file", 0..=1 << 30).fixed("0"),
    Parameter::bytes("max", "maximum size of a file", 0..=1 << 30).fixed("0"),
    Parameter::number("directories", "number of directories", 1..=10_000).fixed("1"),
    Parameter::one_of(
        "made",
        "type: files, hard-links or symlinks",
        &["files", "hard-links", "symlinks"],
    )
    .fixed("files"),
    Parameter::one_of(
        "order",
        "sequential or random: order of names, stats and deletions",
        &["sequential", "random"],
    )
    .fixed("sequential"),
    CHUNK_SIZE,
    FILL,
    PERCENT,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Given {
        let owned = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into()));
        owned.collect()
    }

    #[test]
    fn defaults_are_those_of_the_original_except_for_the_fill() {
        let files = FileParameters::read(&given(&[]));
        assert_eq!((files.files, files.most, files.directories), (16_384, 0, 1));
        let data = DataParameters::read(&given(&[]));
        assert_eq!((data.chunk, data.seeks, data.seekers), (8192, 8192, 5));
        assert_eq!(data.fill, Fill::Percent(100));
    }

    #[test]
    fn sizes_are_rounded_to_chunks_and_ordered() {
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
