//! An existing directory of the user on any file system: local, NFS, FUSE. fsdyno makes and mounts
//! nothing, so it needs no root.

use super::{Filesystem, on_directory};
use fsdyno_model::{Capabilities, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// An existing directory.
pub struct Dir;

impl Filesystem for Dir {
    fn name(&self) -> &'static str {
        "dir"
    }

    fn title(&self) -> &'static str {
        "an existing directory (dir:PATH), on any file system, without root"
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Directory
    }

    fn capabilities(&self) -> Capabilities {
        // The file system is unknown: a missing feature fails when it is used.
        Capabilities::ALL
    }

    fn requirements(&self) -> Vec<Requirement> {
        Vec::new()
    }

    fn mount_options(&self) -> &'static [&'static str] {
        &[]
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn make(&self, _contender: &Contender, _devices: &[String]) -> Vec<Step> {
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
