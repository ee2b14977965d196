//! Shared code of UFS1 and UFS2. fsdyno makes and checks both itself, because no program on Linux
//! does. The kernel has one driver for both, which needs the variant as an option.
//!
//! Writes need a kernel with `CONFIG_UFS_FS_WRITE`, which distributions disable. Properties of the
//! driver (as of Linux 6.12) that affect its results:
//!
//! - It has neither soft updates nor a journal, and it does not mark a mounted file system as
//!   dirty. After a power cut it mounts any remaining state, and only the check detects damage.
//! - It writes every new fragment of a file twice, first as zeros and synchronously. This is most
//!   of the time of a copy.
//! - It writes a changed directory synchronously with any mount options, so `async` and `dirsync`
//!   do not differ there. The driver no longer reads `dirsync`; in 6.1 it did.
//! - If a file or directory cannot grow by a fragment for lack of space, its page stays mapped to
//!   the fragment after its last one. Later writes to the page go into another file. Other
//!   metadata stay correct on a full disk, but a file system that was full needs a check.

use super::{Check, Filesystem, mount_first, on_directory, on_first};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::step::OURSELVES;
use fsdyno_model::{
    Bytes, Capabilities, Consistency, Contender, FilesystemKind, Need, Requirement, Step,
};
use std::path::Path;

/// The kernel's file system type of both.
const DRIVER: &str = "ufs";

/// One of the two variants.
pub struct Berkeley {
    /// Name.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// Version number of the format.
    pub version: &'static str,
    /// The driver's name of the variant.
    pub form: &'static str,
    /// Minimum size of a device.
    pub smallest: Bytes,
}

/// Option grammar of `fsdyno ufs make`: the letters of newfs(8) of FreeBSD.
static NEWFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "ObficmoghL",
    long_with_value: &[],
    refused: &[
        ("O", "the name of the contender selects the format"),
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
            // The driver stores no extended attributes.
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

    /// The driver's action on a file system error (the kernel's admin-guide/ufs). The user cannot
    /// set the variant option.
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

    /// `fsdyno ufs make -O VERSION [OPTIONS] DEVICE`. It prints the geometry.
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

    /// `fsdyno ufs check DEVICE`. Status 1: the file system is inconsistent.
    fn check(&self, _contender: &Contender, devices: &[String]) -> Option<Check> {
        Some(Check {
            step: on_first(&[OURSELVES, "ufs", "check"], devices),
            clean: &[0],
        })
    }
}
