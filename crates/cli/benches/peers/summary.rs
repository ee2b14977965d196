//! The page: tables of results with commands and versions. Every figure in it is generated.

mod machine;
mod row;

use crate::memory::{self, MemoryUse};
use crate::names::Scale;
use crate::options::Options;
use crate::pairing::Figures;
use crate::works::{self, Other, Work};
use row::{Judged, Row};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The results so far.
pub struct Pages {
    scale: Scale,
    rows: Vec<(&'static Work, Vec<Row>)>,
    weighed: Vec<MemoryUse>,
    /// File systems with missing results, with the reason.
    missing: Vec<(String, String)>,
    stopped: Option<String>,
    machine: String,
    versions: Vec<String>,
}

const HEAD: &str = "# Benchmarks

fsdyno compared with a C baseline ([benches/baseline.c](benches/baseline.c): the same system calls and nothing else)
and with other programs that do the same work. `./x bench` writes this page; no figure is typed. A comparison that
fsdyno loses is printed like any other.

How to read it:

- A ratio is fsdyno's time divided by the other program's. Below 1, fsdyno needs less. It is the Hodges-Lehmann estimate
  of alternating pairs. The 95 % interval is that of the judged figure, from 6 pairs on.
- CPU is user and system time of the whole process and its children, start and end included. The line `s` has the medians
  of the wall time of fsdyno and of the other program. `own clocks`: both programs time their operations themselves.
- In works of single operations, fsdyno also records the latency of each operation. The C baseline does not.
- A goal is an upper limit. **Bold** goals are missed; *italic* ones are inconclusive: the interval contains the goal.
- `(!)`: other programs or the host used 5 % of the machine or more, and the wall time is unreliable.
- File systems are new, with their defaults, on an image in memory behind a loop device, so that no device dominates.
  Unless stated otherwise, all files are in the cache.
";

impl Pages {
    /// Creates a page without results.
    pub fn begin(options: &Options) -> Self {
        Self {
            scale: options.scale,
            rows: Vec::new(),
            weighed: Vec::new(),
            missing: Vec::new(),
            stopped: None,
            machine: machine::machine(),
            versions: machine::versions(options),
        }
    }

    /// Adds the result of a comparison.
    pub fn add(
        &mut self,
        work: &'static Work,
        filesystem: &str,
        other: &'static Other,
        figures: Result<Figures, String>,
    ) {
        let row = Row {
            filesystem: filesystem.to_owned(),
            other,
            figures,
        };
        let known = self.rows.iter_mut();
        match known.into_iter().find(|(known, _)| known.name == work.name) {
            Some((_, rows)) => rows.push(row),
            None => self.rows.push((work, vec![row])),
        }
    }

    /// Adds the peak memory of a program.
    pub fn weighs(&mut self, weighed: MemoryUse) {
        self.weighed.push(weighed);
    }

    /// Records why the remaining works on a file system did not run.
    pub fn missing(&mut self, filesystem: &str, reason: &str) {
        self.missing.push((filesystem.to_owned(), one_line(reason)));
    }

    /// Records why the bench ended early.
    pub fn stopped(&mut self, reason: &str) {
        self.stopped = Some(reason.to_owned());
    }

    /// Writes the page to a new file and renames it into place.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let message = |error: std::io::Error| format!("{}: {error}", path.display());
        let new = path.with_extension("new");
        let written = std::fs::write(&new, self.page());
        written
            .and_then(|()| std::fs::rename(&new, path))
            .map_err(|error| {
                let _ = std::fs::remove_file(&new);
                message(error)
            })
    }

    fn page(&self) -> String {
        let Scale {
            name,
            pairs,
            files,
            megabytes,
            operations,
            tree,
            ..
        } = self.scale;
        let mut page = HEAD.to_owned();
        let _ = write!(
            page,
            "- The {name} bench: at most {pairs} pairs; {files} files, {megabytes} MiB, {operations} \
             operations at random offsets of a file; the tree is the dataset `portage` at scale {tree}.\n\n{}\n",
            self.machine
        );
        if let Some(reason) = &self.stopped {
            let _ = write!(page, "\n**Not complete: {reason}.**\n");
        }
        for (filesystem, reason) in &self.missing {
            let _ = write!(page, "\n**{filesystem}: not (all) measured: {reason}**\n");
        }
        self.goals(&mut page);
        for (work, rows) in &self.rows {
            let _ = write!(
                page,
                "\n## {}\n\n{}.\n\n{}\n",
                work.name,
                capital(work.about),
                row::table(rows)
            );
            for (name, command) in commands(work, rows) {
                let _ = writeln!(page, "- {name}: `{command}`");
            }
        }
        self.memory(&mut page);
        let _ = write!(page, "\n## Not compared\n\n");
        for (who, why) in works::LEFT_OUT {
            let _ = writeln!(page, "- {who}: {why}");
        }
        let _ = write!(page, "\n## Versions\n\n");
        for version in &self.versions {
            let _ = writeln!(page, "- {version}");
        }
        page
    }

