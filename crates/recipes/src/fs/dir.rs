//! An existing directory of the user on any file system: local, NFS, FUSE. fsdyno makes and mounts
//! nothing, so it needs no root.

use super::{Facts, Filesystem, on_directory};
use fsdyno_model::{Capabilities, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// An existing directory.
pub struct Dir;

static FACTS: Facts = Facts {
    name: "dir",
    title: "an existing directory (dir:PATH), on any file system, without root",
    kind: FilesystemKind::Directory,
    // The file system is unknown: a missing feature fails when it is used.
    capabilities: Capabilities::ALL,
    ..Facts::TEMPLATE
};

impl Filesystem for Dir {
    fn facts(&self) -> &Facts {
        &FACTS
    }

    fn requirements(&self) -> Vec<Requirement> {
        Vec::new()
    }

    fn mount(&self, _contender: &Contender, _devices: &[String], _target: &Path) -> Vec<Step> {
        Vec::new()
    }

    fn describe(
        &self,
        contender: &Contender,
        _devices: &[String],
        _target: &Path,
    ) -> Vec<(String, Step)> {
        // The file system, device and mount options of the directory.
        contender
            .directory
            .as_deref()
            .and_then(|directory| on_directory("findmnt", &["findmnt", "--target"], directory))
            .into_iter()
            .collect()
    }
}
