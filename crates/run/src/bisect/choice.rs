//! The next commit of a search, as `git bisect` selects it: the one that halves the rest, and if that
//! one was skipped, one away from it.

/// The next step of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// This commit is tried.
    Try(String),
    /// Only the bad commit is left.
    Only,
    /// Only skipped commits and the bad one are left.
    Among(Vec<String>),
}

/// Selects from the candidates, those that halve the rest first.
pub(super) fn choose(candidates: &[String], skipped: &[String], bad: &str) -> Choice {
    let is_skipped = |commit: &String| skipped.contains(commit);
    let open: Vec<&String> = candidates.iter().filter(|one| !is_skipped(one)).collect();
    let chosen = match candidates.first() {
        Some(first) if is_skipped(first) => away(&open, bad),
        _ => open.first().copied(),
    };
    match chosen {
        Some(commit) if commit != bad => Choice::Try(commit.clone()),
        _ if candidates.iter().any(is_skipped) => {
            let of_bad = |commit: &&String| *commit != bad;
            let mut all: Vec<String> = candidates.iter().filter(of_bad).cloned().collect();
            all.push(bad.to_owned());
            Choice::Among(all)
        }
        _ => Choice::Only,
    }
}

/// A commit away from the best one, as a skipped commit often has skipped neighbours (`skip_away` in
/// git's `bisect.c`, version 2.39).
fn away<'a>(open: &[&'a String], bad: &str) -> Option<&'a String> {
    const MODULO: f64 = 32_768.0;
    let count = open.len() as u64;
    let random = (count.wrapping_mul(1_103_515_245).wrapping_add(12_345) / 65_536) % 32_768;
    let share = random as f64 / MODULO;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share below 1 of a length"
    )]
    let at = (open.len() as f64 * share * share.sqrt()) as usize;
    let commit = open.get(at).copied()?;
    if commit != bad {
        return Some(commit);
    }
    open.get(at.saturating_sub(1)).copied()
}
