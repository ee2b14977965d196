//! The profiles of two contenders, as a document.

use super::{Functions, Parting, flame};
use crate::document::{Audience, Block, Cell, Column, Document, Group, Label, Row, Section, Table};
use crate::terms;
use fsdyno_model::Nanos;

/// The numbers of rows that a screen may have; the first that fits is used.
pub const ROWS: [usize; 5] = [10, 7, 5, 3, 1];

/// The answer, and this number of rows in each table.
pub fn document(functions: &Functions, rows: usize) -> Document {
    let [a, b] = &functions.contenders;
    let mut document = Document::new(format!(
        "{a} and {b} in {}, run {}: functions of the kernel",
        functions.phase, functions.run
    ));
    document.lead = vec![functions.sentence().into()];
    let flame = Section::new("flame", "Call paths").with(Block::Flame(flame::svg(functions)));
    document
        .blocks
        .push(Block::Only(Audience::Page, vec![flame.into()]));
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
    let table = functions_table(functions, rows);
    let section = Section::new("", "Functions by the difference of their own blocks");
    document.blocks.push(section.with(table).into());
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

/// The functions with the largest differences; with all rows, all.
pub fn functions_table(functions: &Functions, rows: usize) -> Table {
    let both = functions.contenders.iter();
    let columns = both
        .clone()
        .map(|contender| Column::new(Label::contender(contender.as_str())))
        .chain([Column::new("difference"), Column::giving_way("only in", 2)])
        .chain(both.map(|contender| {
            Column::giving_way(Label::contender(format!("{contender}, with callees")), 1)
        }));
    let rows = functions.functions.iter().take(rows).map(|one| {
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
