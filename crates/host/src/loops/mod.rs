//! Loop devices over image files: attached with direct I/O, detached when really gone.
//!
//! A device detaches its file with its last user, and the guard is one of them through an open
//! file. Programs that open and close the device do not lose it; when fsdyno is killed, the kernel
//! detaches it with the last mount. The guard opens it read-only, since some kernels refuse to
//! mount a device that is open for writing.

mod control;

use crate::busy::BUSY_BOUND;
use crate::journal::{Entry, Journal, JournalError, Kind, Undo};
use crate::mounts::holders;
use crate::place::HeldFile;
use crate::sysfs::{attached_loops, file_of_loop};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many devices are tried when another process takes the free one first.
const ATTEMPTS: u32 = 64;

/// A loop device with its image file.
#[derive(Debug)]
pub struct Loop {
    device: PathBuf,
    name: String,
    image: PathBuf,
    direct_io: bool,
    /// Keeps the device attached.
    held: Option<OwnedFd>,
    entry: Option<Entry>,
}

/// The reason why a loop device could not be attached or detached.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The loop driver is not there.
    #[error("cannot open /dev/loop-control: {cause}; modprobe loop, or name a device with --on")]
    Driver {
        #[source]
        cause: io::Error,
    },
    #[error("cannot open the image {}: {cause}", image.display())]
    Image {
        image: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot attach {} to {device}: {cause}", image.display())]
    Attach {
        image: PathBuf,
        device: String,
        #[source]
        cause: io::Error,
    },
    /// The device is still in use.
    #[error("{} still holds {}: it is in use by {}", device.display(), image.display(),
        holders::sentence(holders))]
    Busy {
        device: PathBuf,
        image: PathBuf,
        /// The processes that use it, as far as they are visible.
        holders: Vec<String>,
    },
    /// It could not be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Loop {
    /// Attaches the very file that was made to a free device: with direct I/O, or without where the
    /// file system of the image has none.
    pub fn attach(backing: &HeldFile, journal: &Journal) -> Result<Self, LoopError> {
        let image = backing.path().to_owned();
        let plain = OFlags::RDWR | OFlags::CLOEXEC;
        // The driver takes its block size from a backing file that is open for direct I/O.
        let file = backing
            .open(plain | OFlags::DIRECT)
            .or_else(|_| backing.open(plain))
            .map_err(|cause| LoopError::Image {
                image: image.clone(),
                cause,
            })?;
        let control =
            open("/dev/loop-control", plain, Mode::empty()).map_err(|errno| LoopError::Driver {
                cause: errno.into(),
            })?;
        let entry = journal.declare(Kind::Loop.at(&image))?;
        let attached = attach_free(&control, &file, &image);
        let (name, held) = match attached {
            Ok(attached) => attached,
            Err(error) => {
                entry.done()?;
                return Err(error);
            }
        };
        let direct_io = fs::read_to_string(format!("/sys/block/{name}/loop/dio"))
            .is_ok_and(|text| text.trim() == "1");
        Ok(Self {
            device: Path::new("/dev").join(&name),
            name,
            image,
            direct_io,
            held: Some(held),
            entry: Some(entry),
        })
    }

    /// Copies two properties of the backing disk to the device: whether it rotates and whether it
    /// supports discard. Kernels that do not accept them leave the device unchanged.
    pub fn copy_properties(&self, rotates: bool, discards: bool) {
        let queue = Path::new("/sys/block").join(&self.name).join("queue");
        let _ = fs::write(queue.join("rotational"), if rotates { "1" } else { "0" });
        if !discards {
            let _ = fs::write(queue.join("discard_max_bytes"), "0");
        }
    }

    /// The device: `/dev/loop3`.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// The kernel's name of the device: `loop3`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the image is read and written past the page cache of the machine.
    pub fn direct_io(&self) -> bool {
        self.direct_io
    }

    /// Detaches, and waits until the device has released the image. Returns how long that took. Where
    /// it is still in use, the error names the users; the device is detached with its last user.
    pub fn detach(mut self) -> Result<Duration, LoopError> {
        let began = Instant::now();
        if !self.try_detach() {
            return Err(LoopError::Busy {
                holders: holders::of_device(&self.device),
                device: self.device.clone(),
                image: self.image.clone(),
            });
        }
        let waited = began.elapsed();
        self.entry.take().map_or(Ok(()), Entry::done)?;
        Ok(waited)
    }

    /// Detaches the device; returns whether it is detached.
    fn try_detach(&mut self) -> bool {
        if let Some(held) = self.held.take() {
            // Set to go with its last user, which we are about to stop being.
            let _ = control::clear(&held);
        }
        wait_until_gone(&self.name, &self.image, Instant::now() + BUSY_BOUND)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // After a failed detach there is no reason to wait again.
        let gone = if self.held.is_some() {
            self.try_detach()
        } else {
            !backs(&self.name, &self.image)
        };
        if gone && let Some(entry) = self.entry.take() {
            let _ = entry.done();
        }
    }
}

