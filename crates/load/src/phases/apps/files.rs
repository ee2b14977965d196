//! Whole files: written with content of their own, and read.

use crate::engines::Calls;
use crate::error::LoadError;
use crate::phases::data::stamp;
use std::ffi::CStr;

/// The mode of files and directories.
pub(super) const MODE: u32 = 0o644;
pub(super) const DIRECTORY_MODE: u32 = 0o755;
/// Writes this number of bytes to a new file.
pub(super) fn fill<C: Calls>(
    calls: &mut C,
    data: &mut [u8],
    file: &mut C::File,
    bytes: u64,
    author: usize,
) -> Result<(), LoadError> {
    let mut at = 0;
    while at < bytes {
        let length = usize::try_from(bytes - at).map_or(data.len(), |left| left.min(data.len()));
        stamp(&mut data[..length], author, at);
        calls.write(file, &data[..length])?;
        at += length as u64;
    }
    Ok(())
}

/// Opens, reads and closes a file; returns its bytes.
pub(super) fn read<C: Calls>(
    calls: &mut C,
    into: &mut [u8],
    at: &C::Dir,
    name: &CStr,
) -> Result<u64, LoadError> {
    let mut file = calls.open(at, name)?;
    let mut bytes = 0;
    loop {
        let read = calls.read(&mut file, into)?;
        bytes += read as u64;
        // A shorter result is the end of the file, but readers of unknown files ask once more.
        if read == 0 {
            break;
        }
    }
    calls.close(file)?;
    Ok(bytes)
}
