//! The recipes: one file and one static value per file system. Only this module depends on the
//! names of file systems.

mod bcachefs;
mod berkeley;
mod btrfs;
mod btrfs_roles;
mod dir;
mod exfat;
mod ext2;
mod ext3;
mod ext4;
mod ext_family;
mod ext_roles;
mod f2fs;
mod ffs;
mod fs_facts;
mod jfs;
mod nilfs2;
mod ntfs3;
mod reiserfs;
mod tmpfs;
mod ufs1;
mod ufs2;
mod vfat;
mod xfs;
mod xfs_roles;
mod zfs;

use crate::mkfs_options::MkfsGrammar;
use crate::promises::Documented;
use crate::roles::{ReadAt, Roles};
pub use fs_facts::{Facts, MIRROR, PARITY, Quota, STRIPE};
use fs_facts::{StaleData, on_devices};
use fsdyno_model::step::OURSELVES;
use fsdyno_model::{
    Bytes, Capabilities, Contender, Daemon, DeclaredPromise, FilesystemKind, LabChoice, Need, Pool,
    Requirement, Step,
};
use std::path::Path;

/// The operations for one file system. They return values and execute nothing.
///
/// `devices` are the contender's devices in order (in a dry run, the shell variables for them).
/// Their number is that of the layout. The device guard has checked them.
pub trait Filesystem: Sync {
    /// Its facts. The operations below follow from them, unless a file system has its own.
    fn facts(&self) -> &Facts;

