//! Tables as GitHub shows them. Text of others is escaped: it can neither break a table nor
//! bring in markup.

pub mod ablation;
mod disks;
mod fragments;
mod glance;
pub(super) mod grid;
pub mod published;

use crate::Options;
use crate::table::scaling::{ABOUT, HEADING};
use crate::table::{
    Comparison, Comparisons, Cost, Line, Standing, TIERS, Value, WorkloadTable, facts, labs,
};
use crate::terms::{self, Scale};
use fsdyno_model::{DeviceUse, ResultSet};
use grid::{escape, header, row};
use std::fmt::Write as _;

/// Writes the report.
pub fn render(set: &ResultSet, options: &Options) -> Vec<u8> {
    let comparisons = Comparisons::of(set);
    let mut page = String::new();
    head(&mut page, set, &comparisons);
    for comparison in &comparisons.labs {
        of_lab(&mut page, comparison, options.clock);
    }
    if comparisons.apart() {
        let _ = write!(page, "\n# {}\n", labs::ALL);
    }
    doubts(&mut page, &comparisons);
    unmeasured(&mut page, &comparisons);
    provenance(&mut page, set);
    page.into_bytes()
}

/// All tables of one lab, under its name where there are others.
fn of_lab(page: &mut String, comparison: &Comparison, clock: bool) {
    if let Some(heading) = comparison.heading() {
        let _ = write!(page, "\n# {}\n", escape(&heading));
    }
    legend(page, comparison);
    glance::tables(page, comparison, clock);
    for workload in comparison.workloads.iter().filter(|w| w.measured()) {
        times(page, comparison, workload, clock);
        costs(page, comparison, workload);
    }
    overall(page, comparison);
    tiers(page, comparison);
    if let Some(reached) = &comparison.reached {
        let _ = writeln!(page, "\n{}", escape(reached));
    }
    disks::tables(page, comparison);
    fragments::tables(page, comparison);
    scaling(page, comparison);
    told(page, comparison);
    proofs(page, comparison);
}

fn head(page: &mut String, set: &ResultSet, comparisons: &Comparisons) {
    let mut said = comparisons.conclusions();
    said.extend(comparisons.apart().then(|| labs::WHY.to_owned()));
    let _ = write!(
        page,
        "# fsdyno: {} of {}\n\n{}\n\n{}.\n",
        escape(&terms::printable(&set.run.plan.name)),
        terms::date(set.run.started_unix_ns),
        said.iter()
            .map(|text| escape(text))
            .collect::<Vec<_>>()
            .join("\n\n"),
        comparisons.cells.in_words(),
    );
}

/// What the figures and their marks mean.
fn legend(page: &mut String, comparison: &Comparison) {
    if comparison.lines().next().is_none() {
        return;
    }
    let _ = write!(
        page,
        "\n{}{}. *return* is the time until the work returned, \
         *durable* until syncfs had returned as well.",
        comparison.figures(),
        if comparison.repeated() {
            ", min-max in parentheses"
        } else {
            ""
        }
    );
    if comparison.compares() {
        let (best, level) = if comparison.judged() {
            let level = if comparison.level() {
                format!(
                    "; ≈ within {} of it",
                    terms::percent(comparison.rule.margin)
                )
            } else {
                String::new()
            };
            ("fastest, or not to be told from the fastest", level)
        } else {
            ("lowest, with too few repeats to judge", String::new())
        };
        let _ = write!(
            page,
            " **Bold**: {best}. 0.50x: half the time of {} in the same block{level}.",
            escape(&comparison.contenders[0])
        );
    }
    if comparison.intervals() {
        *page += " In brackets: an interval of the ratio at 95 % or more.";
    }
    if comparison.unjudged() {
        *page += " ?: open, for too few repeats or too wide a spread.";
    }
    if comparison.doubted() {
        *page += " (!): see Warnings.";
    }
    if comparison.judged() && comparison.compares() {
        let _ = write!(page, " {}", comparison.verdicts_in_words());
    }
    page.push('\n');
}

fn times(page: &mut String, comparison: &Comparison, workload: &WorkloadTable, clock: bool) {
    let _ = write!(page, "\n## {}\n\n", escape(&workload.name));
    if workload.dataset != workload.name {
        let _ = write!(page, "On {}.\n\n", escape(&workload.dataset));
    }
    for phase in workload.phases.iter().filter(|p| !p.lines.is_empty()) {
        let _ = writeln!(
            page,
            "- {}: {}",
            escape(&phase.label),
            escape(&phase.about())
        );
    }
    page.push('\n');
    header(page, &["phase", "time"], &comparison.contenders);
    for phase in &workload.phases {
        for line in &phase.lines {
            let scale = phase.scale(clock);
            let mut cells = vec![escape(&phase.label), line.measure.name().to_owned()];
            cells.extend(values(line, scale));
            row(page, &cells);
        }
    }
}

