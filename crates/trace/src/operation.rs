//! Operations: one system call, or one request of `io_uring`, each.

use crate::{LinkTarget, PathId};
use serde::{Deserialize, Serialize};

/// A thread of a recorded program, numbered from 0 in the order of their starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

/// A thread. It is in the stream before its first operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub id: ThreadId,
    /// Its process: the number of the first thread of that process.
    pub process: ThreadId,
    /// The thread that created it. None if it ran before the recording, or is the command.
    pub parent: Option<ThreadId>,
    /// When it was created, ns since the start of the recording.
    pub start_ns: u64,
}

/// An open file description: what open(2) returns, and `dup`, `fork` and `SCM_RIGHTS` share. Numbers
/// are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Handle(pub u64);

/// A memory mapping of a file. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mapping(pub u64);

/// How the operation reached the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Via {
    /// A system call of the thread.
    #[default]
    Syscall,
    /// A request of `io_uring`; the thread submitted it.
    IoUring,
    /// A request of `io_submit(2)`; the thread submitted it.
    Aio,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The thread that called.
    pub thread: ThreadId,
    /// How it reached the kernel.
    pub via: Via,
    /// Start, ns since the start of the recording.
    pub start_ns: u64,
    /// Return, ns since the start of the recording.
    pub end_ns: u64,
    /// The operation.
    pub action: Action,
    /// The return value of the kernel; an error as its negative number.
    pub result: i64,
}

impl Operation {
    /// Time until it returned, ns.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The number of the error, if it failed.
    pub fn errno(&self) -> Option<i32> {
        (-4095..0)
            .contains(&self.result)
            .then(|| i32::try_from(-self.result).unwrap_or(0))
    }
}

impl Action {
    /// The object of an operation on what a path or a descriptor names: its status, permissions,
    /// owner, times, attributes or target.
    pub fn object(&self) -> Option<Object> {
        match self {
            Self::Stat { object }
            | Self::Access { object, .. }
            | Self::StatFs { object }
            | Self::ChangeMode { object, .. }
            | Self::ChangeOwner { object }
            | Self::SetTimes { object }
            | Self::GetXattr { object, .. }
            | Self::SetXattr { object, .. }
            | Self::SetAcl { object, .. }
            | Self::ListXattrs { object, .. }
            | Self::RemoveXattr { object, .. } => Some(*object),
            Self::ReadLink { path, .. } => Some(Object::NoFollow(*path)),
            _ => None,
        }
    }

    /// Whether an operation that succeeds changes names, data or attributes, or makes them durable.
    pub fn changes(&self) -> bool {
        match self {
            Self::Write { .. }
            | Self::Fsync { .. }
            | Self::Fdatasync { .. }
            | Self::SyncRange { .. }
            | Self::SyncFs { .. }
            | Self::Sync {}
            | Self::Truncate { .. }
            | Self::TruncateHandle { .. }
            | Self::Allocate { .. }
            | Self::Copy { .. }
            | Self::SendFile { to: Some(_), .. }
            | Self::SpliceTo { .. }
            | Self::Clone { .. }
            | Self::Rename { .. }
            | Self::Link { .. }
            | Self::LinkHandle { .. }
            | Self::Symlink { .. }
            | Self::Unlink { .. }
            | Self::RemoveDirectory { .. }
            | Self::MakeDirectory { .. }
            | Self::MakeNode { .. }
            | Self::ChangeMode { .. }
            | Self::ChangeOwner { .. }
            | Self::SetTimes { .. }
            | Self::SetXattr { .. }
            | Self::SetAcl { .. }
            | Self::SetFlags { .. }
            | Self::RemoveXattr { .. }
            | Self::SyncMap { .. } => true,
            Self::Fault { write, .. } => *write,
            // The rest reads, or depends on what there is: an open may create.
            _ => false,
        }
    }
}

