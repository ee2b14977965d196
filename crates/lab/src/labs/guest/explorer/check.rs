//! Runs the checker of a file system on a recovered state, on the host. Its image is a file in
//! memory, in which only changed pages are written.

use super::super::GuestLab;
use super::{Base, Delta};
use fsdyno_crash::signature::normalised;
use fsdyno_host::command::{self, CommandError};
use fsdyno_host::image::{ImageError, Scratch};
use fsdyno_model::step::shell_line;
use fsdyno_model::{Bytes, CancelToken, Contender};
use fsdyno_recipes::Check;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The maximum number of lines of a complaint.
const MAX_LINES: usize = 20;

/// The file system in memory of the host.
const MEMORY: &str = "/dev/shm";

/// The reason why a state could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("cannot write the image of the checker: {0}")]
    Image(#[from] io::Error),
    /// Its directory cannot be made.
    #[error(transparent)]
    Scratch(#[from] ImageError),
    /// The checker cannot be run.
    #[error(transparent)]
    Command(#[from] CommandError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckerReport {
    /// Its command line and exit status.
    pub ended: String,
    /// The first lines that it does not print of a new file system.
    pub lines: Vec<String>,
}

impl fmt::Display for CheckerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.ended, self.lines.join("\n"))
    }
}

/// Checks the states of one contender.
pub struct Checker {
    check: Check,
    file: File,
    path: String,
    /// The content of the file.
    held: Base,
    /// The lines that it prints of a new file system, normalised: they are no complaints.
    usual: BTreeSet<String>,
    stop: CancelToken,
    _scratch: Scratch,
}

impl Checker {
    /// A checker of states on disks like this one; none if no program checks a file. The image has
    /// holes where nothing was ever written.
    pub fn new(
        lab: &GuestLab,
        contender: &Contender,
        base: &Base,
    ) -> Result<Option<Self>, CheckError> {
        let name = lab.unique_place("check");
        let name = name.file_name().unwrap_or_default();
        let scratch = Scratch::create(&Path::new(MEMORY).join(name), &lab.journal)?;
        let path = scratch.path().join("image");
        let device = path.display().to_string();
        let recipe = fsdyno_recipes::find(&contender.filesystem);
        let recipe = recipe.filter(|recipe| !recipe.facts().checked_by_kernel);
        let check =
            recipe.and_then(|recipe| recipe.check(contender, std::slice::from_ref(&device)));
        let Some(check) = check else {
            return Ok(None);
        };
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        file.set_len(base.bytes())?;
        for (at, page) in base.written() {
            file.write_all_at(page, at)?;
        }
        let mut checker = Self {
            check,
            file,
            path: device,
            held: base.clone(),
            usual: BTreeSet::new(),
            stop: lab.stop.clone(),
            _scratch: scratch,
        };
        let (_, lines) = checker.run()?;
        checker.usual = lines.iter().map(|line| without_numbers(line)).collect();
        Ok(Some(checker))
    }

    /// Runs it; returns how it ended, unless it found nothing, and what it printed.
    fn run(&self) -> Result<(Option<String>, Vec<String>), CheckError> {
        let argv = self.check.step.argv();
        let finished = command::run(&argv, &self.stop)?;
        let clean = finished
            .status
            .is_some_and(|status| self.check.clean.contains(&status));
        // The path differs in each process, and equal states have equal reports.
        let plain = |text: &str| text.replace(&self.path, "image");
        let lines = [&finished.stderr, &finished.stdout].map(|text| plain(text));
        let lines = lines.iter().flat_map(|text| text.lines());
        let lines = lines.filter(|line| !line.trim().is_empty());
        let ended = || format!("`{}` {}", plain(&shell_line(&argv)), finished.ended());
        Ok(((!clean).then(ended), lines.map(str::to_owned).collect()))
    }

    /// Checks a base with changes; returns what the checker found, if it found anything.
    pub fn check(
        &mut self,
        base: &Base,
        changes: &Delta,
    ) -> Result<Option<CheckerReport>, CheckError> {
        let state = base.with(changes);
        for at in self.held.differing(&state) {
            let mut page = [0; Base::PAGE];
            state.read(at, &mut page);
            self.file.write_all_at(&page, at)?;
        }
        self.held = state;
        let (ended, mut lines) = self.run()?;
        lines.retain(|line| !self.usual.contains(&without_numbers(line)));
        lines.truncate(MAX_LINES);
        Ok(ended.map(|ended| CheckerReport { ended, lines }))
    }

    pub fn size(&self) -> Bytes {
        Bytes(self.held.bytes())
    }
}

fn without_numbers(line: &str) -> String {
    normalised(line, &BTreeSet::new())
}
