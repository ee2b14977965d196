//! A web server of static files: a site is published, and requested by popularity.

use super::files;
use super::paths::Part::{self, Number, Text};
use super::workers::Worker;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::sample::Tally;

/// The path of a file of the site, in a directory of a hundred.
fn page(worker: &Worker<'_>, number: usize) -> [Part; 4] {
    let group = worker.inventory.items[number].group;
    [Text("d"), Number(group), Text("/p"), Number(number)]
}

/// Writes each file under another name, and renames it into place.
pub(super) fn publish<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let bytes = worker.inventory.items[number].bytes;
        let [letter, group, separator, name] = page(worker, number);
        let room = &mut *worker.room;
        let part = [letter, group, separator, name, Text(".part")];
        let new = room.other.path(&part);
        files::create(calls, &mut room.data, (home, new), bytes, number)?;
        calls.rename(home, new, room.path.path(&part[..4]))?;
        worker.ended(tally, bytes)?;
    }
    Ok(())
}

/// Reads the requested files.
pub(super) fn serve<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for request in worker.share(worker.inventory.requests.len()) {
        let parts = page(worker, worker.inventory.requests[request]);
        let room = &mut *worker.room;
        let path = room.path.path(&parts);
        calls.stat(&Target::Entry(home, path))?;
        let bytes = files::read(calls, &mut room.read, home, path)?;
        worker.ended(tally, bytes)?;
    }
    Ok(())
}
