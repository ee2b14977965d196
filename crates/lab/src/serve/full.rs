//! A guest that makes the file system of a contender, fills it as an ordinary user, uses it while it
//! is full, and empties it.

use super::crash::TestedFilesystem;
use super::{disks, release};
use crate::messages::GuestMessage;
use fsdyno_host::kernel_log::KernelLog;
use fsdyno_host::quota;
use fsdyno_load::full::{FullLife, USER, as_user};
use fsdyno_model::{Accounting, Bytes, Contender, FullDisk};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::Duration;

/// How long space is waited for after all files were deleted: file systems commit every 30 s or more
/// often.
const SETTLING: Duration = Duration::from_secs(35);

/// The most warnings of the kernel that are reported.
const MAX_WARNINGS: usize = 5;

/// The unit of `st_blocks` (stat(2)).
const UNIT: u64 = 512;

pub(super) fn fill_and_report(
    mut contender: Contender,
    (seed, quota): (u64, Option<Bytes>),
    place: &Path,
) -> GuestMessage {
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    if let Some(enabled) = recipe
        .and_then(|one| one.facts().quota)
        .filter(|_| quota.is_some())
    {
        enabled.enable(&mut contender);
    }
    match life(&contender, (seed, quota), place) {
        Ok(life) => GuestMessage::Filled {
            life: Box::new(life),
        },
        Err(reason) => GuestMessage::Refused { reason },
    }
}

/// The error is that the life cannot begin.
fn life(
    contender: &Contender,
    (seed, quota): (u64, Option<Bytes>),
    place: &Path,
) -> Result<FullDisk, String> {
    let tested = TestedFilesystem::of(contender, place, true)?;
    // A device that stays open would show the checker what its page cache had before the mount.
    drop(release(&disks(contender), Bytes(0))?);
    tested.make()?;
    let log = KernelLog::from_now();
    let mounted = tested.mount(contender)?;
    let usual = log.warnings();
    let root = tested.root();
    let owned = fs::create_dir(&root).and_then(|()| chown(&root, Some(USER.uid), Some(USER.gid)));
    owned.map_err(|error| format!("{}: {error}", root.display()))?;
    if let Some(space) = quota {
        let limited = quota::limit(&root, USER.uid, space);
        limited.map_err(|error| format!("the quota of a user: {error}"))?;
    }
    let mut life = FullLife::new(seed, quota);
    as_user(|| life.fill(&root)).map_err(|error| error.to_string())?;
    mounted.unmount()?;
    let mut used = stage(&tested, &mut life, FullLife::use_full)?;
    if used && quota.is_some() {
        used = interrupt(&tested, &mut life)?;
    }
    if used && stage(&tested, &mut life, FullLife::verify)? {
        let checked = tested.check();
        life.report.clean = checked.as_ref().map(Result::is_ok);
        life.report.complaint = checked.and_then(Result::err);
        stage(&tested, &mut life, |life, root| {
            // If files cannot be deleted, the report has no space after it.
            let _ = life.empty(root, SETTLING);
            Ok(())
        })?;
    }
    // What every mount says is no news.
    let warnings = log.warnings().into_iter();
    let news = warnings.filter(|line| !usual.contains(line));
    life.report.kernel = news.take(MAX_WARNINGS).collect();
    Ok(life.report)
}

/// Lets the user do a part of its life; whether the file system could be mounted.
fn stage(
    tested: &TestedFilesystem<'_>,
    life: &mut FullLife,
    part: impl FnOnce(&mut FullLife, &Path) -> io::Result<()> + Send,
) -> Result<bool, String> {
    while_mounted(tested, life, |life, root| as_user(|| part(life, root)))
}

/// Mounts the file system, does a part of the life, and unmounts it; whether it could be mounted.
fn while_mounted(
    tested: &TestedFilesystem<'_>,
    life: &mut FullLife,
    part: impl FnOnce(&mut FullLife, &Path) -> io::Result<()>,
) -> Result<bool, String> {
    let mounted = match tested.mount(tested.contender) {
        Ok(mounted) => mounted,
        Err(why) => {
            life.report.unmountable = Some(why);
            return Ok(false);
        }
    };
    part(life, &tested.root()).map_err(|error| error.to_string())?;
    mounted.unmount()?;
    Ok(true)
}

/// Stops the file system during changes, and notes before and after what the quota is charged with;
/// whether it could be mounted.
fn interrupt(tested: &TestedFilesystem<'_>, life: &mut FullLife) -> Result<bool, String> {
    let stopped = while_mounted(tested, life, |life, root| {
        life.report.quota.get_or_insert_default().before = accounting(root)?;
        let mut removed = None;
        as_user(|| {
            removed = life.change(root)?;
            Ok(())
        })?;
        quota::stop_abruptly(root)?;
        drop(removed);
        Ok(())
    })?;
    Ok(stopped
        && while_mounted(tested, life, |life, root| {
            life.report.quota.get_or_insert_default().after = accounting(root)?;
            as_user(|| life.exceed(root))
        })?)
}

/// What the quota is charged with, and the use of the files; none if the kernel does not report it.
fn accounting(root: &Path) -> io::Result<Option<Accounting>> {
    let Ok(charged) = quota::charged(root, USER.uid) else {
        return Ok(None);
    };
    let block = rustix::fs::statvfs(root)?.f_frsize.max(1);
    let (used, used_files) = use_of(root, block)?;
    Ok(Some(Accounting {
        charged: charged.space,
        used,
        charged_files: charged.files,
        used_files,
    }))
}

/// The space, in whole blocks, and the number of all files and directories from this one on. What is
/// less than a block is stored in the inode: F2FS reports it, and charges nothing (`f2fs_getattr` of
/// Linux 6.12).
fn use_of(path: &Path, block: u64) -> io::Result<(Bytes, u64)> {
    let about = fs::symlink_metadata(path)?;
    let (mut space, mut files) = (about.blocks() * UNIT / block * block, 1);
    if about.is_dir() {
        for entry in fs::read_dir(path)? {
            let (below, count) = use_of(&entry?.path(), block)?;
            (space, files) = (space + below.0, files + count);
        }
    }
    Ok((Bytes(space), files))
}
