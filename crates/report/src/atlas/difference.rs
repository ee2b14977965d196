//! What changed between two atlases: their origin, the answers, and the times that differ by a
//! verdict.

use super::{AnswerAtSize, Atlas, Head, Question};
use crate::compare::{Line, RunComparison};
use crate::disk_faults;
use crate::document::{Block, Cell, Column, Document, Item, Row, Section, Table, Tone};
use crate::power_losses::PowerLosses;
use crate::terms;
use fsdyno_model::{Contender, PowerCut};
use fsdyno_stats::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The differences between two atlases.
#[derive(Debug, Clone, Default)]
pub struct AtlasDiff {
    /// What differs in their origin.
    pub identity: Vec<ChangedIdentity>,
    /// The questions that both have.
    pub questions: usize,
    /// The questions that only the first or only the second has.
    pub only: [Vec<String>; 2],
    /// The cells of the common questions that are equal to the nanosecond, and all of them.
    pub equal: (usize, usize),
    /// The answers that changed.
    pub answers: Vec<ChangedAnswer>,
    /// The tests with faulty disks and the power cuts that changed.
    pub tests: Vec<ChangedTest>,
    /// The times of phases that changed by a verdict within their question, the largest change first.
    pub figures: Vec<ChangedFigure>,
}

/// A difference of origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedIdentity {
    /// The property: `kernel`, `mkfs.xfs`.
    pub what: String,
    /// Its values.
    pub values: [String; 2],
}

/// A changed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedAnswer {
    /// The question.
    pub question: String,
    /// The fastest contenders then and now.
    pub fastest: [String; 2],
}

/// A test of a contender with faulty disks, or its power cuts, that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedTest {
    /// Its name: `faults/ext4`.
    pub test: String,
    /// The number of faults or power cuts that differ.
    pub differ: usize,
    /// What they did then and now, in sentences.
    pub said: [String; 2],
}

/// A changed time.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFigure {
    /// The question.
    pub question: String,
    /// The contender.
    pub contender: String,
    /// The phase, with its workload if the work has several.
    pub phase: String,
    /// The time of the second atlas as a multiple of that of the first.
    pub ratio: f64,
}

impl AtlasDiff {
    /// The differences of the second atlas from the first.
    pub fn of(one: &Atlas, other: &Atlas) -> Self {
        let mut diff = Self {
            identity: identity(&one.head, &other.head),
            only: [missing(one, other), missing(other, one)],
            tests: changed_tests(one, other),
            ..Self::default()
        };
        for before in &one.questions {
            let Some(after) = other.question(&before.name()) else {
                continue;
            };
            diff.questions += 1;
            diff.add((one, before), (other, after));
        }
        diff.figures
            .sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        diff
    }

    /// Adds a question that both have.
    fn add(&mut self, (one, before): (&Atlas, &Question), (other, after): (&Atlas, &Question)) {
        for cell in &before.cells {
            let mut again = after.cells.iter();
            let Some(same) = again.find(|one| one.name() == cell.name()) else {
                continue;
            };
            self.equal.1 += 1;
            self.equal.0 += usize::from(cell.differences(same).is_empty());
        }
        let question = before.name();
        let fastest = [
            AnswerAtSize::of(one, before).named(),
            AnswerAtSize::of(other, after).named(),
        ];
        if fastest[0] != fastest[1] {
            self.answers.push(ChangedAnswer {
                question: question.clone(),
                fastest,
            });
        }
        let sets = [before.run(&one.head), after.run(&other.head)];
        let comparison = RunComparison::of(&sets[0], &sets[1], before.plan.margin, &[]);
        let workloads = before.plan.workloads.len();
        let is_changed = |line: &&Line| {
            let verdict = line.verdict;
            line.whole && matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
        };
        let lines = comparison.lines.iter().filter(is_changed);
        self.figures.extend(lines.filter_map(|line| {
            Some(ChangedFigure {
                question: question.clone(),
                contender: line.contender.clone(),
                phase: terms::phase(workloads, &line.workload, &line.phase),
                ratio: line.shown_ratio()?.middle,
            })
        }));
    }

    /// Whether both have the same cells, equal to the nanosecond, and no common test differs.
    pub fn is_empty(&self) -> bool {
        self.equal.0 == self.equal.1 && self.tests.is_empty() && self.only.iter().all(Vec::is_empty)
    }

