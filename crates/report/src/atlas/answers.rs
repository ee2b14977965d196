//! The answers of an atlas: for each work and disk the fastest contenders, by the verdicts of all
//! reports, by how much, and where they change with the size of the work.

use super::{Atlas, Question};
use crate::advice::{Dropped, Field, amounts};
use crate::compare::RunVerdict;
use crate::disk_faults;
use crate::document::{Block, Cell, Column, Document, Item, Label, Row, Section, Table, Tone};
use crate::lists::{by_key, unique};
use crate::power_losses;
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_stats::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// Answers of an atlas, with its origin.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct AtlasAnswers {
    /// The version of this structure.
    #[schemars(extend("const" = AtlasAnswers::SCHEMA))]
    pub schema: u32,
    /// What the atlas compares, in one line.
    pub title: String,
    /// The kernel on which its contenders were measured.
    pub kernel: String,
    /// The version of fsdyno that measured it.
    pub fsdyno: String,
    /// When its last run began: nanoseconds since 1970 (UTC).
    pub measured_unix_ns: u64,
    /// The number of questions that it has.
    pub questions: usize,
    /// The number of questions that its plan has.
    pub planned: usize,
    /// The answers, in the order of the file.
    pub answers: Vec<Answer>,
    /// What faulty disks did to its contenders, in sentences.
    pub faults: Vec<String>,
    /// What power cuts took from its contenders, in sentences.
    pub power_cuts: Vec<String>,
    /// The option that names the file in commands: ` --atlas FILE`; empty for the shipped atlas.
    #[serde(skip)]
    pub option: String,
}

/// The answer for a work on a disk.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "AtlasAnswer")]
pub struct Answer {
    /// The work.
    pub work: String,
    /// The profile of the model disk.
    pub disk: String,
    /// The sizes of the work, the smallest first.
    pub sizes: Vec<AnswerAtSize>,
}

/// The answer at one size of the work.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct AnswerAtSize {
    /// The size, as a multiple of the smallest size.
    pub size: u32,
    /// The amount of work of each workload: files and bytes.
    pub amount: Vec<String>,
    /// The number of draws.
    pub draws: u32,
    /// The fastest contender and all that are not slower by a verdict, fastest first; empty if no
    /// contender can be the answer.
    pub fastest: Vec<String>,
    /// Whether these are equivalent by verdicts. If not, the draws do not decide between them.
    pub equivalent: bool,
    /// All measured contenders, fastest first.
    pub contenders: Vec<Contended>,
    /// The contenders that cannot be the answer, each with the reason.
    pub dropped: Vec<Dropped>,
}

/// A measured contender.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Contended {
    /// Its label.
    pub contender: String,
    /// The median of the sum of the times of all phases, to durable where a phase writes.
    pub total_ns: u64,
    /// Its total as a multiple of that of the fastest contender, within draws; null for the fastest
    /// one, and without a common draw.
    pub ratio: Option<f64>,
    /// The smallest and the largest such ratio of a draw.
    pub range: Option<(f64, f64)>,
    /// The verdict compared with the fastest contender; null for that one, and without a verdict.
    pub verdict: Option<RunVerdict>,
    /// Whether its work was durable when it returned as durable.
    pub durable: bool,
}

impl Atlas {
    /// The answers about these works on these disks, in the order of the file; an empty list is all.
    pub fn answers(&self, works: &[String], disks: &[String]) -> AtlasAnswers {
        let has = |list: &[String], name: &String| list.is_empty() || list.contains(name);
        let is_asked = |one: &&Question| has(works, &one.work) && has(disks, &one.disk);
        let asked = self.questions.iter().filter(is_asked);
        let pairs = unique(asked.map(|one| (one.work.clone(), one.disk.clone())));
        let answer = |(work, disk): (String, String)| Answer {
            sizes: self
                .about(&work, &disk)
                .into_iter()
                .map(|question| AnswerAtSize::of(self, question))
                .collect(),
            work,
            disk,
        };
        AtlasAnswers {
            schema: AtlasAnswers::SCHEMA,
            title: terms::printable(&self.head.title),
            kernel: terms::printable(short_kernel(&self.head.kernel)),
            fsdyno: terms::printable(&self.head.fsdyno),
            measured_unix_ns: self.head.measured_unix_ns,
            questions: self.questions.len(),
            planned: self.head.planned as usize,
            answers: pairs.into_iter().map(answer).collect(),
            faults: self
                .fault_tests()
                .iter()
                .flat_map(disk_faults::sentences)
                .collect(),
            power_cuts: self
                .power_cuts()
                .iter()
                .flat_map(power_losses::lead)
                .collect(),
            option: String::new(),
        }
    }
}