/// The object of an operation that takes a path or a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Object {
    /// A path. A symbolic link at its end is followed.
    Path(PathId),
    /// A path. A symbolic link at its end is not followed.
    NoFollow(PathId),
    /// An open file.
    Handle(Handle),
}

macro_rules! actions {
    ($($(#[doc = $doc:literal])* $variant:ident $fields:tt = $name:literal,)*) => {
        /// What an operation did. Lengths, offsets and flags are those that the program passed.
        ///
        /// `offset: None` is the position of the open file. New variants are added at the end.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Action {
            $($(#[doc = $doc])* $variant $fields,)*
        }

        impl Action {
            /// The names of all kinds of operations, in the order of the variants.
            pub const KINDS: &[&str] = &[$($name),*];

            /// The kind of the operation: the name of its usual system call.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }
    };
}

actions! {
    /// open, openat, openat2, creat. `handle` is set if it succeeded. With `O_TMPFILE`, `path` is
    /// the directory.
    Open { path: PathId, flags: u32, mode: u32, handle: Option<Handle> } = "open",
    /// A file that was open when the recording began, or arrived over a socket. Takes no time.
    Inherit { path: PathId, flags: u32, position: u64, handle: Handle } = "inherit",
    /// The last descriptor of an open file was closed: close, `close_range`, exec or exit.
    Close { handle: Handle } = "close",
    /// read, readv, pread64, preadv, preadv2. `flags` are those of preadv2.
    Read { handle: Handle, offset: Option<u64>, length: u64, buffers: u32, flags: u32 } = "read",
    /// write, writev, pwrite64, pwritev, pwritev2. `flags` are those of pwritev2.
    Write { handle: Handle, offset: Option<u64>, length: u64, buffers: u32, flags: u32 } = "write",
    /// lseek.
    Seek { handle: Handle, offset: i64, whence: u32 } = "lseek",
    Fsync { handle: Handle } = "fsync",
    Fdatasync { handle: Handle } = "fdatasync",
    /// `sync_file_range`.
    SyncRange { handle: Handle, offset: u64, length: u64, flags: u32 } = "sync_file_range",
    /// syncfs.
    SyncFs { handle: Handle } = "syncfs",
    Sync {} = "sync",
    Truncate { path: PathId, length: u64 } = "truncate",
    /// ftruncate.
    TruncateHandle { handle: Handle, length: u64 } = "ftruncate",
    /// fallocate.
    Allocate { handle: Handle, mode: u32, offset: u64, length: u64 } = "fallocate",
    /// fadvise64. `advice` is as in `linux/fadvise.h`.
    Advise { handle: Handle, offset: u64, length: u64, advice: u32 } = "fadvise",
    /// readahead.
    ReadAhead { handle: Handle, offset: u64, length: u64 } = "readahead",
    /// `copy_file_range`.
    Copy {
        from: Handle, from_offset: Option<u64>, to: Handle, to_offset: Option<u64>, length: u64
    } = "copy_file_range",
    /// sendfile. `to` is none if it is no file of the tree: a socket or pipe.
    SendFile { from: Handle, offset: Option<u64>, to: Option<Handle>, length: u64 } = "sendfile",
    /// splice from a file to a pipe.
    SpliceFrom { handle: Handle, offset: Option<u64>, length: u64, flags: u32 } = "splice-from",
    /// splice from a pipe to a file.
    SpliceTo { handle: Handle, offset: Option<u64>, length: u64, flags: u32 } = "splice-to",
    /// ioctl FICLONE (a length of 0, to the end) and FICLONERANGE.
    Clone { from: Handle, from_offset: u64, to: Handle, to_offset: u64, length: u64 } = "clone",
    /// rename, renameat, renameat2.
    Rename { from: PathId, to: PathId, flags: u32 } = "rename",
    /// link, linkat. `follow`: a symbolic link at the end of `from` is followed.
    Link { from: PathId, to: PathId, follow: bool } = "link",
    /// linkat of an open file, as of one without a name (`O_TMPFILE`).
    LinkHandle { handle: Handle, to: PathId } = "link-handle",
    /// symlink, symlinkat.
    Symlink { path: PathId, target: LinkTarget } = "symlink",
    /// unlink, unlinkat.
    Unlink { path: PathId } = "unlink",
    /// rmdir, unlinkat with `AT_REMOVEDIR`.
    RemoveDirectory { path: PathId } = "rmdir",
    /// mkdir, mkdirat.
    MakeDirectory { path: PathId, mode: u32 } = "mkdir",
    /// mknod, mknodat. `mode` has the type. A replay creates no device.
    MakeNode { path: PathId, mode: u32 } = "mknod",
    /// getdents, getdents64.
    ReadDirectory { handle: Handle, length: u64 } = "getdents",
    /// stat, lstat, fstat, newfstatat, statx.
    Stat { object: Object } = "stat",
    /// access, faccessat, faccessat2.
    Access { object: Object, mode: u32 } = "access",
    /// readlink, readlinkat.
    ReadLink { path: PathId, length: u64 } = "readlink",
    /// statfs, fstatfs.
    StatFs { object: Object } = "statfs",
    /// chmod, fchmod, fchmodat.
    ChangeMode { object: Object, mode: u32 } = "chmod",
    /// chown, lchown, fchown, fchownat. Owners are not recorded.
    ChangeOwner { object: Object } = "chown",
    /// utime, utimes, futimesat, utimensat. Times are not recorded.
    SetTimes { object: Object } = "utimens",
    /// getxattr, lgetxattr, fgetxattr. `length` is that of the buffer.
    GetXattr { object: Object, name: String, length: u64 } = "getxattr",
    /// setxattr, lsetxattr, fsetxattr. `length` is that of the value.
    SetXattr { object: Object, name: String, length: u64, flags: u32 } = "setxattr",
    /// listxattr, llistxattr, flistxattr.
    ListXattrs { object: Object, length: u64 } = "listxattr",
    /// removexattr, lremovexattr, fremovexattr.
    RemoveXattr { object: Object, name: String } = "removexattr",
    /// mmap of a file. `mapping` is set if it succeeded; it keeps the file open after `Close`.
    Map {
        handle: Handle, offset: u64, length: u64, protection: u32, flags: u32,
        mapping: Option<Mapping>
    } = "mmap",
    /// munmap of a whole mapping; also implied by exec and exit.
    Unmap { mapping: Mapping } = "munmap",
    /// msync. `offset` is from the start of the mapping.
    SyncMap { mapping: Mapping, offset: u64, length: u64, flags: u32 } = "msync",
    /// A page fault in a mapping. `offset` is from its start. Its time is not recorded.
    Fault { mapping: Mapping, offset: u64, write: bool } = "fault",
    /// wait4, waitid: the process ended, and the caller knows.
    Wait { process: ThreadId } = "wait",
    /// setxattr of an access list (`acl(5)`), of a file or the default one of a directory. Kept are the
    /// number of entries, and the permissions of the owner, the group or mask, and others: 9 bits. The
    /// users and groups that it names are not recorded.
    SetAcl {
        object: Object, default: bool, entries: u32, permissions: u32, flags: u32
    } = "set-acl",
    /// An open of `/proc/self/fd/N`: the file of a descriptor, which may have no name any more.
    Reopen { of: Handle, flags: u32, handle: Option<Handle> } = "reopen",
    /// ioctl `FS_IOC_GETFLAGS`; `FS_IOC_FSGETXATTR` if `extended`.
    GetFlags { handle: Handle, extended: bool } = "get-flags",
    /// ioctl `FS_IOC_SETFLAGS`, as chattr does; `FS_IOC_FSSETXATTR` if `extended`, of which the flags
    /// are kept, not the project and the sizes of extents.
    SetFlags { handle: Handle, flags: u32, extended: bool } = "set-flags",
}
