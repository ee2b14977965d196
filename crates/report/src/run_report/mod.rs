//! The report of a run: a section for each question, lab by lab.
//!
//! A section is a file here with a function that builds it for a lab, and one line in `SECTIONS`.
//! All renderers show it.

mod caches;
mod commands;
mod costs;
mod disks;
mod extents;
pub mod first_screen;
mod glance;
mod layouts;
mod notes;
mod overview;
mod parts;
mod published;
mod reported;
mod samples;
mod scaling;
mod times;
mod user_code;
mod variants;
mod why;

pub use samples::{Samples, Seen, figures};

use crate::charts::Chart;
use crate::comparison::{self, Comparison, Comparisons, Leaders, facts, labs};
use crate::document::{
    Audience, Block, Column, Document, Figure, Filter, FilterItem, Label, Mark, Outcome, RatioTo,
    Section, Share, ShareColour, Shares, Text, add_suffix,
};
use crate::lists::unique;
use crate::options::Options;
use crate::resolution::RESOLUTION;
use crate::run_charts;
use crate::run_json::RunReport;
use crate::terms;
use fsdyno_model::ResultSet;

/// The sections of a lab, in order; empty sections are omitted.
const SECTIONS: &[fn(&Lab<'_>) -> Option<Section>] = &[
    overview::section,
    user_code::section,
    variants::section,
    layouts::section,
    glance::section,
    times::section,
    why::section,
    parts::section,
    costs::section,
    disks::section,
    extents::section,
    scaling::section,
    reported::section,
    caches::section,
];

/// The input of the sections of a lab.
struct Lab<'a> {
    /// The share of the run in this lab.
    set: &'a ResultSet,
    /// The comparison of its contenders.
    comparison: &'a Comparison,
    /// The options, with the remedies for causes of differences.
    options: &'a Options,
    /// Its charts.
    charts: &'a [Chart],
}

/// The report of a run.
pub fn document(set: &ResultSet, options: &Options) -> Document {
    let comparisons = Comparisons::of(set);
    let run = &set.run;
    let (name, id) = (terms::printable(&run.plan.name), terms::printable(&run.id));
    let date = terms::date(run.started_unix_ns);
    let mut document = Document {
        page_title: Some(page_title(&comparisons)),
        subtitle: subtitle(set, &comparisons),
        lead: comparisons.answers().into_iter().map(Text::from).collect(),
        winners: comparisons.labs.iter().filter_map(winners).collect(),
        status: status(&comparisons),
        filters: filters(&comparisons.labs),
        footer: format!("Run {id}, result schema {}.", RunReport::SCHEMA),
        chart_command: format!("fsdyno chart {id} --output DIR/"),
        ..Document::new(format!("fsdyno: {name} of {date}, run {id}"))
    };
    if comparisons.has_several() {
        document
            .blocks
            .push(Block::paragraph(comparisons.why_separate()));
    }
    let mut at = 0;
    with_each_lab(set, &comparisons, options, |lab| {
        let mut blocks: Vec<Block> = SECTIONS
            .iter()
            .filter_map(|section| section(lab))
            .map(Block::Section)
            .collect();
        if at > 0 {
            add_suffix(&mut blocks, &format!("-{}", at + 1));
        }
        match lab.comparison.heading() {
            Some(heading) => document.blocks.push(part(heading, blocks)),
            None => document.blocks.extend(blocks),
        }
        at += 1;
    });
    document.blocks.extend(published::section(set));
    let mut notes = notes::sections(&comparisons);
    notes.push(provenance(set));
    if comparisons.has_several() {
        document
            .blocks
            .push(part(comparisons.heading_of_all().to_owned(), notes));
    } else {
        document.blocks.extend(notes);
    }
    document
}