    fn name(&self) -> &'static str {
        self.facts().name
    }

    fn title(&self) -> &'static str {
        self.facts().title
    }

    fn kind(&self) -> FilesystemKind {
        self.facts().kind
    }

    fn capabilities(&self) -> Capabilities {
        self.facts().capabilities
    }

    fn mount_options(&self) -> &'static [&'static str] {
        self.facts().options
    }

    fn foreign_mount_options(&self) -> &'static [&'static str] {
        self.facts().foreign
    }

    fn layouts(&self) -> &'static [&'static str] {
        self.facts().layouts
    }

    fn smallest_bytes(&self) -> Bytes {
        self.facts().smallest
    }

    fn defragmenter(&self) -> Option<&'static str> {
        self.facts().defragmenter
    }

    /// Option grammar of its mkfs, or none without a mkfs.
    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        let facts = self.facts();
        (!facts.mkfs.is_empty()).then_some(facts.grammar)
    }

    /// Requirements, each with the function that needs it: root, the kernel's part, mkfs and the
    /// checker.
    fn requirements(&self) -> Vec<Requirement> {
        let facts = self.facts();
        let name = facts.name;
        let program = |words: &[&str], unlocks: &str| {
            let name = words.first().filter(|program| **program != OURSELVES)?;
            let program = Need::Program {
                name: (*name).to_owned(),
                package: facts.package.to_owned(),
            };
            Some(Requirement::new(
                program,
                format!("{unlocks} {}", facts.name),
            ))
        };
        let checker = facts.check.map_or(facts.describe, |(words, _)| words);
        let kernel = Need::KernelFilesystem(name.to_owned());
        let all = [
            Some(Requirement::new(
                Need::Root,
                format!("making and mounting {name}"),
            )),
            program(facts.mkfs, "making"),
            Some(Requirement::new(kernel, format!("mounting {name}"))),
            program(checker, "checking"),
        ];
        all.into_iter().flatten().collect()
    }

    /// The file system, and the options of its mkfs, that are the same in a BSD kernel; none if the
    /// name means one file system everywhere.
    fn in_bsd(&self) -> Option<(&'static str, &'static [&'static str])> {
        None
    }

    /// The reason to reject a mount option, if it is known in advance.
    fn refuses(&self, _option: &str) -> Option<String> {
        None
    }

    /// The pool that is mounted at the target, or none if the kernel mounts a device.
    /// `fsdyno clean` derives its commands from it.
    fn pool(&self, _target: &Path) -> Option<Pool> {
        None
    }

    /// The daemon that its programs need, unless the kernel module replaces it.
    fn daemon(&self) -> Option<Daemon> {
        None
    }

    /// Size according to its options, for this much memory. None if it is not in memory or the
    /// options have no size.
    fn size_in_memory(&self, _contender: &Contender, _total: Bytes) -> Option<Bytes> {
        None
    }

    /// Makes the file system anew and overwrites the devices.
    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        match self.facts().mkfs {
            [] => Vec::new(),
            program => make_on(program, contender, first(devices)),
        }
    }

    /// Makes the file system if its programs need the mount point at that time. Nothing else is
    /// mounted there.
    fn make_for(&self, contender: &Contender, devices: &[String], _target: &Path) -> Vec<Step> {
        self.make(contender, devices)
    }

    /// Makes the file system as a person does, with this name if it is a pool. The programs ask
    /// before they overwrite something.
    fn make_by_hand(
        &self,
        contender: &Contender,
        devices: &[String],
        _target: &Path,
        _pool: &str,
    ) -> Vec<Step> {
        make_on(by_hand(self.facts()), contender, first(devices))
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        mount_first(self.facts(), Vec::new(), contender, devices, target)
    }

    /// Step after `syncfs` that makes all written data durable.
    fn make_durable(&self, _target: &Path) -> Option<Step> {
        None
    }

    /// Reads the effective settings of the mounted file system. Each step has the name of its
    /// source.
    fn describe(
        &self,
        _contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        let words = self.facts().describe;
        let step = match words.first() {
            Some(source) => Some(((*source).to_owned(), on_first(words, devices))),
            None => on_directory("stat", &["stat", "-f"], target),
        };
        step.into_iter().collect()
    }

    /// Reports the free extents of the mounted file system, with the name of the source. None if
    /// not available.
    fn free_space(&self, _devices: &[String], _target: &Path) -> Option<(String, Step)> {
        None
    }

    /// Checks the unmounted file system without writes.
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        on_devices(self.facts().check, first(devices))
    }

    /// Checks the file system if its checker needs the former mount point.
    fn check_for(
        &self,
        contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Option<Check> {
        self.check(contender, devices)
    }

    /// Replays the journal before a mount, or none if the kernel does. Status 1: it corrected more
    /// than that (fsck(8)).
    fn replay(&self, devices: &[String]) -> Option<Check> {
        on_devices(self.facts().replay, first(devices))
    }

    /// The promises of its documentation about power cuts beyond POSIX, with these mount options.
    fn extra_promises(&self, contender: &Contender) -> Vec<DeclaredPromise> {
        let documented = self.facts().promises.iter();
        let holding = documented.filter(|one| one.holds(contender));
        holding.map(Documented::declared).collect()
    }

    /// Whether free space may show in files whose data was not made durable.
    fn shows_stale_data(&self, contender: &Contender) -> bool {
        match self.facts().stale_data {
            StaleData::Always => true,
            StaleData::With(options) => {
                let mut mount = contender.mount.iter();
                mount.any(|one| options.contains(&one.as_str()))
            }
        }
    }

    /// The check at boot after an unclean unmount, for file systems without a journal. None with a
    /// journal. Status 1: it corrected errors (fsck(8)).
    fn check_at_boot(&self, devices: &[String]) -> Option<Check> {
        on_devices(self.facts().check_at_boot, first(devices))
    }

    /// Repairs a file system that cannot be mounted. None if this is not a routine operation.
    fn repair(&self, devices: &[String]) -> Option<Check> {
        on_devices(self.facts().repair, first(devices))
    }

    /// Reads all copies of all blocks of the mounted file system, and repairs those that have an
    /// intact copy. None if it has no such operation.
    fn scrub(&self, _target: &Path) -> Option<Check> {
        None
    }

    /// Mounts the file system without the last of its devices, whose content is lost. None if it has no
    /// layout of its own that survives that, or if fsdyno cannot replace the device.
    fn mount_degraded(
        &self,
        _contender: &Contender,
        _devices: &[String],
        _target: &Path,
    ) -> Option<Vec<Step>> {
        None
    }

    /// Replaces the device of this number by an empty one of the same name, in the file system that is
    /// mounted without it. The step ends when its data are restored.
    fn rebuild(&self, _devices: &[String], _lost: usize, _target: &Path) -> Option<Step> {
        None
    }

    /// Takes the snapshot of this number of the mounted file system, which is
    /// read-only. None if fsdyno knows no such operation of it.
    fn snapshot(&self, _target: &Path, _number: u32) -> Option<Step> {
        None
    }

    /// The mount option that disables flushes. Durability and write order then depend on a device
    /// that loses no data. None without such an option.
    fn unflushed(&self) -> Option<&'static str> {
        let mut options = self.mount_options().iter();
        options.find(|option| **option == "nobarrier").copied()
    }

    /// The request that makes its driver forget an unmounted device; none if the driver keeps no
    /// state of it. Needed when the content of a device is replaced.
    fn forget(&self, _device: &str) -> Option<Forget> {
        None
    }

    /// The roles of the blocks of a device with this file system. None without a classifier, or if
    /// the device has another file system.
    fn roles(&self, _read: ReadAt<'_>) -> Option<Roles> {
        None
    }

    /// Whether a block, whose role its place does not tell, has the structure of metadata.
    fn is_metadata(&self, _block: &[u8]) -> bool {
        false
    }

    /// Prints the version of its mkfs.
    fn version(&self) -> Option<Step> {
        let facts = self.facts();
        Some(Step::command([facts.mkfs.first()?, facts.version?]))
    }

    /// Whether files can share blocks (reflink), so that a copy may need no data writes.
    fn shares_blocks(&self, _contender: &Contender) -> bool {
        false
    }

    /// Whether it compresses data, so that the device receives fewer bytes than were written.
    fn compresses(&self, _contender: &Contender) -> bool {
        false
    }
}

