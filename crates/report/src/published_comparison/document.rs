//! A run compared with a published table, as a document.

use super::{
    CheckedConclusion, ComparedPhase, ConclusionResult, Entry, PublishedComparison, RerunSummary,
};
use crate::comparison::labs;
use crate::document::{
    Block, Cell, Column, Document, Figure, Group, Item, Label, Mark, Number, Outcome, Row, Section,
    Table, Text, Tone, add_suffix,
};
use crate::published::same_unit;
use crate::terms;
use fsdyno_stats::chance_of_order;

/// A run compared with a published table, one section for each lab.
pub fn document(comparisons: &[PublishedComparison]) -> Document {
    let title = match comparisons {
        [one] => one.heading(),
        several => several
            .first()
            .map_or_else(String::new, PublishedComparison::heading_of_all),
    };
    let mut document = Document {
        ..Document::new(format!("fsdyno: {title}"))
    };
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

/// The figures of both, a row for each contender of each phase.
pub fn figures(comparisons: &[PublishedComparison]) -> Table {
    const COLUMNS: [&str; 19] = [
        "run",
        "table",
        "year",
        "scale",
        "phase",
        "contender",
        "contender_published",
        "better",
        "unit_published",
        "published",
        "unit_now",
        "now_median",
        "repeats",
        "ratio_published",
        "ratio_now",
        "rank_published",
        "rank_now",
        "rank_correlation",
        "now_by_published",
    ];
    let text = |text: &str| Cell::Text(text.to_owned());
    let has_labs = comparisons.iter().any(|one| one.lab.is_some());
    let columns = COLUMNS.into_iter().chain(has_labs.then_some("lab"));
    let lines = comparisons
        .iter()
        .flat_map(|one| one.lines.iter().map(move |line| (one, line)));
    let mut rows = Vec::new();
    for (comparison, line) in lines {
        for entry in &line.entries {
            let pair = &comparison.contenders[entry.contender];
            let mut cells = vec![
                text(&comparison.run),
                text(&comparison.table),
                Cell::Count(u64::from(comparison.year)),
                Cell::Number(comparison.scale),
                text(&line.label),
                text(&pair.now),
                text(&pair.published),
                text(line.better.name()),
                text(&line.unit_published),
                Cell::Published(entry.published),
                text(&line.unit_now),
                Cell::Number(entry.now),
                Cell::Count(entry.repeats as u64),
                Cell::known(entry.ratio_published, Cell::Ratio),
                Cell::known(entry.ratio_now, Cell::Ratio),
                Cell::Rank(entry.rank_published),
                Cell::Rank(entry.rank_now),
                Cell::known(line.rank_correlation, Cell::Number),
                Cell::known(entry.by_published, Cell::Ratio),
            ];
            cells.extend(has_labs.then(|| Cell::known(comparison.lab.as_deref(), text)));
            rows.push(Row::new("", cells));
        }
    }
    Table {
        name: "figures".to_owned(),
        columns: columns.map(Column::new).collect(),
        groups: vec![Group {
            rows,
            ..Group::default()
        }],
        ..Table::default()
    }
}

impl PublishedComparison {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![
            Block::Facts(self.facts()),
            Section::new("figures", "Then and now")
                .with(Block::Legend(self.legend()))
                .with(self.as_table())
                .into(),
            Section::new("conclusions", format!("The conclusions ({})", self.tally()))
                .with(Block::List(
                    self.conclusions
                        .iter()
                        .map(CheckedConclusion::item)
                        .collect(),
                ))
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
                    let label = Label {
                        full: self.contenders[entry.contender].now.clone(),
                        short: None,
                        is_contender: true,
                    };
                    Row::new(label, line.cells(entry))
                })
                .collect(),
            note: line.correlation(),
            ..Group::default()
        };
        Table {
            name: "Then and now".to_owned(),
            groups_are: "phase",
            rows_are: "contender",
            columns,
            groups: self.lines.iter().map(group).collect(),
            ..Table::default()
        }
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

    /// What virtual time consists of, as text.
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

    /// Which figures are comparable.
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

    /// The number of conclusions by result: `2 hold, 1 is reversed ...`.
    pub fn tally(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for conclusion in &self.conclusions {
            let words = conclusion.holding.words();
            match counts.iter_mut().find(|(known, _)| *known == words) {
                Some((_, n)) => *n += 1,
                None => counts.push((words, 1)),
            }
        }
        let parts: Vec<String> = counts
            .iter()
            .map(|(words, n)| format!("{words}: {n}"))
            .collect();
        parts.join(", ")
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
            lead: Some((self.holding.words().to_owned(), tone)),
            text: self.text.as_str().into(),
            more: more.map(|text| (text, Tone::Soft)).collect(),
            ..Item::default()
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
