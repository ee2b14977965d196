//! Quotas of users that are reached: what a user can still do there, and whether the accounting is right
//! after a stop without a sync.

use super::{Property, fails, say, with};
use crate::document::Cell;
use crate::terms;
use fsdyno_model::{Accounting, Bytes, FaultTest, FaultTests, FullAction, FullDisk, QuotaUse};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The rows of the accounting of quotas.
pub(super) const ROWS: [&str; 3] = ["charge", "charge after a stop", "limit after a stop"];

pub(super) const LEGEND: &str = " Charge: the space and files that the quota is charged with, against \
                                those of the files; after a stop: the file system stopped without a \
                                sync (FS_IOC_SHUTDOWN) during changes at the quota, some with fsync, and \
                                was mounted again; limit: the error of more than the quota then.";

/// Appends what users can do at a quota, and whether it is right after a stop.
pub(super) fn add_answer(sentences: &mut Vec<String>, tests: &FaultTests) {
    let all = tests.tests.iter().flat_map(|test| &test.full);
    let errors: BTreeSet<&str> = all.map(|life| &*life.refused_with).collect();
    let errors: Vec<String> = errors
        .into_iter()
        .filter(|error| !error.is_empty())
        .map(terms::printable)
        .collect();
    let fails = FullAction::ALL.map(|action| (action, with(tests, fails(action))));
    let failing = fails.iter().filter(|(_, named)| !named.is_empty());
    let failing: Vec<String> = failing
        .map(|(action, named)| format!("{action} ({})", terms::list(named)))
        .collect();
    let works = fails.iter().filter(|(_, named)| named.is_empty());
    let works: Vec<String> = works.map(|(action, _)| action.to_string()).collect();
    if !errors.is_empty() && !works.is_empty() {
        sentences.push(format!(
            "At the quota, programs get {}. These actions still succeed everywhere: {}.",
            terms::joined(&errors, "or"),
            terms::list(&works)
        ));
    }
    if !failing.is_empty() {
        sentences.push(format!("These fail: {}.", failing.join("; ")));
    }
    let used = |life: &FullDisk, counts: fn(&QuotaUse) -> bool| {
        life.is_verified() && life.quota.as_ref().is_some_and(counts)
    };
    let mut wrong = |counts: fn(&QuotaUse) -> bool, text: &str| {
        say(sentences, tests, |life| used(life, counts), text)
    };
    let right = [
        wrong(
            |used| !is_right(used.before),
            "The quota is charged with other space or files than there are",
        ),
        wrong(
            |used| !is_right(used.after),
            "After the file system stopped without a sync, the quota is charged wrongly",
        ),
        wrong(
            |used| used.refused_with.is_none(),
            "After the file system stopped without a sync, more than the quota can be stored",
        ),
    ];
    let mut all = tests.tests.iter().flat_map(|test| &test.full);
    // Another error than that of the quota does not show that it is enforced.
    let is_refused = |used: &QuotaUse| used.refused_with.as_deref() == Some("EDQUOT");
    if right == [true; 3] && all.all(|life| used(life, is_refused)) {
        sentences.push(
            "After a stop without a sync, quotas are charged with what the files use, and enforced."
                .to_owned(),
        );
    }
    say(
        sentences,
        tests,
        is_exceeded,
        "After such a stop, users can have more than their quota",
    );
    say(
        sentences,
        tests,
        |life| life.said_available.0 > life.capacity.0.saturating_sub(life.stored.0),
        "`df` does not know the quota, and says that there is more room",
    );
}

/// A right accounting, or what is wrong.
fn is_right(accounting: Option<Accounting>) -> bool {
    accounting.is_some_and(|one| one.is_right())
}

/// Whether files that were deleted without a sync, or new ones, exceed the quota after the recovery.
fn is_exceeded(life: &FullDisk) -> bool {
    let after = life.quota.as_ref().and_then(|used| used.after);
    after.is_some_and(|after| after.used > life.capacity)
}

/// The free space of the whole file system, that of the middle life: a share of the quota would exceed
/// 100 %.
pub(super) fn said_available(test: &FaultTest) -> Cell {
    let lives = test.full.iter().filter(|life| life.crashed.is_none());
    let mut said: Vec<Bytes> = lives.map(|life| life.said_available).collect();
    said.sort_unstable();
    Cell::known(said.get(said.len() / 2).copied(), Cell::Size)
}

/// The rows of words.
pub(super) fn words<'a>() -> [Property<'a>; 3] {
    let [charged, recharged, enforced] = ROWS;
    [
        (
            charged,
            Box::new(|life| word(life, |used| charge(used.before, None))),
        ),
        (
            recharged,
            Box::new(|life| word(life, |used| charge(used.after, Some(life.capacity)))),
        ),
        (enforced, Box::new(|life| word(life, limit))),
    ]
}

/// The cells of [`ROWS`] for one life.
pub(super) fn cells(life: &FullDisk) -> [Cell; 3] {
    let words = life.quota.as_ref().map(|used| {
        [
            charge(used.before, None),
            charge(used.after, None),
            limit(used),
        ]
    });
    words.unwrap_or_default().map(Cell::Text)
}

/// A word for the quota after its use; empty if the file system could not be mounted then.
fn word(life: &FullDisk, of: impl Fn(&QuotaUse) -> String) -> String {
    let used = life.quota.as_ref().filter(|_| life.is_verified());
    used.map_or_else(String::new, of)
}

/// `right`, `right, over quota`, `+4 KiB`, `-1 file`, `NOT KEPT`.
fn charge(accounting: Option<Accounting>, quota: Option<Bytes>) -> String {
    let Some(one) = accounting else {
        return "NOT KEPT".to_owned();
    };
    let signed = |charged: u64, there: u64, show: &dyn Fn(u64) -> String| match charged.cmp(&there)
    {
        Ordering::Less => Some(format!("-{}", show(there - charged))),
        Ordering::Equal => None,
        Ordering::Greater => Some(format!("+{}", show(charged - there))),
    };
    let space = signed(one.charged.0, one.used.0, &|bytes| Bytes(bytes).to_string());
    let files = signed(one.charged_files, one.used_files, &|files| {
        terms::count(usize::try_from(files).unwrap_or(usize::MAX), "file")
    });
    let wrong: Vec<String> = space.into_iter().chain(files).collect();
    let exceeds = quota.is_some_and(|quota| one.used > quota);
    let over = if exceeds { ", over quota" } else { "" };
    if wrong.is_empty() {
        format!("right{over}")
    } else {
        format!("{}{over}", wrong.join(", "))
    }
}

fn limit(used: &QuotaUse) -> String {
    used.refused_with
        .clone()
        .unwrap_or_else(|| "NONE".to_owned())
}
