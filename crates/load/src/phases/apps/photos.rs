//! A photo library: large files are imported, read for thumbnails, read back in order, and deleted.

use super::inventory::THUMBNAIL;
use super::paths::Part::{self, Number, Text};
use super::steps::Steps;
use super::workers::Worker;
use crate::engines::Calls;
use crate::error::LoadError;

/// The path of a photo, in the directory of its day.
fn photo(worker: &Worker<'_>, number: usize) -> [Part; 4] {
    let day = worker.inventory.items[number].group;
    [Text("d"), Number(day), Text("/p"), Number(number)]
}

fn thumbnail(number: usize) -> [Part; 2] {
    [Text("thumbnails/t"), Number(number)]
}

pub(super) fn import<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        let bytes = steps.inventory.items[number].bytes;
        steps.create(&photo(steps, number), bytes, number)?;
        steps.ended(bytes)?;
    }
    Ok(())
}

/// Reads each photo and writes its thumbnail, which is renamed into place (Thumbnail Managing
/// Standard of freedesktop.org).
pub(super) fn thumbnails<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        let bytes = steps.read(&photo(steps, number))?;
        let [prefix, name] = thumbnail(number);
        let new = [prefix, name, Text(".part")];
        steps.create(&new, THUMBNAIL, number)?;
        steps.rename(&new, &thumbnail(number))?;
        steps.ended(bytes + THUMBNAIL)?;
    }
    Ok(())
}

/// Reads all photos, in the order of their names.
pub(super) fn view<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        let bytes = steps.read(&photo(steps, number))?;
        steps.ended(bytes)?;
    }
    Ok(())
}

/// Deletes all photos and thumbnails; the directories stay.
pub(super) fn delete<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        steps.unlink(&photo(steps, number))?;
        steps.unlink(&thumbnail(number))?;
        steps.ended(0)?;
    }
    Ok(())
}
