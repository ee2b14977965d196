//! The price of protection: what checksums, compression, snapshots and copies cost in time, processor,
//! writes and space, as ratios of a contender with the protection to the same without it.

use crate::advice::{Total, amounts};
use crate::comparison::warnings::about_work;
use crate::comparison::{Comparison, Comparisons};
use crate::document::{Block, Cell, Column, Document, Filter, Group, Label, Row, Table};
use crate::lists::unique;
use crate::terms;
use fsdyno_model::{Nanos, PricedKind, ResultSet, Sample, Stage};
use fsdyno_stats::{PairedRatio, Rule, Verdict, judge_all, median, ratio_paired};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// The largest number of undecided protections that a sentence names.
const NAMED: usize = 3;

/// The smallest relative difference of space that a sentence names.
const SPACE: f64 = 0.01;

/// The smallest part of the largest space that is left at the end, of which a ratio says something.
const LEFT: f64 = 0.1;

/// A protection whose price is asked for: two contenders of a run, by their labels.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PriceQuestion {
    /// The contender that is asked about.
    pub base: String,
    /// The protection.
    pub protection: String,
    /// The contender with it.
    pub with: String,
    /// The contender without it.
    pub without: String,
    /// What the protection is.
    pub kind: PricedKind,
    /// The disks with the protection and without it, for the same capacity; null if they are equal.
    pub disks: Option<(u32, u32)>,
    /// What else differs between both; null if nothing does.
    pub also: Option<String>,
    /// The document that describes the option.
    pub source: Option<String>,
}

/// The prices of protections in one run.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "PriceReport")]
pub struct Prices {
    /// The run.
    pub run: String,
    /// When it began, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The names of its workloads.
    pub work: Vec<String>,
    /// Their sizes.
    pub amounts: Vec<String>,
    /// The model disk; null in real time.
    pub disk: Option<String>,
    /// The number of blocks.
    pub draws: usize,
    /// The smallest difference of times that matters.
    pub margin: f64,
    /// The prices, by contender.
    pub prices: Vec<Price>,
    /// The protections without a price, each with the reason.
    pub unpriced: Vec<String>,
    /// The warnings about work that is not what the run should measure.
    pub warnings: Vec<String>,
}

/// The price of one protection.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct Price {
    /// The question.
    #[serde(flatten)]
    pub question: PriceQuestion,
    /// The phases that are compared.
    pub phases: Vec<String>,
    /// The time with the protection as a multiple of that without it. A phase that is judged by another
    /// figure counts by its cost.
    pub time: f64,
    /// The 95 % interval of `time`; null with fewer than 6 draws.
    pub interval: Option<(f64, f64)>,
    /// `costs`, `gains`, `equivalent`, `not decided`, or null with too few draws.
    pub verdict: Option<&'static str>,
    /// The ratio of the time of the processors; null if it was not measured.
    pub processor: Option<f64>,
    /// The ratio of the bytes that are written to all disks; null if there are no counters.
    pub written: Option<f64>,
    /// The ratio of the space that the work takes: the largest after a phase, with snapshots that at the
    /// end; null if it is too small, with other disks, and with a lost disk or a scrub.
    pub space: Option<f64>,
    /// How long the rebuild takes, after the last phase or beside the second, or a scrub beside a phase (the longest): the
    /// median of all draws, in nanoseconds. Null with other protections.
    pub lasts: Option<Nanos>,
    #[serde(skip)]
    judged: Option<Verdict>,
}

/// The figures of a question: totals by block with the protection and without it.
struct Totals {
    phases: Vec<String>,
    with: Vec<(u32, f64)>,
    without: Vec<(u32, f64)>,
    ratio: PairedRatio,
}