/// Calls a function with each lab of a run.
fn with_each_lab(
    set: &ResultSet,
    comparisons: &Comparisons,
    options: &Options,
    mut visit: impl FnMut(&Lab<'_>),
) {
    let shares = labs::shares(set);
    let charts = run_charts::by_lab(set, comparisons);
    for ((comparison, (_, share)), charts) in comparisons.labs.iter().zip(&shares).zip(&charts) {
        visit(&Lab {
            set: share,
            comparison,
            options,
            charts,
        });
    }
}

fn part(heading: String, blocks: Vec<Block>) -> Block {
    Block::Section(Section {
        part: true,
        blocks,
        ..Section::new("", heading)
    })
}

/// The source of the figures; on the page with the executed commands.
fn provenance(set: &ResultSet) -> Block {
    let plan = serde_json::to_string_pretty(&set.run.plan)
        .unwrap_or_else(|error| format!("the plan has no JSON form: {error}"));
    Section::new("provenance", "Provenance")
        .with(Block::Facts(facts::facts(set)))
        .with(Block::Only(Audience::Page, commands::blocks(set, plan)))
        .into()
}

/// The phases by their fastest contender; `None` without a verdict.
fn winners(comparison: &Comparison) -> Option<Shares> {
    let lines = comparison.whole_times();
    let leaders: Vec<Option<Leaders>> = lines.map(|(_, _, line)| line.leaders()).collect();
    leaders.iter().any(Option::is_some).then_some(())?;
    let won = |at: usize| {
        let leaders = leaders.iter().flatten();
        leaders.filter(|one| one.winner() == Some(at)).count()
    };
    let contenders = comparison.contenders.iter().enumerate();
    let mut parts: Vec<Share> = contenders
        .map(|(at, label)| Share {
            label: format!("{label} {}", comparison.words().best),
            count: won(at),
            colour: ShareColour::Contender(at),
        })
        .collect();
    let equivalent = leaders.iter().flatten().filter(|one| one.equivalent);
    let equivalent = equivalent.count();
    let decided: usize = parts.iter().map(|part| part.count).sum::<usize>() + equivalent;
    let inconclusive = leaders.len() - decided;
    let others = [
        ("no difference", equivalent, ShareColour::Shared),
        ("inconclusive", inconclusive, ShareColour::Undecided),
    ];
    parts.extend(others.map(|(label, count, colour)| Share {
        label: label.to_owned(),
        count,
        colour,
    }));
    parts.retain(|part| part.count > 0);
    let lab = comparison.lab.as_ref();
    let phases = terms::count(leaders.len(), "phase");
    Some(Shares {
        name: lab.map_or_else(|| phases.clone(), |lab| format!("{}: {phases}", lab.name)),
        parts,
    })
}

/// The number of cells by outcome, and of warnings.
fn status(comparisons: &Comparisons) -> Text {
    let cells = comparisons.cells.describe();
    let mut text = Text::default();
    text = if comparisons.unmeasured.is_empty() {
        text.plain(cells)
    } else {
        text.plain(cells)
            .plain(" (see ")
            .link("Not measured", "not-measured")
            .plain(")")
    };
    text = text.plain(".");
    if comparisons.warning_summaries.is_empty() {
        return text;
    }
    let kinds = comparisons.warning_summaries.len();
    let plural = if kinds == 1 { "" } else { "s" };
    text.plain(" ")
        .link(format!("{kinds} kind{plural} of warning"), "warnings")
        .plain(".")
}

/// Plan, date and kernels.
fn subtitle(set: &ResultSet, comparisons: &Comparisons) -> String {
    let labs = comparisons.labs.iter().filter_map(|one| one.lab.as_ref());
    let mut kernels: Vec<String> = labs.map(comparison::Lab::heading).collect();
    if kernels.is_empty() {
        kernels.push(terms::printable(set.kernel()));
    }
    format!(
        "{} · {} · {}",
        terms::printable(&set.run.plan.name),
        terms::date(set.run.started_unix_ns),
        kernels.join(" · ")
    )
}

fn page_title(comparisons: &Comparisons) -> String {
    let contenders = comparisons.labs.iter().flat_map(|one| &one.contenders);
    let contenders: Vec<String> = contenders.cloned().collect();
    let named = terms::contenders(&contenders);
    let compared = if comparisons.compares_kernels() {
        "compared by kernel".to_owned()
    } else if comparisons.has_several() {
        format!("compared within {} labs", comparisons.labs.len())
    } else {
        "compared".to_owned()
    };
    match contenders.len() {
        0 => "Nothing compared".to_owned(),
        1 => format!("{named}, measured"),
        _ => format!("{named} {compared}"),
    }
}

/// The filters of the page; empty if there is no choice.
fn filters(labs: &[Comparison]) -> Vec<Filter> {
    let item = |value: &str, of| FilterItem {
        value: value.to_owned(),
        of,
    };
    let [mut contenders, mut workloads, mut caches, mut phases] = [const { Vec::new() }; 4];
    for lab in labs.iter().filter(|lab| lab.measured()) {
        for label in &lab.contenders {
            contenders.push(item(label, None));
        }
        for workload in lab.workloads.iter().filter(|workload| workload.measured()) {
            workloads.push(item(&workload.name, None));
            for phase in workload.measured_phases() {
                caches.push(item(phase.cache, None));
                let of = Some((workload.name.clone(), phase.cache));
                phases.push(item(&lab.place(workload, phase), of));
            }
        }
    }
    let kinds = [
        ("contender", "contenders", contenders),
        ("workload", "workloads", workloads),
        ("cache", "cache states", caches),
        ("phase", "phases", phases),
    ];
    let kinds = kinds.into_iter().map(|(name, several, items)| Filter {
        name,
        several,
        items: unique(items),
    });
    // A single phase is kept, because the other filters use it.
    kinds
        .filter(|kind| kind.items.len() > 1 || kind.name == "phase" && !kind.items.is_empty())
        .collect()
}

impl Lab<'_> {
    /// The label of a contender, with a short form: the name of its file system and a letter.
    fn label(&self, at: usize) -> Label {
        /// The length of the name of the file system, characters.
        const NAME: usize = 7;
        let filesystem = &self.comparison.filesystems[at];
        let mut name: String = filesystem.chars().take(NAME).collect();
        if filesystem.chars().count() > NAME {
            name = name.chars().take(NAME - 2).collect::<String>() + "..";
        }
        let short = format!("{name} [{}]", letters(at));
        Label::contender(self.comparison.contenders[at].as_str()).with_short(short)
    }

    /// A column of each contender.
    fn columns(&self) -> impl Iterator<Item = Column> {
        let all = 0..self.comparison.contenders.len();
        all.map(|at| Column::new(self.label(at)))
    }

    /// A time of a contender as a cell; with its ratio if contenders are compared.
    fn figure(&self, value: &comparison::Value, at: usize) -> Figure {
        let summary = value.summary;
        Figure {
            spread: (summary.n > 1).then_some((summary.min, summary.max)),
            ratio: match value.ratio {
                _ if at == 0 && self.comparison.compares() => RatioTo::Baseline,
                Some(ratio) => RatioTo::Of {
                    middle: ratio.middle,
                    interval: ratio.interval.map(|of| (of.low, of.high)),
                    outcome: value.outcome,
                    better: value.better,
                },
                None if value.outcome == Some(Outcome::Negligible) => RatioTo::Negligible,
                None if at > 0 && self.comparison.compares() => RatioTo::Unknown,
                None => RatioTo::None,
            },
            best: value.best,
            warned: value.doubted,
            sensitive: value.sensitive,
            one_draw: value.one_draw && self.comparison.compares(),
            samples: value.times.clone(),
            ..Figure::of(summary.median)
        }
    }

    /// Adds the legend of the marks.
    fn explain_marks(&self, mut text: Text) -> Text {
        let comparison = self.comparison;
        if comparison.compares() {
            if comparison
                .lines()
                .any(|line| line.values.iter().flatten().any(|v| v.best))
            {
                let best = comparison.words().best;
                text = text.plain(" ").mark(Mark::Best).plain(format!(" {best}."));
            }
            text = text.plain(format!(" {}", comparison.ratios_text()));
            if comparison.judged() && comparison.level() {
                let margin = terms::percent(comparison.rule.margin);
                text = text
                    .plain(" ")
                    .mark(Mark::Equivalent)
                    .plain(format!(" equivalent, within {margin}."));
            }
            if comparison.has_negligible() {
                text = text.plain(format!(" Times below {RESOLUTION} have no ratio."));
            }
        }
        if comparison.unjudged() {
            text = text
                .plain(" ")
                .mark(Mark::Inconclusive)
                .plain(" inconclusive.");
        }
        if comparison.sensitive() {
            text = text
                .plain(" ")
                .mark(Mark::Sensitive)
                .plain(" depends on the model.");
        }
        if comparison.doubted() {
            text = text
                .plain(" ")
                .mark(Mark::Warning)
                .plain(" see ")
                .link("Warnings", "warnings")
                .plain(".");
        }
        text
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
    fn short_labels_are_unlimited_and_unique() {
        let all: std::collections::HashSet<String> = (0..800).map(letters).collect();
        assert_eq!(all.len(), 800);
        assert_eq!((letters(25), letters(26)), ("z".into(), "aa".into()));
    }
}
