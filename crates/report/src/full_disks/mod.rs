//! Full disks, and quotas of users that are reached: what a user could still do there, and what was
//! lost, as an answer in sentences and a table with a column for each contender.

mod quotas;

use crate::disk_faults;
use crate::document::{
    Block, Cell, Column, Document, Filter, Label, Overflow, Row, Section, Table,
};
use crate::terms;
use fsdyno_model::{ActionOutcome, Bytes, FaultTest, FaultTests, Filling, FullAction, FullDisk};
use fsdyno_stats::median;
use std::collections::BTreeMap;

/// The label of a row, and its word for one life.
type Property<'a> = (&'a str, Box<dyn Fn(&FullDisk) -> String + 'a>);

/// The bands of filling whose speed is shown, by their first per cent.
const SLOWER: [(u32, &str); 3] = [(90, "from 90 %"), (95, "from 95 %"), (99, "last 1 %")];

/// The levels at which small files are saved.
const SAVES: [(u32, &str); 2] = [(95, "saves at 95 %"), (99, "saves at 99 %")];

pub fn document(tests: &FaultTests, filling: &Filling) -> Document {
    let names: Vec<String> = tests.tests.iter().map(name).collect();
    let columns = names.iter().map(|name| Column {
        is_text: true,
        ..Column::new(Label::contender(name.clone()))
    });
    let (title, name) = match filling.quota {
        None => ("Full disks", "full disk"),
        Some(_) => ("Quotas", "quota"),
    };
    let table = Table {
        overflow: Overflow::Split,
        ..Table::new(
            title,
            name,
            columns.collect::<Vec<_>>(),
            rows(tests, filling),
        )
    };
    let mut legend = "stored: files when no further one of 4 KiB could be stored; said to be free: by \
                      statvfs (df) then, for users; from 90 and 95 %, last 1 %: time for a byte \
                      there against that in the first half. Saves: time of 16 saves by rename with that share \
                      of the space used, against that when new. Each action is followed by fsync. Room after deleting: with this share of \
                      the files deleted, half of it could be written again. Save in place truncates the \
                      file first: `gone` means that its old content is lost.".to_owned();
    if filling.quota.is_some() {
        legend.push_str(quotas::LEGEND);
    }
    let mut blocks = vec![Block::Table(table), Block::Legend(legend.into())];
    let details = details(tests);
    if !details.is_empty() {
        let section = details.into_iter().fold(
            Section::new("details", "Errors and messages"),
            |section, text| section.with(Block::Paragraph(text.into())),
        );
        blocks.push(section.into());
    }
    blocks.extend(disk_faults::untested(tests));
    let (quota, untested) = match filling.quota {
        None => (String::new(), "Other sizes, options"),
        Some(quota) => (
            format!(", quotas of {quota} of space for a user"),
            "Soft limits, limits of files, groups and projects, other sizes, options",
        ),
    };
    let scope = format!(
        "{}; disks of {} ({}){quota}, {} from seed {} on, with files of 1 KiB to 1 MiB that cannot be \
         compressed, of an ordinary user. {untested} and kernels were not tested.",
        terms::printable(tests.tests.first().map_or("", |one| &*one.guest)),
        filling.size,
        terms::printable(&filling.disk.profile),
        lives(tests),
        tests.info.seed,
    );
    blocks.push(Block::Paragraph(scope.into()));
    let title = match filling.quota {
        None => "fsdyno: full disks, and what can be done there",
        Some(_) => "fsdyno: quotas, and what can be done at them",
    };
    Document {
        lead: lead(tests, filling).into_iter().map(Into::into).collect(),
        filters: Filter::of_contenders(names),
        blocks,
        ..Document::new(title)
    }
}

fn lives(tests: &FaultTests) -> String {
    match tests.info.draws {
        1 => "1 life".to_owned(),
        draws => format!("{draws} lives"),
    }
}

fn name(test: &FaultTest) -> String {
    terms::printable(&test.contender)
}

