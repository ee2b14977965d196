//! A run compared with a published table, as a document.

use super::{
    CheckedConclusion, ComparedPhase, ConclusionResult, Entry, Paired, PublishedComparison,
    RerunSummary,
};
use crate::comparison::labs;
use crate::document::{
    Block, Cell, Column, Document, Figure, Group, Item, Label, Mark, Number, Outcome, Row, Section,
    Table, Text, Tone, add_suffix,
};
use crate::published::same_unit;
use crate::terms;
use fsdyno_stats::chance_of_order;

/// The part of a comparison on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The largest number of conclusions of a lab. Those that do not hold are first.
    conclusions: usize,
    /// Whether conclusions have the figures that decide them.
    has_reasons: bool,
    /// Whether there is a table of the figures.
    has_table: bool,
}

const fn conclusions(conclusions: usize, has_reasons: bool, has_table: bool) -> Screen {
    Screen {
        conclusions,
        has_reasons,
        has_table,
    }
}

/// The parts on a screen. The first that fits is used.
pub const SCREENS: [Screen; 9] = [
    conclusions(usize::MAX, true, true),
    conclusions(usize::MAX, false, true),
    conclusions(usize::MAX, true, false),
    conclusions(usize::MAX, false, false),
    conclusions(8, false, false),
    conclusions(5, false, false),
    conclusions(3, false, false),
    conclusions(1, false, false),
    conclusions(0, false, false),
];

/// The answer, the conclusions and a part of the figures, for a screen.
pub fn screen(comparisons: &[PublishedComparison], screen: Screen) -> Document {
    let mut blocks = Vec::new();
    for comparison in comparisons {
        let several = comparisons.len() > 1;
        let heading = comparison.lab.clone().filter(|_| several);
        let mut section = Section::new("", heading.unwrap_or_default());
        section.blocks = comparison.brief_blocks(screen);
        if several {
            blocks.push(section.into());
        } else {
            blocks.append(&mut section.blocks);
        }
    }
    if let Some(first) = comparisons.first() {
        let more = format!(
            "fsdyno report {} --against {}",
            terms::printable(&first.run),
            first.table
        );
        let rest = [
            (
                "More",
                format!("{more} --long (setup, figures and reasons)"),
            ),
            ("Page", format!("{more} -o report.html")),
        ];
        let rest = rest.map(|(name, text)| Item::new(name, Tone::Soft, text));
        blocks.push(Block::List(rest.into()));
    }
    Document {
        lead: answers(comparisons),
        blocks,
        ..Document::default()
    }
}

fn answers(comparisons: &[PublishedComparison]) -> Vec<Text> {
    comparisons.iter().map(|one| one.answer().into()).collect()
}

/// A run compared with a published table, one section for each lab.
pub fn document(comparisons: &[PublishedComparison]) -> Document {
    let title = match comparisons {
        [one] => one.heading(),
        several => several
            .first()
            .map_or_else(String::new, PublishedComparison::heading_of_all),
    };
    let mut document = Document::new(format!("fsdyno: {title}"));
    document.lead = answers(comparisons);
    if let Some(first) = comparisons.first() {
        document.page_title = Some(format!("{} ({}), then and now", first.table, first.year));
        document.subtitle = first.subtitle();
        document.footer = format!("Run {}.", terms::printable(&first.run));
    }
    for (at, comparison) in comparisons.iter().enumerate() {
        let mut blocks = comparison.blocks();
        if at > 0 {
            add_suffix(&mut blocks, &format!("-{}", at + 1));
        }
        match &comparison.lab {
            Some(lab) if comparisons.len() > 1 => document.blocks.push(Block::Section(Section {
                part: true,
                blocks,
                ..Section::new("", lab.as_str())
            })),
            _ => document.blocks.extend(blocks),
        }
    }
    document
}

/// A contender in a phase, for CSV.
struct Line<'a> {
    of: &'a PublishedComparison,
    phase: &'a ComparedPhase,
    pair: &'a Paired,
    entry: &'a Entry,
}

/// A column: its heading, and its cell of a row.
type Field = (&'static str, fn(&Line<'_>) -> Cell);

