//! `read`: reads every byte of every file of the newest tree.

use super::walk::{Above, Visitor, walk_ground};
use super::{Job, Needs, PhaseKind, Scratch, ToolRun, tally};
use crate::engines::meta::Kind;
use crate::engines::{Engine, LoadError, null::Null, sync::Sync};
use fsdyno_model::sample::Tally;
use fsdyno_model::stop::Stop;
use std::ffi::CStr;

/// The kind `read`.
pub static KIND: PhaseKind = PhaseKind {
    name: "read",
    title: "reads every byte of every file of the newest tree",
    needs: Needs::Tree,
    parameters: &[],
    writes: false,
    makes_tree: false,
    removes_tree: false,
    reads_data: true,
    searches: false,
    sync: run::<Sync>,
    null: run::<Null>,
    tools,
    method: |_| "openat, read".to_owned(),
};

fn tools(job: &Job<'_>) -> ToolRun {
    // Not `tar cf /dev/null`: tar looks where it writes to, and then reads nothing.
    ToolRun::new("find -type f -exec cat {} +", ["find"])
        .arg(job.source_path())
        .args(["-type", "f", "-exec", "cat", "--", "{}", "+"])
}

/// Reads every regular file it meets, a buffer at a time.
pub(super) struct ReadAll<'a> {
    buffer: &'a mut [u8],
    stop: &'a Stop,
    pub tally: Tally,
}

impl<'a> ReadAll<'a> {
    pub fn new(buffer: &'a mut [u8], stop: &'a Stop) -> Self {
        Self {
            buffer,
            stop,
            tally: Tally::default(),
        }
    }
}

fn run<E: Engine>(
    engine: &mut E,
    job: &Job<'_>,
    scratch: &mut Scratch,
) -> Result<Tally, LoadError> {
    let mut read = ReadAll::new(&mut scratch.data, job.stop);
    walk_ground(engine, job, &job.source, &mut scratch.trail, &mut read)?;
    Ok(tally(engine, read.tally))
}

impl<E: Engine> Visitor<E> for ReadAll<'_> {
    type Level = ();

    fn enter(
        &mut self,
        _engine: &mut E,
        _dir: &E::Dir,
        _above: Above<'_, E::Dir, ()>,
        _name: &CStr,
    ) -> Result<(), LoadError> {
        self.tally.directories += 1;
        Ok(())
    }

    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        _level: &mut (),
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError> {
        self.tally.files += 1;
        if kind != Kind::File {
            return Ok(());
        }
        let mut file = engine.open(dir, name)?;
        loop {
            let bytes = engine.read(&mut file, self.buffer)?;
            self.tally.bytes.0 += bytes as u64;
            // A regular file gives fewer bytes than asked for only at its end (read(2)).
            if bytes < self.buffer.len() {
                break;
            }
            if self.stop.requested() {
                return Err(LoadError::Stopped);
            }
        }
        engine.close(file)
    }
}
