//! A photo library: large files are imported, read for thumbnails, read back in order, and deleted.

use super::files;
use super::inventory::THUMBNAIL;
use super::paths::Part::{self, Number, Text};
use super::workers::Worker;
use crate::engines::Calls;
use crate::error::LoadError;
use fsdyno_model::sample::Tally;

/// The path of a photo, in the directory of its day.
fn photo(worker: &Worker<'_>, number: usize) -> [Part; 4] {
    let day = worker.inventory.items[number].group;
    [Text("d"), Number(day), Text("/p"), Number(number)]
}

fn thumbnail(number: usize) -> [Part; 2] {
    [Text("thumbnails/t"), Number(number)]
}

/// Writes all photos.
pub(super) fn import<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let bytes = worker.inventory.items[number].bytes;
        let parts = photo(worker, number);
        let room = &mut *worker.room;
        let path = room.path.path(&parts);
        files::create(calls, &mut room.data, (home, path), bytes, number)?;
        worker.ended(tally, bytes)?;
    }
    Ok(())
}

/// Reads each photo and writes its thumbnail, which is renamed into place (Thumbnail Managing
/// Standard of freedesktop.org).
pub(super) fn thumbnails<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let parts = photo(worker, number);
        let room = &mut *worker.room;
        let bytes = files::read(calls, &mut room.read, home, room.path.path(&parts))?;
        let [prefix, name] = thumbnail(number);
        let new = room.other.path(&[prefix, name, Text(".part")]);
        files::create(calls, &mut room.data, (home, new), THUMBNAIL, number)?;
        calls.rename(home, new, room.path.path(&thumbnail(number)))?;
        worker.ended(tally, bytes + THUMBNAIL)?;
    }
    Ok(())
}

/// Reads all photos, in the order of their names.
pub(super) fn view<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let parts = photo(worker, number);
        let room = &mut *worker.room;
        let bytes = files::read(calls, &mut room.read, home, room.path.path(&parts))?;
        worker.ended(tally, bytes)?;
    }
    Ok(())
}

/// Deletes all photos and thumbnails; the directories stay.
pub(super) fn delete<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let parts = photo(worker, number);
        calls.unlink(home, worker.path(&parts))?;
        calls.unlink(home, worker.path(&thumbnail(number)))?;
        worker.ended(tally, 0)?;
    }
    Ok(())
}
