//! The plan of faults, as a file in TOML says it, and what of it is impossible.

use crate::arithmetic::{ms_to_ns, to_ns};
use crate::cut::Remains;
use crate::profiles::{Impossible, size};
use crate::request::{Kind, SECTOR};
use fsdyno_model::Bytes;
use serde::Deserialize;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// All faults of a disk. Without any, it has none.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultPlan {
    /// Where everything that is drawn comes from.
    pub seed: u64,
    /// Extents that fail.
    pub error: Vec<ErrorPlan>,
    /// Sectors that are lost until they are rewritten.
    pub latent: Vec<LatentPlan>,
    /// Flushes that are only acknowledged.
    pub flush: FlushPlan,
    /// Periods in which everything takes longer.
    pub slow: Vec<SlowPlan>,
    /// What a power cut leaves.
    pub cut: CutPlan,
}

/// An extent that fails.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPlan {
    /// Where it begins.
    #[serde(deserialize_with = "size")]
    pub at: Bytes,
    /// How long it is.
    #[serde(deserialize_with = "size")]
    pub length: Bytes,
    /// What fails there.
    pub on: Vec<Fails>,
    /// How much longer that takes than what succeeds.
    #[serde(default)]
    pub takes_ms: f64,
}

/// What can fail on an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fails {
    /// Reads.
    Read,
    /// Writes, of zeros too.
    Write,
    /// Discards.
    Discard,
    /// Nothing that a plan can name.
    #[serde(skip)]
    Never,
}

impl From<Kind> for Fails {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Read => Self::Read,
            Kind::Write | Kind::WriteZeroes => Self::Write,
            Kind::Discard => Self::Discard,
            Kind::Flush => Self::Never,
        }
    }
}

/// Sectors that cannot be read until they are rewritten.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatentPlan {
    /// Where the extent begins that they lie in.
    #[serde(deserialize_with = "size")]
    pub at: Bytes,
    /// How long it is.
    #[serde(deserialize_with = "size")]
    pub length: Bytes,
    /// How many of its sectors; without, all.
    pub count: Option<u64>,
    /// How much longer it takes to find out than to read.
    #[serde(default)]
    pub takes_ms: f64,
}

/// Flushes that lie.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushPlan {
    /// The share of flushes, and of writes with FUA, that are only acknowledged: 0 to 1.
    pub lies: f64,
}

/// A period in which everything takes longer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowPlan {
    /// When it begins.
    pub from_s: f64,
    /// How long it is.
    pub for_s: f64,
    /// From its beginning to that of the next; without, there is one.
    pub every_s: Option<f64>,
    /// What each request takes longer that arrives within it.
    pub adds_ms: f64,
}

/// What a power cut leaves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CutPlan {
    /// Of writes that had not landed.
    pub remains: Remains,
    /// Whether those that were acknowledged are all there.
    pub cache_survives: bool,
}

