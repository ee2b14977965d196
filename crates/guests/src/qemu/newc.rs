//! Writes cpio archives in the format `newc`, which a kernel unpacks into its initramfs
//! (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel). The caller chooses
//! the content.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

/// The name of the last entry, which ends an archive.
const END: &str = "TRAILER!!!";

#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<PathBuf>,
    entries: u32,
}

impl Archive {
    /// Adds an executable file, and its parent directories if they are missing.
    pub fn file(&mut self, path: &Path, content: &[u8]) {
        self.above(path);
        self.entry(path, PROGRAM, content);
    }

    pub fn link(&mut self, path: &Path, target: &Path) {
        self.above(path);
        self.entry(path, LINK, target.as_os_str().as_bytes());
    }

    /// Adds a directory if it is missing.
    pub fn directory(&mut self, path: &Path) {
        let path = path.strip_prefix("/").unwrap_or(path);
        if path.as_os_str().is_empty() || self.directories.contains(path) {
            return;
        }
        self.above(path);
        self.directories.insert(path.to_owned());
        self.entry(path, DIRECTORY, &[]);
    }

    /// Ends the archive and returns its bytes.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.entry(Path::new(END), 0, &[]);
        self.bytes
    }

    fn above(&mut self, path: &Path) {
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8]) {
        let name = path.strip_prefix("/").unwrap_or(path).as_os_str();
        self.entries += 1;
        let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        // inode, mode, owner, group, links, time, size, device, device of a node, name, sum
        let name_length = length(name.len() + 1);
        let size = length(content.len());
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            0,
            0,
            name_length,
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").bytes());
        }
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        let whole = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(whole, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of an archive: name, mode and content.
    fn entries(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut at = 0;
        let mut found = Vec::new();
        while at < bytes.len() {
            assert_eq!(&bytes[at..at + 6], b"070701");
            let field = |number: usize| {
                let from = at + 6 + number * 8;
                let text = std::str::from_utf8(&bytes[from..from + 8]).unwrap();
                u32::from_str_radix(text, 16).unwrap()
            };
            let (mode, size, name) = (field(1), field(6) as usize, field(11) as usize);
            let begin = at + 110;
            let text = String::from_utf8(bytes[begin..begin + name - 1].to_vec()).unwrap();
            let content = (begin + name).next_multiple_of(4);
            found.push((text, mode, bytes[content..content + size].to_vec()));
            at = (content + size).next_multiple_of(4);
        }
        found
    }

    #[test]
    fn an_archive_holds_what_was_put_in_and_the_directories_above_it_once() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/b/one"), b"1");
        archive.file(Path::new("/a/b/five"), b"12345");
        archive.link(Path::new("/a/link"), Path::new("b/one"));
        archive.directory(Path::new("/a"));
        let found = entries(&archive.into_bytes());
        let text = |content: &[u8]| String::from_utf8(content.to_vec()).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|(name, mode, content)| (name.as_str(), *mode, text(content)))
            .collect();
        assert_eq!(
            found,
            [
                ("a", DIRECTORY, String::new()),
                ("a/b", DIRECTORY, String::new()),
                ("a/b/one", PROGRAM, "1".to_owned()),
                ("a/b/five", PROGRAM, "12345".to_owned()),
                ("a/link", LINK, "b/one".to_owned()),
                (END, 0, String::new()),
            ]
        );
    }
}
