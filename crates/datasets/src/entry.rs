//! Reads directory entries: names one by one, extended attributes, and the data ranges of a file.
//! Everything is relative to an open directory.

use fsdyno_files::uninterrupted;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

/// The maximum nesting of directories: each level holds a few file descriptors open, and their
/// usual limit is 1024.
pub const DEEPEST: usize = 300;

/// The maximum size of a list of names and of a value in Linux: `XATTR_LIST_MAX` and
/// `XATTR_SIZE_MAX` of xattr(7).
const XATTR_MAX: usize = 65_536;

/// An extended attribute: its name and its value.
pub type Xattr = (CString, Vec<u8>);

/// Opens a directory without following a symbolic link.
pub fn open_directory(
    parent: impl AsFd,
    name: impl rustix::path::Arg,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

/// Opens a file to read without following a symbolic link.
pub fn open_file(parent: impl AsFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    // NONBLOCK: if a FIFO has replaced it, the open must not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

/// The `lstat` result of an entry.
pub fn stat(parent: impl AsFd, name: &CStr) -> rustix::io::Result<Stat> {
    fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Calls `each` with every name in a directory except `.` and `..`, in the system's order. `failed`
/// converts an error of the directory to that of `each`.
pub fn each_name<E>(
    directory: impl AsFd,
    failed: impl Fn(Errno) -> E,
    mut each: impl FnMut(&CStr) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![MaybeUninit::uninit(); 32_768];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(&failed)?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            each(name)?;
        }
    }
    Ok(())
}

/// The names in a directory except `.` and `..`, sorted.
pub fn names(directory: impl AsFd) -> rustix::io::Result<Vec<CString>> {
    let mut names = Vec::new();
    each_name(
        directory,
        |errno| errno,
        |name| {
            names.push(name.to_owned());
            Ok(())
        },
    )?;
    names.sort_unstable();
    Ok(names)
}

/// The extended attributes of an entry, by name; a symbolic link is not followed. Empty if the file
/// system does not support them.
pub fn xattrs(parent: impl AsFd, name: &CStr) -> rustix::io::Result<Vec<Xattr>> {
    let path = path_of(parent, name);
    let list = match whole(|buffer| fs::llistxattr(path.as_c_str(), buffer)) {
        Ok(list) => list,
        Err(Errno::NOTSUP) => Vec::new(),
        Err(errno) => return Err(errno),
    };
    let mut found = Vec::new();
    for key in list.split_inclusive(|byte| *byte == 0) {
        let Ok(key) = CStr::from_bytes_with_nul(key) else {
            continue;
        };
        match whole(|buffer| fs::lgetxattr(path.as_c_str(), key, buffer)) {
            Ok(value) => found.push((key.to_owned(), value)),
            // Removed meanwhile, or only its name is visible.
            Err(Errno::NODATA | Errno::NOTSUP) => {}
            Err(errno) => return Err(errno),
        }
    }
    found.sort();
    Ok(found)
}

/// The result of `read`: uses a small buffer first, because most results are short.
fn whole(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut small = [0; 512];
    match read(&mut small) {
        Ok(length) => Ok(small[..length].to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0; XATTR_MAX];
            let length = read(&mut large)?;
            large.truncate(length);
            Ok(large)
        }
        Err(errno) => Err(errno),
    }
}

/// Sets an extended attribute of an entry; a symbolic link is not followed.
pub fn set_xattr(parent: impl AsFd, name: &CStr, xattr: &Xattr) -> rustix::io::Result<()> {
    let path = path_of(parent, name);
    fs::lsetxattr(
        path.as_c_str(),
        xattr.0.as_c_str(),
        &xattr.1,
        fs::XattrFlags::empty(),
    )
}

/// Before Linux 6.13 no system call accesses extended attributes relative to a directory. The
/// directory is reached through procfs, which does not limit the length of its path.
fn path_of(parent: impl AsFd, name: &CStr) -> CString {
    let mut path = format!("/proc/self/fd/{}/", parent.as_fd().as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    // A name from the system contains no zero byte.
    CString::new(path).unwrap_or_default()
}

/// Calls `each` with the start and the end of every data range of a file.
pub fn each_data_range<E>(
    file: impl AsFd,
    size: u64,
    failed: impl Fn(Errno) -> E,
    mut each: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = 0;
    while at < size {
        let start = match fs::seek(&file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(failed(errno)),
        };
        let end = fs::seek(&file, SeekFrom::Hole(start)).map_err(&failed)?;
        each(start, end)?;
        at = end;
    }
    Ok(())
}

/// The start and the end of every data range of a file of this size.
pub fn data_ranges(file: impl AsFd, size: u64) -> rustix::io::Result<Vec<(u64, u64)>> {
    let mut found = Vec::new();
    each_data_range(
        file,
        size,
        |errno| errno,
        |start, end| {
            found.push((start, end.min(size)));
            Ok(())
        },
    )?;
    Ok(found)
}

/// The bytes of a file that are not in holes.
pub fn data_of(file: impl AsFd, size: u64) -> rustix::io::Result<u64> {
    let ranges = data_ranges(file, size)?;
    Ok(ranges.iter().map(|(start, end)| end - start).sum())
}

/// Reads until the buffer is full, or there is no more; returns the number of bytes.
pub fn fill<E>(
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<usize, E> {
    let mut length = 0;
    while length < buffer.len() {
        match read(&mut buffer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

pub fn write_all(file: impl AsFd, mut bytes: &[u8], mut at: u64) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let written = uninterrupted(|| rustix::io::pwrite(&file, bytes, at))?;
        at += written as u64;
        bytes = &bytes[written..];
    }
    Ok(())
}
