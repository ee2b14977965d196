//! Names of files and directories: pronounceable, and unique by construction.

/// Consonants and vowels: 64 syllables, 6 bits each.
const CONSONANTS: &[u8; 16] = b"bdfghklmnprstvwz";
const VOWELS: &[u8; 4] = b"aeio";

/// A name of at least three syllables: another one for each index (of one `salt`).
pub fn unique(index: u64, salt: u64) -> String {
    // An odd multiplier permutes the numbers of a given width; adjacent numbers get different
    // names.
    let mut bits = 18;
    while index >> bits != 0 {
        bits += 6;
    }
    let mask = (1_u64 << bits) - 1;
    let mut code = index.wrapping_mul((salt << 1) | 1).wrapping_add(salt >> 32) & mask;
    let mut name = String::with_capacity(12);
    for _ in 0..bits / 6 {
        name.push(char::from(CONSONANTS[usize::from((code & 15) as u8)]));
        name.push(char::from(VOWELS[usize::from((code >> 4 & 3) as u8)]));
        code >>= 6;
    }
    name
}

/// A package: a unique name, three in ten with `lib` before it or a word behind.
pub fn package(index: u64, salt: u64) -> String {
    let name = unique(index, salt);
    match index % 20 {
        3 | 11 => format!("lib{name}"),
        5 => format!("{name}-utils"),
        8 => format!("{name}-data"),
        14 => format!("{name}-python"),
        17 => format!("{name}-common"),
        _ => name,
    }
}

/// The category of that index, made of two words as the trees of distributions name theirs.
pub fn category(index: u64) -> String {
    const FIRST: [&str; 12] = [
        "app", "dev", "media", "net", "sys", "x11", "sci", "games", "www", "mail", "gui", "sec",
    ];
    const SECOND: [&str; 13] = [
        "misc", "libs", "util", "text", "tools", "fonts", "admin", "client", "themes", "plugins",
        "lang", "arch", "server",
    ];
    let pick = |of: &[&'static str], at: u64| of[usize::try_from(at).unwrap_or(0) % of.len()];
    // The counts are coprime: the pairs repeat only after all 156.
    let pair = format!("{}-{}", pick(&FIRST, index % 12), pick(&SECOND, index % 13));
    match index / 156 {
        0 => pair,
        round => format!("{pair}{round}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let packages: HashSet<_> = (0..300_000)
            .map(|index| package(index, 0x1234_5678))
            .collect();
        assert_eq!(packages.len(), 300_000);
        let categories: HashSet<_> = (0..1000).map(category).collect();
        assert_eq!(categories.len(), 1000);
    }
}