    /// Counts the goals, and lists the works that miss some and the missing measurements.
    fn goals(&self, page: &mut String) {
        let (mut all, mut missed, mut open) = (0, 0, 0);
        let (mut works, mut unknown) = (Vec::new(), Vec::new());
        for (work, row) in self.each() {
            if let Err(reason) = &row.figures {
                unknown.push(format!(
                    "- {}, {}, compared with {}: {}\n",
                    work.name,
                    row.filesystem,
                    row.other.name,
                    one_line(reason)
                ));
            }
            for judged in row.judged() {
                all += 1;
                open += usize::from(judged == Judged::Inconclusive);
                if judged == Judged::Missed {
                    missed += 1;
                    works.push(work.name);
                }
            }
        }
        for weighed in self.weighed.iter().filter(|weighed| weighed.ours) {
            all += 1;
            if weighed.peak.as_ref().is_ok_and(|peak| *peak > memory::GOAL) {
                missed += 1;
                works.push(memory::NAME);
            }
        }
        works.dedup();
        let _ = write!(
            page,
            "\n## Goals\n\n{} of {all} goals are reached. Inconclusive: {open}. Missed: {missed} ({}).\n",
            all - missed - open,
            if works.is_empty() {
                "none".to_owned()
            } else {
                works.join("; ")
            }
        );
        if !unknown.is_empty() {
            let _ = write!(page, "\nNot measured:\n\n{}", unknown.concat());
        }
    }

    fn each(&self) -> impl Iterator<Item = (&'static Work, &Row)> {
        let works = self.rows.iter();
        works.flat_map(|(work, rows)| rows.iter().map(move |row| (*work, row)))
    }

    fn memory(&self, page: &mut String) {
        if self.weighed.is_empty() {
            return;
        }
        let _ = write!(
            page,
            "\n## {}\n\nPeak resident memory of the whole process, as the kernel reports it. \
             The files are in memory, in directories of 10,000.\n\n\
             | program | files | peak memory | goal |\n|---|---|---|---|\n",
            memory::NAME
        );
        for MemoryUse {
            name,
            ours,
            files,
            peak,
            ..
        } in &self.weighed
        {
            let shown = match peak {
                Ok(peak) => format!("{:.1} MB", peak / 1e6),
                Err(reason) => one_line(reason),
            };
            let goal = match (ours, peak) {
                (true, Ok(peak)) if *peak > memory::GOAL => "**below 64 MiB**",
                (true, _) => "below 64 MiB",
                (false, _) => "",
            };
            let _ = writeln!(page, "| {name} | {files} | {shown} | {goal} |");
        }
        page.push('\n');
        let commands: BTreeMap<_, _> = self
            .weighed
            .iter()
            .map(|one| (one.name, one.command))
            .collect();
        for (name, command) in commands {
            let _ = writeln!(page, "- {name}: `{command}`");
        }
    }
}

/// Escapes a text for a cell of a table.
fn one_line(text: &str) -> String {
    text.replace(['|', '\n'], " ")
}

fn commands(work: &Work, rows: &[Row]) -> BTreeMap<String, &'static str> {
    let mut commands = BTreeMap::new();
    for Row { other, .. } in rows {
        let name = format!("{}{}", other.name, row::clocks(other));
        commands.insert(name.clone(), other.command);
        match other.ours {
            Some(ours) => commands.insert(format!("fsdyno, compared with {name}"), ours),
            None => commands.insert("fsdyno".to_owned(), work.ours),
        };
        if let Some(less) = other.less {
            commands.insert("fsdyno, subtracted".to_owned(), less);
        }
    }
    commands
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