impl Prices {
    /// The prices of these protections. All verdicts are one family.
    pub fn of(set: &ResultSet, questions: &[PriceQuestion]) -> Self {
        let plan = &set.run.plan;
        let comparisons = Comparisons::of(set);
        let mut unpriced = Vec::new();
        let mut found = Vec::new();
        for question in questions {
            let labs = comparisons.labs.iter();
            let mut totals = labs.filter_map(|lab| Totals::of(lab, question));
            match totals.next() {
                Some(Ok(totals)) => found.push((question, totals)),
                Some(Err(why)) => unpriced.push(format!(
                    "{}, {}: {why}",
                    terms::printable(&question.base),
                    question.protection
                )),
                None => unpriced.push(missing(question, &comparisons)),
            }
        }
        let family: Vec<_> = found
            .iter()
            .map(|(_, one)| (&one.with[..], &one.without[..]))
            .collect();
        let verdicts = judge_all(&family, &Rule::of(&set.run).family_wise());
        let prices = found.iter().zip(verdicts);
        Self {
            run: set.run.id.clone(),
            started_unix_ns: set.run.started_unix_ns,
            work: unique(plan.workloads.iter().map(|one| terms::printable(&one.name))),
            amounts: amounts(set),
            disk: plan
                .disk_in_virtual_time()
                .map(|disk| terms::printable(&disk.profile)),
            draws: found
                .iter()
                .map(|(_, one)| one.ratio.pairs)
                .max()
                .unwrap_or(0),
            margin: plan.margin,
            prices: prices
                .map(|((question, totals), verdict)| Price::of(set, question, totals, verdict))
                .collect(),
            unpriced: unique(unpriced),
            warnings: about_work(set),
        }
    }
}

/// The reason why a question has no figures.
fn missing(question: &PriceQuestion, comparisons: &Comparisons) -> String {
    let of = |label: &String| {
        let label = terms::printable(label);
        let mut all = comparisons.unmeasured.iter();
        all.find(|one| one.contender == label)
    };
    let why = [&question.with, &question.without].into_iter().find_map(of);
    let why = why.map_or("not all phases were measured", |one| {
        one.reason.lines().next().unwrap_or_default()
    });
    let base = terms::printable(&question.base);
    format!("{base}, {}: {}", question.protection, terms::printable(why))
}

impl Totals {
    /// `None` if a contender lacks a phase, or both are the same draws.
    fn of(lab: &Comparison, question: &PriceQuestion) -> Option<Result<Self, &'static str>> {
        let place = |label: &String| {
            let label = terms::printable(label);
            lab.contenders.iter().position(|one| *one == label)
        };
        let (with, without) = (place(&question.with)?, place(&question.without)?);
        let lines = lab.whole_times().filter(|(workload, phase, _)| {
            let mut phases = workload.phases.iter();
            let number = phases.position(|one| one.label == phase.label);
            number.is_some_and(|number| question.kind.concerns(number))
        });
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            return None;
        }
        let kind = if lines.iter().all(|(_, _, line)| line.is_time()) {
            Total::Sum
        } else {
            Total::Mean
        };
        let values = |at: usize| -> Option<Vec<_>> {
            let all = lines.iter();
            all.map(|(_, _, line)| line.values[at].as_ref()).collect()
        };
        let (with, without) = (values(with)?, values(without)?);
        if with.iter().chain(&without).any(|one| one.not_durable) {
            return Some(Err("its work was not durable when the phases had ended"));
        }
        let total = |values: &[&crate::comparison::Value]| {
            let figures: Vec<&[(u32, f64)]> = values.iter().map(|one| &one.adjusted[..]).collect();
            kind.of(&figures)
        };
        let (with, without) = (total(&with), total(&without));
        let ratio = ratio_paired(&with, &without)?;
        let phases = lines
            .iter()
            .map(|(workload, phase, _)| lab.place(workload, phase));
        Some(Ok(Self {
            phases: phases.collect(),
            ratio,
            with,
            without,
        }))
    }
}

