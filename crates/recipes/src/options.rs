//! Mount options of every file system: the kernel's VFS or mount(8) handles them before the file
//! system does. Options of one file system are in its recipe.

/// The generic mount options (mount(8), "FILESYSTEM-INDEPENDENT MOUNT OPTIONS").
///
/// Options that only clear a flag (`async`, `dev`, `nolazytime` ...) are the kernel's default and
/// change nothing. They are known so that a list of contenders can be explicit.
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

/// Options that make mount(8) do something other than mount a new file system on its device.
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

/// Key of an option: `data` of `data=writeback`.
pub fn key(option: &str) -> &str {
    option.split_once('=').map_or(option, |(key, _)| key)
}

/// Value of an option: `writeback` of `data=writeback`.
pub fn value(option: &str) -> Option<&str> {
    option.split_once('=').map(|(_, value)| value)
}

/// Whether one word is the other with the prefix `no`, a negation pair of the kernel.
pub(crate) fn is_negation(one: &str, other: &str) -> bool {
    one.strip_prefix("no") == Some(other) || other.strip_prefix("no") == Some(one)
}
