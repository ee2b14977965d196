//! What UFS1 and UFS2 share: fsdyno makes and checks both itself, since no program on Linux does, and
//! the kernel's one driver mounts them, told which of its many forms it is.
//!
//! It writes only where the kernel was built with `CONFIG_UFS_FS_WRITE`, which distributions leave
//! out. What of the driver (as of Linux 6.12) has to be known with its figures:
//!
//! - It has neither soft updates nor a journal, and does not mark what it has mounted as in use: after a
//!   cut it mounts again whatever is left, and only the check tells what that is.
//! - Every new fragment of a file is written twice, zeros first and at once. That is most of what a copy
//!   takes.
//! - A directory that changed is written at once, whatever the mount options (the driver no longer looks
//!   for `dirsync`; in 6.1 it did): `async` and `dirsync` differ in nothing there.
//! - Where a file or directory could not grow by a fragment for want of space, the page that was to hold
//!   it stays mapped to the fragment behind its last, which is not its own. What is written there later
//!   goes into another file. It keeps its books otherwise, on a full disk too; but what has been full is
//!   to be checked.

use super::{Check, Filesystem, mount_first, on_directory, on_first};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::step::OURSELVES;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, FilesystemKind, Need, Requirement, Step,
};
use std::path::Path;

/// The kernel's name of both.
const DRIVER: &str = "ufs";

/// One of the two.
pub struct Berkeley {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// The number of its format.
    pub version: &'static str,
    /// What the driver calls it.
    pub form: &'static str,
    /// The smallest device it can be made on.
    pub smallest: Bytes,
}

/// How `fsdyno ufs make` reads its options: by the letters of newfs(8) of FreeBSD.
static NEWFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "ObficmoghL",
    long_with_value: &[],
    refused: &[
        ("O", "the name of the contender tells the format"),
        (
            "U",
            "soft updates exist only in BSD kernels; run this contender on a BSD machine",
        ),
        (
            "j",
            "journaled soft updates exist only in BSD kernels; run this contender on a BSD machine",
        ),
        ("help", "it makes nothing"),
    ],
    refused_values: &[],
};

impl Filesystem for Berkeley {
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
        Capabilities {
            consistency: Consistency::None,
            // The driver stores none.
            xattrs: false,
            // Three levels of indirect blocks of 32 KiB, with 64-bit block numbers.
            largest_file: Some(Bytes(2 << 50)),
            ..Capabilities::ALL
        }
    }

    fn requirements(&self) -> Vec<Requirement> {
        let name = self.name;
        let write = Need::KernelOption {
            option: "UFS_FS_WRITE".to_owned(),
            without: format!("{DRIVER} in this kernel only reads"),
        };
        vec![
            Requirement::new(Need::Root, format!("making and mounting {name}")),
            Requirement::new(
                Need::KernelFilesystem(DRIVER.to_owned()),
                format!("mounting {name}"),
            ),
            Requirement::new(write, format!("writing to {name}")),
        ]
    }

    /// What the driver does on an error of the file system (the kernel's admin-guide/ufs). Which form
    /// it is told is no option of the user's.
    fn mount_options(&self) -> &'static [&'static str] {
        &["onerror"]
    }

    fn mkfs_grammar(&self) -> Option<&'static MkfsGrammar> {
        Some(&NEWFS)
    }

    fn layouts(&self) -> &'static [&'static str] {
        &["single"]
    }

    fn smallest_bytes(&self) -> Bytes {
        self.smallest
    }

    /// `fsdyno ufs make -O VERSION [OPTIONS] DEVICE`. What it prints is the geometry.
    fn make(&self, contender: &Contender, devices: &[String]) -> Vec<Step> {
        let fixed = [OURSELVES, "ufs", "make", "-O", self.version].map(str::to_owned);
        let argv = fixed
            .into_iter()
            .chain(contender.mkfs.iter().cloned())
            .chain(devices.first().cloned());
        vec![Step::command(argv)]
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        let form = format!("ufstype={}", self.form);
        mount_first(DRIVER, vec![form], contender, devices, target)
    }

    fn describe(
        &self,
        _contender: &Contender,
        _devices: &[String],
        target: &Path,
    ) -> Vec<(String, Step)> {
        on_directory("stat", &["stat", "-f"], target)
            .into_iter()
            .collect()
    }

    /// `fsdyno ufs check DEVICE`: 1 means that it contradicts itself.
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&[OURSELVES, "ufs", "check"], devices),
            clean: &[0],
        })
    }
}
