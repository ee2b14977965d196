//! Images and containers: layers of hard links to stored objects, and containers that read and
//! change files of these layers, as an overlay file system does.

use super::paths::Part::{self, Number, Text};
use super::steps::Steps;
use super::workers::Worker;
use crate::engines::Calls;
use crate::engines::meta::Kind;
use crate::error::LoadError;

/// Files in one directory of a layer.
const PER_DIRECTORY: usize = 50;
/// A container changes every eighth of the files that it requests, and deletes every sixteenth.
const CHANGED_OF: usize = 8;
const DELETED_OF: usize = 16;
/// Added to the number of a file, so that its changed content differs.
const CHANGED: usize = 1 << 30;

/// The action of a container on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Change,
    Delete,
}

/// The action of a container on the file of its `at`th request.
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

fn files_of(worker: &Worker<'_>, layer: usize) -> std::ops::Range<usize> {
    let items = &worker.inventory.items;
    let first = items.partition_point(|item| item.group < layer);
    first..items.partition_point(|item| item.group <= layer)
}

/// Unpacks each layer: stores the files as objects, links them into the tree of the layer, and
/// renames the complete tree.
pub(super) fn pull<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for layer in steps.share(steps.parameters.groups) {
        let new = [Text("new-"), Number(layer)];
        steps.make_dir(&new)?;
        let mut directory = None;
        for number in files_of(steps, layer) {
            let file = in_layer("new-", layer, number);
            if directory.replace(number / PER_DIRECTORY) != Some(number / PER_DIRECTORY) {
                steps.make_dir(&file[..4])?;
                steps.tally.directories += 1;
            }
            let bytes = steps.inventory.items[number].bytes;
            let object = object(number);
            let part = [object[0], object[1], Text(".part")];
            steps.create(&part, bytes, number)?;
            steps.rename(&part, &object)?;
            steps.link(&object, &file)?;
            steps.ended(bytes)?;
        }
        steps.rename(&new, &[Text("layer-"), Number(layer)])?;
    }
    Ok(())
}

/// Starts containers. Each looks its files up from its own directory down through all layers, and
/// reads them; some it copies to its own directory and changes, and some it hides.
pub(super) fn start<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    let each = steps.inventory.items.len().div_ceil(4);
    for container in steps.share(steps.parameters.requests) {
        for name in ["", "/upper", "/work"] {
            steps.make_dir(&in_container(container, name))?;
            steps.tally.directories += 1;
        }
        for at in 0..each {
            let number = steps.inventory.requests[container * each + at];
            if steps.exists(&upper(container, number))? {
                // It is already changed or deleted in this container.
                steps.ended(0)?;
                continue;
            }
            let layer = steps.inventory.items[number].group;
            for above in (layer + 1..steps.parameters.groups).rev() {
                steps.exists(&in_layer("layer-", above, number))?;
            }
            let bytes = request(steps, container, number, use_of(at))?;
            steps.ended(bytes)?;
        }
    }
    Ok(())
}

/// Reads, changes or deletes a file of a layer in a container; returns the bytes.
fn request<C: Calls>(
    steps: &mut Steps<'_, '_, C>,
    container: usize,
    number: usize,
    what: Use,
) -> Result<u64, LoadError> {
    let item = steps.inventory.items[number];
    let mut bytes = 0;
    if what != Use::Delete {
        bytes = steps.read(&in_layer("layer-", item.group, number))?;
    }
    if what == Use::Read {
        return Ok(bytes);
    }
    let work = in_container(container, "/work/new");
    if what == Use::Change {
        // The kernel syncs a copy before it replaces the name (overlayfs, `ovl_copy_up_file`).
        steps.create_durable(&work, item.bytes, CHANGED + number)?;
        bytes += item.bytes;
    } else {
        // A whiteout is a character device with the number 0:0 (overlayfs.rst).
        let path = steps.worker.buffers.path.path(&work);
        steps
            .calls
            .make_node(steps.home, path, Kind::Character, 0, 0)?;
    }
    steps.rename(&work, &upper(container, number))?;
    Ok(bytes)
}

/// Removes all containers; the layers stay.
pub(super) fn remove<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    let each = steps.inventory.items.len().div_ceil(4);
    for container in steps.share(steps.parameters.requests) {
        for at in 0..each {
            let own = upper(container, steps.inventory.requests[container * each + at]);
            // A name that is requested again later is found and removed here.
            if use_of(at) != Use::Read && steps.exists(&own)? {
                steps.unlink(&own)?;
                steps.ended(0)?;
            }
        }
        for name in ["/work", "/upper", ""] {
            steps.remove_dir(&in_container(container, name))?;
            steps.tally.directories += 1;
        }
    }
    Ok(())
}