const COLUMNS: [Field; 19] = [
    ("run", |l| text(&l.of.run)),
    ("table", |l| text(&l.of.table)),
    ("year", |l| Cell::Count(l.of.year.into())),
    ("scale", |l| Cell::Number(l.of.scale)),
    ("phase", |l| text(&l.phase.label)),
    ("contender", |l| text(&l.pair.now)),
    ("contender_published", |l| text(&l.pair.published)),
    ("better", |l| text(l.phase.better.name())),
    ("unit_published", |l| text(&l.phase.unit_published)),
    ("published", |l| Cell::Published(l.entry.published)),
    ("unit_now", |l| text(&l.phase.unit_now)),
    ("now_median", |l| Cell::Number(l.entry.now)),
    ("repeats", |l| Cell::Count(l.entry.repeats as u64)),
    ("ratio_published", |l| ratio(l.entry.ratio_published)),
    ("ratio_now", |l| ratio(l.entry.ratio_now)),
    ("rank_published", |l| Cell::Rank(l.entry.rank_published)),
    ("rank_now", |l| Cell::Rank(l.entry.rank_now)),
    ("rank_correlation", |l| {
        Cell::known(l.phase.rank_correlation, Cell::Number)
    }),
    ("now_by_published", |l| ratio(l.entry.by_published)),
];

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn ratio(ratio: Option<f64>) -> Cell {
    Cell::known(ratio, Cell::Ratio)
}

/// The figures of both, a row for each contender of each phase.
pub fn figures(comparisons: &[PublishedComparison]) -> Table {
    let has_labs = comparisons.iter().any(|one| one.lab.is_some());
    let columns = COLUMNS.iter().map(|(name, _)| *name);
    let columns = columns.chain(has_labs.then_some("lab")).map(Column::new);
    let mut rows = Vec::new();
    for of in comparisons {
        for phase in &of.lines {
            for entry in &phase.entries {
                let line = Line {
                    of,
                    phase,
                    pair: &of.contenders[entry.contender],
                    entry,
                };
                let cells = COLUMNS.iter().map(|(_, cell)| cell(&line));
                let lab = has_labs.then(|| Cell::known(of.lab.as_deref(), text));
                rows.push(Row::new("", cells.chain(lab).collect()));
            }
        }
    }
    Table::new("figures", "", columns, rows)
}

/// The result of several conclusions: `hold`, `are reversed`.
fn plural(n: usize, words: &str) -> String {
    if n == 1 {
        return words.to_owned();
    }
    match words.split_once(' ') {
        Some(("is", rest)) => format!("are {rest}"),
        Some(_) => words.to_owned(),
        None => words.trim_end_matches('s').to_owned(),
    }
}