fn values(line: &Line, scale: Scale) -> impl Iterator<Item = String> {
    line.values.iter().enumerate().map(move |(at, value)| {
        value
            .as_ref()
            .map_or_else(|| "-".to_owned(), |v| figure(v, scale, at == 0))
    })
}

/// `**0.220** ≈0.88x`, without unit or spread.
fn median_and_ratio(value: &Value, scale: Scale, baseline: bool) -> String {
    let mut text = scale.show(value.summary.median);
    if value.best {
        text = format!("**{text}**");
    }
    if let (Some(ratio), false) = (value.ratio, baseline) {
        let _ = write!(text, " {}{}x", level(value), terms::ratio(ratio.middle));
    }
    if value.doubted {
        text += " (!)";
    }
    text
}

/// The mark before a ratio.
fn level(value: &Value) -> &'static str {
    match value.standing {
        Standing::TooFew | Standing::Open => "?",
        Standing::Level => "≈",
        Standing::Plain => "",
    }
}

fn figure(value: &Value, scale: Scale, baseline: bool) -> String {
    let summary = value.summary;
    let mut text = match scale {
        Scale::Clock => scale.show(summary.median),
        Scale::Unit(unit, _) => format!("{} {unit}", scale.show(summary.median)),
    };
    if value.best {
        text = format!("**{text}**");
    }
    if summary.n > 1 {
        let _ = write!(text, " ({})", scale.span(summary.min, summary.max, "-"));
    }
    if let (Some(ratio), false) = (value.ratio, baseline) {
        let _ = write!(text, " {}{}x", level(value), terms::ratio(ratio.middle));
        if let Some(interval) = ratio.interval {
            let (low, high) = (terms::ratio(interval.low), terms::ratio(interval.high));
            let _ = write!(text, " \\[{low}-{high}\\]");
        }
    }
    if value.doubted {
        text += " (!)";
    }
    text
}