impl Price {
    fn of(
        set: &ResultSet,
        question: &PriceQuestion,
        totals: &Totals,
        verdict: Option<Verdict>,
    ) -> Self {
        let kind = question.kind;
        let is_stored = matches!(question.kind, PricedKind::Option | PricedKind::Snapshots);
        let sum = |of: &dyn Fn(&Sample) -> Option<u64>| {
            ratio_of_sums(set, question, &|samples| {
                let counted = (0..)
                    .zip(samples)
                    .filter(|(phase, _)| kind.concerns(*phase));
                counted.map(|(_, sample)| of(sample)).sum()
            })
        };
        Self {
            question: PriceQuestion {
                base: terms::printable(&question.base),
                with: terms::printable(&question.with),
                without: terms::printable(&question.without),
                ..question.clone()
            },
            phases: totals.phases.clone(),
            time: totals.ratio.middle,
            interval: totals.ratio.interval.map(|of| (of.low, of.high)),
            verdict: verdict.map(word),
            processor: sum(&|sample| Some(processor(sample))),
            written: sum(&|sample| Some(sample.device.as_ref()?.written_bytes.0)),
            space: ratio_of_sums(set, question, &|samples| space(samples, !kind.concerns(0)))
                .filter(|_| is_stored),
            lasts: lasts(set, question),
            judged: verdict,
        }
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "costs",
        Verdict::Faster => "gains",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "not decided",
    }
}

/// The time of the processors: in virtual time that of the model, without the ticks of a clock.
fn processor(sample: &Sample) -> u64 {
    let charged = sample.kernel.iter().map(|work| work.charged_ns.0).max();
    let charged = charged.filter(|ns| *ns > 0);
    charged.unwrap_or(sample.cpu.machine_busy_ns.0)
}

/// The space that the phases took: at most, or at the end. None if too little is left at the end.
fn space(samples: &[&Sample], at_end: bool) -> Option<u64> {
    let before = samples.first()?.space_before.0;
    let taken = |sample: &&Sample| sample.space_after.0.checked_sub(before);
    let most = samples
        .iter()
        .filter_map(taken)
        .max()
        .filter(|most| *most > 0)?;
    if !at_end {
        return Some(most);
    }
    let left = samples.last().and_then(taken)?;
    (left as f64 >= LEFT * most as f64).then_some(left)
}

/// How long the rebuild takes, or the longest scrub.
fn lasts(set: &ResultSet, question: &PriceQuestion) -> Option<Nanos> {
    let stage = match question.kind {
        PricedKind::Degraded | PricedKind::Rebuild => Stage::Rebuild,
        PricedKind::Scrub => Stage::Scrub,
        _ => return None,
    };
    let plan = &set.run.plan;
    let at = plan
        .contenders
        .iter()
        .position(|one| one.label == question.with)?;
    let cells = set
        .cells
        .iter()
        .filter(|record| record.cell.contender as usize == at);
    let times = cells.filter_map(|record| {
        let own = record.commands.iter().filter(|one| one.stage == stage);
        let longest = own.map(|one| one.took_ns).max()?;
        Some(Duration::from_nanos(longest.0).as_secs_f64())
    });
    let middle = median(&times.collect::<Vec<f64>>())?;
    Some(Duration::from_secs_f64(middle).into())
}

/// The ratio of the medians of both contenders, of the sum over all workloads.
fn ratio_of_sums(
    set: &ResultSet,
    question: &PriceQuestion,
    of: &dyn Fn(&[&Sample]) -> Option<u64>,
) -> Option<f64> {
    let plan = &set.run.plan;
    let figure = |label: &String| {
        let at = plan.contenders.iter().position(|one| one.label == *label)?;
        let sums = (0..plan.workloads.len()).map(|workload| {
            let cells = set.cells.iter().filter(|record| {
                record.cell.contender as usize == at && record.cell.workload as usize == workload
            });
            let figures = cells.filter_map(|record| {
                let samples: Vec<&Sample> = record.samples.iter().collect();
                Some(of(&samples)? as f64)
            });
            median(&figures.collect::<Vec<f64>>())
        });
        sums.sum::<Option<f64>>()
    };
    let (with, without) = (figure(&question.with)?, figure(&question.without)?);
    (without > 0.0).then_some(with / without)
}

