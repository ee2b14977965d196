//! The file systems of the bench. Recipes create them on image files. Each resource is in the
//! journal before it exists.

use fsdyno_host::command;
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::journal::Journal;
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{self, Mounted};
use fsdyno_model::{Bytes, CancelToken, Contender, FilesystemKind, Step};
use std::path::{Path, PathBuf};

/// The size of a sparse image.
const SIZE: Bytes = Bytes(4 << 30);

/// Space that must be free for an image: copy-on-write can write every block of it once.
const FREE: u64 = SIZE.0 + (512 << 20);

/// A mounted file system. Its resources are released in reverse order.
#[derive(Debug)]
pub struct WorkDir {
    mounted: Option<Mounted>,
    device: Option<Loop>,
    _image: Option<Image>,
    target: PathBuf,
    scratch: PathBuf,
    _scratch: Scratch,
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl WorkDir {
    /// Creates a file system with its defaults and mounts it with these options.
    pub fn make(
        name: &str,
        mount: &[&str],
        base: &Path,
        stop: &CancelToken,
    ) -> Result<Self, String> {
        let recipe =
            fsdyno_recipes::find(name).ok_or_else(|| format!("`{name}` is no file system"))?;
        let contender = Contender {
            mount: mount.iter().map(ToString::to_string).collect(),
            ..Contender::plain(name)
        };
        enough_space(base)?;
        let journal = Journal::open(&journals()?).map_err(message)?;
        let stem = journal.path().file_stem().unwrap_or_default();
        let path = base.join(format!("fsdyno-{}-bench", stem.to_string_lossy()));
        let scratch = Scratch::create(&path, &journal).map_err(message)?;
        let target = path.join("mnt");
        std::fs::create_dir(&target).map_err(message)?;
        let (mut image, mut device, mut devices) = (None, None, Vec::new());
        if recipe.kind() == FilesystemKind::Block {
            let file = path.join("disk0.img");
            let made = Image::create(&file, SIZE, &journal).map_err(message)?;
            let held = made.file().map_err(message)?;
            let attached = Loop::attach(&held, &journal).map_err(message)?;
            image = Some(made);
            devices.push(attached.device().display().to_string());
            device = Some(attached);
        }
        for step in recipe.make_for(&contender, &devices, &target) {
            let argv = step.argv();
            let finished = command::run(&argv, stop).map_err(message)?;
            if !finished.success() {
                return Err(finished.failure(&argv));
            }
        }
        let mut mounted = None;
        for step in recipe.mount(&contender, &devices, &target) {
            let Step::Mount {
                fstype,
                source,
                target,
                options,
            } = &step
            else {
                return Err(format!("{name} is not mounted by one call"));
            };
            mounted =
                Some(mounts::mount(fstype, source, target, options, &journal).map_err(message)?);
        }
        Ok(Self {
            mounted,
            device,
            _image: image,
            target,
            scratch: path,
            _scratch: scratch,
        })
    }

    /// The mount point.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// A private directory next to the mount point.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Whether the file system is on a device and not in memory.
    pub fn on_a_device(&self) -> bool {
        self.device.is_some()
    }

    /// Releases all resources and returns the errors.
    pub fn release(&mut self) -> Result<(), String> {
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount().map_err(message)?;
        }
        if let Some(device) = self.device.take() {
            device.detach().map_err(message)?;
        }
        Ok(())
    }
}

/// The journal directory that `fsdyno clean` reads.
fn journals() -> Result<PathBuf, String> {
    let places = fsdyno_files::places::of_effective_user().map_err(message)?;
    Ok(places.state.join("fsdyno").join("journal"))
}

/// The mkfs command for an image; empty if there is none, or if there are several.
pub fn mkfs(name: &str, image: &Path) -> Result<String, String> {
    let recipe = fsdyno_recipes::find(name).ok_or_else(|| format!("`{name}` is no file system"))?;
    if recipe.kind() != FilesystemKind::Block {
        return Ok(String::new());
    }
    let devices = [image.display().to_string()];
    let steps = recipe.make_for(&Contender::plain(name), &devices, image);
    Ok(match &steps[..] {
        [step] => step.argv().join(" "),
        _ => String::new(),
    })
}

/// Refuses a directory that would become full during the bench.
fn enough_space(base: &Path) -> Result<(), String> {
    let space =
        rustix::fs::statvfs(base).map_err(|error| format!("{}: {error}", base.display()))?;
    let free = space.f_bavail * space.f_frsize;
    if free < FREE {
        return Err(format!(
            "{}: {} MiB are free, {} are needed; name another place with --in DIR",
            base.display(),
            free >> 20,
            FREE >> 20
        ));
    }
    Ok(())
}
