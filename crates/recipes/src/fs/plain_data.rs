//! Simple file systems defined by data: one device, a mkfs program with options before the device,
//! and a mount type equal to the name.

use super::{
    Check, Filesystem, block_requirements, make_first, mount_first, on_directory, on_first,
};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// A program on the device, and its exit codes for success.
pub type OnDevice = (&'static [&'static str], &'static [i32]);

/// A simple file system.
pub struct Plain {
    /// Name and mount type.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// Features.
    pub capabilities: Capabilities,
    /// The mkfs program with its fixed arguments.
    pub mkfs: &'static [&'static str],
    /// Option grammar of that program.
    pub grammar: &'static MkfsGrammar,
    /// Keys of its mount options.
    pub options: &'static [&'static str],
    /// Keys that would make the kernel open another device.
    pub foreign: &'static [&'static str],
    /// Minimum size of a device.
    pub smallest: Bytes,
    /// Program that prints the format's parameters while mounted. Default: `stat -f`.
    pub describe: &'static [&'static str],
    /// The checker in read-only mode.
    pub check: Option<OnDevice>,
    /// Journal replay before a mount, if the kernel does not do it.
    pub replay: Option<OnDevice>,
    /// Check at boot before the mount, without a journal.
    pub check_at_boot: Option<OnDevice>,
    /// The repair program.
    pub repair: Option<OnDevice>,
    /// The Debian package of its programs.
    pub package: &'static str,
    /// The argument for the version of the mkfs program.
    pub version: &'static str,
}

impl Plain {
    /// Common defaults. A recipe sets the other fields: `..Plain::TEMPLATE`.
    pub const TEMPLATE: Self = Self {
        name: "",
        title: "",
        capabilities: Capabilities::ALL,
        mkfs: &[],
        grammar: &MkfsGrammar::NO_OPTIONS,
        options: &[],
        foreign: &[],
        smallest: Bytes(0),
        describe: &[],
        check: None,
        replay: None,
        check_at_boot: None,
        repair: None,
        package: "",
        version: "-V",
    };
}

fn on_device((words, clean): OnDevice, devices: &[String]) -> Check {
    Check {
        step: on_first(words, devices),
        clean,
    }
}

impl Filesystem for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn kind(&self) -> FilesystemKind {
        FilesystemKind::Block
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn requirements(&self) -> Vec<Requirement> {
        let checker = self.check.map_or(self.describe, |(words, _)| words);
        block_requirements(self.name, self.mkfs[0], checker[0], self.package)
    }

    fn mount_options(&self) -> &'static [&'static str] {
        self.options
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        self.foreign
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(self.grammar)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        self.smallest
    }

    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        make_first(self.mkfs, contender, devices)
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first(self.name, Vec::new(), contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        let step = match self.describe.first() {
            Some(source) => Some(((*source).to_owned(), on_first(self.describe, devices))),
            None => on_directory("stat", &["stat", "-f"], target),
        };
        step.into_iter().collect()
    }

    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        self.check.map(|program| on_device(program, devices))
    }

    fn replay(&self, devices: &[String]) -> Option<Check> {
        self.replay.map(|program| on_device(program, devices))
    }

    fn check_at_boot(&self, devices: &[String]) -> Option<Check> {
        self.check_at_boot
            .map(|program| on_device(program, devices))
    }

    fn repair(&self, devices: &[String]) -> Option<Check> {
        self.repair.map(|program| on_device(program, devices))
    }

    fn version(&self) -> Option<Step> {
        Some(Step::command([self.mkfs[0], self.version]))
    }
}