/// The prices as a report.
pub fn document(prices: &Prices) -> Document {
    let date = terms::date(prices.started_unix_ns);
    let mut blocks = Vec::new();
    if !prices.prices.is_empty() {
        blocks.push(Block::Table(table(prices)));
        blocks.push(Block::Legend(legend(prices).into()));
    }
    if !prices.unpriced.is_empty() {
        let text = format!("Without a price: {}.", prices.unpriced.join("; "));
        blocks.push(Block::paragraph(text));
    }
    blocks.push(Block::paragraph(format!(
        "More: fsdyno report {} --long (all figures of the run)",
        prices.run
    )));
    let warnings = prices.warnings.iter();
    let warnings = warnings.map(|text| format!("Warning: {text}."));
    Document {
        page_title: Some("What protection costs".to_owned()),
        subtitle: subtitle(prices),
        lead: sentences(prices)
            .into_iter()
            .chain(warnings)
            .map(Into::into)
            .collect(),
        blocks,
        filters: Filter::of_contenders(prices.prices.iter().map(|one| one.question.base.clone())),
        footer: format!("Run: {}.", prices.run),
        ..Document::new(format!("fsdyno: the price of protection, {date}"))
    }
}

fn subtitle(prices: &Prices) -> String {
    let place = match &prices.disk {
        Some(disk) => format!("model disk {disk}, virtual time"),
        None => "real time".to_owned(),
    };
    let work = format!(
        "{} ({})",
        terms::list(&prices.work),
        prices.amounts.join(", ")
    );
    [terms::date(prices.started_unix_ns), work, place].join(" \u{b7} ")
}

fn bases(prices: &Prices) -> Vec<String> {
    unique(prices.prices.iter().map(|one| one.question.base.clone()))
}

/// The answer: a sentence on the time and one on the space for each contender.
fn sentences(prices: &Prices) -> Vec<String> {
    if prices.prices.is_empty() {
        return vec!["No protection has a price here.".to_owned()];
    }
    let mut sentences = Vec::new();
    for base in bases(prices) {
        let own: Vec<&Price> = prices
            .prices
            .iter()
            .filter(|one| one.question.base == base)
            .collect();
        let work = terms::list(&prices.work);
        let mut text = match times(&own, prices.margin) {
            times if times.is_empty() => format!("On {base}, no price of {work} is decided."),
            times => format!("On {base}, {work} takes {}.", times.join("; ")),
        };
        let open = named(&own, |one| {
            matches!(one, None | Some(Verdict::Inconclusive))
        });
        match open.len() {
            0 => {}
            all if all == own.len() => {}
            1..=NAMED => text.extend([" Not decided: ", &terms::list(&open), "."]),
            many => text.extend([" Not decided: ", &many.to_string(), " others."]),
        }
        let later = own.iter().filter_map(|one| after_first(one.question.kind));
        let later = unique(later);
        if !later.is_empty() {
            let later: Vec<String> = later.into_iter().map(str::to_owned).collect();
            let later = terms::list(&later);
            text.extend([
                " Times with ",
                &later,
                " are of the phases after the first.",
            ]);
        }
        if own
            .iter()
            .any(|one| one.question.kind == PricedKind::Rebuild)
        {
            text += " Times with a rebuild are of the second phase.";
        }
        let rebuilt = own
            .iter()
            .filter(|one| one.question.kind == PricedKind::Degraded);
        let rebuilt = rebuilt.filter_map(|one| {
            let (time, name) = (one.lasts?, &one.question.protection);
            Some(format!("{time} for {name}"))
        });
        let rebuilt: Vec<String> = rebuilt.collect();
        if !rebuilt.is_empty() {
            text.extend([
                " Rebuilding without other work takes ",
                &terms::list(&rebuilt),
                ".",
            ]);
        }
        let spaces = spaces(&own);
        if !spaces.is_empty() {
            text.extend([" Space: ", &spaces.join("; "), "."]);
        }
        sentences.push(text);
    }
    sentences
}

