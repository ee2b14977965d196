//! Creates the tree of every worker, file by file, in writes of 4096 bytes.

use super::workers::{CHUNK, Numbered, Worker};
use crate::engines::Calls;
use crate::error::LoadError;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

/// Creates the tree of a worker.
pub(super) fn create<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
) -> Result<Tally, LoadError> {
    let base = engine.open_work_dir(worker.mongo.job.root)?;
    let mut tally = Tally::default();
    let root = worker.trees[0].clone();
    directory(engine, worker, &base, &root, 0, &mut tally)?;
    engine.close_dir(base);
    Ok(tally)
}

fn directory<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
    at: &E::Dir,
    name: &CStr,
    place: usize,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    worker.mongo.job.stop.check()?;
    engine.make_dir(at, name, 0o777)?;
    let dir = engine.open_dir(at, name)?;
    tally.directories += 1;
    let shape = worker.mongo.shape;
    let Some(directory_) = shape.directories.get(place) else {
        // A tree without data is an empty directory.
        engine.close_dir(dir);
        return Ok(());
    };
    let mut numbered = Numbered::new();
    worker.buffers.walk.timeline.resume();
    for number in 0..directory_.files {
        let size = shape.sizes[directory_.first + number];
        let name = numbered.name(None, number + 1);
        let mut file = engine.create(&dir, name, 0o777)?;
        fill(engine, worker, &mut file, directory_.first + number, size)?;
        engine.close(file)?;
        tally.files += 1;
        tally.bytes.0 += size;
        worker.buffers.walk.timeline.follow(tally);
    }
    for (number, below) in directory_.below.iter().enumerate() {
        let name = numbered.name(Some(b'd'), number);
        directory(engine, worker, &dir, name, *below, tally)?;
    }
    engine.close_dir(dir);
    Ok(())
}

/// Writes this number of bytes; contents of files differ.
fn fill<E: Calls>(
    engine: &mut E,
    worker: &Worker<'_>,
    file: &mut E::File,
    number: usize,
    size: u64,
) -> Result<(), LoadError> {
    let content = worker.mongo.content;
    let places = content.len() - CHUNK;
    // The step is coprime to the number of places, so that all are used in turn.
    let mut at = (number.wrapping_mul(7919) ^ worker.number.wrapping_mul(104_729)) % places;
    let mut left = size;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        engine.write(file, &content[at..at + length])?;
        left -= length as u64;
        at = (at + CHUNK + 1) % places;
        worker.mongo.job.stop.check()?;
    }
    Ok(())
}