/// Attaches a file to a free device, and holds the device open.
fn attach_free(
    driver: &OwnedFd,
    file: &OwnedFd,
    image: &Path,
) -> Result<(String, OwnedFd), LoopError> {
    let mut name = "a loop device".to_owned();
    let mut last = Errno::BUSY;
    for attempt in 0..ATTEMPTS {
        let attached = control::free_number(driver).and_then(|number| {
            name = format!("loop{number}");
            attach_to(&name, file)
        });
        match attached {
            Ok(held) => return Ok((name, held)),
            // Taken by another process, being detached, or without a device node yet.
            Err(errno @ (Errno::BUSY | Errno::NXIO | Errno::NOENT | Errno::INTR)) => last = errno,
            Err(errno) => {
                last = errno;
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(u64::from(attempt.min(20))));
    }
    Err(LoopError::Attach {
        image: image.to_owned(),
        device: name,
        cause: last.into(),
    })
}

fn attach_to(name: &str, file: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let device = Path::new("/dev").join(name);
    let writing = open(&device, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let flags = control::AUTOCLEAR | control::DIRECT_IO;
    match control::configure(&writing, file.as_fd(), flags) {
        // Some kernels refuse the flag where others ignore it.
        Err(Errno::INVAL) => control::configure(&writing, file.as_fd(), control::AUTOCLEAR)?,
        result => result?,
    }
    // Some kernels attach without direct I/O when it is requested with the wrong block size.
    let _ = control::set_direct_io(&writing);
    open(&device, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The names of the devices that an image file is attached to, also after its removal. The path is
/// the one that was attached; no link is followed, so that nobody can redirect it to another file.
pub(crate) fn devices_of(image: &Path) -> Vec<String> {
    let of_image = |(name, file): (String, PathBuf)| is_image(&file, image).then_some(name);
    attached_loops().into_iter().filter_map(of_image).collect()
}

/// Detaches all devices of an image file.
pub(crate) fn detach_image(image: &Path) -> Undo {
    let devices = devices_of(image);
    if devices.is_empty() {
        return Undo::Gone;
    }
    let timeout = Instant::now() + BUSY_BOUND;
    for name in devices {
        let device = Path::new("/dev").join(&name);
        if let Ok(held) = open(&device, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            // While it is open it stays attached: what it backs now, it backs until the next line.
            if backs(&name, image) {
                let _ = control::clear(&held);
            }
        }
        if !wait_until_gone(&name, image, timeout) {
            let users = holders::sentence(&holders::of_device(&device));
            return Undo::Failed(format!("{name} is in use by {users}"));
        }
    }
    Undo::Done
}

/// Waits until a device no longer backs an image; `false` after the timeout.
fn wait_until_gone(name: &str, image: &Path, timeout: Instant) -> bool {
    let mut pause = Duration::from_millis(1);
    while backs(name, image) {
        if Instant::now() >= timeout {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
    true
}

fn backs(name: &str, image: &Path) -> bool {
    file_of_loop(name).is_some_and(|file| is_image(&file, image))
}

/// Whether a backing file, as shown, is an image, as resolved.
fn is_image(shown: &Path, image: &Path) -> bool {
    let mut removed = image.as_os_str().to_owned();
    removed.push(" (deleted)");
    shown == image || shown.as_os_str() == removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_image_is_still_listed() {
        assert!(is_image(Path::new("/a/image"), Path::new("/a/image")));
        assert!(is_image(
            Path::new("/a/image (deleted)"),
            Path::new("/a/image")
        ));
        assert!(!is_image(Path::new("/a/image2"), Path::new("/a/image")));
    }
}
