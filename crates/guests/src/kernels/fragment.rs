//! The kernel config fragment: the options of the lab kernel, the purpose of each, and whether a
//! configuration applied them.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

/// The config fragment that fsdyno contains.
pub(super) const TEXT: &str = include_str!("../../data/lab-kernel.config");

/// The first words of a line that describes the options after it.
const OFFERS: &str = "# offers ";

/// The line that ends the options of an addition. The options after it are required.
const NEEDED: &str = "# needed";

/// The parts of a line that disables an option.
const OFF: (&str, &str) = ("# CONFIG_", " is not set");

/// Options to be set, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fragment {
    options: Vec<RequiredOption>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RequiredOption {
    /// Its name, with `CONFIG_`.
    name: String,
    /// Its value in a configuration; none if it must be off.
    value: Option<String>,
    /// The file systems or features that it adds; empty if it is required.
    offers: Vec<String>,
}

/// The result of applying a fragment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AppliedOptions {
    /// Additions that this version does not have.
    pub lacks: Vec<String>,
    /// Options unknown to these sources, with their purpose.
    pub unknown: Vec<String>,
    /// Options for every version that these sources do not have.
    pub missing: Vec<String>,
    /// Options that were not applied, each with its actual value.
    pub refused: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("line {number} of the kernel config fragment is neither an option nor a comment: `{line}`")]
pub struct InvalidFragment {
    number: usize,
    line: String,
}

impl Fragment {
    /// Parses the config fragment that fsdyno contains.
    pub fn ours() -> Result<Self, InvalidFragment> {
        Self::parse(TEXT)
    }

    pub fn parse(text: &str) -> Result<Self, InvalidFragment> {
        let mut options = Vec::new();
        let mut offers: Vec<String> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if let Some(names) = line.strip_prefix(OFFERS) {
                offers = names.split_whitespace().map(str::to_owned).collect();
            } else if line == NEEDED {
                offers.clear();
            } else if let Some((name, value)) = option(line) {
                options.push(RequiredOption {
                    name,
                    value,
                    offers: offers.clone(),
                });
            } else if !line.is_empty() && !line.starts_with('#') {
                return Err(InvalidFragment {
                    number: number + 1,
                    line: line.to_owned(),
                });
            }
        }
        Ok(Self { options })
    }

    /// The names of all additions.
    pub fn offers(&self) -> BTreeSet<&str> {
        let all = self.options.iter().flat_map(|option| &option.offers);
        all.map(String::as_str).collect()
    }

    /// Checks a configuration against the fragment. `known` are the options that the sources
    /// define.
    pub fn taken(&self, configuration: &str, known: &BTreeSet<String>) -> AppliedOptions {
        let mut taken = AppliedOptions::default();
        let mut first_of: Option<&[String]> = None;
        for required in &self.options {
            // The first option of an addition is the one that enables it.
            let first = first_of != Some(required.offers.as_slice());
            first_of = Some(&required.offers);
            let found = found(configuration, &required.name);
            if found == required.value {
                continue;
            }
            if known.contains(&required.name) {
                let became = found.as_ref().map_or("off", String::as_str);
                let requested = required.value.as_ref().map_or("off", String::as_str);
                let text = format!("{} was to be {requested}, and is {became}", required.name);
                taken.refused.push(text);
            } else if required.offers.is_empty() {
                taken.missing.push(required.name.clone());
            } else if first {
                taken.lacks.extend(required.offers.iter().cloned());
            } else if !required
                .offers
                .iter()
                .all(|name| taken.lacks.contains(name))
            {
                taken.unknown.push(required.name.clone());
            }
        }
        taken
    }
}

/// Parses a line that sets or disables an option.
fn option(line: &str) -> Option<(String, Option<String>)> {
    if let Some(rest) = line.strip_prefix(OFF.0) {
        let name = rest.strip_suffix(OFF.1)?;
        return Some((format!("CONFIG_{name}"), None));
    }
    let (name, value) = line.split_once('=')?;
    name.strip_prefix("CONFIG_")?;
    Some((name.to_owned(), Some(value.to_owned())))
}

/// The value of an option in a configuration; none if it is off.
fn found(configuration: &str, name: &str) -> Option<String> {
    let mut options = configuration.lines().filter_map(option);
    options.find(|(one, _)| one == name)?.1
}

