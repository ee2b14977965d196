//! Phases that imitate the file operations of current programs: mail delivery, a web server, a
//! photo library, a build, a database log, container images.
//!
//! Each family has its own directory below the work directory, and its own files: `inventory` draws
//! their sizes and the order of requests from a seed. This module does not run the programs
//! themselves.
//!
//! Sources: `mail`: maildir(5) of qmail, Postfix virtual(8), Dovecot's maildir format. `web`: rsync(1).
//! `photos`: the Thumbnail Managing Standard of freedesktop.org. `build`: git-checkout(1), gcc(1),
//! ar(1), make(1). `database`: `PostgreSQL`, "Reliability and the Write-Ahead Log"; fio(1).
//! `containers`: ostree(1), containerd, overlayfs.rst of the kernel.

mod build;
mod containers;
mod database;
mod files;
mod inventory;
mod mail;
mod parameters;
mod paths;
mod photos;
mod ready;
mod steps;
mod web;
mod workers;

pub(crate) use parameters::Parameters;
pub(crate) use ready::{prepare, record_state};
pub(crate) use workers::App;

use super::table::phases;
use crate::engines::Calls;
use crate::error::LoadError;
use fsdyno_model::Parameter;
use fsdyno_model::capability::Required;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::sample::Tally;
use fsdyno_model::units::Bytes;
use inventory::Inventory;
use std::ffi::CStr;
use steps::Steps;
use workers::Worker;

/// The families of phases. The phases of a family work on the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Mail,
    Web,
    Photos,
    Build,
    Database,
    Containers,
}

impl Family {
    /// The directory of its files, below the work directory.
    pub const fn home(self) -> &'static CStr {
        match self {
            Self::Mail => c"mail",
            Self::Web => c"web",
            Self::Photos => c"photos",
            Self::Build => c"build",
            Self::Database => c"database",
            Self::Containers => c"containers",
        }
    }
}

phases! {
    MailDeliver: "mail-deliver", "delivers messages to maildirs",
        "openat O_EXCL in tmp, write, fsync, close, renameat to new, fsync of new";
    MailRead: "mail-read", "reads new messages and marks them as read",
        "getdents64; openat, read, close, renameat from new to cur";
    MailExpunge: "mail-expunge", "flags and removes every second message",
        "renameat in cur to set the flag, unlinkat, fsync of cur";
    WebPublish: "web-publish", "writes a site, each file renamed into place",
        "openat O_EXCL, write, close, renameat";
    WebServe: "web-serve", "reads files of a site by popularity", "newfstatat, openat, read, close";
    PhotosImport: "photos-import", "writes photos of some MB each",
        "openat O_EXCL, write in pieces of 128 KiB, close";
    PhotosThumbnails: "photos-thumbnails", "reads photos and writes thumbnails",
        "openat, read, close; openat O_EXCL, write, close, renameat";
    PhotosView: "photos-view", "reads all photos in order",
        "openat, read in pieces of 128 KiB, close";
    PhotosDelete: "photos-delete", "deletes photos and thumbnails", "unlinkat";
    BuildCheckout: "build-checkout", "writes the sources of a program",
        "openat O_EXCL, write, close, newfstatat";
    BuildCompile: "build-compile", "compiles: reads sources, writes objects",
        "newfstatat; openat, read, close of the source and its headers; openat O_EXCL, write, \
         close of the object and its list of dependencies";
    BuildLink: "build-link", "links the objects of each directory",
        "openat, read, close of the objects; openat O_EXCL, write, renameat";
    BuildCheck: "build-check", "builds again with nothing to do",
        "newfstatat; openat, read, close of the list of dependencies";
    BuildClean: "build-clean", "removes all that was built", "unlinkat";
    DatabaseLoad: "database-load", "writes a table and an empty log",
        "openat O_EXCL, pwrite of 8 KiB, fsync at the end";
    DatabaseCommit: "database-commit", "commits to a write-ahead log",
        "pwrite of 8 KiB and fdatasync of the log; at a checkpoint pwrite of the changed pages \
         and fsync of the table";
    ContainersPull: "containers-pull", "unpacks layers as hard links to objects",
        "openat O_EXCL, write, close, renameat to objects, linkat to the layer; renameat of the \
         layer";
    ContainersStart: "containers-start", "reads, changes and deletes files of layers",
        "newfstatat from the top layer down, openat, read, close; copy-up: openat O_EXCL, write, \
         fsync, renameat; deletion: mknodat, renameat";
    ContainersRemove: "containers-remove", "removes all containers",
        "unlinkat, unlinkat AT_REMOVEDIR";
}

