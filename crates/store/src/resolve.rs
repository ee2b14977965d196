//! Names of records: creates new ids and resolves names that a user typed.

use crate::error::fault;
use crate::row::{all, only};
use crate::{Store, StoreError};
use fsdyno_model::{
    Exploration, ExplorationInfo, FaultTests, FaultTestsInfo, RunInfo, Series, SeriesInfo,
};
use jiff::Timestamp;
use rusqlite::Connection;

/// The name of the run that began last.
const LAST: &str = "last";

/// The number of runs that an error lists.
const RECENT: usize = 5;

/// The result of resolving a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// A run, by its id.
    Run(String),
    /// A series of power cuts, by its id.
    Series(String),
    /// An exploration, by its id.
    Exploration(String),
    /// Tests with faulty disks, by their id.
    FaultTests(String),
}

impl Named {
    pub fn id(&self) -> &str {
        match self {
            Self::Run(id) | Self::Series(id) | Self::Exploration(id) | Self::FaultTests(id) => id,
        }
    }
}

impl Store {
    /// The record of any kind that `name` refers to, by the rules of [`Store::resolve`]. `last` is the latest of all that no process works on.
    pub fn resolve_any(&self, name: &str) -> Result<Named, StoreError> {
        let kind = |id: &str| {
            let query = "SELECT kind FROM record WHERE id = ?1";
            let kinds: rusqlite::Result<Vec<String>> = all(&self.connection, query, [id], only);
            kinds.map_err(fault(&self.path, format!("looking for `{id}`")))
        };
        let (id, kinds) = match kind(name)? {
            kinds if kinds.is_empty() => {
                let id = self.find_id(name, &self.listed("varies IS NULL")?)?;
                let kinds = kind(&id)?;
                (id, kinds)
            }
            kinds => (name.to_owned(), kinds),
        };
        Ok(match kinds.first().map(String::as_str) {
            Some("series") => Named::Series(id),
            Some("exploration") => Named::Exploration(id),
            Some("fault-tests") => Named::FaultTests(id),
            _ => Named::Run(id),
        })
    }

    /// The id of the run that `name` refers to. A name is an id, `last` for the latest run that no
    /// process works on, a tag for the latest run with it, or a prefix, or else any part, that
    /// matches exactly one run. A variant of another run has only its id.
    pub fn resolve(&self, name: &str) -> Result<String, StoreError> {
        if self.ids()?.iter().any(|id| id == name) {
            return Ok(name.to_owned());
        }
        self.find_id(name, &self.listed("kind = 'run' AND varies IS NULL")?)
    }

    /// The id of the advice that `name` refers to, by the same rules: that of its first run.
    pub fn resolve_advice(&self, name: &str) -> Result<String, StoreError> {
        self.find_id(name, &self.listed("question IS NOT NULL")?)
    }

    /// The id of the exploration that `name` refers to, by the same rules.
    pub fn resolve_exploration(&self, name: &str) -> Result<String, StoreError> {
        self.find_id(name, &self.listed("kind = 'exploration'")?)
    }

