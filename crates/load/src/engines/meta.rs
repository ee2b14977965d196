//! What is known of a file: the part of `stat(2)` that loads need.

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe with a name.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    Character,
    /// A block device.
    Block,
}

/// A moment, as file systems keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Seconds since 1970 (UTC).
    pub seconds: i64,
    /// Nanoseconds on top.
    pub nanos: u32,
}

impl Moment {
    /// Leave it as it is (utimensat(2)).
    pub const OMIT: Self = Self {
        seconds: 0,
        nanos: 0x3fff_fffe,
    };
}

/// What `stat` reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, with set-id and sticky bits (`07777`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// The file system it is on.
    pub dev: u64,
    /// Its number there.
    pub ino: u64,
    /// Names it has.
    pub links: u64,
    /// The device a device node represents.
    pub rdev: u64,
    /// Bytes of data.
    pub size: u64,
    /// Bytes of space taken.
    pub space: u64,
    /// Last access.
    pub accessed: Moment,
    /// Last modification.
    pub modified: Moment,
}

impl Meta {
    /// Whether the file has holes, as far as `stat` can report.
    pub fn sparse(&self) -> bool {
        self.space < self.size
    }
}

impl Kind {
    /// From the `d_type` of a directory's entry; none where the file system does not report.
    pub fn of_dirent(byte: u8) -> Option<Self> {
        Some(match byte {
            libc::DT_REG => Self::File,
            libc::DT_DIR => Self::Directory,
            libc::DT_LNK => Self::Symlink,
            libc::DT_FIFO => Self::Fifo,
            libc::DT_SOCK => Self::Socket,
            libc::DT_CHR => Self::Character,
            libc::DT_BLK => Self::Block,
            _ => return None,
        })
    }

    /// The `d_type` of a directory's entry.
    pub fn dirent(self) -> u8 {
        match self {
            Self::File => libc::DT_REG,
            Self::Directory => libc::DT_DIR,
            Self::Symlink => libc::DT_LNK,
            Self::Fifo => libc::DT_FIFO,
            Self::Socket => libc::DT_SOCK,
            Self::Character => libc::DT_CHR,
            Self::Block => libc::DT_BLK,
        }
    }

    /// From the mode of `stat`. What is none of the others is a regular file.
    pub fn of_mode(mode: u32) -> Self {
        match mode & libc::S_IFMT {
            libc::S_IFDIR => Self::Directory,
            libc::S_IFLNK => Self::Symlink,
            libc::S_IFIFO => Self::Fifo,
            libc::S_IFSOCK => Self::Socket,
            libc::S_IFCHR => Self::Character,
            libc::S_IFBLK => Self::Block,
            _ => Self::File,
        }
    }
}