impl Phase {
    pub fn operation(self) -> &'static str {
        self.name()
            .split_once('-')
            .map_or(self.name(), |(_, operation)| operation)
    }

    pub const fn family(self) -> Family {
        match self {
            Self::MailDeliver | Self::MailRead | Self::MailExpunge => Family::Mail,
            Self::WebPublish | Self::WebServe => Family::Web,
            Self::PhotosImport | Self::PhotosThumbnails | Self::PhotosView | Self::PhotosDelete => {
                Family::Photos
            }
            Self::BuildCheckout
            | Self::BuildCompile
            | Self::BuildLink
            | Self::BuildCheck
            | Self::BuildClean => Family::Build,
            Self::DatabaseLoad | Self::DatabaseCommit => Family::Database,
            Self::ContainersPull | Self::ContainersStart | Self::ContainersRemove => {
                Family::Containers
            }
        }
    }

    pub const fn writes(self) -> bool {
        !matches!(self, Self::WebServe | Self::PhotosView | Self::BuildCheck)
    }

    /// The phases whose files it finds: one of these is the last that changed them. Without one, it
    /// begins with the empty directories of its family.
    pub const fn follows(self) -> &'static [Self] {
        match self {
            Self::MailDeliver
            | Self::WebPublish
            | Self::PhotosImport
            | Self::BuildCheckout
            | Self::DatabaseLoad
            | Self::ContainersPull => &[],
            Self::MailRead => &[Self::MailDeliver],
            Self::MailExpunge => &[Self::MailRead],
            Self::WebServe => &[Self::WebPublish],
            Self::PhotosThumbnails => &[Self::PhotosImport],
            Self::PhotosView | Self::PhotosDelete => &[Self::PhotosThumbnails],
            Self::BuildCompile => &[Self::BuildCheckout, Self::BuildClean],
            Self::BuildLink => &[Self::BuildCompile],
            Self::BuildCheck | Self::BuildClean => &[Self::BuildLink],
            Self::DatabaseCommit => &[Self::DatabaseLoad, Self::DatabaseCommit],
            Self::ContainersStart => &[Self::ContainersPull, Self::ContainersRemove],
            Self::ContainersRemove => &[Self::ContainersStart],
        }
    }

    const fn parameters(self) -> &'static [Parameter] {
        match self.family() {
            Family::Mail => parameters::MAIL,
            Family::Web => parameters::WEB,
            Family::Photos => parameters::PHOTOS,
            Family::Build => parameters::BUILD,
            Family::Database => parameters::DATABASE,
            Family::Containers => parameters::CONTAINERS,
        }
    }

    fn work<C: Calls>(self, calls: &mut C, worker: &mut Worker<'_>) -> Result<Tally, LoadError> {
        let work_dir = calls.open_work_dir(worker.job.root)?;
        let home = calls.open_dir(&work_dir, self.family().home())?;
        let mut tally = Tally::default();
        worker.buffers.timeline.resume();
        let work = match self {
            Self::MailDeliver => mail::deliver,
            Self::MailRead => mail::read,
            Self::MailExpunge => mail::expunge,
            Self::WebPublish => web::publish,
            Self::WebServe => web::serve,
            Self::PhotosImport => photos::import,
            Self::PhotosThumbnails => photos::thumbnails,
            Self::PhotosView => photos::view,
            Self::PhotosDelete => photos::delete,
            Self::BuildCheckout => build::checkout,
            Self::BuildCompile => build::compile,
            Self::BuildLink => build::link,
            Self::BuildCheck => build::check,
            Self::BuildClean => build::clean,
            Self::DatabaseLoad => database::load,
            Self::DatabaseCommit => database::commit,
            Self::ContainersPull => containers::pull,
            Self::ContainersStart => containers::start,
            Self::ContainersRemove => containers::remove,
        };
        work(&mut Steps {
            calls,
            home: &home,
            worker,
            tally: &mut tally,
        })?;
        for dir in [home, work_dir] {
            calls.close_dir(dir);
        }
        Ok(Tally {
            calls: calls.calls(),
            ..tally
        })
    }
}

/// The phase of a plan with its parameters; none if it is another one.
pub(crate) fn planned(plan: &PhasePlan) -> Option<(Phase, Parameters)> {
    let phase = Phase::find(&plan.kind)?;
    Some((phase, Parameters::read(phase.family(), &plan.parameters)))
}

/// The space on the device of all files of a phase's family; none if it is no such phase.
pub fn data_bytes(plan: &PhasePlan) -> Option<Bytes> {
    let (phase, parameters) = planned(plan)?;
    let inventory = Inventory::of(phase.family(), &parameters);
    Some(Bytes(inventory.space(&parameters)))
}

/// The capabilities that a phase requires of its file system; none if it is no such phase.
pub fn required(plan: &PhasePlan) -> Option<Vec<Required>> {
    let (phase, parameters) = planned(plan)?;
    Some(match phase.family() {
        Family::Containers if phase == Phase::ContainersPull => vec![Required::HardLinks],
        Family::Containers => vec![Required::HardLinks, Required::SpecialFiles],
        Family::Database => vec![Required::FileOf(Bytes(parameters.size))],
        _ => Vec::new(),
    })
}

#[cfg(test)]
#[path = "apps/tests.rs"]
mod tests;
