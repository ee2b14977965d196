//! The file operations of a build of C sources by `make`, `gcc -MD` and `ar`: check-out, compilation
//! of each source, an archive for each directory, a build with nothing to do, and clean-up.

use super::files;
use super::inventory::{INCLUDES, Item};
use super::paths::Part::{self, Number, Text};
use super::workers::Worker;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::sample::Tally;

/// How many times as large an object with debug information is as its source.
const OBJECT: u64 = 3;
/// The bytes of a list of dependencies, for each header.
const DEPENDENCY: u64 = 32;
/// Sources in one directory, as `inventory` places them.
pub(super) const PER_DIRECTORY: usize = 20;
/// Added to the number of a source, so that the content of its object differs.
const OF_OBJECT: usize = 1 << 28;

fn source(worker: &Worker<'_>, number: usize, suffix: &'static str) -> [Part; 5] {
    let group = worker.inventory.items[number].group;
    let (directory, name) = (Number(group), Number(number));
    [Text("src/d"), directory, Text("/s"), name, Text(suffix)]
}

fn header(item: &Item, number: usize) -> [Part; 5] {
    let (directory, name) = (Number(item.group), Number(number));
    [Text("include/d"), directory, Text("/h"), name, Text(".h")]
}

fn archive(directory: usize, suffix: &'static str) -> [Part; 4] {
    [
        Text("src/d"),
        Number(directory),
        Text("/built-in"),
        Text(suffix),
    ]
}

/// The headers of a source, as places in the list of requests.
fn includes(number: usize) -> std::ops::Range<usize> {
    number * INCLUDES..(number + 1) * INCLUDES
}

/// Writes all sources and headers, and examines each, as `git checkout` does.
pub(super) fn checkout<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    let mut file = |worker: &mut Worker<'_>, parts: &[Part], bytes, author| {
        let room = &mut *worker.room;
        let path = room.path.path(parts);
        files::create(calls, &mut room.data, (home, path), bytes, author)?;
        calls.stat(&Target::Entry(home, path))?;
        worker.ended(tally, bytes)
    };
    for number in worker.share(worker.inventory.headers.len()) {
        let item = worker.inventory.headers[number];
        file(
            worker,
            &header(&item, number),
            item.bytes,
            OF_OBJECT * 2 + number,
        )?;
    }
    for number in worker.share(worker.inventory.items.len()) {
        let bytes = worker.inventory.items[number].bytes;
        let parts = source(worker, number, ".c");
        file(worker, &parts, bytes, number)?;
    }
    Ok(())
}

/// Compiles each source: reads it with its headers, which are first looked up next to it, and
/// writes its object and its list of dependencies.
pub(super) fn compile<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let item = worker.inventory.items[number];
        let parts = source(worker, number, ".c");
        calls.exists(home, worker.path(&source(worker, number, ".o")))?;
        let room = &mut *worker.room;
        let path = room.path.path(&parts);
        calls.stat(&Target::Entry(home, path))?;
        let mut bytes = files::read(calls, &mut room.read, home, path)?;
        for include in includes(number) {
            let wanted = worker.inventory.requests[include];
            let parts = header(&worker.inventory.headers[wanted], wanted);
            let room = &mut *worker.room;
            let [_, _, letter, name, suffix] = parts;
            let near = [Text("src/d"), Number(item.group), letter, name, suffix];
            calls.exists(home, room.other.path(&near))?;
            bytes += files::read(calls, &mut room.read, home, room.path.path(&parts))?;
        }
        let (object, list) = (source(worker, number, ".o"), source(worker, number, ".d"));
        let room = &mut *worker.room;
        let written = [
            (object, OBJECT * item.bytes),
            (list, DEPENDENCY * INCLUDES as u64),
        ];
        for (parts, length) in written {
            let path = room.path.path(&parts);
            files::create(
                calls,
                &mut room.data,
                (home, path),
                length,
                OF_OBJECT + number,
            )?;
            bytes += length;
        }
        worker.ended(tally, bytes)?;
    }
    Ok(())
}

/// Writes an archive of the objects of each directory, under another name that is then replaced.
pub(super) fn link<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for directory in worker.share(directories(worker)) {
        let room = &mut *worker.room;
        let temporary = room.other.path(&archive(directory, ".tmp"));
        let mut into = calls.create(home, temporary, files::MODE)?;
        let mut bytes = 0;
        for number in sources(worker, directory) {
            let parts = source(worker, number, ".o");
            let room = &mut *worker.room;
            let read = files::read(calls, &mut room.read, home, room.path.path(&parts))?;
            files::fill(calls, &mut room.data, &mut into, read, OF_OBJECT + number)?;
            bytes += 2 * read;
        }
        calls.close(into)?;
        let room = &mut *worker.room;
        let temporary = room.other.path(&archive(directory, ".tmp"));
        calls.rename(home, temporary, room.path.path(&archive(directory, ".a")))?;
        worker.ended(tally, bytes)?;
    }
    Ok(())
}

/// Examines each source, its object, and all headers in its list of dependencies.
pub(super) fn check<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        for suffix in [".c", ".o"] {
            let parts = source(worker, number, suffix);
            calls.stat(&Target::Entry(home, worker.path(&parts)))?;
        }
        let parts = source(worker, number, ".d");
        let room = &mut *worker.room;
        let bytes = files::read(calls, &mut room.read, home, room.path.path(&parts))?;
        for include in includes(number) {
            let wanted = worker.inventory.requests[include];
            let parts = header(&worker.inventory.headers[wanted], wanted);
            calls.stat(&Target::Entry(home, worker.path(&parts)))?;
        }
        worker.ended(tally, bytes)?;
    }
    Ok(())
}

/// Removes objects, lists of dependencies and archives.
pub(super) fn clean<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for directory in worker.share(directories(worker)) {
        for number in sources(worker, directory) {
            for suffix in [".o", ".d"] {
                let parts = source(worker, number, suffix);
                calls.unlink(home, worker.path(&parts))?;
            }
            worker.ended(tally, 0)?;
        }
        calls.unlink(home, worker.path(&archive(directory, ".a")))?;
    }
    Ok(())
}

fn directories(worker: &Worker<'_>) -> usize {
    worker.inventory.items.len().div_ceil(PER_DIRECTORY)
}

/// The sources in a directory.
fn sources(worker: &Worker<'_>, directory: usize) -> std::ops::Range<usize> {
    let end = worker.inventory.items.len();
    directory * PER_DIRECTORY..((directory + 1) * PER_DIRECTORY).min(end)
}
