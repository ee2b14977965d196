//! Sorts mount options by their reader: the mount itself, the superblock, or the file system.
//!
//! The kernel takes the first kind as attributes of the mount, the others as parameters of the
//! file system's context, where it knows the generic ones (`sync`, `lazytime` ...) itself.

use rustix::mount::{MountAttrFlags, MountFlags};

/// Options ready for the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sorted {
    pub(super) attributes: MountAttrFlags,
    /// Parameters of the superblock and the file system, in the order they were given: `key` or
    /// `key=value`.
    pub(super) parameters: Vec<String>,
}

/// The arguments of `mount(2)`: flags and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Classic {
    pub(super) flags: MountFlags,
    pub(super) data: String,
}

/// The key of a parameter, and its value, which may contain further equals signs.
pub(super) fn key_and_value(parameter: &str) -> (&str, Option<&str>) {
    match parameter.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (parameter, None),
    }
}

/// Sorts options, one each. Later ones win over earlier ones, as with `mount(8)`.
///
/// `ro` is both: the superblock becomes read-only, and so does the mount. Options that only
/// `mount(8)` reads (`defaults`, `x-...`) are left out.
pub(super) fn sort(options: &[String]) -> Sorted {
    let mut attributes = MountAttrFlags::empty();
    let mut parameters = Vec::new();
    for option in options {
        let option = option.as_str();
        if let Some((clear, set)) = attribute(option) {
            attributes = attributes.difference(clear).union(set);
        }
        match option {
            "" | "defaults" => {}
            _ if option.starts_with("x-") || option.starts_with("X-") => {}
            "ro" | "rw" => parameters.push(option.to_owned()),
            _ if attribute(option).is_some() => {}
            _ => parameters.push(option.to_owned()),
        }
    }
    Sorted {
        attributes,
        parameters,
    }
}

/// The attributes an option clears and sets.
fn attribute(option: &str) -> Option<(MountAttrFlags, MountAttrFlags)> {
    use MountAttrFlags as A;
    let none = A::empty();
    let atime = A::MOUNT_ATTR__ATIME;
    Some(match option {
        "ro" => (none, A::MOUNT_ATTR_RDONLY),
        "rw" => (A::MOUNT_ATTR_RDONLY, none),
        "nosuid" => (none, A::MOUNT_ATTR_NOSUID),
        "suid" => (A::MOUNT_ATTR_NOSUID, none),
        "nodev" => (none, A::MOUNT_ATTR_NODEV),
        "dev" => (A::MOUNT_ATTR_NODEV, none),
        "noexec" => (none, A::MOUNT_ATTR_NOEXEC),
        "exec" => (A::MOUNT_ATTR_NOEXEC, none),
        "nodiratime" => (none, A::MOUNT_ATTR_NODIRATIME),
        "diratime" => (A::MOUNT_ATTR_NODIRATIME, none),
        "nosymfollow" => (none, A::MOUNT_ATTR_NOSYMFOLLOW),
        "symfollow" => (A::MOUNT_ATTR_NOSYMFOLLOW, none),
        // The three exclude each other; relatime, the kernel's default, is the value 0.
        "noatime" => (atime, A::MOUNT_ATTR_NOATIME),
        "strictatime" => (atime, A::MOUNT_ATTR_STRICTATIME),
        "relatime" | "atime" | "norelatime" | "nostrictatime" => (atime, none),
        _ => return None,
    })
}

/// The same for `mount(2)`, which has flags for the superblock as well.
pub(super) fn classic(sorted: &Sorted) -> Classic {
    use MountAttrFlags as A;
    let mut flags = MountFlags::empty();
    for (attribute, flag) in [
        (A::MOUNT_ATTR_RDONLY, MountFlags::RDONLY),
        (A::MOUNT_ATTR_NOSUID, MountFlags::NOSUID),
        (A::MOUNT_ATTR_NODEV, MountFlags::NODEV),
        (A::MOUNT_ATTR_NOEXEC, MountFlags::NOEXEC),
        (A::MOUNT_ATTR_NODIRATIME, MountFlags::NODIRATIME),
        (A::MOUNT_ATTR_NOSYMFOLLOW, MountFlags::NOSYMFOLLOW),
        (A::MOUNT_ATTR_NOATIME, MountFlags::NOATIME),
        (A::MOUNT_ATTR_STRICTATIME, MountFlags::STRICTATIME),
    ] {
        if sorted.attributes.contains(attribute) {
            flags |= flag;
        }
    }
    let mut data = Vec::new();
    for parameter in &sorted.parameters {
        match parameter.as_str() {
            "ro" | "rw" => {}
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "async" => flags -= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            "nolazytime" => flags -= MountFlags::LAZYTIME,
            other => data.push(other.to_owned()),
        }
    }
    Classic {
        flags,
        data: data.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(options: &str) -> (MountAttrFlags, String) {
        let options: Vec<String> = options.split(',').map(str::to_owned).collect();
        let sorted = sort(&options);
        (sorted.attributes, sorted.parameters.join(","))
    }

    #[test]
    fn options_go_to_the_mount_or_to_the_file_system() {
        use MountAttrFlags as A;
        for (options, attributes, parameters) in [
            ("defaults", A::empty(), ""),
            (
                "noatime,data=writeback",
                A::MOUNT_ATTR_NOATIME,
                "data=writeback",
            ),
            ("noatime,strictatime", A::MOUNT_ATTR_STRICTATIME, ""),
            ("strictatime,relatime", A::empty(), ""),
            ("ro", A::MOUNT_ATTR_RDONLY, "ro"),
            ("ro,rw", A::empty(), "ro,rw"),
            ("sync,lazytime,dirsync", A::empty(), "sync,lazytime,dirsync"),
            (
                "nosuid,nodev,noexec,exec,device=/dev/a=b,x-systemd.automount",
                A::MOUNT_ATTR_NOSUID | A::MOUNT_ATTR_NODEV,
                "device=/dev/a=b",
            ),
        ] {
            assert_eq!(
                sorted(options),
                (attributes, parameters.to_owned()),
                "{options}"
            );
        }
        let pair = key_and_value("device=/dev/a=b");
        assert_eq!(pair, ("device", Some("/dev/a=b")));
    }

    #[test]
    fn the_old_call_gets_flags_and_a_text() {
        let options = ["ro", "noatime", "sync", "commit=5", "lazytime"].map(str::to_owned);
        let old = classic(&sort(&options));
        assert_eq!(old.data, "commit=5");
        let flags = MountFlags::RDONLY
            | MountFlags::NOATIME
            | MountFlags::SYNCHRONOUS
            | MountFlags::LAZYTIME;
        assert_eq!(old.flags, flags);
    }
}
