//! The difference between two contenders, as a document.

use super::{PhaseWhy, Why};
use crate::document::{Block, Cell, Column, Document, Group, Label, Row, Section, Table};

/// The phases, each with its figures and its explanation.
pub fn document(why: &Why) -> Document {
    let [a, b] = &why.contenders;
    let mut document = Document::new(format!("{a} and {b}, run {}", why.run));
    document.blocks.push(Block::warnings(&why.warnings));
    for phase in &why.phases {
        let section = Section::new("", phase.phase.as_str())
            .with(table(phase, &why.contenders))
            .with(Block::paragraph(phase.sentence.as_str()));
        document.blocks.push(section.into());
    }
    for (heading, texts) in [("Sources", &why.sources), ("Not known", &why.missing)] {
        let texts = Block::sentences(texts.iter().cloned());
        document
            .blocks
            .push(Section::new("", heading).with(texts).into());
    }
    document
}

/// The figures of all phases.
pub fn figures(why: &Why) -> Table {
    let groups = why.phases.iter().map(|phase| Group {
        heading: phase.phase.clone(),
        ..group(phase)
    });
    with_groups("", &why.contenders, groups.collect())
}

/// The figures of a phase.
pub fn table(phase: &PhaseWhy, contenders: &[String; 2]) -> Table {
    with_groups(&phase.phase, contenders, vec![group(phase)])
}

fn group(phase: &PhaseWhy) -> Group {
    let rows = phase.rows.iter().map(|row| {
        let cells = row.texts.iter().cloned().map(Cell::text);
        Row::new(row.name.as_ref(), cells.collect())
    });
    Group {
        rows: rows.collect(),
        ..Group::default()
    }
}

fn with_groups(name: &str, contenders: &[String; 2], groups: Vec<Group>) -> Table {
    let column = |(label, letter): (&String, &str)| {
        let name = label.split(|c: char| !c.is_alphanumeric()).next();
        let short = format!("{} [{letter}]", name.unwrap_or_default());
        Column::new(Label::contender(label.as_str()).with_short(short))
    };
    let columns = contenders.iter().zip(["a", "b"]).map(column);
    Table::grouped(name, ["phase", "figure"], columns, groups)
}
