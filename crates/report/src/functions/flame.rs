//! Flame graphs of call paths: of one contender, or of two, as wide as the blocks of both. Also the same
//! as lines of text for other viewers.

use super::Calls;
use super::tree::{Tree, in_microseconds};
use crate::charts::Kind;
use crate::charts::flame::{Flame, Frame};
use crate::terms;
use fsdyno_model::profile::{PathWork, Profile};
use std::fmt::Write as _;

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Blocks,
    /// Processor time of a sampled profile, in microseconds.
    SampledTime,
    /// Of processes.
    Sleep,
}

impl Measure {
    pub(super) fn of(self, work: &PathWork) -> u64 {
        match self {
            Self::Blocks => work.blocks,
            Self::SampledTime => work.samples,
            Self::Sleep => work.slept_ns,
        }
    }

    /// Who does it.
    fn executors(self) -> &'static [&'static str] {
        match self {
            Self::Blocks | Self::SampledTime => &Profile::EXECUTORS[..3],
            Self::Sleep => &Profile::EXECUTORS[..1],
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Blocks | Self::SampledTime => Kind::Flame,
            Self::Sleep => Kind::Sleep,
        }
    }

    /// The name in the title, and the unit.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Blocks => ["functions of the kernel", "blocks"],
            Self::SampledTime => ["functions of the kernel and of programs, sampled", "us"],
            Self::Sleep => ["sleep of processes in the kernel", "ns"],
        }
    }
}

/// The picture of the difference. None if there is nothing to show.
pub fn flame(calls: &Calls, measure: Measure) -> Option<Flame> {
    let title = (&*calls.phase, &calls.samples[..]);
    drawn(&calls.tree, measure, &calls.contenders, title)
}

/// All pictures of the profiles that the store has of a phase: of each contender, and of the first one
/// and each other. A contender is its label and the sample with its profile.
pub fn of_phase(phase: &str, all: &[(String, &Profile)]) -> Vec<Flame> {
    let timed = all.iter().map(|(label, profile)| {
        let samples = profile.samples();
        (label, in_microseconds(profile), samples)
    });
    let all: Vec<(&String, Profile, u64)> = timed.collect();
    let mut flames = Vec::new();
    for measure in [Measure::Blocks, Measure::SampledTime, Measure::Sleep] {
        let mut add = |tree: &Tree, contenders: &[String], samples: &[u64]| {
            flames.extend(drawn(tree, measure, contenders, (phase, samples)));
        };
        for (label, profile, samples) in &all {
            let tree = Tree::of([profile, &Profile::default()]);
            add(&tree, std::slice::from_ref(*label), &[*samples]);
        }
        if let Some(((first, a, of_a), others)) = all.split_first() {
            for (label, b, of_b) in others {
                let both = [(*first).clone(), (*label).clone()];
                add(&Tree::of([a, b]), &both, &[*of_a, *of_b]);
            }
        }
    }
    flames
}

/// The tree of these contenders, as a picture. The title has the phase, and how many samples there are.
fn drawn(
    tree: &Tree,
    measure: Measure,
    contenders: &[String],
    (phase, samples): (&str, &[u64]),
) -> Option<Flame> {
    let sides = contenders.len();
    let tops = tops(tree, measure.executors());
    let mut placing = Placing {
        tree,
        measure,
        sides,
        frames: Vec::new(),
    };
    let mut total = vec![0; sides];
    for top in tops {
        let from = total.iter().sum();
        placing.place(top, 0, from);
        for (total, work) in total.iter_mut().zip(&tree.nodes[top].total) {
            *total += measure.of(work);
        }
    }
    let [what, unit] = measure.names();
    let mut title = format!("{} in {phase}: {what}", contenders.join(" and "));
    if measure == Measure::SampledTime {
        let samples = samples.iter().map(|count| terms::grouped(*count));
        let samples = terms::list(&samples.collect::<Vec<_>>());
        let _ = write!(
            title,
            " ({samples} samples; small differences may be chance)"
        );
    }
    (!placing.frames.is_empty()).then(|| Flame {
        schema: Flame::SCHEMA,
        name: measure.kind().name().to_owned(),
        kind: measure.kind(),
        title,
        unit,
        contenders: contenders.to_vec(),
        total,
        frames: placing.frames,
    })
}

/// Places the frames of a tree.
struct Placing<'a> {
    tree: &'a Tree,
    measure: Measure,
    sides: usize,
    frames: Vec<Frame>,
}

impl Placing<'_> {
    /// Places a node and what it calls; returns where it ends.
    fn place(&mut self, at: usize, level: usize, from: u64) -> u64 {
        let node = &self.tree.nodes[at];
        let figures = |work: &[PathWork; 2]| -> Vec<u64> {
            let all = work[..self.sides].iter();
            all.map(|work| self.measure.of(work)).collect()
        };
        let frame = Frame {
            function: node.function.clone(),
            level,
            from,
            own: figures(&node.own),
            total: figures(&node.total),
        };
        let end = from + frame.width();
        if end > from {
            self.frames.push(frame);
            let mut from = from;
            for callee in node.callees.values() {
                from = self.place(*callee, level + 1, from);
            }
        }
        end
    }
}

/// One line for each call path with blocks or microseconds of its own: the functions with `;` between them,
/// and the figures of both.
pub fn folded(calls: &Calls) -> String {
    let mut lines = String::new();
    for top in tops(&calls.tree, calls.measure.executors()) {
        fold(calls, top, "", &mut lines);
    }
    lines
}

fn fold(calls: &Calls, at: usize, above: &str, lines: &mut String) {
    let tree = &calls.tree;
    let node = &tree.nodes[at];
    let path = match above {
        "" => node.function.replace(' ', "_"),
        above => format!("{above};{}", node.function),
    };
    let [a, b] = node.own.map(|work| calls.measure.of(&work));
    if a + b > 0 {
        let _ = writeln!(lines, "{path} {a} {b}");
    }
    for callee in node.callees.values() {
        fold(calls, *callee, &path, lines);
    }
}

/// The nodes of who executes.
pub(super) fn tops(tree: &Tree, executors: &[&str]) -> Vec<usize> {
    let root = tree.nodes.first();
    let tops = root.into_iter().flat_map(|root| &root.callees);
    tops.filter(|(name, _)| executors.contains(&&***name))
        .map(|(_, at)| *at)
        .collect()
}
