//! File systems of the plainest kind, which are all but data: on one device, made by a program that
//! takes options and then the device, mounted under their own names.

use super::{
    Check, Filesystem, block_requirements, make_first, mount_first, on_directory, on_first,
};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{Bytes, Capabilities, Contender, FilesystemKind, Requirement, Step};
use std::path::Path;

/// A program on the device, and the statuses that mean it went well.
pub type OnDevice = (&'static [&'static str], &'static [i32]);

/// One of them.
pub struct Plain {
    /// Its name, and the type it is mounted by.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// What it can store and do.
    pub capabilities: Capabilities,
    /// What makes it: the program, and its fixed arguments.
    pub mkfs: &'static [&'static str],
    /// How that program reads its options.
    pub grammar: &'static MkfsGrammar,
    /// The keys of its mount options.
    pub options: &'static [&'static str],
    /// Those that would make the kernel open another device.
    pub foreign: &'static [&'static str],
    /// The smallest device it can be made on.
    pub smallest: Bytes,
    /// The program that prints how it was made, while it is mounted; if none, `stat -f` does.
    pub describe: &'static [&'static str],
    /// What checks it, without writing.
    pub check: Option<OnDevice>,
    /// What replays its journal before a mount, where the kernel does not.
    pub replay: Option<OnDevice>,
    /// What each boot runs before the mount, where there is no journal.
    pub check_at_boot: Option<OnDevice>,
    /// What repairs it.
    pub repair: Option<OnDevice>,
    /// The Debian package of its programs.
    pub package: &'static str,
    /// The argument with which the mkfs program prints its version.
    pub version: &'static str,
}

impl Plain {
    /// What most of them have in common. A recipe replaces the rest: `..Plain::TEMPLATE`.
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
