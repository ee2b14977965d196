//! The parameters of the phases, as declared and as parsed. Phases of a family must have equal
//! parameters within a workload.

use super::Family;
use fsdyno_model::Parameter;
use std::collections::BTreeMap;

/// The parameters of a phase. Each family has some of them; the others have their minimum value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Messages, web pages, photos, sources, or files of all layers.
    pub items: usize,
    /// Mailboxes, or layers.
    pub groups: usize,
    /// Requests, transactions, or containers.
    pub requests: usize,
    /// Transactions between two checkpoints.
    pub checkpoint: usize,
    /// Bytes of the table.
    pub size: u64,
    pub workers: usize,
}

impl Parameters {
    /// Reads the parameters. Plans are validated, so every value is a number.
    pub fn read(family: Family, given: &BTreeMap<String, String>) -> Self {
        let number = |name: &str, default: u64| {
            let text = given.get(name);
            text.and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let few = |name: &str, default: usize| {
            let number = number(name, default as u64).max(1);
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        let one = Self {
            items: 1,
            groups: 1,
            requests: 1,
            checkpoint: 1,
            size: 0,
            workers: 1,
        };
        match family {
            Family::Mail => Self {
                items: few("messages", 4000),
                groups: few("mailboxes", 20),
                workers: few("workers", 4),
                ..one
            },
            Family::Web => Self {
                items: few("files", 4000),
                requests: few("requests", 40_000),
                workers: few("workers", 4),
                ..one
            },
            Family::Photos => Self {
                items: few("photos", 60),
                ..one
            },
            Family::Build => Self {
                items: few("sources", 1000),
                workers: few("workers", 2),
                ..one
            },
            Family::Database => Self {
                requests: few("transactions", 4000),
                checkpoint: few("checkpoint", 500),
                size: number("size", 256 << 20).max(1 << 20),
                ..one
            },
            Family::Containers => Self {
                items: few("files", 4000),
                groups: few("layers", 6),
                requests: few("containers", 8),
                workers: few("workers", 3),
                ..one
            },
        }
    }
}

/// The maximum number of files: their names have seven digits.
const MAX_COUNT: u64 = 9_999_999;

const fn workers(given: &'static str) -> Parameter {
    Parameter::number("workers", "concurrent workers", 1..=256).fixed(given)
}

pub(super) const MAIL: &[Parameter] = &[
    Parameter::number(
        "messages",
        "messages, total of all mailboxes",
        1..=MAX_COUNT,
    )
    .scaled(4000, 1),
    Parameter::number("mailboxes", "maildirs", 1..=10_000).fixed("20"),
    workers("4"),
];
pub(super) const WEB: &[Parameter] = &[
    Parameter::number("files", "files of the site", 1..=MAX_COUNT).scaled(4000, 1),
    Parameter::number("requests", "requests, total of all workers", 1..=MAX_COUNT)
        .scaled(40_000, 1),
    workers("4"),
];
pub(super) const PHOTOS: &[Parameter] =
    &[Parameter::number("photos", "photos, about 5 MB each", 1..=MAX_COUNT).scaled(60, 1)];
pub(super) const BUILD: &[Parameter] = &[
    Parameter::number("sources", "source files to compile", 1..=MAX_COUNT).scaled(1000, 1),
    workers("2"),
];
pub(super) const DATABASE: &[Parameter] = &[
    Parameter::size("size", "bytes of the table").scaled(256 << 20, 1 << 20),
    Parameter::number(
        "transactions",
        "transactions, one commit each",
        1..=MAX_COUNT,
    )
    .scaled(4000, 1),
    Parameter::number(
        "checkpoint",
        "transactions between two checkpoints",
        1..=MAX_COUNT,
    )
    .fixed("500"),
];
pub(super) const CONTAINERS: &[Parameter] = &[
    Parameter::number("files", "files of the image, in all layers", 1..=MAX_COUNT).scaled(4000, 1),
    Parameter::number("layers", "layers of the image", 1..=100).fixed("6"),
    Parameter::number("containers", "containers to start", 1..=10_000).fixed("8"),
    workers("3"),
];