/// The protections of this kind, if the first phase runs without them.
fn after_first(kind: PricedKind) -> Option<&'static str> {
    match kind {
        PricedKind::Snapshots => Some("snapshots"),
        PricedKind::Degraded => Some("a lost disk"),
        PricedKind::Scrub => Some("a scrub"),
        PricedKind::Option | PricedKind::Disks | PricedKind::Rebuild => None,
    }
}

/// The protections with such a verdict.
fn named(own: &[&Price], of: impl Fn(Option<Verdict>) -> bool) -> Vec<String> {
    let those = own.iter().filter(|one| of(one.judged));
    those.map(|one| one.question.protection.clone()).collect()
}

/// By how much each protection changes the time, if it is decided; those without a difference together.
fn times(own: &[&Price], margin: f64) -> Vec<String> {
    let mut parts = Vec::new();
    for price in own {
        let change = match price.judged {
            Some(Verdict::Slower) => longer(price.time, price.interval),
            Some(Verdict::Faster) => shorter(price.time, price.interval),
            _ => continue,
        };
        parts.push(format!("{change} with {}", price.question.protection));
    }
    let equal = named(own, |one| one == Some(Verdict::Equivalent));
    if !equal.is_empty() {
        let margin = terms::percent(margin);
        let equal = terms::list(&equal);
        parts.push(format!("the same time, within {margin}, with {equal}"));
    }
    parts
}

/// `3.0 to 6.0 % longer`, `2.1 to 2.3 times as long`.
fn longer(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let (low, high) = interval.unwrap_or((ratio, ratio));
    if high >= 2.0 {
        let range = range(terms::ratio(low), &terms::ratio(high));
        return format!("{range} times as long");
    }
    format!(
        "{} % longer",
        range(percent(low - 1.0), &percent(high - 1.0))
    )
}

/// `3.0 to 6.0 % less time`.
fn shorter(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let (low, high) = interval.unwrap_or((ratio, ratio));
    format!(
        "{} % less time",
        range(percent(1.0 - high), &percent(1.0 - low))
    )
}

fn range(low: String, high: &str) -> String {
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// A share in percent without its sign: whole from 10 on.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 9.95 {
        format!("{percent:.0}")
    } else {
        format!("{percent:.1}")
    }
}

fn spaces(own: &[&Price]) -> Vec<String> {
    let mut parts = Vec::new();
    for price in own {
        let name = &price.question.protection;
        let when = if price.question.kind == PricedKind::Snapshots {
            " at the end"
        } else {
            ""
        };
        match (price.question.disks, price.space) {
            (Some((_, without)), _) => {
                let plural = if without == 1 { "" } else { "s" };
                parts.push(format!("{name} for the capacity of {without} disk{plural}"));
            }
            (None, Some(ratio)) if ratio >= 2.0 => {
                parts.push(format!(
                    "{name} {} times as much{when}",
                    terms::ratio(ratio)
                ));
            }
            (None, Some(ratio)) if ratio > 1.0 + SPACE => {
                parts.push(format!("{name} {} % more{when}", percent(ratio - 1.0)));
            }
            (None, Some(ratio)) if ratio < 1.0 - SPACE => {
                parts.push(format!("{name} {} % less{when}", percent(1.0 - ratio)));
            }
            _ => {}
        }
    }
    parts
}

fn columns(lasts: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::new("time"),
        Column::new("95 % interval"),
        Column::of_text("verdict"),
        Column::giving_way("processor", 3),
        Column::giving_way("written", 2),
        Column::new("space"),
    ];
    columns.extend(lasts.then(|| Column::giving_way("lasts", 1)));
    columns
}

