//! An exploration of crash states: the recovery of each file system from the states that a power
//! cut can leave, and the cost of its promises.

mod answer;
mod findings;
mod matrix;
mod progress;
mod totals;

pub use progress::Progress;

use crate::crash::{label, with_environment};
use crate::document::{
    Block, Cell, Column, Document, Filter, Item, Quantity, Row, Section, Table, Tone,
};
use crate::terms;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Contender, DeclaredPromise, Exploration, ProgramSource, Score, StateClass};
use std::collections::BTreeMap;
use totals::Totals;

/// The part of an exploration on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The largest number of contenders. Those with findings are first.
    contenders: usize,
    /// Whether contenders have the share of the checked states of each class.
    has_classes: bool,
    /// The largest number of findings of a contender.
    findings: usize,
    /// Whether findings have their program and the command that repeats them.
    has_programs: bool,
}

const fn findings(contenders: usize, findings: usize, parts: [bool; 2]) -> Screen {
    Screen {
        contenders,
        has_classes: parts[0],
        findings,
        has_programs: parts[1],
    }
}

/// The parts on a screen. The first that fits is used.
pub const SCREENS: [Screen; 9] = [
    findings(usize::MAX, 5, [true, true]),
    findings(usize::MAX, 2, [true, true]),
    findings(usize::MAX, 2, [false, true]),
    findings(usize::MAX, 5, [false, false]),
    findings(usize::MAX, 1, [false, false]),
    findings(8, 1, [false, false]),
    findings(5, 1, [false, false]),
    findings(3, 1, [false, false]),
    findings(1, 1, [false, false]),
];

/// The answer, and the most frequent findings of each contender, for a screen.
pub fn screen(exploration: &Exploration, screen: Screen) -> Document {
    let totals = Totals::of_contenders(exploration);
    let contenders = exploration.info.contenders.iter();
    let mut shown: Vec<(&Contender, &Totals)> = contenders.zip(&totals).collect();
    shown.sort_by_key(|(_, of)| Score::ALL.map(|score| of.scored(score).next().is_none()));
    let left_out = shown.split_off(screen.contenders.min(shown.len()));
    let mut blocks = vec![answer::by_contender(
        exploration,
        &shown,
        screen.has_classes,
    )];
    blocks.extend(findings::brief(exploration, &shown, screen));
    let found = |of: &Totals| Score::ALL.map(|score| of.scored(score).count());
    let listed = |of: &Totals| found(of).map(|count| count.min(screen.findings));
    let sum = |counts: [usize; 4]| counts.iter().sum::<usize>();
    let all: usize = totals.iter().map(|of| sum(found(of))).sum();
    let listed: usize = shown.iter().map(|(_, of)| sum(listed(of))).sum();
    let more = [
        (left_out.len(), "more contender"),
        (all - listed, "more finding"),
    ];
    let more = more.into_iter().filter(|(number, _)| *number > 0);
    let more = more.map(|(number, what)| terms::count(number, what));
    let parts: Vec<String> = more.chain(["states and costs".to_owned()]).collect();
    let id = terms::printable(&exploration.info.id);
    let rest = [
        (
            "More",
            format!("fsdyno report {id} --long ({})", parts.join(", ")),
        ),
        ("Page", format!("fsdyno report {id} -o report.html")),
    ];
    let rest = rest.map(|(name, text)| Item::new(name, Tone::Soft, text));
    blocks.push(Block::List(rest.into()));
    Document {
        lead: vec![answer::lead(exploration, &totals, screen.contenders).into()],
        status: answer::status(exploration).into(),
        blocks,
        ..Document::default()
    }
}

/// The exploration: the answer, the findings, the states and the costs.
pub fn document(exploration: &Exploration) -> Document {
    let info = &exploration.info;
    let totals = Totals::of_contenders(exploration);
    let date = terms::date(info.started_unix_ns);
    let names: Vec<String> = info.contenders.iter().map(name).collect();
    let contenders: Vec<_> = info.contenders.iter().zip(&totals).collect();
    let mut blocks = vec![answer::by_contender(exploration, &contenders, true)];
    blocks.extend(findings::sections(exploration, &contenders));
    blocks.push(states(exploration, &totals).into());
    blocks.push(answer::legend(exploration, &totals));
    blocks.push(
        Section::new("cost", "Cost of the promises")
            .with(costs(exploration, &totals))
            .with(Block::Legend(answer::cost_legend(exploration)))
            .into(),
    );
    blocks.extend(matrix::section(exploration, &totals).map(Block::Section));
    let facts = Block::Facts(facts(exploration));
    blocks.push(Section::new("provenance", "Provenance").with(facts).into());
    let page_title = format!("Crash states of {}", terms::contenders(&names));
    Document {
        page_title: Some(page_title),
        subtitle: format!("Exploration {} of {date}", terms::printable(&info.id)),
        lead: vec![answer::lead(exploration, &totals, usize::MAX).into()],
        status: answer::status(exploration).into(),
        blocks,
        filters: Filter::of_contenders(names),
        footer: format!(
            "Exploration {}, schema {}.",
            terms::printable(&info.id),
            Exploration::SCHEMA
        ),
        ..Document::new(format!(
            "fsdyno: crash states of {date}, exploration {}",
            terms::printable(&info.id)
        ))
    }
}

