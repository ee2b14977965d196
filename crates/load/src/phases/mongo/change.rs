//! Changes to every regular file of a worker's tree: adds a symbolic link, renames it, appends
//! data, or overwrites data.

use super::workers::{CHUNK, Worker};
use crate::engines::meta::Kind;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use crate::phases::walk::{Above, Visitor, walk, walk_work_dir};
use crate::phases::{delete, read};
use fsdyno_model::sample::Tally;
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;

/// The suffixes of links and renamed files.
const LINK: &[u8] = b".lnk";
const RENAMED: &[u8] = b".r";

/// A function that changes one file.
type Change<E> = fn(&mut E, &<E as Calls>::Dir, &CStr, &mut Changing<'_>) -> Result<(), LoadError>;

pub(super) struct Changing<'a> {
    /// The path of the current directory, with space for a name after it.
    path: Vec<u8>,
    name: Vec<u8>,
    buffer: &'a mut [u8],
    content: &'a [u8],
    tally: Tally,
}

struct Changes<'a, E: Calls> {
    change: Change<E>,
    at_hand: Changing<'a>,
}

/// Walks the tree of a worker and changes every regular file in it.
fn each<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
    change: Change<E>,
) -> Result<Tally, LoadError> {
    let job = worker.mongo.job;
    let mut path = Vec::with_capacity(libc::PATH_MAX as usize);
    path.extend_from_slice(job.root.as_os_str().as_bytes());
    let mut changes = Changes {
        change,
        at_hand: Changing {
            path,
            name: Vec::with_capacity(260),
            buffer: &mut worker.buffers.data,
            content: worker.mongo.content,
            tally: Tally::default(),
        },
    };
    let state = &mut worker.buffers.walk;
    walk_work_dir(engine, job, &worker.trees[0], state, &mut changes)?;
    Ok(changes.at_hand.tally)
}

impl<E: Calls> Visitor<E> for Changes<'_, E> {
    /// The length of the path of the directory.
    type Level = usize;

    fn enter(
        &mut self,
        _engine: &mut E,
        _dir: &E::Dir,
        above: Above<'_, E::Dir, usize>,
        name: &CStr,
    ) -> Result<usize, LoadError> {
        let path = &mut self.at_hand.path;
        if let Some(above) = above.level {
            path.truncate(*above);
        }
        path.push(b'/');
        path.extend_from_slice(name.to_bytes());
        self.at_hand.tally.directories += 1;
        Ok(self.at_hand.path.len())
    }

    fn tally(&self) -> &Tally {
        &self.at_hand.tally
    }

    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        level: &mut usize,
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError> {
        if kind != Kind::File {
            return Ok(());
        }
        self.at_hand.path.truncate(*level);
        (self.change)(engine, dir, name, &mut self.at_hand)
    }
}

/// Creates an absolute symbolic link next to every regular file, and reads it.
pub(super) fn symlinks<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
) -> Result<Tally, LoadError> {
    each(engine, worker, |engine, dir, name, at_hand| {
        at_hand.path.push(b'/');
        at_hand.path.extend_from_slice(name.to_bytes_with_nul());
        let target = CStr::from_bytes_until_nul(&at_hand.path).unwrap_or_default();
        let link = ended(&mut at_hand.name, name, LINK);
        engine.symlink(target, dir, link)?;
        engine.stat(&Target::Entry(dir, link))?;
        engine.read_link(dir, link, at_hand.buffer)?;
        at_hand.tally.files += 1;
        Ok(())
    })
}

/// Renames every regular file.
pub(super) fn rename<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
) -> Result<Tally, LoadError> {
    each(engine, worker, |engine, dir, name, at_hand| {
        // A file that is renamed during the listing of its directory may be listed again.
        if name.to_bytes().ends_with(RENAMED) {
            return Ok(());
        }
        let new = ended(&mut at_hand.name, name, RENAMED);
        at_hand.tally.files += 1;
        engine.rename(dir, name, new)
    })
}

/// Appends half of its size to every regular file.
pub(super) fn append<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
) -> Result<Tally, LoadError> {
    each(engine, worker, |engine, dir, name, at_hand| {
        write(engine, dir, name, at_hand, |size| (size, size.div_ceil(2)))
    })
}

/// Overwrites the middle tenth of every regular file, at least one byte.
pub(super) fn modify<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
) -> Result<Tally, LoadError> {
    each(engine, worker, |engine, dir, name, at_hand| {
        write(engine, dir, name, at_hand, |size| {
            let length = size.div_ceil(10);
            ((size - length) / 2, length)
        })
    })
}

/// Reads every regular file of all workers, 4096 bytes per call.
pub(super) fn read<E: Calls>(engine: &mut E, worker: &mut Worker<'_>) -> Result<Tally, LoadError> {
    let job = worker.mongo.job;
    let mut visitor = read::EachFile::new(read::ReadAll {
        buffer: &mut worker.buffers.data[..CHUNK],
        stop: job.stop,
    });
    walk_work_dir(engine, job, c".", &mut worker.buffers.walk, &mut visitor)?;
    Ok(visitor.tally)
}

pub(super) fn stats<E: Calls>(engine: &mut E, worker: &mut Worker<'_>) -> Result<Tally, LoadError> {
    let job = worker.mongo.job;
    let mut visitor = StatAll::default();
    walk_work_dir(engine, job, c".", &mut worker.buffers.walk, &mut visitor)?;
    Ok(visitor.tally)
}

/// Deletes both trees of a worker; a missing tree is skipped.
pub(super) fn delete<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
) -> Result<Tally, LoadError> {
    let job = worker.mongo.job;
    let base = engine.open_work_dir(job.root)?;
    let mut visitor = delete::Delete::default();
    for tree in &worker.trees {
        if engine.exists(&base, tree)? {
            let state = &mut worker.buffers.walk;
            walk(engine, &base, tree, state, job.stop, &mut visitor)?;
        }
    }
    engine.close_dir(base);
    Ok(visitor.tally)
}

/// Stats all entries except the root of the walk, which belongs to no worker.
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
        if above.level.is_some() {
            engine.stat(&Target::Entry(above.dir, name))?;
            self.tally.directories += 1;
        }
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
        _kind: Kind,
    ) -> Result<(), LoadError> {
        engine.stat(&Target::Entry(dir, name))?;
        self.tally.files += 1;
        Ok(())
    }
}

/// A name with a suffix.
fn ended<'n>(buffers: &'n mut Vec<u8>, name: &CStr, end: &[u8]) -> &'n CStr {
    buffers.clear();
    buffers.extend_from_slice(name.to_bytes());
    buffers.extend_from_slice(end);
    buffers.push(0);
    CStr::from_bytes_until_nul(buffers).unwrap_or_default()
}

/// Writes to a file, at an offset and with a length that follow from its size.
fn write<E: Calls>(
    engine: &mut E,
    dir: &E::Dir,
    name: &CStr,
    at_hand: &mut Changing<'_>,
    part: fn(u64) -> (u64, u64),
) -> Result<(), LoadError> {
    let mut file = engine.open_to_write(dir, name)?;
    let size = engine.stat(&Target::File(&file))?.size;
    let (offset, length) = part(size);
    engine.seek(&mut file, offset)?;
    let mut left = length;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        engine.write(&mut file, &at_hand.content[..piece])?;
        left -= piece as u64;
    }
    at_hand.tally.files += 1;
    at_hand.tally.bytes.0 += length;
    engine.close(file)
}