/// A plan of faults that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// The file cannot be read.
    #[error("cannot read the faults of {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no plan.
    #[error("the faults cannot be understood: {0}")]
    Form(#[from] toml::de::Error),
    /// It says what cannot be.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// The most sectors that a plan may lose, in all entries: they are kept one by one.
const MOST_LATENT: u64 = 1 << 20;

fn extent(key: &str, at: Bytes, length: Bytes) -> Result<(), Impossible> {
    for (name, bytes) in [("at", at), ("length", length)] {
        if !bytes.0.is_multiple_of(SECTOR) {
            let why = "a sector has 512 bytes";
            let value = bytes.0.to_string();
            return Err(Impossible::new(format!("{key}.{name}"), value, why));
        }
    }
    let length_key = format!("{key}.length");
    Impossible::outside(length_key, length.0 as f64, SECTOR as f64, 1e18)
}

fn sectors(at: Bytes, length: Bytes) -> Range<u64> {
    at.0 / SECTOR..(at.0 + length.0) / SECTOR
}

impl ErrorPlan {
    pub(super) fn sectors(&self) -> Range<u64> {
        sectors(self.at, self.length)
    }
}

impl LatentPlan {
    pub(super) fn sectors(&self) -> Range<u64> {
        sectors(self.at, self.length)
    }
}

impl SlowPlan {
    pub(super) fn covers(&self, now: u64) -> bool {
        let [from, length] = [self.from_s, self.for_s].map(|s| to_ns(s * 1e9));
        let Some(gone) = now.checked_sub(from) else {
            return false;
        };
        match self.every_s.map(|s| to_ns(s * 1e9)) {
            Some(every) => gone % every.max(1) < length,
            None => gone < length,
        }
    }
}

impl FaultPlan {
    /// From a text in TOML.
    pub fn parse(text: &str) -> Result<Self, FaultsError> {
        let plan: Self = toml::from_str(text)?;
        plan.check()?;
        Ok(plan)
    }

    /// From a file.
    pub fn read(path: &Path) -> Result<Self, FaultsError> {
        let text =
            fsdyno_files::input::read_text(path).map_err(|source| FaultsError::Unreadable {
                path: path.to_owned(),
                source,
            })?;
        Self::parse(&text)
    }

    /// The plan of one of several disks, the first is 0: the same, but that it draws of its own.
    #[must_use]
    pub fn of_disk(&self, number: usize) -> Self {
        Self {
            seed: self.seed.wrapping_add(number as u64),
            ..self.clone()
        }
    }

    fn check(&self) -> Result<(), Impossible> {
        for error in &self.error {
            extent("error", error.at, error.length)?;
            Impossible::outside("error.takes_ms", error.takes_ms, 0.0, 600_000.0)?;
        }
        let mut lost = 0_u64;
        for latent in &self.latent {
            extent("latent", latent.at, latent.length)?;
            Impossible::outside("latent.takes_ms", latent.takes_ms, 0.0, 600_000.0)?;
            let held = latent.length.0 / SECTOR;
            let count = latent.count.unwrap_or(held);
            if count > (held / 2).max(1) && latent.count.is_some() {
                let why = "at most half of the extent is drawn; without `count` all of it is lost";
                return Err(Impossible::new("latent.count", count.to_string(), why));
            }
            lost = lost.saturating_add(count);
            let key = "latent.count";
            Impossible::outside(key, count as f64, 1.0, MOST_LATENT as f64)?;
            Impossible::outside(key, lost as f64, 1.0, MOST_LATENT as f64)?;
        }
        Impossible::outside("flush.lies", self.flush.lies, 0.0, 1.0)?;
        for slow in &self.slow {
            Impossible::outside("slow.from_s", slow.from_s, 0.0, 1e9)?;
            Impossible::outside("slow.for_s", slow.for_s, 0.0, 1e9)?;
            Impossible::outside("slow.adds_ms", slow.adds_ms, 0.0, 600_000.0)?;
            if let Some(every) = slow.every_s {
                Impossible::outside("slow.every_s", every, slow.for_s, 1e9)?;
            }
            debug_assert!(ms_to_ns(slow.adds_ms) <= 600_000_000_000);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_what_it_says() {
        let plan = FaultPlan::parse(
            "seed = 7\n\
             [[error]]\nat = \"1M\"\nlength = \"4K\"\non = [\"read\", \"write\"]\n\
             [[latent]]\nat = \"0\"\nlength = \"1M\"\ncount = 3\ntakes_ms = 200\n\
             [flush]\nlies = 0.5\n\
             [[slow]]\nfrom_s = 10\nfor_s = 1\nevery_s = 60\nadds_ms = 30\n\
             [cut]\nremains = \"any\"\ncache_survives = true\n",
        )
        .unwrap();
        assert_eq!(plan.error[0].sectors(), 2048..2056);
        assert_eq!((plan.cut.remains, plan.flush.lies), (Remains::Any, 0.5));
        let slow: Vec<u64> = (0..140)
            .filter(|s| plan.slow[0].covers(s * 1_000_000_000))
            .collect();
        assert_eq!(slow, [10, 70, 130]);
    }

    #[test]
    fn the_documented_plan_is_one() {
        let documents = include_str!("../../../../docs/model-disks.md");
        let mut blocks = documents.split("```toml\n").skip(1);
        let documented = blocks.find(|block| block.contains("[[latent]]")).unwrap();
        let plan = FaultPlan::parse(documented.split("```").next().unwrap()).unwrap();
        assert_eq!((plan.error.len(), plan.latent.len()), (1, 1));
        assert_eq!((plan.slow.len(), plan.flush.lies), (1, 1.0));
    }

    #[test]
    fn what_is_unknown_or_impossible_is_refused_by_name() {
        for (text, words) in [
            ("sed = 7", "sed"),
            (
                "[[error]]\nat = \"1\"\nlength = \"4K\"\non = []",
                "error.at",
            ),
            ("[flush]\nlies = 2.0", "flush.lies"),
            (
                "[[latent]]\nat = \"0\"\nlength = \"1K\"\ncount = 2",
                "latent.count",
            ),
            (
                "[[latent]]\nat = \"0\"\nlength = \"300M\"\n\
                 [[latent]]\nat = \"0\"\nlength = \"300M\"",
                "latent.count",
            ),
            (
                "[[error]]\nat = \"0\"\nlength = \"4K\"\non = [\"flush\"]",
                "flush",
            ),
            ("[[latent]]\nat = \"0\"\nlength = \"wide\"", "600MB"),
        ] {
            let said = FaultPlan::parse(text).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
