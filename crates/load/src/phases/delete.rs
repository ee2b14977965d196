//! `delete`: removes the newest tree, as `rm -rf` does, in the order of the directory. The order of
//! inode numbers takes a tenth longer on a file system that lists files in the order of creation.

use super::parallel_walk::Shared;
use super::walk::{Above, Revisit, Visitor};
use super::{Job, PARAMETERS, PhaseKind, ToolRun, TreePhase, visit_source};
use crate::engines::Calls;
use crate::engines::meta::Kind;
use crate::error::LoadError;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;
use std::io;

pub static KIND: PhaseKind = PhaseKind {
    writes: true,
    removes_tree: true,
    ..PhaseKind::on_tree("delete", "deletes the newest tree", PARAMETERS)
};

pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run: |engine, job, workers| {
            visit_source(engine, job, workers, |_, _| Some(Delete::default()))
        },
        tool: |job| Ok(tool(job)),
        method: |_| "unlinkat".to_owned(),
    }
}

fn tool(job: &Job<'_>) -> ToolRun {
    ToolRun::new("rm -rf", ["rm", "-rf", "--"]).arg(job.source_path())
}

/// Removes every entry of a walk.
#[derive(Default)]
pub(super) struct Delete {
    pub tally: Tally,
}

/// The number of names removed from a directory since its listing began.
type Removed = u64;

impl<E: Calls> Visitor<E> for Delete {
    type Level = Removed;
    const AS_LISTED: bool = true;

    fn enter(
        &mut self,
        _engine: &mut E,
        _dir: &E::Dir,
        _above: Above<'_, E::Dir, Removed>,
        _name: &CStr,
    ) -> Result<Removed, LoadError> {
        Ok(0)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        removed: &mut Removed,
        name: &CStr,
        _kind: Kind,
    ) -> Result<(), LoadError> {
        engine.unlink(dir, name)?;
        *removed += 1;
        self.tally.files += 1;
        Ok(())
    }

    fn leave(
        &mut self,
        engine: &mut E,
        dir: E::Dir,
        removed: Removed,
        above: Above<'_, E::Dir, Removed>,
        name: &CStr,
    ) -> Revisit<E::Dir, Removed> {
        // Closed first: an open directory that is removed becomes an orphan, which costs more.
        engine.close_dir(dir);
        if engine.remove_dir(above.dir, name)? {
            self.tally.directories += 1;
            if let Some(above) = above.level {
                *above += 1;
            }
            return Ok(None);
        }
        if removed == 0 {
            return Err(LoadError::io(
                "rmdir",
                name.to_string_lossy().into_owned(),
                io::Error::from_raw_os_error(libc::ENOTEMPTY),
            ));
        }
        // Some file systems skip entries while others are being removed: list it again.
        Ok(Some((engine.open_dir(above.dir, name)?, 0)))
    }
}

impl<E: Calls> Shared<E> for Delete {
    fn reach(&mut self, _engine: &mut E, _path: &[Box<CStr>]) -> Result<Removed, LoadError> {
        Ok(0)
    }

    fn delegated(&mut self, removed: &mut Removed) {
        // Removed by the worker that takes it over, before this directory is left.
        *removed += 1;
    }
}
