//! The resources that a journal records, and the format of its lines.
//!
//! A line is `make ID KIND PATH` or `gone ID`; that of a pool ends with the name of its file
//! system, from which the commands of a clean-up are derived: no line stores a command. Bytes of a
//! path that are not plain ASCII are written `%XX`, so that any path fits a line and the file is
//! readable.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Something that fsdyno makes and has to take away again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resource {
    pub kind: Kind,
    /// The path it is known by, absolute.
    pub path: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A directory of ours, with its contents.
    Directory,
    Image,
    /// The loop device of the image file at the path.
    Loop,
    /// A file system mounted at the path.
    Mount,
    /// The device at the path, to which others are joined.
    Array,
    /// Devices that programs hold, and mount at the path.
    Pool {
        /// The file system whose recipe defines the commands.
        filesystem: String,
    },
    /// A pool in a journal of version 0.1, which stored commands. They are never run.
    Commands,
    /// A daemon that fsdyno started, by its PID file.
    Daemon,
    /// A guest that runs, by the directory where its kernel keeps its notes.
    Guest,
    /// A process that serves a model disk as the file at the path.
    Server,
    /// An instance of tracefs.
    Trace,
    /// Files that fsdyno made inside a directory of the user's, by their top.
    Tree,
}

impl Kind {
    /// The kinds that a path describes completely.
    const PLAIN: [Self; 10] = [
        Self::Directory,
        Self::Image,
        Self::Loop,
        Self::Mount,
        Self::Array,
        Self::Daemon,
        Self::Guest,
        Self::Server,
        Self::Trace,
        Self::Tree,
    ];

    pub fn at(self, path: impl Into<PathBuf>) -> Resource {
        Resource {
            kind: self,
            path: path.into(),
        }
    }

    /// Its name in a journal, and in a message.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Directory => ("directory", "directory"),
            Self::Image => ("image", "image file"),
            Self::Loop => ("loop", "loop device of"),
            Self::Mount => ("mount", "mount at"),
            Self::Array => ("array", "array"),
            Self::Pool { .. } | Self::Commands => ("pool", "pool at"),
            Self::Daemon => ("daemon", "daemon of"),
            Self::Guest => ("guest", "guest of"),
            Self::Server => ("server", "server of the model disk"),
            Self::Trace => ("trace", "instance of tracefs"),
            Self::Tree => ("tree", "files in"),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, what) = self.kind.names();
        write!(f, "{what} {}", self.path.display())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Make(u64, Resource),
    Gone(u64),
}

impl Record {
    /// The line, with its end.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Make(id, resource) => {
                let Resource { kind, path } = resource;
                let path = escape(path.as_os_str().as_bytes());
                let mut line = format!("make {id} {} {path}", kind.names().0);
                if let Kind::Pool { filesystem } = kind {
                    line.push(' ');
                    line.push_str(&escape(filesystem.as_bytes()));
                }
                line.push('\n');
                line
            }
            Self::Gone(id) => format!("gone {id}\n"),
        }
    }

    /// Parses a line without its end; none if it is invalid.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["make", id, "pool", path, filesystem] => {
                let filesystem = String::from_utf8(unescape(filesystem)?).ok()?;
                let pool = Kind::Pool { filesystem }.at(path_of(path)?);
                Some(Self::Make(id.parse().ok()?, pool))
            }
            ["make", id, "pool", path, _, _] => {
                let pool = Kind::Commands.at(path_of(path)?);
                Some(Self::Make(id.parse().ok()?, pool))
            }
            ["make", id, kind, path] => {
                let mut kinds = Kind::PLAIN.into_iter();
                let kind = kinds.find(|plain| plain.names().0 == kind)?;
                Some(Self::Make(id.parse().ok()?, kind.at(path_of(path)?)))
            }
            ["gone", id] => id.parse().ok().map(Self::Gone),
            _ => None,
        }
    }
}

/// The resources that remain after all lines of a journal, in the order of their creation.
///
/// An incomplete last line was being written when the process died. Its resource was not created
/// yet, since the line comes first, or is removed once more, which is harmless.
pub(crate) fn remaining(journal: &[u8]) -> Vec<(u64, Resource)> {
    let mut remaining = Vec::new();
    let whole = journal
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |end| end + 1);
    for line in journal[..whole].split(|b| *b == b'\n') {
        match Record::parse(line) {
            Some(Record::Make(id, resource)) => remaining.push((id, resource)),
            Some(Record::Gone(id)) => remaining.retain(|(known, _)| *known != id),
            None => {}
        }
    }
    remaining
}

fn escape(bytes: &[u8]) -> String {
    let plain = |b: u8| b.is_ascii_graphic() && b != b'%';
    let mut text = String::new();
    for &byte in bytes {
        if plain(byte) {
            text.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
            text.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            &tail[2..]
        } else {
            bytes.push(first);
            tail
        };
    }
    Some(bytes)
}

fn path_of(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(unescape(text)?));
    // Anything else was not written by us: a relative path would be undone somewhere else.
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd() -> PathBuf {
        PathBuf::from(OsString::from_vec(b"/a b/100%/\xff\n\xc3\xa9".to_vec()))
    }

    #[test]
    fn any_path_survives_a_line() {
        let filesystem = "a b".to_owned();
        for kind in Kind::PLAIN.into_iter().chain([Kind::Pool { filesystem }]) {
            let record = Record::Make(7, kind.at(odd()));
            let line = record.line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(Record::parse(line.trim_end().as_bytes()), Some(record));
        }
    }

    #[test]
    fn removed_resources_and_half_a_line_are_not_listed() {
        let image = Kind::Image.at("/i");
        let mount = Kind::Mount.at("/m");
        let mut journal = String::new();
        for record in [
            Record::Make(1, image.clone()),
            Record::Make(2, mount.clone()),
            Record::Gone(2),
            Record::Make(3, mount.clone()),
        ] {
            journal.push_str(&record.line());
        }
        assert_eq!(
            remaining(journal.as_bytes()),
            [(1, image.clone()), (3, mount)]
        );
        let half = &journal.as_bytes()[..journal.len() - 1];
        assert_eq!(remaining(half), [(1, image)]);
        assert_eq!(remaining(b""), []);
    }

    #[test]
    fn a_line_of_version_0_1_that_stores_commands_is_known_as_one() {
        let line = b"make 1 pool /m list%00a%00 let%00go%00\n";
        assert_eq!(remaining(line), [(1, Kind::Commands.at("/m"))]);
    }

    #[test]
    fn unknown_lines_of_a_journal_are_ignored() {
        assert_eq!(
            remaining(b"make 1 image relative\nrm -rf /\nmake 2 disk /x\n\xff\n"),
            []
        );
    }
}
