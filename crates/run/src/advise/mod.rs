//! The features of file systems, and the options that are worth a measurement: the table of
//! `data/features.toml`. It measures nothing and recommends nothing.

use fsdyno_model::{Contender, FilesystemKind};
use fsdyno_recipes as recipes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../../data/features.toml");

/// A feature of a file system that a user can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Snapshots of the whole file system or a part of it.
    Snapshots,
    /// Checksums of data, not only of metadata.
    Checksums,
    Compression,
    /// It can become smaller.
    Shrink,
    /// It can become larger.
    Grow,
    /// Copies that share blocks.
    Reflink,
    /// Limits of users, groups or subvolumes.
    Quotas,
    /// Encryption of data and names.
    Encryption,
    /// Metadata survive a power cut without a repair, by a journal or by copy on write.
    Journal,
}

impl Feature {
    pub const ALL: [Self; 9] = [
        Self::Snapshots,
        Self::Checksums,
        Self::Compression,
        Self::Shrink,
        Self::Grow,
        Self::Reflink,
        Self::Quotas,
        Self::Encryption,
        Self::Journal,
    ];

    /// The name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshots => "snapshots",
            Self::Checksums => "checksums",
            Self::Compression => "compression",
            Self::Shrink => "shrink",
            Self::Grow => "grow",
            Self::Reflink => "reflink",
            Self::Quotas => "quotas",
            Self::Encryption => "encryption",
            Self::Journal => "journal",
        }
    }
}

/// Options that are worth a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The options in the form of a contender: `[-O ^dir_index]:noatime`.
    options: String,
    /// The effect of the options.
    pub why: String,
    /// The features that a file system does not have with them.
    #[serde(default)]
    pub removes: Vec<Feature>,
    /// The manual page or the document that describes them.
    pub source: String,
}

/// The entry of one file system.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Its features, each with a source.
    #[serde(default)]
    features: BTreeMap<Feature, String>,
    #[serde(default, rename = "variant")]
    variants: Vec<Variant>,
}

/// The table of all file systems.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureTable {
    /// The variants of every file system on block devices.
    #[serde(rename = "variant")]
    common: Vec<Variant>,
    #[serde(rename = "filesystem")]
    entries: BTreeMap<String, Entry>,
}

impl FeatureTable {
    pub fn read() -> Result<Self, toml::de::Error> {
        toml::from_str(TABLE)
    }

    /// The needed features that a file system does not have.
    pub fn missing(&self, filesystem: &str, needs: &[Feature]) -> Vec<Feature> {
        let entry = self.entries.get(filesystem);
        let has = |feature: &Feature| match feature {
            Feature::Journal => recipes::find(filesystem)
                .is_some_and(|recipe| recipe.capabilities().consistency.survives_power_cuts()),
            feature => entry.is_some_and(|entry| entry.features.contains_key(feature)),
        };
        needs.iter().copied().filter(|need| !has(need)).collect()
    }

    /// The contender with options that are worth a measurement, each with the variant. Variants that
    /// lack a needed feature, or that the contender already has, are left out.
    pub fn variants(&self, base: &Contender, needs: &[Feature]) -> Vec<(Contender, &Variant)> {
        let is_of_block =
            recipes::kind_of(&base.filesystem).is_some_and(|kind| kind == FilesystemKind::Block);
        let common = self.common.iter().filter(|_| is_of_block);
        let own = self.entries.get(&base.filesystem);
        let own = own.into_iter().flat_map(|entry| &entry.variants);
        let allowed = |variant: &&Variant| !variant.removes.iter().any(|one| needs.contains(one));
        common
            .chain(own)
            .filter(allowed)
            .filter_map(|variant| Some((variant.of(base)?, variant)))
            .collect()
    }
}

impl Variant {
    /// The contender with these options added; `None` if it has them, or cannot have them.
    fn of(&self, base: &Contender) -> Option<Contender> {
        let text = format!("{}{}", base.filesystem, self.options);
        let options = Contender::parse(&text, &recipes::kind_of).ok()?;
        let has_all = options.mkfs.iter().all(|word| base.mkfs.contains(word))
            && options.mount.iter().all(|word| base.mount.contains(word));
        // A program takes the last of two options of one name.
        let is_option = |word: &&String| word.starts_with('-');
        if options
            .mkfs
            .iter()
            .filter(is_option)
            .any(|word| base.mkfs.contains(word))
        {
            return None;
        }
        let mut with = base.clone();
        with.mkfs.extend(options.mkfs);
        with.mount.extend(options.mount);
        with.label = with.short_form();
        let is_valid =
            recipes::validate(&with).is_ok() && recipes::check_options(&with).is_ok() && !has_all;
        is_valid.then_some(with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_recipe() {
        let table = FeatureTable::read().unwrap();
        for name in table.entries.keys() {
            assert!(recipes::find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_variant_is_a_contender_and_every_fact_has_a_source() {
        let table = FeatureTable::read().unwrap();
        for recipe in recipes::fs::ALL {
            let base = Contender::plain(recipe.name());
            let entry = table
                .entries
                .get(recipe.name())
                .cloned()
                .unwrap_or_default();
            let is_of_block = recipe.kind() == FilesystemKind::Block;
            let known = entry.variants.len() + usize::from(is_of_block) * table.common.len();
            let variants = table.variants(&base, &[]);
            assert_eq!(variants.len(), known, "{}", recipe.name());
            for (contender, variant) in variants {
                let again = Contender::parse(&contender.label, &recipes::kind_of);
                assert_eq!(again, Ok(contender.clone()));
                assert!(!variant.why.is_empty() && !variant.source.is_empty());
                // A variant is offered once.
                let more = table.variants(&contender, &[]);
                assert!(more.iter().all(|(_, other)| *other != variant));
            }
            assert!(entry.features.values().all(|source| !source.is_empty()));
            assert!(!entry.features.contains_key(&Feature::Journal));
        }
    }

    #[test]
    fn a_need_drops_file_systems_and_variants_without_it() {
        let table = FeatureTable::read().unwrap();
        let needs = [Feature::Snapshots, Feature::Journal];
        assert_eq!(table.missing("btrfs", &needs), []);
        assert_eq!(table.missing("ext4", &needs), [Feature::Snapshots]);
        assert_eq!(table.missing("vfat", &needs), needs);
        let ext4 = Contender::plain("ext4");
        let removes_journal = |needs: &[Feature]| {
            let variants = table.variants(&ext4, needs);
            variants
                .iter()
                .any(|(one, _)| one.label == "ext4[-O ^has_journal]")
        };
        assert!(removes_journal(&[]));
        assert!(!removes_journal(&[Feature::Journal]));
    }

    #[test]
    fn names_of_features_are_those_of_the_table() {
        for feature in Feature::ALL {
            let text = format!("[x]\n{} = 1", feature.name());
            let read: Result<BTreeMap<String, BTreeMap<Feature, u8>>, _> = toml::from_str(&text);
            assert_eq!(read.unwrap()["x"][&feature], 1);
        }
    }
}