/// The contenders of which some life has this property, each with its number unless all have it.
fn with(tests: &FaultTests, counts: impl Fn(&FullDisk) -> bool) -> Vec<String> {
    let named = tests.tests.iter().filter_map(|test| {
        let hits = test.full.iter().filter(|one| counts(one)).count();
        match hits {
            0 => None,
            _ if hits == test.full.len() => Some(name(test)),
            _ => Some(format!("{} ({hits} of {})", name(test), test.full.len())),
        }
    });
    named.collect()
}

fn fails(action: FullAction) -> impl Fn(&FullDisk) -> bool {
    move |life| life.outcome(action).is_some_and(|one| one.error.is_some())
}

/// Appends a sentence with the contenders of which some life has a property; whether there is none.
fn say(
    sentences: &mut Vec<String>,
    tests: &FaultTests,
    counts: impl Fn(&FullDisk) -> bool,
    text: &str,
) -> bool {
    let named = with(tests, counts);
    if !named.is_empty() {
        sentences.push(format!("{text}: {}.", terms::list(&named)));
    }
    named.is_empty()
}

/// The answer: what is lost, whether the user can make room, and what no longer works.
fn lead(tests: &FaultTests, filling: &Filling) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut say =
        |counts: &dyn Fn(&FullDisk) -> bool, text: &str| say(&mut sentences, tests, counts, text);
    let kept = say(
        &|life| life.lost > 0,
        "Files that were synced are damaged or gone",
    );
    say(&|life| life.crashed.is_some(), "The kernel crashed or hung");
    say(
        &|life| life.unmountable.is_some(),
        "Cannot be mounted any more after it was full",
    );
    say(&|life| life.complaint.is_some(), "The checker complains");
    let deletes = say(
        &fails(FullAction::Delete),
        "Files cannot be deleted once full",
    );
    let returns = say(
        &|life| {
            !life.actions.is_empty()
                && life.room_after_seconds.is_none()
                && !fails(FullAction::Delete)(life)
        },
        "No room even with up to a fifth of the files deleted",
    );
    let [first, ..] = FullDisk::DELETED;
    say(
        &|life| life.room_after_seconds.is_some() && life.deleted_percent > first,
        "Room only after more than 1 % of the files is deleted",
    );
    say(
        &|life| life.room_after_seconds.is_some_and(|seconds| seconds > 0),
        "Space of deleted files can be written only after some seconds with syncs",
    );
    let gone = |life: &FullDisk| life.actions.iter().any(|one| one.content_gone);
    say(
        &gone,
        "A program that truncates a file to save it loses its content",
    );
    let (place, whole) = if filling.quota.is_none() {
        say(
            &fails(FullAction::Overwrite),
            "A database cannot overwrite its own blocks",
        );
        ("on full disks", "the size of the disks")
    } else {
        quotas::add_answer(&mut sentences, tests);
        ("at a quota", "the quota")
    };
    let mut all = tests.tests.iter().flat_map(|test| &test.full);
    if kept && !tests.tests.is_empty() && all.all(FullDisk::is_verified) {
        let room = if deletes && returns {
            ", and deleting files made room"
        } else {
            ""
        };
        let lives = lives(tests);
        let first = format!("In {lives} of each {place}, no synced file was lost{room}.");
        sentences.insert(0, first);
    }
    let mut stored: Vec<(f64, String)> = tests
        .tests
        .iter()
        .filter_map(|test| Some((share(test, |life| Some(life.stored))?, name(test))))
        .collect();
    stored.sort_by(|one, other| other.0.total_cmp(&one.0));
    if let [(most, best), .., (least, worst)] = &*stored {
        sentences.push(format!(
            "Of {whole}, {best} stored {}, and {worst} {}.",
            terms::percent(*most / 100.0),
            terms::percent(*least / 100.0)
        ));
    }
    sentences
}

/// The median share of the disks, per cent.
fn share(test: &FaultTest, of: impl Fn(&FullDisk) -> Option<Bytes>) -> Option<f64> {
    let shares = test.full.iter().filter_map(|life| {
        let of = of(life).filter(|_| life.capacity.0 > 0 && life.crashed.is_none())?;
        Some(100.0 * of.0 as f64 / life.capacity.0 as f64)
    });
    median(&shares.collect::<Vec<f64>>())
}