    /// The differences, with at most this number of rows in each table.
    pub fn document(&self, rows: usize) -> Document {
        let mut document = Document::new("fsdyno: two atlases");
        let (equal, cells) = self.equal;
        let mut lead = format!(
            "{equal} of {} in {} are equal to the nanosecond. Changed by a verdict: {}, and {}. Tests that \
             changed: {}.",
            terms::count(cells, "common cell"),
            terms::count(self.questions, "common question"),
            terms::count(self.answers.len(), "answer"),
            terms::count(self.figures.len(), "figure"),
            self.tests.len(),
        );
        for (which, names) in ["first", "second"].into_iter().zip(&self.only) {
            if !names.is_empty() {
                let _ = write!(
                    lead,
                    " Only the {which} has {}: {}.",
                    terms::count(names.len(), "question"),
                    names.join(", ")
                );
            }
        }
        document.lead = vec![lead.into()];
        let text = Column::of_text;
        let tables = [
            (
                "Origin",
                Table::new(
                    "Origin",
                    "property",
                    [text("first"), text("second")],
                    self.identity.iter().map(|one| {
                        let cells = one.values.clone().map(Cell::Text);
                        Row::new(one.what.as_str(), cells.into())
                    }),
                ),
                self.identity.len(),
            ),
            (
                "Answers: the fastest",
                Table::new(
                    "Answers",
                    "question",
                    [text("first"), text("second")],
                    self.answers.iter().take(rows).map(|one| {
                        let cells = one.fastest.clone().map(Cell::Text);
                        Row::new(one.question.as_str(), cells.into())
                    }),
                ),
                self.answers.len(),
            ),
            (
                "Times that changed by a verdict, as multiples of the first",
                Table::new(
                    "Times",
                    "question",
                    [text("contender"), text("phase"), Column::new("ratio")],
                    self.figures.iter().take(rows).map(|one| {
                        let cells = vec![
                            Cell::Text(one.contender.clone()),
                            Cell::Text(one.phase.clone()),
                            Cell::Ratio(one.ratio),
                        ];
                        Row::new(one.question.as_str(), cells)
                    }),
                ),
                self.figures.len(),
            ),
        ];
        for (heading, table, all) in tables {
            if all == 0 {
                continue;
            }
            let shown = table.rows().count();
            let mut section = Section::new(heading.to_lowercase().replace(' ', "-"), heading);
            section = section.with(table);
            if shown < all {
                let more = format!("{} more (--long).", all - shown);
                section = section.with(Block::paragraph(more));
            }
            document.blocks.push(section.into());
        }
        document.blocks.extend(self.changed_tests());
        document
    }

    /// The tests that changed.
    fn changed_tests(&self) -> Option<Block> {
        let items = self.tests.iter().map(|one| {
            let mut text = format!("{} differ", one.differ);
            let [then, now] = &one.said;
            if then != now {
                let _ = write!(text, ". First: {then} Second: {now}");
            }
            Item::new(terms::printable(&one.test), Tone::Plain, text)
        });
        let list = Block::List(items.collect());
        let section = Section::new("tests", "Faulty disks and power cuts").with(list);
        (!self.tests.is_empty()).then(|| section.into())
    }
}

/// The tests that both atlases have of a contender, with the same draws, and that differ.
fn changed_tests(one: &Atlas, other: &Atlas) -> Vec<ChangedTest> {
    let mut changed = Vec::new();
    let mut add = |kind: &str, label: &str, differ: usize, said: [String; 2]| {
        if differ > 0 {
            let test = format!("{kind}/{label}");
            changed.push(ChangedTest { test, differ, said });
        }
    };
    if let [Some(one), Some(other)] = [one, other].map(Atlas::fault_tests)
        && (one.info.seed, one.info.draws) == (other.info.seed, other.info.draws)
    {
        for test in &one.tests {
            let label = &*test.contender;
            if let Some(again) = other.tests.iter().find(|one| one.contender == label) {
                let said = [&one, &other].map(|tests| {
                    let mut tests = tests.clone();
                    tests.tests.retain(|one| one.contender == label);
                    disk_faults::sentences(&tests).join(" ")
                });
                add("faults", label, unequal(&test.faults, &again.faults), said);
            }
        }
    }
    if let [Some(one), Some(other)] = [one, other].map(Atlas::power_cuts)
        && (one.info.seed, &one.info.disk) == (other.info.seed, &other.info.disk)
    {
        for contender in &one.info.contenders {
            let label = &*contender.label;
            let [then, now] = [&one, &other].map(|series| -> Vec<&PowerCut> {
                let cuts = series.power_cuts.iter();
                cuts.filter(|cut| cut.contender == label).collect()
            });
            if !now.is_empty() {
                let said = [&one, &other].map(|series| {
                    let is_it = |one: &Contender| one.label == label;
                    let losses = PowerLosses::of(std::slice::from_ref(series), is_it, |_| true);
                    losses.map_or_else(String::new, |losses| losses.describe() + ".")
                });
                add("power", label, unequal(&then, &now), said);
            }
        }
    }
    changed
}

/// How many entries of two lists differ.
fn unequal<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    let pairs = one.iter().zip(other).filter(|(one, other)| one != other);
    pairs.count() + one.len().abs_diff(other.len())
}

/// The questions of an atlas that another does not have.
fn missing(of: &Atlas, other: &Atlas) -> Vec<String> {
    let names = of.questions.iter().map(Question::name);
    names
        .filter(|name| other.question(name).is_none())
        .collect()
}

/// What differs in the origin of two atlases.
pub fn identity(one: &Head, other: &Head) -> Vec<ChangedIdentity> {
    let of = |head: &Head| -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> = head.programs.clone();
        for (what, value) in [
            ("fsdyno", &head.fsdyno),
            ("kernel", &head.kernel),
            ("plan", &head.plan_hash),
        ] {
            all.insert(what.to_owned(), value.clone());
        }
        for (what, profiles) in [("disk", &head.disks), ("processor", &head.processors)] {
            for (name, text) in profiles {
                let hash = fsdyno_model::names::short_hash(text);
                all.insert(format!("{what} {name}"), format!("profile {hash}"));
            }
        }
        all
    };
    let (one, other) = (of(one), of(other));
    let differs = |(what, value): (&String, &String)| {
        let there = other.get(what)?;
        (there != value).then(|| ChangedIdentity {
            what: terms::printable(what),
            values: [value, there].map(|text| terms::printable(text)),
        })
    };
    one.iter().filter_map(differs).collect()
}
