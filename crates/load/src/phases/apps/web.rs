//! A web server of static files: a site is published, and requested by popularity.

use super::paths::Part::{self, Number, Text};
use super::steps::Steps;
use super::workers::Worker;
use crate::engines::Calls;
use crate::error::LoadError;

/// The path of a file of the site, in a directory of a hundred.
fn page(worker: &Worker<'_>, number: usize) -> [Part; 4] {
    let group = worker.inventory.items[number].group;
    [Text("d"), Number(group), Text("/p"), Number(number)]
}

/// Writes each file under another name, and renames it into place.
pub(super) fn publish<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        let bytes = steps.inventory.items[number].bytes;
        let [letter, group, separator, name] = page(steps, number);
        let part = [letter, group, separator, name, Text(".part")];
        steps.create(&part, bytes, number)?;
        steps.rename(&part, &part[..4])?;
        steps.ended(bytes)?;
    }
    Ok(())
}

/// Reads the requested files.
pub(super) fn serve<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for request in steps.share(steps.inventory.requests.len()) {
        let page = page(steps, steps.inventory.requests[request]);
        steps.stat(&page)?;
        let bytes = steps.read(&page)?;
        steps.ended(bytes)?;
    }
    Ok(())
}
