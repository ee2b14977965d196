//! Mount options every file system takes, because the kernel's VFS or mount(8) acts on them
//! before the file system sees them. Options of one file system stand with its recipe.

/// The generic mount options (mount(8), "FILESYSTEM-INDEPENDENT MOUNT OPTIONS").
///
/// Those that only clear a flag (`async`, `dev`, `nolazytime` ...) are the kernel's default and
/// change nothing; they are known so that a list of contenders can say them aloud.
pub const GENERIC: &[&str] = &[
    "rw",
    "ro",
    "async",
    "sync",
    "dirsync",
    "atime",
    "noatime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "diratime",
    "nodiratime",
    "lazytime",
    "nolazytime",
    "dev",
    "nodev",
    "suid",
    "nosuid",
    "exec",
    "noexec",
    "iversion",
    "noiversion",
    "symfollow",
    "nosymfollow",
];

/// Words by which mount(8) does something else than to mount a new file system on its device.
pub const OTHER_ACTS: &[&str] = &[
    "bind",
    "rbind",
    "move",
    "remount",
    "loop",
    "offset",
    "sizelimit",
    "shared",
    "rshared",
    "private",
    "rprivate",
    "slave",
    "rslave",
    "unbindable",
    "runbindable",
];

/// The key of an option: `data` of `data=writeback`.
pub fn key(option: &str) -> &str {
    option.split_once('=').map_or(option, |(key, _)| key)
}

/// The value of an option: `writeback` of `data=writeback`.
pub fn value(option: &str) -> Option<&str> {
    option.split_once('=').map(|(_, value)| value)
}

/// Whether one word is the other with `no` before it: a pair that the kernel uses as such.
pub(crate) fn is_negation(one: &str, other: &str) -> bool {
    one.strip_prefix("no") == Some(other) || other.strip_prefix("no") == Some(one)
}
