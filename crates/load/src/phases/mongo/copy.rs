//! Copies a tree like `cp -r`: files and directories, no attributes.

use super::workers::Worker;
use crate::engines::Calls;
use crate::engines::meta::Kind;
use crate::error::LoadError;
use crate::phases::walk::{Above, Revisit, Visitor, walk};
use fsdyno_model::CancelToken;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

pub(super) fn copy<E: Calls>(engine: &mut E, worker: &mut Worker<'_>) -> Result<Tally, LoadError> {
    let job = worker.mongo.job;
    let base = engine.open_work_dir(job.root)?;
    let [from, to] = worker.trees.clone();
    let mut visitor = Copy {
        base: &base,
        to: &to,
        buffer: &mut worker.buffers.data,
        stop: job.stop,
        tally: Tally::default(),
    };
    let state = &mut worker.buffers.walk;
    walk(engine, &base, &from, state, job.stop, &mut visitor)?;
    let tally = visitor.tally;
    engine.close_dir(base);
    Ok(tally)
}

struct Copy<'a, D> {
    base: &'a D,
    to: &'a CStr,
    buffer: &'a mut [u8],
    stop: &'a CancelToken,
    tally: Tally,
}

impl<E: Calls> Visitor<E> for Copy<'_, E::Dir> {
    type Level = E::Dir;

    fn enter(
        &mut self,
        engine: &mut E,
        _dir: &E::Dir,
        above: Above<'_, E::Dir, E::Dir>,
        name: &CStr,
    ) -> Result<E::Dir, LoadError> {
        let (at, name) = match above.level {
            Some(level) => (&*level, name),
            None => (self.base, self.to),
        };
        self.tally.directories += 1;
        engine.make_dir(at, name, 0o777)?;
        engine.open_dir(at, name)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        level: &mut E::Dir,
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError> {
        if kind != Kind::File {
            // Symbolic links of an earlier phase: `cp -r` copies them as links.
            let length = engine.read_link(dir, name, self.buffer)?;
            self.buffer[length] = 0;
            let target = CStr::from_bytes_until_nul(&self.buffer[..=length]).unwrap_or_default();
            self.tally.files += 1;
            return engine.symlink(target, level, name);
        }
        let mut from = engine.open(dir, name)?;
        let mut to = engine.create(level, name, 0o777)?;
        loop {
            let bytes = engine.read(&mut from, self.buffer)?;
            engine.write(&mut to, &self.buffer[..bytes])?;
            self.tally.bytes.0 += bytes as u64;
            if bytes < self.buffer.len() {
                break;
            }
            self.stop.check()?;
        }
        self.tally.files += 1;
        engine.close(from)?;
        engine.close(to)
    }

    fn leave(
        &mut self,
        engine: &mut E,
        dir: E::Dir,
        level: E::Dir,
        _above: Above<'_, E::Dir, E::Dir>,
        _name: &CStr,
    ) -> Revisit<E::Dir, E::Dir> {
        engine.close_dir(dir);
        engine.close_dir(level);
        Ok(None)
    }
}
