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
    let text = |error: io::Error| error.to_string();
    let fill = as_user(|| life.fill(&root)).and_then(|filled| filled);
    fill.map_err(text)?;
    mounted.unmount()?;
    match tested.mount(contender) {
        Err(why) => life.report.unmountable = Some(why),
        Ok(mounted) => {
            let used = as_user(|| life.use_full(&root)).and_then(|used| used);
            used.map_err(text)?;
            mounted.unmount()?;
            let mounted = tested.mount(contender);
            match mounted {
                Err(why) => life.report.unmountable = Some(why),
                Ok(mounted) => {
                    let verified = as_user(|| life.verify(&root)).and_then(|verified| verified);
                    verified.map_err(text)?;
                    mounted.unmount()?;
                    life.report.complaint = tested.check();
                    empty(&tested, &mut life)?;
                }
            }
        }
    }
    // What every mount says is no news.
    let warnings = log.warnings().into_iter();
    let news = warnings.filter(|line| !usual.contains(line));
    life.report.kernel = news.take(MAX_WARNINGS).collect();
    Ok(life.report)
}

/// Deletes all files; a file system that fails in that has nothing available.
fn empty(tested: &TestedFilesystem<'_>, life: &mut FullLife) -> Result<(), String> {
    let mounted = tested.mount(tested.contender)?;
    let root = tested.root();
    // The report has no space then.
    let _ = as_user(|| life.empty(&root, SETTLING)).map_err(|error| error.to_string())?;
    mounted.unmount()
}