impl AtlasAnswers {
    /// The version of the structure that this program writes.
    pub const SCHEMA: u32 = 1;

    /// The origin of the answers, in a sentence.
    pub(crate) fn origin(&self) -> String {
        let (has, planned) = (self.questions, self.planned);
        let partial = if has < planned {
            format!(" It has {has} of {planned} questions.")
        } else {
            String::new()
        };
        format!(
            "From the atlas, not measured here: in virtual time with {} by fsdyno {}, {}.{partial}",
            self.kernel,
            self.fsdyno,
            terms::date(self.measured_unix_ns)
        )
    }

    /// The answers; of one work on one disk with all contenders.
    pub fn document(&self) -> Document {
        let answers = &self.answers[..];
        let mut document = Document::new(format!("fsdyno atlas: {}", self.title));
        document.lead = vec![self.origin().into()];
        let name = match answers {
            [] => {
                document.blocks.push(Block::paragraph(
                "The atlas has no answer to this question: fsdyno atlas show lists all. Measure it: \
                 fsdyno advise SUITE --disk PROFILE",
            ));
                return document;
            }
            [one] => {
                document.blocks.extend(of_one(one));
                format!("{}/{}", one.work, one.disk)
            }
            several => {
                document.blocks.push(list(several).into());
                document.blocks.extend(never(several));
                "WORK/DISK".to_owned()
            }
        };
        document.blocks.push(Block::Legend(legend(answers).into()));
        document.blocks.extend(self.tests());
        let option = &self.option;
        document.blocks.push(Block::paragraph(match answers {
            [one] => format!(
                "Verify here: fsdyno atlas verify {name}{option}. Measure: fsdyno advise {} --disk {} \
                 --measure",
                one.work, one.disk
            ),
            _ => format!(
                "All contenders: fsdyno atlas show --work WORK --disk DISK{option}. Verify here: fsdyno \
                 atlas verify {name}{option}"
            ),
        }));
        document
    }

    /// What power cuts and faulty disks did, each with its title, if it was tested.
    pub(crate) fn tested(&self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        let all = [
            ("power-cuts", "Power cuts", &self.power_cuts),
            ("faults", "Faulty disks", &self.faults),
        ];
        let tested = all
            .into_iter()
            .filter(|(.., sentences)| !sentences.is_empty());
        tested.map(|(name, title, sentences)| (name, title, sentences.join(" ")))
    }

    /// The same as sections.
    pub(crate) fn tests(&self) -> impl Iterator<Item = Block> {
        self.tested().map(|(name, title, text)| {
            Section::new(name, title)
                .with(Block::paragraph(text))
                .into()
        })
    }

    /// The figures of all answers, for CSV.
    pub fn figures(&self) -> Table {
        let columns = [
            "disk",
            "size",
            "contender",
            "total ns",
            "ratio",
            "low",
            "high",
            "verdict",
        ];
        let mut rows = Vec::new();
        for answer in &self.answers {
            for size in &answer.sizes {
                for one in &size.contenders {
                    let number = |number: Option<f64>| number.map_or(Cell::Empty, Cell::Number);
                    let verdict = match one.verdict {
                        _ if !one.durable => "not-durable".to_owned(),
                        Some(verdict) => format!("{verdict:?}").to_lowercase(),
                        None => String::new(),
                    };
                    let cells = vec![
                        Cell::Text(answer.disk.clone()),
                        Cell::Count(size.size.into()),
                        Cell::Text(one.contender.clone()),
                        Cell::Count(one.total_ns),
                        number(one.ratio),
                        number(one.range.map(|range| range.0)),
                        number(one.range.map(|range| range.1)),
                        Cell::Text(verdict),
                    ];
                    rows.push(Row::new(answer.work.as_str(), cells));
                }
            }
        }
        Table::new("", "work", columns.map(Column::new), rows)
    }
}

