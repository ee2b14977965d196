//! Which paths a journal may contain: only those that fsdyno creates. A journal is named
//! `STEM.journal`, and its process creates everything below a directory `fsdyno-STEM-...`.
//!
//! Nothing else is undone, though the journal is genuine: a path such as `/srv/user` is refused.

use crate::journal::{Kind, Resource, SUFFIX};
use fsdyno_files::open_parent;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::process::geteuid;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The possible mount points of tracefs. The second one is in debugfs, on kernels before 4.1.
pub const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The stem of the name of a journal: `PID-STARTTIME`, or `PID-STARTTIME-NUMBER`.
pub(super) fn is_stem(stem: &str) -> bool {
    let parts: Vec<&str> = stem.split('-').collect();
    matches!(parts.len(), 2 | 3) && parts.into_iter().all(is_number)
}

/// Whether a directory of the effective user is named like the work directory of a process:
/// `fsdyno-STEM-NAME`.
pub(crate) fn is_work_directory(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let rest = name.and_then(|name| name.strip_prefix("fsdyno-"));
    let mut parts = rest.unwrap_or_default().splitn(3, '-');
    let numbered = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    let named = parts.next().is_some();
    let owner = path.symlink_metadata().map(|about| about.uid());
    numbered && named && owner.is_ok_and(|owner| owner == geteuid().as_raw())
}

/// The prefix of the directories that the process of a journal creates.
fn prefix(stem: &str) -> String {
    format!("fsdyno-{stem}-")
}

/// Checks that the process of this journal creates such a resource at such a path; else the reason.
pub(super) fn check(resource: &Resource, stem: &str) -> Result<(), String> {
    let path = resource.path.as_path();
    let prefix = prefix(stem);
    if !is_plain(path) {
        return Err("the path is not absolute, or contains `.` or `..`".to_owned());
    }
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let own = name.starts_with(&prefix);
    let is_own = |directory: Option<&Path>| {
        let name = directory.and_then(Path::file_name);
        name.is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    let below = || is_own(path.parent());
    // Image files are there, or in memory that is mounted there.
    let with_images = || {
        let parent = path.parent().filter(|parent| parent.ends_with("images"));
        below() || parent.is_some_and(|parent| is_own(parent.parent()))
    };
    let numbered = |before: &str, after: &str| {
        let number = name.strip_prefix(before);
        number
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(is_number)
    };
    let in_directory = |directory: &str| path.parent() == Some(Path::new(directory));
    let fits = match &resource.kind {
        Kind::Directory => own || (below() && matches!(name, "mnt" | "images")),
        Kind::Tree => own,
        Kind::Image => with_images() && (numbered("disk", ".img") || numbered("copy", ".img")),
        Kind::Loop => with_images() && (numbered("disk", ".img") || numbered("disk", "")),
        Kind::Mount => below() && (matches!(name, "mnt" | "images") || numbered("disk", "")),
        Kind::Pool { filesystem } => below() && name == "mnt" && is_filesystem_name(filesystem),
        Kind::Server => below() && numbered("disk", ""),
        Kind::Guest => below() && name == "guest",
        Kind::Array => own && in_directory("/dev/md"),
        Kind::Trace => {
            let mut places = TRACEFS.iter();
            own && places.any(|place| in_directory(&format!("{place}/instances")))
        }
        Kind::Daemon => {
            let name = name.strip_prefix("fsdyno-");
            let name = name.and_then(|rest| rest.strip_suffix(".pid"));
            in_directory("/run") && name.is_some_and(is_filesystem_name)
        }
        Kind::Commands => {
            return Err(format!(
                "this line of fsdyno 0.1 stores commands, which are not run. Release by hand the \
                 pool that is mounted at {}, and delete the journal",
                path.display()
            ));
        }
    };
    if fits {
        return Ok(());
    }
    Err(format!(
        "fsdyno makes nothing of this kind under this name. If it is not needed, remove it by hand, \
         and delete the journal {stem}{SUFFIX}"
    ))
}

/// Checks that the directory `fsdyno-STEM-...` in the path belongs to the effective user, and that no
/// symbolic link leads there. One that is missing is no error.
pub(super) fn check_owner(path: &Path, stem: &str) -> Result<(), String> {
    let prefix = prefix(stem);
    let is_own = |path: &&Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(&prefix)
    };
    // Arrays, instances of tracefs and PID files are in directories of root.
    let Some(own) = path.ancestors().find(is_own) else {
        return Ok(());
    };
    if own.starts_with("/dev") || own.starts_with("/sys") {
        return Ok(());
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        io::ErrorKind::NotADirectory => Err(format!(
            "a part of {} is not a directory, or is a symbolic link",
            own.display()
        )),
        _ => Err(format!("cannot examine {}: {error}", own.display())),
    };
    let (parent, name) = match open_parent(own) {
        Ok(opened) => opened,
        Err(error) => return failed(error),
    };
    let stat = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(errno) => return failed(errno.into()),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(format!("{} is not a directory", own.display()));
    }
    if stat.st_uid != geteuid().as_raw() {
        let (own, uid) = (own.display(), stat.st_uid);
        return Err(format!("{own} belongs to uid {uid}"));
    }
    Ok(())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a file system, or its daemon, could have this name.
fn is_filesystem_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    !text.is_empty() && text.len() <= 32 && text.bytes().all(plain)
}