fn costs(page: &mut String, comparison: &Comparison, workload: &WorkloadTable) {
    type Column = (&'static str, fn(&Cost) -> String);
    fn device(cost: &Cost, show: fn(&DeviceUse) -> String) -> String {
        cost.device.as_ref().map_or_else(|| "-".to_owned(), show)
    }
    const COLUMNS: [Column; 10] = [
        ("user", |c| c.user.to_string()),
        ("sys", |c| c.system.to_string()),
        ("machine", |c| c.machine_busy.to_string()),
        ("read", |c| device(c, |d| d.read_bytes.to_string())),
        ("written", |c| device(c, |d| d.written_bytes.to_string())),
        ("reads", |c| device(c, |d| d.reads.to_string())),
        ("writes", |c| device(c, |d| d.writes.to_string())),
        ("flushes", |c| device(c, |d| d.flushes.to_string())),
        ("space", Cost::space_in_words),
        ("space / data", |c| {
            let ratio = c.space_per_data;
            ratio.map_or_else(|| "-".to_owned(), |of| format!("{}x", terms::ratio(of)))
        }),
    ];
    *page += "\nCost (medians; at the devices until durable):\n\n";
    let headings = COLUMNS.map(|(heading, _)| heading.to_owned());
    header(page, &["phase", "contender"], &headings);
    for phase in &workload.phases {
        for (contender, cost) in comparison.contenders.iter().zip(&phase.costs) {
            let Some(cost) = cost else { continue };
            let mut cells = vec![escape(&phase.label), escape(contender)];
            cells.extend(COLUMNS.iter().map(|(_, show)| show(cost)));
            row(page, &cells);
        }
    }
}

fn overall(page: &mut String, comparison: &Comparison) {
    if comparison.overall.is_empty() {
        return;
    }
    let ratios: Vec<String> = comparison
        .contenders
        .iter()
        .zip(&comparison.overall)
        .enumerate()
        .map(|(at, (label, of))| {
            let interval = of
                .interval
                .filter(|_| at > 0)
                .map_or_else(String::new, |of| {
                    format!(" \\[{}-{}\\]", terms::ratio(of.low), terms::ratio(of.high))
                });
            format!("{} {}x{interval}", escape(label), terms::ratio(of.middle))
        })
        .collect();
    let _ = write!(
        page,
        "\nGeometric mean of the ratios of {} phases: {}.\n",
        comparison.overall_phases,
        ratios.join(", ")
    );
}

fn tiers(page: &mut String, comparison: &Comparison) {
    let tiers = comparison.tiers();
    if tiers.is_empty() {
        return;
    }
    let _ = write!(page, "\n{TIERS}\n\n");
    for (phase, tiers) in tiers {
        let _ = writeln!(page, "- {}: {}", escape(&phase), escape(&tiers));
    }
}

fn scaling(page: &mut String, comparison: &Comparison) {
    if comparison.scaling.is_empty() {
        return;
    }
    let _ = write!(page, "\n## {HEADING}\n\n{ABOUT}\n\n");
    header(page, &["phase", "workers"], &comparison.contenders);
    for scaling in &comparison.scaling {
        for one in &scaling.rows {
            let mut cells = vec![escape(&scaling.phase), one.workers.to_string()];
            cells.extend(
                one.values.iter().map(|value| {
                    value.map_or_else(|| "-".to_owned(), |reached| reached.in_words())
                }),
            );
            row(page, &cells);
        }
    }
}

fn told(page: &mut String, comparison: &Comparison) {
    if comparison.told.is_empty() {
        return;
    }
    *page += "\n## What the programs report\n\n";
    let names = ["phase", "figure", "unit", "wins"];
    header(page, &names, &comparison.contenders);
    for told in &comparison.told {
        let mut cells = vec![
            escape(&told.phase),
            escape(&told.name),
            escape(&told.unit),
            told.better.name().to_owned(),
        ];
        cells.extend(told.values.iter().enumerate().map(|(at, value)| {
            value.map_or_else(
                || "-".to_owned(),
                |v| format!("{} {}", v.in_words(), v.ratio_in_words(at == 0)),
            )
        }));
        row(page, &cells);
    }
}

fn proofs(page: &mut String, comparison: &Comparison) {
    if comparison.proofs.is_empty() {
        return;
    }
    *page += "\n## Cache states\n\n";
    for state in &comparison.states {
        let _ = writeln!(page, "- {}", escape(&state.summary));
        for exception in &state.exceptions {
            let _ = writeln!(page, "  - {}", escape(exception));
        }
    }
    page.push('\n');
    let headings = [
        "asked",
        "proven",
        "resident pages",
        "read at the device",
        "data",
    ];
    header(page, &["workload", "phase"], &headings.map(str::to_owned));
    for proof in &comparison.proofs {
        let cells = [
            escape(&proof.workload),
            escape(&proof.phase),
            proof.asked.to_string(),
            format!("{} of {}", proof.proven, proof.samples),
            proof.resident_in_words(),
            proof.read_in_words(),
            proof.data.to_string(),
        ];
        row(page, &cells);
    }
}

fn doubts(page: &mut String, comparisons: &Comparisons) {
    if comparisons.doubts.is_empty() {
        return;
    }
    *page += "\n## Warnings\n\n";
    for doubt in &comparisons.doubts {
        let _ = writeln!(
            page,
            "- **{}** ({}): {}{}. {}",
            doubt.kind,
            if doubt.places.is_empty() {
                "the whole run".to_owned()
            } else {
                format!("{}x; {}", doubt.count, escape(&doubt.places_in_words()))
            },
            escape(&doubt.message),
            if doubt.varies {
                " (one of several)"
            } else {
                ""
            },
            escape(&doubt.advice)
        );
    }
}

fn unmeasured(page: &mut String, comparisons: &Comparisons) {
    if comparisons.unmeasured.is_empty() {
        return;
    }
    *page += "\n## Not measured\n\n";
    for one in &comparisons.unmeasured {
        let _ = write!(
            page,
            "- {}: {}",
            escape(&one.heading()),
            escape(&one.reason)
        );
        if let Some(remedy) = &one.remedy {
            let _ = write!(page, " (to have it: {})", escape(remedy));
        }
        page.push('\n');
    }
}

fn provenance(page: &mut String, set: &ResultSet) {
    *page += "\n## Provenance\n\n";
    header(page, &["what"], &["value".to_owned()]);
    for (name, text) in facts::facts(set) {
        for line in text.lines() {
            row(page, &[name.to_owned(), escape(line)]);
        }
    }
}
