//! The options of the bench.

use crate::names::Scale;
use crate::{memory, works};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const FULL: Scale = Scale {
    name: "full",
    pairs: 15,
    time: Duration::from_secs(21 * 60),
    files: 40_000,
    megabytes: 768,
    operations: 196_608,
    tree: 0.1,
    weighed: &[1_000_000, 10_000_000],
};
const QUICK: Scale = Scale {
    name: "quick",
    pairs: 9,
    time: Duration::from_secs(7 * 60),
    files: 8_000,
    megabytes: 128,
    operations: 32_768,
    tree: 0.03,
    weighed: &[1_000_000],
};

#[derive(Debug)]
pub struct Options {
    pub scale: Scale,
    pub filesystems: Vec<String>,
    /// Substrings of row names to run; empty means all.
    only: Vec<String>,
    /// Peer programs that cargo installed, by name.
    pub peers: BTreeMap<String, PathBuf>,
    /// The directory of image files.
    pub base: PathBuf,
    pub output: PathBuf,
}

pub const USAGE: &str = "usage: ./x bench [--quick] [--fs LIST] [--only ROWS] [--pairs N] [--minutes N] [--in DIR] [--output FILE]

Compares fsdyno with a C baseline and with other programs that do the same work, in alternating pairs, as
root, and writes the tables to BENCHMARKS.md. It takes about 30 minutes, with --quick about 8. Ctrl-C writes
the results so far and removes everything that was created.

  --quick      less work; the start of programs has more weight
  --fs LIST    file systems, separated by commas [default: tmpfs,ext4,xfs,btrfs]
  --only ROWS  rows whose names contain one of these words, separated by semicolons or commas
               (`--only list` prints them)
  --pairs N    maximum of alternating pairs of each comparison [default: 15, --quick 9]
  --minutes N  time for all comparisons, each of at least 6 pairs [default: 21, --quick 7]
  --in DIR     directory of image files [default: /dev/shm, so that no device dominates]
  --output F   file of the tables [default: BENCHMARKS.md]";

/// The names of all rows, one per line.
pub fn rows() -> String {
    let names = works::all().map(|work| work.name);
    let names: Vec<&str> = names.chain([memory::NAME]).collect();
    names.join("\n")
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

impl Options {
    /// Parses the arguments; `None` if help was printed. `cargo bench` adds `--bench`.
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            scale: FULL,
            filesystems: list("tmpfs,ext4,xfs,btrfs"),
            only: Vec::new(),
            peers: BTreeMap::new(),
            base: PathBuf::from("/dev/shm"),
            output: PathBuf::from("BENCHMARKS.md"),
        };
        let (mut pairs, mut time) = (None, None);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} what?\n{USAGE}"));
            match word.as_str() {
                "--bench" => {}
                "--quick" => options.scale = QUICK,
                "--pairs" => pairs = Some(number::<usize>(&value()?)?.max(1)),
                "--minutes" => {
                    let minutes: f64 = number(&value()?)?;
                    time = Some(Duration::from_secs_f64(60.0 * minutes.clamp(0.0, 1e6)));
                }
                "--fs" => options.filesystems = list(&value()?),
                "--only" => {
                    let value = value()?;
                    if value == "list" {
                        return Err(format!("the rows are:\n{}", rows()));
                    }
                    let by = if value.contains(';') { ';' } else { ',' };
                    options.only = value.split(by).map(|word| word.trim().to_owned()).collect();
                }
                "--peers" => options.peers = peers(&value()?),
                "--in" => options.base = value()?.into(),
                "--output" => options.output = value()?.into(),
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("what is `{word}`?\n{USAGE}")),
            }
        }
        options.scale.pairs = pairs.unwrap_or(options.scale.pairs);
        options.scale.time = time.unwrap_or(options.scale.time);
        Ok(Some(options))
    }

    /// Whether a row of that name is selected.
    pub fn selects(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
    }
}

/// Parses `cpz=PATH,rmz=PATH`.
fn peers(text: &str) -> BTreeMap<String, PathBuf> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, at)| (name.to_owned(), at.into()))
        .collect()
}
