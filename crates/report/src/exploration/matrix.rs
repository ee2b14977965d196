//! The matrix of an exploration: kinds of operations by contenders.

use super::findings;
use super::totals::Totals;
use crate::crash::label;
use crate::document::{Block, Cell, CheckedStates, Column, Overflow, Row, Section, Table};
use crate::terms;
use fsdyno_model::{Exploration, Score};
use std::collections::BTreeSet;

/// The section of the matrix; none if no kinds of operations are recorded.
pub fn section(exploration: &Exploration, totals: &[Totals]) -> Option<Section> {
    let programs = exploration.programs.iter();
    let kinds: BTreeSet<&str> = programs
        .flat_map(|program| program.kinds.iter().map(String::as_str))
        .collect();
    if kinds.is_empty() {
        return None;
    }
    let contenders = &exploration.info.contenders;
    let signatures = exploration.signatures();
    let rows = kinds.into_iter().map(|kind| {
        let cells = contenders.iter().enumerate().map(|(at, contender)| {
            let of_contender = exploration
                .programs
                .iter()
                .filter(|one| one.contender == contender.label);
            let of_kind = of_contender.filter(|one| one.kinds.iter().any(|own| own == kind));
            let of = Totals::of(of_kind, &signatures);
            // The finding has its place in the list of all programs.
            let whole = totals.get(at);
            let first = whole.and_then(|whole| {
                let mut found = whole.scored(Score::Violation).enumerate();
                found.find(|(_, one)| one.kinds.contains(kind))
            });
            cell(
                &of,
                first.map(|(place, _)| findings::anchor(at, Score::Violation, place)),
            )
        });
        Row::new(terms::printable(kind), cells.collect())
    });
    let all = totals.iter().enumerate().map(|(at, of)| {
        let has_findings = of.scored(Score::Violation).next().is_some();
        cell(
            of,
            has_findings.then(|| findings::anchor(at, Score::Violation, 0)),
        )
    });
    let columns = contenders.iter().map(|one| Column::new(label(one)));
    let table = Table {
        summary: vec![Row::new("all programs", all.collect())],
        overflow: Overflow::Split,
        ..Table::new("Kinds of operations", "operation", columns, rows)
    };
    let section = Section::new("matrix", "Kinds of operations")
        .with(table)
        .with(Block::Legend(
            "Violations / checked states / recovered trees of the programs with this operation. A \
             program with two kinds of operations counts for both."
                .into(),
        ));
    Some(section)
}

fn cell(of: &Totals, finding: Option<String>) -> Cell {
    if of.programs == 0 {
        return Cell::Unknown;
    }
    Cell::States(Box::new(CheckedStates {
        violations: of.states_with(Score::Violation),
        states: of.states.distinct,
        trees: of.states.trees,
        finding,
    }))
}
