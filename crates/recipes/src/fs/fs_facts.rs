//! The facts of a file system. They define all operations of a simple one: one device, a mkfs program
//! with options before the device, and programs that check and describe it.

use super::{Check, Filesystem, on};
use crate::mkfs_options::MkfsGrammar;
use crate::promises::Documented;
use crate::protection::Protection;
use crate::unsafe_options::UnsafeOption;
use fsdyno_model::{Bytes, Capabilities, Contender, FilesystemKind};

/// A program on the device, and its exit codes for success.
pub type OnDevice = (&'static [&'static str], &'static [i32]);

/// The name of the layout with a copy on each device. A file system that lists it keeps the copies itself.
pub const MIRROR: &str = "mirror";

/// The name of the layout that divides everything over all devices, by the file system or below it.
pub const STRIPE: &str = "stripe";

/// The name of the layout that survives the loss of one device by a parity, by the file system or
/// below it.
pub const PARITY: &str = "parity";

/// When free space may show in files whose data was not made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleData {
    /// With one of these mount options: its documents exclude it otherwise.
    With(&'static [&'static str]),
    /// Always: its documents do not order data before metadata.
    Always,
}

/// The facts of a file system. [`Filesystem`] explains those with an operation of that name.
pub struct Facts {
    /// Name on the command line and in the database.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// How the file system becomes available.
    pub kind: FilesystemKind,
    /// Features of the format and its Linux driver, with the default options.
    pub capabilities: Capabilities,
    /// The mkfs program with its fixed arguments. Empty: nothing is made.
    pub mkfs: &'static [&'static str],
    /// That program as a person types it, without arguments that answer questions or change what is
    /// printed. Empty: the same.
    pub by_hand: &'static [&'static str],
    pub grammar: &'static MkfsGrammar,
    /// The kernel's mount type, if it is not the name.
    pub driver: Option<&'static str>,
    /// Keys of its own mount options (`data`, `compress`). The generic ones are in
    /// [`crate::options::GENERIC`].
    pub options: &'static [&'static str],
    /// Options that give up safety for speed.
    pub unsafe_options: &'static [UnsafeOption],
    /// What options protect or save, at a price.
    pub protections: &'static [Protection],
    /// Keys of mount options that would make the kernel open another device or file.
    pub foreign: &'static [&'static str],
    pub layouts: &'static [&'static str],
    /// Minimum size of a device with the default options.
    pub smallest: Bytes,
    /// Program that prints the format's parameters while mounted. Default: `stat -f`.
    pub describe: &'static [&'static str],
    /// The checker in read-only mode.
    pub check: Option<OnDevice>,
    /// Whether the kernel checks at a mount, and no program reads the devices: a file cannot be
    /// checked, and only where the kernel has the file system.
    pub checked_by_kernel: bool,
    /// Journal replay before a mount, if the kernel does not do it.
    pub replay: Option<OnDevice>,
    /// Check at boot before the mount, without a journal.
    pub check_at_boot: Option<OnDevice>,
    /// The place of its check at boot in fstab(5); 0 without one.
    pub pass: u8,
    pub repair: Option<OnDevice>,
    /// The promises of its documentation about power cuts beyond POSIX.
    pub promises: &'static [Documented],
    /// When free space may show in files whose data was not made durable.
    pub stale_data: StaleData,
    /// The defragmentation program for a mounted file system.
    pub defragmenter: Option<&'static str>,
    /// How it has quotas of users that survive a power cut; none if it has none here.
    pub quota: Option<Quota>,
    /// The Debian package of its programs.
    pub package: &'static str,
    /// The argument for the version of the mkfs program.
    pub version: Option<&'static str>,
}

impl Facts {
    /// Common defaults. A recipe sets the other fields: `..Facts::TEMPLATE`.
    pub const TEMPLATE: Self = Self {
        name: "",
        title: "",
        kind: FilesystemKind::Block,
        capabilities: Capabilities::ALL,
        mkfs: &[],
        by_hand: &[],
        grammar: &MkfsGrammar::NO_OPTIONS,
        driver: None,
        options: &[],
        unsafe_options: &[],
        protections: &[],
        foreign: &[],
        layouts: &["single"],
        smallest: Bytes(0),
        describe: &[],
        check: None,
        checked_by_kernel: false,
        replay: None,
        check_at_boot: None,
        pass: 0,
        repair: None,
        promises: &[],
        stale_data: StaleData::With(&[]),
        defragmenter: None,
        quota: None,
        package: "",
        version: Some("-V"),
    };
}

/// How quotas of users are enabled.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// The feature of `-O` of mkfs; none if mkfs needs none.
    pub feature: Option<&'static str>,
    /// The mount option.
    pub mount: &'static str,
}

impl Quota {
    /// Enables them in a contender.
    pub fn enable(&self, contender: &mut Contender) {
        contender.mount.push(self.mount.to_owned());
        let Some(feature) = self.feature else {
            return;
        };
        let words = &mut contender.mkfs;
        // mke2fs uses only the last `-O`.
        match words.iter().rposition(|word| word.starts_with("-O")) {
            Some(at) => {
                let has_value = words[at].len() > 2;
                let value = if has_value { at } else { at + 1 };
                if let Some(value) = words.get_mut(value) {
                    *value = format!("{value},{feature}");
                }
            }
            None => words.extend(["-O".to_owned(), feature.to_owned()]),
        }
    }
}

/// The check by a program on devices.
pub(super) fn on_devices(program: Option<OnDevice>, devices: &[String]) -> Option<Check> {
    program.map(|(words, clean)| Check {
        step: on(words, devices),
        clean,
    })
}

impl Filesystem for Facts {
    fn facts(&self) -> &Facts {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_further_feature_of_mkfs() {
        let quota = Quota {
            feature: Some("quota"),
            mount: "usrquota",
        };
        for (typed, expected) in [
            (&[][..], &["-O", "quota"][..]),
            (&["-O", "^has_journal"], &["-O", "^has_journal,quota"]),
            (&["-Obigalloc", "-q"], &["-Obigalloc,quota", "-q"]),
        ] {
            let mut contender = Contender::plain("x");
            contender.mkfs = typed.iter().map(|word| (*word).to_owned()).collect();
            quota.enable(&mut contender);
            assert_eq!(contender.mkfs, expected);
            assert_eq!(contender.mount, ["usrquota"]);
        }
    }
}
