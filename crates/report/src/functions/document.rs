//! The profiles of two contenders, as a document.

use super::{Function, Functions, Parting, flame, requests};
use crate::document::{Audience, Block, Cell, Column, Document, Group, Label, Row, Section, Table};
use crate::functions::flame::Measure;
use crate::{Format, terms};
use fsdyno_model::Nanos;

/// The numbers of rows that a screen may have; the first that fits is used.
pub const ROWS: [usize; 5] = [10, 7, 5, 3, 1];

/// The rows of each table of a page; the rest is in the long report and in JSON.
const PAGE_ROWS: usize = 100;

/// The largest number of rows of a document in this format.
pub fn rows(format: Format) -> usize {
    match format {
        Format::Html => PAGE_ROWS,
        _ => usize::MAX,
    }
}

/// The answer, and this number of rows in each table.
pub fn document(functions: &Functions, rows: usize) -> Document {
    let [a, b] = &functions.contenders;
    let mut document = Document::new(format!(
        "{a} and {b} in {}, run {}: functions of the kernel",
        functions.phase, functions.run
    ));
    let mut sentences = functions.sentences().into_iter();
    document.lead = sentences.next().into_iter().map(Into::into).collect();
    document.blocks.extend(sentences.map(Block::paragraph));
    for (id, heading, measure) in [
        ("flame", "Kernel blocks by call path", Measure::Blocks),
        ("sleep", "Sleep of processes by call path", Measure::Sleep),
    ] {
        if let Some(flame) = flame::flame(&functions.calls, measure) {
            let flame = Section::new(id, heading).with(Block::Flame(flame));
            document
                .blocks
                .push(Block::Only(Audience::Page, vec![flame.into()]));
        }
    }
    if !functions.subsystems.is_empty() {
        let table = subsystems_table(functions, rows);
        let section = Section::new("", "Kernel blocks by subsystem");
        document.blocks.push(section.with(table).into());
    }
    let blocks = |blocks: u64| terms::grouped(blocks);
    let time = |ns: u64| Nanos(ns).to_string();
    for (heading, partings, show) in [
        (
            "Kernel blocks, by the last function that both call",
            &functions.work,
            &blocks as &dyn Fn(u64) -> String,
        ),
        (
            "Sleep of processes, likewise",
            &functions.sleeps,
            &time as &dyn Fn(u64) -> String,
        ),
    ] {
        if !partings.is_empty() {
            let shown = &partings[..rows.min(partings.len())];
            let table = partings_table(functions, shown, show);
            document
                .blocks
                .push(Section::new("", heading).with(table).into());
        }
    }
    if let Some(all) = functions.requests.as_ref().filter(|all| !all.is_empty()) {
        let section = Section::new("", "Requests to disks, by function");
        let table = requests::table(functions, all, rows);
        document.blocks.push(section.with(table).into());
    }
    if !functions.flush_calls.is_empty() {
        let heading =
            "Requests that need a flush, by the function that gave them to the block layer";
        let table = requests::flush_table(functions, rows);
        document
            .blocks
            .push(Section::new("", heading).with(table).into());
    }
    if functions.functions.iter().any(differs) {
        let heading = "Functions by the difference of their own blocks";
        let table = functions_table(functions, rows);
        document
            .blocks
            .push(Section::new("", heading).with(table).into());
    }
    let lost: u64 = functions.lost.iter().sum();
    if lost > 0 {
        document.blocks.push(Block::paragraph(format!(
            "The profile had no room for {} blocks: they are in no call path.",
            terms::grouped(lost)
        )));
    }
    let digests = functions.contenders.iter().zip(&functions.digests);
    let digests: Vec<String> = digests
        .map(|(contender, digest)| format!("{contender} {}", &digest[..16]))
        .collect();
    document.blocks.push(Block::paragraph(format!(
        "Digests of the profiles: {}. Repeats of a cell have the same.",
        digests.join(", ")
    )));
    document
}

fn subsystems_table(functions: &Functions, rows: usize) -> Table {
    let contenders = functions.contenders.iter();
    let columns = contenders
        .map(|contender| Column::new(Label::contender(contender.as_str())))
        .chain([Column::new("difference")]);
    let rows = functions.subsystems.iter().take(rows).map(|one| {
        Row::new(
            one.subsystem.as_str(),
            vec![
                Cell::text(Some(terms::grouped(one.blocks[0]))),
                Cell::text(Some(terms::grouped(one.blocks[1]))),
                Cell::text(Some(signed(one.blocks, &terms::grouped))),
            ],
        )
    });
    let groups = vec![Group {
        rows: rows.collect(),
        ..Group::default()
    }];
    Table::grouped("", ["", "subsystem"], columns, groups)
}

fn partings_table(
    functions: &Functions,
    partings: &[Parting],
    show: &dyn Fn(u64) -> String,
) -> Table {
    let columns = functions
        .contenders
        .iter()
        .map(|contender| Column::new(Label::contender(contender.as_str())));
    let columns = columns.chain([
        Column::new("difference"),
        Column::giving_way("only one calls", 1),
    ]);
    let rows = partings.iter().map(|one| {
        let only: Vec<&str> = one
            .only
            .iter()
            .filter_map(|only| Some(&*only.first()?.function))
            .collect();
        // The last two: a function is often called by several.
        let path = &one.path[one.path.len().saturating_sub(2)..];
        Row::new(
            path.join(" > "),
            vec![
                Cell::text(Some(show(one.figures[0]))),
                Cell::text(Some(show(one.figures[1]))),
                Cell::text(Some(signed(one.figures, show))),
                Cell::text(Some(only.join(" / "))),
            ],
        )
    });
    let groups = vec![Group {
        rows: rows.collect(),
        ..Group::default()
    }];
    Table::grouped("", ["", "function"], columns, groups)
}

fn differs(one: &Function) -> bool {
    one.own[0] != one.own[1]
}

/// The functions that differ, the largest difference first; with all rows, all functions.
pub fn functions_table(functions: &Functions, rows: usize) -> Table {
    let both = functions.contenders.iter();
    let columns = both
        .clone()
        .map(|contender| Column::new(Label::contender(contender.as_str())))
        .chain([Column::new("difference"), Column::giving_way("only in", 2)])
        .chain(both.map(|contender| {
            Column::giving_way(Label::contender(format!("{contender}, with callees")), 1)
        }));
    let all = functions.functions.iter();
    let shown = all.filter(|one| rows == usize::MAX || differs(one));
    let rows = shown.take(rows).map(|one| {
        Row::new(
            one.function.as_str(),
            vec![
                Cell::text(Some(terms::grouped(one.own[0]))),
                Cell::text(Some(terms::grouped(one.own[1]))),
                Cell::text(Some(signed(one.own, &terms::grouped))),
                Cell::text(Some(only_in(functions, one.total).to_owned())),
                Cell::text(Some(terms::grouped(one.total[0]))),
                Cell::text(Some(terms::grouped(one.total[1]))),
            ],
        )
    });
    let groups = vec![Group {
        rows: rows.collect(),
        ..Group::default()
    }];
    Table::grouped("", ["", "function"], columns, groups)
}

/// The contender that executes a function alone; empty if both do.
fn only_in(functions: &Functions, total: [u64; 2]) -> &str {
    match total {
        [0, _] => &functions.contenders[1],
        [_, 0] => &functions.contenders[0],
        _ => "",
    }
}

fn signed([a, b]: [u64; 2], show: &dyn Fn(u64) -> String) -> String {
    let sign = if b < a { "-" } else { "+" };
    format!("{sign}{}", show(a.abs_diff(b)))
}
