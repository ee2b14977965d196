//! An inquiry in Markdown: per phase a table of contenders and disks.

use super::grid::{escape, header, row};
use crate::reruns::AblationSummary;
use std::fmt::Write as _;

/// Writes it.
pub fn write(told: &AblationSummary) -> Vec<u8> {
    let mut page = format!("# fsdyno: {}\n\n", escape(&told.heading()));
    for (name, is) in &told.contenders {
        let _ = writeln!(page, "- *{}*: {}", escape(name), escape(is));
    }
    for (at, disk) in told.disks.iter().enumerate() {
        let (disk, run) = (escape(&disk.disk), escape(&disk.run));
        let _ = writeln!(page, "- *disk {}*: {disk} (run {run})", at + 1);
    }
    let _ = write!(page, "\n## The figures\n\n{}\n", escape(&told.legend()));
    for part in &told.parts {
        let _ = write!(page, "\n### {}\n\n", escape(&part.heading()));
        let columns = AblationSummary::COLUMNS.map(str::to_owned);
        header(&mut page, &["contender", "disk"], &columns);
        for figures in &part.rows {
            let name = escape(&told.contenders[figures.contender].0);
            let mut cells = vec![name, (figures.disk + 1).to_string()];
            cells.extend(figures.texts());
            row(&mut page, &cells);
        }
    }
    page += "\n## What can be read off\n\n";
    for read in &told.read {
        let _ = writeln!(page, "- {}.", escape(read));
    }
    page.into_bytes()
}
