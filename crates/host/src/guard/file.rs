//! Releases regular files to be formatted: compares their contents with the user's consent.

use super::consent::Consent;
use super::open_files::file_number;
use super::proc::swaps;
use super::release::{Refusal, Released, judge, unfit};
use super::{DeviceDescription, GuardError, Identity, configured, signatures};
use fsdyno_model::Bytes;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Releases open files to be overwritten together. A file of zeros is free; any other needs a consent
/// with its name and each of its signatures.
///
/// The descriptors are checked, so that another file that takes a path is not released.
pub fn release_files(
    files: &[(&File, &Path)],
    consents: &[Consent],
) -> Result<Vec<Released>, Refusal> {
    let mut named: Vec<Identity> = Vec::new();
    let mut numbers = Vec::new();
    for (file, path) in files {
        let fail = |error: io::Error| {
            let unreadable = GuardError::unreadable(path.display().to_string());
            unfit(path, &unreadable(error))
        };
        let about = file.metadata().map_err(fail)?;
        let number = (about.dev(), about.ino());
        if numbers.contains(&number) {
            let reasons = vec!["it is named twice".to_owned()];
            return Err(Refusal::new(path, reasons, "name each file once"));
        }
        numbers.push(number);
        let real = path.canonicalize().map_err(fail)?;
        named.push(Identity::of_file(&real, Bytes(about.len())));
    }
    let all = files.iter().zip(&named);
    all.map(|((file, path), identity)| release_file(file, path, identity, &named, consents))
        .collect()
}

fn release_file(
    file: &File,
    path: &Path,
    identity: &Identity,
    named: &[Identity],
    consents: &[Consent],
) -> Result<Released, Refusal> {
    let fail = |error: GuardError| unfit(path, &error);
    let real = &identity.path;
    if is_swap(real).map_err(|e| fail(GuardError::unreadable("/proc/swaps")(e)))? {
        let remedy = "free it first, or name another file";
        return Err(Refusal::new(
            path,
            vec!["it is swap in use".to_owned()],
            remedy,
        ));
    }
    let held = descriptor(file);
    let Bytes(size) = identity.size;
    // An empty file has no signature, and the programs would fail on it.
    let found = match size {
        0 => Vec::new(),
        _ => signatures::on(&held, &identity.name).map_err(fail)?,
    };
    let description = DeviceDescription {
        identity: identity.clone(),
        users: Vec::new(),
        signatures: found,
        configured: configured::find_file(real).map_err(fail)?,
    };
    let unreadable = GuardError::unreadable(path.display().to_string());
    let data = first_data(file, size).map_err(|e| fail(unreadable(e)))?;
    let holds = data.is_some() || !description.configured.is_empty();
    if holds {
        judge(path, &description, named, consents, Bytes(0)).map_err(|mut refusal| {
            let data = data.map(|at| format!("it holds data, the first at byte {at}"));
            refusal.reasons.extend(data);
            refusal
        })?;
    }
    Ok(Released::of_file(description, holds))
}

/// A path to an open file, for this process and its children.
fn descriptor(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

fn is_swap(real: &Path) -> io::Result<bool> {
    let this = file_number(real);
    let swaps = match fs::read("/proc/swaps") {
        Ok(text) => swaps(&text),
        // A kernel without swap.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(this.is_some() && swaps.iter().any(|path| file_number(path) == this))
}

/// The offset of the first byte that is not zero.
fn first_data(file: &File, size: u64) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < size {
        // Holes are skipped, where the file system reports them.
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(next) => next.max(at),
            Err(Errno::NXIO) => return Ok(None),
            Err(Errno::INVAL) => at,
            Err(error) => return Err(error.into()),
        };
        let count = file.read_at(&mut buffer, at)?;
        if count == 0 {
            break;
        }
        if let Some(place) = buffer[..count].iter().position(|byte| *byte != 0) {
            return Ok(Some(at + place as u64));
        }
        at += count as u64;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_is_not_zero_is_found_after_holes_and_zeros() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        assert_eq!(first_data(&file, 64 << 20).unwrap(), None);
        file.write_all_at(&[0; 8192], 10 << 20).unwrap();
        assert_eq!(first_data(&file, 64 << 20).unwrap(), None);
        file.write_all_at(b"x", (60 << 20) + 7).unwrap();
        assert_eq!(first_data(&file, 64 << 20).unwrap(), Some((60 << 20) + 7));
    }
}
