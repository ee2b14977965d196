//! States of a file system before its workload: filled, with its free space in holes, aged.
//!
//! A [`Method`] sets up a state: one file in this folder and one line in [`ALL`]. All of them write
//! numbered files of incompressible content below [`DIRECTORY`] by system calls, untimed and
//! unverified, until the requested utilisation is reached (defined at [`InitialState`]). They
//! approach it from below, by the figures of the file system (statfs after syncfs), so that
//! metadata counts.

mod aged;
mod churn;
mod error;
mod expected;
mod files;
mod fragmented;
mod plain;
mod progress;
mod space;

pub use error::StateError;
pub use expected::{Expected, expected};
pub use progress::Progress;
pub use space::Space;

use crate::seed::Seed;
use files::Files;
use fsdyno_model::units::three_digits;
use fsdyno_model::{Bytes, CancelToken, Fragmentation, InitialState, Nanos};
use progress::ProgressReporter;
use std::fmt;
use std::path::Path;
use std::time::Instant;

/// The directory that holds the files, next to the work directory of the workload.
pub const DIRECTORY: &str = "state";

/// All methods; the first that applies sets up the state.
pub static ALL: &[&Method] = &[&aged::AGED, &fragmented::FRAGMENTED, &plain::PLAIN];

/// A method of setting up a state.
pub struct Method {
    pub name: &'static str,
    /// Its name on the command line.
    pub typed: &'static str,
    /// A description of one line.
    pub title: &'static str,
    applies: fn(&InitialState) -> bool,
    /// Sets up the state; returns a description.
    run: fn(&mut Work<'_>) -> Result<String, StateError>,
}

/// The input of a method.
struct Work<'a> {
    files: Files<'a>,
    permille: u32,
    age: u32,
    seed: Seed,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// A description: `filled`, `aged 3 times over`.
    pub what: String,
    /// The utilisation reached, percent.
    pub percent: f64,
    pub files: u64,
    /// Bytes in them.
    pub bytes: Bytes,
    pub written: Bytes,
    /// The fragmentation of the files of at least two blocks.
    pub fragmentation: Fragmentation,
    /// How long it took.
    pub elapsed: Nanos,
}

/// Sets up a state on the file system of a directory; creates [`DIRECTORY`] in it.
///
/// `report` receives the progress. Cancellation takes effect within a piece of a file. The amount
/// of data that is not on the device yet is bounded, so that a cancellation does not take long.
///
/// The same seed on a file system of the same size gives the same files and the same sequence.
pub fn set_up(
    root: &Path,
    state: &InitialState,
    seed: u64,
    stop: &CancelToken,
    report: &mut dyn FnMut(Progress),
) -> Result<Option<Reached>, StateError> {
    let Some(permille) = state.fill_permille else {
        return Ok(None);
    };
    let Some(method) = ALL.iter().find(|method| (method.applies)(state)) else {
        return Ok(None);
    };
    let began = Instant::now();
    let seed = Seed::new(seed).part("state");
    let files = Files::make(
        &root.join(DIRECTORY),
        seed.part("content"),
        stop,
        ProgressReporter::new(report),
    )?;
    let mut work = Work {
        files,
        permille,
        age: state.age,
        seed,
    };
    let before = work.files.space()?;
    if before.percent() > f64::from(permille) / 10.0 + 1.0 {
        return Err(StateError::Fuller {
            path: root.to_owned(),
            requested: f64::from(permille) / 10.0,
            percent: before.percent(),
        });
    }
    let what = (method.run)(&mut work)?;
    let space = work.files.space()?;
    if (space.percent() - f64::from(permille) / 10.0).abs() > 1.0 {
        return Err(work.files.not_reached(permille, &space));
    }
    Ok(Some(Reached {
        what,
        percent: space.percent(),
        files: work.files.count,
        bytes: Bytes(work.files.held),
        written: Bytes(work.files.written),
        fragmentation: work.files.fragmentation()?,
        elapsed: Nanos::from(began.elapsed()),
    }))
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; {} % in use, {} in {} files; ",
            self.what,
            three_digits(self.percent),
            self.bytes,
            self.files,
        )?;
        let Fragmentation {
            files,
            extents,
            floor,
            unavailable,
            ..
        } = &self.fragmentation;
        match unavailable {
            Some(reason) => write!(f, "extents not available: {reason}")?,
            None if *files == 0 => write!(f, "no file of {floor} or more")?,
            None => write!(
                f,
                "{} extents per file of {floor} or more",
                three_digits(*extents as f64 / *files as f64)
            )?,
        }
        write!(f, "; {} written in {}", self.written, self.elapsed)
    }
}
