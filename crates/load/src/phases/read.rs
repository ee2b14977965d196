//! `read`: reads every byte of every file of the newest tree.

use super::parallel_walk::Shared;
use super::walk::{Above, Visitor};
use super::{Job, PARAMETERS, PhaseKind, Scratch, ToolRun, TreePhase, visit_source};
use crate::engines::Calls;
use crate::engines::meta::Kind;
use crate::error::LoadError;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

/// The kind `read`.
pub static KIND: PhaseKind = PhaseKind {
    reads_data: true,
    ..PhaseKind::on_tree(
        "read",
        "reads every byte of every file of the newest tree",
        PARAMETERS,
    )
};

/// The phase, by the calls of one engine.
pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run,
        tool: |job| Ok(tool(job)),
        method: |_| "openat, read".to_owned(),
    }
}

fn tool(job: &Job<'_>) -> ToolRun {
    // Not `tar cf /dev/null`: tar detects this output, and then reads no data.
    ToolRun::new("find -type f -exec cat {} +", ["find"])
        .arg(job.source_path())
        .args(["-type", "f", "-exec", "cat", "--", "{}", "+"])
}

/// Reads every regular file, one buffer at a time.
pub(super) struct ReadAll<'a> {
    buffer: &'a mut [u8],
    stop: &'a CancelToken,
    pub tally: Tally,
}

impl<'a> ReadAll<'a> {
    pub fn new(buffer: &'a mut [u8], stop: &'a CancelToken) -> Self {
        Self {
            buffer,
            stop,
            tally: Tally::default(),
        }
    }
}

fn run<E: Calls + Send>(
    engine: &mut E,
    job: &Job<'_>,
    workers: &mut [Scratch],
) -> Result<Tally, LoadError> {
    visit_source(engine, job, workers, |data, _| {
        Some(ReadAll::new(data, job.stop))
    })
}

impl<E: Calls> Visitor<E> for ReadAll<'_> {
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
        self.tally.files += 1;
        if kind != Kind::File {
            return Ok(());
        }
        let mut file = engine.open(dir, name)?;
        loop {
            let bytes = engine.read(&mut file, self.buffer)?;
            self.tally.bytes.0 += bytes as u64;
            // A regular file returns fewer bytes than requested only at its end (read(2)).
            if bytes < self.buffer.len() {
                break;
            }
            self.stop.check()?;
        }
        engine.close(file)
    }
}

impl<E: Calls> Shared<E> for ReadAll<'_> {
    fn reach(&mut self, _engine: &mut E, _path: &[Box<CStr>]) -> Result<(), LoadError> {
        Ok(())
    }
}
