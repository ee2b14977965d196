//! The recipes: one file a file system, one static value a file. Names of file systems decide
//! something here and nowhere else.

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

/// What to do for one kind of file system. Its answers are values: nothing is executed.
///
/// `devices` are the devices of the contender in order (or, in a dry run, the shell variables that
/// will hold them); there are as many as its layout says. They have passed the device guard.
pub trait Filesystem: Sync {
    /// The name, as typed and stored.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn title(&self) -> &'static str;

    /// What it needs to come to life.
    fn kind(&self) -> FilesystemKind;

    /// What it can store and do, by its format and its driver in Linux, with the default options.
    fn capabilities(&self) -> Capabilities;

    /// What must be there, each with what it unlocks.
    fn requirements(&self) -> Vec<Requirement>;

    /// The keys of its own mount options (`data`, `compress`); the generic ones are in
    /// [`crate::options::GENERIC`].
    fn mount_options(&self) -> &'static [&'static str];

    /// Keys of mount options that would make the kernel open another device or file.
    fn foreign_mount_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Why it cannot have a mount option, where that is known beforehand.
    fn refuses(&self, _option: &str) -> Option<String> {
        None
    }

    /// The pool that its programs hold while it is mounted there; none where the kernel mounts a
    /// device. A clean-up derives its commands from this.
    fn pool(&self, _target: &Path) -> Option<Pool> {
        None
    }

    /// The daemon that its programs need, unless the kernel does its work.
    fn daemon(&self) -> Option<Daemon> {
        None
    }

    /// How its mkfs reads options; none where nothing is made.
    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        None
    }

    /// The names of the layouts it can have.
    fn layouts(&self) -> &'static [&'static str];

    /// The smallest device it can be made on, with its defaults.
    fn smallest_bytes(&self) -> Bytes {
        Bytes(0)
    }

    /// How large it is by its options, of so much memory in all; none where it does not live in
    /// memory, or they do not tell.
    fn size_in_memory(&self, _contender: &Contender, _total: Bytes) -> Option<Bytes> {
        None
    }

    /// Making it anew on its devices, whatever was there.
    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step>;

    /// Making it, where its programs have to be told where it will stand: nothing else is ever
    /// mounted there.
    fn make_for(&self, contender: &Contender, devices: &[String], _target: &Path) -> Vec<Step> {
        self.make(contender, devices)
    }

    /// Mounting it.
    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step>;

    /// What has to be done after `syncfs` for all that was written to be durable.
    fn make_durable(&self, _target: &Path) -> Option<Step> {
        None
    }

    /// Reading back, while it is mounted, what is in force: each with the name of its source.
    fn describe(
        &self,
        contender: &Contender,
        devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)>;

    /// Telling, while it is mounted, in what pieces its free space lies: the name of the source.
    /// None where it does not tell.
    fn free_space(&self, _devices: &[String], _target: &Path) -> Option<(String, Step)> {
        None
    }

    /// Checking it after unmount, without writing.
    fn check(&self, _contender: &Contender, _devices: &[String]) -> Option<Check> {
        None
    }

    /// Checking it, where its checker has to be told where it stood.
    fn check_for(
        &self,
        contender: &Contender,
        devices: &[String],
        _target: &Path,
    ) -> Option<Check> {
        self.check(contender, devices)
    }

    /// What replays its journal before it is mounted; none where the kernel does. Status 1 means
    /// that it had to correct more (fsck(8)).
    fn replay(&self, _devices: &[String]) -> Option<Check> {
        None
    }

    /// What each boot runs before it mounts one that was not unmounted, since there is no journal to
    /// replay; none where there is. Status 1 means that it corrected something (fsck(8)).
    fn check_at_boot(&self, _devices: &[String]) -> Option<Check> {
        None
    }

    /// Repairing it where it cannot be mounted; none where that is no routine.
    fn repair(&self, _devices: &[String]) -> Option<Check> {
        None
    }

    /// The mount option with which it sends no flushes: what was promised to be durable, and its own
    /// order of writes, then depend on the device losing nothing. None where it has no such option.
    fn unflushed(&self) -> Option<&'static str> {
        let mut options = self.mount_options().iter();
        options.find(|option| **option == "nobarrier").copied()
    }

    /// The program that lays fragmented files anew, for a mounted file system; none where it has
    /// none.
    fn defragmenter(&self) -> Option<&'static str> {
        None
    }

    /// Asking its mkfs for its version.
    fn version(&self) -> Option<Step> {
        None
    }

    /// Whether a file can share the blocks of another, so that a copy may be free.
    fn shares_blocks(&self, _contender: &Contender) -> bool {
        false
    }

    /// Whether it compresses data, so that fewer bytes reach the device than are written.
    fn compresses(&self, _contender: &Contender) -> bool {
        false
    }
}

/// How a file system is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The checker, told to change nothing.
    pub step: Step,
    /// The exit codes that mean "clean".
    pub clean: &'static [i32],
}

/// All file systems, in the order they are listed.
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

/// What the file system of that name needs to come to life; none where there is none.
pub fn kind_of(name: &str) -> Option<FilesystemKind> {
    find(name).map(Filesystem::kind)
}

/// Whether no Linux has a file system: it runs on other machines alone, with what they have.
pub fn elsewhere_only(fs: &dyn Filesystem) -> bool {
    let mut requirements = fs.requirements().into_iter();
    requirements.any(|requirement| requirement.need == Need::BsdKernel)
}

/// Whether a contender lives on block devices.
pub fn on_blocks(contender: &Contender) -> bool {
    kind_of(&contender.filesystem) == Some(FilesystemKind::Block)
}

/// The names of all file systems, in the order they are listed.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|fs| fs.name()).collect()
}

/// What a file system on block devices needs: root, the kernel's part, mkfs and the checker.
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

/// Mounting from the first device with the contender's options, after `before`.
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

/// Making on the first device by that program, with the contender's options.
fn make_first(program: &[&str], contender: &Contender, devices: &[String]) -> Vec<Step> {
    let fixed = program.iter().map(|word| (*word).to_owned());
    let argv = fixed
        .chain(contender.mkfs.iter().cloned())
        .chain(devices.first().cloned());
    vec![Step::command(argv)]
}

/// A program on the first device.
fn on_first(words: &[&str], devices: &[String]) -> Step {
    Step::command(
        words
            .iter()
            .map(|word| (*word).to_owned())
            .chain(devices.first().cloned()),
    )
}

/// A program on a directory; none where the name of the directory is no text.
fn on_directory(source: &str, words: &[&str], directory: &Path) -> Option<(String, Step)> {
    let argv = words.iter().copied().chain([directory.to_str()?]);
    Some((source.to_owned(), Step::command(argv)))
}
