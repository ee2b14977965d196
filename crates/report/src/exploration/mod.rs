//! An exploration of crash states: what each file system recovers from the states that a power cut
//! can leave, and what its promises cost.

mod answer;
mod findings;
mod matrix;
mod progress;
mod totals;

pub use progress::Progress;

use crate::crash::machine;
use crate::document::{
    Block, Cell, Column, Document, Filter, FilterItem, Group, Label, Row, Section, Table,
};
use crate::terms;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Contender, DeclaredPromise, Exploration, ProgramSource, Score, StateClass};
use std::collections::{BTreeMap, BTreeSet};
use totals::Totals;

/// The exploration: the answer, the states, the costs and the findings. The brief form of findings
/// has at most twelve lines each.
pub fn document(exploration: &Exploration, brief: bool) -> Document {
    let info = &exploration.info;
    let totals = Totals::of_contenders(exploration);
    let date = terms::date(info.started_unix_ns);
    let names: Vec<String> = info.contenders.iter().map(name).collect();
    let mut blocks = vec![answer::by_contender(exploration, &totals)];
    blocks.push(states(exploration, &totals).into());
    blocks.push(answer::legend(exploration, &totals, brief));
    blocks.push(
        Section::new("cost", "Cost of the promises")
            .with(costs(exploration, &totals))
            .with(Block::Legend(answer::cost_legend(exploration)))
            .into(),
    );
    blocks.extend(matrix::section(exploration, &totals).map(Block::Section));
    blocks.extend(findings::sections(exploration, &totals, brief));
    if !brief {
        let facts = Block::Facts(facts(exploration));
        blocks.push(Section::new("provenance", "Provenance").with(facts).into());
    }
    Document {
        page_title: Some(format!("Crash states of {}", terms::list(&names))),
        subtitle: format!("Exploration {} of {date}", terms::printable(&info.id)),
        lead: vec![answer::lead(exploration, &totals).into()],
        status: answer::status(exploration).into(),
        blocks,
        filters: filters(&names),
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

/// The filter of contenders; none if there is only one.
fn filters(names: &[String]) -> Vec<Filter> {
    let item = |name: &String| FilterItem {
        value: name.clone(),
        of: None,
    };
    let filter = Filter {
        name: "contender",
        several: "contenders",
        items: names.iter().map(item).collect(),
    };
    let has_choice = names.len() > 1;
    has_choice.then_some(filter).into_iter().collect()
}

/// How many states were checked, and what was found: a row for each contender.
fn states(exploration: &Exploration, totals: &[Totals]) -> Table {
    let columns = [
        ("programs", 4),
        ("states", 0),
        ("mounted", 1),
        ("equivalent", 2),
        ("nested", 3),
        ("in checker", 3),
        ("trees", 0),
        ("violations", 0),
        ("findings", 0),
        ("extra", 0),
        ("C5", 0),
    ];
    // A column in which nothing can be is left out.
    let nested = exploration.info.search.nested;
    let ignores_flushes = exploration.info.search.class == StateClass::C5;
    let is_shown = |name: &str| match name {
        "nested" => nested,
        "in checker" => totals.iter().any(|of| of.nested_checks > 0),
        "C5" => ignores_flushes || totals.iter().any(|of| of.scored(Score::Disk).count() > 0),
        _ => true,
    };
    let cells = |of: &Totals| {
        [
            of.programs,
            of.states,
            of.recovered,
            of.equivalent,
            of.nested,
            of.nested_checks,
            of.trees,
            of.states_with(Score::Violation),
            of.scored(Score::Violation).count() as u64,
            of.states_with(Score::Extra),
            of.states_with(Score::Disk),
        ]
    };
    let rows = exploration.info.contenders.iter().zip(totals);
    let rows = rows.map(|(contender, of)| {
        let cells = columns.iter().zip(cells(of));
        let cells = cells.filter(|((name, _), _)| is_shown(name));
        Row::new(
            label(contender),
            cells.map(|(_, n)| Cell::Count(n)).collect(),
        )
    });
    let columns = columns.iter().filter(|(name, _)| is_shown(name));
    Table {
        name: "Checked states".to_owned(),
        rows_are: "contender",
        columns: columns
            .map(|(name, gives_way)| Column::giving_way(*name, *gives_way))
            .collect(),
        groups: vec![Group {
            rows: rows.collect(),
            ..Group::default()
        }],
        ..Table::default()
    }
}

/// What the promises cost: a row for each contender.
fn costs(exploration: &Exploration, totals: &[Totals]) -> Table {
    let rows = exploration.info.contenders.iter().zip(totals);
    let rows = rows.map(|(contender, of)| {
        let number = |value: Option<f64>| Cell::known(value, Cell::Number);
        let cells = vec![
            Cell::Count(of.cost.operations),
            Cell::known(of.rate(), Cell::Count),
            number(of.flushes()),
            number(of.amplification()),
        ];
        Row::new(label(contender), cells)
    });
    let columns = [
        "operations",
        "operations/s",
        "flushes/operation",
        "bytes written/byte",
    ];
    Table {
        name: "Cost of the promises".to_owned(),
        rows_are: "contender",
        columns: columns.into_iter().map(Column::new).collect(),
        groups: vec![Group {
            rows: rows.collect(),
            ..Group::default()
        }],
        ..Table::default()
    }
}

/// All figures, for CSV: a row for each contender.
pub fn figures(exploration: &Exploration) -> Table {
    let columns = [
        "programs",
        "failed_programs",
        "complete",
        "windows",
        "skipped_windows",
        "states",
        "mounted",
        "equivalent",
        "nested",
        "nested_checks",
        "trees",
        "violations",
        "findings",
        "extra_states",
        "disk_fault_states",
        "operations",
        "operations_per_virtual_second",
        "flushes",
        "flushes_per_operation",
        "written_bytes",
        "requested_bytes",
        "bytes_written_per_byte",
    ];
    let mut columns: Vec<Column> = columns.into_iter().map(Column::new).collect();
    for class in StateClass::ALL {
        for what in ["checked", "legal"] {
            columns.push(Column::new(format!("{class}_{what}")));
        }
    }
    let contenders = exploration.info.contenders.iter();
    let totals = Totals::of_contenders(exploration);
    let rows = contenders.zip(&totals).map(|(contender, of)| {
        let number = |value: Option<f64>| Cell::known(value, Cell::Number);
        let mut cells = vec![
            Cell::Count(of.programs),
            Cell::Count(of.failed),
            Cell::Text(if of.is_complete() { "yes" } else { "no" }.to_owned()),
            Cell::Count(of.windows),
            Cell::Count(of.skipped_windows),
            Cell::Count(of.states),
            Cell::Count(of.recovered),
            Cell::Count(of.equivalent),
            Cell::Count(of.nested),
            Cell::Count(of.nested_checks),
            Cell::Count(of.trees),
            Cell::Count(of.states_with(Score::Violation)),
            Cell::Count(of.scored(Score::Violation).count() as u64),
            Cell::Count(of.states_with(Score::Extra)),
            Cell::Count(of.states_with(Score::Disk)),
            Cell::Count(of.cost.operations),
            Cell::known(of.rate(), Cell::Count),
            Cell::Count(of.cost.flushes),
            number(of.flushes()),
            Cell::Count(of.cost.bytes_written),
            Cell::Count(of.cost.bytes_requested),
            number(of.amplification()),
        ];
        for class in StateClass::ALL {
            let count = of.classes.get(&class);
            cells.push(Cell::known(count.map(|one| one.checked), Cell::Count));
            cells.push(Cell::known(count.and_then(|one| one.legal), Cell::Count));
        }
        Row::new(label(contender), cells)
    });
    Table {
        name: "Crash states".to_owned(),
        rows_are: "contender",
        columns,
        groups: vec![Group {
            rows: rows.collect(),
            ..Group::default()
        }],
        ..Table::default()
    }
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
        ProgramSource::Application { command, check } => {
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
    let guests: BTreeSet<&str> = guests.filter(|guest| !guest.is_empty()).collect();
    facts.extend(guests.into_iter().map(|guest| ("guest", guest.to_owned())));
    facts.extend(machine(&info.provenance));
    for (_, text) in &mut facts {
        *text = terms::printable_lines(text);
    }
    facts
}

/// What the documents of each contender promise beyond POSIX.
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

fn label(contender: &Contender) -> Label {
    Label {
        full: name(contender),
        short: None,
        is_contender: true,
    }
}
