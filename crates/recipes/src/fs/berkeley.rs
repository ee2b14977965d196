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

use super::ffs::NAME as FFS;
use super::{Facts, Filesystem, mount_first};
use crate::mkfs_options::MkfsGrammar;
use fsdyno_model::step::OURSELVES;
use fsdyno_model::{Bytes, Capabilities, Consistency, Contender, Need, Requirement, Step};
use std::path::Path;

/// One of the two variants.
pub struct Berkeley {
    pub facts: Facts,
    /// The driver's name of the variant. The user cannot set this option.
    pub form: &'static str,
    /// The options of a BSD's newfs(8) that select it.
    pub newfs: &'static [&'static str],
}

/// The kernel's file system type of both.
const DRIVER: &str = "ufs";

/// The facts that both have in common. `fsdyno ufs make` prints the geometry.
pub const TEMPLATE: Facts = Facts {
    capabilities: Capabilities {
        consistency: Consistency::None,
        // The driver stores no extended attributes.
        xattrs: false,
        // The driver has no direct I/O: an open with `O_DIRECT` fails with EINVAL.
        direct_io: false,
        // Three levels of indirect blocks of 32 KiB, with 64-bit block numbers.
        largest_file: Some(Bytes(2 << 50)),
        ..Capabilities::ALL
    },
    grammar: &NEWFS,
    driver: Some(DRIVER),
    // The driver's action on a file system error (the kernel's admin-guide/ufs).
    options: &["onerror"],
    smallest: Bytes(1 << 20),
    // Status 1: the file system is inconsistent.
    check: Some((&[OURSELVES, "ufs", "check"], &[0])),
    version: None,
    ..Facts::TEMPLATE
};

/// Option grammar of `fsdyno ufs make`: the letters of newfs(8) of FreeBSD.
static NEWFS: MkfsGrammar = MkfsGrammar {
    short_with_value: "ObficmoghL",
    long_with_value: &[],
    refused: &[
        ("O", "the name of the contender selects the format"),
        (
            "U",
            "soft updates exist only in BSD kernels: --lab vm --image FILE, or --lab ssh:USER@HOST",
        ),
        (
            "j",
            "journaled soft updates exist only in BSD kernels: --lab vm --image FILE, or --lab \
             ssh:USER@HOST",
        ),
        ("help", "it makes nothing"),
    ],
    refused_values: &[],
};

impl Filesystem for Berkeley {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn in_bsd(&self) -> Option<(&'static str, &'static [&'static str])> {
        Some((FFS, self.newfs))
    }

    fn requirements(&self) -> Vec<Requirement> {
        let name = self.facts.name;
        let write = Need::KernelOption {
            option: "UFS_FS_WRITE".to_owned(),
            without: format!("{DRIVER} in this kernel only reads"),
        };
        let kernel = Need::KernelFilesystem(DRIVER.to_owned());
        vec![
            Requirement::new(Need::Root, format!("making and mounting {name}")),
            Requirement::new(kernel, format!("mounting {name}")),
            Requirement::new(write, format!("writing to {name}")),
        ]
    }

    fn mount(&self, contender: &Contender, devices: &[String], target: &Path) -> Vec<Step> {
        let form = format!("ufstype={}", self.form);
        mount_first(&self.facts, vec![form], contender, devices, target)
    }
}
