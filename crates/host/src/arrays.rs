//! Arrays that the kernel's md driver makes of several devices: guards that stop the array by
//! system call. The recipes define the commands that create them.

use crate::journal::{Entry, Journal, JournalError, Kind, Undo};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{NoArg, Opcode, ioctl};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `STOP_ARRAY` of md: it releases the member devices.
const STOP_ARRAY: Opcode = 0x932;

/// An array that is about to be made, or was; stopped on drop.
#[derive(Debug)]
pub struct Array {
    device: PathBuf,
    entry: Option<Entry>,
}

/// An array that cannot be stopped.
#[derive(Debug, thiserror::Error)]
#[error("cannot stop the array {}: {cause}", device.display())]
pub struct ArrayError {
    device: PathBuf,
    #[source]
    cause: io::Error,
}

impl Array {
    /// Writes down that an array is about to be made.
    pub fn declare(device: &Path, journal: &Journal) -> Result<Self, JournalError> {
        let entry = journal.declare(Kind::Array.at(device))?;
        Ok(Self {
            device: device.to_owned(),
            entry: Some(entry),
        })
    }

    pub fn stop(mut self) -> Result<(), ArrayError> {
        self.end().map_err(|cause| ArrayError {
            device: self.device.clone(),
            cause,
        })
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        stop(&self.device)?;
        entry.done().map_err(io::Error::other)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // If it cannot be stopped, it stays in the journal.
        let _ = self.end();
    }
}

/// How many sectors differed between the copies of an array when it was last scrubbed.
pub fn different_sectors(device: &Path) -> Result<u64, String> {
    number(device, "mismatch_cnt")
}

/// How many devices an array lacks, or is still restoring.
pub fn missing_devices(device: &Path) -> Result<u64, String> {
    number(device, "degraded")
}

/// A number that md has of an array.
fn number(device: &Path, attribute: &str) -> Result<u64, String> {
    let node = device.canonicalize();
    let node = node.map_err(|error| format!("{}: {error}", device.display()))?;
    let name = node.file_name().unwrap_or_default();
    let directory = Path::new("/sys/block").join(name).join("md");
    let file = directory.join(attribute);
    let text = fs::read_to_string(&file);
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    text.trim()
        .parse()
        .map_err(|_| format!("{}: {text:?} is no number", file.display()))
}

/// Stops an array; whether there was one.
fn stop(device: &Path) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let array = match open(device, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NXIO | Errno::NODEV) => return Ok(false),
        opened => opened?,
    };
    // SAFETY: STOP_ARRAY takes no argument and writes to no memory of ours.
    match unsafe { ioctl(&array, NoArg::<STOP_ARRAY>::new()) } {
        // It was stopped already, or never created.
        Err(Errno::NXIO | Errno::NODEV | Errno::INVAL) => Ok(false),
        Ok(()) => {
            // mdadm made it where no udev did, and it names nothing any more.
            if device.is_symlink() {
                std::fs::remove_file(device)?;
            }
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

/// Stops an array that a dead process recorded in its journal.
pub(crate) fn clean_up(device: &Path) -> Undo {
    Undo::of(stop(device))
}