    /// The id that a name matches in a list of ids, newest first.
    fn find_id(&self, name: &str, ids: &[String]) -> Result<String, StoreError> {
        if ids.iter().any(|id| id == name) {
            return Ok(name.to_owned());
        }
        if name == LAST
            && let Some(latest) = ids.first()
        {
            let ended = ids.iter().find(|id| !self.is_claimed(id));
            return ended
                .cloned()
                .ok_or_else(|| StoreError::OnlyRunning { id: latest.clone() });
        }
        let tagged = self.tagged(name)?;
        if let Some(newest) = ids.iter().find(|id| tagged.contains(id)) {
            return Ok(newest.clone());
        }
        // An empty name is a part of every name, and matches nothing.
        let fitting = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
            let fits = |id: &&String| !name.is_empty() && fits(id);
            ids.iter().filter(fits).cloned().collect()
        };
        let mut matches = fitting(&|id| id.starts_with(name));
        if matches.is_empty() {
            matches = fitting(&|id| id.contains(name));
        }
        match matches.len() {
            0 => Err(self.no_such_run(name)),
            1 => Ok(matches.remove(0)),
            _ => Err(StoreError::Ambiguous {
                name: name.to_owned(),
                matches,
            }),
        }
    }

    /// A new id for a run of this suite: its start (UTC) and the suite, with `-2`, `-3` ... if that
    /// id is taken (`20261121-1730-quick-2`).
    ///
    /// Another process may take the id first: see [`Store::begin_named`].
    pub fn new_id(&self, suite: &str, unix_ns: u64) -> Result<String, StoreError> {
        free_id(&self.connection, suite, unix_ns)
            .map_err(fault(&self.path, "looking for a free run id"))
    }

    /// The error that no run has this name, with a list of existing runs.
    pub(crate) fn no_such_run(&self, name: &str) -> StoreError {
        match self.ids() {
            Ok(mut recent) => {
                recent.truncate(RECENT);
                StoreError::NoSuchRun {
                    name: name.to_owned(),
                    recent,
                }
            }
            Err(error) => error,
        }
    }

    /// The ids of all runs, newest first.
    pub(crate) fn ids(&self) -> Result<Vec<String>, StoreError> {
        self.listed("kind = 'run'")
    }

    /// The ids of the runs with a tag.
    pub(crate) fn tagged(&self, tag: &str) -> Result<Vec<String>, StoreError> {
        let query = "SELECT run FROM tag WHERE tag = ?1";
        all(&self.connection, query, [tag], only)
            .map_err(fault(&self.path, format!("looking for the tag `{tag}`")))
    }

    /// The ids for which a condition holds, newest first.
    pub(crate) fn listed(&self, condition: &str) -> Result<Vec<String>, StoreError> {
        let query = format!(
            "SELECT id FROM record WHERE {condition} ORDER BY started_unix_ns DESC, rowid DESC"
        );
        all(&self.connection, &query, [], only)
            .map_err(fault(&self.path, "listing the names of runs"))
    }
}

pub(crate) fn free_id(
    connection: &Connection,
    suite: &str,
    unix_ns: u64,
) -> rusqlite::Result<String> {
    let stem = stem(suite, unix_ns);
    let mut id = stem.clone();
    for number in 2_u32.. {
        if !is_taken(connection, &id)? {
            break;
        }
        id = format!("{stem}-{number}");
    }
    Ok(id)
}

/// Whether a record has this id.
pub(crate) fn is_taken(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection
        .prepare("SELECT 1 FROM record WHERE id = ?1")?
        .exists([id])
}

/// Date, time and suite.
fn stem(suite: &str, unix_ns: u64) -> String {
    let start = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    format!("{}-{}", start.strftime("%Y%m%d-%H%M"), plain(suite))
}

/// The id of the run that the shards of a plan are joined into: suite and hash of the plan.
pub(crate) fn id_of_whole(run: &RunInfo) -> String {
    format!("{}-{}", plain(&run.plan.name), plain(&run.plan_hash))
}

/// The id of the series that the shards of a series are joined into.
pub(crate) fn id_of_whole_series(info: &SeriesInfo) -> String {
    format!("{}-{}", Series::NAME, info.hash())
}

/// The id of the exploration that the shards of an exploration are joined into.
pub(crate) fn id_of_whole_exploration(info: &ExplorationInfo) -> String {
    format!("{}-{}", Exploration::NAME, info.hash())
}

/// The id of tests with faulty disks with these settings.
pub(crate) fn id_of_whole_fault_tests(info: &FaultTestsInfo) -> String {
    format!("{}-{}", FaultTests::NAME, info.hash())
}

/// A name in characters that need no quoting in a shell or a file name.
fn plain(suite: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let suite: String = suite
        .chars()
        .map(|c| if in_id(c) { c } else { '-' })
        .take(MAX_CHARACTERS)
        .collect();
    let suite = suite.trim_matches('-');
    if suite.is_empty() { "run" } else { suite }.to_owned()
}

fn in_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// An error for an id that cannot be typed, resolved, or used in a file name.
pub(crate) fn check_id(id: &str) -> Result<(), StoreError> {
    let fits = (1..=100).contains(&id.len()) && id.chars().all(in_id) && id != LAST;
    if fits {
        Ok(())
    } else {
        Err(StoreError::BadId { id: id.to_owned() })
    }
}
