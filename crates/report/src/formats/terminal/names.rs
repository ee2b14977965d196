//! What contenders are called where there is no room for their labels: the name of the file
//! system and a letter, which a legend resolves.

use super::Page;
use super::paint::{shortened, width};
use crate::table::Comparison;

/// Columns an abbreviation may give to the name of the file system.
const NAME: usize = 7;

/// The labels of all contenders, full and short.
#[derive(Debug, Clone)]
pub struct Names {
    full: Vec<String>,
    short: Vec<String>,
}

impl Names {
    pub fn of(comparison: &Comparison) -> Self {
        let filesystems = comparison.filesystems.iter().enumerate();
        let short =
            filesystems.map(|(at, name)| format!("{} [{}]", shortened(name, NAME), letters(at)));
        Self {
            full: comparison.contenders.clone(),
            short: short.collect(),
        }
    }

    /// What to call contender `at` in `columns`: its label, or where it is too wide, the short
    /// name.
    pub fn fitting(&self, at: usize, columns: usize) -> &str {
        if width(&self.full[at]) <= columns.max(width(&self.short[at])) {
            &self.full[at]
        } else {
            &self.short[at]
        }
    }

    /// The label of contender `at`.
    pub fn full(&self, at: usize) -> &str {
        &self.full[at]
    }

    /// Says what the short names among those used stand for.
    pub fn legend(&self, page: &mut Page, used: impl Iterator<Item = String>) {
        for name in used {
            if let Some(at) = self.short.iter().position(|s| *s == name) {
                let hang = width(&name) + 3;
                page.paragraph(&format!("{name} = {}", self.full[at]), hang);
            }
        }
    }
}

/// `a` to `z`, then `aa`, `ab` ...
fn letters(at: usize) -> String {
    let last = char::from(b"abcdefghijklmnopqrstuvwxyz"[at % 26]);
    match at / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letters(more - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn letters_never_run_out_and_never_repeat() {
        let all: std::collections::HashSet<String> = (0..800).map(letters).collect();
        assert_eq!(all.len(), 800);
        assert_eq!((letters(25), letters(26)), ("z".into(), "aa".into()));
    }
}
