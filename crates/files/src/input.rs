//! Files that the user names as input: regular, opened without waiting, texts of bounded length.
//!
//! Their owner is not checked: the user chose them. See [`crate::TrustedDir`].

use fsdyno_model::Bytes;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, stat};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The longest text that is read: plans, disk profiles and fault files are some KiB long.
pub const TEXT_MAX: u64 = 1 << 20;

/// Opens a regular file to be read. A FIFO, socket, device or directory is an error at once.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened: some devices act when they are, as tapes and watchdogs do.
    check(FileType::from_raw_mode(stat(path)?.st_mode))?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty())?;
    check(FileType::from_raw_mode(fstat(&file)?.st_mode))?;
    Ok(file.into())
}

/// Opens a regular file of at most this size to be read whole. A longer one, as a sparse file may be,
/// is an error at once.
pub fn open_bounded(path: &Path, most: u64) -> io::Result<File> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > most {
        let (length, most) = (Bytes(length), Bytes(most));
        return Err(refused(&format!(
            "it is {length} long, and at most {most} are read"
        )));
    }
    Ok(file)
}

/// Reads a text of at most [`TEXT_MAX`] bytes from a regular file.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(TEXT_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT_MAX {
        return Err(refused("it is longer than 1 MiB, the most that is read"));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not a text in UTF-8"))
}

fn check(kind: FileType) -> io::Result<()> {
    Err(refused(match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "it is a directory, not a file",
        FileType::Fifo => "it is a FIFO, not a regular file; write its text to a file",
        FileType::Socket => "it is a socket, not a regular file",
        FileType::BlockDevice | FileType::CharacterDevice => "it is a device, not a regular file",
        _ => "it is not a regular file",
    }))
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_length_are_read() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read_text(&file).unwrap(), "text");
        let why = |path: &Path| read_text(path).unwrap_err().to_string();
        assert!(why(&fifo).contains("FIFO"));
        assert!(why(place.path()).contains("directory"));
        assert!(why(Path::new("/dev/zero")).contains("device"));
        let link = place.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert!(why(&link).contains("device"));
        std::fs::write(&file, [0xff]).unwrap();
        assert!(why(&file).contains("UTF-8"));
        let long = File::create(&file).unwrap();
        long.set_len(TEXT_MAX).unwrap();
        assert_eq!(read_text(&file).unwrap().len() as u64, TEXT_MAX);
        long.set_len(1 << 40).unwrap();
        assert!(why(&file).contains("1 MiB"));
        let why = open_bounded(&file, 1 << 30).unwrap_err().to_string();
        assert!(
            why.contains("1.00 TiB") && why.contains("1.00 GiB"),
            "{why}"
        );
        assert!(open_bounded(&file, 1 << 40).is_ok());
        let missing = read_text(&place.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
