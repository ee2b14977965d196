//! The overview of the page, and the same among equals: ratios, what may be said of them, and ranks,
//! as the template takes them.

use super::part::times;
use crate::table::Comparison;
use crate::table::overview::{self, Beside, Entry, Says};
use crate::terms::{self, Scale};
use fsdyno_stats::PairedRatio;
use serde::Serialize;

/// The table of some contenders.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// What it is called.
    heading: String,
    contenders: Vec<String>,
    /// By workload.
    groups: Vec<Group>,
    means: Vec<Mean>,
    phases: usize,
    /// In how many phases each is in the first tier, in words.
    leads: Vec<String>,
    intervals: bool,
    ranked: bool,
}

#[derive(Debug, Serialize)]
struct Group {
    workload: String,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    place: String,
    phase: String,
    cache: &'static str,
    cells: Vec<Option<Cell>>,
}

/// One contender at one phase: beside the baseline, and beside the fastest.
#[derive(Debug, Serialize)]
struct Cell {
    base: Told,
    best: Told,
    tier: Option<usize>,
    /// Its rank, where it is not known to the number.
    rank: Option<String>,
    doubted: bool,
}

#[derive(Debug, Serialize)]
struct Told {
    class: &'static str,
    sign: &'static str,
    word: &'static str,
    ratio: String,
    interval: Option<String>,
    /// What it sorts by; empty where there is nothing.
    value: String,
}

/// A geometric mean, beside the baseline and beside the least.
#[derive(Debug, Serialize)]
struct Mean {
    base: (String, Option<String>),
    best: (String, Option<String>),
}

/// What is told where contenders differ in their devices.
#[derive(Debug, Serialize)]
pub struct Layouts {
    /// Those of one layout, where there are several.
    equals: Vec<Overview>,
    /// The layouts, in the order of the columns.
    columns: Vec<String>,
    /// The best of each layout, phase by phase.
    rows: Vec<BestRow>,
}

#[derive(Debug, Serialize)]
struct BestRow {
    place: String,
    unit: &'static str,
    cells: Vec<Option<Best>>,
}

/// The best of one layout beside the best of all.
#[derive(Debug, Serialize)]
struct Best {
    contender: String,
    time: String,
    told: Told,
}

impl Overview {
    /// That of all contenders of a lab; none where nothing is compared.
    pub fn of_all(comparison: &Comparison) -> Option<Self> {
        let all: Vec<usize> = (0..comparison.contenders.len()).collect();
        comparison
            .compares()
            .then(|| Self::of(comparison, &all, "Overview"))
    }

    fn of(comparison: &Comparison, among: &[usize], heading: &str) -> Self {
        let overview = comparison.overview(among);
        let judged = comparison.judged();
        let mut groups: Vec<Group> = Vec::new();
        for row in &overview.rows {
            let one = Row {
                place: row.place.clone(),
                phase: row.phase.to_owned(),
                cache: row.cache,
                cells: cells(row, among, judged),
            };
            match groups
                .last_mut()
                .filter(|group| group.workload == row.workload)
            {
                Some(group) => group.rows.push(one),
                None => groups.push(Group {
                    workload: row.workload.to_owned(),
                    rows: vec![one],
                }),
            }
        }
        let both = overview.to_base.iter().zip(&overview.to_best);
        let leads = overview.leads();
        let entries = overview
            .rows
            .iter()
            .flat_map(|row| row.entries.iter().flatten());
        Self {
            heading: heading.to_owned(),
            contenders: among
                .iter()
                .map(|at| comparison.contenders[*at].clone())
                .collect(),
            groups,
            means: both
                .map(|(base, best)| Mean {
                    base: mean(base),
                    best: mean(best),
                })
                .collect(),
            phases: overview.phases,
            ranked: leads.is_some(),
            leads: leads.map_or_else(Vec::new, |leads| {
                let of = |told: &(usize, usize)| match told {
                    (_, 0) => "\u{2013}".to_owned(),
                    (leads, judged) => format!("{leads} of {judged}"),
                };
                leads.iter().map(of).collect()
            }),
            intervals: entries
                .flat_map(|entry| [entry.to_base, entry.to_best])
                .any(has_interval),
        }
    }
}

fn has_interval(beside: Beside) -> bool {
    beside.ratio.is_some_and(|ratio| ratio.interval.is_some())
}

