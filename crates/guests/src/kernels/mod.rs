//! The kernels of guests: that of the distribution's package, those that were built here, and any
//! that the user names.
//!
//! Built kernels are in the user's cache, each in its own directory, which appears complete by a
//! rename. Unfinished builds have separate directories and are never started. A package installs
//! its kernel into `SYSTEM`, for all users.
//!
//! The cache is reached through [`TrustedDir`], and a kernel is executed only by the descriptor whose
//! content was compared with the recorded hash.

mod build;
mod building;
mod error;
mod fragment;
mod git;
mod identity;
mod import;
mod patches;
mod source;
mod source_files;
mod sources;
mod stored;
pub mod symbols;
mod tools;
mod trees;
mod verified;
mod zfs;

pub use build::{Made, Order, Progress, set_up};
pub use error::{ImportError, SetupError, ZfsError};
pub use fragment::InvalidFragment;
pub use git::{About, GitError, Repository};
pub use identity::Identity;
pub use import::install;
pub use patches::{Unfit, explain_crash, has_amx};
pub use source::{KernelSource, NamedSource};
pub use stored::Stored;
pub use trees::{TreeOrder, TreeSource, build, program_of};
pub use verified::NotVerified;
pub use zfs::ZfsSource;

use super::uml::{self, Uml};
use fragment::Fragment;
use fsdyno_files::places::{self, NoPlaces};
use fsdyno_files::{TrustedDir, Untrusted};
use fsdyno_model::{Availability, KernelChoice, Need};
use rustix::fs::{AtFlags, statat};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The program in the folder of a kernel.
pub(super) const PROGRAM: &str = "linux";

/// The directory in the folder of a kernel with programs for its guests, whose version must be that of a
/// part of the kernel.
pub(super) const GUEST_PROGRAMS: &str = "guest-programs";

/// The kernels of packages, for all users.
const SYSTEM: &str = "/usr/lib/fsdyno/kernels";

/// The separate directory of unfinished builds.
const UNFINISHED: &str = "unfinished";