/// The states of a contender, with the order in which columns are dropped.
const STATES: [Quantity<Totals>; 12] = [
    ("programs", 4, |of| Cell::Count(of.programs)),
    ("states", 0, |of| Cell::Count(of.states.distinct)),
    ("mounted", 1, |of| Cell::Count(of.states.recovered)),
    ("equivalent", 2, |of| Cell::Count(of.states.equivalent)),
    ("nested", 3, |of| Cell::Count(of.states.nested)),
    ("in checker", 3, |of| Cell::Count(of.states.nested_checks)),
    ("trees", 0, |of| Cell::Count(of.states.trees)),
    ("violations", 0, count_violations),
    ("findings", 0, count_findings),
    ("application", 0, |of| {
        Cell::Count(of.states_with(Score::Application))
    }),
    ("extra", 0, |of| Cell::Count(of.states_with(Score::Extra))),
    ("C5", 0, |of| Cell::Count(of.states_with(Score::Disk))),
];

/// The cost of the promises of a contender.
const COSTS: [Quantity<Totals>; 4] = [
    ("operations", 0, |of| Cell::Count(of.cost.operations)),
    ("operations/s", 0, |of| Cell::known(of.rate(), Cell::Count)),
    ("flushes/operation", 0, |of| number(of.flushes())),
    ("bytes written/byte", 0, |of| number(of.amplification())),
];

/// All figures of a contender, for CSV.
const FIGURES: [Quantity<Totals>; 23] = [
    ("programs", 0, |of| Cell::Count(of.programs)),
    ("failed_programs", 0, |of| Cell::Count(of.failed)),
    ("complete", 0, |of| {
        Cell::Text(if of.is_complete() { "yes" } else { "no" }.to_owned())
    }),
    ("windows", 0, |of| Cell::Count(of.states.windows)),
    ("skipped_windows", 0, |of| {
        Cell::Count(of.states.skipped_windows)
    }),
    ("states", 0, |of| Cell::Count(of.states.distinct)),
    ("mounted", 0, |of| Cell::Count(of.states.recovered)),
    ("equivalent", 0, |of| Cell::Count(of.states.equivalent)),
    ("nested", 0, |of| Cell::Count(of.states.nested)),
    ("nested_checks", 0, |of| {
        Cell::Count(of.states.nested_checks)
    }),
    ("trees", 0, |of| Cell::Count(of.states.trees)),
    ("violations", 0, count_violations),
    ("findings", 0, count_findings),
    ("application_states", 0, |of| {
        Cell::Count(of.states_with(Score::Application))
    }),
    ("extra_states", 0, |of| {
        Cell::Count(of.states_with(Score::Extra))
    }),
    ("disk_fault_states", 0, |of| {
        Cell::Count(of.states_with(Score::Disk))
    }),
    ("operations", 0, |of| Cell::Count(of.cost.operations)),
    ("operations_per_virtual_second", 0, |of| {
        Cell::known(of.rate(), Cell::Count)
    }),
    ("flushes", 0, |of| Cell::Count(of.cost.flushes)),
    ("flushes_per_operation", 0, |of| number(of.flushes())),
    ("written_bytes", 0, |of| Cell::Count(of.cost.bytes_written)),
    ("requested_bytes", 0, |of| {
        Cell::Count(of.cost.bytes_requested)
    }),
    ("bytes_written_per_byte", 0, |of| number(of.amplification())),
];

fn number(value: Option<f64>) -> Cell {
    Cell::known(value, Cell::Number)
}

fn count_violations(of: &Totals) -> Cell {
    Cell::Count(of.states_with(Score::Violation))
}

fn count_findings(of: &Totals) -> Cell {
    Cell::Count(of.scored(Score::Violation).count() as u64)
}

/// A row of each contender.
fn rows(exploration: &Exploration, all: &[Quantity<Totals>], totals: &[Totals]) -> Vec<Row> {
    let contenders = exploration.info.contenders.iter().zip(totals);
    let row = |(contender, of)| Row::of_quantities(label(contender), all, of);
    contenders.map(row).collect()
}