fn table(prices: &Prices) -> Table {
    let lasts = prices.prices.iter().any(|one| one.lasts.is_some());
    let groups = bases(prices).into_iter().map(|base| Group {
        rows: prices
            .prices
            .iter()
            .filter(|one| one.question.base == base)
            .map(|one| {
                let label = Label::from(one.question.protection.as_str());
                Row::new(label, cells(one, lasts))
            })
            .collect(),
        heading: base,
        ..Group::default()
    });
    Table::grouped(
        "The price of protection",
        ["contender", "protection"],
        columns(lasts),
        groups,
    )
}

fn cells(price: &Price, lasts: bool) -> Vec<Cell> {
    let space = match price.question.disks {
        Some((with, without)) => Cell::Text(format!("{with} disks for {without}")),
        None => Cell::known(price.space, Cell::Ratio),
    };
    let mut cells = vec![
        Cell::Ratio(price.time),
        Cell::known(price.interval, |(low, high)| Cell::Interval(low, high)),
        Cell::Text(price.verdict.unwrap_or("too few draws").to_owned()),
        Cell::known(price.processor, Cell::Ratio),
        Cell::known(price.written, Cell::Ratio),
        space,
    ];
    cells.extend(lasts.then(|| Cell::known(price.lasts, Cell::Duration)));
    cells
}

fn legend(prices: &Prices) -> String {
    let mut text = format!(
        "With the protection divided by without it, over {}: time of all phases, to durable where \
         they write; time of the processor; bytes written to all disks; the most space that \
         the work takes. Costs and gains are by more than {}; all verdicts together are wrong in 1 \
         of 20 tables.",
        terms::count(prices.draws, "draw"),
        terms::percent(prices.margin)
    );
    if prices.disk.is_some() {
        text += " The errors of the model disk and the model processor are not varied.";
    }
    let any = |test: &dyn Fn(&Price) -> bool| prices.prices.iter().any(test);
    if any(&|one| one.question.kind == PricedKind::Degraded) {
        text += " A disk is lost after the first phase; after the last it is replaced by an empty one, \
                 and the time until all data are restored is how long that lasts.";
    }
    if any(&|one| one.question.kind == PricedKind::Scrub) {
        text += " A scrub begins with each phase after the first, and lasts at most as long as shown; \
                 the rest of a longer phase is without it.";
    }
    if any(&|one| one.question.kind == PricedKind::Rebuild) {
        text += " A disk is lost after the first phase, and its rebuild begins with the second; it lasts as \
                 long as shown, and the rest of a longer phase is without it.";
    }
    if any(&|one| one.lasts.is_some()) {
        text += " md restores and compares whole disks, with at most 200 MB/s (speed_limit_max); a \
                 file system with copies of its own only its data.";
    }
    if any(&|one| one.question.kind == PricedKind::Snapshots) {
        text += " Snapshots are taken after the first phase; their space is that at the end. Taking \
                 and deleting them is not timed.";
    }
    let compresses = |one: &Price| {
        let saves = one.space.is_none_or(|ratio| ratio < 1.0 - SPACE);
        one.question.protection.starts_with("compression") && !saves
    };
    if any(&compresses) {
        text += " Where compression saves no space, the data of the work are incompressible, and its \
                 gain with other data is not shown.";
    }
    let also = prices.prices.iter().filter_map(|one| {
        let also = one.question.also.as_ref()?;
        Some(format!(
            " Without {}, {} also has {also}.",
            one.question.protection, one.question.base
        ))
    });
    text.extend(unique(also));
    text
}

