//! `delete`: removes the newest tree, as `rm -rf` does: names are unlinked as they are listed.

use super::walk::{Above, Left, Visitor, walk_ground};
use super::{Job, Needs, PhaseKind, Scratch, ToolRun, tally};
use crate::engines::meta::Kind;
use crate::engines::{Engine, LoadError, null::Null, sync::Sync};
use fsdyno_model::sample::Tally;
use std::ffi::CStr;
use std::io;

/// The kind `delete`.
pub static KIND: PhaseKind = PhaseKind {
    name: "delete",
    title: "removes the newest tree",
    needs: Needs::Tree,
    parameters: &[],
    writes: true,
    makes_tree: false,
    removes_tree: true,
    reads_data: false,
    searches: false,
    sync: run::<Sync>,
    null: run::<Null>,
    tools,
    method: |_| "unlinkat".to_owned(),
};

fn tools(job: &Job<'_>) -> ToolRun {
    ToolRun::new("rm -rf", ["rm", "-rf", "--"]).arg(job.source_path())
}

/// Removes everything it meets.
#[derive(Default)]
pub(super) struct Delete {
    pub tally: Tally,
}

/// Names removed from a directory since it was listed from its start.
type Removed = u64;

fn run<E: Engine>(
    engine: &mut E,
    job: &Job<'_>,
    scratch: &mut Scratch,
) -> Result<Tally, LoadError> {
    let mut delete = Delete::default();
    walk_ground(engine, job, &job.source, &mut scratch.trail, &mut delete)?;
    Ok(tally(engine, delete.tally))
}

impl<E: Engine> Visitor<E> for Delete {
    type Level = Removed;

    fn enter(
        &mut self,
        _engine: &mut E,
        _dir: &E::Dir,
        _above: Above<'_, E::Dir, Removed>,
        _name: &CStr,
    ) -> Result<Removed, LoadError> {
        Ok(0)
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
    ) -> Left<E::Dir, Removed> {
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
        // Some file systems pass over entries while others are being removed: list it again.
        Ok(Some((engine.open_dir(above.dir, name)?, 0)))
    }
}
