//! Suggestions of similar names for typing errors.

use std::cmp::Reverse;

/// The names among `candidates` that `name` may mean: best first, at most three, or none.
///
/// A candidate is similar if one edit turns `name` into it: a letter missing, added, wrong, or two
/// swapped. Words of five letters permit two edits, words of nine three. A candidate that starts
/// with `name` is similar too. Case is ignored.
pub fn closest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let typed = name.to_lowercase();
    let mut near: Vec<(usize, Reverse<usize>, String)> = Vec::new();
    for candidate in candidates {
        let lower = candidate.to_lowercase();
        let distance = strsim::osa_distance(&typed, &lower);
        let begun = typed.chars().count() >= 3 && lower.starts_with(&typed);
        if distance > permitted_edits(&typed) && !begun {
            continue;
        }
        // Among equal distances, the candidate with a common prefix is first.
        let common_prefix = typed
            .chars()
            .zip(lower.chars())
            .take_while(|(a, b)| a == b)
            .count();
        near.push((distance, Reverse(common_prefix), candidate.to_owned()));
    }
    near.sort();
    near.dedup();
    near.truncate(3);
    near.into_iter().map(|(_, _, name)| name).collect()
}

/// The suggestion for an unknown name: the nearest names, or all names if none is near.
pub fn suggestion<'a>(name: &str, all: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = closest_name(name, all.clone());
    if near.is_empty() {
        format!("there are {}", all.collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", near.join(" or "))
    }
}

/// Permitted number of edits for a word of this length.
fn permitted_edits(word: &str) -> usize {
    match word.chars().count() {
        0..=4 => 1,
        5..=8 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_suggests_the_intended_name() {
        let names = [
            "ext2",
            "ext3",
            "ext4",
            "xfs",
            "btrfs",
            "tmpfs",
            "classic-2004",
            "classic-2008",
        ];
        for (typed, expected) in [
            ("xsf", vec!["xfs"]),
            ("EXT4", vec!["ext4", "ext2", "ext3"]),
            ("etx4", vec!["ext4"]),
            ("brtfs", vec!["btrfs"]),
            ("clasic-2004", vec!["classic-2004", "classic-2008"]),
            ("classic", vec!["classic-2004", "classic-2008"]),
            ("reiserfs", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(closest_name(typed, names.into_iter()), expected, "{typed}");
        }
    }
}
