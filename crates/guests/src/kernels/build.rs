//! Builds a lab kernel: sources, configuration, `make`, and a directory that appears complete.
//!
//! An unfinished build has a separate directory next to the kernels, and is resumed: unpacked
//! sources, a verified configuration, and compiled objects are kept.

use super::building::{BuildError, Tree};
use super::error::{BUILD_SPACE, SetupError, refused};
use super::fragment::{self, AppliedOptions, Fragment};
use super::identity::{Identity, sha256};
use super::sources::{self, Sources};
use super::zfs::{self, Zfs, ZfsSource};
use super::{GUEST_PROGRAMS, Kernels, LabKernel, PROGRAM, UNFINISHED};
use super::{patches, source_files, symbols, tools};
use crate::uml::Uml;
use fsdyno_files::{TrustedDir, Untrusted, flock};
use fsdyno_host::removal::remove_tree;
use fsdyno_host::space;
use fsdyno_model::CancelToken;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the claim of another process is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The log of a build, kept with the kernel.
const LOG: &str = "build.log";

#[derive(Debug, Clone, Default)]
pub struct Order {
    /// A source archive to use instead of the distribution's.
    pub source: Option<PathBuf>,
    /// The sources of `OpenZFS` that become part of the kernel.
    pub zfs: Option<ZfsSource>,
    pub jobs: u32,
    /// Whether the sources and the objects are kept.
    pub keep: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    Step(&'a str),
    Note(&'a str),
    Object {
        /// The number of objects compiled before it in this build.
        done: u64,
        /// The number of objects; 0 if they were not counted.
        of: u64,
        name: &'a str,
    },
}

/// A kernel that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub kernel: LabKernel,
    /// Whether it existed before.
    pub was_there: bool,
}

pub(super) type OnProgress<'a> = &'a mut dyn FnMut(Progress<'_>);

/// Builds a kernel of these sources with our config fragment, unless it exists.
pub fn set_up(
    kernels: &Kernels,
    order: &Order,
    stop: &CancelToken,
    on_progress: OnProgress<'_>,
) -> Result<Made, SetupError> {
    if order.source.is_none()
        && order.zfs.is_none()
        && let Some(kernel) = current(&Kernels::of_system(), |_| true)?
    {
        return Ok(Made {
            kernel,
            was_there: true,
        });
    }
    let sources = sources::find(order.source.as_deref(), stop)?;
    let zfs = order.zfs.as_ref().map(|source| zfs::find(source, stop));
    let zfs = zfs.transpose()?;
    let existing = || existing_kernel(kernels, &sources, zfs.as_ref());
    if let Some(mut made) = existing()? {
        if !order.keep {
            BuildDir::remove_abandoned(kernels.folder(), &made.kernel.identity)?;
        }
        if made.kernel.identity.named && order.source.is_none() {
            made.kernel.identity.named = false;
            let folder = made.kernel.program.with_file_name("");
            let written = made.kernel.identity.write(&folder);
            written.map_err(refused("write", &folder))?;
        }
        return Ok(made);
    }
    have_tools(stop, on_progress)?;
    let mut identity = Identity::of(&sources.name, fragment::TEXT, &tools::compiler(stop)?)
        .named(order.source.is_some());
    if let Some(zfs) = &zfs {
        identity = identity.with_zfs(&zfs.name, zfs::fragment_hash());
    }
    let folder = TrustedDir::create(kernels.folder())?;
    let folder = folder.path();
    buildable(folder)?;
    let build_dir = BuildDir::claim(folder, &identity.name(), stop, on_progress)?;
    // The process that held the lock before may have built it.
    if let Some(made) = existing()? {
        if !order.keep {
            build_dir.remove()?;
        }
        return Ok(made);
    }
    let mut kernel_build = KernelBuild {
        build_dir: &build_dir,
        zfs: None,
        name: &sources.name,
        identity: &identity,
        jobs: order.jobs,
        log: build_dir.path(LOG),
        any_version: false,
        stop,
    };
    let unpacked = build_dir.path("sources");
    kernel_build.unpack_sources(&sources, &unpacked, on_progress)?;
    if let Some(zfs) = &zfs {
        let mut on_step = |text: &str| on_progress(Progress::Step(text));
        let place = &build_dir.folder;
        let prepared = zfs::Prepared::new(zfs, &unpacked, place, stop, &mut on_step)?;
        kernel_build.zfs = Some(prepared);
    }
    let kernel = kernel_build.of(&unpacked, folder, on_progress)?;
    if !order.keep {
        on_progress(Progress::Step("removing the sources"));
        build_dir.remove()?;
    }
    Ok(Made {
        kernel,
        was_there: false,
    })
}

/// Refuses a directory whose path make cannot read.
pub(super) fn buildable(folder: &Path) -> Result<(), SetupError> {
    if folder.to_string_lossy().contains([' ', ':', '\t', '\n']) {
        return Err(SetupError::Path {
            folder: folder.to_owned(),
        });
    }
    Ok(())
}

/// An existing kernel of these sources and the config fragment, by any compiler. A kernel whose
/// hash differs from the recorded one is built again.
fn existing_kernel(
    kernels: &Kernels,
    sources: &Sources,
    zfs: Option<&Zfs>,
) -> Result<Option<Made>, Untrusted> {
    let zfs = zfs.map(|zfs| &zfs.name);
    let kernel = current(kernels, |identity| {
        identity.source == sources.name && identity.zfs.as_ref() == zfs
    })?;
    Ok(kernel.map(|kernel| Made {
        kernel,
        was_there: true,
    }))
}

/// The first matching kernel of the config fragment that has the recorded hash.
fn current(
    kernels: &Kernels,
    fits: impl Fn(&Identity) -> bool,
) -> Result<Option<LabKernel>, Untrusted> {
    let usable =
        |one: &LabKernel| one.is_current() && fits(&one.identity) && one.verified().is_ok();
    Ok(kernels.ready()?.into_iter().find(usable))
}

/// Installs or reports missing programs.
pub(super) fn have_tools(
    stop: &CancelToken,
    on_progress: OnProgress<'_>,
) -> Result<(), SetupError> {
    let named = |lacks: &[tools::MissingTool]| {
        let mut packages: Vec<String> = lacks.iter().map(|one| one.package.clone()).collect();
        packages.dedup();
        packages
    };
    let lacks = tools::missing();
    if lacks.is_empty() {
        return Ok(());
    }
    if tools::installs() {
        let packages = named(&lacks);
        on_progress(Progress::Step(&format!(
            "installing {}",
            packages.join(" ")
        )));
        tools::install(&packages, stop)?.map_err(SetupError::Install)?;
    }
    let lacks = tools::missing();
    if lacks.is_empty() {
        return Ok(());
    }
    let what: Vec<&str> = lacks.iter().map(|one| one.what.as_str()).collect();
    Err(SetupError::Tools {
        what: what.join(", "),
        packages: named(&lacks).join(" "),
    })
}

/// The directory of an unfinished build, which one process locks at a time.
pub(super) struct BuildDir {
    folder: PathBuf,
    lock: PathBuf,
    claim: OwnedFd,
}

impl BuildDir {
    /// Locks it. Waits for the process that holds the lock, which may belong to a killed build.
    pub(super) fn claim(
        kernels: &Path,
        name: &str,
        stop: &CancelToken,
        on_progress: OnProgress<'_>,
    ) -> Result<Self, SetupError> {
        let folder = kernels.join(UNFINISHED).join(name);
        TrustedDir::create(&folder)?;
        let lock = kernels.join(UNFINISHED).join(format!("{name}.lock"));
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let claim: OwnedFd = options.open(&lock).map_err(refused("make", &lock))?.into();
        let mut reported = false;
        loop {
            match flock(&claim, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if stop.requested() => {
                    return Err(BuildError::Stopped.into());
                }
                Err(Errno::WOULDBLOCK) => {
                    if !reported {
                        on_progress(Progress::Step("waiting for another build of this kernel"));
                        reported = true;
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(error) => return Err(refused("claim", &lock)(error.into())),
            }
        }
        // The process that held the lock before may have removed it.
        TrustedDir::create(&folder)?;
        Ok(Self {
            folder,
            lock,
            claim,
        })
    }

    /// Removes the files of a build that was killed after its kernel was complete.
    fn remove_abandoned(kernels: &Path, identity: &Identity) -> Result<(), SetupError> {
        match Self::claim_idle(kernels, &identity.name())? {
            // A build that has not ended removes its sources itself.
            None => Ok(()),
            Some(abandoned) => abandoned.remove(),
        }
    }

    /// Locks it without waiting; none if it does not exist, or if a build holds the lock.
    pub(super) fn claim_idle(kernels: &Path, name: &str) -> Result<Option<Self>, SetupError> {
        let unfinished = kernels.join(UNFINISHED);
        let lock = unfinished.join(format!("{name}.lock"));
        let claim: OwnedFd = match File::open(&lock) {
            Ok(file) => file.into(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Builds of other kernels may be in the same directory.
                let _ = fs::remove_dir(&unfinished);
                return Ok(None);
            }
            Err(error) => return Err(refused("open", &lock)(error)),
        };
        if flock(&claim, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let folder = unfinished.join(name);
        Ok(Some(Self {
            folder,
            lock,
            claim,
        }))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Fails if there is not enough space for sources and a build.
    pub(super) fn check_space(&self) -> Result<(), SetupError> {
        let free = space::free(&self.folder).map_err(refused("look at", &self.folder))?;
        if free < BUILD_SPACE {
            return Err(SetupError::Room {
                folder: self.folder.clone(),
                free,
            });
        }
        Ok(())
    }

    pub(super) fn remove(self) -> Result<(), SetupError> {
        remove_tree(&self.folder).map_err(refused("remove", &self.folder))?;
        fs::remove_file(&self.lock).map_err(refused("remove", &self.lock))?;
        if let Some(folder) = self.folder.parent() {
            // Another build may be running there.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

pub(super) struct KernelBuild<'a> {
    pub build_dir: &'a BuildDir,
    /// The sources of `OpenZFS` that become part of the kernel.
    pub zfs: Option<zfs::Prepared>,
    /// The name of the sources, for messages.
    pub name: &'a str,
    pub identity: &'a Identity,
    pub jobs: u32,
    pub log: PathBuf,
    /// Whether options for every version may be missing from this one.
    pub any_version: bool,
    pub stop: &'a CancelToken,
}

impl KernelBuild<'_> {
    /// Builds the kernel of the sources in a directory, and moves it into the cache.
    pub fn of(
        &self,
        sources: &Path,
        kernels: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<LabKernel, SetupError> {
        let output = self.build_dir.path("output");
        fs::create_dir_all(&output).map_err(refused("make", &output))?;
        let build = format!("fsdyno {}", self.identity.name());
        let tree = Tree {
            sources,
            output: &output,
            log: &self.log,
            claim: &self.build_dir.claim,
            build: &build,
            jobs: self.jobs,
        };
        let taken = self.configure(&tree, on_progress)?;
        let reports = [
            ("has no", &taken.lacks),
            ("does not know", &taken.unknown),
            ("does not know", &taken.missing),
        ];
        for (verb, names) in reports {
            if !names.is_empty() {
                let names = names.join(", ");
                on_progress(Progress::Note(&format!("{} {verb} {names}", self.name)));
            }
        }
        self.compiled(&tree, on_progress)?;
        on_progress(Progress::Step("moving the kernel into the cache"));
        self.move_to_cache(&output, kernels, &taken.lacks)
    }

    /// Unpacks the sources, unless that was done.
    fn unpack_sources(
        &self,
        from: &Sources,
        sources: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<(), SetupError> {
        if sources.is_dir() {
            return Ok(());
        }
        self.build_dir.check_space()?;
        let package = self.build_dir.path("package");
        if let sources::From::Package(name) = &from.from {
            on_progress(Progress::Step(&format!("fetching {name}")));
            remove_tree(&package).map_err(refused("remove", &package))?;
            fs::create_dir_all(&package).map_err(refused("make", &package))?;
        }
        let archive = sources::archive(from, &package, self.stop)?;
        on_progress(Progress::Step(&format!("unpacking {}", archive.display())));
        // An interrupted unpacking starts again, because its progress is not recorded.
        let part = self.build_dir.path("sources.part");
        remove_tree(&part).map_err(refused("remove", &part))?;
        fs::create_dir_all(&part).map_err(refused("make", &part))?;
        sources::unpack(&archive, &part, self.stop)?.map_err(SetupError::Unpack)?;
        patches::make(&part).map_err(refused("change", &part))?;
        fs::rename(&part, sources).map_err(refused("rename", &part))?;
        remove_tree(&package).map_err(refused("remove", &package))
    }

    /// Configures, and verifies every line of the fragment.
    fn configure(
        &self,
        tree: &Tree<'_>,
        on_progress: OnProgress<'_>,
    ) -> Result<AppliedOptions, SetupError> {
        let file = tree.output.join(".config");
        let verified = self.build_dir.path("configured");
        let mut wanted = match &self.zfs {
            Some(zfs) => zfs.fragment(),
            None => fragment::TEXT.to_owned(),
        };
        if !patches::counts_work(tree.sources) {
            wanted = patches::without_count(&wanted);
            on_progress(Progress::Note(&format!(
                "the patches of the count of the kernel's work do not fit {}: its virtual time has \
                 no processor time",
                self.name
            )));
        }
        if !verified.exists() {
            on_progress(Progress::Step("configuring"));
            let fragment = self.build_dir.path("fragment");
            fs::write(&fragment, &wanted).map_err(refused("write", &fragment))?;
            let all = format!("KCONFIG_ALLCONFIG={}", fragment.display());
            let targets = [all, "allnoconfig".to_owned()];
            tree.make(&targets, self.stop, &mut |_| {})?;
            if let Some(zfs) = &self.zfs {
                let mut step = |text: &str| on_progress(Progress::Step(text));
                zfs.join(tree, &self.build_dir.folder, self.stop, &mut step)?;
                tree.make(&targets, self.stop, &mut |_| {})?;
            }
        }
        let text = fs::read_to_string(&file).map_err(refused("read", &file))?;
        let known = fragment::known(tree.sources).map_err(refused("read", tree.sources))?;
        let taken = Fragment::parse(&wanted)?.taken(&text, &known);
        let mut refuses = taken.refused.clone();
        if !self.any_version {
            let unknown = taken.missing.iter();
            refuses.extend(unknown.map(|name| format!("{name}, which this version does not know")));
        }
        if !refuses.is_empty() {
            return Err(SetupError::Refused {
                sources: self.name.to_owned(),
                refused: refuses,
            });
        }
        File::create(&verified).map_err(refused("make", &verified))?;
        Ok(taken)
    }

    fn compiled(&self, tree: &Tree<'_>, on_progress: OnProgress<'_>) -> Result<(), SetupError> {
        let target = tools::words(&["linux"]);
        // After a change of some files, counting takes longer than compiling.
        let of = if tree.output.join(PROGRAM).exists() {
            0
        } else {
            on_progress(Progress::Step("counting what is to be compiled"));
            tree.count_remaining(&target, self.stop)?
        };
        on_progress(Progress::Step("compiling"));
        let mut done = 0;
        tree.make(&target, self.stop, &mut |name| {
            // The total counts commands of a dry run of make; some of them run more than once.
            on_progress(Progress::Object {
                done,
                of: if of == 0 { 0 } else { of.max(done + 1) },
                name,
            });
            done += 1;
        })?;
        Ok(())
    }

    /// Moves a complete directory of the kernel into the cache.
    fn move_to_cache(
        &self,
        output: &Path,
        kernels: &Path,
        lacks: &[String],
    ) -> Result<LabKernel, SetupError> {
        let part = self.build_dir.path("kernel.part");
        remove_tree(&part).map_err(refused("remove", &part))?;
        fs::create_dir_all(&part).map_err(refused("make", &part))?;
        let program = part.join(PROGRAM);
        let copies = [
            (output.join(PROGRAM), program.clone()),
            (output.join(".config"), part.join("config")),
            (self.log.clone(), part.join(LOG)),
        ];
        for (from, to) in &copies {
            fs::copy(from, to).map_err(refused("copy", from))?;
            let synced = File::open(to).and_then(|file| file.sync_all());
            synced.map_err(refused("write", to))?;
        }
        if self.zfs.is_some() {
            let from = self.build_dir.path(GUEST_PROGRAMS);
            zfs::copy_tree(&from, &part.join(GUEST_PROGRAMS), self.stop)?;
        }
        let sources = part.join(symbols::SOURCE_FILES);
        // A kernel of another version may have other archives. It works without the list.
        let list = source_files::list(output, &program).unwrap_or_default();
        if !list.is_empty() {
            let written = fs::write(&sources, list);
            let synced = written.and_then(|()| File::open(&sources)?.sync_all());
            synced.map_err(refused("write", &sources))?;
        }
        let release = Uml::at(program.clone(), None).map_err(SetupError::NoKernel)?;
        let digest = File::open(&program).and_then(|file| sha256(&file));
        let digest = digest.map_err(refused("read", &program))?;
        let identity = self.identity.clone();
        let identity = identity.built(&release.release, &digest, lacks);
        identity.write(&part).map_err(refused("write", &part))?;
        publish(&part, kernels, identity)
    }
}

/// Renames a complete directory of a kernel into the cache.
pub(super) fn publish(
    part: &Path,
    kernels: &Path,
    identity: Identity,
) -> Result<LabKernel, SetupError> {
    let place = kernels.join(identity.name());
    // A directory that cannot be read any more is replaced.
    remove_tree(&place).map_err(refused("remove", &place))?;
    fs::rename(part, &place).map_err(refused("rename", part))?;
    File::open(kernels)
        .and_then(|folder| folder.sync_all())
        .map_err(refused("write", kernels))?;
    Ok(LabKernel {
        program: place.join(PROGRAM),
        identity,
    })
}

#[cfg(test)]
mod tests;
