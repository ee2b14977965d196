//! The search for the commit that changed a figure: which commit comes next, and whether
//! the figures of each have the change. It builds and measures nothing itself.
//!
//! The search depends on nothing but the history and the figures. A search that is repeated with the
//! recorded figures makes the same steps, so that it resumes at any step.

mod choice;
mod figures;

pub use figures::{Change, Counter, Figures, Paired, is_paired, metrics};

use choice::{Choice, choose};
use fsdyno_model::FigureName;

/// A search: the ends, the metric and the threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The commit without the change.
    pub good: String,
    /// A later commit with the change.
    pub bad: String,
    /// The figure that decides.
    pub metric: FigureName,
    /// The ratio of two figures that is a change; above 1.
    pub threshold: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Tried {
    Measured(Figures),
    /// It cannot be built or measured, for this reason.
    Skipped(String),
}

/// The role of a commit that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is the good commit of the question.
    Good,
    /// It is the bad commit of the question.
    Bad,
    /// It halves the rest of the history.
    Probe,
}

/// Whether a commit has the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// It does not have the change.
    Good,
    /// It has the change.
    Bad,
    /// It is not known.
    Skipped,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub commit: String,
    pub role: Role,
    pub tried: Tried,
    pub judged: Judged,
    /// How many commits may still be the first with the change; 0 before the ends are known.
    pub left: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The first commit with the change.
    Commit {
        commit: String,
        /// The last commit without the change that was measured.
        before: String,
        /// The figures of that one.
        figures_before: Figures,
        figures: Figures,
    },
    /// The first commit with the change is one of these; all but the last were skipped.
    Among(Vec<String>),
    /// The ends do not differ by more than the threshold.
    NoDifference {
        /// The figure of the good commit.
        good: u64,
        /// The figure of the bad commit.
        bad: u64,
    },
    /// The comparison of the ends is inconclusive.
    Inconclusive(Paired),
    /// With all user code in both figures, the ends do not differ by more than the threshold.
    DependsOnUserCode {
        /// The figure of the good commit.
        good: u64,
        /// The figure of the bad commit.
        bad: u64,
        /// The time of the user code, ns.
        user_code: u64,
    },
    /// The good commit, measured twice, does not have the same figures.
    NotExact(String),
    /// An end cannot be built or measured.
    NoEnd { role: Role, why: String },
    /// An end has no such figure.
    NoFigure,
}

/// Builds and measures commits.
pub trait Bench {
    /// An error that ends the search.
    type Error;

    /// The commits that may be the first bad one, those that halve the rest first; `bad` is among them.
    fn candidates(&mut self, bad: &str, good: &[String]) -> Result<Vec<String>, Self::Error>;

    fn measure(&mut self, commit: &str, role: Role) -> Result<Tried, Self::Error>;

    /// Measures a commit again and describes the first difference; none if all is equal.
    fn repeat(&mut self, commit: &str) -> Result<Option<String>, Self::Error>;

    /// Receives each step when its result is known.
    fn report(&mut self, step: &Step);
}

impl Question {
    /// The change from the good figure to another one; none if one was not measured. It is undecided if
    /// it does not hold with none and with all user code.
    pub fn change(&self, good: &Figures, other: &Figures) -> Option<Change> {
        if let Some(paired) = &other.paired {
            return Some(paired.change);
        }
        let code = good.user_code.unwrap_or_default();
        let (good, other) = (good.of(&self.metric)?, other.of(&self.metric)?);
        let change = |added: u64| {
            let (good, other) = ((good + added) as f64, (other + added) as f64);
            if other > good * self.threshold {
                Change::Rises
            } else if other * self.threshold < good {
                Change::Falls
            } else {
                Change::None
            }
        };
        let without = change(0);
        let holds = change(code) == without;
        Some(if holds { without } else { Change::Undecided })
    }

    /// The reason why the ends do not differ in one direction.
    pub fn no_change(&self, change: Option<Change>, good: &Figures, bad: &Figures) -> Found {
        let of = |figures: &Figures| figures.of(&self.metric).unwrap_or_default();
        let user_code = good.user_code.unwrap_or_default();
        let (good, paired, bad) = (of(good), bad.paired, of(bad));
        match (change, paired) {
            (Some(Change::Undecided), Some(paired)) => Found::Inconclusive(paired),
            (Some(Change::Undecided), None) => Found::DependsOnUserCode {
                good,
                bad,
                user_code,
            },
            _ => Found::NoDifference { good, bad },
        }
    }

