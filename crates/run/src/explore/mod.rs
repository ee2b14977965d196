//! The crash explorer: it performs a program in a guest, recovers the states that a power cut can
//! leave, judges each, and minimises what it finds. Equal searches give equal results, in any order
//! and on any number of guests.

mod case;
mod continued;
mod found;
mod kept;
mod minimal;
mod nested;
mod program;
mod untouched;

pub use case::{Application, Case, Long};
pub use found::{Judged, Wrong};
pub use kept::KeepError;

use fsdyno_crash::{Bounds, Generated, Program, Promises, parse_programs};
use fsdyno_lab::explorer::{CheckError, Checker, ExplorerGuest, Prepared, disk_size};
use fsdyno_lab::{GuestLab, GuestLabError, promises_of};
use fsdyno_model::{
    BlockRole, Contender, DeclaredPromise, ExtraPromise, ModelDisk, ProgramSource, Search,
};
use fsdyno_recipes::Roles;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The reason why a program cannot be explored.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The guest cannot be used, or the user cancelled.
    #[error(transparent)]
    Guest(#[from] GuestLabError),
    /// The checker cannot be run.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// An image or a script cannot be kept.
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error("{0}")]
    State(String),
    /// An application or its check fails without a power cut.
    #[error("{0}")]
    Untouched(String),
    /// Equal states were recovered in different ways, or a recording contradicts itself.
    #[error("{0}; this is a fault of fsdyno")]
    Contradiction(String),
}

impl ExploreError {
    /// Whether the user cancelled.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Guest(GuestLabError::Stopped))
    }
}

/// The programs of a search, by number.
pub enum Programs {
    /// The setup of each is made when it is explored: there may be hundreds of thousands.
    Generated(Generated),
    Given(Vec<Program>),
    /// The parts of a long program.
    Long(Long),
    /// The parts of an application's recording.
    Application(Application),
}

impl Programs {
    /// Generates or parses them. The error is a message.
    pub fn of(search: &Search) -> Result<Self, String> {
        match &search.programs {
            ProgramSource::Generated {
                operations,
                sampled,
            } => Ok(Self::Generated(Generated::new(Bounds {
                changes: *operations,
                sampled: *sampled,
                seed: search.seed,
            }))),
            ProgramSource::Given { programs } => {
                let parsed = programs.iter().map(|text| parse_programs(text));
                let parsed = parsed.collect::<Result<Vec<_>, _>>();
                let parsed = parsed.map_err(|error| error.to_string())?;
                Ok(Self::Given(parsed.concat()))
            }
            ProgramSource::Long {
                program, windows, ..
            } => {
                let program = program.parse::<Program>();
                Ok(Self::Long(Long {
                    program: program.map_err(|error| error.to_string())?,
                    windows: *windows,
                    seed: search.seed,
                    part: 0,
                }))
            }
            ProgramSource::Application {
                name,
                prepare,
                command,
                check,
            } => Ok(Self::Application(Application {
                name: name.clone(),
                prepare: prepare.clone(),
                command: command.clone(),
                check: check.clone(),
                part: 0,
            })),
        }
    }

    pub fn count(&self) -> u32 {
        let count = match self {
            Self::Generated(generated) => generated.total(),
            Self::Given(programs) => programs.len(),
            Self::Long(_) | Self::Application(_) => case::PARTS as usize,
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    pub fn get(&self, number: u32) -> Option<Case> {
        match self {
            Self::Generated(generated) => generated.program(number as usize).map(Case::Program),
            Self::Given(programs) => programs.get(number as usize).cloned().map(Case::Program),
            Self::Long(long) => Some(Case::Long(Long {
                part: number,
                ..long.clone()
            })),
            Self::Application(application) => Some(Case::Application(Application {
                part: number,
                ..application.clone()
            })),
        }
    }
}

fn promises(contender: &Contender, search: &Search) -> Promises {
    let mut promises = promises_of(contender);
    for declared in search.extra.get(&contender.label).into_iter().flatten() {
        match declared.promise {
            ExtraPromise::OrderedMetadata => promises.ordered_metadata = true,
            ExtraPromise::DependentMetadata => promises.dependent_metadata = true,
            ExtraPromise::AllLinkNames => promises.all_link_names = true,
            ExtraPromise::ReplaceByRename => promises.replace_by_rename = true,
        }
    }
    promises
}

/// The extra promises that the documents of contenders make, by label.
pub fn extra_promises(contenders: &[Contender]) -> BTreeMap<String, Vec<DeclaredPromise>> {
    let of = |contender: &Contender| {
        let recipe = fsdyno_recipes::find(&contender.filesystem)?;
        let declared = recipe.extra_promises(contender);
        (!declared.is_empty()).then(|| (contender.label.clone(), declared))
    };
    contenders.iter().filter_map(of).collect()
}

/// The state that all guests of one contender share.
pub struct Subject<'a> {
    lab: &'a GuestLab,
    contender: Contender,
    disk: ModelDisk,
    promises: Promises,
    prepared: Mutex<Option<Prepared>>,
}

impl<'a> Subject<'a> {
    /// A contender on a model disk. The search has its extra promises.
    pub fn new(
        lab: &'a GuestLab,
        contender: &Contender,
        disk: &ModelDisk,
        search: &Search,
    ) -> Self {
        Self {
            lab,
            contender: contender.clone(),
            disk: disk.clone(),
            promises: promises(contender, search),
            prepared: Mutex::new(None),
        }
    }

    /// Whether its recipe has a repair program.
    fn repairs(&self) -> bool {
        let recipe = fsdyno_recipes::find(&self.contender.filesystem);
        recipe.is_some_and(|recipe| recipe.repair(&[String::from("device")]).is_some())
    }

    /// Starts a guest. The first one makes the file system, which all others use.
    pub fn explorer(&self) -> Result<Explorer<'_>, ExploreError> {
        let size = disk_size(&self.contender);
        let mut guest = ExplorerGuest::start(self.lab, &self.contender, &self.disk, size)?;
        let mut shared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = match &*shared {
            Some(prepared) => {
                guest.adopt(prepared);
                prepared.clone()
            }
            None => shared.insert(guest.prepare()?).clone(),
        };
        let checker = Checker::new(self.lab, &self.contender, &prepared.base)?;
        let recipe = fsdyno_recipes::find(&self.contender.filesystem);
        let mut read = |at: u64, into: &mut [u8]| prepared.base.read(at, into);
        let roles = recipe.and_then(|recipe| recipe.roles(&mut read));
        // Without a classifier, near addresses count as a group.
        let unknown = || -> Roles { Arc::new(|_, _| BlockRole::Unknown) };
        Ok(Explorer {
            roles: roles.unwrap_or_else(unknown),
            subject: self,
            guest,
            prepared,
            checker,
        })
    }
}

/// A guest that explores programs of one contender.
pub struct Explorer<'a> {
    subject: &'a Subject<'a>,
    guest: ExplorerGuest<'a>,
    prepared: Prepared,
    /// The roles of the blocks of its disk.
    roles: Roles,
    checker: Option<Checker>,
}