/// The error of a kernel that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The program of the package is not installed.
    #[error(
        "no program `{}`; {}, or have a kernel built: fsdyno lab setup",
        uml::PROGRAM, uml::need().remedy()
    )]
    NoPackage,
    #[error("no kernel was built here; fsdyno lab setup builds one")]
    NoLabKernel,
    /// The cache directory is unknown.
    #[error(transparent)]
    NoPlaces(#[from] NoPlaces),
    /// Another user could have written files of the cache.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The file of the user cannot be a kernel.
    #[error("{} cannot be the kernel of a guest: {cause}", path.display())]
    NoFile {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The lab kernel was not verified.
    #[error(transparent)]
    NotVerified(#[from] NotVerified),
}

#[derive(Debug, Clone)]
pub struct Kernels {
    folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabKernel {
    pub program: PathBuf,
    pub identity: Identity,
}

impl LabKernel {
    /// Whether it was built with the config fragment of this program.
    pub fn is_current(&self) -> bool {
        let hash = match self.identity.zfs {
            Some(_) => zfs::fragment_hash(),
            None => identity::of_fragment(fragment::TEXT),
        };
        self.identity.fragment == hash
    }

    /// Its rank as the default: the lowest is selected. A kernel of sources that the user named is
    /// the default only if there is none of the distribution's sources. One with `OpenZFS` was built on
    /// request, and can do all that others can.
    fn rank(&self) -> (bool, bool, bool) {
        let identity = &self.identity;
        (identity.named, !self.is_current(), identity.zfs.is_none())
    }
}

impl Kernels {
    /// The kernels of this user: `fsdyno/kernels` in the cache directory.
    pub fn of_user() -> Result<Self, NoPlaces> {
        let cache = places::of_effective_user()?.cache;
        Ok(Self::in_folder(cache.join("fsdyno").join("kernels")))
    }

    /// The kernels of source trees and repositories of this user: `fsdyno/tree-kernels` in the cache
    /// directory. None of them is ever the default.
    pub fn of_trees() -> Result<Self, NoPlaces> {
        let cache = places::of_effective_user()?.cache;
        Ok(Self::in_folder(cache.join("fsdyno").join("tree-kernels")))
    }

    /// The kernels of packages.
    pub fn of_system() -> Self {
        Self::in_folder(SYSTEM.into())
    }

    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All complete kernels: those of the distribution's sources first, of these those of our
    /// fragment, and of these the newest.
    pub fn ready(&self) -> Result<Vec<LabKernel>, Untrusted> {
        let folder = match TrustedDir::open(&self.folder) {
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut all = Vec::new();
        for name in folder.names()? {
            if name == UNFINISHED {
                continue;
            }
            let one = match folder.dir(&name) {
                // A build that ends now renames its folder.
                Err(error) if error.is_missing() => continue,
                one => one?,
            };
            // A kernel without an identity was not completed.
            let Some(identity) = Identity::read(&one)? else {
                continue;
            };
            if let Ok(about) = statat(&one, PROGRAM, AtFlags::SYMLINK_NOFOLLOW) {
                let program = one.path().join(PROGRAM);
                all.push((about.st_mtime, LabKernel { program, identity }));
            }
        }
        all.sort_by(|(a, one), (b, other)| one.rank().cmp(&other.rank()).then(b.cmp(a)));
        Ok(all.into_iter().map(|(_, kernel)| kernel).collect())
    }

    pub fn first(&self) -> Result<Option<LabKernel>, Untrusted> {
        Ok(self.ready()?.into_iter().next())
    }
}

/// The lab kernel that would be selected: those of the distribution's sources first, of these those
/// of our fragment, and of these those of this user before those of packages.
pub fn lab() -> Result<LabKernel, KernelError> {
    let packaged = Kernels::of_system().ready()?;
    let own = match Kernels::of_user() {
        Ok(kernels) => kernels.ready()?,
        Err(error) if packaged.is_empty() => return Err(error.into()),
        Err(_) => Vec::new(),
    };
    let all = own.into_iter().chain(packaged);
    all.min_by_key(LabKernel::rank)
        .ok_or(KernelError::NoLabKernel)
}

/// The lab kernel; otherwise the reason why there is none, and the remedy.
pub fn state() -> Result<LabKernel, Availability> {
    let kernel = lab().and_then(|kernel| {
        kernel.verified()?;
        Ok(kernel)
    });
    kernel.map_err(|error| Availability::Missing {
        reason: match error {
            KernelError::NoLabKernel => "it was not built yet".to_owned(),
            error => error.to_string(),
        },
        remedy: "fsdyno lab setup builds it, in some minutes".to_owned(),
    })
}

/// The default kernel of guests, if there is one. If the cache is not trusted, the lab kernel stays
/// the default, and its start reports the reason.
pub fn default() -> Option<KernelChoice> {
    match lab() {
        Err(KernelError::NoLabKernel | KernelError::NoPlaces(_)) => {
            Uml::packaged().map(|_| KernelChoice::Packaged)
        }
        _ => Some(KernelChoice::Lab),
    }
}

/// The program of a kernel, and the open file that is executed; none if its content was not
/// verified.
pub(super) fn program(choice: &KernelChoice) -> Result<(PathBuf, Option<Arc<File>>), KernelError> {
    match choice {
        KernelChoice::Packaged => Ok((Uml::packaged().ok_or(KernelError::NoPackage)?, None)),
        KernelChoice::Lab => {
            let kernel = lab()?;
            let file = kernel.verified()?;
            Ok((kernel.program, Some(file)))
        }
        KernelChoice::File(path) => {
            let opened = fsdyno_files::input::open(path);
            opened.map_err(|cause| KernelError::NoFile {
                path: path.clone(),
                cause,
            })?;
            Ok((path.clone(), None))
        }
    }
}

/// The programs next to a kernel for its guests; none if it has none. The directory of `program` is
/// trusted as far as `program` is.
pub(super) fn guest_programs(program: &Path) -> Result<Option<PathBuf>, Untrusted> {
    match TrustedDir::open(&program.with_file_name(GUEST_PROGRAMS)) {
        Ok(folder) => Ok(Some(folder.path().to_owned())),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a kernel was built with an option: `CONFIG_X=y`. A kernel that does not exist was not.
pub fn has_option(choice: &KernelChoice, option: &str) -> bool {
    let Ok((program, verified)) = program(choice) else {
        return false;
    };
    let uml = Uml::at(program, verified);
    uml.is_ok_and(|uml| uml.lacks(&[option]).is_ok_and(|lacks| lacks.is_empty()))
}

/// Whether guests of a kernel have a program that this machine may lack.
pub fn brings_program(choice: &KernelChoice, name: &str) -> bool {
    let Ok((program, _)) = program(choice) else {
        return false;
    };
    let folder = guest_programs(&program);
    folder.is_ok_and(|folder| folder.is_some_and(|folder| folder.join(name).is_file()))
}

/// How to get a missing option from a lab kernel; none if the lab kernel lacks it too, or is the
/// kernel in question.
pub fn remedy(need: &Need, requested: Option<&Path>) -> Option<String> {
    let (Need::KernelFilesystem(name) | Need::KernelModule(name)) = need else {
        return None;
    };
    if !Fragment::ours().ok()?.offers().contains(name.as_str()) {
        return None;
    }
    match lab() {
        Ok(kernel) if kernel.is_current() => {
            let lacks = kernel.identity.lacks.contains(name);
            let itself = requested == Some(kernel.program.as_path());
            (!lacks && !itself)
                .then(|| "the lab kernel has it: --lab uml --guest-kernel lab".to_owned())
        }
        _ => Some("a lab kernel has it, for --lab uml: fsdyno lab setup makes one".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, SystemTime};

    /// Creates the folder of a kernel with this name, modified this many seconds ago.
    fn kernel(folder: &Path, name: &str, fragment: &str, age: u64) {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let identity = Identity::of("source", fragment, "compiler").built("6.1", "digest", &[]);
        identity.write(&folder).unwrap();
        let program = File::create(folder.join(PROGRAM)).unwrap();
        let built = SystemTime::now() - Duration::from_secs(age);
        program.set_modified(built).unwrap();
    }

    #[test]
    fn the_newest_of_our_fragment_is_taken_and_nothing_that_is_half_done() {
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        assert_eq!(kernels.first().unwrap(), None);
        let folder = kernels.folder();
        kernel(folder, "older", fragment::TEXT, 100);
        kernel(folder, "newer", fragment::TEXT, 50);
        kernel(folder, "of-another", "CONFIG_X=y\n", 0);
        // A kernel without an identity was not completed.
        fs::create_dir_all(folder.join("half")).unwrap();
        File::create(folder.join("half").join(PROGRAM)).unwrap();
        // Other directories are ignored.
        fs::create_dir_all(folder.join(UNFINISHED).join("newest")).unwrap();
        let names: Vec<_> = kernels
            .ready()
            .unwrap()
            .iter()
            .map(|one| {
                one.program
                    .parent()
                    .unwrap()
                    .file_name()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(names, ["newer", "older", "of-another"]);
        assert!(kernels.first().unwrap().unwrap().is_current());
    }

    #[test]
    fn a_newer_kernel_of_named_sources_is_not_the_default() {
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        let folder = kernels.folder();
        kernel(folder, "named", fragment::TEXT, 0);
        let identity = Identity::of("linux-6.1 sha256 00", fragment::TEXT, "compiler");
        let identity = identity.named(true).built("6.1", "digest", &[]);
        identity.write(&folder.join("named")).unwrap();
        assert!(kernels.first().unwrap().unwrap().identity.named);
        kernel(folder, "of-the-distribution", "CONFIG_X=y\n", 100);
        assert!(!kernels.first().unwrap().unwrap().identity.named);
    }

    #[test]
    fn a_kernel_with_openzfs_is_preferred_if_it_is_current() {
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        let folder = kernels.folder();
        let with_zfs = |fragment: &str| {
            let mut identity = Identity::of("source", "", "compiler").built("6.1", "digest", &[]);
            identity.zfs = Some("zfs-dkms 2.3.2-2".to_owned());
            fragment.clone_into(&mut identity.fragment);
            identity.write(&folder.join("zfs")).unwrap();
            kernels.first().unwrap().unwrap().identity.zfs.is_some()
        };
        kernel(folder, "zfs", fragment::TEXT, 100);
        kernel(folder, "other", fragment::TEXT, 0);
        assert!(with_zfs(&zfs::fragment_hash()));
        assert!(!with_zfs(&identity::of_fragment(fragment::TEXT)));
    }

    #[test]
    fn what_no_lab_kernel_offers_has_no_remedy_there() {
        let module = |name: &str| Need::KernelModule(name.to_owned());
        assert_eq!(remedy(&module("no-such-thing"), None), None);
        assert_eq!(remedy(&Need::Root, None), None);
        let reported = remedy(&module("raid0"), None).unwrap();
        assert!(reported.contains("lab"), "{reported}");
    }

    #[test]
    fn a_kernel_that_others_could_have_written_is_refused() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        kernel(kernels.folder(), "one", fragment::TEXT, 0);
        let one = kernels.folder().join("one");
        assert!(kernels.ready().is_ok());
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for path in [kernels.folder(), &one, &one.join("identity.json")] {
            let before = fs::metadata(path).unwrap().permissions().mode();
            mode(path, 0o777);
            let why = kernels.ready().unwrap_err().to_string();
            assert!(why.contains("writable by everybody"), "{why}");
            mode(path, before);
            if rustix::process::geteuid().is_root() {
                chown(path, Some(65_534), None).unwrap();
                let why = kernels.ready().unwrap_err().to_string();
                assert!(why.contains("uid 65534"), "{why}");
                chown(path, Some(0), None).unwrap();
            }
        }
        assert!(kernels.ready().is_ok());
    }
}