fn rows(tests: &FaultTests, filling: &Filling) -> Vec<Row> {
    let row = |label: String, cell: &dyn Fn(&FaultTest) -> Cell| {
        Row::new(label, tests.tests.iter().map(cell).collect())
    };
    let row_of_space = |label: &str, of: fn(&FullDisk) -> Option<Bytes>| {
        row(label.to_owned(), &|test| {
            Cell::known(share(test, of), Cell::Percent)
        })
    };
    let new = row_of_space("free when new", |life| Some(life.available));
    let emptied = row_of_space("free when emptied", |life| life.emptied);
    let said = "said to be free";
    let mut rows = vec![
        row_of_space("stored", |life| Some(life.stored)),
        if filling.quota.is_none() {
            row_of_space(said, |life| Some(life.said_available))
        } else {
            row(said.to_owned(), &quotas::said_available)
        },
    ];
    for (from, label) in SLOWER {
        rows.push(row(label.to_owned(), &|test| {
            let ratios: Option<Vec<f64>> =
                test.full.iter().map(|life| life.slowdown(from)).collect();
            Cell::known(ratios.and_then(|ratios| median(&ratios)), times)
        }));
    }
    for (percent, label) in SAVES {
        rows.push(row(label.to_owned(), &|test| saves(test, percent)));
    }
    let words = words(filling).into_iter();
    rows.extend(words.map(|(label, word)| row(label.to_owned(), &|test| counted(test, &word))));
    if filling.quota.is_none() {
        rows.insert(0, new);
        rows.push(emptied);
    }
    rows
}

/// The rows that have words.
fn words<'a>(filling: &Filling) -> Vec<Property<'a>> {
    let mut words: Vec<Property<'_>> = vec![
        (
            "refused by",
            Box::new(|life| format!("{} ({})", life.refused_by, life.refused_with)),
        ),
        (
            "mounts when full",
            Box::new(|life| {
                if life.unmountable.is_some() {
                    "NO"
                } else {
                    "yes"
                }
                .to_owned()
            }),
        ),
    ];
    for action in FullAction::ALL {
        words.push((
            action.name(),
            Box::new(move |life| life.outcome(action).map_or_else(String::new, outcome)),
        ));
    }
    words.push(("room after deleting", Box::new(room)));
    if filling.quota.is_some() {
        words.extend(quotas::words());
    }
    words.push(("synced files lost", Box::new(|life| lost(life, life.lost))));
    words.push((
        "unsynced files lost",
        Box::new(|life| lost(life, life.unsynced)),
    ));
    words.push((
        "checker",
        Box::new(|life| {
            let word = life
                .clean
                .map_or("", |clean| if clean { "clean" } else { "COMPLAINS" });
            word.to_owned()
        }),
    ));
    words
}

/// `1.2x`.
fn times(ratio: f64) -> Cell {
    Cell::Text(format!("{}x", terms::ratio(ratio)))
}

/// The first error of saves at this level, or by how much they are slower.
fn saves(test: &FaultTest, percent: u32) -> Cell {
    let mut levels = test.full.iter().filter_map(|life| life.level(percent));
    if let Some(error) = levels.find_map(|level| level.error.as_ref()) {
        return Cell::Text(terms::printable(error));
    }
    let ratios = test
        .full
        .iter()
        .filter_map(|life| life.slower_saves(percent));
    Cell::known(median(&ratios.collect::<Vec<f64>>()), times)
}

/// The words of all lives that did not crash: `yes`, or each with its number.
fn counted(test: &FaultTest, word: impl Fn(&FullDisk) -> String) -> Cell {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for life in test.full.iter().filter(|life| life.crashed.is_none()) {
        *counts.entry(word(life)).or_default() += 1;
    }
    counts.remove("");
    if counts.is_empty() {
        return Cell::Unknown;
    }
    let alone = counts.len() == 1;
    let parts = counts.into_iter().map(|(word, count)| {
        if alone {
            word
        } else {
            format!("{word} ({count})")
        }
    });
    Cell::Text(terms::printable(&parts.collect::<Vec<_>>().join("; ")))
}

