//! Kernels of source trees and of commits: built in a private directory, with the config fragment and
//! the patches of the lab kernel.
//!
//! Each tree or repository has one directory of sources and one of compiled objects. The next build
//! writes and compiles only what differs.

use super::build::{BuildDir, KernelBuild, Made, OnProgress, Progress, buildable, have_tools};
use super::error::{SetupError, refused};
use super::git::Repository;
use super::identity::Identity;
use super::patches::COUNT_OPTION;
use super::{Kernels, LabKernel, PROGRAM, fragment, patches, tools};
use fsdyno_files::{TrustedDir, Untrusted};
use fsdyno_host::removal::remove_tree;
use fsdyno_model::CancelToken;
use fsdyno_model::names::short_hash;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Number of hexadecimal digits of a tree's hash in the name of its kernel.
const DIGITS: usize = 12;

/// Sources to build a kernel of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeSource<'a> {
    /// The files of a directory, as they are now.
    Directory(&'a Path),
    Revision(&'a Repository, &'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOrder {
    pub jobs: u32,
    /// Whether a kernel that cannot count its work is an error.
    pub must_count: bool,
}

/// The program that [`build`] makes of these sources, whether it exists or not.
pub fn program_of(
    kernels: &Kernels,
    source: TreeSource<'_>,
    stop: &CancelToken,
    on_progress: OnProgress<'_>,
) -> Result<PathBuf, SetupError> {
    have_tools(stop, on_progress)?;
    let compiler = tools::compiler(stop)?;
    let tree = match source {
        TreeSource::Revision(repository, revision) => repository.tree(revision)?,
        TreeSource::Directory(path) => {
            let folder = TrustedDir::create(kernels.folder())?;
            let place = place_of(source)?;
            let build_dir = BuildDir::claim(folder.path(), &place, stop, on_progress)?;
            stored(&build_dir, path, stop, on_progress)?.1
        }
    };
    let folder = kernels.folder().join(identity_of(&tree, &compiler).name());
    Ok(folder.join(PROGRAM))
}

/// A repository of the private directory, with the files of this directory as a tree.
fn stored(
    build_dir: &BuildDir,
    path: &Path,
    stop: &CancelToken,
    on_progress: OnProgress<'_>,
) -> Result<(Repository, String), SetupError> {
    build_dir.check_space()?;
    on_progress(Progress::Step(&format!("reading {}", path.display())));
    let ours = Repository::create(&build_dir.path("objects.git"), stop)?;
    let index = unlocked(build_dir.path("directory.index"))?;
    let tree = ours.store_tree(path, &index, stop)?;
    Ok((ours, tree))
}

/// Builds the kernel of these sources, unless it exists. The same files, options, patches and
/// compiler are the same kernel.
pub fn build(
    kernels: &Kernels,
    source: TreeSource<'_>,
    order: TreeOrder,
    stop: &CancelToken,
    on_progress: OnProgress<'_>,
) -> Result<Made, SetupError> {
    have_tools(stop, on_progress)?;
    let compiler = tools::compiler(stop)?;
    if let TreeSource::Revision(repository, revision) = source {
        // A kernel that exists needs no lock.
        let identity = identity_of(&repository.tree(revision)?, &compiler);
        if let Some(kernel) = existing(kernels, &identity)? {
            return ready(kernel, order);
        }
    }
    let folder = TrustedDir::create(kernels.folder())?;
    let folder = folder.path();
    buildable(folder)?;
    let build_dir = BuildDir::claim(folder, &place_of(source)?, stop, on_progress)?;
    let (repository, tree) = match source {
        TreeSource::Revision(repository, revision) => {
            (repository.clone(), repository.tree(revision)?)
        }
        TreeSource::Directory(path) => stored(&build_dir, path, stop, on_progress)?,
    };
    let identity = identity_of(&tree, &compiler);
    if let Some(kernel) = existing(kernels, &identity)? {
        return ready(kernel, order);
    }
    let sources = build_dir.path("sources");
    if !sources.exists() {
        build_dir.check_space()?;
    }
    on_progress(Progress::Step(&format!("checking out {}", name_of(&tree))));
    let patched = Patched::set_aside(&build_dir)?;
    fs::create_dir_all(&sources).map_err(refused("make", &sources))?;
    let index = unlocked(build_dir.path("index"))?;
    repository.check_out(&tree, &sources, &index, stop)?;
    if let Some(unfit) = patches::unfit(&sources).map_err(refused("read", &sources))? {
        if order.must_count {
            return Err(SetupError::Patch {
                sources: name_of(&tree),
                unfit,
            });
        }
        on_progress(Progress::Note(&unfit.to_string()));
    }
    patches::make(&sources).map_err(refused("change", &sources))?;
    patched.restore_times(&sources)?;
    let log = build_dir.path(&format!("build-{}.log", &tree[..DIGITS]));
    for old in [&log, &build_dir.path("configured")] {
        ignore_missing(fs::remove_file(old)).map_err(refused("remove", old))?;
    }
    let kernel_build = KernelBuild {
        build_dir: &build_dir,
        zfs: None,
        name: &name_of(&tree),
        identity: &identity,
        jobs: order.jobs,
        log: log.clone(),
        any_version: true,
        stop,
    };
    let kernel = kernel_build.of(&sources, folder, on_progress)?;
    ignore_missing(fs::remove_file(&log)).map_err(refused("remove", &log))?;
    Ok(Made {
        kernel,
        was_there: false,
    })
}

/// The name of a tree in messages, and the first word of its identity.
fn name_of(tree: &str) -> String {
    format!("tree-{}", &tree[..DIGITS.min(tree.len())])
}

fn identity_of(tree: &str, compiler: &str) -> Identity {
    let source = format!("{} {tree}", name_of(tree));
    Identity::of(&source, fragment::TEXT, compiler).named(true)
}

/// The name of the private directory of a tree or repository.
fn place_of(source: TreeSource<'_>) -> Result<String, SetupError> {
    let path = match source {
        TreeSource::Directory(path) => path.canonicalize().map_err(refused("read", path))?,
        TreeSource::Revision(repository, _) => repository.git_dir().to_owned(),
    };
    Ok(format!("of-{}", short_hash(&path.to_string_lossy())))
}

/// The kernel of this identity, if its content is the recorded one.
fn existing(kernels: &Kernels, identity: &Identity) -> Result<Option<LabKernel>, Untrusted> {
    let same = |one: &LabKernel| one.identity.name() == identity.name() && one.verified().is_ok();
    Ok(kernels.ready()?.into_iter().find(same))
}

/// An existing kernel. An error if it must count its work and cannot.
fn ready(kernel: LabKernel, order: TreeOrder) -> Result<Made, SetupError> {
    if order.must_count {
        let path = kernel.program.with_file_name("config");
        let config = fs::read_to_string(&path).map_err(refused("read", &path))?;
        if !config.lines().any(|line| line.starts_with(COUNT_OPTION)) {
            return Err(SetupError::NoWorkCount {
                sources: kernel.identity.source,
            });
        }
    }
    Ok(Made {
        kernel,
        was_there: true,
    })
}

/// The path of an index, after removing the lock of a killed git. This process holds the lock of
/// the directory.
fn unlocked(index: PathBuf) -> Result<PathBuf, SetupError> {
    let mut lock = index.clone().into_os_string();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    ignore_missing(fs::remove_file(&lock)).map_err(refused("remove", &lock))?;
    Ok(index)
}

/// Accepts that a file does not exist.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The patched files of the previous build. A checkout writes the original files; if patching gives
/// the same content, the file keeps its modification time, so that make does not compile it again.
struct Patched {
    folder: PathBuf,
}

impl Patched {
    /// Moves the patched files aside. Those that a killed build moved are the ones last compiled.
    fn set_aside(build_dir: &BuildDir) -> Result<Self, SetupError> {
        let folder = build_dir.path("patched");
        let sources = build_dir.path("sources");
        if folder.exists() {
            for name in patches::files() {
                let file = sources.join(name);
                ignore_missing(fs::remove_file(&file)).map_err(refused("remove", &file))?;
            }
            return Ok(Self { folder });
        }
        // A killed build leaves either all files in their place, or a complete directory.
        let part = build_dir.path("patched.part");
        remove_tree(&part).map_err(refused("remove", &part))?;
        for name in patches::files() {
            let (from, to) = (sources.join(name), part.join(name));
            let Ok(about) = fs::metadata(&from) else {
                continue;
            };
            let copied = || -> io::Result<()> {
                fs::create_dir_all(to.parent().unwrap_or(&part))?;
                fs::copy(&from, &to)?;
                set_modified(&to, about.modified()?)
            };
            copied().map_err(refused("copy", &from))?;
        }
        fs::create_dir_all(&part).map_err(refused("make", &part))?;
        fs::rename(&part, &folder).map_err(refused("rename", &part))?;
        Self::set_aside(build_dir)
    }

    /// Restores the modification times of files with the same content.
    fn restore_times(self, sources: &Path) -> Result<(), SetupError> {
        for name in patches::files() {
            let (before, now) = (self.folder.join(name), sources.join(name));
            let same = matches!((fs::read(&before), fs::read(&now)), (Ok(a), Ok(b)) if a == b);
            if same {
                let restored = fs::metadata(&before)
                    .and_then(|about| about.modified())
                    .and_then(|time| set_modified(&now, time));
                restored.map_err(refused("change", &now))?;
            }
        }
        remove_tree(&self.folder).map_err(refused("remove", &self.folder))
    }
}

fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    let times = FileTimes::new().set_modified(time);
    File::options().write(true).open(path)?.set_times(times)
}

#[cfg(test)]
mod tests;
