//! The part of `stat(2)` that loads need.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    Fifo,
    Socket,
    Character,
    Block,
}

/// A time stamp of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamp {
    /// Seconds since 1970 (UTC).
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
}

impl Timestamp {
    /// Leaves the time unchanged (utimensat(2)).
    pub const OMIT: Self = Self {
        seconds: 0,
        nanos: 0x3fff_fffe,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    pub kind: Kind,
    /// Permission bits, with set-id and sticky bits (`07777`).
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// The device number of its file system.
    pub dev: u64,
    pub ino: u64,
    pub links: u64,
    /// The device a device node represents.
    pub rdev: u64,
    /// Its size, bytes.
    pub size: u64,
    /// The allocated space, bytes.
    pub space: u64,
    pub accessed: Timestamp,
    pub modified: Timestamp,
}

impl Meta {
    /// Whether the file has holes, as far as `stat` shows it.
    pub fn sparse(&self) -> bool {
        self.space < self.size
    }
}

impl Kind {
    /// From the `d_type` of a directory entry; none if the file system does not set it.
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

    /// The `d_type` of a directory entry.
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

    /// From the mode of `stat`. Any other mode is a regular file.
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
