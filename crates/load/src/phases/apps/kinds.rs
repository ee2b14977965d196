//! The phases as kinds of phases: names, titles and parameters. Values are parsed elsewhere.

use super::{Family, Phase};
use crate::phases::PhaseKind;
use fsdyno_model::Parameter;

/// The kinds, in the order of `Phase::ALL`.
pub static KINDS: [PhaseKind; 19] = [
    kind(Phase::MailDeliver, "delivers messages to maildirs"),
    kind(Phase::MailRead, "reads new messages and marks them as read"),
    kind(Phase::MailExpunge, "flags and removes every second message"),
    kind(
        Phase::WebPublish,
        "writes a site, each file renamed into place",
    ),
    kind(Phase::WebServe, "reads files of a site by popularity"),
    kind(Phase::PhotosImport, "writes photos of some MB each"),
    kind(
        Phase::PhotosThumbnails,
        "reads photos and writes thumbnails",
    ),
    kind(Phase::PhotosView, "reads all photos in order"),
    kind(Phase::PhotosDelete, "deletes photos and thumbnails"),
    kind(Phase::BuildCheckout, "writes the sources of a program"),
    kind(
        Phase::BuildCompile,
        "compiles: reads sources, writes objects",
    ),
    kind(Phase::BuildLink, "links the objects of each directory"),
    kind(Phase::BuildCheck, "builds again with nothing to do"),
    kind(Phase::BuildClean, "removes all that was built"),
    kind(Phase::DatabaseLoad, "writes a table and an empty log"),
    kind(Phase::DatabaseCommit, "commits to a write-ahead log"),
    kind(
        Phase::ContainersPull,
        "unpacks layers as hard links to objects",
    ),
    kind(
        Phase::ContainersStart,
        "reads, changes and deletes files of layers",
    ),
    kind(Phase::ContainersRemove, "removes all containers"),
];

const fn kind(phase: Phase, title: &'static str) -> PhaseKind {
    let parameters = match phase.family() {
        Family::Mail => MAIL,
        Family::Web => WEB,
        Family::Photos => PHOTOS,
        Family::Build => BUILD,
        Family::Database => DATABASE,
        Family::Containers => CONTAINERS,
    };
    PhaseKind {
        writes: phase.writes(),
        ..PhaseKind::standalone(phase.name(), title, parameters)
    }
}

/// The largest number of files: their names have seven digits.
const MOST: u64 = 9_999_999;

const fn workers(given: &'static str) -> Parameter {
    Parameter::number("workers", "concurrent workers", 1..=256).fixed(given)
}

const MAIL: &[Parameter] = &[
    Parameter::number("messages", "messages, total of all mailboxes", 1..=MOST).scaled(4000, 1),
    Parameter::number("mailboxes", "maildirs", 1..=10_000).fixed("20"),
    workers("4"),
];
const WEB: &[Parameter] = &[
    Parameter::number("files", "files of the site", 1..=MOST).scaled(4000, 1),
    Parameter::number("requests", "requests, total of all workers", 1..=MOST).scaled(40_000, 1),
    workers("4"),
];
const PHOTOS: &[Parameter] =
    &[Parameter::number("photos", "photos, about 5 MB each", 1..=MOST).scaled(60, 1)];
const BUILD: &[Parameter] = &[
    Parameter::number("sources", "source files to compile", 1..=MOST).scaled(1000, 1),
    workers("2"),
];
const DATABASE: &[Parameter] = &[
    Parameter::size("size", "bytes of the table").scaled(256 << 20, 1 << 20),
    Parameter::number("transactions", "transactions, one commit each", 1..=MOST).scaled(4000, 1),
    Parameter::number(
        "checkpoint",
        "transactions between two checkpoints",
        1..=MOST,
    )
    .fixed("500"),
];
const CONTAINERS: &[Parameter] = &[
    Parameter::number("files", "files of the image, in all layers", 1..=MOST).scaled(4000, 1),
    Parameter::number("layers", "layers of the image", 1..=100).fixed("6"),
    Parameter::number("containers", "containers to start", 1..=10_000).fixed("8"),
    workers("3"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_a_kind_of_its_name() {
        for (phase, kind) in Phase::ALL.into_iter().zip(&KINDS) {
            assert_eq!(kind.name, phase.name());
            let home = phase.family().home().to_str().unwrap();
            assert!(kind.name.starts_with(home), "{home}");
        }
    }
}