impl Answer {
    /// A text about each size, once if it is the same at all.
    pub(crate) fn by_size(&self, text: fn(&AnswerAtSize) -> String) -> String {
        let all: Vec<(u32, String)> = { self.sizes.iter() }
            .map(|one| (one.size, text(one)))
            .collect();
        match &all[..] {
            [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => {
                first.clone()
            }
            several => {
                let each = several.iter().filter(|(_, text)| !text.is_empty());
                let each: Vec<String> = each
                    .map(|(size, text)| format!("{text} (size {size})"))
                    .collect();
                each.join(", ")
            }
        }
    }

    /// The contenders that are among the fastest at each size.
    fn at_all_sizes(&self) -> Vec<String> {
        let (Some(first), rest) = (self.sizes.first(), self.sizes.iter().skip(1)) else {
            return Vec::new();
        };
        let is_everywhere = |name: &&String| rest.clone().all(|one| one.fastest.contains(name));
        let mut names: Vec<String> = first
            .fastest
            .iter()
            .filter(is_everywhere)
            .cloned()
            .collect();
        names.sort_unstable();
        names
    }

    /// The fastest, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let sizes = self.sizes.iter();
        let named = unique(sizes.clone().map(AnswerAtSize::named));
        match &named[..] {
            [one] if self.sizes.len() > 1 => format!(
                "{} on {}: fastest is {one}, at all {} sizes.",
                self.work,
                self.disk,
                self.sizes.len()
            ),
            [one] => format!("{} on {}: fastest is {one}.", self.work, self.disk),
            _ if !self.at_all_sizes().is_empty() => format!(
                "{} on {}: nothing is faster than {} at any of {} sizes.",
                self.work,
                self.disk,
                terms::joined(&self.at_all_sizes(), "or"),
                self.sizes.len()
            ),
            _ => {
                let each = sizes
                    .clone()
                    .map(|one| format!("{} at size {}", one.named(), one.size));
                format!(
                    "{} on {}: the fastest depends on the size: {}.",
                    self.work,
                    self.disk,
                    terms::list(&each.collect::<Vec<_>>())
                )
            }
        }
    }
}

impl AnswerAtSize {
    pub(crate) fn of(atlas: &Atlas, question: &Question) -> Self {
        let set = question.run(&atlas.head);
        let field = Field::of(&set);
        let order = field.eligible();
        let first = order.first().copied();
        let is_level = |at: &usize| match first {
            Some(first) => *at == first || field.verdict(first, *at) != Some(Verdict::Faster),
            None => false,
        };
        let level: Vec<usize> = order.iter().copied().filter(is_level).collect();
        let mut pairs = level.iter().filter(|at| Some(**at) != first);
        let equivalent = first.is_some_and(|first| {
            pairs.all(|at| field.verdict(first, *at) == Some(Verdict::Equivalent))
        });
        let label = |at: &usize| field.candidates[*at].label.clone();
        let contended = |at: usize| {
            let one = &field.candidates[at];
            let other = first.filter(|first| *first != at);
            let ratio = other.and_then(|first| field.ratio(at, first));
            let verdict = other.and_then(|first| field.verdict(at, first));
            Contended {
                contender: one.label.clone(),
                total_ns: terms::whole(one.cost),
                ratio: ratio.as_ref().map(|ratio| ratio.middle),
                range: ratio.as_ref().map(|ratio| (ratio.low, ratio.high)),
                verdict: verdict.map(|verdict| RunVerdict::of(verdict, true)),
                durable: one.eligible,
            }
        };
        let mut contenders: Vec<Contended> = (0..field.candidates.len()).map(contended).collect();
        contenders.sort_by_key(|one| one.total_ns);
        Self {
            size: question.size,
            amount: amounts(&set),
            draws: question.plan.repeats,
            fastest: level.iter().map(label).collect(),
            equivalent,
            contenders,
            dropped: field.dropped,
        }
    }

    /// The fastest, in a sentence.
    pub(crate) fn sentence(&self, work: &str, disk: &str) -> String {
        let (size, named) = (self.size, self.named());
        format!("{work} on {disk} at size {size}: fastest is {named}.")
    }

    /// The fastest contenders: `xfs`, `ext4 = xfs` (equivalent), `ext4 or xfs` (not decided). Their order
    /// says nothing.
    pub fn named(&self) -> String {
        let mut names = self.fastest.clone();
        names.sort_unstable();
        match (&names[..], self.equivalent) {
            ([], _) => "none".to_owned(),
            (several, true) => several.join(" = "),
            (several, false) => terms::joined(several, "or"),
        }
    }

    /// The next contender with its ratio: `xfs 1.24x`.
    pub(crate) fn then(&self) -> String {
        let next = self.next().and_then(|next| Some((next, next.ratio?)));
        next.map_or_else(String::new, |(next, ratio)| {
            format!("{} {}x", next.contender, terms::ratio(ratio))
        })
    }

