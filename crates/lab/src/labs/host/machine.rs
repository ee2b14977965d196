//! The machine of a cell: it performs what changes something, or prints it as lines of a script.
//!
//! All changes of the host lab go through it, so a dry run prints the commands of a run.

use fsdyno_host::guard::Released;
use fsdyno_host::image::Scratch;
use fsdyno_host::journal::Journal;
use fsdyno_model::Step;
use std::path::Path;

/// What performs or prints the operations of a cell.
pub(super) enum Machine<'a> {
    /// Performs them here.
    Here {
        journal: &'a Journal,
        /// Block devices that the guard has released; empty if images are created.
        released: &'a [Released],
    },
    /// Prints them. Nothing is performed, so nothing is in the journal.
    Script {
        lines: Vec<String>,
        /// The names of block devices; empty if images are created.
        devices: Vec<String>,
    },
}

/// A resource, and the step that releases it. The script of a dry run has only the step.
pub(super) struct Held<T> {
    pub resource: Option<T>,
    pub release: Step,
}

impl Held<Scratch> {
    pub fn directory(resource: Option<Scratch>, path: &Path) -> Self {
        let path = resource.as_ref().map_or(path, Scratch::path).to_owned();
        Self {
            resource,
            release: Step::Remove { path },
        }
    }
}

impl<'a> Machine<'a> {
    /// Unique for this process, in the names of directories. Scripts have the same each time.
    pub fn tag(&self) -> String {
        match self {
            Self::Here { journal, .. } => journal.name(),
            Self::Script { .. } => "dry".to_owned(),
        }
    }

    pub fn journal(&self) -> Option<&'a Journal> {
        match self {
            Self::Here { journal, .. } => Some(journal),
            Self::Script { .. } => None,
        }
    }

    pub fn released(&self) -> &'a [Released] {
        match self {
            Self::Here { released, .. } => released,
            Self::Script { .. } => &[],
        }
    }
}
