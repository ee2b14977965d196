//! The file operations of a build of C sources by `make`, `gcc -MD` and `ar`: check-out, compilation
//! of each source, an archive for each directory, a build with nothing to do, and clean-up.

use super::files;
use super::inventory::{INCLUDES, Item};
use super::paths::Part::{self, Number, Text};
use super::steps::Steps;
use super::workers::Worker;
use crate::engines::Calls;
use crate::error::LoadError;

/// The size of an object with debug information, as a multiple of its source.
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
pub(super) fn checkout<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.share(steps.inventory.headers.len()) {
        let item = steps.inventory.headers[number];
        check_out(
            steps,
            &header(&item, number),
            item.bytes,
            OF_OBJECT * 2 + number,
        )?;
    }
    for number in steps.items() {
        let bytes = steps.inventory.items[number].bytes;
        check_out(steps, &source(steps, number, ".c"), bytes, number)?;
    }
    Ok(())
}

fn check_out<C: Calls>(
    steps: &mut Steps<'_, '_, C>,
    path: &[Part],
    bytes: u64,
    author: usize,
) -> Result<(), LoadError> {
    steps.create(path, bytes, author)?;
    steps.stat(path)?;
    steps.ended(bytes)
}

/// Compiles each source: reads it with its headers, which are first looked up next to it, and
/// writes its object and its list of dependencies.
pub(super) fn compile<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        let item = steps.inventory.items[number];
        let text = source(steps, number, ".c");
        let (object, list) = (source(steps, number, ".o"), source(steps, number, ".d"));
        steps.exists(&object)?;
        steps.stat(&text)?;
        let mut bytes = steps.read(&text)?;
        for include in includes(number) {
            let wanted = steps.inventory.requests[include];
            let header = header(&steps.inventory.headers[wanted], wanted);
            let [_, _, letter, name, suffix] = header;
            steps.exists(&[Text("src/d"), Number(item.group), letter, name, suffix])?;
            bytes += steps.read(&header)?;
        }
        let written = [
            (object, OBJECT * item.bytes),
            (list, DEPENDENCY * INCLUDES as u64),
        ];
        for (path, length) in written {
            steps.create(&path, length, OF_OBJECT + number)?;
            bytes += length;
        }
        steps.ended(bytes)?;
    }
    Ok(())
}

/// Writes an archive of the objects of each directory, under another name that is then replaced.
pub(super) fn link<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for directory in steps.share(directories(steps)) {
        let temporary = archive(directory, ".tmp");
        let path = steps.worker.buffers.path.path(&temporary);
        let mut into = steps.calls.create(steps.home, path, files::MODE)?;
        let mut bytes = 0;
        for number in sources(steps, directory) {
            let read = steps.read(&source(steps, number, ".o"))?;
            let data = &mut steps.worker.buffers.data;
            files::fill(steps.calls, data, &mut into, read, OF_OBJECT + number)?;
            bytes += 2 * read;
        }
        steps.calls.close(into)?;
        steps.rename(&temporary, &archive(directory, ".a"))?;
        steps.ended(bytes)?;
    }
    Ok(())
}

/// Examines each source, its object, and all headers in its list of dependencies.
pub(super) fn check<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        for suffix in [".c", ".o"] {
            steps.stat(&source(steps, number, suffix))?;
        }
        let bytes = steps.read(&source(steps, number, ".d"))?;
        for include in includes(number) {
            let wanted = steps.inventory.requests[include];
            steps.stat(&header(&steps.inventory.headers[wanted], wanted))?;
        }
        steps.ended(bytes)?;
    }
    Ok(())
}

/// Removes objects, lists of dependencies and archives.
pub(super) fn clean<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for directory in steps.share(directories(steps)) {
        for number in sources(steps, directory) {
            for suffix in [".o", ".d"] {
                steps.unlink(&source(steps, number, suffix))?;
            }
            steps.ended(0)?;
        }
        steps.unlink(&archive(directory, ".a"))?;
    }
    Ok(())
}

fn directories(worker: &Worker<'_>) -> usize {
    worker.inventory.items.len().div_ceil(PER_DIRECTORY)
}

fn sources(worker: &Worker<'_>, directory: usize) -> std::ops::Range<usize> {
    let end = worker.inventory.items.len();
    directory * PER_DIRECTORY..((directory + 1) * PER_DIRECTORY).min(end)
}
