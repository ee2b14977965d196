//! Explanations of differences from the baseline, for contenders with a verdict: on the page, the
//! sentence of each phase with its figures.

use super::Lab;
use crate::comparison::overview::Relation;
use crate::comparison::verdicts::LineVerdicts;
use crate::document::{Audience, Block, Fold, Outcome, Section};
use crate::lists::unique;
use crate::why::{PhaseWhy, Why, document};

/// The largest number of phases on a page: those with the largest differences.
const MAX_PHASES: usize = 60;

/// A contender that differs from the baseline.
struct Pair {
    contender: String,
    baseline: String,
    labels: [String; 2],
    phases: Vec<PhaseWhy>,
}

/// The section; `None` if no contender is faster or slower than the baseline.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let (set, comparison) = (lab.set, lab.comparison);
    let labels = &set.run.plan.contenders;
    let all: Vec<usize> = (0..comparison.contenders.len()).collect();
    let overview = comparison.overview(&all);
    let judged = LineVerdicts::of(set);
    let (mut pairs, mut sources, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for at in all.iter().copied().skip(1) {
        let rows = overview.rows.iter();
        let rows = rows.filter(|row| row.entries[at].is_some_and(|one| differs(&one.to_base)));
        let places: Vec<&str> = rows.map(|row| row.place.as_str()).collect();
        if places.is_empty() {
            continue;
        }
        let pair = [labels[0].label.as_str(), labels[at].label.as_str()];
        let Ok(why) = Why::judged(set, pair, None, &lab.options.advice, &judged) else {
            continue;
        };
        let phases = why.phases.into_iter();
        let [baseline, contender] = why.contenders.clone();
        pairs.push(Pair {
            contender,
            baseline,
            labels: why.contenders,
            phases: phases
                .filter(|phase| places.contains(&phase.phase.as_str()))
                .collect(),
        });
        sources.extend(why.sources);
        missing.extend(why.missing);
    }
    let left_out = shorten(&mut pairs);
    if pairs.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::paragraph(format!(
        "For each contender that is faster or slower than {} by its verdict: what carries the \
         difference, the greatest first. Unfold a phase for its figures.",
        pairs[0].baseline
    ))];
    blocks.extend(pairs.into_iter().map(Pair::block));
    if left_out > 0 {
        blocks.push(Block::paragraph(format!(
            "{left_out} smaller differences: fsdyno why {} A B.",
            crate::terms::printable(&set.run.id)
        )));
    }
    let missing = missing.iter().map(|text| format!("Not known: {text}"));
    let sources = unique(sources.into_iter().chain(missing));
    blocks.push(
        Fold {
            name: "Where these figures come from, and what is not known".to_owned(),
            blocks: vec![Block::sentences(sources)],
            ..Fold::default()
        }
        .into(),
    );
    let mut section = Section::new("why", "Why");
    section.blocks = vec![Block::Only(Audience::Page, blocks)];
    Some(section)
}

fn differs(relation: &Relation) -> bool {
    matches!(relation.outcome, Outcome::Faster | Outcome::Slower)
}

impl Pair {
    fn block(self) -> Block {
        let Self {
            contender,
            baseline,
            labels,
            phases,
        } = self;
        let heading = format!("{contender} compared with {baseline}");
        let folds = phases.into_iter().map(|phase| {
            Block::Fold(Fold {
                name: phase.phase.clone(),
                summary: phase.sentence.clone(),
                place: Some(phase.phase.clone()),
                blocks: vec![document::table(&phase, &labels).into()],
                ..Fold::default()
            })
        });
        Block::Section(Section {
            contender: Some(contender),
            blocks: folds.collect(),
            ..Section::new("", heading)
        })
    }
}

/// Drops the smallest differences if a page has too many. Returns the number of dropped ones.
fn shorten(pairs: &mut Vec<Pair>) -> usize {
    let difference = |phase: &PhaseWhy| phase.difference_ns.unsigned_abs();
    let phases = pairs.iter().flat_map(|pair| &pair.phases);
    let mut differences: Vec<u64> = phases.map(difference).collect();
    differences.sort_unstable_by(|a, b| b.cmp(a));
    let Some(least) = differences.get(MAX_PHASES).copied() else {
        return 0;
    };
    for pair in &mut *pairs {
        pair.phases.retain(|phase| difference(phase) > least);
    }
    pairs.retain(|pair| !pair.phases.is_empty());
    let kept: usize = pairs.iter().map(|pair| pair.phases.len()).sum();
    differences.len() - kept
}
