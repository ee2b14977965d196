//! A static site of a store: a page for each run, a history page for each phase, and an index with
//! a search by contender and phase.
//!
//! Pages share their style sheets and scripts, which are files of the site. They load nothing else,
//! so that the site opens from a directory, without a server.

mod history;
mod index;
pub mod of_atlas;

use crate::format::{Format, ReportError};
use crate::options::{Assets, Options};
use crate::{render, render_crash, render_exploration};
use fsdyno_model::{Exploration, ResultSet, Series};
use history::Histories;
use index::{CrashRow, RunRow};
use std::collections::BTreeSet;

/// The directories of a site. All files in them belong to it.
pub const DIRECTORIES: [&str; 4] = ["assets", "crash", "history", "runs"];

/// The name of the index.
pub const INDEX: &str = "index.html";

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its directory, one of [`DIRECTORIES`]; `None` for the index.
    pub directory: Option<&'static str>,
    /// Its name: letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A site that is being built. Each page is returned as soon as it is complete, so that a site may
/// be larger than memory.
#[derive(Debug)]
pub struct Site {
    options: Options,
    names: BTreeSet<String>,
    histories: Histories,
    runs: Vec<RunRow>,
    crashes: Vec<CrashRow>,
}

impl Site {
    /// Starts a site.
    pub fn new(options: &Options) -> Self {
        Self {
            options: Options {
                assets: Assets::Shared { root: "../" },
                ..*options
            },
            names: BTreeSet::new(),
            histories: Histories::new(),
            runs: Vec::new(),
            crashes: Vec::new(),
        }
    }

    /// Adds a run with its tags, and returns its page. Runs are added from the oldest to the
    /// newest.
    pub fn run(&mut self, set: &ResultSet, tags: &[String]) -> Result<File, ReportError> {
        self.histories.add(set, tags);
        let name = self.unique("runs", &set.run.id);
        self.runs.push(RunRow::of(set, tags, &name));
        Ok(File {
            directory: Some("runs"),
            bytes: render(set, Format::Html, &self.options)?,
            name,
        })
    }

    /// Adds a series of crash tests, and returns its page.
    pub fn series(&mut self, series: &Series) -> Result<File, ReportError> {
        let name = self.unique("crash", &series.info.id);
        self.crashes.push(CrashRow::of_series(series, &name));
        Ok(File {
            directory: Some("crash"),
            bytes: render_crash(series, Format::Html, &self.options)?,
            name,
        })
    }

    /// Adds an exploration of crash states, and returns its page.
    pub fn exploration(&mut self, exploration: &Exploration) -> Result<File, ReportError> {
        let name = self.unique("crash", &exploration.info.id);
        self.crashes
            .push(CrashRow::of_exploration(exploration, &name));
        Ok(File {
            directory: Some("crash"),
            bytes: render_exploration(exploration, Format::Html, &self.options)?,
            name,
        })
    }

    /// The remaining files: assets, history pages, and the index as the last one.
    pub fn finish(mut self) -> Vec<File> {
        let mut files: Vec<File> = assets().into();
        let histories = std::mem::take(&mut self.histories).finish();
        let mut rows = Vec::new();
        for page in histories {
            let slug = format!("{}-{}", page.workload, page.phase);
            let name = self.unique("history", &slug);
            rows.push(page.row(&name));
            files.push(File {
                directory: Some("history"),
                bytes: page.render(&self.options),
                name,
            });
        }
        self.runs.reverse();
        files.push(File {
            directory: None,
            name: INDEX.to_owned(),
            bytes: index::render(&rows, &self.runs, &self.crashes),
        });
        files
    }

    /// A file name for a name from a store, which may contain anything.
    fn unique(&mut self, directory: &str, of: &str) -> String {
        unique(&mut self.names, directory, of)
    }
}

/// A file name that is not among these, for a name that may contain anything.
fn unique(names: &mut BTreeSet<String>, directory: &str, of: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let slug: String = of.chars().take(100).map(safe).collect();
    let slug = slug.trim_start_matches(['.', '-']);
    let mut name = format!("{slug}.html");
    let mut number = 2;
    // File systems may ignore case.
    while !names.insert(format!("{directory}/{}", name.to_lowercase())) {
        name = format!("{slug}-{number}.html");
        number += 1;
    }
    name
}

/// The files that all pages share.
fn assets() -> [File; 3] {
    let file = |name: &str, bytes: String| File {
        directory: Some("assets"),
        name: name.to_owned(),
        bytes: bytes.into_bytes(),
    };
    [
        file("report.css", crate::formats::html::style()),
        file("report.js", crate::formats::html::SCRIPT.to_owned()),
        file("site.js", include_str!("../../data/site.js").to_owned()),
    ]
}