fn cells(row: &overview::Row<'_>, among: &[usize], judged: bool) -> Vec<Option<Cell>> {
    // Where nobody is told apart, tiers and ranks would say it once more in every cell.
    let mut ranks = row.entries.iter().flatten().filter_map(|entry| entry.rank);
    let apart = ranks.any(|rank| rank.tier > 1);
    let of = |(entry, at): (&Option<Entry>, &usize)| {
        let entry = entry.as_ref()?;
        let rank = entry.rank.filter(|_| apart);
        Some(Cell {
            base: Told::of(entry.to_base, "baseline", judged),
            best: Told::of(entry.to_best, "lowest", judged),
            tier: rank.map(|rank| rank.tier),
            rank: rank
                .filter(|rank| rank.first != rank.last)
                .map(|rank| rank.in_words().replace('-', "\u{2013}")),
            doubted: row.line.values[*at]
                .as_ref()
                .is_some_and(|value| value.doubted),
        })
    };
    row.entries.iter().zip(among).map(of).collect()
}

fn interval(ratio: &PairedRatio) -> Option<String> {
    let of = ratio.interval?;
    let (low, high) = (terms::ratio(of.low), terms::ratio(of.high));
    Some(format!("{low}\u{2013}{high}"))
}

fn mean(ratio: &PairedRatio) -> (String, Option<String>) {
    // Of one beside itself there is nothing to be unsure of.
    let sure = ratio.low.to_bits() == ratio.high.to_bits() && (ratio.middle - 1.0).abs() < 1e-12;
    (times(ratio.middle), interval(ratio).filter(|_| !sure))
}

impl Told {
    fn of(beside: Beside, itself: &'static str, judged: bool) -> Self {
        let (class, sign, word) = match beside.says {
            Says::Itself => ("itself", "", itself),
            Says::Faster => ("faster", "▼", "faster"),
            Says::Slower => ("slower", "▲", "slower"),
            Says::Level => ("level", "≈", "level"),
            Says::Open => ("open", "?", "inconclusive"),
            Says::TooFew if judged => ("open", "?", "too few"),
            Says::TooFew => ("plain", "", ""),
        };
        let ratio = beside.ratio.map(|ratio| ratio.middle);
        let itself = beside.says == Says::Itself;
        Self {
            class,
            sign,
            word,
            ratio: match ratio {
                Some(ratio) => times(ratio),
                None if itself => times(1.0),
                None => "\u{2013}".to_owned(),
            },
            interval: beside.ratio.as_ref().and_then(interval),
            value: ratio
                .or(itself.then_some(1.0))
                .map_or_else(String::new, |ratio| format!("{ratio:.4}")),
        }
    }
}

impl Layouts {
    /// Those of a lab; none where all are alike.
    pub fn of(comparison: &Comparison, clock: bool) -> Option<Self> {
        let groups = comparison.by_layout();
        if groups.len() < 2 || !comparison.compares() {
            return None;
        }
        let several = groups.iter().filter(|(_, places)| places.len() > 1);
        let equals = several.map(|(layout, places)| Overview::of(comparison, places, layout));
        let all: Vec<usize> = (0..comparison.contenders.len()).collect();
        let overview = comparison.overview(&all);
        let rows = overview.rows.iter().filter_map(|row| {
            let best = row.fastest(&all)?;
            Some(best_row(comparison, row, &groups, best, clock))
        });
        Some(Self {
            equals: equals.filter(|of| !of.groups.is_empty()).collect(),
            columns: groups
                .iter()
                .map(|(layout, _)| (*layout).to_owned())
                .collect(),
            rows: rows.collect(),
        })
    }
}

fn best_row(
    comparison: &Comparison,
    row: &overview::Row<'_>,
    groups: &[(&str, Vec<usize>)],
    best: usize,
    clock: bool,
) -> BestRow {
    let medians = row
        .line
        .values
        .iter()
        .flatten()
        .map(|value| value.summary.median);
    let scale = if clock {
        Scale::Clock
    } else {
        Scale::of_times(medians)
    };
    let of = |(_, places): &(&str, Vec<usize>)| {
        let one = row.fastest(places)?;
        let value = row.line.values[one].as_ref()?;
        Some(Best {
            contender: comparison.contenders[one].clone(),
            time: scale.show(value.summary.median),
            told: Told::of(row.beside(one, best), "lowest", comparison.judged()),
        })
    };
    BestRow {
        place: row.place.clone(),
        unit: scale.unit(),
        cells: groups.iter().map(of).collect(),
    }
}