    /// Whether a commit has the change of this direction. A comparison that decides nothing skips
    /// the commit, with the reason.
    pub fn judge(&self, good: &Figures, tried: Tried, direction: Change) -> (Judged, Tried) {
        let change = match &tried {
            Tried::Measured(figures) => self.change(good, figures),
            Tried::Skipped(_) => None,
        };
        match (change, &tried) {
            (Some(Change::Undecided), Tried::Measured(figures)) => {
                let paired = figures.paired.as_ref().map(ToString::to_string);
                let why = paired.unwrap_or_else(|| "it depends on user code".to_owned());
                let why = format!("inconclusive: {why}");
                (Judged::Skipped, Tried::Skipped(why))
            }
            (None, _) => (Judged::Skipped, tried),
            (Some(change), _) if change == direction => (Judged::Bad, tried),
            (Some(_), _) => (Judged::Good, tried),
        }
    }

    /// Searches for the first commit with the change.
    pub fn search<B: Bench>(&self, bench: &mut B) -> Result<Found, B::Error> {
        let end = |tried: &Tried, role| match tried {
            Tried::Measured(figures) => Ok(figures.clone()),
            Tried::Skipped(why) => Err((role, why.clone())),
        };
        let no_end = |(role, why)| Ok(Found::NoEnd { role, why });
        let first = |bench: &mut B, role| -> Result<Tried, B::Error> {
            let (commit, judged) = match role {
                Role::Bad => (&self.bad, Judged::Bad),
                _ => (&self.good, Judged::Good),
            };
            let tried = bench.measure(commit, role)?;
            bench.report(&Step {
                commit: commit.clone(),
                role,
                judged: match tried {
                    Tried::Measured(_) => judged,
                    Tried::Skipped(_) => Judged::Skipped,
                },
                tried: tried.clone(),
                left: 0,
            });
            Ok(tried)
        };
        let good = match end(&first(bench, Role::Good)?, Role::Good) {
            Ok(figures) => figures,
            Err(end) => return no_end(end),
        };
        if let Some(difference) = bench.repeat(&self.good)? {
            return Ok(Found::NotExact(difference));
        }
        let bad = match end(&first(bench, Role::Bad)?, Role::Bad) {
            Ok(figures) => figures,
            Err(end) => return no_end(end),
        };
        if good.of(&self.metric).is_none() || bad.of(&self.metric).is_none() {
            return Ok(Found::NoFigure);
        }
        match self.change(&good, &bad) {
            Some(direction @ (Change::Rises | Change::Falls)) => {
                self.halve(bench, &good, bad, direction)
            }
            change => Ok(self.no_change(change, &good, &bad)),
        }
    }

    /// Halves the history between the ends until one commit is left.
    fn halve<B: Bench>(
        &self,
        bench: &mut B,
        reference: &Figures,
        bad: Figures,
        direction: Change,
    ) -> Result<Found, B::Error> {
        let mut without = vec![(self.good.clone(), reference.clone())];
        let mut with = (self.bad.clone(), bad);
        let mut skipped = Vec::new();
        loop {
            let known: Vec<String> = without.iter().map(|(commit, _)| commit.clone()).collect();
            let candidates = bench.candidates(&with.0, &known)?;
            let commit = match choose(&candidates, &skipped, &with.0) {
                Choice::Try(commit) => commit,
                Choice::Only => break,
                Choice::Among(commits) => return Ok(Found::Among(commits)),
            };
            let tried = bench.measure(&commit, Role::Probe)?;
            let (judged, tried) = self.judge(reference, tried, direction);
            bench.report(&Step {
                commit: commit.clone(),
                role: Role::Probe,
                tried: tried.clone(),
                judged,
                left: candidates.len(),
            });
            match (judged, tried) {
                (Judged::Good, Tried::Measured(figures)) => without.push((commit, figures)),
                (Judged::Bad, Tried::Measured(figures)) => with = (commit, figures),
                _ => skipped.push(commit),
            }
        }
        let (before, figures_before) = without.pop().unwrap_or_default();
        Ok(Found::Commit {
            commit: with.0,
            before,
            figures_before,
            figures: with.1,
        })
    }
}

#[cfg(test)]
mod tests;
