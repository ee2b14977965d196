//! Why contenders differ from the baseline, where they do for sure: the sentence of each phase, and
//! the figures it rests on, as the template takes them.

use crate::Options;
use crate::table::overview::Says;
use crate::table::verdicts::Judged;
use crate::table::{Comparison, Comparisons};
use crate::why::Why as Told;
use fsdyno_model::ResultSet;
use serde::Serialize;

/// So many phases are told on a page, those of the greatest differences.
const MOST: usize = 60;

/// All pairs of a lab.
#[derive(Debug, Default, Serialize)]
pub struct Why {
    pairs: Vec<Pair>,
    /// What the counters do not tell, once for all.
    missing: Vec<String>,
    sources: Vec<String>,
    left_out: usize,
    run: String,
}

/// A contender beside the baseline.
#[derive(Debug, Serialize)]
struct Pair {
    contender: String,
    baseline: String,
    phases: Vec<Phase>,
}

#[derive(Debug, Serialize)]
struct Phase {
    place: String,
    sentence: String,
    rows: Vec<(&'static str, [String; 2])>,
    #[serde(skip)]
    apart_ns: u64,
}

impl Why {
    /// Those of one lab, whose share of the run `set` is; nothing where no verdict tells anybody
    /// apart from the baseline.
    pub fn of(set: &ResultSet, comparison: &Comparison, options: &Options) -> Self {
        let labels = &set.run.plan.contenders;
        let all: Vec<usize> = (0..comparison.contenders.len()).collect();
        let overview = comparison.overview(&all);
        let mut why = Self {
            run: crate::terms::printable(&set.run.id),
            ..Self::default()
        };
        let judged = Judged::of(set);
        for at in all.iter().copied().skip(1) {
            let apart = |says| matches!(says, Says::Faster | Says::Slower);
            let rows = overview.rows.iter();
            let places: Vec<&str> = rows
                .filter(|row| row.entries[at].is_some_and(|entry| apart(entry.to_base.says)))
                .map(|row| row.place.as_str())
                .collect();
            let pair = [labels[0].label.as_str(), labels[at].label.as_str()];
            let told = (!places.is_empty())
                .then(|| Told::judged(set, pair, None, &options.advice, &judged).ok())
                .flatten();
            if let Some(told) = told {
                why.take(told, &places);
            }
        }
        why.shorten();
        why
    }

    fn take(&mut self, told: Told, places: &[&str]) {
        let phases = told.phases.into_iter();
        let phases = phases.filter(|phase| places.contains(&phase.phase.as_str()));
        let phase = |phase: crate::why::PhaseWhy| Phase {
            place: phase.phase,
            sentence: phase.sentence,
            rows: phase
                .rows
                .into_iter()
                .map(|row| {
                    let or_dash = |text: Option<String>| text.unwrap_or("\u{2013}".to_owned());
                    (row.name, row.texts.map(or_dash))
                })
                .collect(),
            apart_ns: phase.difference_ns.unsigned_abs(),
        };
        let [baseline, contender] = told.contenders;
        self.pairs.push(Pair {
            contender,
            baseline,
            phases: phases.map(phase).collect(),
        });
        let add = |all: &mut Vec<String>, more: Vec<String>| {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        };
        add(&mut self.sources, told.sources);
        add(&mut self.missing, told.missing);
    }

    /// Leaves the smallest differences out where there are too many for a page.
    fn shorten(&mut self) {
        let phases = self.pairs.iter().flat_map(|pair| &pair.phases);
        let mut apart: Vec<u64> = phases.map(|phase| phase.apart_ns).collect();
        apart.sort_unstable_by(|a, b| b.cmp(a));
        let Some(least) = apart.get(MOST).copied() else {
            return;
        };
        for pair in &mut self.pairs {
            pair.phases.retain(|phase| phase.apart_ns > least);
        }
        self.pairs.retain(|pair| !pair.phases.is_empty());
        let kept: usize = self.pairs.iter().map(|pair| pair.phases.len()).sum();
        self.left_out = apart.len() - kept;
    }
}

/// Those of all labs, in their order.
pub fn of_all(set: &ResultSet, comparisons: &Comparisons, options: &Options) -> Vec<Why> {
    let shares = crate::table::labs::shares(set);
    let both = shares.iter().zip(&comparisons.labs);
    both.map(|((_, share), comparison)| Why::of(share, comparison, options))
        .collect()
}
