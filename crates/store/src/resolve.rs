//! Names of runs, and of series of cuts: how a new one is made, and how the one that a user means is found.

use crate::error::fault;
use crate::{Store, StoreError};
use jiff::Timestamp;
use rusqlite::Connection;

/// The name that always means the run begun last.
const LAST: &str = "last";

/// How many runs an error names.
const RECENT: usize = 5;

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// A run, by its id.
    Run(String),
    /// A series of cuts, by its id.
    Series(String),
}

impl Store {
    /// The run or the series of cuts that `name` means, as [`Store::resolve`] finds runs; `last` is
    /// what was begun last of both.
    pub fn resolve_any(&self, name: &str) -> Result<Named, StoreError> {
        let ids = self.listed(
            "SELECT id FROM (SELECT id, started_unix_ns, rowid AS place FROM run
                UNION ALL SELECT id, started_unix_ns, rowid FROM series)
             ORDER BY started_unix_ns DESC, place DESC",
        )?;
        let id = self.meant(name, &ids)?;
        // A run of that id was there before there were series.
        if self.ids()?.contains(&id) {
            return Ok(Named::Run(id));
        }
        Ok(Named::Series(id))
    }

    /// The id of the run that `name` means: its id, `last` for the one begun last, or any
    /// beginning, or else any part, that fits one run alone.
    pub fn resolve(&self, name: &str) -> Result<String, StoreError> {
        self.meant(name, &self.ids()?)
    }

    /// Which of these ids, newest first, a name means.
    fn meant(&self, name: &str, ids: &[String]) -> Result<String, StoreError> {
        if ids.iter().any(|id| id == name) {
            return Ok(name.to_owned());
        }
        if name == LAST && !ids.is_empty() {
            return Ok(ids[0].clone());
        }
        // An empty name is a part of every name, and means none.
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

    /// An id for a run of this suite that no run in the store has: its start (UTC) and the suite,
    /// with `-2`, `-3` ... where that is taken (`20261121-1730-quick-2`).
    ///
    /// Another process may take it before this one does: see [`Store::begin_named`].
    pub fn new_id(&self, suite: &str, unix_ns: u64) -> Result<String, StoreError> {
        free_id(&self.connection, suite, unix_ns)
            .map_err(fault(&self.path, "looking for a free run id"))
    }

    /// The error that no run has this name, with those there are.
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
        self.listed("SELECT id FROM run ORDER BY started_unix_ns DESC, rowid DESC")
    }

    /// The ids that a query finds.
    fn listed(&self, query: &str) -> Result<Vec<String>, StoreError> {
        let failed = || fault(&self.path, "listing what there is");
        let mut statement = self.connection.prepare_cached(query).map_err(failed())?;
        let ids = statement
            .query_map([], |row| row.get(0))
            .and_then(Iterator::collect);
        ids.map_err(failed())
    }
}

pub(crate) fn free_id(
    connection: &Connection,
    suite: &str,
    unix_ns: u64,
) -> rusqlite::Result<String> {
    let stem = stem(suite, unix_ns);
    let mut taken = connection.prepare_cached(
        "SELECT 1 FROM run WHERE id = ?1 UNION ALL SELECT 1 FROM series WHERE id = ?1",
    )?;
    let mut id = stem.clone();
    for number in 2_u32.. {
        if !taken.exists([&id])? {
            break;
        }
        id = format!("{stem}-{number}");
    }
    Ok(id)
}

/// Date, time and suite, in letters that a shell and a file name take as they are.
fn stem(suite: &str, unix_ns: u64) -> String {
    const LONGEST: usize = 60;
    let start = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    let suite: String = suite
        .chars()
        .map(|c| if in_id(c) { c } else { '-' })
        .take(LONGEST)
        .collect();
    let suite = suite.trim_matches('-');
    let suite = if suite.is_empty() { "run" } else { suite };
    format!("{}-{suite}", start.strftime("%Y%m%d-%H%M"))
}

fn in_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// Refuses an id that could not be typed, resolved, or be part of a file name.
pub(crate) fn check_id(id: &str) -> Result<(), StoreError> {
    let fits = (1..=100).contains(&id.len()) && id.chars().all(in_id) && id != LAST;
    if fits {
        Ok(())
    } else {
        Err(StoreError::BadId { id: id.to_owned() })
    }
}
