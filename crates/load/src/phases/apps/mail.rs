//! Mail in the maildir format: delivery, reading, and removal, each as a mail server does it.

use super::files::{self, MODE};
use super::paths::Part::{self, Number, Text};
use super::workers::Worker;
use crate::engines::Calls;
use crate::error::LoadError;
use fsdyno_model::sample::Tally;
use std::ops::Range;

/// The marks of a message in `cur`: read, and read and deleted.
#[derive(Clone, Copy)]
enum Flags {
    Seen,
    Deleted,
}

/// The separator before the flags is a colon, or an exclamation mark where names have no colon.
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
pub(super) fn deliver<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    for number in worker.share(worker.inventory.items.len()) {
        let item = worker.inventory.items[number];
        let [letter, of] = mailbox(item.group);
        let room = &mut *worker.room;
        let tmp = room
            .path
            .path(&[letter, of, Text("/tmp/m"), Number(number)]);
        let mut file = calls.create(home, tmp, MODE)?;
        files::fill(calls, &mut room.data, &mut file, item.bytes, number)?;
        calls.make_durable(&mut file)?;
        calls.close(file)?;
        let new = room
            .other
            .path(&[letter, of, Text("/new/m"), Number(number)]);
        calls.rename(home, tmp, new)?;
        files::sync_dir(calls, home, worker.path(&[letter, of, Text("/new")]))?;
        worker.ended(tally, item.bytes)?;
    }
    Ok(())
}

/// Lists each mailbox, reads its new messages, and renames them to `cur` with the flag of read
/// messages.
pub(super) fn read<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    let seen = flags(worker, Flags::Seen);
    each_mailbox(worker, |worker, of| {
        let messages = messages(worker, of);
        let [letter, of] = mailbox(of);
        let room = &mut *worker.room;
        let new = room.path.path(&[letter, of, Text("/new")]);
        files::list(calls, &mut room.listing, home, new)?;
        room.timeline.resume();
        for place in messages {
            let number = worker.inventory.requests[place];
            let room = &mut *worker.room;
            let new = room
                .path
                .path(&[letter, of, Text("/new/m"), Number(number)]);
            let bytes = files::read(calls, &mut room.read, home, new)?;
            let cur = [letter, of, Text("/cur/m"), Number(number), seen];
            calls.rename(home, new, room.other.path(&cur))?;
            worker.ended(tally, bytes)?;
        }
        Ok(())
    })
}

/// Flags every second message as deleted, removes these messages, and makes the names in `cur`
/// durable.
pub(super) fn expunge<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    worker: &mut Worker<'_>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    let (seen, deleted) = (flags(worker, Flags::Seen), flags(worker, Flags::Deleted));
    each_mailbox(worker, |worker, of| {
        let messages = messages(worker, of);
        let [letter, of] = mailbox(of);
        let cur = |number, flags| [letter, of, Text("/cur/m"), Number(number), flags];
        for place in messages.clone().step_by(2) {
            let number = worker.inventory.requests[place];
            let room = &mut *worker.room;
            let from = room.path.path(&cur(number, seen));
            calls.rename(home, from, room.other.path(&cur(number, deleted)))?;
        }
        worker.room.timeline.resume();
        for place in messages.step_by(2) {
            let number = worker.inventory.requests[place];
            calls.unlink(home, worker.path(&cur(number, deleted)))?;
            worker.ended(tally, 0)?;
        }
        files::sync_dir(calls, home, worker.path(&[letter, of, Text("/cur")]))
    })
}

/// The messages of a mailbox, as places in the list of requests.
pub(super) fn messages(worker: &Worker<'_>, mailbox: usize) -> Range<usize> {
    let group = |number: &usize| worker.inventory.items[*number].group;
    let by_mailbox = &worker.inventory.requests;
    let first = by_mailbox.partition_point(|number| group(number) < mailbox);
    first..by_mailbox.partition_point(|number| group(number) <= mailbox)
}

/// The mailboxes of a worker.
fn each_mailbox(
    worker: &mut Worker<'_>,
    mut work: impl FnMut(&mut Worker<'_>, usize) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let mut share = worker.share(worker.parameters.groups);
    share.try_for_each(|of| work(worker, of))
}
