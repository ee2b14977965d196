//! The kind of phase that a program is, or a workload that keeps its own clock. No engine is asked to
//! do its work; `measure` runs it instead.

use super::Parameter;
use crate::engines::{Engine, LoadError};
use crate::workloads::{Job, Needs, PhaseKind, Scratch, ToolRun};
use fsdyno_model::sample::Tally;

/// A kind of phase that makes what it works on, and what it takes beside its name.
pub(crate) const fn kind_of(
    name: &'static str,
    title: &'static str,
    parameters: &'static [Parameter],
) -> PhaseKind {
    PhaseKind {
        name,
        title,
        needs: Needs::Nothing,
        parameters,
        // What a program does is not known: it is taken to write.
        writes: true,
        makes_tree: false,
        reads_data: false,
        searches: false,
        removes_tree: false,
        sync: by_no_engine,
        null: by_no_engine,
        tools: nothing,
        method: |_| String::new(),
    }
}

/// Programs are run before an engine is asked; what has none of its own to run is refused.
fn by_no_engine<E: Engine>(_: &mut E, _: &Job<'_>, _: &mut [Scratch]) -> Result<Tally, LoadError> {
    Err(LoadError::NoEngine)
}

/// Never asked for: see above.
fn nothing(_: &Job<'_>) -> ToolRun {
    ToolRun::new("", ["false"])
}