impl PublishedComparison {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![
            Section::new("conclusions", "The conclusions")
                .with(Block::List(
                    self.conclusions
                        .iter()
                        .map(CheckedConclusion::item)
                        .collect(),
                ))
                .into(),
            Section::new("figures", "Then and now")
                .with(Block::Facts(self.facts()))
                .with(Block::Legend(self.legend()))
                .with(self.as_table())
                .into(),
        ];
        if let Some(rerun) = &self.rerun {
            blocks.push(rerun.section().into());
        }
        let only_one = self.only_one();
        if !only_one.is_empty() {
            let section = Section::new("only-one", "Not in both").with(Block::Facts(only_one));
            blocks.push(section.into());
        }
        blocks
    }

    /// The conclusions, the figures if there is room, and the run.
    fn brief_blocks(&self, screen: Screen) -> Vec<Block> {
        let mut conclusions: Vec<(usize, &CheckedConclusion)> =
            self.conclusions.iter().enumerate().collect();
        conclusions.sort_by_key(|(_, one)| one.holding.weight());
        let left_out = conclusions.split_off(screen.conclusions.min(conclusions.len()));
        conclusions.sort_by_key(|(place, _)| *place);
        let items = conclusions.into_iter().map(|(_, one)| {
            let mut item = one.item();
            if !screen.has_reasons {
                item.more.clear();
            }
            item
        });
        let mut blocks = vec![Block::List(items.collect())];
        if !left_out.is_empty() {
            let more = terms::count(left_out.len(), "more conclusion");
            blocks.push(Block::paragraph(format!("{more}: --long.")));
        }
        if screen.has_table {
            blocks.push(self.as_table().into());
            blocks.push(Block::Legend(self.brief_legend()));
        }
        let figures = self.rerun.as_ref().map(RerunSummary::of_figures);
        let time = if self.virtual_time {
            ", virtual time"
        } else {
            ""
        };
        let place = format!(
            "Run of {}, {}{time}, datasets of {} of full size.",
            terms::date(self.started_unix_ns),
            self.kernel,
            self.scale
        );
        let caveat = self.caveat.as_ref().filter(|_| screen.has_table);
        let caveat = caveat.map(|caveat| format!("Caveat: {caveat}."));
        let parts = [Some(place), figures.map(|figures| figures + "."), caveat];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        blocks.push(Block::paragraph(parts.join(" ")));
        blocks
    }

    /// The plan, the date, the kernel and the size of the work.
    fn subtitle(&self) -> String {
        [
            terms::printable(&self.plan),
            terms::date(self.started_unix_ns),
            self.kernel.clone(),
            format!("datasets of {} of full size", self.scale),
        ]
        .join(" \u{b7} ")
    }

    /// The answer: how many of the conclusions hold, and which do not.
    fn answer(&self) -> String {
        let (all, year) = (self.conclusions.len(), self.year);
        let lab = self.lab.as_ref();
        let lab = lab.map_or_else(String::new, |lab| format!(" in {lab}"));
        let published = terms::count(all, "published conclusion");
        let rest = |result| {
            let mut conclusions = self.conclusions.iter();
            let of = conclusions
                .by_ref()
                .filter(|one| one.holding == result)
                .count();
            (of > 0).then_some((of, result.words()))
        };
        let results = [
            ConclusionResult::Holds,
            ConclusionResult::Reversed,
            ConclusionResult::InPart,
            ConclusionResult::Undecidable,
            ConclusionResult::NotTested,
        ];
        let results: Vec<String> = results
            .into_iter()
            .filter_map(rest)
            .map(|(n, words)| format!("{n} {}", plural(n, words)))
            .collect();
        match &results[..] {
            [] => format!("{} ({year}) has no conclusions to check{lab}.", self.table),
            results => format!(
                "Of {published} of {} ({year}), {}{lab}.",
                self.table,
                terms::joined(results, "and")
            ),
        }
    }

    fn as_table(&self) -> Table {
        let mut columns = vec![
            Column::new("then"),
            Column::new("now"),
            Column::giving_way("ratio then", 1),
            Column::giving_way("ratio now", 1),
            Column::giving_way("rank then", 2),
            Column::giving_way("rank now", 2),
        ];
        columns.extend(
            self.rerun
                .as_ref()
                .map(|_| Column::giving_way("now/then", 1)),
        );
        let group = |line: &ComparedPhase| Group {
            heading: line.heading(),
            rows: line
                .entries
                .iter()
                .map(|entry| {
                    let label = self.contenders[entry.contender].now.as_str();
                    Row::new(Label::contender(label), line.cells(entry))
                })
                .collect(),
            note: line.correlation(),
            ..Group::default()
        };
        let groups = self.lines.iter().map(group);
        Table::grouped("Then and now", ["phase", "contender"], columns, groups)
    }

    /// The heading, on one line.
    pub fn heading(&self) -> String {
        let lab = self.lab.as_ref();
        let lab = lab.map_or_else(String::new, |lab| format!("; {lab}"));
        format!("{}{lab}", self.heading_of_all())
    }

    /// The heading for all labs of the run.
    pub fn heading_of_all(&self) -> String {
        let date = terms::date(self.started_unix_ns);
        format!("{} of {date} compared with {}", self.plan, self.table)
    }

    /// The published setup and that of the run.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("then", format!("{} ({})", self.title, self.year)),
            ("", format!("{}; {}", self.machine, self.measured)),
            (
                "now",
                format!(
                    "run {}, {}, engine {}, datasets of {} of full size",
                    self.run, self.kernel, self.engine, self.scale
                ),
            ),
        ];
        facts.extend(self.lab.as_ref().map(|_| ("labs", labs::WHY.to_owned())));
        if let Some(rerun) = &self.rerun {
            facts.extend(rerun.facts());
        }
        if self.virtual_time {
            facts.push(("time", self.time()));
        }
        facts.extend(self.caveat.clone().map(|caveat| ("caveat", caveat)));
        let others = self.contenders.iter().filter(|pair| pair.instead);
        let others: Vec<String> = others
            .map(|pair| format!("{} for {}", pair.now, pair.published))
            .collect();
        if !others.is_empty() {
            let text = format!(
                "{}: another file system replaces the published one; the conclusions are tested on it",
                terms::list(&others)
            );
            facts.push(("instead", text));
        }
        facts
    }

    /// The parts of virtual time, as text.
    fn time(&self) -> String {
        const SAME: &str = "A figure is the same each time, so that one repeat is judged";
        match &self.processor {
            Some(processor) => format!(
                "virtual: what disks take, and what the model processor {processor} charges for the \
                 work that the kernel counts. {SAME}. System time is that of the kernel for the \
                 workload, and user time that of the bytes that fsdyno searches"
            ),
            None => format!(
                "virtual: what disks take, with infinitely fast processors. {SAME}. Processor time is \
                 not reported, and what is in memory takes none: such figures are called `memory`"
            ),
        }
    }

    /// The legend of the figures on a screen.
    fn brief_legend(&self) -> Text {
        let mut text = Text::from("Then: as published. Now: medians.");
        if self.compares() {
            let base = &self.contenders[0].now;
            text = text
                .plain(format!(" Ratios are to {base}. "))
                .mark(Mark::Best)
                .plain(" best; ")
                .mark(Mark::Equivalent)
                .plain(format!(" not distinguishable from {base}."));
        }
        if self.doubted() {
            text = text.plain(" ").mark(Mark::Warning).plain(" has a warning.");
        }
        if self.too_few() {
            text = text.plain(" There are too few repeats to judge: 3 are needed.");
        }
        text
    }

    /// The legend of the figures.
    fn legend(&self) -> Text {
        let mut text = "Then: as published, the mean of several runs. Now: medians".to_owned();
        if self.lines.iter().any(|line| line.unit_now == "s") {
            text += "; a wall time is the time to return, as `time cp` shows it";
        }
        if self.lines.iter().any(|line| line.unit_now.ends_with("/s")) {
            text += "; rates, and the processor time next to them, are reported by the phases \
                     themselves";
        }
        text += ".";
        text += self.how_to_compare();
        let mut text = Text::from(text);
        if self.compares() {
            let base = &self.contenders[0].now;
            text = text
                .plain(format!(" Ratios are to {base}; "))
                .mark(Mark::Best)
                .plain(": best, now also what is not distinguishable from the best; ")
                .mark(Mark::Equivalent)
                .plain(format!(
                    ": not distinguishable from {base}. Ranks are by figures and medians alone, \
                     the best first."
                ));
        }
        if self.doubted() {
            text = text
                .plain(" ")
                .mark(Mark::Warning)
                .plain(": there is a warning about it (")
                .code(format!("fsdyno report {}", self.run))
                .plain(").");
        }
        if self.too_few() {
            text = text.plain(" There are too few repeats to judge: 3 are needed.");
        }
        if let Some(most) = self.most_ranked() {
            let orders = 1.0 / chance_of_order(most);
            text = text.plain(format!(
                " Rank correlation (Spearman): 1 where the order is the same, -1 where it is \
                 reversed. With so few contenders it is weak evidence: chance alone puts {most} into \
                 the same order once in {orders:.0}."
            ));
        }
        text
    }

    /// A sentence on the figures that are comparable.
    fn how_to_compare(&self) -> &'static str {
        let full = (self.scale - 1.0).abs() < 1e-9;
        match (&self.rerun, full) {
            (Some(_), true) => {
                " The disk is a model of the published one, the kernel is not. now/then: the figure of \
                 the run divided by the published one."
            }
            (Some(_), false) => {
                " The disk is a model of the published one, the kernel is not. now/then: the figure of \
                 the run divided by the published one; times are divided by the scale first."
            }
            (None, true) => " The machines are years older: compare ratios and ranks, not figures.",
            (None, false) => {
                " The machines are years older and the datasets differ in size: compare ratios and \
                 ranks, not figures."
            }
        }
    }

    /// Contenders and phases of one side only.
    fn only_one(&self) -> Vec<(&'static str, String)> {
        let sides = [
            ("only then", &self.only_published),
            ("only now", &self.only_now),
        ];
        let mut facts = Vec::new();
        for (name, side) in sides {
            let parts = [("contenders", &side.contenders), ("phases", &side.phases)];
            let parts = parts.iter().filter(|(_, names)| !names.is_empty());
            let text: Vec<String> = parts
                .map(|(what, names)| format!("{what}: {}", names.join(", ")))
                .collect();
            if !text.is_empty() {
                facts.push((name, text.join("; ")));
            }
        }
        facts
    }
}

