//! What was executed and what was in force, as text to copy. A page stays small: past a budget
//! cells are counted, not shown.

use crate::terms;
use fsdyno_model::step::shell_line;
use fsdyno_model::{CellRecord, CommandRecord, ResultSet};
use serde::Serialize;

/// Bytes of text that commands and options may add to a page, each.
const BUDGET: usize = 400 << 10;

/// A text with its heading.
#[derive(Debug, Serialize)]
pub struct Text {
    heading: String,
    about: String,
    body: String,
}

/// Texts, and how many more there are.
#[derive(Debug, Serialize)]
pub struct Texts {
    shown: Vec<Text>,
    left_out: usize,
}

/// The commands of every cell of the first block.
pub fn commands(set: &ResultSet) -> Texts {
    let cells = set
        .cells
        .iter()
        .filter(|r| r.cell.block == 0 && !r.commands.is_empty());
    within_budget(cells.map(|record| Text {
        heading: format!("{}, {}", contender(set, record), workload(set, record)),
        about: terms::count(record.commands.len(), "command"),
        body: record.commands.iter().map(line).collect(),
    }))
}

/// The options in force for each contender, from the first of its cells that tells them.
pub fn in_force(set: &ResultSet) -> Texts {
    let contenders = 0..set.run.plan.contenders.len();
    let first = contenders.filter_map(|c| {
        set.cells
            .iter()
            .find(|r| r.cell.contender as usize == c && !r.effective.is_empty())
    });
    within_budget(first.flat_map(|record| {
        record.effective.iter().map(|effective| Text {
            heading: contender(set, record),
            about: terms::printable(&effective.source),
            body: terms::printable_lines(&effective.text),
        })
    }))
}

fn within_budget(texts: impl Iterator<Item = Text>) -> Texts {
    let (mut shown, mut left_out, mut bytes) = (Vec::new(), 0, 0);
    for text in texts {
        bytes += text.body.len();
        if bytes <= BUDGET {
            shown.push(text);
        } else {
            left_out += 1;
        }
    }
    Texts { shown, left_out }
}

/// A line to paste into a shell, with how it went as a comment.
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

fn contender(set: &ResultSet, record: &CellRecord) -> String {
    let contender = set.run.plan.contenders.get(record.cell.contender as usize);
    contender.map_or_else(|| "?".to_owned(), |c| terms::printable(&c.label))
}

fn workload(set: &ResultSet, record: &CellRecord) -> String {
    let workload = set.run.plan.workloads.get(record.cell.workload as usize);
    workload.map_or_else(|| "?".to_owned(), |w| terms::printable(&w.name))
}
