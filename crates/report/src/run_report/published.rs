//! The published tables that the plan of a run repeats, by its suite or as a rerun, on the page of
//! the run.

use crate::document::{Audience, Block, Fold, Section, add_suffix};
use crate::published::{self, Table};
use crate::published_comparison::{self, PublishedComparison};
use crate::reruns;
use fsdyno_model::ResultSet;

/// The section; `None` if the plan repeats no published table.
pub fn section(set: &ResultSet) -> Option<Block> {
    let rerun = reruns::of_plan(&set.run.plan).map(|(rerun, _)| rerun.name);
    let tables = published::ALL.iter().filter_map(|table| table.read().ok());
    let tables = tables
        .filter(|table| rerun.map_or(table.suite == set.run.plan.name, |name| table.name == name));
    let mut folds: Vec<Fold> = tables.filter_map(|table| fold(set, &table)).collect();
    folds.first_mut()?.open = true;
    let mut blocks = vec![Block::paragraph(
        "The plan of this run repeats what was published. The machines differ: compare the order of \
         the contenders and their ratios.",
    )];
    blocks.extend(folds.into_iter().map(Block::Fold));
    let mut section = Section::new("published", "Then and now");
    section.blocks = vec![Block::Only(Audience::Page, blocks)];
    Some(section.into())
}

fn fold(set: &ResultSet, table: &Table) -> Option<Fold> {
    let comparisons = PublishedComparison::in_each_lab(set, table).ok()?;
    let mut blocks = published_comparison::document(&comparisons).blocks;
    add_suffix(&mut blocks, &format!("-{}", table.name));
    Some(Fold {
        name: table.name.clone(),
        summary: format!("{} ({})", table.title, table.year),
        blocks,
        ..Fold::default()
    })
}