impl ComparedPhase {
    /// The heading of a phase, with its units.
    pub fn heading(&self) -> String {
        if same_unit(&self.unit_published, &self.unit_now) {
            format!("{} ({})", self.label, self.unit_published)
        } else {
            let units = (&self.unit_published, &self.unit_now);
            format!("{} ({} then, {} now)", self.label, units.0, units.1)
        }
    }

    /// The rank correlation as text; `None` if there is none.
    fn correlation(&self) -> Option<String> {
        let rho = self.rank_correlation?;
        let contenders = self.entries.len();
        Some(format!("rank correlation {rho:.2} of {contenders}"))
    }

    /// Both figures, the ratios, the ranks, and for a rerun the ratio of run to published. A single
    /// contender has only its figures.
    fn cells(&self, entry: &Entry) -> Vec<Cell> {
        let alone = self.entries.len() < 2;
        let ratio = |ratio: Option<f64>, outcome: Option<Outcome>| match ratio {
            Some(_) if entry.contender == 0 && !alone => Cell::Text("base".to_owned()),
            Some(ratio) if !alone => outcome.map_or(Cell::Ratio(ratio), |outcome| {
                Cell::JudgedRatio(ratio, outcome)
            }),
            _ => Cell::Unknown,
        };
        let rank = |rank| {
            if alone {
                Cell::Unknown
            } else {
                Cell::Rank(rank)
            }
        };
        let is_seconds = |unit: &str| unit == "s";
        let published = Figure {
            number: if is_seconds(&self.unit_published) {
                Number::PublishedSeconds
            } else {
                Number::Published
            },
            best: entry.best_published && !alone,
            ..Figure::of(entry.published)
        };
        let now = Figure {
            number: if is_seconds(&self.unit_now) {
                Number::MeasuredSeconds
            } else {
                Number::Significant
            },
            best: entry.best_now && !alone,
            warned: entry.doubted,
            ..Figure::of(entry.now)
        };
        let equivalent = entry.level_with_baseline.then_some(Outcome::Equivalent);
        let mut cells = vec![
            published.into(),
            if entry.idle {
                Cell::Text("memory".to_owned())
            } else {
                now.into()
            },
            ratio(entry.ratio_published, None),
            ratio(entry.ratio_now, equivalent),
            rank(entry.rank_published),
            rank(entry.rank_now),
        ];
        cells.extend(
            self.of_a_rerun
                .then(|| Cell::known(entry.by_published, Cell::Ratio)),
        );
        cells
    }
}

impl CheckedConclusion {
    fn item(&self) -> Item {
        let tone = match self.holding {
            ConclusionResult::Holds => Tone::Good,
            ConclusionResult::Reversed | ConclusionResult::InPart => Tone::Bad,
            ConclusionResult::Undecidable | ConclusionResult::NotTested => Tone::Warning,
        };
        let now = Text::from(format!("Now: {}.", self.today()));
        let causes = self.causes.iter();
        let causes = causes.map(|one| Text::from(format!("Cause: {}.", one.words())));
        let more = std::iter::once(now).chain(causes);
        Item {
            more: more.map(|text| (text, Tone::Soft)).collect(),
            ..Item::new(self.holding.words(), tone, self.text.as_str())
        }
    }
}

impl RerunSummary {
    fn section(&self) -> Section {
        let section = Section::new("departures", self.of_figures());
        if self.departures.is_empty() {
            return section.with(Block::paragraph(
                "Every figure is of the same order of magnitude as the published one.",
            ));
        }
        let departures = self.departures.iter();
        section.with(Block::sentences(
            departures.map(|one| format!("{}.", one.words())),
        ))
    }
}
