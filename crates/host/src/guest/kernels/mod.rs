//! The kernels that a guest can have: that of the distribution's package, those that were built
//! here, and any that the user names.
//!
//! What is built lies in the user's cache, each kernel in a folder of its own, which comes into
//! being whole: what is half done lies beside it and is never started.

mod amendments;
mod building;
mod fragment;
mod identity;
mod making;
mod sources;
mod tools;

pub use amendments::{has_amx, known_end};
pub use fragment::NotUnderstood;
pub use identity::Identity;
pub use making::{Made, Order, Progress, SetupError, set_up};

use super::GuestError;
use super::uml::Uml;
use etcetera::BaseStrategy;
use fragment::Fragment;
use fsdyno_model::{KernelChoice, Need};
use std::fs;
use std::path::{Path, PathBuf};

/// The program in the folder of a kernel.
pub(super) const PROGRAM: &str = "linux";

/// What is built and not whole yet has this folder to itself.
const UNFINISHED: &str = "unfinished";

/// The place of the kernels that were built here.
#[derive(Debug, Clone)]
pub struct Kernels {
    folder: PathBuf,
}

/// A kernel that was built here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabKernel {
    /// The program.
    pub program: PathBuf,
    /// What it was built from.
    pub identity: Identity,
}

impl LabKernel {
    /// Whether it was built by the fragment that this program carries.
    pub fn is_current(&self) -> bool {
        self.identity.fragment == identity::of_fragment(fragment::TEXT)
    }
}

impl Kernels {
    /// Those of this user: `fsdyno/kernels` in the XDG cache directory; none where nobody can tell
    /// where that is.
    pub fn of_user() -> Option<Self> {
        let strategy = etcetera::choose_base_strategy().ok()?;
        Some(Self::in_folder(
            strategy.cache_dir().join("fsdyno").join("kernels"),
        ))
    }

    /// Those in a folder.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All that are whole: those of our fragment first, and of these the newest.
    pub fn ready(&self) -> Vec<LabKernel> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut all: Vec<_> = entries
            .filter_map(|entry| {
                let program = entry.path().join(PROGRAM);
                let built = fs::metadata(&program).ok()?.modified().ok()?;
                let identity = Identity::read(&entry.path())?;
                Some((built, LabKernel { program, identity }))
            })
            .collect();
        all.sort_by(|(a, one), (b, other)| {
            let (one, other) = (one.is_current(), other.is_current());
            other.cmp(&one).then(b.cmp(a))
        });
        all.into_iter().map(|(_, kernel)| kernel).collect()
    }

    /// The one that is taken.
    pub fn first(&self) -> Option<LabKernel> {
        self.ready().into_iter().next()
    }
}

/// The lab kernel of this user that would be taken.
pub fn lab() -> Option<LabKernel> {
    Kernels::of_user()?.first()
}

/// The kernel that guests have where nobody says; none where there is none at all.
pub fn default() -> Option<KernelChoice> {
    if lab().is_some() {
        return Some(KernelChoice::Lab);
    }
    Uml::packaged().map(|_| KernelChoice::Packaged)
}

/// The program of a kernel.
pub(super) fn program(choice: &KernelChoice) -> Result<PathBuf, GuestError> {
    match choice {
        KernelChoice::Packaged => Uml::packaged().ok_or(GuestError::NoKernel),
        KernelChoice::Lab => lab()
            .map(|kernel| kernel.program)
            .ok_or(GuestError::NoLabKernel),
        KernelChoice::File(path) => Ok(path.clone()),
    }
}

/// How to get what a kernel lacks from a lab kernel; none where it has not got it either, or is
/// the one that was asked.
pub fn way_out(need: &Need, asked: Option<&Path>) -> Option<String> {
    let (Need::KernelFilesystem(name) | Need::KernelModule(name)) = need else {
        return None;
    };
    if !Fragment::ours().ok()?.offers().contains(name.as_str()) {
        return None;
    }
    match lab() {
        Some(kernel) if kernel.is_current() => {
            let lacks = kernel.identity.lacks.contains(name);
            let itself = asked == Some(kernel.program.as_path());
            (!lacks && !itself)
                .then(|| "the lab kernel has it: --lab uml --guest-kernel lab".to_owned())
        }
        _ => Some("a lab kernel has it, for --lab uml: fsdyno lab setup makes one".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    /// A folder as of a kernel of that name, so many seconds old.
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
        let ground = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(ground.path().join("kernels"));
        assert_eq!(kernels.first(), None);
        let folder = kernels.folder();
        kernel(folder, "older", fragment::TEXT, 100);
        kernel(folder, "newer", fragment::TEXT, 50);
        kernel(folder, "of-another", "CONFIG_X=y\n", 0);
        // One whose identity is not there was never finished.
        fs::create_dir_all(folder.join("half")).unwrap();
        File::create(folder.join("half").join(PROGRAM)).unwrap();
        // Nor does anything else there disturb.
        fs::create_dir_all(folder.join(UNFINISHED).join("newest")).unwrap();
        let names: Vec<_> = kernels
            .ready()
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
        assert!(kernels.first().unwrap().is_current());
    }

    #[test]
    fn what_no_lab_kernel_offers_has_no_way_out_there() {
        let module = |name: &str| Need::KernelModule(name.to_owned());
        assert_eq!(way_out(&module("no-such-thing"), None), None);
        assert_eq!(way_out(&Need::Root, None), None);
        let told = way_out(&module("raid0"), None).unwrap();
        assert!(told.contains("lab"), "{told}");
    }
}
