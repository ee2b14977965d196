//! The resources that a journal records, and the format of its lines.
//!
//! A line is `make ID KIND PATH` or `gone ID`; that of a pool ends with the name of its file
//! system, from which the commands of a clean-up are derived: no line stores a command. Bytes of a
//! path that are not plain ASCII are written `%XX`, so that any path fits a line and the file is
//! readable.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Something that fsdyno makes and has to take away again. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A directory of ours, with its contents.
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// An image file.
    Image {
        /// The file.
        path: PathBuf,
    },
    /// The loop device of an image file.
    Loop {
        /// The image file.
        image: PathBuf,
    },
    /// A mounted file system.
    Mount {
        /// Where.
        target: PathBuf,
    },
    /// Devices joined to one.
    Array {
        /// What they are joined to.
        device: PathBuf,
    },
    /// Devices that programs hold.
    Pool {
        /// Where these programs mount them.
        target: PathBuf,
        /// The file system whose recipe defines the commands.
        filesystem: String,
    },
    /// A pool in a journal of version 0.1, which stored commands. They are never run.
    Commands {
        /// Where it is mounted.
        target: PathBuf,
    },
    /// A daemon that fsdyno started.
    Daemon {
        /// The PID file.
        pid_file: PathBuf,
    },
    /// A guest that runs.
    Guest {
        /// Where its kernel keeps its notes.
        directory: PathBuf,
    },
    /// A process that serves a model disk as a file.
    Server {
        /// The file.
        file: PathBuf,
    },
    /// An instance of tracefs.
    Trace {
        /// Its directory.
        directory: PathBuf,
    },
    /// Files fsdyno made inside a directory of the user's.
    Tree {
        /// The top of what fsdyno made.
        path: PathBuf,
    },
}

impl Resource {
    /// The path it is known by.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory { path } | Self::Image { path } | Self::Tree { path } => path,
            Self::Loop { image } => image,
            Self::Mount { target } | Self::Pool { target, .. } | Self::Commands { target } => {
                target
            }
            Self::Daemon { pid_file } => pid_file,
            Self::Guest { directory } | Self::Trace { directory } => directory,
            Self::Server { file } => file,
            Self::Array { device } => device,
        }
    }

    /// The name of its kind, as written.
    fn kind(&self) -> &'static str {
        match self {
            Self::Directory { .. } => "directory",
            Self::Image { .. } => "image",
            Self::Loop { .. } => "loop",
            Self::Mount { .. } => "mount",
            Self::Guest { .. } => "guest",
            Self::Array { .. } => "array",
            Self::Pool { .. } | Self::Commands { .. } => "pool",
            Self::Daemon { .. } => "daemon",
            Self::Server { .. } => "server",
            Self::Trace { .. } => "trace",
            Self::Tree { .. } => "tree",
        }
    }

    fn new(kind: &str, path: PathBuf) -> Option<Self> {
        match kind {
            "directory" => Some(Self::Directory { path }),
            "image" => Some(Self::Image { path }),
            "loop" => Some(Self::Loop { image: path }),
            "mount" => Some(Self::Mount { target: path }),
            "array" => Some(Self::Array { device: path }),
            "daemon" => Some(Self::Daemon { pid_file: path }),
            "server" => Some(Self::Server { file: path }),
            "guest" => Some(Self::Guest { directory: path }),
            "trace" => Some(Self::Trace { directory: path }),
            "tree" => Some(Self::Tree { path }),
            _ => None,
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Directory { .. } => "directory",
            Self::Image { .. } => "image file",
            Self::Loop { .. } => "loop device of",
            Self::Mount { .. } => "mount at",
            Self::Guest { .. } => "guest of",
            Self::Array { .. } => "array",
            Self::Pool { .. } | Self::Commands { .. } => "pool at",
            Self::Daemon { .. } => "daemon of",
            Self::Server { .. } => "server of the model disk",
            Self::Trace { .. } => "instance of tracefs",
            Self::Tree { .. } => "files in",
        };
        write!(f, "{what} {}", self.path().display())
    }
}

/// One line of a journal.
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
                let mut line = format!("make {id} {}", resource.kind());
                line.push(' ');
                line.push_str(&escape(resource.path().as_os_str().as_bytes()));
                if let Resource::Pool { filesystem, .. } = resource {
                    line.push(' ');
                    line.push_str(&escape(filesystem.as_bytes()));
                }
                line.push('\n');
                line
            }
            Self::Gone(id) => format!("gone {id}\n"),
        }
    }

    /// Parses a line without its end; none where it is invalid.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["make", id, "pool", path, filesystem] => {
                let resource = Resource::Pool {
                    target: path_of(path)?,
                    filesystem: String::from_utf8(unescape(filesystem)?).ok()?,
                };
                Some(Self::Make(id.parse().ok()?, resource))
            }
            ["make", id, "pool", path, _, _] => {
                let target = path_of(path)?;
                Some(Self::Make(id.parse().ok()?, Resource::Commands { target }))
            }
            ["make", id, kind, path] => {
                let resource = Resource::new(kind, path_of(path)?)?;
                Some(Self::Make(id.parse().ok()?, resource))
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
        for resource in [
            Resource::Directory { path: odd() },
            Resource::Image { path: odd() },
            Resource::Loop { image: odd() },
            Resource::Mount { target: odd() },
            Resource::Guest { directory: odd() },
            Resource::Array { device: odd() },
            Resource::Daemon { pid_file: odd() },
            Resource::Server { file: odd() },
            Resource::Pool {
                target: odd(),
                filesystem: "a b".to_owned(),
            },
            Resource::Trace { directory: odd() },
            Resource::Tree { path: odd() },
        ] {
            let record = Record::Make(7, resource);
            let line = record.line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(Record::parse(line.trim_end().as_bytes()), Some(record));
        }
    }

    #[test]
    fn removed_resources_and_half_a_line_are_not_listed() {
        let image = Resource::Image { path: "/i".into() };
        let mount = Resource::Mount {
            target: "/m".into(),
        };
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
        let target = PathBuf::from("/m");
        assert_eq!(remaining(line), [(1, Resource::Commands { target })]);
    }

    #[test]
    fn unknown_lines_of_a_journal_are_ignored() {
        assert_eq!(
            remaining(b"make 1 image relative\nrm -rf /\nmake 2 disk /x\n\xff\n"),
            []
        );
    }
}