/// The check of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The checker in read-only mode.
    pub step: Step,
    /// Exit codes of a clean file system.
    pub clean: &'static [i32],
}

/// A request (ioctl(2)) to the control device of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    pub control: &'static str,
    /// The number of the request. The driver only reads its argument.
    pub request: u32,
    pub argument: Vec<u8>,
}

/// All file systems in the order of the listing.
pub static ALL: &[&dyn Filesystem] = &[
    &ext2::EXT2,
    &ext3::EXT3,
    &ext4::EXT4,
    &xfs::Xfs,
    &btrfs::Btrfs,
    &reiserfs::REISERFS,
    &jfs::JFS,
    &f2fs::F2FS,
    &nilfs2::NILFS2,
    &bcachefs::Bcachefs,
    &ntfs3::NTFS3,
    &exfat::EXFAT,
    &vfat::VFAT,
    &ufs1::UFS1,
    &ufs2::UFS2,
    &zfs::Zfs,
    &ffs::Ffs,
    &tmpfs::Tmpfs,
    &dir::Dir,
];

pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    ALL.iter().copied().find(|fs| fs.name() == name)
}

/// How the file system of that name becomes available, or none for an unknown name.
pub fn kind_of(name: &str) -> Option<FilesystemKind> {
    find(name).map(Filesystem::kind)
}

/// Whether Linux cannot have this file system: it runs only on other systems.
pub fn bsd_only(fs: &dyn Filesystem) -> bool {
    let mut requirements = fs.requirements().into_iter();
    requirements.any(|requirement| requirement.need == Need::BsdKernel)
}

/// Makes the contender by the programs of the lab's own system, where that is another file system.
/// Its label stays.
pub fn in_lab(contender: &mut Contender, lab: &LabChoice) {
    let fs = ALL.iter().find(|fs| fs.name() == contender.filesystem);
    let there = fs.filter(|_| lab.is_remote()).and_then(|fs| fs.in_bsd());
    if let Some((name, options)) = there {
        name.clone_into(&mut contender.filesystem);
        let options = options.iter().map(|word| (*word).to_owned());
        contender.mkfs.splice(0..0, options);
    }
}

/// Whether a contender uses block devices.
pub fn on_blocks(contender: &Contender) -> bool {
    kind_of(&contender.filesystem) == Some(FilesystemKind::Block)
}

/// Names of all file systems in the order of the listing.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|fs| fs.name()).collect()
}

/// Mounts the first device with the contender's options after those of `before`.
fn mount_first(
    facts: &Facts,
    before: Vec<String>,
    contender: &Contender,
    devices: &[String],
    target: &Path,
) -> Vec<Step> {
    let mut options = before;
    options.extend(contender.mount.iter().cloned());
    vec![Step::Mount {
        fstype: facts.driver.unwrap_or(facts.name).to_owned(),
        source: devices.first().cloned().unwrap_or_default(),
        target: target.to_owned(),
        options,
    }]
}

/// The mkfs program as a person types it.
fn by_hand(facts: &Facts) -> &'static [&'static str] {
    match facts.by_hand {
        [] => facts.mkfs,
        words => words,
    }
}

/// Runs the mkfs program on devices with the contender's options.
fn make_on(program: &[&str], contender: &Contender, devices: &[String]) -> Vec<Step> {
    let options = contender.mkfs.iter().map(String::as_str);
    let words: Vec<&str> = program.iter().copied().chain(options).collect();
    vec![on(&words, devices)]
}

/// Runs a program on devices.
fn on(words: &[&str], devices: &[String]) -> Step {
    let words = words.iter().map(|word| (*word).to_owned());
    Step::command(words.chain(devices.iter().cloned()))
}

/// The first device, which a file system without a pool uses.
fn first(devices: &[String]) -> &[String] {
    &devices[..devices.len().min(1)]
}

/// Runs a program on the first device.
fn on_first(words: &[&str], devices: &[String]) -> Step {
    on(words, first(devices))
}

/// Runs a program on a directory. None if the path is not valid text.
fn on_directory(source: &str, words: &[&str], directory: &Path) -> Option<(String, Step)> {
    let argv = words.iter().copied().chain([directory.to_str()?]);
    Some((source.to_owned(), Step::command(argv)))
}
