//! All kinds of phases, by name: those of engines and those of external programs.

pub use crate::phase_kind::PhaseKind;
pub use fsdyno_model::Needs;

use crate::engines::sync::SystemCalls;
use crate::phases::{self, bonnie, mongo, op, replay, work};
use crate::programs;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Bytes;

/// All kinds of phases except those of external programs, which are in [`programs::ALL`].
pub fn all() -> impl Iterator<Item = &'static PhaseKind> + Clone {
    let on_trees = phases::on_trees::<SystemCalls>().map(|phase| phase.kind);
    let others = bonnie::KINDS
        .iter()
        .chain(&mongo::KINDS)
        .chain(&op::KINDS)
        .chain(work::kinds());
    on_trees
        .into_iter()
        .chain([&replay::KIND, &work::KIND])
        .chain(others)
}

/// The kind with that name, of an engine or of an external program.
pub fn find(name: &str) -> Option<&'static PhaseKind> {
    all()
        .find(|kind| kind.name == name)
        .or_else(|| programs::find(name).map(|program| &program.kind))
}

/// Whether a phase of this kind works in an entry with this name, and creates it if it is missing.
pub fn works_in(kind: &str, name: &str) -> bool {
    let is = |home: &std::ffi::CStr| name.as_bytes() == home.to_bytes();
    bonnie::is_one(kind) && is(bonnie::HOME)
        || op::is_one(kind) && is(op::HOME)
        || mongo::Phase::find(kind).is_some() && mongo::is_tree(name)
        || work::works_in(kind).is_some_and(is)
}

/// Whether phases of any kind work in an entry with this name.
pub(crate) fn is_own_directory(name: &str) -> bool {
    all().any(|kind| works_in(kind.name, name))
}

/// The space on the device that a phase with its own files takes, bytes. The phases of a workload
/// share these files. None if it works on a dataset, or is a program.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    bonnie::data_bytes(phase)
        .or_else(|| mongo::data_bytes(phase))
        .or_else(|| op::data_bytes(phase))
        .or_else(|| work::data_bytes(phase))
}
