//! `stat-walk`: walks the newest tree and stats every entry, without following symbolic links.

use super::parallel_walk::Shared;
use super::walk::{Above, Visitor};
use super::{Job, PARAMETERS, PhaseKind, ToolRun, TreePhase, visit_source};
use crate::engines::meta::Kind;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

/// The kind `stat-walk`.
pub static KIND: PhaseKind = PhaseKind::on_tree(
    "stat-walk",
    "walks the newest tree and stats every entry",
    PARAMETERS,
);

pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run: |engine, job, workers| {
            visit_source(engine, job, workers, |_, _| Some(StatAll::default()))
        },
        tool: |job| Ok(tool(job)),
        method: |_| "getdents64, newfstatat".to_owned(),
    }
}

fn tool(job: &Job<'_>) -> ToolRun {
    // A test of the link count makes find stat every entry; no entry has zero links.
    ToolRun::new("find -links 0 (stats everything, prints nothing)", ["find"])
        .arg(job.source_path())
        .args(["-links", "0"])
}

#[derive(Default)]
struct StatAll {
    tally: Tally,
}

impl<E: Calls> Visitor<E> for StatAll {
    type Level = ();

    fn enter(
        &mut self,
        engine: &mut E,
        _dir: &E::Dir,
        above: Above<'_, E::Dir, ()>,
        name: &CStr,
    ) -> Result<(), LoadError> {
        engine.stat(&Target::Entry(above.dir, name))?;
        self.tally.directories += 1;
        Ok(())
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        _level: &mut (),
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError> {
        let meta = engine.stat(&Target::Entry(dir, name))?;
        self.tally.files += 1;
        if kind == Kind::File {
            self.tally.bytes.0 += meta.size;
        }
        Ok(())
    }
}

impl<E: Calls> Shared<E> for StatAll {
    fn reach(&mut self, _engine: &mut E, _path: &[Box<CStr>]) -> Result<(), LoadError> {
        Ok(())
    }
}
