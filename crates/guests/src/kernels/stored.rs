//! The contents of the cache: built kernels, and the sources and objects of builds. Lists their
//! sizes and removes them.

use super::build::BuildDir;
use super::error::{SetupError, refused};
use super::{Kernels, LabKernel, UNFINISHED};
use fsdyno_files::{TrustedDir, Untrusted};
use fsdyno_host::removal::remove_tree;
use fsdyno_model::Bytes;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub name: String,
    /// The kernel in it; none if it holds the sources and objects of builds.
    pub kernel: Option<LabKernel>,
    pub size: Bytes,
    /// When the kernel was built, or the last build began.
    pub modified: SystemTime,
}

impl Kernels {
    /// Lists the cache: kernels as [`Kernels::ready`] sorts them, then the directories of builds.
    pub fn stored(&self) -> Result<Vec<Stored>, Untrusted> {
        let mut all: Vec<Stored> = Vec::new();
        for kernel in self.ready()? {
            let Some(folder) = kernel.program.parent() else {
                continue;
            };
            all.extend(stored(folder, &kernel.program, Some(kernel.clone())));
        }
        let builds = match TrustedDir::open(&self.folder.join(UNFINISHED)) {
            Err(error) if error.is_missing() => return Ok(all),
            folder => folder?,
        };
        let mut names = builds.names()?;
        names.sort();
        for name in names {
            let folder = builds.path().join(&name);
            if folder.is_dir() {
                all.extend(stored(&folder, &folder, None));
            }
        }
        Ok(all)
    }

    /// Removes one of them; false if a build uses it.
    pub fn remove(&self, stored: &Stored) -> Result<bool, SetupError> {
        if stored.kernel.is_some() {
            let folder = self.folder.join(&stored.name);
            remove_tree(&folder).map_err(refused("remove", &folder))?;
            return Ok(true);
        }
        match BuildDir::claim_idle(&self.folder, &stored.name)? {
            None => Ok(false),
            Some(build_dir) => build_dir.remove().map(|()| true),
        }
    }
}

/// A directory; none if it was removed meanwhile. `dated` has its time.
fn stored(folder: &Path, dated: &Path, kernel: Option<LabKernel>) -> Option<Stored> {
    Some(Stored {
        name: folder.file_name()?.to_string_lossy().into_owned(),
        kernel,
        size: size_of(folder).ok()?,
        modified: fs::metadata(dated).ok()?.modified().ok()?,
    })
}

/// The size on the disk of all files in a directory.
fn size_of(folder: &Path) -> io::Result<Bytes> {
    /// The unit of `st_blocks`, bytes (`stat(3type)`).
    const BLOCK: u64 = 512;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    let mut blocks = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A build may remove files meanwhile.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            blocks += about.blocks();
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(Bytes(blocks * BLOCK))
}

#[cfg(test)]
mod tests {
    use super::super::identity::Identity;
    use super::super::{PROGRAM, fragment};
    use super::*;
    use std::fs::File;

    #[test]
    fn kernels_and_builds_are_listed_and_removed_but_no_build_in_progress() {
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        assert_eq!(kernels.stored().unwrap(), []);
        let folder = kernels.folder().join("tree-1");
        fs::create_dir_all(&folder).unwrap();
        let identity = Identity::of("tree-1 aa", fragment::TEXT, "cc").built("6.12", "00", &[]);
        identity.write(&folder).unwrap();
        fs::write(folder.join(PROGRAM), vec![1; 100_000]).unwrap();
        let builds = kernels.folder().join(UNFINISHED);
        for name in ["of-idle", "of-busy"] {
            fs::create_dir_all(builds.join(name).join("sources")).unwrap();
            File::create(builds.join(format!("{name}.lock"))).unwrap();
        }
        let busy = BuildDir::claim_idle(kernels.folder(), "of-busy").unwrap();
        assert!(busy.is_some());
        let all = kernels.stored().unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["tree-1", "of-busy", "of-idle"]);
        assert!(all[0].size.0 >= 100_000 && all[0].kernel.is_some());
        let removed: Vec<bool> = all.iter().map(|one| kernels.remove(one).unwrap()).collect();
        assert_eq!(removed, [true, false, true]);
        let left = kernels.stored().unwrap();
        assert_eq!(left, [all[1].clone()]);
        drop(busy);
        assert!(kernels.remove(&left[0]).unwrap());
        assert!(kernels.stored().unwrap().is_empty() && !builds.exists());
    }
}
