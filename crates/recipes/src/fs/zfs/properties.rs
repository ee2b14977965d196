//! Mount options as properties of a dataset. What a property does, and which values it takes, is the
//! tools' to say: they refuse it by name.

use crate::options;

/// Properties that can be set when a dataset is made (zfsprops(7); zfs(8) of zfs-fuse 0.7.0).
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

/// Properties that would mount it elsewhere, share it, or read files.
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

/// The property that a mount option stands for: one, or none where it says what is so anyway. Why
/// it stands for none, where it cannot.
pub(super) fn of(option: &str) -> Result<Option<String>, String> {
    let property = match option {
        "ro" => return Err("nothing could be laid on it".to_owned()),
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
        // What is unknown is the tools' to judge.
        property => property,
    };
    Ok(Some(property.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_options_are_said_as_properties() {
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