    /// The figures of a contender: total, ratio to the fastest, its range in draws, verdict.
    pub(crate) fn cells(&self, one: &Contended) -> Vec<Cell> {
        let range = one.range.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", terms::ratio(low), terms::ratio(high))
        });
        let verdict = match one.verdict {
            _ if !one.durable => "not durable",
            Some(RunVerdict::Slower) => "slower",
            Some(RunVerdict::Faster) => "faster",
            Some(RunVerdict::Equivalent) => "equivalent",
            Some(_) => "not decided",
            None if self.fastest.first() != Some(&one.contender) => "no verdict",
            None if self.fastest.len() == 1 || self.equivalent => "fastest",
            None => "least total, not decided",
        };
        vec![
            Cell::Duration(Nanos(one.total_ns)),
            one.ratio.map_or(Cell::Empty, Cell::Ratio),
            Cell::Text(range),
            Cell::Text(verdict.to_owned()),
        ]
    }

    /// The fastest of the contenders that are slower than all these.
    fn next(&self) -> Option<&Contended> {
        let mut all = self.contenders.iter().filter(|one| one.durable);
        all.find(|one| !self.fastest.contains(&one.contender))
    }
}

/// The kernel without its build.
pub(crate) fn short_kernel(kernel: &str) -> &str {
    kernel.split(" (").next().unwrap_or(kernel)
}

/// The meaning of the marks in the answers.
pub(crate) fn legend(answers: &[Answer]) -> String {
    let sizes = answers.iter().flat_map(|one| &one.sizes);
    let mut draws: Vec<u32> = sizes.map(|one| one.draws).collect();
    draws.sort_unstable();
    draws.dedup();
    let draws: Vec<String> = draws.iter().map(ToString::to_string).collect();
    format!(
        "Sum of all phases, to durable where a phase writes; {} draws. A = B: equivalent; A or B: not \
         decided. Ratios are to the least total.",
        terms::joined(&draws, "or")
    )
}

/// A row for each work and disk; one for each answer where the sizes have several.
pub(crate) fn list(answers: &[Answer]) -> Table {
    let columns = ["disk", "size", "fastest", "next", "ratio"].map(Column::of_text);
    let mut rows = Vec::new();
    for answer in answers {
        let key = |one: &AnswerAtSize| {
            let next = one.next().map(|next| next.contender.clone());
            (one.named(), next.unwrap_or_default())
        };
        for ((named, next), sizes) in by_key(answer.sizes.iter().map(|one| (key(one), one))) {
            let joined = |of: &dyn Fn(&AnswerAtSize) -> Option<String>| {
                let all: Vec<String> = sizes.iter().filter_map(|one| of(one)).collect();
                all.join(", ")
            };
            let ratio = |one: &AnswerAtSize| Some(format!("{}x", terms::ratio(one.next()?.ratio?)));
            let cells = [
                answer.disk.clone(),
                joined(&|one| Some(one.size.to_string())),
                named,
                next,
                joined(&ratio),
            ];
            rows.push(Row::new(answer.work.as_str(), cells.map(Cell::Text).into()));
        }
    }
    Table::new("Answers", "work", columns, rows)
}

/// The contenders that are never the answer, because nothing of their work was durable.
fn never(answers: &[Answer]) -> Option<Block> {
    let sizes = answers.iter().flat_map(|one| &one.sizes);
    let contenders = sizes.flat_map(|one| &one.contenders);
    let names = contenders.filter(|one| !one.durable);
    let names = unique(names.map(|one| one.contender.clone()));
    (!names.is_empty()).then(|| {
        Block::paragraph(format!(
            "Never the answer where its work was not durable when fsync and syncfs returned: {}.",
            terms::list(&names)
        ))
    })
}

/// All contenders at each size.
pub(crate) fn of_one(answer: &Answer) -> Vec<Block> {
    let mut blocks = vec![Block::paragraph(answer.sentence())];
    for one in &answer.sizes {
        let amount = match &one.amount[..] {
            [] => String::new(),
            amounts => format!(" ({})", amounts.join("; ")),
        };
        let heading = format!("Size {}{amount}", one.size);
        let mut section = Section::new(format!("size-{}", one.size), heading).with(table(one));
        if !one.dropped.is_empty() {
            let reasons = by_key(one.dropped.iter().map(|one| (&one.why, one.name.as_str())));
            let items = reasons.into_iter();
            let items =
                items.map(|(why, names)| Item::new(names.join(", "), Tone::Plain, why.as_str()));
            section = section.with(Block::List(items.collect()));
        }
        blocks.push(section.into());
    }
    blocks
}

/// The contenders at one size.
fn table(answer: &AnswerAtSize) -> Table {
    let columns = [
        Column::new("total"),
        Column::new("ratio"),
        Column::of_text("in draws"),
        Column::of_text("verdict"),
    ];
    let row = |one: &Contended| {
        let label = Label::contender(one.contender.as_str());
        Row::new(label, answer.cells(one))
    };
    Table::new(
        "Contenders",
        "contender",
        columns,
        answer.contenders.iter().map(row),
    )
}
