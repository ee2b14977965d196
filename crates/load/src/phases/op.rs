//! Phases of single operations of one kind: creating, stat, open, rename, link and unlink of files;
//! creating and removing directories; sequential and random writes and reads of a large file.
//!
//! Names are incremented in place and random offsets are precomputed, so memory use
//! does not depend on the number of operations. This module defines the operations and their
//! workers; `measure` times the whole phase.
//!
//! A workload file ([`crate::work`]) keeps its operations in memory, and beyond two million draws them
//! while the clock runs. Its steps take paths from one directory, not names in an open one: on tmpfs a
//! `stat` takes a tenth longer.

mod check;
mod data;
mod files;
mod forked;
mod names;
mod pace;
mod parameters;
mod random;
mod ready;
mod worker;
mod workers;

pub(crate) use check::check_share;
pub use check::{CheckedFiles, bytes_read, operations};
pub(crate) use parameters::Parameters;
pub(super) use random::incompressible;
pub(crate) use ready::{prepare, prepare_share};
pub(crate) use worker::Limits;
pub(crate) use workers::Op;

use super::table::phases;
use crate::engines::Engine;
use fsdyno_model::Parameter;
use fsdyno_model::capability::Required;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Bytes;
use parameters::Fsync;
use std::ffi::CStr;
use std::fmt::Write;

/// The directory of all phases, below the work directory.
pub(crate) const HOME: &CStr = c"op";

phases! {
    Create: "op-create", "creates files", "openat O_EXCL, write, close";
    Stat: "op-stat", "stats files", "newfstatat";
    Open: "op-open", "opens, reads and closes files", "openat, read, close";
    Rename: "op-rename", "renames files, and renames them back",
        "renameat, and as the next operation back";
    Link: "op-link", "creates hard links to files", "linkat";
    Mkdir: "op-mkdir", "creates directories", "mkdirat";
    Rmdir: "op-rmdir", "removes directories", "unlinkat AT_REMOVEDIR";
    Unlink: "op-unlink", "unlinks files", "unlinkat";
    Write: "op-write", "writes a large file sequentially", "pwrite";
    Read: "op-read", "reads a large file sequentially", "pread";
    RandomWrite: "op-random-write", "writes a large file at random offsets",
        "pwrite at random offsets";
    RandomRead: "op-random-read", "reads a large file at random offsets", "pread at random offsets";
}

impl Phase {
    pub fn operation(self) -> &'static str {
        self.name().strip_prefix("op-").unwrap_or(self.name())
    }

    /// Whether it works on large files, one per worker, rather than on many small ones.
    pub const fn on_data(self) -> bool {
        matches!(
            self,
            Self::Write | Self::Read | Self::RandomWrite | Self::RandomRead
        )
    }

    /// Whether it accesses the blocks of a large file in random order.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandomWrite | Self::RandomRead)
    }

    pub const fn writes(self) -> bool {
        !matches!(
            self,
            Self::Stat | Self::Open | Self::Read | Self::RandomRead
        )
    }

    const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Write => parameters::SEQUENTIAL_WRITES,
            Self::Read => parameters::SEQUENTIAL_READS,
            Self::RandomWrite => parameters::RANDOM_WRITES,
            Self::RandomRead => parameters::RANDOM_READS,
            Self::Stat | Self::Open => parameters::FILES,
            _ => parameters::CHANGED_FILES,
        }
    }
}

/// The method of a phase, for reports: the calls of one operation, and how they are made durable.
/// `transfer` is the method of an engine that transfers blocks by itself.
pub(crate) fn describe<E: Engine>(
    phase: Phase,
    parameters: &Parameters,
    transfer: Option<&'static str>,
) -> String {
    let mut text = transfer.unwrap_or_else(|| phase.method()).to_owned();
    if phase.on_data() && parameters.direct {
        text.push_str(", O_DIRECT");
    }
    if !phase.writes() {
        return text;
    }
    if phase.on_data() && parameters.dsync {
        text.push_str(", O_DSYNC");
    }
    if phase == Phase::RandomWrite && parameters.reads > 0 {
        let _ = write!(text, "; {} % read", parameters.reads);
    }
    let call = match (phase.on_data(), parameters.fsync) {
        (true, _) => E::SYNC_CALL,
        (false, Fsync::AtEnd) => "syncfs",
        (false, _) if phase == Phase::Create => "fsync",
        (false, _) => "fsync of the directory",
    };
    text.push_str(&parameters.fsync.describe(call).unwrap_or_default());
    text
}

/// Checks that an engine can run a phase with these parameters. The error is the reason and the
/// remedy.
pub(crate) fn check<E: Engine>(phase: Phase, parameters: &Parameters) -> Result<(), String> {
    if !phase.on_data() {
        return Ok(());
    }
    E::check_transfer(
        parameters.rate.is_some(),
        data::open_mode(phase, parameters),
    )?;
    if parameters.direct && !parameters.block.is_multiple_of(SECTOR) {
        return Err(format!(
            "O_DIRECT needs blocks of whole sectors, and {} bytes are none: set `block` to a \
             multiple of {SECTOR}, or leave out `cache=direct`",
            parameters.block
        ));
    }
    Ok(())
}

/// The smallest logical block of a device, bytes: open(2), `O_DIRECT`.
const SECTOR: usize = 512;

/// The phase of a plan with its parameters; none if it is another one.
pub(crate) fn planned(plan: &PhasePlan) -> Option<(Phase, Parameters)> {
    let phase = Phase::find(&plan.kind)?;
    Some((phase, Parameters::read(phase, &plan.parameters)))
}

/// Whether a kind of phase is one of these.
pub fn is_one(kind: &str) -> bool {
    Phase::find(kind).is_some()
}

/// The capabilities that a phase requires of its file system; none if it is no such phase.
pub fn required(plan: &PhasePlan) -> Option<Vec<Required>> {
    let (phase, parameters) = planned(plan)?;
    if !phase.on_data() {
        let links = phase == Phase::Link;
        return Some(links.then_some(Required::HardLinks).into_iter().collect());
    }
    let size = Bytes(parameters.blocks() * parameters.block as u64);
    let sparse = parameters.sparse.then_some(Required::SparseFiles);
    let direct = parameters.direct.then_some(Required::DirectIo);
    let all = [Some(Required::FileOf(size)), sparse, direct];
    Some(all.into_iter().flatten().collect())
}

/// The space of all files of a phase on the device, bytes; none if it is no such phase.
pub fn data_bytes(plan: &PhasePlan) -> Option<Bytes> {
    let (phase, parameters) = planned(plan)?;
    if phase.on_data() {
        let touched = parameters
            .operations
            .saturating_mul(parameters.block as u64);
        return Some(Bytes(if parameters.sparse {
            parameters.size.min(touched)
        } else {
            parameters.size
        }));
    }
    // The space of a file in addition to its data: an inode and a directory entry; and a block for
    // every directory.
    let each = (parameters.bytes as u64).next_multiple_of(4096) + 1024;
    let directories = match phase {
        Phase::Mkdir | Phase::Rmdir => parameters.files,
        _ => parameters.files.div_ceil(parameters.files_per_dir),
    };
    Some(Bytes(
        parameters.files.saturating_mul(each) + directories.saturating_mul(8192),
    ))
}

#[cfg(test)]
#[path = "op/tests.rs"]
mod tests;