/// Every price, for CSV.
pub fn figures(prices: &Prices) -> Table {
    let names = [
        "protection",
        "with",
        "without",
        "time",
        "low",
        "high",
        "verdict",
        "processor",
        "written",
        "space",
        "lasts ns",
        "disks with",
        "disks without",
        "draws",
        "run",
    ];
    let rows = prices.prices.iter().map(|one| {
        let text = |text: &str| Cell::Text(text.to_owned());
        let number = |value: Option<f64>| Cell::known(value, Cell::Number);
        let disks = |of: fn((u32, u32)) -> u32| {
            Cell::known(one.question.disks, |disks| Cell::Count(of(disks).into()))
        };
        let cells = vec![
            text(&one.question.protection),
            text(&one.question.with),
            text(&one.question.without),
            number(Some(one.time)),
            number(one.interval.map(|of| of.0)),
            number(one.interval.map(|of| of.1)),
            text(one.verdict.unwrap_or_default()),
            number(one.processor),
            number(one.written),
            number(one.space),
            Cell::known(one.lasts, |ns| Cell::Count(ns.0)),
            disks(|of| of.0),
            disks(|of| of.1),
            Cell::Count(prices.draws as u64),
            text(&prices.run),
        ];
        Row::new(one.question.base.as_str(), cells)
    });
    Table::new("prices", "contender", names.map(Column::of_text), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(protection: &str, time: f64, judged: Verdict) -> Price {
        Price {
            question: PriceQuestion {
                base: "btrfs".to_owned(),
                protection: protection.to_owned(),
                with: String::new(),
                without: String::new(),
                kind: PricedKind::Option,
                disks: None,
                also: None,
                source: None,
            },
            phases: Vec::new(),
            time,
            interval: Some((time * 0.98, time * 1.02)),
            verdict: Some(word(judged)),
            processor: None,
            written: None,
            space: None,
            lasts: None,
            judged: Some(judged),
        }
    }

    fn prices(prices: Vec<Price>) -> Prices {
        Prices {
            run: "r".to_owned(),
            started_unix_ns: 0,
            work: vec!["mail".to_owned()],
            amounts: Vec::new(),
            disk: Some("nvme".to_owned()),
            draws: 6,
            margin: 0.02,
            prices,
            unpriced: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_answer_claims_only_what_the_verdicts_decide() {
        let mut snapshots = price("10 snapshots", 1.5, Verdict::Slower);
        (snapshots.question.kind, snapshots.space) = (PricedKind::Snapshots, Some(2.5));
        let mut mirror = price("a mirror of 2 disks", 0.9, Verdict::Faster);
        mirror.question.disks = Some((2, 1));
        let mut lost = price("a degraded mirror", 1.1, Verdict::Slower);
        (lost.question.kind, lost.lasts) = (PricedKind::Degraded, Some(Nanos(2_500_000_000)));
        let mut compression = price("compression", 3.0, Verdict::Slower);
        compression.space = Some(0.63);
        let all = prices(vec![
            price("checksums", 1.0, Verdict::Equivalent),
            compression,
            snapshots,
            mirror,
            lost,
            price("the journal", 1.3, Verdict::Inconclusive),
        ]);
        assert_eq!(
            sentences(&all),
            [
                "On btrfs, mail takes 2.94 to 3.06 times as long with compression; 47 to 53 % longer \
                 with 10 snapshots; 8.2 to 12 % less time with a mirror of 2 disks; 7.8 to 12 % \
                 longer with a degraded mirror; the same time, within 2 %, with checksums. \
                 Not decided: the journal. Times with snapshots and a lost disk are of the phases \
                 after the first. Rebuilding without other work takes 2.50 s for a degraded \
                 mirror. Space: compression 37 % less; 10 snapshots 2.50 \
                 times as much at the end; a mirror of 2 disks for the capacity of 1 disk."
            ]
        );
        assert_eq!(
            sentences(&prices(Vec::new())),
            ["No protection has a price here."]
        );
    }

    #[test]
    fn space_is_the_largest_and_with_snapshots_that_at_the_end() {
        let sample = |before: u64, after: u64| Sample {
            space_before: fsdyno_model::Bytes(before),
            space_after: fsdyno_model::Bytes(after),
            ..Sample::default()
        };
        let all = [sample(100, 300), sample(300, 150)];
        let all: Vec<&Sample> = all.iter().collect();
        assert_eq!(space(&all, false), Some(200));
        assert_eq!(space(&all, true), Some(50));
        let emptied = [sample(100, 300), sample(300, 105)];
        let emptied: Vec<&Sample> = emptied.iter().collect();
        assert_eq!(space(&emptied, true), None);
    }
}
