//! Executed commands and effective options, as text to copy. Their total size on a page is limited;
//! further cells are only counted.

use crate::document::{Block, Fold, Section};
use crate::terms;
use fsdyno_model::step::shell_line;
use fsdyno_model::{CellRecord, CommandRecord, ResultSet};

/// The limit of commands on a page, and of options, bytes each.
const BUDGET: usize = 400 << 10;

/// The effective options, the commands of the first block, and the plan.
pub fn blocks(set: &ResultSet, plan: String) -> Vec<Block> {
    let names =
        |record: &CellRecord| terms::of_cell(&set.run.plan, record.cell).map(terms::printable);
    let contenders = 0..set.run.plan.contenders.len();
    // The first cell of each contender that has commands.
    let first = contenders.filter_map(|c| {
        set.cells
            .iter()
            .find(|r| r.cell.contender as usize == c && !r.effective.is_empty())
    });
    let options = first.flat_map(|record| {
        let options = record.effective.iter().filter(|one| one.is_option());
        options.map(|effective| {
            let about = terms::printable(&effective.source);
            let text = terms::printable_lines(&effective.text);
            let [contender, _] = names(record);
            fold(contender, about, text)
        })
    });
    let cells = set.cells.iter();
    let cells = cells.filter(|r| r.cell.block == 0 && !r.commands.is_empty());
    let commands = cells.map(|record| {
        let name = names(record).join(", ");
        let about = terms::count(record.commands.len(), "command");
        fold(name, about, record.commands.iter().map(line).collect())
    });
    let plan = fold("The plan as JSON".to_owned(), String::new(), plan);
    vec![
        section("Options in force", options),
        section("Commands of the first block", commands),
        Section::new("", "Plan").with(plan).into(),
    ]
}

fn fold(name: String, summary: String, text: String) -> Fold {
    Fold {
        name,
        summary,
        blocks: vec![Block::Code(text)],
        ..Fold::default()
    }
}

/// The texts that fit, and the number of others.
fn section(heading: &str, folds: impl Iterator<Item = Fold>) -> Block {
    let (mut section, mut left_out, mut bytes) = (Section::new("", heading), 0, 0);
    for fold in folds {
        if let [Block::Code(text)] = &fold.blocks[..] {
            bytes += text.len();
        }
        if bytes <= BUDGET {
            section.blocks.push(fold.into());
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let text = format!("{left_out} more are in the JSON report.");
        section.blocks.push(Block::paragraph(text));
    }
    section.into()
}

/// A line for a shell, with its result as a comment.
fn line(command: &CommandRecord) -> String {
    let how = match (command.by_system_call, command.status) {
        (true, Some(0)) => "by system call".to_owned(),
        (true, _) => "by system call, failed".to_owned(),
        (false, Some(status)) => format!("exit {status}"),
        (false, None) => "no exit status".to_owned(),
    };
    format!(
        "{}  # {}: {how}, {}\n",
        terms::printable_lines(&shell_line(&command.argv)),
        terms::printable(&command.stage.to_string()),
        command.took_ns
    )
}
