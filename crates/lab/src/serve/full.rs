//! A guest that makes the file system of a contender, fills it as an ordinary user, uses it while it
//! is full, and empties it.

use super::crash::TestedFilesystem;
use super::{disks, release};
use crate::messages::GuestMessage;
use fsdyno_host::kernel_log::KernelLog;
use fsdyno_load::full::{FullLife, USER, as_user};
use fsdyno_model::{Bytes, Contender, FullDisk};
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::time::Duration;

/// How long space is waited for after all files were deleted: file systems commit every 30 s or more
/// often.
const SETTLING: Duration = Duration::from_secs(35);

/// The most warnings of the kernel that are reported.
const MAX_WARNINGS: usize = 5;

pub(super) fn fill_and_report(contender: &Contender, seed: u64, place: &Path) -> GuestMessage {
    match life(contender, seed, place) {
        Ok(life) => GuestMessage::Filled {
            life: Box::new(life),
        },
        Err(reason) => GuestMessage::Refused { reason },
    }
}

/// The error is that the life cannot begin.
fn life(contender: &Contender, seed: u64, place: &Path) -> Result<FullDisk, String> {
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
    let mut life = FullLife::new(seed);
    as_user(|| life.fill(&root)).map_err(|error| error.to_string())?;
    mounted.unmount()?;
    let used = stage(&tested, &mut life, FullLife::use_full)?;
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

/// Mounts the file system, lets the user do a part of its life, and unmounts it; whether it could be
/// mounted.
fn stage(
    tested: &TestedFilesystem<'_>,
    life: &mut FullLife,
    part: impl FnOnce(&mut FullLife, &Path) -> io::Result<()> + Send,
) -> Result<bool, String> {
    let mounted = match tested.mount(tested.contender) {
        Ok(mounted) => mounted,
        Err(why) => {
            life.report.unmountable = Some(why);
            return Ok(false);
        }
    };
    let root = tested.root();
    as_user(|| part(life, &root)).map_err(|error| error.to_string())?;
    mounted.unmount()?;
    Ok(true)
}
