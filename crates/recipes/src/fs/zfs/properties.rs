//! Maps mount options to properties of a dataset. The ZFS tools validate the properties and their
//! values.

use crate::options;

/// Properties that can be set at dataset creation (zfsprops(7); zfs(8) of zfs-fuse 0.7.0).
pub(super) const KNOWN: &[&str] = &[
    "aclinherit",
    "aclmode",
    "acltype",
    "atime",
    "casesensitivity",
    "checksum",
    "compression",
    "copies",
    "dedup",
    "devices",
    "direct",
    "dnodesize",
    "exec",
    "logbias",
    "nbmand",
    "normalization",
    "overlay",
    "prefetch",
    "primarycache",
    "quota",
    "readonly",
    "recordsize",
    "redundant_metadata",
    "refquota",
    "refreservation",
    "relatime",
    "reservation",
    "secondarycache",
    "setuid",
    "snapdir",
    "special_small_blocks",
    "sync",
    "utf8only",
    "version",
    "vscan",
    "xattr",
];

/// Properties that change the mount point, share the dataset, or read files.
pub(super) const FOREIGN: &[&str] = &[
    "canmount",
    "encryption",
    "jailed",
    "keyformat",
    "keylocation",
    "mlslabel",
    "mountpoint",
    "sharenfs",
    "sharesmb",
    "zoned",
];

/// The property for a mount option, or none if the option is the default. An error if no property
/// exists.
pub(super) fn of(option: &str) -> Result<Option<String>, String> {
    let property = match option {
        "ro" => return Err("nothing could be written to it".to_owned()),
        "rw" | "async" | "diratime" | "nolazytime" | "nostrictatime" | "noiversion"
        | "symfollow" => return Ok(None),
        "sync" => "sync=always",
        "atime" | "strictatime" => "atime=on",
        "noatime" => "atime=off",
        "relatime" => "relatime=on",
        "norelatime" => "relatime=off",
        "dev" => "devices=on",
        "nodev" => "devices=off",
        "suid" => "setuid=on",
        "nosuid" => "setuid=off",
        "exec" => "exec=on",
        "noexec" => "exec=off",
        known if options::GENERIC.contains(&known) => {
            return Err("no property of zfs does that".to_owned());
        }
        name if KNOWN.contains(&name) => {
            return Err(format!("it is a property, with a value: {name}=VALUE"));
        }
        // The ZFS tools validate unknown options.
        property => property,
    };
    Ok(Some(property.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_options_map_to_properties() {
        for (option, expected) in [
            ("noatime", Some("atime=off")),
            ("sync", Some("sync=always")),
            ("sync=disabled", Some("sync=disabled")),
            ("recordsize=8k", Some("recordsize=8k")),
            ("nosuid", Some("setuid=off")),
            ("rw", None),
        ] {
            assert_eq!(of(option), Ok(expected.map(str::to_owned)), "{option}");
        }
        for option in ["ro", "dirsync", "lazytime", "nodiratime", "compression"] {
            assert!(of(option).is_err(), "{option}");
        }
    }
}
