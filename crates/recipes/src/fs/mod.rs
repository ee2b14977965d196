//! The recipes: one file and one static value per file system. Only this module depends on the
//! names of file systems.

mod bcachefs;
mod berkeley;
mod btrfs;
mod dir;
mod exfat;
mod ext2;
mod ext3;
mod ext4;
mod ext_family;
mod f2fs;
mod ffs;
mod jfs;
mod nilfs2;
mod ntfs3;
mod plain_data;
mod reiserfs;
mod tmpfs;
mod ufs1;
mod ufs2;
mod vfat;
mod xfs;
mod zfs;

use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::{
    Bytes, Capabilities, Contender, Daemon, FilesystemKind, Need, Pool, Requirement, Step,
};
use std::path::Path;

/// The operations for one file system. They return values and execute nothing.
///
/// `devices` are the contender's devices in order (in a dry run, the shell variables for them).
/// Their number is that of the layout. The device guard has checked them.
pub trait Filesystem: Sync {
    /// Name on the command line and in the database.
    fn name(&self) -> &'static str;

    /// One-line description.
    fn title(&self) -> &'static str;

    /// How the file system becomes available.
    fn kind(&self) -> FilesystemKind;

    /// Features of the format and its Linux driver, with the default options.
    fn capabilities(&self) -> Capabilities;

    /// Requirements, each with the function that needs it.
    fn requirements(&self) -> Vec<Requirement>;

    /// Keys of its own mount options (`data`, `compress`). The generic ones are in
    /// [`crate::options::GENERIC`].
    fn mount_options(&self) -> &'static [&'static str];

    /// Keys of mount options that would make the kernel open another device or file.
    fn foreign_mount_options(&self) -> &'static [&'static str] {
        &[]
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

    /// Option grammar of its mkfs, or none without a mkfs.
    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        None
    }

    /// Names of its layouts.
    fn layouts(&self) -> &'static [&'static str];

    /// Minimum size of a device with the default options.
    fn smallest_bytes(&self) -> Bytes {
        Bytes(0)
    }

    /// Size according to its options, for this much memory. None if it is not in memory or the
    /// options have no size.
    fn size_in_memory(&self, _contender: &Contender, _total: Bytes) -> Option<Bytes> {
        None
    }

    /// Makes the file system anew and overwrites the devices.
    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step>;

    /// Makes the file system if its programs need the mount point at that time. Nothing else is
    /// mounted there.
    fn make_for(&self, contender: &Contender, devices: &[String], _target: &Path) -> Vec<Step> {
        self.make(contender, devices)
    }

    /// Mounts the file system.
    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step>;

    /// Step after `syncfs` that makes all written data durable.
    fn make_durable(&self, _target: &Path) -> Option<Step> {
        None
    }

    /// Reads the effective settings of the mounted file system. Each step has the name of its
    /// source.
    fn describe(
        &self,
        contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)>;

    /// Reports the free extents of the mounted file system, with the name of the source. None if
    /// not available.
    fn free_space(&self, _devices: &[String], _target: &Path) -> Option<(String, Step)> {
        None
    }

    /// Checks the unmounted file system without writes.
    fn check(&self, _contender: &Contender, _devices: &[String]) -> Option<Check> {
        None
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
    fn replay(&self, _devices: &[String]) -> Option<Check> {
        None
    }

    /// The check at boot after an unclean unmount, for file systems without a journal. None with a
    /// journal. Status 1: it corrected errors (fsck(8)).
    fn check_at_boot(&self, _devices: &[String]) -> Option<Check> {
        None
    }

    /// Repairs a file system that cannot be mounted. None if this is not a routine operation.
    fn repair(&self, _devices: &[String]) -> Option<Check> {
        None
    }

    /// The mount option that disables flushes. Durability and write order then depend on a device
    /// that loses no data. None without such an option.
    fn unflushed(&self) -> Option<&'static str> {
        let mut options = self.mount_options().iter();
        options.find(|option| **option == "nobarrier").copied()
    }

    /// The defragmentation program for a mounted file system, or none.
    fn defragmenter(&self) -> Option<&'static str> {
        None
    }

    /// Prints the version of its mkfs.
    fn version(&self) -> Option<Step> {
        None
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

/// The recipe of that name.
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

/// Whether a contender uses block devices.
pub fn on_blocks(contender: &Contender) -> bool {
    kind_of(&contender.filesystem) == Some(FilesystemKind::Block)
}

/// Names of all file systems in the order of the listing.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|fs| fs.name()).collect()
}

/// Requirements of a file system on block devices: root, the kernel's part, mkfs and the checker.
fn block_requirements(name: &str, mkfs: &str, checker: &str, package: &str) -> Vec<Requirement> {
    let program = |program: &str| Need::Program {
        name: program.to_owned(),
        package: package.to_owned(),
    };
    vec![
        Requirement::new(Need::Root, format!("making and mounting {name}")),
        Requirement::new(program(mkfs), format!("making {name}")),
        Requirement::new(
            Need::KernelFilesystem(name.to_owned()),
            format!("mounting {name}"),
        ),
        Requirement::new(program(checker), format!("checking {name}")),
    ]
}

/// Mounts the first device with the contender's options after those of `before`.
fn mount_first(
    fstype: &str,
    before: Vec<String>,
    contender: &Contender,
    devices: &[String],
    target: &Path,
) -> Vec<Step> {
    let mut options = before;
    options.extend(contender.mount.iter().cloned());
    vec![Step::Mount {
        fstype: fstype.to_owned(),
        source: devices.first().cloned().unwrap_or_default(),
        target: target.to_owned(),
        options,
    }]
}

/// Runs the mkfs program on the first device with the contender's options.
fn make_first(program: &[&str], contender: &Contender, devices: &[String]) -> Vec<Step> {
    let fixed = program.iter().map(|word| (*word).to_owned());
    let argv = fixed
        .chain(contender.mkfs.iter().cloned())
        .chain(devices.first().cloned());
    vec![Step::command(argv)]
}

/// Runs a program on the first device.
fn on_first(words: &[&str], devices: &[String]) -> Step {
    Step::command(
        words
            .iter()
            .map(|word| (*word).to_owned())
            .chain(devices.first().cloned()),
    )
}

/// Runs a program on a directory. None if the path is not valid text.
fn on_directory(source: &str, words: &[&str], directory: &Path) -> Option<(String, Step)> {
    let argv = words.iter().copied().chain([directory.to_str()?]);
    Some((source.to_owned(), Step::command(argv)))
}
