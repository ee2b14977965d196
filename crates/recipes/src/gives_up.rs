//! The safety that the options of a contender give up for speed.

use crate::fs::find;
use crate::options::{is_negation, key};
use crate::unsafe_options::UnsafeOption;
use fsdyno_model::Contender;

/// The mount options of every file system.
const COMMON: &[UnsafeOption] = &[UnsafeOption {
    word: "lazytime",
    cost: "after a crash, the times of files may be up to 24 hours old",
    source: "mount(8) of util-linux 2.38.1, lazytime",
}];

/// The safety that the options of a contender give up; none if they give up none. Of options that
/// contradict each other, the last one counts.
pub fn gives_up(contender: &Contender) -> Option<String> {
    let own = find(&contender.filesystem).map_or(&[][..], |fs| fs.facts().unsafe_options);
    let has = |one: &&UnsafeOption| {
        is_in_effect(&contender.mount, one.word)
            || contender.mkfs.iter().any(|word| {
                let values = word.strip_prefix("-O").unwrap_or(word);
                values.split(',').any(|value| value == one.word)
            })
    };
    let costs = own.iter().chain(COMMON).filter(has).map(|one| one.cost);
    let mut unique: Vec<&str> = Vec::new();
    for cost in costs {
        if !unique.contains(&cost) {
            unique.push(cost);
        }
    }
    (!unique.is_empty()).then(|| unique.join("; "))
}

/// Whether a mount option is given, and no later one changes it.
fn is_in_effect(mount: &[String], word: &str) -> bool {
    let changes =
        |option: &&String| key(option) == key(word) || is_negation(key(option), key(word));
    mount.iter().rfind(changes).is_some_and(|last| last == word)
}

#[cfg(test)]
mod tests {
    use super::gives_up;
    use crate::{fs, kind_of};
    use fsdyno_model::Contender;

    #[test]
    fn a_contender_gives_up_what_its_options_in_effect_cost() {
        let of = |text: &str| gives_up(&Contender::parse(text, &kind_of).unwrap());
        for (text, part) in [
            ("ext4:nobarrier", "fsync acknowledged"),
            ("ext4:barrier=0", "fsync acknowledged"),
            ("ext3:data=writeback", "old data"),
            ("ext4[-O ^has_journal]", "no journal"),
            ("ext4[-O^has_journal,^dir_index]", "no journal"),
            ("btrfs:nodatacow,lazytime", "24 hours"),
            ("zfs:sync=disabled", "fsync acknowledged"),
            ("zfs[-O sync=disabled]", "fsync acknowledged"),
        ] {
            let costs = of(text);
            assert!(costs.is_some_and(|costs| costs.contains(part)), "{text}");
        }
        for text in [
            "ext4:noatime,data=journal",
            "ext4:data=writeback,data=ordered",
            "ext4:nobarrier,barrier",
            "xfs[-m reflink=0]",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn every_unsafe_option_has_a_document() {
        for one in fs::ALL.iter().flat_map(|fs| fs.facts().unsafe_options) {
            assert!(one.source.contains(char::is_numeric), "{}", one.word);
        }
    }
}
