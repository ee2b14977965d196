//! The fault plan: its TOML format and its validation.

use crate::arithmetic::{ms_to_ns, to_ns};
use crate::power_cut::Remains;
use crate::request::{Kind, SECTOR};
use crate::values::{Impossible, size};
use fsdyno_model::Bytes;
use serde::Deserialize;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// All faults of a disk. The default has none.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultPlan {
    pub seed: u64,
    /// Extents with I/O errors.
    pub error: Vec<ErrorPlan>,
    /// Sectors that are unreadable until they are rewritten.
    pub latent: Vec<LatentPlan>,
    /// Flushes that the disk acknowledges and ignores.
    pub flush: FlushPlan,
    /// Periods of added latency.
    pub slow: Vec<SlowPlan>,
    /// The outcome of volatile writes at a power cut.
    pub power_cut: PowerCutPlan,
}

/// An extent with I/O errors.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPlan {
    /// First byte of the extent.
    #[serde(deserialize_with = "size")]
    pub at: Bytes,
    #[serde(deserialize_with = "size")]
    pub length: Bytes,
    /// The kinds of request that fail.
    pub on: Vec<FailingKind>,
    /// Time that a failed request takes in addition.
    #[serde(default)]
    pub takes_ms: f64,
}

/// Kinds of request that can fail on an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailingKind {
    Read,
    /// Writes and write-zeroes.
    Write,
    Discard,
    /// Kinds that a plan cannot select.
    #[serde(skip)]
    Never,
}

impl From<Kind> for FailingKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Read => Self::Read,
            Kind::Write | Kind::WriteZeroes => Self::Write,
            Kind::Discard => Self::Discard,
            Kind::Flush => Self::Never,
        }
    }
}

/// Sectors that are unreadable until they are rewritten.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatentPlan {
    /// First byte of the extent that contains them.
    #[serde(deserialize_with = "size")]
    pub at: Bytes,
    #[serde(deserialize_with = "size")]
    pub length: Bytes,
    /// Number of lost sectors. Default: all of the extent.
    pub count: Option<u64>,
    /// Time that a failed read takes in addition.
    #[serde(default)]
    pub takes_ms: f64,
}

/// Flushes that the disk acknowledges and ignores.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushPlan {
    /// Share of flushes and FUA writes that are ignored, 0 to 1.
    pub ignored: f64,
}

/// A period of added latency.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowPlan {
    pub from_s: f64,
    pub for_s: f64,
    /// Interval between the starts of two periods. Without it there is one period.
    pub every_s: Option<f64>,
    /// Latency added to each request that arrives within the period.
    pub adds_ms: f64,
}

/// The effect of a power cut.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerCutPlan {
    /// The outcome of volatile writes.
    pub remains: Remains,
    /// Whether all acknowledged writes survive.
    pub cache_survives: bool,
}

/// A fault plan that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// The file cannot be read.
    #[error("cannot read the faults of {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The text does not parse as a plan.
    #[error("the faults cannot be understood: {0}")]
    Form(#[from] toml::de::Error),
    /// The plan has an impossible value.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// Limit of lost sectors in all entries. Memory holds them one by one.
const MAX_LATENT: u64 = 1 << 20;

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
    /// Parses a plan from TOML.
    pub fn parse(text: &str) -> Result<Self, FaultsError> {
        let plan: Self = toml::from_str(text)?;
        plan.check()?;
        Ok(plan)
    }

    /// Reads a plan from a file.
    pub fn read(path: &Path) -> Result<Self, FaultsError> {
        let text =
            fsdyno_files::input::read_text(path).map_err(|source| FaultsError::Unreadable {
                path: path.to_owned(),
                source,
            })?;
        Self::parse(&text)
    }

    /// The plan of disk `number`, counted from 0. Only the seed of its random draws differs.
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
            Impossible::outside(key, count as f64, 1.0, MAX_LATENT as f64)?;
            Impossible::outside(key, lost as f64, 1.0, MAX_LATENT as f64)?;
        }
        Impossible::outside("flush.ignored", self.flush.ignored, 0.0, 1.0)?;
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
    fn a_fault_plan_parses_all_fields() {
        let plan = FaultPlan::parse(
            "seed = 7\n\
             [[error]]\nat = \"1M\"\nlength = \"4K\"\non = [\"read\", \"write\"]\n\
             [[latent]]\nat = \"0\"\nlength = \"1M\"\ncount = 3\ntakes_ms = 200\n\
             [flush]\nignored = 0.5\n\
             [[slow]]\nfrom_s = 10\nfor_s = 1\nevery_s = 60\nadds_ms = 30\n\
             [power_cut]\nremains = \"any\"\ncache_survives = true\n",
        )
        .unwrap();
        assert_eq!(plan.error[0].sectors(), 2048..2056);
        assert_eq!(
            (plan.power_cut.remains, plan.flush.ignored),
            (Remains::Any, 0.5)
        );
        let slow: Vec<u64> = (0..140)
            .filter(|s| plan.slow[0].covers(s * 1_000_000_000))
            .collect();
        assert_eq!(slow, [10, 70, 130]);
    }

    #[test]
    fn the_documented_fault_plan_parses() {
        let documents = include_str!("../../../../docs/model-disks.md");
        let mut blocks = documents.split("```toml\n").skip(1);
        let documented = blocks.find(|block| block.contains("[[latent]]")).unwrap();
        let plan = FaultPlan::parse(documented.split("```").next().unwrap()).unwrap();
        assert_eq!((plan.error.len(), plan.latent.len()), (1, 1));
        assert_eq!((plan.slow.len(), plan.flush.ignored), (1, 1.0));
    }

    #[test]
    fn what_is_unknown_or_impossible_is_refused_by_name() {
        for (text, words) in [
            ("sed = 7", "sed"),
            (
                "[[error]]\nat = \"1\"\nlength = \"4K\"\non = []",
                "error.at",
            ),
            ("[flush]\nignored = 2.0", "flush.ignored"),
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
            let message = FaultPlan::parse(text).unwrap_err().to_string();
            assert!(message.contains(words), "{text}: {message}");
        }
    }
}
