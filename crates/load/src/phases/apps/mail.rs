//! Mail in the maildir format: delivery, reading, and removal, each as a mail server does it.

use super::paths::Part::{self, Number, Text};
use super::steps::Steps;
use super::workers::Worker;
use crate::engines::Calls;
use crate::error::LoadError;
use std::ops::Range;

/// The marks of a message in `cur`: read, and read and deleted.
#[derive(Clone, Copy)]
enum Flags {
    Seen,
    Deleted,
}

/// The separator before the flags is a colon, or an exclamation mark if names have no colon.
fn flags(worker: &Worker<'_>, flags: Flags) -> Part {
    let colon = worker.job.stores.names.allows(b"a:2,S");
    Text(match (colon, flags) {
        (true, Flags::Seen) => ":2,S",
        (true, Flags::Deleted) => ":2,ST",
        (false, Flags::Seen) => "!2,S",
        (false, Flags::Deleted) => "!2,ST",
    })
}

fn mailbox(number: usize) -> [Part; 2] {
    [Text("b"), Number(number)]
}

/// Delivers messages: each is written to `tmp`, made durable, and renamed to `new`, whose names are
/// made durable as well. Deliverers share all mailboxes.
pub(super) fn deliver<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    for number in steps.items() {
        let item = steps.inventory.items[number];
        let [letter, of] = mailbox(item.group);
        let tmp = [letter, of, Text("/tmp/m"), Number(number)];
        steps.create_durable(&tmp, item.bytes, number)?;
        steps.rename(&tmp, &[letter, of, Text("/new/m"), Number(number)])?;
        steps.sync_dir(&[letter, of, Text("/new")])?;
        steps.ended(item.bytes)?;
    }
    Ok(())
}

/// Lists each mailbox, reads its new messages, and renames them to `cur` with the flag of read
/// messages.
pub(super) fn read<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    let seen = flags(steps, Flags::Seen);
    for mailbox_number in mailboxes(steps) {
        let [letter, of] = mailbox(mailbox_number);
        steps.list(&[letter, of, Text("/new")])?;
        steps.buffers.timeline.resume();
        for place in messages(steps, mailbox_number) {
            let number = steps.inventory.requests[place];
            let new = [letter, of, Text("/new/m"), Number(number)];
            let bytes = steps.read(&new)?;
            steps.rename(&new, &[letter, of, Text("/cur/m"), Number(number), seen])?;
            steps.ended(bytes)?;
        }
    }
    Ok(())
}

/// Flags every second message as deleted, removes these messages, and makes the names in `cur`
/// durable.
pub(super) fn expunge<C: Calls>(steps: &mut Steps<'_, '_, C>) -> Result<(), LoadError> {
    let (seen, deleted) = (flags(steps, Flags::Seen), flags(steps, Flags::Deleted));
    for mailbox_number in mailboxes(steps) {
        let messages = messages(steps, mailbox_number).step_by(2);
        let [letter, of] = mailbox(mailbox_number);
        let cur = |number, flags| [letter, of, Text("/cur/m"), Number(number), flags];
        for place in messages.clone() {
            let number = steps.inventory.requests[place];
            steps.rename(&cur(number, seen), &cur(number, deleted))?;
        }
        steps.buffers.timeline.resume();
        for place in messages {
            let number = steps.inventory.requests[place];
            steps.unlink(&cur(number, deleted))?;
            steps.ended(0)?;
        }
        steps.sync_dir(&[letter, of, Text("/cur")])?;
    }
    Ok(())
}

/// The messages of a mailbox, as places in the list of requests.
pub(super) fn messages(worker: &Worker<'_>, mailbox: usize) -> Range<usize> {
    let group = |number: &usize| worker.inventory.items[*number].group;
    let by_mailbox = &worker.inventory.requests;
    let first = by_mailbox.partition_point(|number| group(number) < mailbox);
    first..by_mailbox.partition_point(|number| group(number) <= mailbox)
}

fn mailboxes(worker: &Worker<'_>) -> Range<usize> {
    worker.share(worker.parameters.groups)
}
