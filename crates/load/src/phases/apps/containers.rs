//! Images and containers: layers of hard links to stored objects, and containers that read and
//! change files of these layers, as an overlay file system does.

use super::files::{self, DIRECTORY_MODE};
use super::paths::Part::{self, Number, Text};
use super::workers::Worker;
use crate::engines::Calls;
use crate::engines::meta::Kind;
use crate::error::LoadError;
use fsdyno_model::sample::Tally;

/// Files in one directory of a layer.
const PER_DIRECTORY: usize = 50;
/// Of the files that a container requests, it changes every eighth, and deletes every sixteenth.
const CHANGED_OF: usize = 8;
const DELETED_OF: usize = 16;
/// Added to the number of a file, so that its changed content differs.
const CHANGED: usize = 1 << 30;

/// What a container does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Change,
    Delete,
}

/// What a container does with its `at`th request.
pub(super) fn use_of(at: usize) -> Use {
    match at % DELETED_OF {
        15 => Use::Delete,
        at if at % CHANGED_OF == 3 => Use::Change,
        _ => Use::Read,
    }
}

fn object(number: usize) -> [Part; 2] {
    [Text("objects/o"), Number(number)]
}

/// The path of a file in a layer with this prefix: `layer-`, or `new-` until it is complete.
fn in_layer(prefix: &'static str, layer: usize, number: usize) -> [Part; 6] {
    let directory = Number(number / PER_DIRECTORY);
    let (layer, name) = (Number(layer), Number(number));
    [Text(prefix), layer, Text("/d"), directory, Text("/f"), name]
}

fn upper(container: usize, number: usize) -> [Part; 4] {
    let (container, name) = (Number(container), Number(number));
    [Text("c"), container, Text("/upper/f"), name]
}

fn in_container(container: usize, name: &'static str) -> [Part; 3] {
    [Text("c"), Number(container), Text(name)]
}

/// The files of a layer.
fn files_of(worker: &Worker<'_>, layer: usize) -> std::ops::Range<usize> {
    let items = &worker.inventory.items;
    let first = items.partition_point(|item| item.group < layer);
    first..items.partition_point(|item| item.group <= layer)
}

/// Unpacks each layer: stores the files as objects, links them into the tree of the layer, and
/// renames the complete tree.
pub(super) fn pull<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for layer in worker.share(worker.parameters.groups) {
        let new = [Text("new-"), Number(layer)];
        calls.make_dir(home, worker.path(&new), DIRECTORY_MODE)?;
        let mut directory = None;
        for number in files_of(worker, layer) {
            let parts = in_layer("new-", layer, number);
            if directory.replace(number / PER_DIRECTORY) != Some(number / PER_DIRECTORY) {
                calls.make_dir(home, worker.path(&parts[..4]), DIRECTORY_MODE)?;
                tally.directories += 1;
            }
            let bytes = worker.inventory.items[number].bytes;
            let room = &mut *worker.room;
            let [prefix, name] = object(number);
            let part = room.other.path(&[prefix, name, Text(".part")]);
            files::create(calls, &mut room.data, (home, part), bytes, number)?;
            calls.rename(home, part, room.path.path(&object(number)))?;
            let stored = room.path.path(&object(number));
            calls.link((home, stored), home, room.other.path(&parts))?;
            worker.ended(tally, bytes)?;
        }
        let room = &mut *worker.room;
        let complete = room.other.path(&[Text("layer-"), Number(layer)]);
        calls.rename(home, room.path.path(&new), complete)?;
    }
    Ok(())
}

/// Starts containers. Each looks its files up from its own directory down through all layers, and
/// reads them; some it copies to its own directory and changes, and some it hides.
pub(super) fn start<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    let each = worker.inventory.items.len().div_ceil(4);
    for container in worker.share(worker.parameters.requests) {
        for name in ["", "/upper", "/work"] {
            let path = worker.path(&in_container(container, name));
            calls.make_dir(home, path, DIRECTORY_MODE)?;
            tally.directories += 1;
        }
        for at in 0..each {
            let number = worker.inventory.requests[container * each + at];
            let own = upper(container, number);
            if calls.exists(home, worker.path(&own))? {
                // It is already changed or deleted in this container.
                worker.ended(tally, 0)?;
                continue;
            }
            let layer = worker.inventory.items[number].group;
            for above in (layer + 1..worker.parameters.groups).rev() {
                let parts = in_layer("layer-", above, number);
                calls.exists(home, worker.path(&parts))?;
            }
            let bytes = request(calls, home, worker, (container, number), use_of(at))?;
            worker.ended(tally, bytes)?;
        }
    }
    Ok(())
}

/// Reads, changes or deletes a file of a layer in a container; returns the bytes.
fn request<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    (container, number): (usize, usize),
    what: Use,
) -> Result<u64, LoadError> {
    let item = worker.inventory.items[number];
    let lower = in_layer("layer-", item.group, number);
    let room = &mut *worker.room;
    let mut bytes = 0;
    if what != Use::Delete {
        bytes = files::read(calls, &mut room.read, home, room.path.path(&lower))?;
    }
    if what == Use::Read {
        return Ok(bytes);
    }
    let work = room.path.path(&in_container(container, "/work/new"));
    if what == Use::Change {
        // The kernel syncs a copy before it replaces the name (overlayfs, `ovl_copy_up_file`).
        let mut file = calls.create(home, work, files::MODE)?;
        files::fill(
            calls,
            &mut room.data,
            &mut file,
            item.bytes,
            CHANGED + number,
        )?;
        calls.make_durable(&mut file)?;
        calls.close(file)?;
        bytes += item.bytes;
    } else {
        // A whiteout is a character device with the number 0:0 (overlayfs.rst).
        calls.make_node(home, work, Kind::Character, 0, 0)?;
    }
    calls.rename(home, work, room.other.path(&upper(container, number)))?;
    Ok(bytes)
}

/// Removes all containers; the layers stay.
pub(super) fn remove<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for container in worker.share(worker.parameters.requests) {
        let each = worker.inventory.items.len().div_ceil(4);
        let mut at = 0;
        while at < each {
            let number = worker.inventory.requests[container * each + at];
            let own = upper(container, number);
            // Requested once more later: the name is found and removed here.
            if use_of(at) != Use::Read && calls.exists(home, worker.path(&own))? {
                calls.unlink(home, worker.path(&own))?;
                worker.ended(tally, 0)?;
            }
            at += 1;
        }
        for name in ["/work", "/upper", ""] {
            calls.remove_dir(home, worker.path(&in_container(container, name)))?;
            tally.directories += 1;
        }
    }
    Ok(())
}
