//! The page: tables of what came out, with commands and versions. No figure in it is typed.

mod machine;
mod row;

use crate::memory::{self, Weighed};
use crate::options::{Asked, Scale};
use crate::pairing::Figures;
use crate::works::{self, Other, Work};
use row::Row;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Everything that came out so far.
pub struct Pages {
    scale: Scale,
    rows: Vec<(&'static Work, Vec<Row>)>,
    weighed: Vec<Weighed>,
    /// File systems that nothing, or not all, was done on, with the reason.
    missing: Vec<(String, String)>,
    stopped: Option<String>,
    machine: String,
    versions: Vec<String>,
}

const HEAD: &str = "# Benchmarks

fsdyno beside a floor in C ([benches/floor.c](benches/floor.c): the same system calls and nothing else),
and beside programs that a user would take instead. Written by `./x bench`, no figure by hand; a peer's
win is printed like ours.

How to read it:

- A ratio is ours to theirs, below 1 where fsdyno takes less: the middle of the ratios of alternating pairs
  (Hodges and Lehmann's), and the interval it lies in at 95 % or more (none with fewer than 6 pairs).
- CPU is user and system time of the whole process and of all it waited for, its start and end included;
  seconds are medians of one run. Where `own clocks` stands, both programs tell themselves how long their
  operations took: their start is left out.
- fsdyno keeps the latency of each operation meanwhile in works of single operations; the floor does not.
- A goal says what is to be reached; **bold** is what misses it, with by how much. An interval that lies
  on both sides of a goal has not decided.
- `others` is the share of the machine that other programs had meanwhile, or its host; from 5 % on it is
  marked, and ratios of wall time then say little.
- File systems are made anew with their defaults, on an image in memory behind a loop device, so that no
  device dominates. Everything is in the cache where nothing else is said.
";

impl Pages {
    /// Nothing yet.
    pub fn begin(asked: &Asked) -> Self {
        Self {
            scale: asked.scale,
            rows: Vec::new(),
            weighed: Vec::new(),
            missing: Vec::new(),
            stopped: None,
            machine: machine::machine(),
            versions: machine::versions(asked),
        }
    }

    /// Adds what came out of a comparison.
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

    /// Adds what a program took of memory.
    pub fn weighs(&mut self, weighed: Weighed) {
        self.weighed.push(weighed);
    }

    /// A file system that nothing was done on from here on.
    pub fn missing(&mut self, filesystem: &str, reason: &str) {
        self.missing.push((filesystem.to_owned(), one_line(reason)));
    }

    /// The end came before all was done.
    pub fn stopped(&mut self, reason: &str) {
        self.stopped = Some(reason.to_owned());
    }

    /// Writes the page anew, beside the old one and then into its place.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let aside = path.with_extension("new");
        let written = std::fs::write(&aside, self.page());
        written
            .and_then(|()| std::fs::rename(&aside, path))
            .map_err(|error| {
                let _ = std::fs::remove_file(&aside);
                told(error)
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
             operations all over a file; the tree is the dataset `portage` at scale {tree}.\n\n{}\n",
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
                "\n## {}\n\n{}.\n\n{}",
                work.name,
                capital(work.about),
                row::TITLE
            );
            for row in rows {
                page.push_str(&row.line());
            }
            page.push('\n');
            for (name, command) in commands(work, rows) {
                let _ = writeln!(page, "- {name}: `{command}`");
            }
        }
        self.memory(&mut page);
        let _ = write!(page, "\n## Not held beside\n\n");
        for (who, why) in works::LEFT_OUT {
            let _ = writeln!(page, "- {who}: {why}");
        }
        let _ = write!(page, "\n## Versions\n\n");
        for version in &self.versions {
            let _ = writeln!(page, "- {version}");
        }
        page
    }

    /// What did not reach its goal, and by how much; and what was not measured.
    fn goals(&self, page: &mut String) {
        let (mut all, mut missed, mut unknown) = (0, Vec::new(), Vec::new());
        for (work, row) in self.each() {
            let place = format!(
                "{}, {}, beside {}",
                work.name, row.filesystem, row.other.name
            );
            if let Err(reason) = &row.figures {
                unknown.push(format!("- {place}: {}\n", one_line(reason)));
                continue;
            }
            for judged in row.judged() {
                all += 1;
                if judged.missed {
                    missed.push(format!("- {place}: {}\n", judged.words));
                }
            }
        }
        for weighed in self.weighed.iter().filter(|weighed| weighed.ours) {
            all += 1;
            match &weighed.peak {
                Ok(peak) if *peak > memory::GOAL => missed.push(format!(
                    "- memory, {}, {} files: {:.1} MB, goal {:.1} MB\n",
                    weighed.name,
                    weighed.files,
                    peak / 1e6,
                    memory::GOAL / 1e6
                )),
                _ => {}
            }
        }
        let _ = write!(
            page,
            "\n## Goals\n\n{} of {all} goals are reached. The others:\n\n",
            all - missed.len()
        );
        page.push_str(&or_none(&missed));
        let _ = write!(page, "\nNot measured:\n\n{}", or_none(&unknown));
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
            "\n## {}\n\nThe most memory at a time of the whole program, as the kernel tells it at its end; \
             the files lie in memory, in directories of 10,000.\n\n\
             | program | files | most memory | goal |\n|---|---|---|---|\n",
            memory::NAME
        );
        for Weighed {
            name,
            ours,
            files,
            peak,
            ..
        } in &self.weighed
        {
            let told = match peak {
                Ok(peak) => format!("{:.1} MB", peak / 1e6),
                Err(reason) => one_line(reason),
            };
            let goal = match (ours, peak) {
                (true, Ok(peak)) if *peak > memory::GOAL => "**below 64 MiB**",
                (true, _) => "below 64 MiB",
                (false, _) => "",
            };
            let _ = writeln!(page, "| {name} | {files} | {told} | {goal} |");
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

fn or_none(lines: &[String]) -> String {
    if lines.is_empty() {
        return "- none\n".to_owned();
    }
    lines.concat()
}

/// What fits into a cell of a table.
fn one_line(text: &str) -> String {
    text.replace(['|', '\n'], " ")
}

/// The commands of a work, each once.
fn commands(work: &Work, rows: &[Row]) -> BTreeMap<String, &'static str> {
    let mut commands = BTreeMap::new();
    for Row { other, .. } in rows {
        let name = format!("{}{}", other.name, row::clocks(other));
        commands.insert(name.clone(), other.command);
        match other.ours {
            Some(ours) => commands.insert(format!("fsdyno, beside {name}"), ours),
            None => commands.insert("fsdyno".to_owned(), work.ours),
        };
        if let Some(less) = other.less {
            commands.insert("fsdyno, taken off".to_owned(), less);
        }
    }
    commands
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