/// All options that the sources of a kernel define.
pub(super) fn known(sources: &Path) -> io::Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().to_string_lossy().starts_with("Kconfig") {
                let text = fs::read(entry.path())?;
                all.extend(options_of(&String::from_utf8_lossy(&text)));
            }
        }
    }
    Ok(all)
}

/// The options that a `Kconfig` file defines.
fn options_of(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        match words.next()? {
            "config" | "menuconfig" => Some(format!("CONFIG_{}", words.next()?)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| format!("CONFIG_{name}")).collect()
    }

    const SMALL: &str = "\
# a comment
CONFIG_HOSTFS=y
# CONFIG_MODULES is not set

# offers one other
CONFIG_ONE_FS=y
CONFIG_ONE_ACL=y
# offers third
CONFIG_THIRD_FS=y
";

    #[test]
    fn the_fragment_we_carry_is_understood_and_offers_what_joins_and_what_holds_files() {
        let ours = Fragment::ours().unwrap();
        let offers = ours.offers();
        for name in ["ext2", "reiserfs", "ufs", "bcachefs", "fuse", "raid0"] {
            assert!(offers.contains(name), "{name}: {offers:?}");
        }
        let mut seen = BTreeSet::new();
        for required in &ours.options {
            assert!(
                seen.insert(&required.name),
                "{} is listed twice",
                required.name
            );
        }
    }

    #[test]
    fn what_is_no_option_and_no_comment_is_refused_with_its_line() {
        let error = Fragment::parse("CONFIG_A=y\nCONFG_B=y\n").unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("line 2") && error.contains("CONFG_B"),
            "{error}"
        );
    }

    #[test]
    fn an_option_that_was_not_applied_is_named_and_one_of_another_version_is_reported() {
        let fragment = Fragment::parse(SMALL).unwrap();
        let all = names(&["HOSTFS", "MODULES", "ONE_FS", "ONE_ACL", "THIRD_FS"]);
        let good = "CONFIG_HOSTFS=y\nCONFIG_ONE_FS=y\nCONFIG_ONE_ACL=y\nCONFIG_THIRD_FS=y\n";
        assert_eq!(fragment.taken(good, &all), AppliedOptions::default());
        // One option is missing because its dependency is off, and one is on that must be off.
        let bad = "CONFIG_HOSTFS=y\nCONFIG_MODULES=y\n# CONFIG_ONE_FS is not set\n\
                   CONFIG_ONE_ACL=y\nCONFIG_THIRD_FS=m\n";
        let taken = fragment.taken(bad, &all);
        assert_eq!(
            taken.refused,
            [
                "CONFIG_MODULES was to be off, and is y",
                "CONFIG_ONE_FS was to be y, and is off",
                "CONFIG_THIRD_FS was to be y, and is m"
            ]
        );
        // A version without the first, and one without a part of it.
        let without = "CONFIG_HOSTFS=y\nCONFIG_THIRD_FS=y\n";
        let taken = fragment.taken(without, &names(&["HOSTFS", "MODULES", "THIRD_FS"]));
        assert_eq!(taken.lacks, ["one", "other"]);
        assert!(taken.refused.is_empty() && taken.unknown.is_empty());
        let without = "CONFIG_HOSTFS=y\nCONFIG_THIRD_FS=y\nCONFIG_ONE_FS=y\n";
        let taken = fragment.taken(without, &names(&["HOSTFS", "ONE_FS", "THIRD_FS"]));
        assert_eq!(taken.unknown, ["CONFIG_ONE_ACL"]);
        // This option is required for every version.
        let taken = fragment.taken(good.split_once('\n').unwrap().1, &names(&["ONE_FS"]));
        assert_eq!(taken.missing, ["CONFIG_HOSTFS"], "{taken:?}");
    }

    #[test]
    fn options_are_found_where_the_sources_define_them() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = work_dir.path().join("fs/one");
        fs::create_dir_all(&folder).unwrap();
        let text = "menuconfig ONE_FS\n\tbool \"one\"\nconfig\tONE_ACL\n\tdepends on ONE_FS\n";
        fs::write(folder.join("Kconfig"), text).unwrap();
        fs::write(folder.join("Makefile"), "config NO_SUCH\n").unwrap();
        assert_eq!(
            known(work_dir.path()).unwrap(),
            names(&["ONE_ACL", "ONE_FS"])
        );
    }
}