/// The checked states and the findings: a row for each contender.
fn states(exploration: &Exploration, totals: &[Totals]) -> Table {
    // A column that can have no value is left out.
    let search = &exploration.info.search;
    let is_shown = |name: &str| match name {
        "nested" => search.nested,
        "application" => !search.programs.tests_file_systems(),
        "in checker" => totals.iter().any(|of| of.states.nested_checks > 0),
        "C5" => {
            let mut found = totals.iter().map(|of| of.scored(Score::Disk).count());
            search.class == StateClass::C5 || found.any(|count| count > 0)
        }
        _ => true,
    };
    let shown: Vec<_> = STATES
        .into_iter()
        .filter(|(name, ..)| is_shown(name))
        .collect();
    let rows = rows(exploration, &shown, totals);
    let columns = Column::of_quantities(&shown);
    Table::new("Checked states", "contender", columns, rows)
}

/// The cost of the promises: a row for each contender.
fn costs(exploration: &Exploration, totals: &[Totals]) -> Table {
    let rows = rows(exploration, &COSTS, totals);
    let columns = Column::of_quantities(&COSTS);
    Table::new("Cost of the promises", "contender", columns, rows)
}

/// All figures, for CSV: a row for each contender.
pub fn figures(exploration: &Exploration) -> Table {
    let totals = Totals::of_contenders(exploration);
    let mut rows = rows(exploration, &FIGURES, &totals);
    for (row, of) in rows.iter_mut().zip(&totals) {
        for class in StateClass::ALL {
            let count = of.states.classes.get(&class);
            let legal = count.and_then(|one| one.legal);
            let both = [count.map(|one| one.checked), legal];
            row.cells.extend(both.map(|n| Cell::known(n, Cell::Count)));
        }
    }
    let classes = StateClass::ALL.into_iter();
    let classes =
        classes.flat_map(|class| ["checked", "legal"].map(|what| format!("{class}_{what}")));
    let columns = Column::of_quantities(&FIGURES).chain(classes.map(Column::new));
    Table::new("Crash states", "contender", columns, rows)
}

/// The settings of the exploration, and its environment.
fn facts(exploration: &Exploration) -> Vec<(&'static str, String)> {
    let info = &exploration.info;
    let search = &info.search;
    let ended = info
        .stop
        .map_or("not yet".to_owned(), |stop| stop.to_string());
    let programs = match &search.programs {
        ProgramSource::Generated {
            operations,
            sampled,
        } => format!(
            "generated: all of at most {operations} operations, {sampled} of three operations"
        ),
        ProgramSource::Given { programs } => terms::count(programs.len(), "program"),
        ProgramSource::Long { about, .. } => about.clone(),
        ProgramSource::Application {
            name: Some(name), ..
        } => format!("application {name}"),
        ProgramSource::Application { command, check, .. } => {
            format!("application `{command}`, checked by `{check}`")
        }
    };
    let mut facts = vec![
        ("exploration", info.id.clone()),
        ("begun", terms::date(info.started_unix_ns)),
        ("ended", ended),
        ("command", shell_line(&info.command_line)),
        ("programs", programs),
        (
            "states",
            format!(
                "up to class {}, at most {} of a window{}",
                search.class,
                terms::grouped(search.states),
                if search.nested {
                    ", and power cuts during the recovery and the checker"
                } else {
                    ""
                }
            ),
        ),
        ("extra promises", extra_promises(&search.extra)),
        ("seed", search.seed.to_string()),
        ("digest", exploration.digest()),
    ];
    facts.extend(info.budget.map(|budget| ("budget", budget.clock())));
    facts.extend(info.shard.map(|shard| ("shard", shard.to_string())));
    let about = format!("{} (model), virtual time", info.disk.profile);
    facts.push(("disk", about));
    // The first two parts of a description name the kernel; the rest is the machine of a shard.
    let guests = exploration.programs.iter().map(|one| one.guest.as_str());
    let guests = guests.filter(|guest| !guest.is_empty());
    with_environment(facts, guests, &info.provenance)
}

/// The promises beyond POSIX in the documents of each contender.
fn extra_promises(extra: &BTreeMap<String, Vec<DeclaredPromise>>) -> String {
    let of = |(label, declared): (&String, &Vec<DeclaredPromise>)| {
        let promises = declared.iter();
        let promises: Vec<String> = promises
            .map(|one| format!("{} ({})", one.promise.name(), one.source))
            .collect();
        format!("{label}: {}", promises.join(", "))
    };
    let all: Vec<String> = extra.iter().map(of).collect();
    if all.is_empty() {
        "none declared".to_owned()
    } else {
        all.join("; ")
    }
}

fn name(contender: &Contender) -> String {
    terms::printable(&contender.label)
}
