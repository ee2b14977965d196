//! `site`: a static site of a store in a directory that only this command writes.

use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_files::{Existing, TrustedDir, Untrusted, refuse_foreign_links, replace};
use fsdyno_report::site::{DIRECTORIES, File, INDEX, Site};
use fsdyno_store::{Detail, Store};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const HELP: &str = "\
The index has a search by contender and phase. Each run has its report, and each
phase its history by kernel, commit and date. The site opens from a directory:
no server is needed, and nothing is loaded from elsewhere.

The directory must be new, empty, or an earlier site. The index is replaced
last, so that it never names a page that is missing. Your own files next to it
stay; the directories assets, crash, history and runs belong to the site.";

/// A kind of site: its command, the file that marks its directory, and its directories.
#[derive(Debug)]
pub struct Kind {
    pub command: &'static str,
    pub marker: &'static str,
    pub directories: &'static [&'static str],
}

const OF_STORE: Kind = Kind {
    command: "fsdyno site",
    marker: ".fsdyno-site",
    directories: &DIRECTORIES,
};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SiteArgs {
    /// Directory of the site
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Only runs with this tag; no crash tests
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
}

pub fn site(args: &SiteArgs, store: &Path) -> Result<(), CliError> {
    let store = Store::open_existing_read_only(store)?;
    let mut directory = Directory::open(&args.directory, &OF_STORE)?;
    let mut site = Site::new(&super::rendering::options(false, true));
    let (mut runs, mut crash_tests) = (0_usize, 0_usize);
    for run in store.runs()?.iter().rev() {
        if args.tag.as_ref().is_none_or(|tag| run.tags.contains(tag)) {
            runs += 1;
            let page = site.run(&store.load_with_variants(Detail::All, &run.id)?, &run.tags);
            directory.write(&page.map_err(CliError::failure)?)?;
        }
    }
    if args.tag.is_none() {
        for series in store.series()? {
            crash_tests += 1;
            let page = site.series(&store.load_series(&series.id)?);
            directory.write(&page.map_err(CliError::failure)?)?;
        }
        for exploration in store.explorations()? {
            crash_tests += 1;
            let page = site.exploration(&store.exploration(&exploration.id)?);
            directory.write(&page.map_err(CliError::failure)?)?;
        }
    }
    for file in site.finish() {
        directory.write(&file)?;
    }
    directory.remove_others()?;
    let page = directory.index();
    let number = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let answer = format!(
        "The site has {} and {}. Open this page:\n{}\n",
        number(runs, "run"),
        number(crash_tests, "crash test"),
        page.display()
    );
    output::bytes(answer.as_bytes())
}

/// The directory of a site.
pub struct Directory {
    root: TrustedDir,
    parts: Vec<(&'static str, TrustedDir)>,
    written: BTreeSet<(&'static str, OsString)>,
}

impl Directory {
    /// Opens a new, empty or earlier site, and marks it.
    pub fn open(path: &Path, kind: &'static Kind) -> Result<Self, CliError> {
        let refused = |why: String| {
            CliError::usage(format!("cannot write a site to {}: {why}", path.display()))
        };
        let path = std::path::absolute(path).map_err(|error| refused(error.to_string()))?;
        refuse_foreign_links(&path).map_err(|error| refused(error.to_string()))?;
        match fs::create_dir(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(refused(format!("cannot create it: {error}")));
            }
            _ => {}
        }
        let untrusted = |error: Untrusted| refused(error.to_string());
        let root = TrustedDir::open(&path).map_err(untrusted)?;
        root.refuse_shared().map_err(untrusted)?;
        let names = root.names().map_err(untrusted)?;
        let marker = kind.marker;
        if names.iter().any(|name| name == marker) {
            root.examine(marker.as_ref()).map_err(untrusted)?;
        } else if names.is_empty() {
            let (command, directories) = (kind.command, kind.directories.join(", "));
            let text = format!(
                "{command} 1\nThe directories {directories} belong to `{command}`. It removes pages from \
                 them that are no longer part of the site.\n"
            );
            save(&root, marker, text.as_bytes())?;
        } else {
            return Err(refused(format!(
                "it is not empty, and {command} did not create it: there is no {marker}. Name a new \
                 or empty directory",
                command = kind.command
            )));
        }
        let mut parts = Vec::new();
        for name in kind.directories {
            let part = root.path().join(name);
            match fs::create_dir(&part) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(refused(format!(
                        "cannot create {}: {error}",
                        part.display()
                    )));
                }
                _ => {}
            }
            parts.push((*name, root.dir(name.as_ref()).map_err(untrusted)?));
        }
        Ok(Self {
            root,
            parts,
            written: BTreeSet::new(),
        })
    }

    /// The path of its first page.
    pub fn index(&self) -> PathBuf {
        self.root.path().join(INDEX)
    }

    pub fn write(&mut self, file: &File) -> Result<(), CliError> {
        let part = file.directory.and_then(|name| {
            let mut parts = self.parts.iter();
            parts.find(|(part, _)| *part == name)
        });
        match part {
            Some((name, directory)) => {
                save(directory, &file.name, &file.bytes)?;
                self.written.insert((name, file.name.clone().into()));
                Ok(())
            }
            None => save(&self.root, &file.name, &file.bytes),
        }
    }

    /// Removes pages of an earlier site.
    pub fn remove_others(&self) -> Result<(), CliError> {
        for (part, directory) in &self.parts {
            for name in directory.names().map_err(CliError::failure)? {
                let is_page = Path::new(&name).extension().is_some_and(|extension| {
                    ["html", "css", "js"].iter().any(|of| extension == *of)
                });
                if is_page && !self.written.contains(&(*part, name.clone())) {
                    directory.remove(&name).map_err(CliError::failure)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes a file of a trusted directory, which only root and this user can change.
fn save(directory: &TrustedDir, name: &str, bytes: &[u8]) -> Result<(), CliError> {
    let path = directory.path().join(name);
    replace(&path, bytes, 0o666, Existing::Replace)
        .map_err(|error| CliError::failure(format!("cannot write {}: {error}", path.display())))
}
