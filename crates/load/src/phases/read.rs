//! `read`: reads every byte of every file of the newest tree.

use super::parallel_walk::Shared;
use super::walk::{Above, Visitor};
use super::{Job, PARAMETERS, PhaseKind, ToolRun, TreePhase, visit_source};
use crate::engines::Calls;
use crate::engines::meta::Kind;
use crate::error::LoadError;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

pub static KIND: PhaseKind = PhaseKind {
    reads_data: true,
    ..PhaseKind::on_tree(
        "read",
        "reads every byte of every file of the newest tree",
        PARAMETERS,
    )
};

pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run: |engine, job, workers| {
            visit_source(engine, job, workers, |buffer, _| {
                let stop = job.stop;
                Some(EachFile::new(ReadAll { buffer, stop }))
            })
        },
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

/// Reads the data of an open file.
pub(super) trait FileReader<E: Calls> {
    fn read(
        &mut self,
        engine: &mut E,
        file: &mut E::File,
        tally: &mut Tally,
    ) -> Result<(), LoadError>;
}

/// Opens every regular file of a walk, and reads it.
pub(super) struct EachFile<R> {
    reader: R,
    pub tally: Tally,
}

impl<R> EachFile<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            tally: Tally::default(),
        }
    }
}

impl<E: Calls, R: FileReader<E>> Visitor<E> for EachFile<R> {
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
        self.reader.read(engine, &mut file, &mut self.tally)?;
        engine.close(file)
    }
}

impl<E: Calls, R: FileReader<E>> Shared<E> for EachFile<R> {
    fn reach(&mut self, _engine: &mut E, _path: &[Box<CStr>]) -> Result<(), LoadError> {
        Ok(())
    }
}

/// Reads a file one buffer at a time.
pub(super) struct ReadAll<'a> {
    pub buffer: &'a mut [u8],
    pub stop: &'a CancelToken,
}

impl<E: Calls> FileReader<E> for ReadAll<'_> {
    #[inline]
    fn read(
        &mut self,
        engine: &mut E,
        file: &mut E::File,
        tally: &mut Tally,
    ) -> Result<(), LoadError> {
        loop {
            let bytes = engine.read(file, self.buffer)?;
            tally.bytes.0 += bytes as u64;
            // A regular file returns fewer bytes than requested only at its end (read(2)).
            if bytes < self.buffer.len() {
                return Ok(());
            }
            self.stop.check()?;
        }
    }
}