fn outcome(one: &ActionOutcome) -> String {
    match (&one.error, one.content_gone) {
        (None, _) => "yes".to_owned(),
        (Some(error), false) => error.clone(),
        (Some(error), true) => format!("{error}, gone"),
    }
}

/// `1 %`, `5 %, after 3 s`.
fn room(life: &FullDisk) -> String {
    let when = match life.room_after_seconds {
        None if life.actions.is_empty() || fails(FullAction::Delete)(life) => return String::new(),
        None => return format!("more than {} %", life.deleted_percent),
        Some(0) => String::new(),
        Some(seconds) => format!(", after {seconds} s"),
    };
    format!("{} %{when}", life.deleted_percent)
}

/// A number of lost files; empty if the files were not compared.
fn lost(life: &FullDisk, count: u64) -> String {
    match count {
        _ if !life.is_verified() => String::new(),
        0 => "none".to_owned(),
        count => terms::grouped(count),
    }
}

/// What errors and messages say, once for each contender.
fn details(tests: &FaultTests) -> Vec<String> {
    let mut details = Vec::new();
    for test in &tests.tests {
        let of = |what: &str, find: &dyn Fn(&FullDisk) -> Option<&str>| {
            let found = test.full.iter().find_map(find)?;
            Some(format!(
                "{}: {what}: {}",
                name(test),
                terms::printable(found)
            ))
        };
        details.extend(of("lost", &|life| life.lost_first.as_deref()));
        details.extend(of("cannot be mounted", &|life| life.unmountable.as_deref()));
        details.extend(of("crashed", &|life| life.crashed.as_deref()));
        details.extend(of("its checker", &|life| life.complaint.as_deref()));
        // A message alone may be about the memory of the guest.
        details.extend(of("the kernel", &|life| {
            let bad = life.is_loss() || life.complaint.is_some();
            life.kernel.first().filter(|_| bad).map(String::as_str)
        }));
    }
    details
}

/// Every life, for CSV.
pub fn figures(tests: &FaultTests, filling: &Filling) -> Table {
    let has_quota = filling.quota.is_some();
    let words = ["refused by", "room after deleting", "checker", "first lost"];
    let columns = [
        "seed",
        "size",
        "free when new",
        "stored",
        "said to be free",
        "from 90 %",
        "from 95 %",
        "last 1 %",
        "saves at 95 %",
        "saves at 99 %",
    ]
    .into_iter()
    .chain(FullAction::ALL.map(FullAction::name))
    .chain(quotas::ROWS.into_iter().filter(|_| has_quota))
    .chain([
        "synced files lost",
        "unsynced files lost",
        "free when emptied",
    ])
    .chain(words);
    let lives = tests.tests.iter().flat_map(|test| {
        let lives = test.full.iter();
        lives.map(move |life| (name(test), life))
    });
    let rows = lives.map(|(name, life)| {
        let mut cells = vec![
            Cell::Count(life.seed),
            Cell::Size(life.capacity),
            Cell::Size(life.available),
            Cell::Size(life.stored),
            Cell::Size(life.said_available),
            Cell::known(life.slowdown(90), Cell::Number),
            Cell::known(life.slowdown(95), Cell::Number),
            Cell::known(life.slowdown(99), Cell::Number),
            Cell::known(life.slower_saves(95), Cell::Number),
            Cell::known(life.slower_saves(99), Cell::Number),
        ];
        cells.extend(
            FullAction::ALL
                .map(|action| Cell::known(life.outcome(action), |one| Cell::Text(outcome(one)))),
        );
        if has_quota {
            cells.extend(quotas::cells(life));
        }
        cells.extend([life.lost, life.unsynced].map(Cell::Count));
        cells.push(Cell::known(life.emptied, Cell::Size));
        let complaint = life.complaint.as_deref().unwrap_or_default();
        let lost = life.lost_first.as_deref().unwrap_or_default();
        let refused = format!("{} {}", life.refused_by, life.refused_with);
        let words = [&*refused, &*room(life), complaint, lost];
        cells.extend(words.map(|word| Cell::Text(terms::printable(word))));
        Row::new(name, cells)
    });
    Table::new(
        "full disks",
        "contender",
        columns.map(Column::of_text).collect::<Vec<_>>(),
        rows,
    )
}