/// Whether a path is absolute and written without `.`, `..` and doubled slashes.
fn is_plain(path: &Path) -> bool {
    let again: PathBuf = path.components().collect();
    let up = path.components().any(|part| part == Component::ParentDir);
    path.is_absolute() && !up && again.as_os_str() == path.as_os_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "/var/tmp/fsdyno-12-34-0";

    fn refused(resource: &Resource) -> bool {
        check(resource, "12-34").is_err()
    }

    #[test]
    fn only_paths_that_the_process_makes_are_accepted() {
        let at = |name: &str| PathBuf::from(format!("{OWN}/{name}"));
        let accepted = [
            Kind::Directory.at(OWN),
            Kind::Directory.at(at("mnt")),
            Kind::Directory.at(at("images")),
            Kind::Mount.at(at("images")),
            Kind::Image.at(at("images/disk0.img")),
            Kind::Loop.at(at("images/disk0.img")),
            Kind::Tree.at("/srv/user/fsdyno-12-34-7"),
            Kind::Image.at(at("disk0.img")),
            Kind::Image.at(at("copy12.img")),
            Kind::Loop.at(at("disk0.img")),
            Kind::Loop.at(at("disk3")),
            Kind::Mount.at(at("mnt")),
            Kind::Mount.at(at("disk0")),
            Kind::Server.at(at("disk0")),
            Kind::Guest.at(at("guest")),
            Kind::Pool {
                filesystem: "pools-1_2".to_owned(),
            }
            .at(at("mnt")),
            Kind::Array.at("/dev/md/fsdyno-12-34-0"),
            Kind::Trace.at("/sys/kernel/tracing/instances/fsdyno-12-34-0"),
            Kind::Daemon.at("/run/fsdyno-some-daemon.pid"),
        ];
        for resource in &accepted {
            assert_eq!(check(resource, "12-34"), Ok(()), "{resource}");
            // Of another journal.
            let of_any = resource.kind == Kind::Daemon;
            assert_eq!(check(resource, "1-2").is_ok(), of_any, "{resource}");
        }
    }

    #[test]
    fn paths_that_fsdyno_does_not_create_are_refused_for_every_kind() {
        let paths = [
            "/etc",
            "/srv/user",
            "/",
            "/var/tmp/fsdyno-12-34",
            "/var/tmp/fsdyno-12-345-0/mnt",
            "/var/tmp/fsdyno-12-34-0/../../../etc/mnt",
            "/var/tmp/fsdyno-12-34-0/..",
            "/var/tmp//fsdyno-12-34-0",
            "/var/tmp/fsdyno-12-34-0/other",
            "/var/tmp/fsdyno-12-34-0/disk.img",
            "/var/tmp/fsdyno-12-34-0/diskx.img",
            "/var/tmp/fsdyno-12-34-0/deep/mnt",
            "/var/tmp/fsdyno-12-34-0/deep/images",
            "/var/tmp/fsdyno-12-34-0/deep/images/disk0.img",
            "/var/tmp/fsdyno-12-34-0/images/images/disk0.img",
            "/var/tmp/images/disk0.img",
            "/dev/md0",
            "/run/sshd.pid",
            "/run/user/fsdyno-x.pid",
        ];
        for path in paths.map(PathBuf::from) {
            let path = || path.clone();
            for resource in [
                Kind::Directory.at(path()),
                Kind::Tree.at(path()),
                Kind::Image.at(path()),
                Kind::Loop.at(path()),
                Kind::Mount.at(path()),
                Kind::Server.at(path()),
                Kind::Guest.at(path()),
                Kind::Array.at(path()),
                Kind::Trace.at(path()),
                Kind::Daemon.at(path()),
                Kind::Pool {
                    filesystem: "x".to_owned(),
                }
                .at(path()),
            ] {
                assert!(refused(&resource), "{resource}");
            }
        }
        let target = PathBuf::from(OWN).join("mnt");
        for filesystem in ["", "a b", "../x", "-\u{1b}[2J"] {
            let filesystem = filesystem.to_owned();
            assert!(refused(&Kind::Pool { filesystem }.at(&target)));
        }
        assert!(refused(&Kind::Commands.at(target)));
    }

    #[test]
    fn the_name_of_a_journal_is_that_of_a_process() {
        assert!(is_stem("1-1") && is_stem("4000000-123456-2"));
        for bad in ["", "1", "1-", "a-1", "1-2-3-4", "1-2/../3"] {
            assert!(!is_stem(bad), "{bad}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (own, other) = (place.join("fsdyno-12-34-0"), place.join("other"));
        std::fs::create_dir(&other).unwrap();
        assert_eq!(check_owner(&own.join("mnt"), "12-34"), Ok(()));
        std::os::unix::fs::symlink(&other, &own).unwrap();
        let why = check_owner(&own.join("mnt"), "12-34").unwrap_err();
        assert!(why.contains("not a directory"), "{why}");
        std::fs::remove_file(&own).unwrap();
        std::fs::create_dir(&own).unwrap();
        assert_eq!(check_owner(&own.join("mnt"), "12-34"), Ok(()));
        if geteuid().is_root() {
            std::os::unix::fs::chown(&own, Some(65_534), None).unwrap();
            let why = check_owner(&own, "12-34").unwrap_err();
            assert!(why.contains("uid 65534"), "{why}");
        }
    }
}
